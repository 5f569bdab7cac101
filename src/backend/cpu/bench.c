#include "credence/bench.h"

#include <stdio.h>
#include <string.h>

#include "backend/cpu/bench_peak.h"
#include "backend/cpu/tables.h"
#include "base/clock.h"
#include "base/memory.h"
#include "net/net.h"
#include "ops/cases.h"

typedef struct bench {
    const crd_ops *ops;
    crd_pool *pool;
    double seconds, peak_gflops;
    const char *only, *layer;
    int64_t *rows; /* so far */
    void (*row)(void *context, const crd_bench_row *row);
    void *context;
} bench;

/* The fastest of as many calls as fit into `seconds`, at least three. */
static double fastest(double seconds, void (*call)(void *context), void *context)
{
    call(context);
    const double start = crd_seconds();
    double best = 1e30;
    for (int i = 0; i < 3 || crd_seconds() - start < seconds; i++) {
        const double before = crd_seconds();
        call(context);
        const double took = crd_seconds() - before;
        if (took < best) best = took;
    }
    return best;
}

/* ---- what the machine can do ---- */

static float scalar_loop(int64_t rounds)
{
    float sum[32] = {0};
    for (int64_t r = 0; r < rounds; r++)
        for (int i = 0; i < 32; i++) sum[i] = sum[i] * 0.9999f + 1e-4f;
    float total = 0;
    for (int i = 0; i < 32; i++) total += sum[i];
    return total;
}
static const crd_peak peak_portable = {scalar_loop, 64};

enum { PEAK_ROUNDS = 1 << 16, COPY_ITEMS = 64 };
static const int64_t copy_floats = INT64_C(1) << 25;

typedef struct machine_work {
    crd_pool *pool;
    const crd_peak *peak;
    float sink[256];
    float *from, *to;
} machine_work;

static void peak_item(void *context, int64_t item, int worker)
{
    machine_work *work = context;
    (void)worker;
    work->sink[item % 256] = work->peak->loop(PEAK_ROUNDS);
}

static void peak_call(void *context)
{
    machine_work *work = context;
    crd_pool_run(work->pool, crd_pool_threads(work->pool), peak_item, work);
}

static void copy_item(void *context, int64_t item, int worker)
{
    const machine_work *work = context;
    (void)worker;
    const int64_t part = copy_floats / COPY_ITEMS;
    memcpy(work->to + item * part, work->from + item * part, (size_t)part * sizeof *work->to);
}

static void copy_call(void *context)
{
    machine_work *work = context;
    crd_pool_run(work->pool, COPY_ITEMS, copy_item, work);
}

static const crd_peak *peak_of(const char *isa)
{
#ifdef CRD_HAVE_X86
    if (strncmp(isa, "avx512", 6) == 0) return &crd_peak_avx512; /* in f32 for bf16, too */
    if (strcmp(isa, "avx2") == 0) return &crd_peak_avx2;
#endif
    (void)isa;
    return &peak_portable;
}

double crd_bench_peak(const crd_ops *ops, crd_pool *pool, double seconds)
{
    machine_work work = {.pool = pool, .peak = peak_of(ops->name)};
    const double flops = work.peak->flops_per_round * PEAK_ROUNDS * crd_pool_threads(pool);
    return 1e-9 * flops / fastest(seconds, peak_call, &work);
}

crd_status crd_bench_copy(crd_pool *pool, double seconds, double *gigabytes)
{
    crd_status status = CRD_OK;
    machine_work work = {.pool = pool};
    CRD_TRY(crd_alloc(copy_floats, sizeof(float), "the copy that is timed", &work.from));
    CRD_TRY(crd_alloc(copy_floats, sizeof(float), "the copy that is timed", &work.to));
    *gigabytes = 1e-9 * 8 * (double)copy_floats / fastest(seconds, copy_call, &work);
done:
    crd_free(&work.from);
    crd_free(&work.to);
    return status;
}

