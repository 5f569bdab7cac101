/* Prediction on the CPU: for each network the encoder once per chunk, then one decoder pass per sample, then the
 * summary over the samples of all. The queue is one deep: a chunk is computed when it is submitted. */
#include "backend/host/predictor.h"

#include <math.h>
#include <string.h>

#include "backend/host/draws.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "net/engine.h"

enum {
    TILE = 1 << 16,  /* voxels summarised at a time where the samples must survive it */
    BLOCK = 1 << 14, /* voxels of one work item */
    SUMMARY_ROWS = 2 /* mean and deviation, before the percentiles */
};

typedef struct unsound { /* sample values that aren't finite */
    int64_t count, first_sample;
} unsound;

struct crd_predictor {
    crd_predictor_plan plan;
    const crd_ops *ops;
    crd_pool *pool;
    crd_engine *engine;
    crd_host_draws *draws;
    crd_box kept;
    int64_t voxels; /* of it; most, until it is known */
    int64_t planes;
    int64_t values;  /* planes * voxels: each plane is summed up as voxels are */
    float *samples;  /* [samples][planes][voxels] */
    float *summary;  /* [SUMMARY_ROWS + percentiles][planes][voxels] */
    float *tile;     /* [samples + rows][TILE], where the samples are kept */
    uint32_t *fixed; /* as summary */
    const uint32_t **percentile_rows;
    uint64_t *above;
    float *entropies; /* where they are asked for */
    uint32_t *fixed_entropies;
    unsound *unsound; /* of each BLOCK of voxels */
    void *memory;     /* one block behind all of the above */
    float *probe;
    int64_t probe_capacity, probe_count, chunk_number;
    double summary_seconds;
};

crd_status crd_host_ops(const crd_device_settings *settings, const crd_ops **out)
{
    return settings->precision == CRD_PRECISION_BF16 ? crd_ops_select_bf16(settings->isa, out)
                                                     : crd_ops_select(settings->isa, out);
}

/* What is kept of the skips pays from a few samples on. Level 1 takes three quarters of the memory. */
static int keep_from(const crd_predictor_plan *plan)
{
    if (crd_plan_samples_each(plan) < 4 || plan->memory_saving == CRD_MEMORY_SAVING_MOST) return 0;
    return 1 + plan->memory_saving;
}

static crd_engine_plan engine_plan(const crd_predictor_plan *plan, const crd_ops *ops, crd_pool *pool)
{
    return (crd_engine_plan){.net = plan->net,
                             .chunk = {plan->chunk[0], plan->chunk[1], plan->chunk[2]},
                             .keep = {plan->keep[0], plan->keep[1], plan->keep[2]},
                             .keep_from = keep_from(plan),
                             .ops = ops,
                             .pool = pool};
}

static crd_status check_plan(const crd_predictor_plan *plan)
{
    if (plan->samples < 1 || plan->samples > INT32_MAX || plan->first_sample < 0 ||
        plan->samples + plan->first_sample - 1 > UINT32_MAX) {
        return crd_fail(CRD_ERR_ARGUMENT, "the number of samples must lie in 1 .. %d, not %lld", (int)INT32_MAX,
                        (long long)plan->samples);
    }
    for (int64_t i = 0; i < plan->percentile_count; i++) {
        if (!(plan->percentiles[i] >= 0.0 && plan->percentiles[i] <= 100.0)) {
            return crd_fail(CRD_ERR_ARGUMENT, "a percentile must lie in 0 .. 100, not %g", plan->percentiles[i]);
        }
    }
    return crd_net_check_chunk(plan->net, plan->chunk);
}

static void set_kept(crd_predictor *predictor, const crd_box *keep)
{
    predictor->kept = *keep;
    predictor->voxels = keep->size[0] * keep->size[1] * keep->size[2];
    predictor->planes = crd_net_planes(predictor->plan.net);
    predictor->values = predictor->planes * predictor->voxels;
}

