/* Every convolution kernel of the GPU against the textbook in double precision, on the cases that all backends share
 * and on some that fill several tiles. Skipped where there is no GPU. */
#include "backend/backend.h"
#include "cuda/ops_bridge.h"
#include "op_harness.h"

enum { SAMPLES = 2 };

/* More than one tile in every axis, ragged; segments of depth. */
static const crd_conv_size large_convs[] = {
    {5, 20, 28, {16, 0}, 16},  {66, 19, 11, {16, 0}, 16}, {5, 37, 28, {16, 16}, 16}, {67, 17, 9, {16, 16}, 16},
    {4, 20, 19, {32, 0}, 32},  {5, 18, 20, {32, 32}, 32}, {65, 9, 10, {32, 0}, 32},  {4, 18, 20, {64, 0}, 64},
    {3, 17, 18, {64, 64}, 64}, {3, 9, 17, {128, 0}, 128}, {4, 9, 9, {16, 0}, 32},    {13, 33, 17, {16, 0}, 32},
    {24, 12, 10, {32, 0}, 64},
};
static const crd_conv_size large_ups[] = {
    {10, 26, 40, {32, 0}, 16}, {8, 20, 36, {64, 0}, 32}, {6, 18, 20, {128, 0}, 64}, {132, 6, 18, {32, 0}, 16}};
static const crd_conv_size large_heads[] = {
    {4, 150, 21, {16, 0}, 1}, {67, 20, 10, {16, 0}, 1}, {4, 30, 17, {32, 0}, 1}};

/* Every number of classes, as many as a matrix instruction is wide included; several tiles of them. */
static const crd_conv_size large_softmaxes[] = {
    {4, 70, 37, {16, 0}, 3},  {67, 20, 10, {16, 0}, 3}, {5, 34, 33, {16, 0}, 4},   {3, 40, 21, {16, 0}, 5},
    {4, 9, 17, {16, 0}, 6},   {5, 35, 9, {16, 0}, 7},   {66, 8, 12, {16, 0}, 8},   {3, 12, 18, {16, 0}, 9},
    {4, 33, 16, {16, 0}, 12}, {3, 10, 8, {16, 0}, 16},  {65, 34, 11, {16, 0}, 16}, {4, 30, 17, {32, 0}, 3},
    {2, 2, 2, {16, 0}, 3},
};

static double largest_error; /* of all cases of a path and precision, relative */

/* Values that every storage type holds exactly. */
static float *exact_values(int64_t count)
{
    float *values = malloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        const float v = roundf(op_random() * 16.0f) / 16.0f;
        values[i] = v > -0.25f ? v : 0.0f; /* about a third of zeros, as after a ReLU */
    }
    return values;
}

static float *affine_values(int64_t count, float centre, float spread)
{
    float *values = op_values(count);
    for (int64_t i = 0; i < count; i++) values[i] = centre + spread * values[i];
    return values;
}

/* scale * x + shift in double; NULL: x. */
static double *normalised(const float *x, int64_t voxels, int channels, const float *scale, const float *shift)
{
    double *values = malloc((size_t)(voxels * channels) * sizeof *values);
    for (int64_t i = 0; i < voxels * channels; i++) {
        values[i] = (double)x[i];
        if (scale != NULL) values[i] = (double)scale[i % channels] * values[i] + (double)shift[i % channels];
    }
    return values;
}

/* y: [voxels][classes] before the 1x1x1 convolution. Returns [classes][voxels] after the softmax; of extreme logits
 * those of a voxel are NaN where rounding may decide which is the largest. */
static double *softmax_reference(const bridge_op *op, int64_t voxels, int sample, const double *y, bool extreme)
{
    const int classes = op->out;
    const float *weight = op->point + (int64_t)sample * classes * (classes + 1), *bias = weight + classes * classes;
    double *logit = malloc((size_t)(voxels * classes) * sizeof *logit), *out = malloc((size_t)(voxels * classes) * 8);
    double largest = 0;
    for (int64_t v = 0; v < voxels; v++)
        for (int o = 0; o < classes; o++) {
            double total = (double)bias[o];
            for (int c = 0; c < classes; c++) total += y[v * classes + c] * (double)weight[c * classes + o];
            logit[v * classes + o] = total * (double)0.8f;
            largest = worse(largest, fabs(total * (double)0.8f));
        }
    for (int64_t v = 0; v < voxels; v++) {
        double best = -INFINITY, second = -INFINITY;
        for (int c = 0; c < classes; c++) {
            const double value = logit[v * classes + c];
            second = value > best ? best : value > second ? value : second;
            best = value > best ? value : best;
        }
        if (extreme && best - second < 0.05 * largest) logit[v * classes] = NAN;
    }
    crd_ref_softmax_d(voxels, classes, logit, logit);
    for (int64_t i = 0; i < voxels * classes; i++) out[i % classes * voxels + i / classes] = logit[i];
    free(logit);
    return out;
}

