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

static void convolve(crd_engine *engine, int layer, weights_from weights, const crd_tensor *x0, const crd_tensor *x1,
                     const float *scale, const float *shift)
{
    const crd_layout *layout = &engine->plan.net->point;
    const crd_kernel_shape shape = crd_engine_kernel_shape(engine, layer);
    crd_node *node = &engine->nodes[layer];
    crd_fold(engine->plan.pool, &shape, at(weights, layout->kernel[layer]), at(weights, layout->bias[layer]), scale,
             shift, engine->folded, engine->bias_classes, engine->tap_shift);
    if (shape.edge == 2) {
        const crd_up up = {.x = x0,
                           .kernel = engine->folded,
                           .bias = engine->bias_classes,
                           .relu = true,
                           .y = &node->y,
                           .sums = node->norm.sum,
                           .scratch = engine->scratch};
        engine->plan.ops->up_forward(engine->plan.pool, &up);
    } else {
        const void *kept = x1 != NULL ? engine->kept[engine->plan.net->layers[layer].level] : NULL;
        const crd_conv conv = {.x = {x0, x1},
                               .kernel = engine->folded,
                               .bias = engine->bias_classes,
                               .relu = true,
                               .y = &node->y,
                               .sums = node->norm.sum,
                               .scratch = engine->scratch,
                               .kept = kept};
        engine->plan.ops->conv_forward(engine->plan.pool, &conv);
    }
    if (!engine->plan.net->layers[layer].norm) return;
    crd_norm_forward(&node->norm, at(weights, layout->gamma[layer]), at(weights, layout->beta[layer]));
    memcpy(node->scale, node->norm.scale, (size_t)node->norm.channels * sizeof(float));
    memcpy(node->shift, node->norm.shift, (size_t)node->norm.channels * sizeof(float));
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
static void merge_halves(crd_engine *engine, int stage, const crd_node *skip, const crd_node *up, weights_from weights)
{
    const crd_layout *layout = &engine->plan.net->point;
    crd_merge *merge = &engine->merges[stage];
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
        convolve(engine, a, weights, level == 1 ? &engine->input : &engine->pooled[level], NULL, NULL, NULL);
        convolve(engine, a + 1, weights, &first->y, NULL, first->scale, first->shift);
        if (level == CRD_LEVELS) break;
        if (engine->kept[level] != NULL) {
            const crd_conv_size merge = crd_engine_merge_size(engine, level);
            engine->plan.ops->conv_keep(engine->plan.pool, &second->y, &merge, engine->kept[level]);
        }
        engine->plan.ops->pool_forward(engine->plan.pool, &second->y, second->scale, second->shift,
                                       &engine->pooled[level + 1]);
    }
}

void crd_engine_forward_decoder(crd_engine *engine, const float *decoder_weights, const float *masks)
{
    const weights_from weights = {decoder_weights, crd_decoder_offset(engine->plan.net)};
    crd_node *below = &engine->nodes[CRD_E4B];
    drop(engine, below, masks, CRD_MASK_LATENT);
    for (int level = CRD_LEVELS - 1; level >= 1; level--) {
        const int up = crd_stage_up(level), stage = 3 - level;
        const crd_node *skip = &engine->nodes[crd_encoder_a(level) + 1];
        crd_node *nodes = &engine->nodes[up]; /* up, a, b */
        convolve(engine, up, weights, &below->y, NULL, below->scale, below->shift);
        merge_halves(engine, stage, skip, &nodes[0], weights);
        convolve(engine, up + 1, weights, &skip->y, &nodes[0].y, engine->merges[stage].scale,
                 engine->merges[stage].shift);
        convolve(engine, up + 2, weights, &nodes[1].y, NULL, nodes[1].scale, nodes[1].shift);
        below = &nodes[2];
        drop(engine, below, masks, CRD_MASK_D3 + stage);
    }
    convolve(engine, CRD_SPATIAL, weights, &below->y, NULL, below->scale, below->shift);
}