static void set_plan(crd_predictor *predictor, const crd_predictor_plan *plan)
{
    const int64_t *most = plan->keep[0] > 0 ? plan->keep : plan->chunk;
    predictor->plan = *plan;
    set_kept(predictor, &(crd_box){{0, 0, 0}, {most[0], most[1], most[2]}});
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_predictor *predictor = owner;
    const crd_predictor_plan *plan = &predictor->plan;
    const int64_t values = predictor->values, rows = SUMMARY_ROWS + plan->percentile_count;
    predictor->samples = crd_arena_take(arena, plan->samples * values, sizeof(float));
    predictor->summary = crd_arena_take(arena, rows * values, sizeof(float));
    predictor->fixed = crd_arena_take(arena, rows * values, sizeof(uint32_t));
    if (plan->entropy) {
        predictor->entropies = crd_arena_take(arena, predictor->voxels, sizeof(float));
        predictor->fixed_entropies = crd_arena_take(arena, predictor->voxels, sizeof(uint32_t));
    }
    if (plan->keep_samples) predictor->tile = crd_arena_take(arena, (plan->samples + rows) * TILE, sizeof(float));
    predictor->percentile_rows = crd_arena_take(arena, plan->percentile_count, sizeof(uint32_t *));
    predictor->unsound = crd_arena_take(arena, (predictor->voxels + BLOCK - 1) / BLOCK, sizeof(unsound));
    predictor->above = crd_arena_take(arena, (plan->samples + 63) / 64 * values, sizeof(uint64_t));
}

crd_status crd_host_predictor_bytes(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                    int64_t *host_bytes, int64_t *device_bytes)
{
    crd_status status = CRD_OK;
    crd_pool *pool = NULL;
    crd_predictor counted = {0};
    const crd_ops *ops;
    CRD_TRY(check_plan(plan));
    CRD_TRY(crd_host_ops(settings, &ops));
    CRD_TRY(crd_pool_create(settings->threads, &pool));
    const crd_engine_plan engine = engine_plan(plan, ops, pool);
    CRD_TRY(crd_engine_bytes(&engine, host_bytes));
    set_plan(&counted, plan);
    *host_bytes += (int64_t)sizeof counted + crd_arena_count(lay_out, &counted) + crd_host_draws_bytes(plan);
    *device_bytes = 0;
done:
    crd_pool_free(&pool);
    return status;
}

void crd_host_predictor_free(crd_predictor **pointer)
{
    crd_predictor *predictor = *pointer;
    if (predictor == NULL) return;
    crd_engine_free(&predictor->engine);
    crd_host_draws_free(&predictor->draws);
    crd_pool_free(&predictor->pool);
    crd_free(&predictor->memory);
    crd_free(&predictor->probe);
    crd_free(pointer);
}

crd_status crd_host_predictor_create(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                     crd_predictor **out)
{
    crd_status status = CRD_OK;
    crd_predictor *predictor = NULL;
    *out = NULL;
    CRD_TRY(check_plan(plan));
    if (plan->keep[0] > 0 && plan->moments == NULL) {
        CRD_FAIL(CRD_ERR_INTERNAL, "a part of a chunk whose norms aren't frozen depends on all of it");
    }
    CRD_TRY(crd_alloc(1, sizeof *predictor, "the predictor", &predictor));
    set_plan(predictor, plan);
    CRD_TRY(crd_host_ops(settings, &predictor->ops));
    CRD_TRY(crd_pool_create(settings->threads, &predictor->pool));
    const crd_engine_plan engine = engine_plan(plan, predictor->ops, predictor->pool);
    CRD_TRY(crd_engine_create(&engine, &predictor->engine));
    CRD_TRY(crd_arena_carve(lay_out, predictor, "a chunk's samples", &predictor->memory));
    CRD_TRY(crd_host_draws_create(&predictor->plan, predictor->pool, &predictor->draws));
    *out = predictor;
    predictor = NULL;
done:
    crd_host_predictor_free(&predictor);
    return status;
}