static double *reference(const bridge_op *op, const crd_conv_size *size, int sample, bool extreme)
{
    const bool up = op->operation == BRIDGE_UP;
    const int64_t voxels = size->depth * size->height * size->width, inputs = up ? voxels / 8 : voxels;
    const bool gradient = op->operation == BRIDGE_GRADIENT;
    const int in = op->in[0] + op->in[1], taps = up ? 8 : 27, values = taps * in * op->out;
    const crd_ref_conv conv = {.size = *size, .edge = up ? 2 : 3, .enlarge = up ? 2 : 1};
    const float *scale = gradient ? NULL : op->scale + sample * in, *shift = gradient ? NULL : op->shift + sample * in;
    double *kernel = malloc((size_t)values * sizeof *kernel), *bias = malloc((size_t)op->out * sizeof *bias);
    double *y = malloc((size_t)(voxels * op->out) * sizeof *y), *x1 = NULL;
    for (int i = 0; i < values; i++) kernel[i] = (double)op->kernel[(int64_t)sample * values + i];
    for (int i = 0; i < op->out; i++) bias[i] = gradient ? 0.0 : (double)op->bias[i];
    double *x0 =
        normalised(op->x[0] + (op->in[1] > 0 ? 0 : sample * inputs * op->in[0]), inputs, op->in[0], scale, shift);
    if (op->in[1] > 0) {
        x1 =
            normalised(op->x[1] + sample * inputs * op->in[1], inputs, op->in[1], scale + op->in[0], shift + op->in[0]);
    }
    crd_ref_conv_forward_d(&conv, x0, x1, kernel, bias, y);
    if (!gradient) crd_ref_relu_forward_d(voxels * op->out, y, y);
    if (op->operation == BRIDGE_HEAD) {
        const double weight = (double)op->point[2 * sample], offset = (double)op->point[2 * sample + 1];
        for (int64_t i = 0; i < voxels; i++) y[i] = (weight * y[i] + offset) * (double)0.8f;
        crd_ref_sigmoid_d(voxels, y, y);
    }
    if (op->operation == BRIDGE_SOFTMAX) {
        double *probability = softmax_reference(op, voxels, sample, y, extreme);
        free(y);
        y = probability;
    }
    free(kernel);
    free(bias);
    free(x0);
    free(x1);
    return y;
}

static void check_sums(const bridge_op *op, int64_t voxels, double tolerance)
{
    const int columns = op->out / op->piece;
    for (int s = 0; s < SAMPLES; s++)
        for (int c = 0; c < columns; c++) {
            double sum = 0, product = 0, sizes = 0, product_sizes = 0;
            for (int64_t v = 0; v < voxels; v++)
                for (int i = 0; i < op->piece; i++) {
                    const int64_t at = (s * voxels + v) * op->out + c * op->piece + i;
                    const double value = (double)op->y[at], other = op->values == NULL ? value : (double)op->values[at];
                    sum += value;
                    product += value * other;
                    sizes += fabs(value);
                    product_sizes += fabs(value * other);
                }
            CHECK_NEAR(op->sums[(2 * s) * columns + c], sum, tolerance * sizes + 1e-6);
            CHECK_NEAR(op->sums[(2 * s + 1) * columns + c], product, 2 * tolerance * product_sizes + 1e-6);
        }
}

