/* What has to be known of the inputs, found out on a thread of its own: the scan's statistics, which normalisation
 * needs before the first chunk as a rule, and the fingerprints, which nothing needs before the end of a new run. One
 * pass over the scan gives both where that is possible. */
#ifndef CRD_PREDICT_INSPECTION_H
#define CRD_PREDICT_INSPECTION_H

#include "predict/request.h"
#include "run/identity.h"

typedef struct crd_inspection crd_inspection;

/* Begins. The request is borrowed; the scan may be used on. Without `statistics` only fingerprints are taken. */
crd_status crd_inspection_start(const crd_request *request, const crd_scan *scan, bool statistics,
                                crd_inspection **out);
/* Breaks off what is under way. */
void crd_inspection_free(crd_inspection **inspection);

/* Both wait, show how far it is, and hear the monitor's wish to stop. What they give is the inspection's. */
crd_status crd_inspection_statistics(crd_inspection *inspection, const crd_monitor *monitor,
                                     const crd_volume_statistics **out);
crd_status crd_inspection_fingerprints(crd_inspection *inspection, const crd_monitor *monitor,
                                       const crd_fingerprints **out);

/* What is to be done, on that thread, as soon as the fingerprints are there. crd_inspection_wait waits for it. */
typedef crd_status crd_inspection_work(void *context, const crd_fingerprints *fingerprints);
void crd_inspection_then(crd_inspection *inspection, crd_inspection_work *work, void *context);
crd_status crd_inspection_wait(crd_inspection *inspection, const crd_monitor *monitor);

#endif
