/* Everything that isn't a convolution: every table against the textbook in double, for one, two and five threads. */
#include "op_harness.h"

static crd_pool *pools[OP_THREADS];

static void stop_pools(void)
{
    for (int t = 0; t < OP_THREADS; t++) crd_pool_free(&pools[t]);
}

static void start_pools(void)
{
    if (pools[0] != NULL) return;
    for (int t = 0; t < OP_THREADS; t++) CHECK_OK(crd_pool_create(op_threads[t], &pools[t]));
    atexit(stop_pools);
}

/* Values that floats add and multiply without rounding, many of them equal: ties are ties in any precision. */
static float *coarse_values(int64_t count)
{
    float *values = op_values(count);
    for (int64_t i = 0; i < count; i++) values[i] = nearbyintf(values[i] * 4) / 4;
    return values;
}

static int64_t shape_count(const crd_shape *s)
{
    return s->depth * s->height * s->width * s->channels;
}

static op_tensor tensor_of(const crd_shape *s, const float *plain)
{
    return op_tensor_make(s->depth, s->height, s->width, s->channels, plain);
}

static void check_pool(const crd_ops *ops, crd_pool *pool, const crd_shape *low)
{
    const crd_shape high = {2 * low->depth, 2 * low->height, 2 * low->width, low->channels};
    const int64_t count = shape_count(&high), channels = low->channels;
    float *x = coarse_values(count), *scale = coarse_values(channels), *shift = coarse_values(channels);
    float *dy = coarse_values(count / 8), *before = coarse_values(count);
    double *normed = calloc((size_t)count, sizeof *normed), *y = malloc((size_t)count * sizeof *y);
    double *dx = malloc((size_t)count * sizeof *dx), *wide_dy = op_doubles(dy, count / 8);
    for (int64_t i = 0; i < count; i++)
        normed[i] = (double)scale[i % channels] * (double)x[i] + (double)shift[i % channels];
    crd_ref_pool_forward_d(high.depth, high.height, high.width, channels, normed, y);
    crd_ref_pool_backward_d(high.depth, high.height, high.width, channels, normed, wide_dy, dx);
    for (int64_t i = 0; i < count; i++) dx[i] += (double)before[i];

    op_tensor tx = tensor_of(&high, x), ty = tensor_of(low, NULL), tdy = tensor_of(low, dy);
    op_tensor tdx = tensor_of(&high, before);
    ops->pool_forward(pool, &tx.tensor, scale, shift, &ty.tensor);
    ops->pool_backward(pool, &tx.tensor, scale, shift, &tdy.tensor, &tdx.tensor);
    float *actual_y = op_plain(&ty.tensor), *actual_dx = op_plain(&tdx.tensor);
    const double y_error = op_error(actual_y, y, count / 8), dx_error = op_error(actual_dx, dx, count);
    const bool intact = op_surroundings_intact(&ty) && op_surroundings_intact(&tdx);
    free(x), free(scale), free(shift), free(dy), free(before), free(normed), free(y), free(dx), free(wide_dy);
    free(actual_y), free(actual_dx);
    op_tensor_free(&tx), op_tensor_free(&ty), op_tensor_free(&tdy), op_tensor_free(&tdx);
    CHECK(intact);
    CHECK(y_error == 0);
    CHECK(dx_error == 0);
}

static void check_sums(const crd_ops *ops, const crd_shape *shape)
{
    const int64_t count = shape_count(shape), channels = shape->channels;
    float *g = op_values(count), *x = op_values(count);
    op_tensor tg = tensor_of(shape, g), tx = tensor_of(shape, x);
    const size_t classes = CRD_BORDER_CLASSES * (size_t)channels, pairs = 2 * (size_t)channels;
    double *want = calloc(pairs, 8), *want_border = calloc(classes, 8);
    double *sums = calloc(OP_THREADS * pairs, 8), *border = calloc(OP_THREADS * classes, 8);
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i % channels, v = i / channels;
        want[c] += (double)g[i];
        want[channels + c] += (double)g[i] * (double)x[i];
        const int z = crd_border_axis(v / (shape->height * shape->width), shape->depth);
        const int h = crd_border_axis(v / shape->width % shape->height, shape->height);
        want_border[crd_border_class(z, h, crd_border_axis(v % shape->width, shape->width)) * channels + c] +=
            (double)g[i];
    }
    for (int t = 0; t < OP_THREADS; t++) {
        ops->gradient_sums(pools[t], &tg.tensor, &tx.tensor, sums + (size_t)t * pairs);
        ops->border_sums(pools[t], &tg.tensor, border + (size_t)t * classes);
    }
    const double tolerance = 1e-6 * sqrt((double)(count / channels));
    double error = 0, border_error = 0;
    for (size_t i = 0; i < pairs; i++) error = worse(error, apart(sums[i], want[i]));
    for (size_t i = 0; i < classes; i++) border_error = worse(border_error, apart(border[i], want_border[i]));
    bool same = true;
    for (int t = 1; t < OP_THREADS; t++)
        same = same && memcmp(sums, sums + (size_t)t * pairs, pairs * 8) == 0 &&
               memcmp(border, border + (size_t)t * classes, classes * 8) == 0;
    free(g), free(x), free(want), free(want_border), free(sums), free(border);
    op_tensor_free(&tg), op_tensor_free(&tx);
    CHECK(same);
    CHECK_NEAR(error, 0, tolerance);
    CHECK_NEAR(border_error, 0, tolerance);
}

