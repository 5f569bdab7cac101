/* Where to look first: the regions of a run whose uncertainty is high, and high beyond what lies in the nature of
 * edges.
 *
 * At an edge of the segmentation uncertainty is always high. So block by block the mean uncertainty is compared with
 * a + b * share of voxels at a predicted edge, a and b by least squares over all blocks; what is beyond is the excess.
 */
#ifndef CRD_VIEW_SURVEY_H
#define CRD_VIEW_SURVEY_H

#include "report/regions.h"
#include "view/tiles/layers.h"

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

/* One pass over uncertainty and segmentation, which have the same shape; the segmentation may be missing (NULL): then
 * nothing is explained. `pause`, which may be NULL, is called for each slice with the share that is done; false stops,
 * and *done stays false. */
crd_status crd_look_survey_make(crd_volume *uncertainty, double scale, crd_volume *segmentation,
                                bool (*pause)(void *context, double share), void *context, crd_look_survey *out,
                                bool *done);

/* The same from means over blocks: the pure part. */
crd_status crd_look_survey_of(const float *means, const float *edges, const int64_t cells[3], int64_t block,
                              const int64_t shape[3], crd_look_survey *out);

#endif
