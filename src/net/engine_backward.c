/* The gradient of one example, from the head back to the first convolution.
 *
 * Each layer has a tensor for the gradient of what its consumers saw of it; it becomes that of the convolution's result
 * before its ReLU, from which the gradients of what the layer read are made. Tensors that are used up serve again
 * (net/tensor_sharing.h): three a level are enough. */
#include <string.h>

#include "net/engine_internal.h"

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
static void through_norm(crd_engine *engine, int layer, const float *weights, const float *mask, float *gradient)
{
    const crd_layout *layout = &engine->plan.net->point;
    const crd_node *node = &engine->nodes[layer];
    crd_tensor *g = &engine->gradient[layer];
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

/* Of kernel and bias. */
static void kernel_gradient(crd_engine *engine, int layer, float *gradient)
{
    const crd_layout *layout = &engine->plan.net->point;
    const crd_kernel_shape shape = crd_engine_kernel_shape(engine, layer);
    const crd_engine_input in = crd_engine_input_of(engine, layer);
    const crd_tensor *dy = &engine->gradient[layer];
    float *dkernel = gradient + layout->kernel[layer];
    if (shape.edge == 2) {
        engine->plan.ops->up_kernel_gradient(engine->plan.pool, in.x[0], dy, dkernel, engine->scratch);
    } else {
        engine->plan.ops->conv_kernel_gradient(engine->plan.pool, in.x[0], in.x[1], dy, dkernel, engine->scratch);
    }
    engine->plan.ops->border_sums(engine->plan.pool, dy, engine->border_sums);
    crd_unfold_gradient(engine->plan.pool, &shape, in.scale, in.shift, engine->border_sums, dkernel,
                        gradient + layout->bias[layer]);
}

/* The gradient of input channels [first, first + dx->channels) of a 3x3x3 layer. */
static void data_gradient(crd_engine *engine, int layer, const float *weights, int64_t first, crd_tensor *dx)
{
    const crd_kernel_shape shape = crd_engine_kernel_shape(engine, layer);
    crd_flip_kernel(engine->plan.pool, &shape, weights + engine->plan.net->point.kernel[layer], first, dx->channels,
                    engine->flipped);
    const crd_conv conv = {
        .x = {&engine->gradient[layer], NULL}, .kernel = engine->flipped, .y = dx, .scratch = engine->scratch};
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

/* The skip's share becomes the gradient of its normalised value; up's goes on through up's own norm and ReLU in the
 * same pass: the sums that its norm needs follow from those already taken. */
static void through_merge(crd_engine *engine, const crd_conv_layer *row, const float *weights, float *gradient)
{
    const crd_layout *layout = &engine->plan.net->point;
    const int number = crd_merge_number(engine->plan.net, row->merge), up_layer = row->source;
    const crd_merge *merge = &engine->merges[row->merge];
    const crd_node *skip = &engine->nodes[row->skip], *up = &engine->nodes[up_layer];
    const int half = skip->norm.channels, channels = 2 * half;
    crd_tensor *p = &engine->gradient[up_layer], *r = &engine->gradient[row->skip];
    double *up_sums = engine->channel_sums, *skip_sums = engine->border_sums; /* border_sums is idle here */
    double *sum_g = engine->coefficients, *sum_gv = sum_g + channels;
    double *a = sum_gv + channels, *b = a + channels, *c = b + channels;

    engine->plan.ops->gradient_sums(engine->plan.pool, r, &skip->y, skip_sums);
    engine->plan.ops->gradient_sums(engine->plan.pool, p, &up->y, up_sums);
    sums_of_value(&skip->norm, skip_sums, skip_sums + half, sum_g, sum_gv);
    sums_of_value(&up->norm, up_sums, up_sums + half, sum_g + half, sum_gv + half);
    crd_norm_backward(&merge->norm, weights + layout->gamma[number], sum_g, sum_gv, gradient + layout->gamma[number],
                      gradient + layout->beta[number], a, b, c);
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

/* The gradients of what a layer read. */
static void input_gradients(crd_engine *engine, int layer, const float *weights, float *gradient)
{
    const crd_net *net = engine->plan.net;
    const crd_conv_layer *row = &net->layers[layer];
    if (row->source == CRD_SCAN) return;
    crd_tensor *to = &engine->gradient[row->source];
    if (row->kernel == 2) {
        engine->plan.ops->up_data_gradient(engine->plan.pool, &engine->gradient[layer],
                                           weights + net->point.kernel[layer], to, engine->scratch);
    } else if (row->pools) { /* beside the share that came back by the skip */
        const crd_node *source = &engine->nodes[row->source];
        data_gradient(engine, layer, weights, 0, &engine->pooled_gradient[layer]);
        engine->plan.ops->pool_backward(engine->plan.pool, &source->y, source->scale, source->shift,
                                        &engine->pooled_gradient[layer], to);
    } else if (row->merge != CRD_NONE) {
        data_gradient(engine, layer, weights, 0, &engine->gradient[row->skip]);
        data_gradient(engine, layer, weights, net->layers[row->skip].channels_out, to);
        through_merge(engine, row, weights, gradient);
    } else {
        data_gradient(engine, layer, weights, 0, to);
    }
}

void crd_engine_backward(crd_engine *engine, const float *weights, const float *masks, float *gradient)
{
    const crd_net *net = engine->plan.net;
    for (int layer = net->head; layer >= 0; layer--) {
        const crd_conv_layer *row = &net->layers[layer];
        const bool merged = net->layers[row->reader].merge != CRD_NONE; /* its norm is behind us, with the merge's */
        const float *mask = masks != NULL && row->mask != CRD_NONE ? masks + net->mask_offset[row->mask] : NULL;
        if (row->norm && !merged) through_norm(engine, layer, weights, mask, gradient);
        kernel_gradient(engine, layer, gradient);
        input_gradients(engine, layer, weights, gradient);
    }
}