static void check_apply(const crd_ops *ops, crd_pool *pool, const crd_shape *shape, bool relu, bool in_place)
{
    const int64_t count = shape_count(shape), channels = shape->channels;
    float *g = op_values(count), *x = coarse_values(count);
    float *a = op_values(channels), *b = op_values(channels), *c0 = op_values(channels);
    double *want = malloc((size_t)count * sizeof *want);
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i % channels;
        want[i] = (double)a[c] * (double)g[i] + (double)b[c] * (double)x[i] + (double)c0[c];
        if (relu && x[i] <= 0) want[i] = 0;
    }
    op_tensor tg = tensor_of(shape, g), tx = tensor_of(shape, x), out = tensor_of(shape, NULL);
    op_tensor *to = in_place ? &tg : &out;
    ops->gradient_apply(pool, &tg.tensor, &tx.tensor, a, b, c0, relu, &to->tensor);
    float *actual = op_plain(&to->tensor);
    const double error = op_error(actual, want, count);
    const bool intact = op_surroundings_intact(to);
    free(g), free(x), free(a), free(b), free(c0), free(want), free(actual);
    op_tensor_free(&tg), op_tensor_free(&tx), op_tensor_free(&out);
    CHECK(intact);
    CHECK_NEAR(error, 0, 1e-6);
}

static void check_head(const crd_ops *ops, const crd_shape *shape)
{
    const int64_t voxels = shape->depth * shape->height * shape->width;
    const float weight = -1.75f, bias = 0.625f, heat = 0.8f, scale = 0.125f;
    float *x = op_values(voxels);
    uint8_t *label = malloc((size_t)voxels);
    double *want = malloc((size_t)voxels * 8), *want_dx = malloc((size_t)voxels * 8), want_loss[5] = {0};
    for (int64_t i = 0; i < voxels; i++) {
        x[i] = fmaxf(x[i] * 12, 0);
        label[i] = (uint8_t)(i % 5 == 4 ? 255 : i % 3 == 1);
        const double logit = (double)weight * (double)x[i] + (double)bias;
        want[i] = 1 / (1 + exp(-logit * (double)heat));
        const double slope = label[i] == 255 ? 0 : 1 / (1 + exp(-logit)) - label[i];
        want_dx[i] = x[i] > 0 ? (double)scale * (double)weight * slope : 0;
        if (label[i] == 255) continue;
        want_loss[0] += log1p(exp(label[i] ? -logit : logit));
        want_loss[1] += 1;
        want_loss[2] += (double)scale * slope * (double)x[i];
        want_loss[3] += (double)scale * slope;
        want_loss[4] += (logit > 0) == (label[i] == 1);
    }
    op_tensor tx = op_tensor_make(shape->depth, shape->height, shape->width, 1, x), dx[OP_THREADS];
    float *probability = malloc((size_t)voxels * sizeof *probability);
    double loss[OP_THREADS][5], bare[5];
    for (int t = 0; t < OP_THREADS; t++) {
        dx[t] = op_tensor_make(shape->depth, shape->height, shape->width, 1, NULL);
        ops->head_loss(pools[t], &tx.tensor, weight, bias, label, scale, &dx[t].tensor, loss[t]);
    }
    ops->head_loss(pools[0], &tx.tensor, weight, bias, label, scale, NULL, bare);
    ops->head_probability(pools[1], &tx.tensor, weight, bias, heat, probability);
    float *actual_dx = op_plain(&dx[0].tensor);
    const double error = op_error(probability, want, voxels), dx_error = op_error(actual_dx, want_dx, voxels);
    bool same = memcmp(loss[0], bare, sizeof bare) == 0;
    for (int t = 0; t < OP_THREADS; t++) {
        same = same && memcmp(loss[0], loss[t], sizeof loss[0]) == 0 && op_surroundings_intact(&dx[t]) &&
               memcmp(dx[0].storage, dx[t].storage, (size_t)dx[0].floats * 4) == 0;
    }
    for (int t = 0; t < OP_THREADS; t++) op_tensor_free(&dx[t]);
    free(x), free(label), free(want), free(want_dx), free(probability), free(actual_dx);
    op_tensor_free(&tx);
    CHECK(same);
    CHECK_NEAR(error, 0, 1e-6);
    CHECK_NEAR(dx_error, 0, 1e-6);
    CHECK_NEAR(loss[0][0], want_loss[0], 1e-6 * want_loss[0] + 1e-7);
    CHECK_NEAR(loss[0][1], want_loss[1], 0);
    CHECK_NEAR(loss[0][2], want_loss[2], 1e-6 * (double)voxels);
    CHECK_NEAR(loss[0][3], want_loss[3], 1e-6 * (double)voxels);
    CHECK_NEAR(loss[0][4], want_loss[4], 0);
}

