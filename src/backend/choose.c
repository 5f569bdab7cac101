#include "backend/choose.h"

#include <stdio.h>
#include <string.h>

#include "backend/plugin_load.h"
#include "backend/several.h"
#include "base/bytes.h"
#include "base/number.h"
#include "ops/ops.h"

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

static crd_status no_precision(const crd_device_choice *choice)
{
    return crd_fail(CRD_ERR_ARGUMENT, "the precision must be auto, f32, bf16 or fp16, not '%s'", choice->precision);
}

/* What it can't compute in the precision that is asked for it computes in f32, as GPUs do with narrow networks: no
 * digit is worse by it, and whoever runs it is told. */
static crd_status choose_cpu(const crd_device_choice *choice, const crd_backend **backend,
                             crd_device_settings *settings)
{
    const crd_ops *ops;
    const bool bf16 = says(choice->precision, "bf16"), fp16 = says(choice->precision, "fp16");
    if (!automatic(choice->precision) && !says(choice->precision, "f32") && !bf16 && !fp16) return no_precision(choice);
    settings->isa = automatic(choice->isa) ? NULL : choice->isa;
    settings->precision = CRD_PRECISION_F32;
    if (fp16) {
        settings->in_f32 = "the CPU computes in f32: fp16 is for GPUs";
    } else if (bf16 && choice->training) {
        settings->in_f32 = "training on the CPU is in f32: bf16 is for predictions and GPUs";
    } else if (bf16) {
        CRD_PASS(crd_ops_select(settings->isa, &ops)); /* is there such a path? */
        if (crd_ops_select_bf16(settings->isa, &ops) == CRD_OK) {
            settings->precision = CRD_PRECISION_BF16;
        } else {
            settings->in_f32 = settings->isa != NULL && strcmp(settings->isa, "avx512") != 0
                                   ? "this instruction path computes in f32: bf16 needs --isa avx512"
                                   : "this CPU computes in f32: it has no instructions for bf16 (AVX512_BF16)";
        }
    }
    *backend = &crd_backend_cpu;
    return CRD_OK;
}

enum { MOST_GPUS = 64, ANY_GPU = -1 };

/* One GPU per process of this machine; where there are more processes, they take turns. */
static int spread_over_gpus(const crd_backend *backend, const crd_device_settings *settings, int local_rank)
{
    crd_device_settings other = *settings;
    char text[256];
    for (other.device = 1; other.device < MOST_GPUS && other.device <= local_rank; other.device++) {
        if (backend->describe(&other, text, sizeof text) != CRD_OK) return local_rank % other.device;
    }
    return local_rank % MOST_GPUS;
}

/* Fails where there is no plug-in, no driver or no such GPU. */
static crd_status choose_cuda(const crd_device_choice *choice, int64_t number, const crd_backend **backend,
                              crd_device_settings *settings)
{
    char text[256];
    settings->device = (int)number;
    settings->precision = says(choice->precision, "f32")                     ? CRD_PRECISION_F32
                          : says(choice->precision, "bf16")                  ? CRD_PRECISION_BF16
                          : automatic(choice->precision) && choice->training ? CRD_PRECISION_BF16
                                                                             : CRD_PRECISION_FP16;
    if (!automatic(choice->precision) && !says(choice->precision, "fp16") &&
        settings->precision == CRD_PRECISION_FP16) {
        return no_precision(choice);
    }
    if (!automatic(choice->isa) && !gpu_path(choice->isa)) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "a GPU's instruction path is sm80 or sm90, not '%s'; leave out --isa",
                        choice->isa);
    }
    settings->isa = automatic(choice->isa) ? NULL : choice->isa;
    if (!automatic(choice->max_gpu_memory)) {
        CRD_PASS(crd_parse_bytes(choice->max_gpu_memory, "max-gpu-memory", &settings->max_bytes));
    }
    CRD_PASS(crd_plugin_load("libcredence_cuda.so", backend));
    if (number == ANY_GPU) settings->device = spread_over_gpus(*backend, settings, choice->local_rank);
    return (*backend)->describe(settings, text, sizeof text);
}