static crd_status measure_machine(const bench *b, crd_bench_machine *machine)
{
    *machine = (crd_bench_machine){.isa = b->ops->name, .threads = crd_pool_threads(b->pool)};
    machine->peak_gflops = crd_bench_peak(b->ops, b->pool, b->seconds);
    return crd_bench_copy(b->pool, b->seconds, &machine->copy_gigabytes);
}

static void report(const bench *b, const char *operation, const char *size, double seconds, double flops, double bytes)
{
    crd_bench_row row = {.layer = b->layer, .operation = operation, .milliseconds = 1e3 * seconds};
    snprintf(row.size, sizeof row.size, "%s", size);
    row.gflops = 1e-9 * flops / seconds;
    row.peak_share = row.gflops / b->peak_gflops;
    row.gigabytes = 1e-9 * bytes / seconds;
    if (b->row != NULL) b->row(b->context, &row);
    ++*b->rows;
}

static bool wanted(const bench *b, const char *operation)
{
    return b->only == NULL || strstr(operation, b->only) != NULL;
}

/* ---- convolutions ---- */

typedef struct conv_work {
    const bench *b;
    crd_op op;
    crd_tensor x[2], y;
    float *x_storage[2], *y_storage, *kernel, *bias;
    void *scratch;
    double *sums;
} conv_work;

static crd_status make_tensor(int64_t depth, int64_t height, int64_t width, int64_t channels, float **storage,
                              crd_tensor *out)
{
    CRD_PASS(crd_alloc(crd_tensor_floats(depth, height, width, channels), sizeof(float), "a tensor", storage));
    *out = crd_tensor_in(*storage, depth, height, width, channels);
    uint32_t state = 1;
    for (int64_t z = 0; z < depth; z++)
        for (int64_t y = 0; y < height; y++)
            for (int64_t i = 0; i < width * channels; i++) {
                state = state * 1664525u + 1013904223u;
                out->data[z * out->plane + y * out->row + i] = (float)(state >> 8) * 0x1p-23f - 1;
            }
    return CRD_OK;
}

static void conv_call(void *context)
{
    const conv_work *w = context;
    const crd_ops *ops = w->b->ops;
    crd_pool *pool = w->b->pool;
    crd_tensor y = w->y, dx = w->x[0];
    const crd_tensor *x1 = w->x[1].channels > 0 ? &w->x[1] : NULL;
    const crd_conv conv = {.x = {&w->x[0], x1},
                           .kernel = w->kernel,
                           .bias = w->bias,
                           .relu = true,
                           .y = &y,
                           .sums = w->sums,
                           .scratch = w->scratch};
    const crd_up up = {&w->x[0], w->kernel, w->bias, true, &y, w->sums, w->scratch};
    switch (w->op) {
    case CRD_OP_CONV:
        ops->conv_forward(pool, &conv);
        break;
    case CRD_OP_CONV_KERNEL:
        ops->conv_kernel_gradient(pool, &w->x[0], x1, &w->y, w->kernel, w->scratch);
        break;
    case CRD_OP_UP:
        ops->up_forward(pool, &up);
        break;
    case CRD_OP_UP_DATA:
        ops->up_data_gradient(pool, &w->y, w->kernel, &dx, w->scratch);
        break;
    case CRD_OP_UP_KERNEL:
        ops->up_kernel_gradient(pool, &w->x[0], &w->y, w->kernel, w->scratch);
        break;
    }
}