int crd_host_predictor_depth(const crd_predictor *predictor)
{
    (void)predictor;
    return 1;
}

void crd_host_predictor_keep(crd_predictor *predictor, const crd_box *keep)
{
    set_kept(predictor, keep);
    crd_engine_keep(predictor->engine, keep);
}

static void decode(crd_predictor *predictor, int64_t sample)
{
    const crd_predictor_plan *plan = &predictor->plan;
    const crd_host_sample drawn = crd_host_draws_sample(predictor->draws, sample, predictor->chunk_number);
    if (plan->moments != NULL)
        crd_engine_freeze(predictor->engine, plan->moments + sample * crd_net_moments(plan->net));
    crd_engine_decode(predictor->engine, drawn.decoder, drawn.masks, plan->inverse_temperature,
                      predictor->samples + sample * predictor->values);
}

/* x - x is 0 for finite x only. */
static int64_t count_nonfinite(const float *values, int64_t count)
{
    int32_t nonfinite = 0;
    for (int64_t i = 0; i < count; i++) nonfinite += values[i] - values[i] != 0;
    return nonfinite;
}

/* A strip of voxels, whose marks stay in the nearest cache while the samples pass: 32 of them at a time. */
enum { STRIP = 512, HALF = 32 };

/* Which class is the largest in a sample, the first of several: its bit in that class's marks. */
static void mark_largest(const float *values, int64_t planes, int64_t voxels, int64_t count, uint32_t bit,
                         uint32_t (*marks)[STRIP])
{
    float largest[STRIP];
    uint32_t best[STRIP] = {0};
    memcpy(largest, values, (size_t)count * sizeof *largest);
    for (int64_t c = 1; c < planes; c++) {
        const float *of_class = values + c * voxels;
        for (int64_t i = 0; i < count; i++) {
            best[i] = of_class[i] > largest[i] ? (uint32_t)c : best[i];
            largest[i] = of_class[i] > largest[i] ? of_class[i] : largest[i];
        }
    }
    for (int64_t c = 0; c < planes; c++)
        for (int64_t i = 0; i < count; i++) marks[c][i] |= best[i] == (uint32_t)c ? bit : 0;
}

/* The same for three classes, the most usual number: one pass, in half the time. */
static void mark_largest_of_three(const float *values, int64_t voxels, int64_t count, uint32_t bit,
                                  uint32_t (*marks)[STRIP])
{
    const float *a = values, *b = values + voxels, *c = values + 2 * voxels;
    uint32_t *restrict first = marks[0], *restrict second = marks[1], *restrict third = marks[2];
    for (int64_t i = 0; i < count; i++) {
        const float larger = b[i] > a[i] ? b[i] : a[i];
        const uint32_t is_second = 0 - (uint32_t)(b[i] > a[i]), is_third = 0 - (uint32_t)(c[i] > larger);
        first[i] |= bit & ~(is_second | is_third);
        second[i] |= bit & is_second & ~is_third;
        third[i] |= bit & is_third;
    }
}

static void mark_strip(const crd_predictor *predictor, int64_t first, int64_t count, unsound *found)
{
    const int64_t voxels = predictor->voxels, samples = predictor->plan.samples, planes = predictor->planes;
    uint32_t marks[CRD_CLASSES_MAX][STRIP];
    for (int64_t half = 0; half * HALF < samples; half++) {
        const int64_t begin = half * HALF, end = begin + HALF < samples ? begin + HALF : samples;
        uint64_t *bits = predictor->above + half / 2 * predictor->values + first;
        memset(marks, 0, (size_t)planes * sizeof marks[0]);
        for (int64_t s = begin; s < end; s++) {
            const float *values = predictor->samples + s * predictor->values + first;
            const uint32_t bit = UINT32_C(1) << (s - begin);
            int64_t nonfinite = 0;
            if (planes == 3)
                mark_largest_of_three(values, voxels, count, bit, marks);
            else if (planes > 1)
                mark_largest(values, planes, voxels, count, bit, marks);
            else
                for (int64_t i = 0; i < count; i++) marks[0][i] |= values[i] > 0.5f ? bit : 0;
            for (int64_t c = 0; c < planes; c++) nonfinite += count_nonfinite(values + c * voxels, count);
            if (nonfinite > 0 && (found->first_sample < 0 || s < found->first_sample)) found->first_sample = s;
            found->count += nonfinite;
        }
        for (int64_t c = 0; c < planes; c++)
            for (int64_t i = 0; i < count; i++) {
                uint64_t *word = &bits[c * voxels + i];
                *word = half % 2 == 0 ? marks[c][i] : *word | (uint64_t)marks[c][i] << HALF;
            }
    }
}

