/* Where transport is solved, and on what: as memory allows. */
#include <math.h>
#include <stdio.h>

#include "measure/slow.h"
#include "measure/transport/two_level.h"

/* Realisations as they are read, and cropped. */
static int64_t input_bytes(const crd_realisations_info *info, bool conductivity)
{
    const int64_t numbers = conductivity ? info->shape[0] * info->shape[1] * info->shape[2] : 0;
    return crd_bitmap_bytes(info) + numbers + (info->masked ? crd_bitmap_row_bytes(info->shape) + numbers : 0);
}

int64_t crd_slow_transport_bytes(const crd_realisations_info *info, int cell, bool conductivity)
{
    return input_bytes(info, conductivity) + crd_laplace_bytes(info->shape, cell, conductivity);
}

static double mebibytes(int64_t bytes)
{
    return ceil((double)bytes / 0x1p20);
}

/* On the device: voxels, or where those fit neither there nor here coarse cells. */
static crd_status try_device(const crd_slow_plan *plan, bool voxels_fit_here, crd_slow_way *out)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const bool several = plan->conductivity != NULL;
    /* the components that join the faces are found here */
    const int64_t here = input_bytes(info, several) + 2 * crd_bitmap_row_bytes(info->shape);
    int64_t bytes, coarse, available;
    bool fits, coarse_fits;
    CRD_PASS(crd_measure_device_bytes(plan->device, info->shape, 1, several, &bytes, &available));
    CRD_PASS(crd_measure_device_bytes(plan->device, info->shape, 2, several, &coarse, &available));
    CRD_PASS(crd_measure_device_fits(plan->device, plan->dist, info->shape, 1, several, &fits));
    CRD_PASS(crd_measure_device_fits(plan->device, plan->dist, info->shape, 2, several, &coarse_fits));
    if (here > plan->memory_bytes) return CRD_OK; /* nowhere */
    out->bytes = here;
    if (fits) {
        out->on_device = true;
        out->method = plan->fast ? CRD_BY_SEGMENTATION : CRD_ON_VOXELS;
        out->device_bytes = bytes;
        return CRD_OK;
    }
    if (!voxels_fit_here && coarse_fits) {
        /* windows take no more of the device's memory than they would of this machine's */
        out->window = crd_two_level_window(info->shape, several, available);
        out->on_device = out->window > 0;
        out->method = CRD_BY_WINDOWS;
        out->device_bytes = coarse;
    }
    if (out->on_device) return CRD_OK;
    snprintf(out->instead, sizeof out->instead,
             "the CPU computes transport: the GPU would need %.0f MiB of its memory, and %.0f may be used",
             mebibytes(bytes), floor((double)available / 0x1p20));
    return CRD_OK;
}

crd_status crd_slow_transport_way(const crd_slow_plan *plan, crd_slow_way *out)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const bool several = plan->conductivity != NULL;
    const int64_t voxels = crd_slow_transport_bytes(info, 1, several);
    const int64_t coarse = crd_slow_transport_bytes(info, 2, several);
    const bool fits = voxels <= plan->memory_bytes;
    *out = (crd_slow_way){.method = CRD_ON_VOXELS};
    if (plan->device != NULL && plan->device->backend != NULL) CRD_PASS(try_device(plan, fits, out));
    if (out->on_device) return CRD_OK;
    out->method = fits && !plan->fast ? CRD_ON_VOXELS : plan->fast ? CRD_BY_SEGMENTATION : CRD_BY_WINDOWS;
    out->bytes = out->method == CRD_ON_VOXELS ? voxels : coarse;
    out->device_bytes = out->window = 0;
    if (fits) return CRD_OK;
    const int64_t left = plan->memory_bytes - input_bytes(info, several);
    out->window = coarse <= plan->memory_bytes ? crd_two_level_window(info->shape, several, left) : 0;
    if (out->window > 0) return CRD_OK;
    return crd_fail(CRD_ERR_MEMORY,
                    "max-memory: transport needs %.0f MiB here, or %.0f on cells of 2x2x2 voxels, and %.0f may be "
                    "used; allow more, or take a part with --bbox",
                    mebibytes(voxels), mebibytes(coarse), floor((double)plan->memory_bytes / 0x1p20));
}
