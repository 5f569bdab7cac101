/* Convolutions of every table against the textbook in double, for one, two and five threads; those of bfloat16 with the
 * tolerance of that precision, where this CPU has it. */
#include "op_harness.h"

static const double output_tolerance = 1e-5, gradient_tolerance = 5e-5, sums_tolerance = 1e-5, bf16_tolerance = 1.5e-2;

typedef struct problem {
    crd_conv_size size;
    bool up;
    int64_t in, voxels, taps;
    int64_t in_shape[3]; /* low resolution when up */
    float *x[2], *kernel, *bias, *dy;
    double *expected, *dkernel, *dx; /* dx: of the first input (up only) */
    op_tensor tx[2], tdy;
} problem;

static double *clipped_with_bias(const problem *p, const double *conv, bool relu)
{
    const crd_conv_size *s = &p->size;
    double *y = malloc((size_t)(p->voxels * s->channels_out) * sizeof *y);
    for (int64_t v = 0; v < p->voxels; v++) {
        const int z = crd_border_axis(v / (s->height * s->width), s->depth);
        const int h = crd_border_axis(v / s->width % s->height, s->height);
        const int w = crd_border_axis(v % s->width, s->width);
        for (int64_t c = 0; c < s->channels_out; c++) {
            const double value =
                conv[v * s->channels_out + c] + (double)p->bias[crd_border_class(z, h, w) * s->channels_out + c];
            y[v * s->channels_out + c] = relu && value < 0 ? 0 : value;
        }
    }
    return y;
}

static void problem_make(problem *p, const crd_conv_size *size, bool up)
{
    memset(p, 0, sizeof *p);
    op_random_state = 7;
    p->size = *size;
    p->up = up;
    p->in = size->channels_in[0] + size->channels_in[1];
    p->voxels = size->depth * size->height * size->width;
    p->taps = up ? 8 : 27;
    const int64_t part = up ? 2 : 1;
    p->in_shape[0] = size->depth / part, p->in_shape[1] = size->height / part, p->in_shape[2] = size->width / part;
    const int64_t in_voxels = p->in_shape[0] * p->in_shape[1] * p->in_shape[2];
    double *wide_x[2] = {NULL, NULL};
    for (int i = 0; i < 2 && size->channels_in[i] > 0; i++) {
        p->x[i] = op_values(in_voxels * size->channels_in[i]);
        wide_x[i] = op_doubles(p->x[i], in_voxels * size->channels_in[i]);
        p->tx[i] = op_tensor_make(p->in_shape[0], p->in_shape[1], p->in_shape[2], size->channels_in[i], p->x[i]);
    }
    const int64_t kernel_count = p->taps * p->in * size->channels_out;
    p->kernel = op_values(kernel_count);
    p->bias = op_values(CRD_BORDER_CLASSES * size->channels_out);
    p->dy = op_values(p->voxels * size->channels_out);
    p->tdy = op_tensor_make(size->depth, size->height, size->width, size->channels_out, p->dy);
    double *wide_kernel = op_doubles(p->kernel, kernel_count);
    double *wide_dy = op_doubles(p->dy, p->voxels * size->channels_out);
    p->expected = calloc((size_t)(p->voxels * size->channels_out), sizeof(double));
    p->dkernel = calloc((size_t)kernel_count, sizeof(double));
    p->dx = calloc((size_t)(in_voxels * size->channels_in[0]), sizeof(double));
    const crd_ref_conv conv = {.size = *size, .edge = up ? 2 : 3, .enlarge = up ? 2 : 1};
    crd_ref_conv_forward_d(&conv, wide_x[0], wide_x[1], wide_kernel, NULL, p->expected);
    crd_ref_conv_backward_d(&conv, wide_x[0], wide_x[1], wide_kernel, wide_dy, p->dx, NULL, p->dkernel, NULL);
    free(wide_x[0]), free(wide_x[1]), free(wide_kernel), free(wide_dy);
}

static void problem_free(problem *p)
{
    for (int i = 0; i < 2; i++) free(p->x[i]), op_tensor_free(&p->tx[i]);
    free(p->kernel), free(p->bias), free(p->dy), free(p->expected), free(p->dkernel), free(p->dx);
    op_tensor_free(&p->tdy);
}

typedef enum manner { FINISHED, PLAIN, EXACT } manner; /* with bias, ReLU and sums; without; the kernel exact, too */

