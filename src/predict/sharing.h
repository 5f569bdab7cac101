/* Divides the rows of chunks among the processes of a job. Each asks rank 0 for a band of consecutive rows; where bands
 * of different processes meet, slices get a part of their sums from each, and the process that completes the last of
 * these bands adds them up. A process alone gets one band with everything. */
#ifndef CRD_PREDICT_SHARING_H
#define CRD_PREDICT_SHARING_H

#include "dist/bands.h"
#include "dist/dist.h"
#include "predict/request.h"

typedef struct crd_sharing crd_sharing;

/* `rows` are those to be computed, rising, as crd_request_row numbers them; bands count places in that list. Borrowed,
 * as the rest. */
crd_status crd_sharing_open(crd_dist *dist, const crd_request *request, const int64_t *rows, int64_t row_count,
                            crd_sharing **out);
void crd_sharing_close(crd_sharing **sharing);

/* Says that `done` is computed and what of it others may need is in their reach (an empty one: nothing yet), and asks
 * for the next band: an empty one means that nothing is left. `chunks` are those computed here so far. */
crd_status crd_sharing_next(crd_sharing *sharing, crd_band done, int64_t chunks, crd_band *next);
/* Tells rank 0 how far this process is, now and then; at rank 0, *all is how far all are, and *over whether all bands
 * are done. */
crd_status crd_sharing_tell(crd_sharing *sharing, int64_t chunks, int64_t *all, bool *over);

/* Do rows outside the band touch slice z (in the scan) of it, too? */
bool crd_sharing_at_edge(const crd_sharing *sharing, crd_band band, int64_t z);
/* The bands that touch slice z, by their first row, if all of them were done when crd_sharing_next returned last; else
 * 0. At most CRD_SHARING_BANDS. */
enum { CRD_SHARING_BANDS = 256 };
int64_t crd_sharing_bands_of(const crd_sharing *sharing, int64_t z, int64_t bands[CRD_SHARING_BANDS]);

#endif
