/* Threads that bring finished tiles onto the disk while the network works on: the volumes of a tile side by side, and
 * what is on the disk into the journal as soon as it is. */
#ifndef CRD_PREDICT_TILES_WRITER_H
#define CRD_PREDICT_TILES_WRITER_H

#include "predict/finished/partial.h"
#include "predict/tiles/borders.h"
#include "predict/tiles/files.h"

typedef struct crd_tile_writer crd_tile_writer;

/* All are borrowed until the writer is freed. */
crd_status crd_tile_writer_create(const crd_request *request, crd_partial *partial, crd_tile_files *files,
                                  crd_tile_borders *borders, crd_tile_writer **out);
void crd_tile_writer_free(crd_tile_writer **writer);
int64_t crd_tile_writer_bytes(const crd_request *request);

/* An empty box to be filled; waits until one is free. */
crd_status crd_tile_writer_box(crd_tile_writer *writer, crd_tile_box **out);
/* Hands the box over that crd_tile_writer_box gave. */
void crd_tile_writer_put(crd_tile_writer *writer);
/* Waits until everything that was put is on the disk and in the journal. */
crd_status crd_tile_writer_wait(crd_tile_writer *writer);

#endif
