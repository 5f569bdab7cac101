/* Shared by engine.c (planning), engine_forward.c and engine_backward.c; nobody else includes it. */
#ifndef CRD_NET_ENGINE_INTERNAL_H
#define CRD_NET_ENGINE_INTERNAL_H

#include "net/engine.h"
#include "net/fold.h"
#include "net/norm.h"

enum { CRD_LEVELS = 4 };

/* A convolution's output and its norm. The value that consumers see is scale * y + shift (dropout included). */
typedef struct crd_node {
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
    int64_t size[CRD_LEVELS + 1][3]; /* by level, 1..4 */
    int64_t voxels[CRD_LEVELS + 1];

    crd_tensor input;                  /* one channel, level 1 */
    crd_node nodes[CRD_CONV_COUNT];    /* head/point has no tensor */
    crd_tensor pooled[CRD_LEVELS + 1]; /* input of level 2, 3, 4 */
    crd_merge merges[CRD_MERGE_COUNT];
    int64_t kept_bytes[CRD_LEVELS]; /* by level, 1..3: of the skip, for the convolution after its merge */
    void *kept[CRD_LEVELS];         /* NULL where nothing is kept */

    /* Gradients: three tensors a level (see engine_backward.c), one for the pooled input, one for the head. */
    crd_tensor gradient[CRD_LEVELS + 1][3];
    crd_tensor pooled_gradient[CRD_LEVELS + 1];
    crd_tensor head_gradient;

    float *folded, *bias_classes, *tap_shift, *flipped; /* of the layer at work */
    double *channel_sums;                               /* 2 * the widest merge */
    double *border_sums;
    double *coefficients; /* 6 * the widest merge */
    float *apply;         /* 3 * the widest merge */
    void *scratch;

    void *memory; /* one block behind all of the above */
};

/* The merge of a decoder stage at level 1..3, its skip and its up convolution. */
static inline int crd_stage_up(int level)
{
    return CRD_D3UP + (3 - level) * 3;
}
static inline int crd_encoder_a(int level)
{
    return CRD_E1A + (level - 1) * 2;
}

/* Of the convolution after the merge. */
crd_conv_size crd_engine_merge_size(const crd_engine *engine, int level);
crd_kernel_shape crd_engine_kernel_shape(const crd_engine *engine, int layer);

void crd_engine_forward_encoder(crd_engine *engine, const float *weights, const float *input);
void crd_engine_forward_decoder(crd_engine *engine, const float *decoder_weights, const float *masks);
void crd_engine_backward(crd_engine *engine, const float *weights, const float *masks, float *gradient);

#endif