/* Which samples lie above one half, or say which class, one bit each; how many of a block's values aren't finite. */
static void mark_above(void *context, int64_t item, int worker)
{
    (void)worker;
    const crd_predictor *predictor = context;
    const int64_t voxels = predictor->voxels, begin = item * BLOCK;
    const int64_t end = begin + BLOCK < voxels ? begin + BLOCK : voxels;
    unsound found = {0, -1};
    for (int64_t v = begin; v < end; v += STRIP) mark_strip(predictor, v, end - v < STRIP ? end - v : STRIP, &found);
    predictor->unsound[item] = found;
}

static unsound all_unsound(const crd_predictor *predictor)
{
    unsound all = {0, -1};
    for (int64_t i = 0; i < (predictor->voxels + BLOCK - 1) / BLOCK; i++) {
        const unsound *block = &predictor->unsound[i];
        all.count += block->count;
        if (block->count > 0 && (all.first_sample < 0 || block->first_sample < all.first_sample)) {
            all.first_sample = block->first_sample;
        }
    }
    return all;
}

static void to_fixed_point(void *context, int64_t item, int worker)
{
    (void)worker;
    crd_predictor *predictor = context;
    const int64_t values = (SUMMARY_ROWS + predictor->plan.percentile_count) * predictor->values, first = item * BLOCK;
    const int64_t end = first + BLOCK < values ? first + BLOCK : values;
    for (int64_t i = first; i < end; i++) predictor->fixed[i] = (uint32_t)lrintf(predictor->summary[i] * 0x1p24f);
}

static void entropies_to_fixed_point(void *context, int64_t item, int worker)
{
    (void)worker;
    crd_predictor *predictor = context;
    const int64_t first = item * BLOCK, end = first + BLOCK < predictor->voxels ? first + BLOCK : predictor->voxels;
    for (int64_t i = first; i < end; i++) {
        predictor->fixed_entropies[i] = (uint32_t)lrintf(predictor->entropies[i] * 0x1p22f);
    }
}

/* The operation may use the samples as scratch, so samples that the caller wants go through copies, tile by tile. */
static void summarise(crd_predictor *predictor)
{
    const crd_predictor_plan *plan = &predictor->plan;
    const int64_t voxels = predictor->values, samples = plan->samples; /* of all planes */
    if (!plan->keep_samples) {
        predictor->ops->summarise(predictor->pool, predictor->samples, samples, voxels, voxels, plan->percentiles,
                                  plan->percentile_count, predictor->summary);
        return;
    }
    float *const copies = predictor->tile, *const results = predictor->tile + samples * TILE;
    for (int64_t first = 0; first < voxels; first += TILE) {
        const int64_t count = first + TILE < voxels ? TILE : voxels - first;
        for (int64_t s = 0; s < samples; s++) {
            memcpy(copies + s * TILE, predictor->samples + s * voxels + first, (size_t)count * sizeof(float));
        }
        predictor->ops->summarise(predictor->pool, copies, samples, TILE, count, plan->percentiles,
                                  plan->percentile_count, results);
        for (int64_t row = 0; row < SUMMARY_ROWS + plan->percentile_count; row++) {
            memcpy(predictor->summary + row * voxels + first, results + row * TILE, (size_t)count * sizeof(float));
        }
    }
}

