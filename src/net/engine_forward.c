/* One chunk from input to the head, walking the table of layers. */
#include <string.h>

#include "net/engine_internal.h"

/* Weights as a caller has them: values of the point layout from `first` on. */
typedef struct weights_from {
    const float *values;
    int64_t first;
} weights_from;

static const float *at(weights_from weights, int64_t offset)
{
    return weights.values + (offset - weights.first);
}

/* A convolution of a sample, with scale and shift of its inputs folded into its kernel. */
static crd_conv prepare(crd_engine *engine, const crd_seat *seat, int layer, weights_from weights, const crd_tensor *x0,
                        const crd_tensor *x1, const float *scale, const float *shift)
{
    const crd_layout *layout = &engine->plan.net->point;
    const crd_kernel_shape shape = crd_engine_kernel_shape(engine, layer);
    crd_fold(engine->plan.pool, &shape, at(weights, layout->kernel[layer]), at(weights, layout->bias[layer]), scale,
             shift, seat->folded, seat->bias_classes, engine->tap_shift);
    return (crd_conv){.x = {x0, x1},
                      .kernel = seat->folded,
                      .bias = seat->bias_classes,
                      .relu = true,
                      .y = &seat->nodes[layer].y,
                      .sums = seat->nodes[layer].norm.sum,
                      .scratch = engine->scratch};
}

static void normalise(const crd_engine *engine, const crd_seat *seat, int layer, weights_from weights)
{
    const crd_layout *layout = &engine->plan.net->point;
    crd_node *node = &seat->nodes[layer];
    if (!engine->plan.net->layers[layer].norm) return;
    crd_norm_forward(&node->norm, at(weights, layout->gamma[layer]), at(weights, layout->beta[layer]));
    memcpy(node->scale, node->norm.scale, (size_t)node->norm.channels * sizeof(float));
    memcpy(node->shift, node->norm.shift, (size_t)node->norm.channels * sizeof(float));
}

static void convolve(crd_engine *engine, const crd_seat *seat, int layer, weights_from weights, const crd_tensor *x,
                     const float *scale, const float *shift)
{
    const crd_conv conv = prepare(engine, seat, layer, weights, x, NULL, scale, shift);
    if (engine->plan.net->layers[layer].kernel == 2) {
        const crd_up up = {x, conv.kernel, conv.bias, conv.relu, conv.y, conv.sums, conv.scratch};
        engine->plan.ops->up_forward(engine->plan.pool, &up);
    } else {
        engine->plan.ops->conv_forward(engine->plan.pool, &conv);
    }
    normalise(engine, seat, layer, weights);
}

/* A dropped channel is 0, a kept one doubled: only the scale and shift that consumers fold in change. */
static void drop(const crd_engine *engine, crd_node *node, const float *masks, int site)
{
    const int64_t offset = engine->plan.net->mask_offset[site];
    for (int c = 0; c < node->norm.channels; c++) {
        const float mask = masks == NULL ? 1.0f : masks[offset + c];
        node->scale[c] = node->norm.scale[c] * mask;
        node->shift[c] = node->norm.shift[c] * mask;
    }
}

/* The sums of scale * x + shift, from those of x. */
static void transform_sums(const crd_norm *from, double *sum, double *square)
{
    for (int c = 0; c < from->channels; c++) {
        const double scale = from->scale[c], shift = from->shift[c];
        sum[c] = scale * from->sum[c] + from->voxels * shift;
        square[c] = scale * scale * from->square[c] + 2.0 * scale * shift * from->sum[c] + from->voxels * shift * shift;
    }
}

/* Both halves of a merge are known by their sums alone, so the merge norm reads no voxel. */
static void merge_halves(const crd_engine *engine, int stage, const crd_node *skip, const crd_node *up,
                         weights_from weights, crd_merge *merge)
{
    const crd_layout *layout = &engine->plan.net->point;
    const int half = skip->norm.channels;
    transform_sums(&skip->norm, merge->norm.sum, merge->norm.square);
    transform_sums(&up->norm, merge->norm.sum + half, merge->norm.square + half);
    crd_norm_forward(&merge->norm, at(weights, layout->gamma[CRD_CONV_COUNT + stage]),
                     at(weights, layout->beta[CRD_CONV_COUNT + stage]));
    for (int c = 0; c < merge->norm.channels; c++) {
        const crd_norm *inner = c < half ? &skip->norm : &up->norm;
        const int i = c < half ? c : c - half;
        merge->scale[c] = merge->norm.scale[c] * inner->scale[i];
        merge->shift[c] = merge->norm.scale[c] * inner->shift[i] + merge->norm.shift[c];
    }
}

