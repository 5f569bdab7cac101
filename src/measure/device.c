#include "measure/device.h"

#include <stdio.h>
#include <string.h>

#include "backend/choose.h"
#include "base/monitor.h"

/* Below, starting a GPU takes longer than the solution: 128 x 128 x 128. */
enum { WORTH_VOXELS = 1 << 21 };

static void take_cpu(crd_measure_device *out)
{
    *out = (crd_measure_device){.text = "cpu"};
}

static crd_status choose(const crd_device_choice *choice, crd_measure_device *out)
{
    CRD_PASS(crd_backend_choose(choice, &out->backend, &out->settings));
    if (out->settings.device_count > 1) {
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "device: a realisation's transport is computed on one GPU, not on several as in '%s'; name one, "
            "or start a process for each with mpirun",
            choice->device);
    }
    if (out->backend->transport_solve == NULL) return CRD_OK;
    if (out->settings.device_count == 1) out->settings.device = out->settings.devices[0];
    out->settings.isa = "sm80"; /* whose instructions are all that it takes */
    return out->backend->describe(&out->settings, out->text, sizeof out->text);
}

crd_status crd_measure_device_choose(const char *device, const char *max_gpu_memory, int64_t voxels, crd_dist *dist,
                                     const crd_monitor *monitor, crd_measure_device *out)
{
    const bool automatic = device == NULL || device[0] == '\0' || strcmp(device, "auto") == 0;
    const crd_device_choice choice = {.device = automatic ? NULL : device,
                                      .precision = "f32",
                                      .local_rank = crd_dist_place(dist)->local_rank,
                                      .max_gpu_memory = max_gpu_memory};
    bool cpu = automatic && voxels < WORTH_VOXELS, any;
    char why[sizeof out->settings.fallback] = "";
    take_cpu(out);
    if (!cpu) {
        CRD_PASS(choose(&choice, out));
        cpu = out->backend->transport_solve == NULL;
        snprintf(why, sizeof why, "%s", out->settings.fallback);
    }
    CRD_PASS(crd_dist_any(dist, cpu, &any));
    if (!any) return CRD_OK;
    take_cpu(out);
    if (!cpu) crd_info(monitor, "the CPU computes transport: another process has no GPU");
    if (why[0] != '\0') crd_info(monitor, "the CPU computes transport: %s", why);
    return CRD_OK;
}

crd_status crd_measure_device_bytes(const crd_measure_device *device, const int64_t shape[3], int cell,
                                    bool conductivity, int64_t *bytes, int64_t *available)
{
    return device->backend->transport_bytes(&device->settings, shape, cell, conductivity, bytes, available);
}

crd_status crd_measure_device_fits(const crd_measure_device *device, crd_dist *dist, const int64_t shape[3], int cell,
                                   bool conductivity, bool *fits)
{
    int64_t bytes, available;
    bool full;
    CRD_PASS(crd_measure_device_bytes(device, shape, cell, conductivity, &bytes, &available));
    full = bytes > available;
    if (dist != NULL) CRD_PASS(crd_dist_any(dist, full, &full));
    *fits = !full;
    return CRD_OK;
}