static void check_softmax(const crd_ops *ops, const crd_shape *shape, int classes)
{
    const int64_t voxels = shape->depth * shape->height * shape->width, values = voxels * classes;
    const float heat = 0.8f, scale = 0.125f;
    float *x = op_values(values), *weight = op_values(classes * classes), *bias = op_values(classes);
    uint8_t *label = malloc((size_t)voxels);
    double *logit = malloc((size_t)values * 8), *hot = malloc((size_t)values * 8), *slope = malloc((size_t)values * 8);
    double *want_dx = malloc((size_t)values * 8), want[CRD_SOFTMAX_RESULTS] = {0};
    for (int64_t v = 0; v < voxels; v++) {
        label[v] = (uint8_t)(v % 5 == 4 ? 255 : v % 7 % classes);
        for (int c = 0; c < classes; c++) x[v * classes + c] = fmaxf(x[v * classes + c] * 12, 0);
        int best = 0;
        for (int o = 0; o < classes; o++) {
            double sum = (double)bias[o];
            for (int c = 0; c < classes; c++) sum += (double)x[v * classes + c] * (double)weight[c * classes + o];
            logit[v * classes + o] = sum;
            hot[v * classes + o] = sum * (double)heat;
            if (sum > logit[v * classes + best]) best = o;
        }
        want[2] += label[v] == best;
    }
    int64_t labelled = 0;
    want[0] = crd_ref_cross_entropy_d(voxels, classes, logit, label, (double)scale, slope, &labelled);
    want[1] = (double)labelled;
    crd_ref_softmax_d(voxels, classes, hot, hot);
    for (int64_t i = 0; i < values; i++) {
        const int64_t v = i / classes, c = i % classes;
        want_dx[i] = 0;
        for (int o = 0; o < classes; o++) {
            want[3 + c * classes + o] += (double)x[i] * slope[v * classes + o];
            if (x[i] > 0) want_dx[i] += (double)weight[c * classes + o] * slope[v * classes + o];
        }
        want[3 + classes * classes + c] += slope[i];
    }
    op_tensor tx = op_tensor_make(shape->depth, shape->height, shape->width, classes, x), dx[OP_THREADS];
    float *probability = malloc((size_t)values * sizeof *probability);
    const size_t bytes = (size_t)(3 + classes * (classes + 1)) * sizeof(double);
    static double loss[OP_THREADS][CRD_SOFTMAX_RESULTS], bare[CRD_SOFTMAX_RESULTS];
    for (int t = 0; t < OP_THREADS; t++) {
        dx[t] = op_tensor_make(shape->depth, shape->height, shape->width, classes, NULL);
        ops->softmax_loss(pools[t], &tx.tensor, weight, bias, label, scale, &dx[t].tensor, loss[t]);
    }
    ops->softmax_loss(pools[0], &tx.tensor, weight, bias, label, scale, NULL, bare);
    ops->softmax_probability(pools[1], &tx.tensor, weight, bias, heat, probability);
    float *actual_dx = op_plain(&dx[0].tensor);
    double error = 0, whole = 0, sums = 0;
    for (int64_t v = 0; v < voxels; v++) {
        double total = 0;
        for (int c = 0; c < classes; c++) {
            error = worse(error, apart((double)probability[c * voxels + v], hot[v * classes + c]));
            total += (double)probability[c * voxels + v];
        }
        whole = worse(whole, apart(total, 1));
    }
    for (int k = 3; k < 3 + classes * (classes + 1); k++) sums = worse(sums, apart(loss[0][k], want[k]));
    const double dx_error = op_error(actual_dx, want_dx, values);
    bool same = memcmp(loss[0], bare, bytes) == 0;
    for (int t = 0; t < OP_THREADS; t++) {
        same = same && memcmp(loss[0], loss[t], bytes) == 0 && op_surroundings_intact(&dx[t]) &&
               memcmp(dx[0].storage, dx[t].storage, (size_t)dx[0].floats * 4) == 0;
    }
    for (int t = 0; t < OP_THREADS; t++) op_tensor_free(&dx[t]);
    free(x), free(weight), free(bias), free(label), free(logit), free(hot), free(slope), free(want_dx);
    free(probability), free(actual_dx);
    op_tensor_free(&tx);
    CHECK(same);
    CHECK_NEAR(error, 0, 1e-5);
    CHECK_NEAR(whole, 0, 1e-6);
    CHECK_NEAR(dx_error, 0, 1e-5);
    CHECK_NEAR(loss[0][0], want[0], 1e-6 * want[0] + 1e-6);
    CHECK_NEAR(loss[0][1], want[1], 0);
    CHECK_NEAR(loss[0][2], want[2], 0);
    CHECK_NEAR(sums, 0, 1e-6 * (double)values);
}

