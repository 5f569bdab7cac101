/* One network of one chunk size on the CPU: the encoder once, decoder samples with given weights, and the gradient of
 * one example. Memory is planned and taken when the engine is made; nothing is allocated while it runs.
 *
 * Weights are in the point layout (net/net.h). `masks` is one set of dropout masks (0 or 2 per channel, laid out by
 * crd_net.mask_offset), or NULL for none. */
#ifndef CRD_NET_ENGINE_H
#define CRD_NET_ENGINE_H

#include "credence/volume.h"
#include "net/loss.h"
#include "net/net.h"
#include "net/norm.h"
#include "net/pieces.h"
#include "ops/ops.h"

typedef struct crd_engine crd_engine;

typedef struct crd_engine_plan {
    const crd_net *net; /* borrowed, must outlive the engine */
    int64_t chunk[3];
    int64_t keep[3]; /* how large a part of the chunk is asked for at most (crd_engine_keep); 0, 0, 0: all of it */
    bool training;   /* room for gradients, too */
    int keep_from;   /* what decoders make of a skip alone is kept from this level on, for all samples; 0: nowhere */
    const crd_ops *ops;
    crd_pool *pool; /* borrowed */
} crd_engine_plan;

crd_status crd_engine_create(const crd_engine_plan *plan, crd_engine **out);
void crd_engine_free(crd_engine **engine);
/* Bytes that crd_engine_create would take. */
crd_status crd_engine_bytes(const crd_engine_plan *plan, int64_t *bytes);

/* Norms take their statistics from the chunk, or, from here on, from `moments` (crd_net_moments of them, borrowed), so
 * that an output depends on its neighbourhood alone. NULL: from the chunk again. */
void crd_engine_freeze(crd_engine *engine, const crd_moments *moments);

/* The moments that norms are frozen at, over several pieces together, one engine each, of the same plan. A layer's
 * are those under the frozen moments of the layers before it. First the encoder's, once; then, for every sample, the
 * decoder's, which stand behind them. The engines stay frozen at `moments`. `watch` is called after every layer and may
 * end it; NULL: nobody watches. */
typedef struct crd_layer_watch {
    crd_status (*after_layer)(void *context);
    void *context;
} crd_layer_watch;
crd_status crd_engines_measure_encoder(crd_engine *const *engines, int count, const float *weights,
                                       const float *const *inputs, const crd_layer_watch *watch, crd_moments *moments);
crd_status crd_engines_measure_decoder(crd_engine *const *engines, int count, const float *decoder_weights,
                                       const float *masks, const crd_layer_watch *watch, crd_moments *moments);

/* From here on only that part of the chunk is asked for, and layers compute what it depends on (net/crop.h); at first
 * it is all of it, or as much of its beginning as the plan has room for. Norms must be frozen for it. `keep` begins at
 * multiples of crd_net_step and is nowhere longer than the plan says. */
void crd_engine_keep(crd_engine *engine, const crd_box *keep);

/* input: chunk[0]*chunk[1]*chunk[2] floats. */
void crd_engine_encode(crd_engine *engine, const float *weights, const float *input);
/* After encode, any number of times: probabilities of one sample, [crd_net_planes][voxels], for the voxels that are
 * kept. decoder_weights are the point layout's values from crd_decoder_offset on; inverse_temperature multiplies the
 * logits.
 */
void crd_engine_decode(crd_engine *engine, const float *decoder_weights, const float *masks, float inverse_temperature,
                       float *probability);

/* Forward and, when gradient is not NULL, backward of one example. label: a class or 255 (none) per voxel. gradient
 * (point layout, overwritten) is that of scale * (sum of the cross entropy over the labelled voxels). */
void crd_engine_loss(crd_engine *engine, const float *weights, const float *masks, const float *input,
                     const uint8_t *label, float scale, float *gradient, crd_loss *loss);

#endif
