/* From finished slices to volumes of the chosen format. */
#ifndef CRD_PREDICT_FINISHED_VOLUMES_H
#define CRD_PREDICT_FINISHED_VOLUMES_H

#include "predict/finished/partial.h"
#include "predict/finished/seams.h"

/* Writes every volume in one pass over its slices, under a temporary name that becomes the final one at the end. The
 * monitor is asked all the while: a stop leaves the volumes that are whole, and no part of one. */
crd_status crd_volumes_write(const crd_request *request, crd_partial *partial, const char *folder,
                             const crd_monitor *monitor, crd_seams *seams);
/* The same from elsewhere: `read` gives `count` slices of output number `output` from slice `first` of the box on, as
 * the volume holds them. Several threads call it, each of another output. */
typedef struct crd_slices_source {
    void *context;
    crd_status (*read)(void *context, int64_t output, int64_t first, int64_t count, void *voxels);
} crd_slices_source;
crd_status crd_volumes_copy(const crd_request *request, const crd_slices_source *source, const char *folder,
                            const crd_monitor *monitor);
/* For volumes that were written before: only how visible chunks are. */
crd_status crd_volumes_measure(const crd_request *request, crd_partial *partial, const crd_monitor *monitor,
                               crd_seams *seams);
/* What the volume is. */
void crd_output_info(const crd_request *request, const crd_output *output, crd_volume_info *info);
/* From the numbers of a finished slice to those of the volume, which are u8 or u16. */
void crd_output_convert(const crd_output *output, const float *values, int64_t count, void *to);

#endif
