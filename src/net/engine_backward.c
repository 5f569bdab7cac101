/* The gradient of one example, from the head back to the first convolution.
 *
 * Three gradient tensors a level are enough. In a decoder stage:
 *     P holds the gradient of b's output, then of b before its ReLU;
 *     Q that of a's output, then of a before its ReLU;
 *     R takes the skip's share of a's input and keeps it until the encoder needs it; P, free again, takes up's share.
 * In the encoder R goes from b's output to before b's ReLU, and P does the same for a. */
#include <string.h>

#include "net/engine_internal.h"

enum { P, Q, R };

static void apply(crd_engine *engine, const crd_tensor *g, const crd_tensor *x, const double *a, const double *b,
                  const double *c, bool relu, crd_tensor *out)
{
    const int64_t channels = x->channels;
    float *const coefficients = engine->apply;
    for (int64_t i = 0; i < channels; i++) {
        coefficients[i] = (float)a[i];
        coefficients[channels + i] = (float)b[i];
        coefficients[2 * channels + i] = (float)c[i];
    }
    engine->plan.ops->gradient_apply(engine->plan.pool, g, x, coefficients, coefficients + channels,
                                     coefficients + 2 * channels, relu, out);
}

/* g, the gradient of what consumers saw of the layer, becomes that of the convolution's result before its ReLU. `mask`
 * is the dropout mask between the norm and the consumers, or NULL. */
static void through_norm(crd_engine *engine, int layer, const float *weights, const float *mask, crd_tensor *g,
                         float *gradient)
{
    const crd_layout *layout = &engine->plan.net->point;
    const crd_node *node = &engine->nodes[layer];
    const int channels = node->norm.channels;
    double *sums = engine->channel_sums, *a = engine->coefficients, *b = a + channels, *c = b + channels;
    engine->plan.ops->gradient_sums(engine->plan.pool, g, &node->y, sums);
    for (int i = 0; mask != NULL && i < channels; i++) {
        sums[i] *= mask[i];
        sums[channels + i] *= mask[i];
    }
    crd_norm_backward(&node->norm, weights + layout->gamma[layer], sums, sums + channels,
                      gradient + layout->gamma[layer], gradient + layout->beta[layer], a, b, c);
    for (int i = 0; mask != NULL && i < channels; i++) a[i] *= mask[i];
    apply(engine, g, &node->y, a, b, c, true, g);
}

/* Kernel and bias gradients of a layer whose input was scale * [x0, x1] + shift. */
static void kernel_gradient(crd_engine *engine, int layer, const crd_tensor *x0, const crd_tensor *x1,
                            const float *scale, const float *shift, const crd_tensor *dy, float *gradient)
{
    const crd_layout *layout = &engine->plan.net->point;
    const crd_kernel_shape shape = crd_engine_kernel_shape(engine, layer);
    float *dkernel = gradient + layout->kernel[layer];
    if (shape.edge == 2) {
        engine->plan.ops->up_kernel_gradient(engine->plan.pool, x0, dy, dkernel, engine->scratch);
    } else {
        engine->plan.ops->conv_kernel_gradient(engine->plan.pool, x0, x1, dy, dkernel, engine->scratch);
    }
    engine->plan.ops->border_sums(engine->plan.pool, dy, engine->border_sums);
    crd_unfold_gradient(engine->plan.pool, &shape, scale, shift, engine->border_sums, dkernel,
                        gradient + layout->bias[layer]);
}

/* The gradient of input channels [first, first + dx->channels) of a 3x3x3 layer. */
static void data_gradient(crd_engine *engine, int layer, const float *weights, const crd_tensor *dy, int64_t first,
                          crd_tensor *dx)
{
    const crd_kernel_shape shape = crd_engine_kernel_shape(engine, layer);
    crd_flip_kernel(engine->plan.pool, &shape, weights + engine->plan.net->point.kernel[layer], first, dx->channels,
                    engine->flipped);
    const crd_conv conv = {.x = {dy, NULL}, .kernel = engine->flipped, .y = dx, .scratch = engine->scratch};
    engine->plan.ops->conv_forward(engine->plan.pool, &conv);
}

