/* Which chunks cover a volume, and which part of each is kept: DESIGN's chunking and trimming, one axis at a time, as
 * pure functions. Chunks are numbered z slowest, x fastest. */
#ifndef CRD_CHUNK_PLAN_H
#define CRD_CHUNK_PLAN_H

#include <stdint.h>

#include "base/error.h"
#include "credence/volume.h"

typedef struct crd_axis_plan {
    int64_t size, window, stride, border;
    int64_t count; /* positions 0, stride, 2 stride, ... <= size - window, and size - window */
} crd_axis_plan;

typedef struct crd_plan {
    crd_axis_plan axes[3];
    int64_t count; /* chunks in all */
} crd_plan;

/* step >= 1; trim in [0, 1]. A volume shorter than the chunk is an error that suggests a chunk that fits. */
crd_status crd_plan_make(const int64_t shape[3], const int64_t chunk[3], int64_t step, double trim, crd_plan *out);

int64_t crd_axis_position(const crd_axis_plan *axis, int64_t index);
/* The kept range [*begin, *end) of window number `index`, in volume coordinates. */
void crd_axis_keep(const crd_axis_plan *axis, int64_t index, int64_t *begin, int64_t *end);
/* How many windows keep this coordinate. The coverage of a voxel is the product over the axes. */
int64_t crd_axis_coverage(const crd_axis_plan *axis, int64_t coordinate);

void crd_plan_chunk(const crd_plan *plan, int64_t number, crd_box *window, crd_box *keep);
void crd_plan_coverage(const crd_plan *plan, int64_t *least, int64_t *most);

#endif
