// The plug-in's one exported symbol, its table, and its errors.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <atomic>
#include <new>

#include "backend/cuda/peak.cuh"
#include "backend/cuda/predict/predictor.cuh"
#include "backend/cuda/train/learner.cuh"
#include "backend/cuda/transport/solver.cuh"

static std::atomic<const crd_plugin_host *> library; // set anew by each thread that chooses a device

crd_status crd_cuda_fail(crd_status code, const char *file, int line, const char *format, ...)
{
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return library.load()->fail(code, file, line, sentence);
}

crd_status crd_cuda_check(cudaError_t error, const char *file, int line, const char *what)
{
    if (error == cudaSuccess) return CRD_OK;
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation) {
        return crd_cuda_fail(CRD_ERR_MEMORY, file, line,
                             "the GPU or the pinned host memory is full; choose a smaller "
                             "--chunk or close other programs on the GPU");
    }
    return crd_cuda_fail(CRD_ERR_SYSTEM, file, line, "the GPU failed: %s (%s)", cudaGetErrorString(error), what);
}

struct crd_predictor {
    Predictor *network;
    int device;
};

static bool asks_for(const crd_device_settings *settings, const char *path)
{
    return settings->isa != nullptr && strcmp(settings->isa, path) == 0;
}

// Whether this is a GPU that the kernels in hopper/ are for.
static bool is_hopper(const cudaDeviceProp &properties)
{
    return properties.major == 9 && properties.minor == 0;
}

crd_status cuda_use_device(const crd_device_settings *settings)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        cudaGetLastError();
        return CUDA_FAIL(CRD_ERR_UNSUPPORTED,
                         "no GPU was found, or the NVIDIA driver is not loaded; choose --device cpu");
    }
    if (settings->device < 0 || settings->device >= count) {
        return CUDA_FAIL(CRD_ERR_ARGUMENT, "there is no GPU number %d: this machine has %d, numbered from 0",
                         settings->device, count);
    }
    cudaDeviceProp properties;
    CUDA_PASS(cudaGetDeviceProperties(&properties, settings->device));
    if (properties.major < 8) {
        return CUDA_FAIL(CRD_ERR_UNSUPPORTED,
                         "the GPU %s has compute capability %d.%d and 8.0 is needed; choose --device cpu",
                         properties.name, properties.major, properties.minor);
    }
    if (asks_for(settings, "sm90") && !is_hopper(properties)) {
        return CUDA_FAIL(CRD_ERR_UNSUPPORTED,
                         "the GPU %s has compute capability %d.%d and the path sm90 is for 9.0; leave out --isa",
                         properties.name, properties.major, properties.minor);
    }
    CUDA_PASS(cudaSetDevice(settings->device));
    return CRD_OK;
}

enum { WIDEST_TRAINED = 32 /* base filters: beyond, the input of an up layer doesn't fit into shared memory */ };

// Widths that the kernels in half precision don't take run in float32, as --precision f32 does.
static crd_precision precision_of(const crd_device_settings *settings, int filters, bool training)
{
    const bool taken = filters % SLAB == 0 && (!training || filters <= WIDEST_TRAINED);
    return taken ? settings->precision : CRD_PRECISION_F32;
}

static crd_status path_of(const crd_device_settings *settings, Path *path)
{
    cudaDeviceProp properties;
    PASS(cuda_use_device(settings));
    CUDA_PASS(cudaGetDeviceProperties(&properties, settings->device));
    path->hopper = is_hopper(properties) && !asks_for(settings, "sm80");
    path->precision = settings->precision;
    return CRD_OK;
}

crd_status cuda_path_of(const crd_device_settings *settings, int filters, bool training, Path *path)
{
    PASS(path_of(settings, path));
    path->precision = precision_of(settings, filters, training);
    return CRD_OK;
}

static const char *path_name(const Path &path)
{
    return path.hopper ? "sm90" : "sm80";
}

static const char *precision_name(crd_precision precision)
{
    return precision == CRD_PRECISION_F32 ? "f32" : precision == CRD_PRECISION_BF16 ? "bf16" : "fp16";
}

static crd_status describe(const crd_device_settings *settings, char *text, size_t size)
{
    cudaDeviceProp properties;
    Path path;
    PASS(path_of(settings, &path));
    CUDA_PASS(cudaGetDeviceProperties(&properties, settings->device));
    snprintf(text, size, "cuda (%s, %s path, %s)", properties.name, path_name(path), precision_name(path.precision));
    return CRD_OK;
}

static crd_status learner_path(const crd_device_settings *settings, char *text, size_t size)
{
    Path path;
    PASS(path_of(settings, &path));
    snprintf(text, size, "%s %s", path_name(path), precision_name(path.precision));
    return CRD_OK;
}

// What a plan may take: nine tenths of what is free, or what the user allows.
crd_status cuda_available_bytes(const crd_device_settings *settings, int64_t *bytes)
{
    size_t free_bytes, total;
    CUDA_PASS(cudaMemGetInfo(&free_bytes, &total));
    *bytes = (int64_t)(free_bytes / 10 * 9);
    if (settings->max_bytes > 0 && settings->max_bytes < *bytes) *bytes = settings->max_bytes;
    return CRD_OK;
}

