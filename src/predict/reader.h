/* A thread that reads the next chunks of the scan while the network works on one. */
#ifndef CRD_PREDICT_READER_H
#define CRD_PREDICT_READER_H

#include "predict/request.h"

enum { CRD_READER_BUFFERS = 2 };

typedef struct crd_chunk_reader crd_chunk_reader;

/* Reads the chunks of the units listed (crd_request_unit), one unit after the other. Everything is borrowed
 * until the reader is freed; the scan is opened once more for the thread. Where `keep` is true, a row's slices stay in
 * memory (crd_chunk_reader_kept_bytes), and each is read from disk once. */
crd_status crd_chunk_reader_create(const crd_request *request, const crd_scan *scan, const int64_t *units,
                                   int64_t unit_count, bool keep, crd_chunk_reader **out);
int64_t crd_chunk_reader_kept_bytes(const crd_request *request);
/* Stops the thread, wherever it is. */
void crd_chunk_reader_free(crd_chunk_reader **reader);

/* Waits for the next chunk: its number in the plan and its voxels, which are valid until the next call. */
crd_status crd_chunk_reader_next(crd_chunk_reader *reader, int64_t *number, const float **voxels);

#endif