static crd_status bench_conv(const bench *b, crd_op op, const char *name, const crd_conv_size *size)
{
    if (!wanted(b, name)) return CRD_OK;
    crd_status status = CRD_OK;
    conv_work w = {.b = b, .op = op};
    const bool up = op == CRD_OP_UP || op == CRD_OP_UP_DATA || op == CRD_OP_UP_KERNEL;
    const int64_t part = up ? 2 : 1, in = size->channels_in[0] + size->channels_in[1], out = size->channels_out;
    const int64_t taps = up ? 8 : 27, voxels = size->depth * size->height * size->width;
    for (int i = 0; i < 2 && size->channels_in[i] > 0; i++)
        CRD_TRY(make_tensor(size->depth / part, size->height / part, size->width / part, size->channels_in[i],
                            &w.x_storage[i], &w.x[i]));
    CRD_TRY(make_tensor(size->depth, size->height, size->width, out, &w.y_storage, &w.y));
    CRD_TRY(crd_alloc(taps * in * out, sizeof(float), "a kernel", &w.kernel));
    CRD_TRY(crd_alloc(CRD_BORDER_CLASSES * out, sizeof(float), "a bias", &w.bias));
    CRD_TRY(crd_alloc(2 * out, sizeof(double), "sums", &w.sums));
    CRD_TRY(crd_alloc((int64_t)b->ops->scratch_bytes(op, size, crd_pool_threads(b->pool)), 1, "scratch", &w.scratch));
    const double seconds = fastest(b->seconds, conv_call, &w);
    char text[64];
    if (size->channels_in[1] > 0)
        snprintf(text, sizeof text, "%dx%dx%d %d+%d->%d", (int)size->depth, (int)size->height, (int)size->width,
                 (int)size->channels_in[0], (int)size->channels_in[1], (int)out);
    else
        snprintf(text, sizeof text, "%dx%dx%d %d->%d", (int)size->depth, (int)size->height, (int)size->width, (int)in,
                 (int)out);
    const double bytes = 4.0 * (double)(voxels * out + voxels / (up ? 8 : 1) * in);
    report(b, name, text, seconds, 2.0 * (double)(taps * in * out) * (double)voxels, bytes);
done:
    crd_free(&w.x_storage[0]);
    crd_free(&w.x_storage[1]);
    crd_free(&w.y_storage);
    crd_free(&w.kernel);
    crd_free(&w.bias);
    crd_free(&w.sums);
    crd_free(&w.scratch);
    return status;
}

/* ---- everything else ---- */

enum { SAMPLES = 48, PERCENTILES = 2 };

typedef struct voxel_work {
    const bench *b;
    crd_tensor x, g, low;
    float *x_storage, *g_storage, *low_storage, *channel, *samples, *summary;
    double *sums;
    uint8_t *label;
} voxel_work;

static void pool_forward_call(void *context)
{
    voxel_work *w = context;
    w->b->ops->pool_forward(w->b->pool, &w->x, w->channel, w->channel, &w->low);
}

static void pool_backward_call(void *context)
{
    voxel_work *w = context;
    w->b->ops->pool_backward(w->b->pool, &w->x, w->channel, w->channel, &w->low, &w->g);
}

static void gradient_sums_call(void *context)
{
    voxel_work *w = context;
    w->b->ops->gradient_sums(w->b->pool, &w->g, &w->x, w->sums);
}

static void gradient_apply_call(void *context)
{
    voxel_work *w = context;
    w->b->ops->gradient_apply(w->b->pool, &w->g, &w->x, w->channel, w->channel, w->channel, true, &w->g);
}

static void border_sums_call(void *context)
{
    voxel_work *w = context;
    w->b->ops->border_sums(w->b->pool, &w->g, w->sums);
}

static void head_probability_call(void *context)
{
    voxel_work *w = context;
    w->b->ops->head_probability(w->b->pool, &w->x, 1.5f, -0.5f, 1, w->summary);
}

static void head_loss_call(void *context)
{
    voxel_work *w = context;
    double result[5];
    w->b->ops->head_loss(w->b->pool, &w->x, 1.5f, -0.5f, w->label, 1, &w->g, result);
}

