#include "backend/several.h"

#include "base/memory.h"

struct crd_predictor {
    const crd_backend *each;
    int count;
    int64_t submitted, collected;
    crd_predictor *workers[CRD_DEVICES_MOST];
};

/* Settings of one of the devices. Those that are named more than once share what memory they may take. */
static crd_device_settings settings_of(const crd_device_settings *settings, int index)
{
    crd_device_settings one = *settings;
    int64_t sharing = 0;
    one.device = settings->devices[index];
    one.device_count = 1;
    for (int i = 0; i < settings->device_count; i++) sharing += settings->devices[i] == one.device;
    one.max_bytes = settings->max_bytes / sharing;
    return one;
}

static crd_status describe(const crd_device_settings *settings, char *text, size_t size)
{
    const crd_device_settings one = settings_of(settings, 0);
    return settings->each->describe(&one, text, size);
}

static crd_status predictor_bytes(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                  int64_t *host_bytes, int64_t *device_bytes)
{
    *host_bytes = *device_bytes = 0;
    for (int i = 0; i < settings->device_count; i++) {
        const crd_device_settings one = settings_of(settings, i);
        int64_t host, device;
        CRD_PASS(settings->each->predictor_bytes(&one, plan, &host, &device));
        *host_bytes += host;
        *device_bytes += device;
    }
    return CRD_OK;
}

static void predictor_free(crd_predictor **pointer)
{
    crd_predictor *predictor = *pointer;
    if (predictor == NULL) return;
    for (int i = 0; i < predictor->count; i++) predictor->each->predictor_free(&predictor->workers[i]);
    crd_free(pointer);
}

static crd_status predictor_create(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                   crd_predictor **out)
{
    crd_status status = CRD_OK;
    crd_predictor *predictor = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *predictor, "the predictor", &predictor));
    predictor->each = settings->each;
    for (int i = 0; i < settings->device_count; i++) {
        const crd_device_settings one = settings_of(settings, i);
        CRD_TRY(settings->each->predictor_create(&one, plan, &predictor->workers[i]));
        predictor->count++;
    }
    *out = predictor;
    predictor = NULL;
done:
    predictor_free(&predictor);
    return status;
}

static int predictor_depth(const crd_predictor *predictor)
{
    return predictor->count * predictor->each->predictor_depth(predictor->workers[0]);
}

static crd_status predictor_submit(crd_predictor *predictor, int64_t chunk_number, const float *input,
                                   const int64_t *probe, int64_t probe_count)
{
    crd_predictor *worker = predictor->workers[predictor->submitted % predictor->count];
    CRD_PASS(predictor->each->predictor_submit(worker, chunk_number, input, probe, probe_count));
    predictor->submitted++;
    return CRD_OK;
}

static crd_status predictor_collect(crd_predictor *predictor, crd_chunk_result *result)
{
    crd_predictor *worker = predictor->workers[predictor->collected % predictor->count];
    CRD_PASS(predictor->each->predictor_collect(worker, result));
    predictor->collected++;
    return CRD_OK;
}

static bool named_before(const crd_device_settings *settings, int index)
{
    for (int i = 0; i < index; i++) {
        if (settings->devices[i] == settings->devices[index]) return true;
    }
    return false;
}

/* All of them together. */
static crd_status device_peak(const crd_device_settings *settings, crd_device_peak *out)
{
    *out = (crd_device_peak){0};
    for (int i = 0; i < settings->device_count; i++) {
        const crd_device_settings one = settings_of(settings, i);
        crd_device_peak peak;
        if (named_before(settings, i)) continue;
        CRD_PASS(settings->each->device_peak(&one, &peak));
        out->matrix_gflops += peak.matrix_gflops;
        out->copy_gigabytes += peak.copy_gigabytes;
    }
    return CRD_OK;
}

static crd_status device_load(const crd_device_settings *settings, crd_device_load *out)
{
    const crd_device_settings one = settings_of(settings, 0);
    return settings->each->device_load(&one, out);
}

const crd_backend crd_backend_several = {
    .version = CRD_BACKEND_VERSION,
    .name = "several",
    .describe = describe,
    .predictor_bytes = predictor_bytes,
    .predictor_create = predictor_create,
    .predictor_depth = predictor_depth,
    .predictor_submit = predictor_submit,
    .predictor_collect = predictor_collect,
    .predictor_free = predictor_free,
    .device_peak = device_peak,
    .device_load = device_load,
};