/* One forward run into a tensor, with its own scratch. */
static void run_into(const problem *p, const crd_ops *ops, crd_pool *pool, manner how, crd_tensor *y, double *sums)
{
    const bool plain = how == PLAIN;
    const crd_op op = p->up ? CRD_OP_UP : CRD_OP_CONV;
    void *scratch = op_scratch(ops->scratch_bytes(op, &p->size, crd_pool_threads(pool)));
    const float *bias = plain ? NULL : p->bias;
    if (p->up) {
        const crd_up up = {&p->tx[0].tensor, p->kernel, bias, !plain, y, plain ? NULL : sums, scratch};
        ops->up_forward(pool, &up);
    } else {
        const crd_tensor *x1 = p->size.channels_in[1] > 0 ? &p->tx[1].tensor : NULL;
        const crd_conv conv = {.x = {&p->tx[0].tensor, x1},
                               .kernel = p->kernel,
                               .bias = bias,
                               .relu = !plain,
                               .exact = how == EXACT,
                               .y = y,
                               .sums = plain ? NULL : sums,
                               .scratch = scratch};
        ops->conv_forward(pool, &conv);
    }
    free(scratch);
}

/* The same into a new one; y and sums are the caller's. */
static void run_forward(const problem *p, const crd_ops *ops, crd_pool *pool, manner how, op_tensor *y, double *sums)
{
    *y = op_tensor_make(p->size.depth, p->size.height, p->size.width, p->size.channels_out, NULL);
    run_into(p, ops, pool, how, &y->tensor, sums);
}

static void say(const problem *p, const crd_ops *ops, const char *what, double error)
{
    printf("%s %s %ldx%ldx%ld %ld+%ld->%ld: %s is off by %.2e\n", ops->name, p->up ? "up" : "conv", (long)p->size.depth,
           (long)p->size.height, (long)p->size.width, (long)p->size.channels_in[0], (long)p->size.channels_in[1],
           (long)p->size.channels_out, what, error);
}

/* The largest errors met, by table: printed at the end, to know how far from the tolerance they are. */
enum { OUTPUT, KERNEL_GRADIENT, DATA_GRADIENT, KINDS };
static double worst[sizeof op_tables / sizeof op_tables[0]][KINDS], worst_bf16;

static double noted(const crd_ops *ops, int kind, double error)
{
    for (size_t t = 0; t < sizeof op_tables / sizeof op_tables[0]; t++)
        if (strcmp(op_tables[t], ops->name) == 0) worst[t][kind] = worse(worst[t][kind], error);
    if (strstr(ops->name, "bf16") != NULL) worst_bf16 = worse(worst_bf16, error);
    return error;
}

static void print_worst(const char *what)
{
    for (size_t t = 0; t < sizeof op_tables / sizeof op_tables[0]; t++) {
        printf("%s, %s: largest errors %.1e (output), %.1e (kernel gradient), %.1e (data gradient)\n", what,
               op_tables[t], worst[t][OUTPUT], worst[t][KERNEL_GRADIENT], worst[t][DATA_GRADIENT]);
        memset(worst[t], 0, sizeof worst[t]);
    }
    printf("%s, bf16: largest error %.1e (output)\n", what, worst_bf16);
    worst_bf16 = 0;
}

#define CHECK_ERROR(what, error, tolerance)                                                                            \
    do {                                                                                                               \
        const double value = (error);                                                                                  \
        if (!(value <= (tolerance))) {                                                                                 \
            say(p, ops, what, value);                                                                                  \
            harness_failed = 1;                                                                                        \
        }                                                                                                              \
    } while (0)

