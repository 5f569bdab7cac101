/* What a network has to compute for its output to be right in a part of its window. All of it is in this header,
 * because plug-ins plan their work with it, too.
 *
 * The table is walked from its end to its beginning. A layer's box is what the layers behind it read of it: a 3x3x3
 * reads a voxel more on every side than it gives, an `up` half as many and one, a pooling twice as many, and nothing
 * reads beyond the window. So the layers of full resolution compute little more than what is kept. It holds where norms
 * are frozen: else a layer's statistics are those of all its voxels. */
#ifndef CRD_NET_CROP_H
#define CRD_NET_CROP_H

#include "credence/volume.h"
#include "net/net.h"

typedef struct crd_crop { /* boxes in voxels of their level, from the window's corner on */
    crd_box keep;
    crd_box input;                         /* what is read of the window */
    crd_box layers[CRD_LAYERS_MAX];        /* what each layer computes; of an `up` twice what it reads */
    crd_box pooled[CRD_LAYERS_MAX];        /* what a layer that pools reads, at its own level */
    crd_box frames[2][CRD_LEVELS_MAX + 1]; /* around all that encoder [0] and decoder [1] compute at a level */
} crd_crop;

/* The smallest box that holds both; one without voxels holds nothing. */
static inline void crd_crop_join(crd_box *box, const crd_box *other)
{
    if (box->size[0] == 0) {
        *box = *other;
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        const int64_t end = box->origin[axis] + box->size[axis], other_end = other->origin[axis] + other->size[axis];
        if (other->origin[axis] < box->origin[axis]) box->origin[axis] = other->origin[axis];
        box->size[axis] = (other_end > end ? other_end : end) - box->origin[axis];
    }
}

/* From `low` to `high`, as far as the window goes at that level. */
static inline void crd_crop_span(int64_t low, int64_t high, int axis, const int64_t window[3], int level, crd_box *out)
{
    const int64_t size = window[axis] >> (level - 1);
    out->origin[axis] = low > 0 ? low : 0;
    out->size[axis] = (high < size ? high : size) - out->origin[axis];
}

/* What a layer that computes `box` reads: at the level of its source, or, of what it pools, at its own. */
static inline crd_box crd_crop_reads(const crd_conv_layer *layer, const crd_box *box, const int64_t window[3])
{
    crd_box out = {{0, 0, 0}, {0, 0, 0}};
    for (int axis = 0; axis < 3; axis++) {
        const int64_t low = box->origin[axis], high = low + box->size[axis], reach = layer->kernel == 3;
        if (layer->kernel == 2)
            crd_crop_span(low / 2, high / 2 + 1, axis, window, layer->level + 1, &out);
        else
            crd_crop_span(low - reach, high + reach, axis, window, layer->level, &out);
    }
    return out;
}

static inline crd_box crd_crop_twice(const crd_box *box)
{
    crd_box out = *box;
    for (int axis = 0; axis < 3; axis++) {
        out.origin[axis] *= 2;
        out.size[axis] *= 2;
    }
    return out;
}

/* `keep` lies in the window, whose edges the network can take. */
static inline void crd_crop_make(const crd_net *net, const int64_t window[3], const crd_box *keep, crd_crop *out)
{
    const crd_crop nothing = {{{0, 0, 0}, {0, 0, 0}},
                              {{0, 0, 0}, {0, 0, 0}},
                              {{{0, 0, 0}, {0, 0, 0}}},
                              {{{0, 0, 0}, {0, 0, 0}}},
                              {{{{0, 0, 0}, {0, 0, 0}}}}};
    *out = nothing;
    out->keep = out->layers[net->last] = *keep;
    for (int i = net->last; i >= 0; i--) {
        const crd_conv_layer *layer = &net->layers[i];
        crd_box reads = crd_crop_reads(layer, &out->layers[i], window);
        if (layer->kernel == 2) out->layers[i] = crd_crop_twice(&reads); /* it gives pairs of voxels */
        if (layer->skip != CRD_NONE) crd_crop_join(&out->layers[layer->skip], &reads);
        crd_crop_join(&out->frames[i >= net->decoder][layer->level], &out->layers[i]);
        if (layer->pools) {
            out->pooled[i] = reads;
            reads = crd_crop_twice(&reads);
        }
        crd_crop_join(layer->source == CRD_SCAN ? &out->input : &out->layers[layer->source], &reads);
    }
}

static inline void crd_crop_limit(const int64_t window[3], int level, crd_box *box)
{
    for (int axis = 0; axis < 3; axis++) {
        const int64_t size = window[axis] >> (level - 1);
        if (box->size[axis] > size) box->size[axis] = size;
    }
}

/* How large the boxes get at most, where what is kept begins at a multiple of crd_net_step and is nowhere longer than
 * `keep`: only their sizes mean something. */
static inline void crd_crop_most(const crd_net *net, const int64_t window[3], const int64_t keep[3], crd_crop *out)
{
    const int64_t far = INT64_C(1) << 20; /* beyond all that a voxel depends on */
    const crd_box inside = {{far, far, far}, {keep[0], keep[1], keep[2]}};
    const int64_t wide[3] = {keep[0] + 2 * far, keep[1] + 2 * far, keep[2] + 2 * far};
    crd_crop_make(net, wide, &inside, out);
    crd_crop_limit(window, 1, &out->input);
    for (int i = 0; i < net->layer_count; i++) {
        crd_crop_limit(window, net->layers[i].level, &out->layers[i]);
        crd_crop_limit(window, net->layers[i].level, &out->pooled[i]);
    }
    for (int level = 1; level <= net->levels; level++) {
        for (int half = 0; half < 2; half++) crd_crop_limit(window, level, &out->frames[half][level]);
    }
}

/* The sides of an axis on which the network's window goes on beyond a box: bit 0 before it, bit 1 behind it. */
static inline int crd_crop_open(const crd_box *box, int axis, const int64_t window[3], int level)
{
    const int64_t end = box->origin[axis] + box->size[axis];
    return (box->origin[axis] > 0) | ((end < window[axis] >> (level - 1)) << 1);
}

#endif