/* Logits from far below what an exponential can be of to far above it, and those that aren't numbers. */
static void check_extreme_logits(const crd_ops *ops)
{
    enum { CLASSES = 3, VOXELS = 8, ALL = CLASSES * VOXELS };
    static const float weight[CLASSES * CLASSES] = {1, 0, 0, 0, 1, 0, 0, 0, -1}, bias[CLASSES] = {0};
    const float huge = 3e38f, x[ALL] = {huge, 0,    0,    0,   huge, 0, 0, 0,        huge, 1e4f, 1e4f, 0,
                                        huge, huge, huge, NAN, 0,    0, 0, INFINITY, 0,    88,   0,    1e-30f};
    static const float want[6][CLASSES] = {{1, 0, 0}, {0, 1, 0}, {0.5f, 0.5f, 0}, {0.5f, 0.5f, 0}, {0.5f, 0.5f, 0}};
    op_tensor tx = op_tensor_make(1, 2, 4, CLASSES, x);
    float probability[ALL];
    ops->softmax_probability(pools[1], &tx.tensor, weight, bias, 1, probability);
    bool right = true, spread = true, loud = true;
    for (int c = 0; c < CLASSES; c++) {
        for (int v = 0; v < 5; v++) right = right && probability[c * VOXELS + v] == want[v][c];
        for (int v = 5; v < 7; v++) spread = spread && isnan(probability[c * VOXELS + v]);
    }
    right = right && probability[7] == 1 && probability[VOXELS + 7] > 0 && probability[VOXELS + 7] < 1e-37f;
    /* The loss of the sound voxels is finite; of the others, not a number. */
    uint8_t label[VOXELS] = {0, 1, 2, 0, 1, 255, 255, 0};
    double result[CRD_SOFTMAX_RESULTS];
    op_tensor sound = op_tensor_make(1, 1, 5, CLASSES, x);
    ops->softmax_loss(pools[0], &sound.tensor, weight, bias, label, 1, NULL, result);
    right = right && result[0] >= 3e38 && isfinite(result[0]) && result[1] == 5 && result[2] == 3;
    label[5] = 0;
    ops->softmax_loss(pools[0], &tx.tensor, weight, bias, label, 1, NULL, result);
    loud = isnan(result[0]);
    op_tensor_free(&tx), op_tensor_free(&sound);
    CHECK(right);
    CHECK(spread);
    CHECK(loud);
}

/* Logits 1e6 and more apart, of as many classes as there may be: all of a voxel goes to the largest one, which is
 * another class from voxel to voxel, in whole strips of voxels and in what is left of a row. */
