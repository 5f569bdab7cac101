/* What .zarray and the zarr.json of an array have in common; for layout*.c and attributes.c alone. */
#ifndef CRD_VOLUME_ZARR_LAYOUT_H
#define CRD_VOLUME_ZARR_LAYOUT_H

#include <cjson/cJSON.h>

#include "volume/zarr/json.h"

const cJSON *crd_zarr_get(const cJSON *object, const char *key);
/* "... has a broken .zarray: ..." */
crd_status crd_zarr_broken(const char *shown, int version, const char *what);

/* `count` whole numbers of at least 1. */
bool crd_zarr_take_whole(const cJSON *array, int count, int64_t *out);
/* Shape and chunks, as one is in a file; `chunks_called` is for the sentence. */
crd_status crd_zarr_take_shape(const char *shown, const cJSON *shape, const cJSON *chunk, const char *chunks_called,
                               crd_zarr_layout *out);
/* Names of axes are anybody's choice, but z, y and x in another order would be taken for what they aren't. NULL: none.
 */
crd_status crd_zarr_check_names(const char *shown, const cJSON *names, int rank);
/* After the type, which it must be one of. */
crd_status crd_zarr_take_fill(const char *shown, const cJSON *fill, crd_zarr_layout *out);

crd_status crd_zarr_layout2_take(const char *shown, const cJSON *root, crd_zarr_layout *out);
crd_status crd_zarr_layout3_take(const char *shown, const cJSON *root, crd_zarr_layout *out);
void crd_zarr_layout2_write(const crd_zarr_layout *layout, crd_text *text);
void crd_zarr_layout3_write(const crd_zarr_layout *layout, crd_text *text);

/* "[4, 5, 6]" */
void crd_zarr_add_whole(crd_text *text, const int64_t values[3]);

#endif