static crd_status plan_samples(const crd_device_settings *settings, const crd_predictor_plan *plan, Path *path,
                               int64_t *together)
{
    int64_t available, device, host;
    PASS(cuda_path_of(settings, plan->net->filters, false, path));
    PASS(cuda_available_bytes(settings, &available));
    *together = samples_together(*plan, *path, available);
    if (*together > 0) return CRD_OK;
    predictor_sizes(*plan, *path, 1, &device, &host);
    return CUDA_FAIL(CRD_ERR_MEMORY, "this chunk needs %.1f GiB on the GPU and %.1f are %s; choose a smaller --chunk",
                     (double)device / 1073741824.0, (double)available / 1073741824.0,
                     available == settings->max_bytes ? "allowed by --max-gpu-memory" : "free");
}

static crd_status predictor_bytes(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                  int64_t *host_bytes, int64_t *device_bytes)
{
    int64_t together;
    Path path;
    PASS(plan_samples(settings, plan, &path, &together));
    predictor_sizes(*plan, path, together, device_bytes, host_bytes);
    return CRD_OK;
}

static void predictor_free(crd_predictor **predictor)
{
    if (*predictor == nullptr) return;
    cudaSetDevice((*predictor)->device);
    delete (*predictor)->network;
    delete *predictor;
    *predictor = nullptr;
}

static crd_status predictor_create(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                   crd_predictor **out)
{
    int64_t together;
    Path path;
    *out = nullptr;
    if (plan->keep[0] > 0 && plan->moments == nullptr) {
        return CUDA_FAIL(CRD_ERR_INTERNAL, "a part of a chunk whose norms aren't frozen depends on all of it");
    }
    PASS(plan_samples(settings, plan, &path, &together));
    crd_predictor *predictor = new (std::nothrow) crd_predictor{nullptr, settings->device};
    if (predictor != nullptr) predictor->network = predictor_new(*plan, path, together);
    if (predictor == nullptr || predictor->network == nullptr) {
        predictor_free(&predictor);
        return CUDA_FAIL(CRD_ERR_MEMORY, "not enough memory for the predictor");
    }
    const crd_status status = predictor->network->open();
    if (status != CRD_OK) {
        predictor_free(&predictor);
        return status;
    }
    *out = predictor;
    return CRD_OK;
}

static int predictor_depth(const crd_predictor *predictor)
{
    return predictor->network->depth();
}

static void predictor_keep(crd_predictor *predictor, const crd_box *keep)
{
    predictor->network->keep(*keep);
}

static crd_status predictor_submit(crd_predictor *predictor, int64_t chunk_number, const float *input,
                                   const int64_t *probe, int64_t probe_count)
{
    CUDA_PASS(cudaSetDevice(predictor->device));
    return predictor->network->submit(chunk_number, input, probe, probe_count);
}

static crd_status predictor_collect(crd_predictor *predictor, crd_chunk_result *result)
{
    CUDA_PASS(cudaSetDevice(predictor->device));
    return predictor->network->collect(result);
}

static crd_status predictor_renew(crd_predictor *predictor)
{
    CUDA_PASS(cudaSetDevice(predictor->device));
    return predictor->network->renew();
}

static crd_status measure_norms(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                const crd_pieces *pieces, const crd_monitor *monitor, crd_moments *moments)
{
    int64_t available;
    Path path;
    (void)monitor; // it takes a moment
    PASS(cuda_path_of(settings, plan->net->filters, false, &path));
    PASS(cuda_available_bytes(settings, &available));
    return norms_measure(*plan, path, available, *pieces, moments);
}

static crd_status predictor_layers(crd_predictor *predictor, const float *input, double *milliseconds)
{
    CUDA_PASS(cudaSetDevice(predictor->device));
    return predictor->network->measure_layers(input, milliseconds);
}

static crd_status device_peak(const crd_device_settings *settings, crd_device_peak *out)
{
    Path path;
    PASS(path_of(settings, &path));
    PASS(peak_matrix(path, &out->matrix_gflops));
    return peak_copy(&out->copy_gigabytes);
}

static crd_status device_load(const crd_device_settings *settings, crd_device_load *out)
{
    PASS(cuda_use_device(settings));
    gpu_load(settings->device, &out->megahertz, &out->watts);
    return CRD_OK;
}

static const crd_backend backend = {
    CRD_BACKEND_VERSION,
    "cuda",
    false,          // on_host
    true,           // overlaps
    {88, 176, 176}, // chunk
    CRD_GPU_TILE_VOXELS,
    describe,
    precision_of,
    predictor_bytes,
    predictor_create,
    predictor_depth,
    predictor_keep,
    predictor_submit,
    predictor_collect,
    predictor_renew,
    predictor_free,
    nullptr, // norms_bytes: of the host little
    measure_norms,
    predictor_layers,
    device_peak,
    device_load,
    cuda_learner_bytes,
    learner_path,
    cuda_learner_create,
    cuda_learner_write,
    cuda_learner_read,
    cuda_learner_stage,
    cuda_learner_start,
    cuda_learner_finish,
    cuda_learner_gradient,
    cuda_learner_evaluate,
    cuda_learner_check,
    cuda_learner_checked,
    cuda_learner_keeps,
    cuda_learner_summarise,
    cuda_learner_free,
    // Samples come from the predictor, and processes don't divide steps.
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    cuda_transport_bytes,
    cuda_transport_solve,
};

extern "C" __attribute__((visibility("default"))) const crd_backend *crd_plugin_backend(const crd_plugin_host *host)
{
    static const crd_build_mark own = CRD_BACKEND_MARK;
    if (!crd_same_build(&host->mark, &own)) return nullptr;
    library = host;
    return &backend;
}