/* Logits of a softmax that are extreme lie 1e5 apart. */
static void check_case(int operation, int path, int precision, const crd_conv_size *size, bool extreme)
{
    const int64_t voxels = size->depth * size->height * size->width,
                  inputs = operation == BRIDGE_UP ? voxels / 8 : voxels;
    const int in0 = (int)size->channels_in[0], in1 = (int)size->channels_in[1], in = in0 + in1,
              out = (int)size->channels_out;
    const int taps = operation == BRIDGE_UP ? 8 : 27;
    /* fp16 and bf16 as the design allows for one operation; float32 likewise */
    const double tolerance = precision == CRD_PRECISION_FP16 ? 2e-3 : precision == CRD_PRECISION_BF16 ? 1.5e-2 : 1e-5;
    bridge_op op = {.operation = operation,
                    .path = path,
                    .precision = precision,
                    .samples = SAMPLES,
                    .depth = (int)size->depth,
                    .height = (int)size->height,
                    .width = (int)size->width,
                    .in = {in0, in1},
                    .out = out};
    /* no layer that the kernels of path 90 run has an axis of one voxel */
    if (path == 90 && (size->depth < 2 || size->height < 2 || size->width < 2)) return;
    if (!bridge_has(&op)) return;
    op_random_state = (uint64_t)(size->depth * 131 + size->height * 31 + size->width) * 1000003u + (uint64_t)in;
    float *x0 = exact_values((in1 > 0 ? 1 : SAMPLES) * inputs * in0), *x1 = exact_values(SAMPLES * inputs * in1 + 1);
    float *kernel = affine_values((int64_t)SAMPLES * taps * in * out, 0.0f, 1.0f / sqrtf((float)(taps * in)));
    float *bias = affine_values(out, 0.1f, 0.3f), *scale = affine_values(SAMPLES * in, 1.0f, 0.3f);
    float *shift = affine_values(SAMPLES * in, 0.0f, 0.3f), *point;
    if (operation == BRIDGE_SOFTMAX)
        point = affine_values((int64_t)SAMPLES * out * (out + 1), 0.0f, extreme ? 1e5f : 1.0f);
    else
        point = affine_values(SAMPLES * 2, 0.5f, 0.5f);
    float *values = exact_values(SAMPLES * voxels * out);
    float *y = malloc((size_t)(SAMPLES * voxels * out) * sizeof *y);
    double *sums = malloc((size_t)(SAMPLES * 2 * out) * sizeof *sums);
    op.x[0] = x0;
    op.x[1] = x1;
    op.kernel = kernel;
    op.bias = bias;
    op.scale = scale;
    op.shift = shift;
    op.point = point;
    op.values = operation == BRIDGE_GRADIENT ? values : NULL;
    op.y = y;
    op.sums = sums;
    const char *problem = bridge_run(&op);
    if (problem != NULL) CHECK_FAILED("%s", problem);
    comparison all = {0};
    int64_t sure = 0;
    for (int s = 0; s < SAMPLES; s++) {
        double *expected = reference(&op, size, s, extreme);
        for (int64_t i = 0; i < voxels * out; i++) {
            if (extreme && isnan(expected[i])) continue;
            compare(&all, (double)y[s * voxels * out + i], expected[i]);
            sure++;
        }
        free(expected);
    }
    if (relative_error(&all) > tolerance) {
        CHECK_FAILED("path %d, precision %d, operation %d, %lldx%lldx%lld, %d+%d->%d: error %.2e of %.2e", path,
                     precision, operation, (long long)size->depth, (long long)size->height, (long long)size->width, in0,
                     in1, out, all.error, all.largest);
    }
    largest_error = worse(largest_error, relative_error(&all));
    CHECK(4 * sure > SAMPLES * voxels * out);
    if (operation != BRIDGE_HEAD && operation != BRIDGE_SOFTMAX)
        check_sums(&op, voxels, precision == CRD_PRECISION_F32 ? 1e-5 : tolerance);
    free(x0);
    free(x1);
    free(kernel);
    free(bias);
    free(scale);
    free(shift);
    free(point);
    free(values);
    free(y);
    free(sums);
}

/* Sums over all voxels, of values that every storage type holds exactly: what differs is how they are rounded on the
 * way. */
static void check_kernel_gradient(int path, int precision, const crd_conv_size *size)
{
    const int64_t voxels = size->depth * size->height * size->width;
    const int64_t in0 = size->channels_in[0], in1 = size->channels_in[1], out = size->channels_out;
    const int64_t values = 27 * (in0 + in1) * out;
    bridge_op op = {.operation = BRIDGE_KERNEL_GRADIENT,
                    .path = path,
                    .precision = precision,
                    .samples = SAMPLES,
                    .depth = (int)size->depth,
                    .height = (int)size->height,
                    .width = (int)size->width,
                    .in = {(int)in0, (int)in1},
                    .out = (int)out};
    if (!bridge_has(&op)) return;
    op_random_state = (uint64_t)(voxels * 77 + in0 + out);
    float *x0 = exact_values(SAMPLES * voxels * in0), *x1 = exact_values(SAMPLES * voxels * in1 + 1);
    float *g = exact_values(SAMPLES * voxels * out), *y = malloc((size_t)(SAMPLES * values) * sizeof *y);
    double *expected = malloc((size_t)values * sizeof *expected), *wide[3];
    comparison all = {0};
    op.x[0] = x0;
    op.x[1] = x1;
    op.values = g;
    op.y = y;
    const char *problem = bridge_run(&op);
    if (problem != NULL) CHECK_FAILED("%s", problem);
    for (int s = 0; s < SAMPLES; s++) {
        const crd_ref_conv conv = {.size = *size, .edge = 3, .enlarge = 1};
        const float *from[3] = {x0 + s * voxels * in0, x1 + s * voxels * in1, g + s * voxels * out};
        const int64_t counts[3] = {voxels * in0, voxels * in1, voxels * out};
        for (int i = 0; i < 3; i++) {
            wide[i] = malloc((size_t)(counts[i] + 1) * sizeof *wide[i]);
            for (int64_t k = 0; k < counts[i]; k++) wide[i][k] = (double)from[i][k];
        }
        crd_ref_conv_backward_d(&conv, wide[0], wide[1], NULL, wide[2], NULL, NULL, expected, NULL);
        for (int64_t i = 0; i < values; i++) compare(&all, (double)y[s * values + i], expected[i]);
        for (int i = 0; i < 3; i++) free(wide[i]);
    }
    if (relative_error(&all) > 1e-5) {
        CHECK_FAILED("path %d, precision %d, kernel gradient, %lldx%lldx%lld, %d+%d->%d: error %.2e of %.2e", path,
                     precision, (long long)size->depth, (long long)size->height, (long long)size->width, (int)in0,
                     (int)in1, (int)out, all.error, all.largest);
    }
    free(x0);
    free(x1);
    free(g);
    free(y);
    free(expected);
}

