#include "backend/choose.h"

#include <string.h>

static bool says(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

crd_status crd_backend_choose(const crd_device_choice *choice, const crd_backend **backend,
                              crd_device_settings *settings)
{
    const char *device = choice->device, *precision = choice->precision;
    memset(settings, 0, sizeof *settings);
    *backend = NULL;
    if (device != NULL && strncmp(device, "cuda", 4) == 0 && (device[4] == '\0' || device[4] == ':')) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "this build can't use a GPU; choose --device cpu");
    }
    if (device != NULL && !says(device, "auto") && !says(device, "cpu")) {
        return crd_fail(CRD_ERR_ARGUMENT, "the device must be auto, cpu, cuda or cuda:N, not '%s'", device);
    }
    if (precision != NULL && !says(precision, "auto") && !says(precision, "f32")) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "the CPU computes in f32, not in %s; leave out --precision", precision);
    }
    settings->threads = (int)choice->threads;
    settings->isa = says(choice->isa, "auto") ? NULL : choice->isa;
    *backend = &crd_backend_cpu;
    return CRD_OK;
}
