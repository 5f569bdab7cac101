/* How far a volume has come that a prediction still writes: an OME-Zarr of which layer after layer of chunks appears
 * (volume/zarr/zarr.h). One thread looks, all may ask. */
#ifndef CRD_VIEW_GROWTH_H
#define CRD_VIEW_GROWTH_H

#include "base/text.h"
#include "view/tiles/layers.h"

crd_status crd_growth_open(const crd_volume *volume, crd_growth **out);
void crd_growth_close(crd_growth **growth);

/* Looks at the disk: how many layers are new? */
int64_t crd_growth_look(crd_growth *growth);
/* The run is complete: all is there from now on. */
void crd_growth_finish(crd_growth *growth);

bool crd_growth_complete(const crd_growth *growth);
double crd_growth_share(const crd_growth *growth);
/* Are all slices from `begin` to before `end` there? */
bool crd_growth_ready(const crd_growth *growth, int64_t begin, int64_t end);
/* The next slices from *begin on that are there, up to before *end, within a volume of `depth`; false: none. */
bool crd_growth_next(const crd_growth *growth, int64_t depth, int64_t *begin, int64_t *end);
/* ,"finished":[[0,32],[64,96]]: the slices that are there, for JSON. */
void crd_growth_describe(const crd_growth *growth, int64_t depth, crd_text *text);

#endif
