/* Statistics of norms on the CPU: the pieces side by side; for every network the encoder once, then one walk through
 * the decoder a sample. */
#include "backend/host/norms.h"

#include <string.h>

#include "backend/host/draws.h"
#include "backend/host/predictor.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "net/engine.h"

typedef struct walkers {
    crd_engine *engines[CRD_PIECES_MAX];
    const float *inputs[CRD_PIECES_MAX];
    int count;
} walkers;

static crd_engine_plan engine_plan(const crd_predictor_plan *plan, const crd_pieces *pieces, const crd_ops *ops,
                                   crd_pool *pool)
{
    return (crd_engine_plan){
        .net = plan->net, .chunk = {pieces->size[0], pieces->size[1], pieces->size[2]}, .ops = ops, .pool = pool};
}

crd_status crd_host_norms_bytes(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                const crd_pieces *pieces, int64_t *host_bytes)
{
    crd_status status = CRD_OK;
    const crd_ops *ops;
    crd_pool *pool = NULL;
    CRD_TRY(crd_host_ops(settings, &ops));
    CRD_TRY(crd_pool_create(settings->threads, &pool));
    const crd_engine_plan engine = engine_plan(plan, pieces, ops, pool);
    CRD_TRY(crd_engine_bytes(&engine, host_bytes));
    *host_bytes = pieces->count * *host_bytes + crd_host_draws_bytes(plan);
done:
    crd_pool_free(&pool);
    return status;
}

static crd_status make_walkers(const crd_predictor_plan *plan, const crd_pieces *pieces, const crd_ops *ops,
                               crd_pool *pool, walkers *w)
{
    const int64_t voxels = crd_piece_voxels(pieces);
    const crd_engine_plan engine = engine_plan(plan, pieces, ops, pool);
    for (; w->count < (int)pieces->count; w->count++) {
        w->inputs[w->count] = pieces->voxels + w->count * voxels;
        CRD_PASS(crd_engine_create(&engine, &w->engines[w->count]));
    }
    return CRD_OK;
}

/* How far it is: layers, of which the encoder's are walked once and the decoder's for every sample. */
typedef struct listening {
    const crd_monitor *monitor;
    int64_t done, all;
} listening;

static crd_status after_layer(void *context)
{
    listening *l = context;
    return crd_advance(l->monitor, "measuring the norms", "layers", ++l->done, l->all, NULL);
}

/* Of one network: its encoder's are the same for all its samples. */
static crd_status measure_turn(const crd_predictor_plan *plan, crd_host_draws *draws, int64_t turn, walkers *w,
                               const crd_layer_watch *watch, crd_moments *moments)
{
    const int64_t count = crd_net_moments(plan->net), members = crd_plan_members(plan);
    const crd_moments *first = moments + turn * count;
    CRD_PASS(crd_engines_measure_encoder(w->engines, w->count, crd_host_draws_encoder(draws, turn), w->inputs, watch,
                                         moments + turn * count));
    for (int64_t s = turn + members; s < plan->samples; s += members) {
        memcpy(moments + s * count, first, (size_t)count * sizeof *moments);
    }
    for (int64_t s = turn; s < plan->samples; s += members) {
        const crd_host_sample sample = crd_host_draws_sample(draws, s, 0);
        CRD_PASS(crd_engines_measure_decoder(w->engines, w->count, sample.decoder, sample.masks, watch,
                                             moments + s * count));
    }
    return CRD_OK;
}

crd_status crd_host_measure_norms(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                  const crd_pieces *pieces, const crd_monitor *monitor, crd_moments *moments)
{
    crd_status status = CRD_OK;
    const crd_ops *ops;
    crd_pool *pool = NULL;
    crd_host_draws *draws = NULL;
    walkers w = {0};
    const int64_t count = crd_net_moments(plan->net), encoder = plan->net->decoder;
    const int64_t turns = crd_plan_turns(plan);
    listening l = {monitor, 0, turns * encoder + plan->samples * (plan->net->head - encoder)};
    const crd_layer_watch watch = {after_layer, &l};
    CRD_TRY(crd_host_ops(settings, &ops));
    CRD_TRY(crd_pool_create(settings->threads, &pool));
    CRD_TRY(crd_host_draws_create(plan, pool, &draws));
    CRD_TRY(make_walkers(plan, pieces, ops, pool, &w));
    memset(moments, 0, (size_t)(count * plan->samples) * sizeof *moments);
    for (int64_t turn = 0; turn < turns; turn++) {
        CRD_TRY(measure_turn(plan, draws, turn, &w, &watch, moments));
    }
done:
    for (int i = 0; i < w.count; i++) crd_engine_free(&w.engines[i]);
    crd_host_draws_free(&draws);
    crd_pool_free(&pool);
    return status;
}