static void check_forward(const problem *p, const crd_ops *ops, crd_pool **pools, manner how, double tolerance)
{
    const bool plain = how == PLAIN;
    const int64_t out = p->size.channels_out, count = p->voxels * out;
    double *expected = plain ? NULL : clipped_with_bias(p, p->expected, true);
    const double *want = plain ? p->expected : expected;
    double *sums = calloc((size_t)(2 * out), sizeof *sums), *first_sums = NULL, *want_sums = calloc((size_t)out, 16);
    double largest[2] = {1e-30, 1e-30};
    for (int64_t i = 0; i < count; i++) {
        want_sums[i % out] += want[i];
        want_sums[out + i % out] += want[i] * want[i];
    }
    for (int64_t c = 0; c < 2 * out; c++) largest[c / out] = worse(largest[c / out], fabs(want_sums[c]));
    op_tensor first = {0};
    for (int t = 0; t < OP_THREADS; t++) {
        op_tensor y;
        run_forward(p, ops, pools[t], how, &y, sums);
        CHECK(op_surroundings_intact(&y));
        if (t == 0) {
            float *actual = op_plain(&y.tensor);
            CHECK_ERROR("the output", noted(ops, OUTPUT, op_error(actual, want, count)), tolerance);
            free(actual);
            for (int64_t c = 0; c < 2 * out && !plain; c++)
                CHECK_ERROR("a sum", apart(sums[c], want_sums[c]) / largest[c / out],
                            sums_tolerance > tolerance ? sums_tolerance : tolerance);
            first = y;
            first_sums = memcpy(malloc((size_t)out * 16), sums, (size_t)out * 16);
        } else {
            CHECK_ERROR("the output's bytes for other threads",
                        memcmp(first.storage, y.storage, (size_t)y.floats * 4) != 0, 0);
            CHECK_ERROR("the sums' bytes for other threads", memcmp(first_sums, sums, (size_t)out * 16) != 0, 0);
            op_tensor_free(&y);
        }
    }
    op_tensor_free(&first);
    free(expected), free(sums), free(first_sums), free(want_sums);
}

static void check_kernel_gradient(const problem *p, const crd_ops *ops, crd_pool **pools)
{
    const int64_t count = p->taps * p->in * p->size.channels_out;
    float *first = NULL;
    for (int t = 0; t < OP_THREADS; t++) {
        float *dkernel = malloc((size_t)count * sizeof *dkernel);
        memset(dkernel, 0xff, (size_t)count * sizeof *dkernel);
        const crd_op op = p->up ? CRD_OP_UP_KERNEL : CRD_OP_CONV_KERNEL;
        void *scratch = op_scratch(ops->scratch_bytes(op, &p->size, crd_pool_threads(pools[t])));
        const crd_tensor *x1 = p->size.channels_in[1] > 0 ? &p->tx[1].tensor : NULL;
        if (p->up)
            ops->up_kernel_gradient(pools[t], &p->tx[0].tensor, &p->tdy.tensor, dkernel, scratch);
        else
            ops->conv_kernel_gradient(pools[t], &p->tx[0].tensor, x1, &p->tdy.tensor, dkernel, scratch);
        free(scratch);
        if (t == 0) {
            CHECK_ERROR("the kernel's gradient", noted(ops, KERNEL_GRADIENT, op_error(dkernel, p->dkernel, count)),
                        gradient_tolerance);
            first = dkernel;
        } else {
            CHECK_ERROR("the kernel gradient's bytes for other threads",
                        memcmp(first, dkernel, (size_t)count * sizeof *first) != 0, 0);
            free(dkernel);
        }
    }
    free(first);
}

static void check_up_data_gradient(const problem *p, const crd_ops *ops, crd_pool **pools)
{
    op_tensor first = {0};
    for (int t = 0; t < OP_THREADS; t++) {
        op_tensor dx = op_tensor_make(p->in_shape[0], p->in_shape[1], p->in_shape[2], p->in, NULL);
        void *scratch = op_scratch(ops->scratch_bytes(CRD_OP_UP_DATA, &p->size, crd_pool_threads(pools[t])));
        ops->up_data_gradient(pools[t], &p->tdy.tensor, p->kernel, &dx.tensor, scratch);
        free(scratch);
        CHECK(op_surroundings_intact(&dx));
        if (t == 0) {
            float *actual = op_plain(&dx.tensor);
            CHECK_ERROR("the data gradient", noted(ops, DATA_GRADIENT, op_error(actual, p->dx, p->voxels / 8 * p->in)),
                        output_tolerance);
            free(actual);
            first = dx;
        } else {
            CHECK_ERROR("the data gradient's bytes for other threads",
                        memcmp(first.storage, dx.storage, (size_t)dx.floats * 4) != 0, 0);
            op_tensor_free(&dx);
        }
    }
    op_tensor_free(&first);
}

