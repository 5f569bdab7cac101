/* Volumes that can be looked at during the run: OME-Zarr, written one layer of chunks at a time, as soon as all slices
 * of the layer are finished. They are made from the finished slices in .partial, from which a resumed run continues. */
#ifndef CRD_PREDICT_FINISHED_GROWING_VOLUMES_H
#define CRD_PREDICT_FINISHED_GROWING_VOLUMES_H

#include "predict/finished/partial.h"

typedef struct crd_growing_volumes crd_growing_volumes;

/* Does the run's format grow? */
bool crd_growing_volumes_wanted(const crd_request *request);
/* Memory it takes. */
int64_t crd_growing_volumes_bytes(const crd_request *request);

/* Begins the volumes, or with `resume` continues those that are there; the layers that are finished already are
 * written at once. Both are borrowed until the growing volumes are freed. */
crd_status crd_growing_volumes_create(const crd_request *request, crd_partial *partial, const char *folder, bool resume,
                                      const crd_monitor *monitor, crd_growing_volumes **out);
/* Leaves the volumes as they are. */
void crd_growing_volumes_free(crd_growing_volumes **growing);

/* Slice z of the scan is finished. */
void crd_growing_volumes_note(crd_growing_volumes *growing, int64_t z);
/* Writes the layers that became whole. The monitor is for the thread that it belongs to; NULL on any other. */
crd_status crd_growing_volumes_advance(crd_growing_volumes *growing, const crd_monitor *monitor);
/* Makes the volumes complete; all slices are finished. */
crd_status crd_growing_volumes_finish(crd_growing_volumes *growing, const crd_monitor *monitor);

#endif
