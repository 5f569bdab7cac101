/* How a prediction covers the scan: chunks that overlap and are averaged, with norms of each chunk, or tiles of which
 * every voxel is computed once, with frozen norms. */
#ifndef CRD_PREDICT_MODE_H
#define CRD_PREDICT_MODE_H

#include "predict/request.h"

/* Fills seamless, norms and halo, and refuses what doesn't go together. */
crd_status crd_request_choose_mode(crd_request *request, const crd_monitor *monitor);
/* The tile plan of a seamless run. */
crd_status crd_request_plan_tiles(crd_request *request);

const char *crd_norms_name(crd_norms norms); /* "training" */

#endif