/* One half of a merge: the inner norm's value v = scale * y + shift went into the merge norm. From the sums of the
 * merged gradient g2 and g2 * y to those of g2 and g2 * v. */
static void sums_of_value(const crd_norm *inner, const double *sum_g, const double *sum_gy, double *out_g,
                          double *out_gv)
{
    for (int i = 0; i < inner->channels; i++) {
        out_g[i] = sum_g[i];
        out_gv[i] = inner->scale[i] * sum_gy[i] + inner->shift[i] * sum_g[i];
    }
}

/* Through the merge norm: coefficients of dv = a * g2 + b * v + c become those of dv = a * g2 + b * y + c. */
static void coefficients_of_y(const crd_norm *inner, double *b, double *c)
{
    for (int i = 0; i < inner->channels; i++) {
        c[i] += b[i] * inner->shift[i];
        b[i] *= inner->scale[i];
    }
}

/* R (skip's share) becomes the gradient of the skip's normalised value; P (up's share) goes on through up's own norm
 * and ReLU in the same pass: the sums that its norm needs follow from those already taken. */
static void through_merge(crd_engine *engine, int level, const float *weights, float *gradient)
{
    const crd_layout *layout = &engine->plan.net->point;
    const int stage = 3 - level, up_layer = crd_stage_up(level);
    const crd_merge *merge = &engine->merges[stage];
    const crd_node *skip = &engine->nodes[crd_encoder_a(level) + 1], *up = &engine->nodes[up_layer];
    const int half = skip->norm.channels, channels = 2 * half;
    crd_tensor *p = &engine->gradient[level][P], *r = &engine->gradient[level][R];
    double *up_sums = engine->channel_sums, *skip_sums = engine->border_sums; /* border_sums is idle here */
    double *sum_g = engine->coefficients, *sum_gv = sum_g + channels;
    double *a = sum_gv + channels, *b = a + channels, *c = b + channels;

    engine->plan.ops->gradient_sums(engine->plan.pool, r, &skip->y, skip_sums);
    engine->plan.ops->gradient_sums(engine->plan.pool, p, &up->y, up_sums);
    sums_of_value(&skip->norm, skip_sums, skip_sums + half, sum_g, sum_gv);
    sums_of_value(&up->norm, up_sums, up_sums + half, sum_g + half, sum_gv + half);
    crd_norm_backward(&merge->norm, weights + layout->gamma[CRD_CONV_COUNT + stage], sum_g, sum_gv,
                      gradient + layout->gamma[CRD_CONV_COUNT + stage], gradient + layout->beta[CRD_CONV_COUNT + stage],
                      a, b, c);
    coefficients_of_y(&skip->norm, b, c);
    coefficients_of_y(&up->norm, b + half, c + half);
    apply(engine, r, &skip->y, a, b, c, false, r);

    double *dv = up_sums, *dvy = up_sums + half; /* sums of up's dv and dv * y, in place of those of g2 */
    for (int i = 0; i < half; i++) {
        const double g = up_sums[i], gy = up_sums[half + i];
        dv[i] = a[half + i] * g + b[half + i] * up->norm.sum[i] + c[half + i] * up->norm.voxels;
        dvy[i] = a[half + i] * gy + b[half + i] * up->norm.square[i] + c[half + i] * up->norm.sum[i];
    }
    double *inner_a = sum_g, *inner_b = inner_a + half, *inner_c = inner_b + half; /* the sums are used up */
    crd_norm_backward(&up->norm, weights + layout->gamma[up_layer], dv, dvy, gradient + layout->gamma[up_layer],
                      gradient + layout->beta[up_layer], inner_a, inner_b, inner_c);
    for (int i = 0; i < half; i++) {
        a[i] = inner_a[i] * a[half + i];
        b[i] = inner_a[i] * b[half + i] + inner_b[i];
        c[i] = inner_a[i] * c[half + i] + inner_c[i];
    }
    apply(engine, p, &up->y, a, b, c, true, p);
}

