/* One chunk from input to the head, walking the table of layers. */
#include <string.h>

#include "net/engine_internal.h"

static const float *at(crd_weights_from weights, int64_t offset)
{
    return weights.values + (offset - weights.first);
}

static const crd_moments *frozen_at(const crd_engine *engine, int norm)
{
    return engine->frozen == NULL ? NULL : engine->frozen + (int64_t)norm * engine->plan.net->groups;
}

void crd_engine_take_input(crd_engine *engine, const float *input)
{
    const crd_box *box = &engine->crop.input;
    const int64_t *chunk = engine->plan.chunk;
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            const int64_t row = (box->origin[0] + z) * chunk[1] + box->origin[1] + y;
            memcpy(engine->input.data + z * engine->input.plane + y * engine->input.row,
                   input + row * chunk[2] + box->origin[2], (size_t)box->size[2] * sizeof *input);
        }
    }
}

void crd_engine_convolve(crd_engine *engine, int layer, crd_weights_from weights)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    const crd_layout *layout = &engine->plan.net->point;
    const crd_kernel_shape shape = crd_engine_kernel_shape(engine, layer);
    const crd_engine_input in = crd_engine_input_of(engine, layer);
    crd_node *node = &engine->nodes[layer];
    if (row->pools) {
        const crd_node *source = &engine->nodes[row->source];
        engine->plan.ops->pool_forward(engine->plan.pool, &engine->to_pool[layer], source->scale, source->shift,
                                       &engine->pooled[layer]);
    }
    crd_fold(engine->plan.pool, &shape, at(weights, layout->kernel[layer]), at(weights, layout->bias[layer]), in.scale,
             in.shift, engine->folded, engine->bias_classes, engine->tap_shift);
    if (row->kernel == 2) {
        const crd_up up = {.x = in.x[0],
                           .kernel = engine->folded,
                           .bias = engine->bias_classes,
                           .relu = true,
                           .y = &node->y,
                           .sums = node->norm.sum,
                           .scratch = engine->scratch};
        engine->plan.ops->up_forward(engine->plan.pool, &up);
    } else {
        const crd_conv conv = {.x = {in.x[0], in.x[1]},
                               .kernel = engine->folded,
                               .bias = engine->bias_classes,
                               .relu = true,
                               .exact = engine->plan.net->classes > 2,
                               .y = &node->y,
                               .sums = node->norm.sum,
                               .scratch = engine->scratch,
                               .kept = row->merge != CRD_NONE ? engine->kept[row->merge] : NULL};
        engine->plan.ops->conv_forward(engine->plan.pool, &conv);
    }
}

void crd_engine_normalise(crd_engine *engine, int layer, crd_weights_from weights)
{
    const crd_layout *layout = &engine->plan.net->point;
    crd_node *node = &engine->nodes[layer];
    if (!engine->plan.net->layers[layer].norm) return;
    crd_norm_forward(&node->norm, frozen_at(engine, layer), at(weights, layout->gamma[layer]),
                     at(weights, layout->beta[layer]));
    memcpy(node->scale, node->norm.scale, (size_t)node->norm.channels * sizeof(float));
    memcpy(node->shift, node->norm.shift, (size_t)node->norm.channels * sizeof(float));
}

/* A dropped channel is 0, a kept one doubled: only the scale and shift that consumers fold in change. */
void crd_engine_drop(crd_engine *engine, int layer, const float *masks)
{
    const int site = engine->plan.net->layers[layer].mask;
    crd_node *node = &engine->nodes[layer];
    if (site == CRD_NONE) return;
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
void crd_engine_sum_halves(crd_engine *engine, int layer)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    if (row->merge == CRD_NONE) return;
    const crd_norm *skip = &engine->nodes[row->skip].norm, *up = &engine->nodes[row->source].norm;
    crd_norm *both = &engine->merges[row->merge].norm;
    transform_sums(skip, both->sum, both->square);
    transform_sums(up, both->sum + skip->channels, both->square + skip->channels);
}

void crd_engine_merge_halves(crd_engine *engine, int layer, crd_weights_from weights)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    const crd_layout *layout = &engine->plan.net->point;
    if (row->merge == CRD_NONE) return;
    const int number = crd_merge_number(engine->plan.net, row->merge);
    const crd_norm *skip = &engine->nodes[row->skip].norm, *up = &engine->nodes[row->source].norm;
    crd_merge *merge = &engine->merges[row->merge];
    crd_norm_forward(&merge->norm, frozen_at(engine, number), at(weights, layout->gamma[number]),
                     at(weights, layout->beta[number]));
    for (int c = 0; c < merge->norm.channels; c++) {
        const crd_norm *inner = c < skip->channels ? skip : up;
        const int i = c < skip->channels ? c : c - skip->channels;
        merge->scale[c] = merge->norm.scale[c] * inner->scale[i];
        merge->shift[c] = merge->norm.scale[c] * inner->shift[i] + merge->norm.shift[c];
    }
}

void crd_engine_keep_skip(crd_engine *engine, int skip)
{
    const int skipper = engine->plan.net->layers[skip].skipper;
    void *kept = skipper != CRD_NONE ? engine->kept[engine->plan.net->layers[skipper].merge] : NULL;
    if (kept == NULL) return;
    const crd_conv_size size = crd_engine_conv_size(engine, skipper);
    engine->plan.ops->conv_keep(engine->plan.pool, &engine->reads[skipper][0], &size, kept);
}

void crd_engine_forward_encoder(crd_engine *engine, const float *all_weights, const float *input)
{
    const crd_weights_from weights = {all_weights, 0};
    crd_engine_take_input(engine, input);
    for (int layer = 0; layer < engine->plan.net->decoder; layer++) {
        crd_engine_convolve(engine, layer, weights);
        crd_engine_normalise(engine, layer, weights);
        crd_engine_keep_skip(engine, layer);
    }
}

void crd_engine_forward_decoder(crd_engine *engine, const float *decoder_weights, const float *masks)
{
    const crd_net *net = engine->plan.net;
    const crd_weights_from weights = {decoder_weights, crd_decoder_offset(net)};
    crd_engine_drop(engine, net->layers[net->decoder].source, masks); /* what the encoder ends with */
    for (int layer = net->decoder; layer <= net->head; layer++) {
        crd_engine_sum_halves(engine, layer);
        crd_engine_merge_halves(engine, layer, weights);
        crd_engine_convolve(engine, layer, weights);
        crd_engine_normalise(engine, layer, weights);
        crd_engine_drop(engine, layer, masks);
    }
}