static crd_status gather_probe(crd_predictor *predictor, const int64_t *probe, int64_t count)
{
    const int64_t samples = predictor->plan.samples, planes = predictor->planes;
    if (count > predictor->probe_capacity) { /* grows a few times in the first chunks, then never again */
        crd_free(&predictor->probe);
        predictor->probe_capacity = 0;
        CRD_PASS(crd_alloc(2 * count * samples * planes, sizeof(float), "probe values", &predictor->probe));
        predictor->probe_capacity = 2 * count;
    }
    for (int64_t i = 0; i < count; i++) {
        CRD_ASSERT(probe[i] >= 0 && probe[i] < predictor->voxels && (i == 0 || probe[i] > probe[i - 1]));
        for (int64_t s = 0; s < samples * planes; s++) {
            predictor->probe[i * samples * planes + s] = predictor->samples[s * predictor->voxels + probe[i]];
        }
    }
    predictor->probe_count = count;
    return CRD_OK;
}

/* All samples of one network. */
static void compute_turn(crd_predictor *predictor, int64_t turn, const float *input)
{
    const crd_predictor_plan *plan = &predictor->plan;
    const int64_t own = turn * crd_net_moments(plan->net); /* of the encoder all its samples have the same */
    crd_engine_freeze(predictor->engine, plan->moments != NULL ? plan->moments + own : NULL);
    crd_engine_encode(predictor->engine, crd_host_draws_encoder(predictor->draws, turn), input);
    for (int64_t s = turn; s < plan->samples; s += crd_plan_members(plan)) decode(predictor, s);
}

crd_status crd_host_predictor_submit(crd_predictor *predictor, int64_t chunk_number, const float *input,
                                     const int64_t *probe, int64_t probe_count)
{
    const int64_t values = (SUMMARY_ROWS + predictor->plan.percentile_count) * predictor->values;
    predictor->chunk_number = chunk_number;
    for (int64_t turn = 0; turn < crd_plan_turns(&predictor->plan); turn++) compute_turn(predictor, turn, input);
    const double begun = crd_seconds();
    CRD_PASS(gather_probe(predictor, probe, probe_count));
    crd_pool_run(predictor->pool, (predictor->voxels + BLOCK - 1) / BLOCK, mark_above, predictor);
    if (predictor->plan.entropy) {
        predictor->ops->entropy(predictor->pool, predictor->samples, predictor->plan.samples, (int)predictor->planes,
                                predictor->voxels, predictor->entropies);
        crd_pool_run(predictor->pool, (predictor->voxels + BLOCK - 1) / BLOCK, entropies_to_fixed_point, predictor);
    }
    summarise(predictor);
    crd_pool_run(predictor->pool, (values + BLOCK - 1) / BLOCK, to_fixed_point, predictor);
    predictor->summary_seconds = crd_seconds() - begun;
    return CRD_OK;
}

crd_status crd_host_predictor_collect(crd_predictor *predictor, crd_chunk_result *result)
{
    const unsound all = all_unsound(predictor);
    for (int64_t i = 0; i < predictor->plan.percentile_count; i++) {
        predictor->percentile_rows[i] = predictor->fixed + (SUMMARY_ROWS + i) * predictor->values;
    }
    *result = (crd_chunk_result){
        .chunk_number = predictor->chunk_number,
        .kept = predictor->kept,
        .mean = predictor->fixed,
        .deviation = predictor->plan.standard_deviation ? predictor->fixed + predictor->values : NULL,
        .percentiles = predictor->percentile_rows,
        .entropy = predictor->fixed_entropies,
        .above = predictor->above,
        .samples = predictor->plan.keep_samples ? predictor->samples : NULL,
        .probe = predictor->probe,
        .probe_count = predictor->probe_count,
        .nonfinite = all.count,
        .nonfinite_sample = all.first_sample,
        .summary_seconds = predictor->summary_seconds,
    };
    return CRD_OK;
}