static void check_all(const crd_conv_size *cases, size_t count, bool up)
{
    crd_pool *pools[OP_THREADS];
    for (int t = 0; t < OP_THREADS; t++) CHECK_OK(crd_pool_create(op_threads[t], &pools[t]));
    for (size_t i = 0; i < count; i++) {
        problem p;
        problem_make(&p, &cases[i], up);
        const crd_ops *ops = NULL;
        OP_FOR_EACH_TABLE(ops)
        {
            check_forward(&p, ops, pools, FINISHED, output_tolerance);
            check_forward(&p, ops, pools, PLAIN, output_tolerance);
            if (!up) check_forward(&p, ops, pools, EXACT, output_tolerance);
            check_kernel_gradient(&p, ops, pools);
            if (up) check_up_data_gradient(&p, ops, pools);
        }
        if (have_path("avx512, bf16", crd_ops_select_bf16(NULL, &ops) == CRD_OK)) {
            check_forward(&p, ops, pools, FINISHED, bf16_tolerance);
            check_forward(&p, ops, pools, PLAIN, bf16_tolerance);
            if (!up) check_forward(&p, ops, pools, EXACT, bf16_tolerance);
        }
        CHECK(op_surroundings_intact(&p.tx[0]) && op_surroundings_intact(&p.tdy));
        problem_free(&p);
    }
    for (int t = 0; t < OP_THREADS; t++) crd_pool_free(&pools[t]);
}

static void test_conv(void)
{
    check_all(crd_conv_cases, CRD_COUNT(crd_conv_cases), false);
    print_worst("conv");
}

static void test_up(void)
{
    check_all(crd_up_cases, CRD_COUNT(crd_up_cases), true);
    print_worst("up");
}

/* A convolution that is given what was kept of its first input, whose voxels are gone: the same bytes. */
static void check_kept(const crd_conv_size *size, const crd_ops *ops, crd_pool *pool)
{
    problem p = {.size = *size};
    const int64_t voxels = size->depth * size->height * size->width, out = size->channels_out;
    const size_t kept_bytes = ops->keep_bytes(size);
    if (kept_bytes == 0) return;
    void *kept = op_scratch(kept_bytes), *scratch = op_scratch(ops->scratch_bytes(CRD_OP_CONV, size, 2));
    op_tensor y[2];
    double *sums[2];
    op_random_state = 5;
    for (int i = 0; i < 2; i++) {
        p.x[i] = op_values(voxels * size->channels_in[i]);
        p.tx[i] = op_tensor_make(size->depth, size->height, size->width, size->channels_in[i], p.x[i]);
        y[i] = op_tensor_make(size->depth, size->height, size->width, out, NULL);
        sums[i] = calloc((size_t)(2 * out), sizeof *sums[i]);
    }
    p.kernel = op_values(27 * (size->channels_in[0] + size->channels_in[1]) * out);
    p.bias = op_values(CRD_BORDER_CLASSES * out);
    crd_conv conv = {
        .x = {&p.tx[0].tensor, &p.tx[1].tensor}, .kernel = p.kernel, .bias = p.bias, .relu = true, .scratch = scratch};
    conv.y = &y[0].tensor, conv.sums = sums[0];
    ops->conv_forward(pool, &conv);
    ops->conv_keep(pool, conv.x[0], size, kept);
    memset(p.tx[0].storage, 0xff, (size_t)p.tx[0].floats * sizeof(float));
    conv.y = &y[1].tensor, conv.sums = sums[1], conv.kept = kept;
    ops->conv_forward(pool, &conv);
    CHECK(memcmp(y[0].storage, y[1].storage, (size_t)y[0].floats * sizeof(float)) == 0);
    CHECK(memcmp(sums[0], sums[1], (size_t)(2 * out) * sizeof *sums[0]) == 0);
    for (int i = 0; i < 2; i++) op_tensor_free(&y[i]), free(sums[i]);
    problem_free(&p);
    free(kept);
    free(scratch);
}

static void test_kept(void)
{
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(2, &pool));
    for (size_t i = 0; i < CRD_COUNT(crd_conv_cases); i++) {
        if (crd_conv_cases[i].channels_in[1] == 0) continue;
        const crd_ops *ops = NULL;
        OP_FOR_EACH_TABLE(ops) check_kept(&crd_conv_cases[i], ops, pool);
        if (have_path("avx512, bf16", crd_ops_select_bf16(NULL, &ops) == CRD_OK))
            check_kept(&crd_conv_cases[i], ops, pool);
    }
    crd_pool_free(&pool);
}

/* What voxels with ones all around them are off by, root mean square: rounded weights are wrong by the same for all
 * voxels, and ones leave hardly any other error. */
