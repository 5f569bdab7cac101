/* Where tensors lie, for the part of the chunk that is kept. Layers of one half and level have the same frame, and so
 * the same strides, so they can go on sharing storage; each computes its own box of it. What lies around that box is
 * read by nobody, but for the zeros around a frame that ends with the window. */
#include <string.h>

#include "base/assert.h"
#include "net/engine_internal.h"

static crd_tensor tensor_of(float *storage, const crd_box *box, int64_t channels)
{
    return crd_tensor_in(storage, box->size[0], box->size[1], box->size[2], channels);
}

static void clear(float *storage, const crd_box *box, int64_t channels)
{
    const int64_t floats = crd_tensor_floats(box->size[0], box->size[1], box->size[2], channels);
    memset(storage, 0, (size_t)floats * sizeof *storage);
}

static crd_tensor part_of(const crd_tensor *tensor, const crd_box *at, const crd_box *part)
{
    int64_t origin[3];
    for (int axis = 0; axis < 3; axis++) origin[axis] = part->origin[axis] - at->origin[axis];
    return crd_tensor_part(tensor, origin, part->size);
}

static const crd_box *frame_of(const crd_engine *engine, int layer)
{
    const crd_net *net = engine->plan.net;
    return &engine->crop.frames[layer >= net->decoder][net->layers[layer].level];
}

/* The box of what a layer gives. */
static crd_tensor part_of_layer(const crd_engine *engine, int layer, const crd_box *box)
{
    const crd_box *frame = frame_of(engine, layer);
    const crd_tensor whole =
        tensor_of(engine->nodes[layer].storage, frame, engine->plan.net->layers[layer].channels_out);
    return part_of(&whole, frame, box);
}

static crd_box half_of(const crd_box *box)
{
    crd_box half = *box;
    for (int axis = 0; axis < 3; axis++) {
        half.origin[axis] /= 2;
        half.size[axis] /= 2;
    }
    return half;
}

static void lay_reads(crd_engine *engine, int layer)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    const crd_crop *crop = &engine->crop;
    const crd_box *box = &crop->layers[layer], half = half_of(box);
    crd_tensor *reads = engine->reads[layer];
    if (row->source == CRD_SCAN) {
        reads[0] = part_of(&engine->input, &crop->input, box);
    } else if (row->pools) {
        const crd_box twice = crd_crop_twice(&crop->pooled[layer]);
        engine->to_pool[layer] = part_of_layer(engine, row->source, &twice);
        reads[0] = part_of(&engine->pooled[layer], &crop->pooled[layer], box);
    } else if (row->merge != CRD_NONE) {
        reads[0] = part_of_layer(engine, row->skip, box);
        reads[1] = part_of_layer(engine, row->source, box);
    } else {
        reads[0] = part_of_layer(engine, row->source, row->kernel == 2 ? &half : box);
    }
}

void crd_engine_keep(crd_engine *engine, const crd_box *keep)
{
    const crd_net *net = engine->plan.net;
    crd_crop *crop = &engine->crop;
    const bool fresh = engine->input.data == NULL; /* the storage is zero as it is */
    if (!fresh && memcmp(keep, &crop->keep, sizeof *keep) == 0) return;
    for (int axis = 0; axis < 3; axis++) {
        CRD_ASSERT(keep->origin[axis] >= 0 && keep->origin[axis] % crd_net_step(net) == 0 && keep->size[axis] > 0);
        CRD_ASSERT(keep->size[axis] <= engine->most.keep.size[axis]);
        CRD_ASSERT(keep->origin[axis] + keep->size[axis] <= engine->plan.chunk[axis]);
    }
    crd_crop_make(net, engine->plan.chunk, keep, crop);
    if (!fresh) clear(engine->input_storage, &crop->input, 1);
    engine->input = tensor_of(engine->input_storage, &crop->input, 1);
    for (int layer = 0; layer <= net->head; layer++) {
        const crd_conv_layer *row = &net->layers[layer];
        if (row->pools) {
            if (!fresh) clear(engine->pooled_storage[layer], &crop->pooled[layer], row->channels_in);
            engine->pooled[layer] = tensor_of(engine->pooled_storage[layer], &crop->pooled[layer], row->channels_in);
        }
        if (!fresh && engine->owner[layer] == layer) {
            clear(engine->nodes[layer].storage, frame_of(engine, layer), row->channels_out);
        }
        engine->nodes[layer].y = part_of_layer(engine, layer, &crop->layers[layer]);
        lay_reads(engine, layer);
    }
}
