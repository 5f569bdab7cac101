/* The probability on both sides of the borders between tiles, from which it is measured how visible they are. Tiles
 * come in any order, from several processes and over interruptions, so it waits in a file until all are there.
 *
 * DIR/.partial/borders: for each axis and each border across it the plane before and the one behind it. */
#ifndef CRD_PREDICT_TILES_BORDERS_H
#define CRD_PREDICT_TILES_BORDERS_H

#include "predict/finished/volumes.h"
#include "predict/tiles/box.h"

typedef struct crd_tile_borders crd_tile_borders;

crd_status crd_tile_borders_open(const crd_request *request, const char *folder, crd_tile_borders **out);
void crd_tile_borders_close(crd_tile_borders **borders);
/* Of the file. */
int64_t crd_tile_borders_bytes(const crd_request *request);

/* Any thread, several at a time. */
crd_status crd_tile_borders_write(crd_tile_borders *borders, const crd_tile_box *box);
crd_status crd_tile_borders_sync(crd_tile_borders *borders);

/* Once all tiles are there: adds the steps across all borders. */
crd_status crd_tile_borders_measure(crd_tile_borders *borders, crd_seams *sums);

#endif
