/* How far a volume has come that a prediction still writes: an OME-Zarr of which layer after layer of chunks appears
 * (volume/zarr/zarr.h). One thread looks, all may ask. */
#ifndef CRD_VIEW_WRITTEN_SLICES_H
#define CRD_VIEW_WRITTEN_SLICES_H

#include "base/text.h"
#include "view/tiles/layers.h"

crd_status crd_written_slices_open(const crd_volume *volume, crd_written_slices **out);
void crd_written_slices_close(crd_written_slices **written);

/* Looks at the disk: how many layers are new? */
int64_t crd_written_slices_look(crd_written_slices *written);
/* The run is complete: all is there from now on. */
void crd_written_slices_finish(crd_written_slices *written);

bool crd_written_slices_complete(const crd_written_slices *written);
double crd_written_slices_share(const crd_written_slices *written);
/* Are all slices from `begin` to before `end` there? */
bool crd_written_slices_ready(const crd_written_slices *written, int64_t begin, int64_t end);
/* The next slices from *begin on that are there, up to before *end, within a volume of `depth`; false: none. */
bool crd_written_slices_next(const crd_written_slices *written, int64_t depth, int64_t *begin, int64_t *end);
/* ,"finished":[[0,32],[64,96]]: the slices that are there, for JSON. */
void crd_written_slices_describe(const crd_written_slices *written, int64_t depth, crd_text *text);

#endif
