/* Several pieces walk the table side by side, so that every norm can be frozen at what it meets in all of them before
 * the next layer runs. */
#include "net/engine_internal.h"

void crd_engine_freeze(crd_engine *engine, const crd_moments *moments)
{
    engine->frozen = moments;
}

/* The moments of norm `number`, which stands behind the layer or, for `merge`, before it. */
static void join(crd_engine *const *engines, int count, int layer, bool merge, int number, crd_moments *moments)
{
    const crd_norm *norms[CRD_PIECES_MAX];
    const int merge_of_layer = engines[0]->plan.net->layers[layer].merge;
    for (int i = 0; i < count; i++) {
        norms[i] = merge ? &engines[i]->merges[merge_of_layer].norm : &engines[i]->nodes[layer].norm;
    }
    crd_norm_moments(norms, count, moments + (int64_t)number * engines[0]->plan.net->groups);
}

static void measure_layer(crd_engine *const *engines, int count, int layer, crd_weights_from weights,
                          crd_moments *moments)
{
    const crd_net *net = engines[0]->plan.net;
    const crd_conv_layer *row = &net->layers[layer];
    for (int i = 0; i < count; i++) crd_engine_sum_halves(engines[i], layer);
    if (row->merge != CRD_NONE) join(engines, count, layer, true, crd_merge_number(net, row->merge), moments);
    for (int i = 0; i < count; i++) {
        crd_engine_merge_halves(engines[i], layer, weights);
        crd_engine_convolve(engines[i], layer, weights);
    }
    if (row->norm) join(engines, count, layer, false, layer, moments);
    for (int i = 0; i < count; i++) crd_engine_normalise(engines[i], layer, weights);
}

static crd_status tell(const crd_layer_watch *watch)
{
    return watch != NULL ? watch->after_layer(watch->context) : CRD_OK;
}

crd_status crd_engines_measure_encoder(crd_engine *const *engines, int count, const float *all_weights,
                                       const float *const *inputs, const crd_layer_watch *watch, crd_moments *moments)
{
    const crd_weights_from weights = {all_weights, 0};
    for (int i = 0; i < count; i++) {
        crd_engine_freeze(engines[i], moments);
        crd_engine_take_input(engines[i], inputs[i]);
    }
    for (int layer = 0; layer < engines[0]->plan.net->decoder; layer++) {
        measure_layer(engines, count, layer, weights, moments);
        for (int i = 0; i < count; i++) crd_engine_keep_skip(engines[i], layer);
        CRD_PASS(tell(watch));
    }
    return CRD_OK;
}

crd_status crd_engines_measure_decoder(crd_engine *const *engines, int count, const float *decoder_weights,
                                       const float *masks, const crd_layer_watch *watch, crd_moments *moments)
{
    const crd_net *net = engines[0]->plan.net;
    const crd_weights_from weights = {decoder_weights, crd_decoder_offset(net)};
    for (int i = 0; i < count; i++) {
        crd_engine_freeze(engines[i], moments);
        crd_engine_drop(engines[i], net->layers[net->decoder].source, masks);
    }
    for (int layer = net->decoder; layer < net->head; layer++) {
        measure_layer(engines, count, layer, weights, moments);
        for (int i = 0; i < count; i++) crd_engine_drop(engines[i], layer, masks);
        CRD_PASS(tell(watch));
    }
    return CRD_OK;
}
