/* Where to look first: the regions of a run whose uncertainty is high, and high beyond what lies in the nature of
 * edges.
 *
 * At an edge of the segmentation uncertainty is always high. So block by block the mean uncertainty is compared with
 * a + b * share of voxels at a predicted edge, a and b by least squares over all blocks; what is beyond is the excess.
 */
#ifndef CRD_REPORT_LOOK_SURVEY_H
#define CRD_REPORT_LOOK_SURVEY_H

#include "report/regions.h"

enum { CRD_LOOK_REGIONS = 50 };

typedef enum crd_look_order { CRD_BY_EXCESS, CRD_BY_MEAN, CRD_LOOK_ORDERS } crd_look_order;

typedef struct crd_look_region {
    crd_region place; /* in voxels of the run */
    double mean;      /* uncertainty inside its box, */
    double excess;    /* and beyond what edges explain */
    double edges;     /* share of voxels at an edge there */
} crd_look_region;

typedef struct crd_look_survey {
    double a, b;
    crd_look_region regions[CRD_LOOK_ORDERS][CRD_LOOK_REGIONS];
    int counts[CRD_LOOK_ORDERS];
} crd_look_survey;

/* The edge of the blocks, and how many there are along each axis. */
int64_t crd_look_blocks(const int64_t shape[3], int64_t cells[3]);
/* Voxels of a block, which is smaller at the end of an axis. */
int64_t crd_look_voxels(const int64_t at[3], int64_t block, const int64_t shape[3]);
/* From means over blocks. `shares` are those of their voxels that count, and that the means are over; NULL: all do. */
crd_status crd_look_survey_of(const float *means, const float *edges, const float *shares, const int64_t cells[3],
                              int64_t block, const int64_t shape[3], crd_look_survey *out);

#endif