static void summarise_call(void *context)
{
    voxel_work *w = context;
    static const double percentiles[PERCENTILES] = {33, 67};
    const int64_t voxels = w->x.depth * w->x.height * w->x.width;
    w->b->ops->summarise(w->b->pool, w->samples, SAMPLES, voxels, voxels, percentiles, PERCENTILES, w->summary);
}

/* `traffic`: floats read and written per value of x. */
static void bench_voxels(const bench *b, const char *name, voxel_work *w, void (*call)(void *), double traffic)
{
    if (!wanted(b, name)) return;
    char text[64];
    snprintf(text, sizeof text, "%dx%dx%d %d", (int)w->x.depth, (int)w->x.height, (int)w->x.width, (int)w->x.channels);
    const double values = (double)(w->x.depth * w->x.height * w->x.width * w->x.channels);
    report(b, name, text, fastest(b->seconds, call, w), 0, 4 * traffic * values);
}

static crd_status bench_shape(const bench *b, const crd_shape *shape)
{
    crd_status status = CRD_OK;
    voxel_work w = {.b = b};
    const int64_t voxels = shape->depth * shape->height * shape->width, channels = shape->channels;
    CRD_TRY(make_tensor(shape->depth, shape->height, shape->width, channels, &w.x_storage, &w.x));
    CRD_TRY(make_tensor(shape->depth, shape->height, shape->width, channels, &w.g_storage, &w.g));
    CRD_TRY(make_tensor(shape->depth / 2, shape->height / 2, shape->width / 2, channels, &w.low_storage, &w.low));
    CRD_TRY(crd_alloc(channels, sizeof(float), "channels", &w.channel));
    CRD_TRY(crd_alloc(CRD_BORDER_CLASSES * channels, sizeof(double), "sums", &w.sums));
    CRD_TRY(crd_alloc(voxels, 1, "labels", &w.label));
    for (int64_t c = 0; c < channels; c++) w.channel[c] = 1;
    if (channels > 1) {
        bench_voxels(b, "pool", &w, pool_forward_call, 1.125);
        bench_voxels(b, "pool gradient", &w, pool_backward_call, 3.125);
        bench_voxels(b, "gradient sums", &w, gradient_sums_call, 2);
        bench_voxels(b, "gradient apply", &w, gradient_apply_call, 3);
        bench_voxels(b, "border sums", &w, border_sums_call, 1);
    } else {
        CRD_TRY(crd_alloc(voxels * SAMPLES, sizeof(float), "samples", &w.samples));
        CRD_TRY(crd_alloc(voxels * (2 + PERCENTILES), sizeof(float), "a summary", &w.summary));
        for (int64_t i = 0; i < voxels * SAMPLES; i++) w.samples[i] = (float)(i * 7919 % 10007);
        bench_voxels(b, "head probability", &w, head_probability_call, 2);
        bench_voxels(b, "head loss", &w, head_loss_call, 2.25);
        bench_voxels(b, "summarise", &w, summarise_call, SAMPLES + 2 + PERCENTILES);
    }
done:
    crd_free(&w.x_storage);
    crd_free(&w.g_storage);
    crd_free(&w.low_storage);
    crd_free(&w.channel);
    crd_free(&w.sums);
    crd_free(&w.label);
    crd_free(&w.samples);
    crd_free(&w.summary);
    return status;
}

/* ---- the network, layer by layer ---- */