/* "0,1": the numbers in `settings->devices`. False where it isn't such a list. */
static bool parse_devices(const char *text, crd_device_settings *settings)
{
    settings->device_count = 0;
    for (;;) {
        int64_t number;
        const size_t length = strcspn(text, ",");
        if (length == 0 || strspn(text, "0123456789") != length || !crd_parse_int(text, length, &number) ||
            number >= 1024 || settings->device_count == CRD_DEVICES_MOST) {
            return false;
        }
        settings->devices[settings->device_count++] = (int)number;
        if (text[length] == '\0') return true;
        text += length + 1;
    }
}

/* Every GPU there is. */
static crd_status all_devices(const crd_device_choice *choice, const crd_backend **backend,
                              crd_device_settings *settings)
{
    char text[256];
    CRD_PASS(choose_cuda(choice, 0, backend, settings));
    for (int i = 0; i < CRD_DEVICES_MOST; i++) {
        crd_device_settings one = *settings;
        one.device = i;
        if (i > 0 && (*backend)->describe(&one, text, sizeof text) != CRD_OK) break;
        settings->devices[settings->device_count++] = i;
    }
    return CRD_OK;
}

/* What follows "cuda:". */
static crd_status choose_listed(const crd_device_choice *choice, const char *list, const crd_backend **backend,
                                crd_device_settings *settings)
{
    if (says(list, "all")) {
        CRD_PASS(all_devices(choice, backend, settings));
    } else if (parse_devices(list, settings)) {
        for (int i = settings->device_count - 1; i >= 0; i--) {
            CRD_PASS(choose_cuda(choice, settings->devices[i], backend, settings));
        }
    } else {
        return crd_check_device("device", choice->device);
    }
    if (settings->device_count == 1) return CRD_OK;
    crd_several_join(*backend, settings);
    *backend = &crd_backend_several;
    return CRD_OK;
}

crd_status crd_backend_choose(const crd_device_choice *choice, const crd_backend **backend,
                              crd_device_settings *settings)
{
    const char *device = choice->device;
    memset(settings, 0, sizeof *settings);
    *backend = NULL;
    settings->threads = (int)choice->threads;
    if (says(device, "cpu")) return choose_cpu(choice, backend, settings);
    if (automatic(device)) {
        /* an instruction path of the CPU asks for the CPU, too */
        const bool cpu = !automatic(choice->isa) && !gpu_path(choice->isa);
        if (!cpu && choose_cuda(choice, ANY_GPU, backend, settings) == CRD_OK) return CRD_OK;
        if (*backend != NULL) { /* the plug-in is there, and says why it can't */
            const char *reason = crd_last_error()->message;
            snprintf(settings->fallback, sizeof settings->fallback, "%.*s", (int)strcspn(reason, ";"), reason);
        }
        settings->device = 0;
        return choose_cpu(choice, backend, settings);
    }
    if (says(device, "cuda")) return choose_cuda(choice, ANY_GPU, backend, settings);
    if (strncmp(device, "cuda:", 5) == 0) return choose_listed(choice, device + 5, backend, settings);
    return crd_check_device("device", device);
}

crd_status crd_check_device(const char *name, const char *text)
{
    crd_device_settings settings;
    if (automatic(text) || says(text, "cpu") || says(text, "cuda") || says(text, "cuda:all")) return CRD_OK;
    if (strncmp(text, "cuda:", 5) == 0 && parse_devices(text + 5, &settings)) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be auto, cpu, cuda, cuda:N, cuda:N,M or cuda:all, not '%s'", name, text);
}

bool crd_backend_settle(const crd_backend *backend, int filters, bool training, crd_device_settings *settings)
{
    const crd_precision asked = settings->precision;
    if (backend->precision_of != NULL) settings->precision = backend->precision_of(settings, filters, training);
    return settings->precision != asked;
}
