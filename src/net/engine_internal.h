/* Shared by engine.c (planning), engine_forward.c and engine_backward.c; nobody else includes it. */
#ifndef CRD_NET_ENGINE_INTERNAL_H
#define CRD_NET_ENGINE_INTERNAL_H

#include "net/crop.h"
#include "net/engine.h"
#include "net/fold.h"
#include "net/norm.h"

/* A convolution's output and its norm. The value that consumers see is scale * y + shift (dropout included). */
typedef struct crd_node {
    float *storage; /* of the frame that y is a part of */
    crd_tensor y;
    crd_norm norm;        /* of y; unused where the layer has none */
    float *scale, *shift; /* as consumers fold it in: norm, then merge norm or dropout mask where there is one */
} crd_node;

/* The merge norm of a decoder stage works on [skip, up] as their own norms left them. */
typedef struct crd_merge {
    crd_norm norm;
    float *scale, *shift; /* of [skip.y, up.y] all the way through both norms */
} crd_merge;

struct crd_engine {
    crd_engine_plan plan;
    int64_t size[CRD_LEVELS_MAX + 1][3]; /* of the chunk by level, from 1 on */
    int64_t voxels[CRD_LEVELS_MAX + 1];
    crd_crop most, crop;       /* there is room for, and the tensors are laid out for */
    int owner[CRD_LAYERS_MAX]; /* whose storage a layer uses (tensor_sharing.h) */
    float *input_storage, *pooled_storage[CRD_LAYERS_MAX];

    crd_tensor input;                    /* one channel, level 1 */
    crd_node nodes[CRD_LAYERS_MAX];      /* the last layer has no tensor */
    crd_tensor pooled[CRD_LAYERS_MAX];   /* what a layer that pools makes of its source */
    crd_tensor to_pool[CRD_LAYERS_MAX];  /* the part of the source that it makes it of */
    crd_tensor reads[CRD_LAYERS_MAX][2]; /* the parts of tensors that lie below what a layer computes */
    crd_merge merges[CRD_MERGES_MAX];
    int64_t kept_bytes[CRD_MERGES_MAX]; /* of the skip, for the convolution after its merge */
    void *kept[CRD_MERGES_MAX];         /* NULL where nothing is kept */

    crd_tensor gradient[CRD_LAYERS_MAX], pooled_gradient[CRD_LAYERS_MAX]; /* of nodes and pooled */

    float *folded, *bias_classes, *tap_shift, *flipped; /* of the layer at work */
    double *channel_sums;                               /* 2 * the widest merge */
    double *border_sums;
    double *coefficients; /* 6 * the widest merge */
    float *apply;         /* 3 * the widest merge */
    void *scratch;

    const crd_moments *frozen; /* what norms take their statistics from; NULL: from the chunk */

    void *memory; /* one block behind all of the above */
};

/* What a layer reads: one tensor, or a skip and its source, with the scale and shift that belong to them (NULL: none).
 */
typedef struct crd_engine_input {
    const crd_tensor *x[2];
    const float *scale, *shift;
} crd_engine_input;
crd_engine_input crd_engine_input_of(const crd_engine *engine, int layer);

crd_conv_size crd_engine_conv_size(const crd_engine *engine, int layer);
crd_kernel_shape crd_engine_kernel_shape(const crd_engine *engine, int layer);

/* Weights as a caller has them: values of the point layout from `first` on. */
typedef struct crd_weights_from {
    const float *values;
    int64_t first;
} crd_weights_from;

/* The steps of a walk forward, for one layer. */
void crd_engine_take_input(crd_engine *engine, const float *input);
void crd_engine_convolve(crd_engine *engine, int layer, crd_weights_from weights);     /* pools before, where it does */
void crd_engine_normalise(crd_engine *engine, int layer, crd_weights_from weights);    /* where it has a norm */
void crd_engine_drop(crd_engine *engine, int layer, const float *masks);               /* where it has a mask */
void crd_engine_keep_skip(crd_engine *engine, int layer);                              /* where it is one */
void crd_engine_sum_halves(crd_engine *engine, int layer);                             /* where it merges: the sums, */
void crd_engine_merge_halves(crd_engine *engine, int layer, crd_weights_from weights); /* then the norm over both */

void crd_engine_forward_encoder(crd_engine *engine, const float *weights, const float *input);
void crd_engine_forward_decoder(crd_engine *engine, const float *decoder_weights, const float *masks);
void crd_engine_backward(crd_engine *engine, const float *weights, const float *masks, float *gradient);

#endif