void crd_engine_forward_encoder(crd_engine *engine, const float *all_weights, const float *input)
{
    const weights_from weights = {all_weights, 0};
    const crd_seat *seat = &engine->seats[0];
    const int64_t *size = engine->size[1];
    for (int64_t z = 0; z < size[0]; z++) {
        for (int64_t y = 0; y < size[1]; y++) {
            memcpy(engine->input.data + z * engine->input.plane + y * engine->input.row,
                   input + (z * size[1] + y) * size[2], (size_t)size[2] * sizeof *input);
        }
    }
    for (int level = 1; level <= CRD_LEVELS; level++) {
        const int a = crd_encoder_a(level);
        const crd_node *first = &engine->nodes[a], *second = &engine->nodes[a + 1];
        convolve(engine, seat, a, weights, level == 1 ? &engine->input : &engine->pooled[level], NULL, NULL);
        convolve(engine, seat, a + 1, weights, &first->y, first->scale, first->shift);
        if (level == CRD_LEVELS) break;
        engine->plan.ops->pool_forward(engine->plan.pool, &second->y, second->scale, second->shift,
                                       &engine->pooled[level + 1]);
    }
}

/* The first convolution after a merge, of all samples together: they share the skip. */
static void convolve_merges(crd_engine *engine, int count, int level, const weights_from *weights)
{
    const int up = crd_stage_up(level), stage = 3 - level;
    const crd_node *skip = &engine->nodes[crd_encoder_a(level) + 1];
    crd_conv convs[CRD_SEATS];
    for (int i = 0; i < count; i++) {
        const crd_seat *seat = &engine->seats[i];
        crd_merge *merge = &seat->merges[stage];
        merge_halves(engine, stage, skip, &seat->nodes[up], weights[i], merge);
        convs[i] = prepare(engine, seat, up + 1, weights[i], &skip->y, &seat->nodes[up].y, merge->scale, merge->shift);
    }
    engine->plan.ops->conv_forward_group(engine->plan.pool, convs, count);
    for (int i = 0; i < count; i++) normalise(engine, &engine->seats[i], up + 1, weights[i]);
}

void crd_engine_forward_decoder(crd_engine *engine, int count, const float *const *decoder_weights,
                                const float *const *masks)
{
    weights_from weights[CRD_SEATS];
    crd_node *below[CRD_SEATS];
    for (int i = 0; i < count; i++) {
        weights[i] = (weights_from){decoder_weights[i], crd_decoder_offset(engine->plan.net)};
        below[i] = &engine->nodes[CRD_E4B];
    }
    for (int level = CRD_LEVELS - 1; level >= 1; level--) {
        const int up = crd_stage_up(level); /* then a and b */
        for (int i = 0; i < count; i++) {
            /* The samples have one latent tensor in common: its mask is put on for each in turn. */
            if (level == CRD_LEVELS - 1) drop(engine, below[i], masks[i], CRD_MASK_LATENT);
            convolve(engine, &engine->seats[i], up, weights[i], &below[i]->y, below[i]->scale, below[i]->shift);
        }
        convolve_merges(engine, count, level, weights);
        for (int i = 0; i < count; i++) {
            crd_node *nodes = engine->seats[i].nodes;
            const crd_node *a = &nodes[up + 1];
            convolve(engine, &engine->seats[i], up + 2, weights[i], &a->y, a->scale, a->shift);
            below[i] = &nodes[up + 2];
            drop(engine, below[i], masks[i], CRD_MASK_D3 + 3 - level);
        }
    }
    for (int i = 0; i < count; i++) {
        convolve(engine, &engine->seats[i], CRD_SPATIAL, weights[i], &below[i]->y, below[i]->scale, below[i]->shift);
    }
}
