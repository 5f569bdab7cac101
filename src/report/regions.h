/* Where a map is high: the places to look at first. */
#ifndef CRD_REPORT_REGIONS_H
#define CRD_REPORT_REGIONS_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_region {
    int64_t centre[3], low[3], high[3]; /* voxels; `high` is the first beyond */
    int64_t voxels;
    double mean; /* of the map, */
    double peak; /* and of its highest block: that is what regions are ordered by */
} crd_region;

/* At most so many, the highest first, from means over blocks of edge `block`, `cells` of them along each axis. */
crd_status crd_regions_find(const float *means, const int64_t cells[3], int64_t block, const int64_t shape[3], int most,
                            crd_region *regions, int *found);

#endif