static crd_status bench_layer(bench *b, const crd_net *net, int number, const int64_t chunk[3])
{
    const crd_conv_layer *layer = &net->layers[number];
    const int64_t level = layer->level - 1;
    const bool two = layer->skip != CRD_NONE; /* skip and up, concatenated */
    const int64_t first = two ? net->layers[layer->skip].channels_out : layer->channels_in;
    const crd_conv_size size = {chunk[0] >> level,
                                chunk[1] >> level,
                                chunk[2] >> level,
                                {first, layer->channels_in - first},
                                layer->channels_out};
    const crd_conv_size back = {size.depth, size.height, size.width, {layer->channels_out, 0}, first};
    b->layer = layer->path;
    if (layer->kernel == 2) {
        CRD_PASS(bench_conv(b, CRD_OP_UP, "up", &size));
        CRD_PASS(bench_conv(b, CRD_OP_UP_DATA, "up data gradient", &size));
        return bench_conv(b, CRD_OP_UP_KERNEL, "up kernel gradient", &size);
    }
    CRD_PASS(bench_conv(b, CRD_OP_CONV, "conv", &size));
    for (int half = 0; half < (two ? 2 : 1) && layer->source != CRD_SCAN; half++) {
        CRD_PASS(bench_conv(b, CRD_OP_CONV, "conv data gradient", &back));
    }
    return bench_conv(b, CRD_OP_CONV_KERNEL, "conv kernel gradient", &size);
}

static crd_status bench_layers(bench *b, const crd_bench_ops_settings *settings)
{
    static const int64_t usual[3] = {48, 88, 88};
    const int64_t *chunk = settings->chunk[0] > 0 ? settings->chunk : usual;
    crd_net net;
    CRD_PASS(crd_net_describe_classes(CRD_BCNN, settings->filters > 0 ? settings->filters : 16, 4,
                                      settings->classes > 0 ? settings->classes : 2, &net));
    CRD_PASS(crd_net_check_chunk(&net, chunk));
    for (int layer = 0; layer <= net.head; layer++) CRD_PASS(bench_layer(b, &net, layer, chunk));
    return CRD_OK;
}

static crd_status bench_kinds(const bench *b)
{
    for (size_t i = 0; i < CRD_COUNT(crd_conv_timings); i++) {
        CRD_PASS(bench_conv(b, CRD_OP_CONV, "conv", &crd_conv_timings[i]));
        CRD_PASS(bench_conv(b, CRD_OP_CONV_KERNEL, "conv kernel gradient", &crd_conv_timings[i]));
    }
    for (size_t i = 0; i < CRD_COUNT(crd_up_timings); i++) {
        CRD_PASS(bench_conv(b, CRD_OP_UP, "up", &crd_up_timings[i]));
        CRD_PASS(bench_conv(b, CRD_OP_UP_DATA, "up data gradient", &crd_up_timings[i]));
        CRD_PASS(bench_conv(b, CRD_OP_UP_KERNEL, "up kernel gradient", &crd_up_timings[i]));
    }
    for (size_t i = 0; i < CRD_COUNT(crd_voxel_timings); i++) CRD_PASS(bench_shape(b, &crd_voxel_timings[i]));
    return CRD_OK;
}

crd_status crd_bench_ops(const crd_bench_ops_settings *settings,
                         void (*machine)(void *context, const crd_bench_machine *machine),
                         void (*row)(void *context, const crd_bench_row *row), void *context)
{
    crd_status status = CRD_OK;
    int64_t rows = 0;
    bench b = {.only = settings->only, .rows = &rows, .row = row, .context = context};
    b.seconds = settings->seconds > 0 ? settings->seconds : 0.2;
    const bool bf16 = settings->precision != NULL && strcmp(settings->precision, "bf16") == 0;
    CRD_PASS(bf16 ? crd_ops_select_bf16(settings->isa, &b.ops) : crd_ops_select(settings->isa, &b.ops));
    CRD_PASS(crd_pool_create(settings->threads, &b.pool));
    crd_bench_machine found;
    CRD_TRY(measure_machine(&b, &found));
    b.peak_gflops = found.peak_gflops;
    if (machine != NULL) machine(context, &found);
    CRD_TRY(settings->layers ? bench_layers(&b, settings) : bench_kinds(&b));
    if (rows == 0 && settings->only != NULL) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "no operation's name contains '%s'; without --only all are shown", settings->only);
    }
done:
    crd_pool_free(&b.pool);
    return status;
}
