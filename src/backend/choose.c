#include "backend/choose.h"

#include <string.h>

#include "backend/plugin_load.h"
#include "credence/number.h"

static bool says(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

static bool automatic(const char *text)
{
    return text == NULL || strcmp(text, "auto") == 0;
}

static bool gpu_path(const char *isa)
{
    return says(isa, "sm80") || says(isa, "sm90");
}

static crd_status choose_cpu(const crd_device_choice *choice, const crd_backend **backend,
                             crd_device_settings *settings)
{
    if (!automatic(choice->precision) && !says(choice->precision, "f32")) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "the CPU computes in f32, not in %s; leave out --precision",
                        choice->precision);
    }
    settings->precision = CRD_PRECISION_F32;
    settings->isa = automatic(choice->isa) ? NULL : choice->isa;
    *backend = &crd_backend_cpu;
    return CRD_OK;
}

/* Fails where there is no plug-in, no driver or no such GPU. */
static crd_status choose_cuda(const crd_device_choice *choice, int64_t number, const crd_backend **backend,
                              crd_device_settings *settings)
{
    char text[256];
    if (choice->training) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "this version trains on the CPU only; choose --device cpu");
    }
    settings->device = (int)number;
    settings->precision = says(choice->precision, "f32")    ? CRD_PRECISION_F32
                          : says(choice->precision, "bf16") ? CRD_PRECISION_BF16
                                                            : CRD_PRECISION_FP16;
    if (!automatic(choice->precision) && !says(choice->precision, "fp16") &&
        settings->precision == CRD_PRECISION_FP16) {
        return crd_fail(CRD_ERR_ARGUMENT, "the precision must be auto, f32, bf16 or fp16, not '%s'", choice->precision);
    }
    if (!automatic(choice->isa) && !gpu_path(choice->isa)) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "a GPU's instruction path is sm80 or sm90, not '%s'; leave out --isa", choice->isa);
    }
    settings->isa = automatic(choice->isa) ? NULL : choice->isa;
    CRD_PASS(crd_plugin_load("libcredence_cuda.so", backend));
    return (*backend)->describe(settings, text, sizeof text);
}

crd_status crd_backend_choose(const crd_device_choice *choice, const crd_backend **backend,
                              crd_device_settings *settings)
{
    const char *device = choice->device;
    int64_t number = 0;
    memset(settings, 0, sizeof *settings);
    *backend = NULL;
    settings->threads = (int)choice->threads;
    if (says(device, "cpu")) return choose_cpu(choice, backend, settings);
    if (automatic(device)) {
        /* an instruction path of the CPU asks for the CPU, too */
        const bool cpu = choice->training || (!automatic(choice->isa) && !gpu_path(choice->isa));
        if (!cpu && choose_cuda(choice, 0, backend, settings) == CRD_OK) return CRD_OK;
        settings->device = 0;
        return choose_cpu(choice, backend, settings);
    }
    if (says(device, "cuda") ||
        (strncmp(device, "cuda:", 5) == 0 && crd_parse_int(device + 5, strlen(device + 5), &number) && number >= 0 &&
         number < 1024)) {
        return choose_cuda(choice, number, backend, settings);
    }
    return crd_fail(CRD_ERR_ARGUMENT, "the device must be auto, cpu, cuda or cuda:N, not '%s'", device);
}