static double common_error(const crd_ops *ops, crd_pool *pool, manner how)
{
    const crd_conv_size size = {6, 12, 12, {64, 0}, 64};
    const int64_t in = size.channels_in[0], out = size.channels_out,
                  values = size.depth * size.height * size.width * in;
    problem p = {.size = size, .x = {malloc((size_t)values * sizeof(float))}};
    for (int64_t i = 0; i < values; i++) p.x[0][i] = 1;
    op_random_state = 3;
    p.tx[0] = op_tensor_make(size.depth, size.height, size.width, in, p.x[0]);
    p.kernel = op_values(27 * in * out);
    p.bias = calloc((size_t)(CRD_BORDER_CLASSES * out), sizeof *p.bias);
    op_tensor y;
    double sums[128], square = 0;
    run_forward(&p, ops, pool, how, &y, sums);
    for (int64_t o = 0; o < out; o++) {
        double expected = 0;
        for (int64_t k = 0; k < 27 * in; k++) expected += (double)p.kernel[k * out + o];
        for (int64_t v = 0; v < 4 * 10 * 10; v++) {
            const float found = op_voxel(&y.tensor, 1 + v / 100, 1 + v / 10 % 10, 1 + v % 10)[o];
            const double error = apart((double)found, expected > 0 ? expected : 0);
            square += error * error;
        }
    }
    op_tensor_free(&y);
    problem_free(&p);
    return sqrt(square / (double)(out * 4 * 10 * 10));
}

/* Kernels that are transformed are rounded once where they are to be exact; the portable table transforms none. */
static void test_exact_kernels(void)
{
    crd_pool *pool = NULL;
    const crd_ops *ops;
    CHECK_OK(crd_pool_create(2, &pool));
    OP_FOR_EACH_TABLE(ops)
    {
        const double usual = common_error(ops, pool, FINISHED), exact = common_error(ops, pool, EXACT);
        printf("       %s: %.2e, exact %.2e\n", ops->name, usual, exact);
        CHECK(strcmp(ops->name, "portable") == 0 ? exact == usual : exact < 0.9 * usual);
    }
    crd_pool_free(&pool);
}

/* Large results are written past the caches if they begin with a line of them: no other bytes than elsewhere. */
static void check_large(const crd_conv_size *size, bool up, const crd_ops *ops)
{
    enum { OFF = 4 };
    problem p = {.size = *size, .up = up, .in = size->channels_in[0], .taps = up ? 8 : 27};
    const int64_t part = up ? 2 : 1, depth = size->depth / part, height = size->height / part, out = size->channels_out;
    op_random_state = 11;
    p.x[0] = op_values(depth * height * (size->width / part) * p.in);
    p.tx[0] = op_tensor_make(depth, height, size->width / part, p.in, p.x[0]);
    p.kernel = op_values(p.taps * p.in * out);
    p.bias = op_values(CRD_BORDER_CLASSES * out);
    double *sums = calloc((size_t)(4 * out), sizeof *sums);
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(2, &pool));
    op_tensor y;
    run_forward(&p, ops, pool, FINISHED, &y, sums);
    float *shifted = op_scratch((size_t)(y.floats + OFF) * sizeof *shifted);
    memset(shifted, 0, (size_t)(y.floats + OFF) * sizeof *shifted);
    crd_tensor other = crd_tensor_in(shifted + OFF, size->depth, size->height, size->width, out);
    run_into(&p, ops, pool, FINISHED, &other, sums + 2 * out);
    float *here = op_plain(&y.tensor), *there = op_plain(&other);
    CHECK(memcmp(here, there, (size_t)(size->depth * size->height * size->width * out) * sizeof *here) == 0);
    CHECK(memcmp(sums, sums + 2 * out, (size_t)(2 * out) * sizeof *sums) == 0);
    CHECK(op_surroundings_intact(&y));
    free(here), free(there), free(shifted), free(sums);
    op_tensor_free(&y);
    problem_free(&p);
    crd_pool_free(&pool);
}

static void test_large(void)
{
    static const crd_conv_size convs[] = {{37, 42, 47, {16, 0}, 16}, {37, 42, 47, {1, 0}, 16}};
    static const crd_conv_size up = {38, 42, 46, {32, 0}, 16};
    const crd_ops *ops = NULL;
    for (size_t i = 0; i < CRD_COUNT(convs); i++) {
        CHECK_OK(crd_ops_select(NULL, &ops));
        check_large(&convs[i], false, ops);
        if (have_path("avx512, bf16", crd_ops_select_bf16(NULL, &ops) == CRD_OK)) check_large(&convs[i], false, ops);
    }
    CHECK_OK(crd_ops_select(NULL, &ops));
    check_large(&up, true, ops);
}

TEST_MAIN(TEST(test_conv), TEST(test_up), TEST(test_large), TEST(test_kept), TEST(test_exact_kernels))
