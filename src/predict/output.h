/* From finished slices to volumes of the chosen format. */
#ifndef CRD_PREDICT_OUTPUT_H
#define CRD_PREDICT_OUTPUT_H

#include "predict/partial.h"

/* How visible chunks are in the probability: the mean step between neighbouring voxels where the set of chunks changes,
 * and elsewhere; in units of 2^-24. */
typedef struct crd_seams {
    uint64_t seam_sum, seam_count, other_sum, other_count;
} crd_seams;

/* Writes every volume in one pass over its slices, under a temporary name that becomes the final one at the end. */
crd_status crd_outputs_write(const crd_request *request, crd_partial *partial, const char *folder,
                             const crd_monitor *monitor, crd_seams *seams);
/* "scan_prob.tif"; free with crd_free. */
crd_status crd_output_name(const crd_request *request, const crd_output *output, char **out);

#endif
