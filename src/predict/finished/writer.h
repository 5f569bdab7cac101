/* A thread that brings finished slices onto the disk while the network works on. */
#ifndef CRD_PREDICT_FINISHED_WRITER_H
#define CRD_PREDICT_FINISHED_WRITER_H

#include "predict/finished/growing_volumes.h"
#include "predict/finished/partial.h"

enum { CRD_WRITER_BUFFERS = 2 };

typedef struct crd_writer crd_writer;

/* All are borrowed until the writer is freed; `growing` may be NULL. */
crd_status crd_writer_create(const crd_request *request, crd_partial *partial, crd_growing_volumes *growing,
                             crd_writer **out);
/* Ends the thread without noting what wasn't flushed. */
void crd_writer_free(crd_writer **writer);

/* An empty slice to be filled; waits until one is free. */
crd_status crd_writer_slice(crd_writer *writer, crd_slice **out);
/* Hands the slice over that crd_writer_slice gave. After the last of several, `flush` makes all of them safe and notes
 * them in the journal. */
void crd_writer_put(crd_writer *writer, bool flush);
/* Waits until everything that was put is done. */
crd_status crd_writer_wait(crd_writer *writer);

#endif
