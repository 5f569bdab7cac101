/* Random voxels at which every sample's value is kept, for convergence plots: 65,536 of the run's box, or all where it
 * has fewer. The value is that of the first chunk that keeps the voxel, so it is one network's answer and not a mean.
 */
#ifndef CRD_PREDICT_FINISHED_PROBE_H
#define CRD_PREDICT_FINISHED_PROBE_H

#include "predict/finished/partial.h"

enum { CRD_PROBE_COUNT = 65536 };

typedef struct crd_probes crd_probes;

crd_status crd_probes_create(const crd_request *request, crd_probes **out);
void crd_probes_free(crd_probes **probes);

/* What the chunk is to tell: its own voxel numbers, rising. Borrowed until the next call. */
void crd_probes_of_chunk(crd_probes *probes, int64_t number, const int64_t **voxels, int64_t *count);
/* Keeps the values of a chunk. */
crd_status crd_probes_keep(const crd_probes *probes, const crd_chunk_result *result, crd_partial *partial);

/* probe.h5 from what was kept; voxels outside the scan's mask are left out. */
crd_status crd_probes_write(const crd_probes *probes, crd_partial *partial, crd_scan *scan, const char *path);

#endif