static bool suits(int operation, const crd_conv_size *size)
{
    if (size->channels_in[0] == 1) return false; /* the first layer has a kernel of its own */
    if (operation == BRIDGE_UP) return true;
    if (operation == BRIDGE_SOFTMAX) {
        return size->channels_in[1] == 0 && size->channels_out > 2 && size->channels_out <= 16;
    }
    return (operation == BRIDGE_HEAD) == (size->channels_out == 1);
}

static int check_list(int operation, int path, int precision, const crd_conv_size *sizes, size_t count)
{
    int checked = 0;
    for (size_t i = 0; i < count && !harness_failed; i++) {
        if (!suits(operation, &sizes[i])) continue;
        check_case(operation, path, precision, &sizes[i], false);
        if (operation == BRIDGE_SOFTMAX) check_case(operation, path, precision, &sizes[i], true);
        checked++;
    }
    return checked;
}

static void check_path(int path, int precision, const char *name)
{
    int checked = 0;
    if (!bridge_has_gpu()) SKIP("no GPU");
    largest_error = 0;
    checked += check_list(BRIDGE_CONV, path, precision, crd_conv_cases, CRD_COUNT(crd_conv_cases));
    checked += check_list(BRIDGE_GRADIENT, path, precision, crd_conv_cases, CRD_COUNT(crd_conv_cases));
    checked += check_list(BRIDGE_HEAD, path, precision, crd_conv_cases, CRD_COUNT(crd_conv_cases));
    checked += check_list(BRIDGE_SOFTMAX, path, precision, crd_conv_cases, CRD_COUNT(crd_conv_cases));
    checked += check_list(BRIDGE_UP, path, precision, crd_up_cases, CRD_COUNT(crd_up_cases));
    checked += check_list(BRIDGE_CONV, path, precision, large_convs, CRD_COUNT(large_convs));
    checked += check_list(BRIDGE_CONV_TRAINED, path, precision, large_convs, CRD_COUNT(large_convs));
    checked += check_list(BRIDGE_GRADIENT, path, precision, large_convs, CRD_COUNT(large_convs));
    checked += check_list(BRIDGE_UP, path, precision, large_ups, CRD_COUNT(large_ups));
    checked += check_list(BRIDGE_HEAD, path, precision, large_heads, CRD_COUNT(large_heads));
    checked += check_list(BRIDGE_SOFTMAX, path, precision, large_softmaxes, CRD_COUNT(large_softmaxes));
    printf("       %s: largest error %.2e of the largest value\n", name, largest_error);
    for (size_t i = 0; i < CRD_COUNT(large_convs) && !harness_failed; i++)
        check_kernel_gradient(path, precision, &large_convs[i]);
    CHECK(checked > 50);
    CHECK(path == 90 || largest_error > 0);
}

static void test_f32(void)
{
    check_path(80, CRD_PRECISION_F32, "f32");
}
static void test_sm80_fp16(void)
{
    check_path(80, CRD_PRECISION_FP16, "sm80 path, fp16");
}
static void test_sm80_bf16(void)
{
    check_path(80, CRD_PRECISION_BF16, "sm80 path, bf16");
}
static void test_sm90_fp16(void)
{
    check_path(90, CRD_PRECISION_FP16, "sm90 path, fp16");
}
static void test_sm90_bf16(void)
{
    check_path(90, CRD_PRECISION_BF16, "sm90 path, bf16");
}

TEST_MAIN(TEST(test_f32), TEST(test_sm80_fp16), TEST(test_sm80_bf16), TEST(test_sm90_fp16), TEST(test_sm90_bf16))