static void check_far_logits(const crd_ops *ops, int classes)
{
    enum { VOXELS = 2 * 37 };
    float weight[CRD_SOFTMAX_CLASSES * CRD_SOFTMAX_CLASSES] = {0}, bias[CRD_SOFTMAX_CLASSES] = {0};
    float *x = malloc((size_t)(VOXELS * classes) * sizeof *x), *probability = malloc((size_t)(VOXELS * classes) * 4);
    bool right = true;
    for (int c = 0; c < classes; c++) weight[c * classes + c] = 1e6f;
    for (int64_t v = 0; v < VOXELS; v++)
        for (int c = 0; c < classes; c++) x[v * classes + c] = (float)((c + v * 7) % classes);
    op_tensor tx = op_tensor_make(1, 2, VOXELS / 2, classes, x);
    ops->softmax_probability(pools[1], &tx.tensor, weight, bias, 1, probability);
    for (int64_t v = 0; v < VOXELS; v++)
        for (int c = 0; c < classes; c++) {
            right = right && probability[c * VOXELS + v] == (x[v * classes + c] == (float)(classes - 1) ? 1.0f : 0.0f);
        }
    op_tensor_free(&tx);
    free(x), free(probability);
    CHECK(right);
}

static void check_summary(const crd_ops *ops, int64_t count, int64_t voxels)
{
    static const double percentiles[] = {0, 5, 33, 50, 67, 97.5, 100};
    enum { PERCENTILES = 7, ROWS = PERCENTILES + 2 };
    const int64_t stride = voxels + 3;
    float *original = coarse_values(count * stride), *samples = malloc((size_t)(count * stride) * 4);
    for (int64_t i = 0; i < count * stride; i++) original[i] += i % 2 == 0 ? op_random() : 0;
    double *want = malloc((size_t)(ROWS * voxels) * 8), *column = malloc((size_t)count * 8);
    for (int64_t v = 0; v < voxels; v++) {
        for (int64_t s = 0; s < count; s++) column[s] = (double)original[s * stride + v];
        crd_ref_moments_d(count, column, &want[v], &want[voxels + v]);
        for (int p = 0; p < PERCENTILES; p++)
            want[(2 + p) * voxels + v] = crd_ref_percentile_d(count, column, percentiles[p]);
    }
    float *out[OP_THREADS];
    double error = 0;
    bool same = true;
    for (int t = 0; t < OP_THREADS; t++) {
        memcpy(samples, original, (size_t)(count * stride) * 4);
        out[t] = malloc((size_t)(ROWS * stride) * 4);
        for (int64_t i = 0; i < ROWS * stride; i++) out[t][i] = op_mark;
        ops->summarise(pools[t], samples, count, stride, voxels, percentiles, PERCENTILES, out[t]);
        same = same && memcmp(out[0], out[t], (size_t)(ROWS * stride) * 4) == 0;
    }
    for (int r = 0; r < ROWS; r++) {
        error = worse(error, op_error(out[0] + r * stride, want + r * voxels, voxels));
        for (int64_t i = voxels; i < stride; i++) same = same && out[0][r * stride + i] == op_mark;
    }
    free(original), free(samples), free(want), free(column);
    for (int t = 0; t < OP_THREADS; t++) free(out[t]);
    CHECK(same);
    CHECK_NEAR(error, 0, 1e-6);
}

/* Probabilities, of which some are 0, 1 and very small; one plane is that of one of two classes. */
static void check_entropy(const crd_ops *ops, const crd_ops *plain, int64_t count, int planes, int64_t voxels)
{
    const int64_t values = count * planes * voxels;
    float *samples = malloc((size_t)values * 4), *got = malloc((size_t)voxels * 4), *same = malloc((size_t)voxels * 4);
    double worst = 0;
    for (int64_t s = 0; s < count; s++) {
        for (int64_t v = 0; v < voxels; v++) {
            double sum = 0;
            float *p = samples + s * planes * voxels + v;
            for (int k = 0; k < planes; k++) sum += pow(fabs((double)op_random()) + 1e-3, v % 7 == 0 ? 20 : 1);
            for (int k = 0; k < planes; k++) {
                const double power = pow(fabs((double)op_random()) + 1e-3, v % 7 == 0 ? 20 : 1);
                p[k * voxels] = (float)(planes == 1 ? power / (power + sum) : power / (sum * 4 + power));
                if (v % 11 == 3) p[k * voxels] = k == 0 ? (float)(s % 2) : 0.0f;
            }
        }
    }
    ops->entropy(pools[0], samples, count, planes, voxels, got);
    ops->entropy(pools[OP_THREADS - 1], samples, count, planes, voxels, same);
    CHECK(memcmp(got, same, (size_t)voxels * 4) == 0);
    plain->entropy(pools[0], samples, count, planes, voxels, same);
    CHECK(memcmp(got, same, (size_t)voxels * 4) == 0); /* the same bits on every path */
    for (int64_t v = 0; v < voxels; v++) {
        double sum = 0;
        for (int64_t row = 0; row < count * planes; row++) {
            const double p = (double)samples[row * voxels + v], rest = planes == 1 ? 1 - p : 0;
            sum -= (p > 0 ? p * log2(p) : 0) + (rest > 0 ? rest * log2(rest) : 0);
        }
        worst = worse(worst, fabs((double)got[v] - sum / (double)count));
    }
    free(samples), free(got), free(same);
    CHECK_NEAR(worst, 0, 2.5e-7); /* half a unit in the last place of 4 bits */
}

