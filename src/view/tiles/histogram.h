/* How often each grey value occurs: first in a sample, then, once the pass of view/tiles/levels.h has seen all, in the
 * volume.
 */
#ifndef CRD_VIEW_HISTOGRAM_H
#define CRD_VIEW_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/volume.h"

enum { CRD_GREY_BINS = 65536, CRD_GREY_SHOWN = 256 };

/* Integers of 8 and 16 bits have a bin each; all others share bins that are 1/128 of their value wide. */
typedef struct crd_greys {
    crd_type type;
    int64_t counts[CRD_GREY_BINS];
} crd_greys;

void crd_greys_add(crd_greys *greys, const void *voxels, int64_t count);
/* Two counts of the same type. */
void crd_greys_join(crd_greys *greys, const crd_greys *other);
/* Of a small volume all voxels (*all), of others a sample from all over it, of few slices, since each may have to be
 * unpacked whole. `all` may be NULL. */
crd_status crd_greys_sample(crd_volume *volume, crd_greys *out, bool *all);

/* The value below which that share (0 to 1) of the voxels lies; NaN without any. */
double crd_greys_percentile(const crd_greys *greys, double share);

typedef struct crd_grey_picture {
    double low, high; /* outer edges */
    int64_t bins[CRD_GREY_SHOWN];
    int64_t count;
} crd_grey_picture;
/* Between the smallest and the largest value. */
void crd_greys_show(const crd_greys *greys, crd_grey_picture *out);

#endif