static const float *mask_of(const crd_engine *engine, const float *masks, int site)
{
    return masks == NULL ? NULL : masks + engine->plan.net->mask_offset[site];
}

static void decoder_stage(crd_engine *engine, int level, const float *weights, const float *masks, float *gradient)
{
    const int up = crd_stage_up(level), stage = 3 - level;
    const int below = level == CRD_LEVELS - 1 ? CRD_E4B : up - 1;
    const crd_node *nodes = &engine->nodes[up]; /* up, a, b */
    const crd_node *skip = &engine->nodes[crd_encoder_a(level) + 1], *source = &engine->nodes[below];
    crd_tensor *p = &engine->gradient[level][P], *q = &engine->gradient[level][Q], *r = &engine->gradient[level][R];

    through_norm(engine, up + 2, weights, mask_of(engine, masks, CRD_MASK_D3 + stage), p, gradient);
    kernel_gradient(engine, up + 2, &nodes[1].y, NULL, nodes[1].scale, nodes[1].shift, p, gradient);
    data_gradient(engine, up + 2, weights, p, 0, q);

    through_norm(engine, up + 1, weights, NULL, q, gradient);
    kernel_gradient(engine, up + 1, &skip->y, &nodes[0].y, engine->merges[stage].scale, engine->merges[stage].shift, q,
                    gradient);
    data_gradient(engine, up + 1, weights, q, 0, r);
    data_gradient(engine, up + 1, weights, q, skip->norm.channels, p);

    through_merge(engine, level, weights, gradient);
    kernel_gradient(engine, up, &source->y, NULL, source->scale, source->shift, p, gradient);
    engine->plan.ops->up_data_gradient(engine->plan.pool, p, weights + engine->plan.net->point.kernel[up],
                                       &engine->gradient[level + 1][P], engine->scratch);
}

/* g holds the gradient of the level's output (norm applied; before the dropout at the lowest level). */
static void encoder_level(crd_engine *engine, int level, const float *weights, const float *mask, crd_tensor *g,
                          crd_tensor *spare, float *gradient)
{
    const int a = crd_encoder_a(level);
    const crd_node *first = &engine->nodes[a];
    through_norm(engine, a + 1, weights, mask, g, gradient);
    kernel_gradient(engine, a + 1, &first->y, NULL, first->scale, first->shift, g, gradient);
    data_gradient(engine, a + 1, weights, g, 0, spare);
    through_norm(engine, a, weights, NULL, spare, gradient);
    kernel_gradient(engine, a, level == 1 ? &engine->input : &engine->pooled[level], NULL, NULL, NULL, spare, gradient);
    if (level == 1) return;
    const crd_node *above = &engine->nodes[a - 1];
    data_gradient(engine, a, weights, spare, 0, &engine->pooled_gradient[level]);
    engine->plan.ops->pool_backward(engine->plan.pool, &above->y, above->scale, above->shift,
                                    &engine->pooled_gradient[level], &engine->gradient[level - 1][R]);
}

void crd_engine_backward(crd_engine *engine, const float *weights, const float *masks, float *gradient)
{
    const crd_node *last = &engine->nodes[CRD_D1B];
    kernel_gradient(engine, CRD_SPATIAL, &last->y, NULL, last->scale, last->shift, &engine->head_gradient, gradient);
    data_gradient(engine, CRD_SPATIAL, weights, &engine->head_gradient, 0, &engine->gradient[1][P]);
    for (int level = 1; level < CRD_LEVELS; level++) decoder_stage(engine, level, weights, masks, gradient);
    encoder_level(engine, CRD_LEVELS, weights, mask_of(engine, masks, CRD_MASK_LATENT),
                  &engine->gradient[CRD_LEVELS][P], &engine->gradient[CRD_LEVELS][Q], gradient);
    for (int level = CRD_LEVELS - 1; level >= 1; level--) {
        encoder_level(engine, level, weights, NULL, &engine->gradient[level][R], &engine->gradient[level][P], gradient);
    }
}