static void test_entropy(void)
{
    start_pools();
    const crd_ops *ops = NULL, *plain = NULL;
    CHECK_OK(crd_ops_select("portable", &plain));
    OP_FOR_EACH_TABLE(ops)
    {
        check_entropy(ops, plain, 1, 1, 1);
        check_entropy(ops, plain, 5, 1, 4097);
        check_entropy(ops, plain, 3, 3, 63);
        check_entropy(ops, plain, 2, 16, 200);
    }
}

static void test_pool(void)
{
    start_pools();
    const crd_ops *ops = NULL;
    OP_FOR_EACH_TABLE(ops)
    for (size_t i = 0; i < CRD_COUNT(crd_voxel_cases); i++) check_pool(ops, pools[i % 3], &crd_voxel_cases[i]);
}

static void test_sums(void)
{
    start_pools();
    const crd_ops *ops = NULL;
    OP_FOR_EACH_TABLE(ops)
    for (size_t i = 0; i < CRD_COUNT(crd_voxel_cases); i++) check_sums(ops, &crd_voxel_cases[i]);
}

static void test_apply(void)
{
    start_pools();
    const crd_ops *ops = NULL;
    OP_FOR_EACH_TABLE(ops)
    for (size_t i = 0; i < CRD_COUNT(crd_voxel_cases); i++) {
        check_apply(ops, pools[i % 3], &crd_voxel_cases[i], true, true);
        check_apply(ops, pools[i % 3], &crd_voxel_cases[i], false, false);
    }
}

static void test_head(void)
{
    start_pools();
    const crd_ops *ops = NULL;
    OP_FOR_EACH_TABLE(ops)
    for (size_t i = 0; i < CRD_COUNT(crd_voxel_cases); i++) check_head(ops, &crd_voxel_cases[i]);
}

static void test_softmax(void)
{
    start_pools();
    static const int classes[] = {3, 4, 5, 8, 16};
    const crd_ops *ops = NULL;
    OP_FOR_EACH_TABLE(ops)
    {
        for (size_t i = 0; i < CRD_COUNT(crd_voxel_cases); i++) check_softmax(ops, &crd_voxel_cases[i], classes[i % 5]);
        check_extreme_logits(ops);
        for (int count = 3; count <= CRD_SOFTMAX_CLASSES; count++) check_far_logits(ops, count);
    }
}

static void test_summary(void)
{
    start_pools();
    static const int64_t counts[] = {1, 2, 3, 5, 8, 13, 16, 48, 100, 129, 200};
    const crd_ops *ops = NULL;
    OP_FOR_EACH_TABLE(ops)
    for (size_t i = 0; i < CRD_COUNT(counts); i++) {
        check_summary(ops, counts[i], 1);
        check_summary(ops, counts[i], 67);
        check_summary(ops, counts[i], 2100);
    }
}

static void test_select(void)
{
    const crd_ops *ops = NULL, *best = NULL;
    CHECK_FAILS(crd_ops_select("mmx", &ops), CRD_ERR_ARGUMENT, "mmx");
    CHECK_OK(crd_ops_select(NULL, &best));
    CHECK_OK(crd_ops_select("auto", &ops));
    CHECK(ops == best && crd_cpu_has(ops->level));
    CHECK_OK(crd_ops_select("portable", &ops));
    CHECK(strcmp(ops->name, "portable") == 0);
}

TEST_MAIN(TEST(test_select), TEST(test_pool), TEST(test_sums), TEST(test_apply), TEST(test_head), TEST(test_softmax),
          TEST(test_summary), TEST(test_entropy))
