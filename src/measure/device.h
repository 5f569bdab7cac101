/* Inside src/measure: where transport is computed. */
#ifndef CRD_MEASURE_DEVICE_H
#define CRD_MEASURE_DEVICE_H

#include "backend/backend.h"
#include "dist/dist.h"

typedef struct crd_measure_device {
    const crd_backend *backend; /* NULL: the CPU */
    crd_device_settings settings;
    char text[160]; /* "cuda (NVIDIA H200, sm80 path, f32)"; "cpu" */
} crd_measure_device;

/* From --device and --max-gpu-memory. `auto` takes a GPU where there is one and the window has so many voxels that it
 * is quicker there, which doesn't depend on how many realisations there are: their last digits would. A GPU is taken by
 * all processes or by none. Collective. */
crd_status crd_measure_device_choose(const char *device, const char *max_gpu_memory, int64_t voxels, crd_dist *dist,
                                     const crd_monitor *monitor, crd_measure_device *out);

/* Of a device: whether a solution on voxels or coarse cells fits into its memory, in all processes. Collective. */
crd_status crd_measure_device_fits(const crd_measure_device *device, crd_dist *dist, const int64_t shape[3], int cell,
                                   bool conductivity, bool *fits);
/* Bytes of its memory that a solution takes, and that it may take now. */
crd_status crd_measure_device_bytes(const crd_measure_device *device, const int64_t shape[3], int cell,
                                    bool conductivity, int64_t *bytes, int64_t *available);

#endif
