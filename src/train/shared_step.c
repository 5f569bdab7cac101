#include "train/shared_step.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

struct crd_shared_step {
    crd_dist *dist;
    crd_trainer *trainer;
    const crd_backend *backend;
    crd_learner *learner;
    crd_dist_sum *sum;
    const float *const *parts;           /* of the batch's gradients: the range that is this process's */
    int64_t count;                       /* of its examples */
    crd_shared_vector *vector;           /* of the parameters' parts; where they aren't divided, of the gradient's */
    int64_t *bounds[CRD_EXCHANGE_COUNT]; /* of the ranks' parts; where they aren't divided, of the gradient's alone */
    crd_loss *losses;                    /* of a batch */
    double begun, seconds;               /* of computing, and how many examples that were */
    int64_t examples;
};

/* Whether each process takes the steps of a part of the parameters. */
static bool divides(const crd_shared_step *shared)
{
    return shared->backend->learner_part_values != NULL;
}

/* Where everybody's part lies in a gradient, and in what is exchanged. */
static void find_bounds(crd_shared_step *shared)
{
    const int size = crd_dist_size(shared->dist);
    const int64_t parameters = crd_trainer_state_of(shared->trainer)->count;
    for (int e = 0; e < CRD_EXCHANGE_COUNT; e++) {
        int64_t *bounds = shared->bounds[e];
        for (int rank = 0; rank < size; rank++) {
            if (divides(shared)) {
                const int64_t values = shared->backend->learner_part_values(shared->learner, (crd_exchange)e, rank);
                bounds[rank + 1] = bounds[rank] + values;
            } else if (e == CRD_EXCHANGE_GRADIENT) {
                crd_dist_part(parameters, size, rank, &bounds[rank], &bounds[rank + 1]);
            }
        }
    }
}

crd_status crd_shared_step_create(crd_dist *dist, int64_t batch, crd_trainer *trainer, crd_shared_step **out)
{
    crd_status status = CRD_OK;
    crd_shared_step *shared = NULL;
    const int size = crd_dist_size(dist);
    int64_t length = 0;
    *out = NULL;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_alloc(1, sizeof *shared, "the mini-batch", &shared));
    *shared = (crd_shared_step){.dist = dist,
                                .trainer = trainer,
                                .backend = crd_trainer_backend(trainer),
                                .learner = crd_trainer_learner(trainer)};
    for (int e = 0; e < CRD_EXCHANGE_COUNT; e++) {
        CRD_TRY(crd_alloc(size + 1, sizeof *shared->bounds[e], "the parts", &shared->bounds[e]));
    }
    find_bounds(shared);
    for (int e = 0; e < CRD_EXCHANGE_COUNT; e++) {
        if (shared->bounds[e][size] > length) length = shared->bounds[e][size];
    }
    const int64_t *gradient = shared->bounds[CRD_EXCHANGE_GRADIENT];
    CRD_TRY(crd_dist_sum_create(dist, batch, gradient[size], gradient, &shared->sum));
    CRD_TRY(crd_shared_vector_create(dist, length, &shared->vector));
    CRD_TRY(crd_alloc(batch, sizeof *shared->losses, "the losses", &shared->losses));
    *out = shared;
    shared = NULL;
done:
    crd_shared_step_free(&shared);
    return status;
}

void crd_shared_step_free(crd_shared_step **pointer)
{
    crd_shared_step *shared = *pointer;
    if (shared == NULL) return;
    crd_dist_sum_free(&shared->sum);
    crd_shared_vector_free(&shared->vector);
    for (int e = 0; e < CRD_EXCHANGE_COUNT; e++) crd_free(&shared->bounds[e]);
    crd_free(&shared->losses);
    crd_free(pointer);
}

crd_status crd_shared_step_begin(crd_shared_step *shared, crd_batch *batch)
{
    crd_status status = CRD_OK;
    const int size = crd_dist_size(shared->dist);
    int64_t *all = NULL;
    CRD_TRY(crd_alloc(size, sizeof *all, "a message", &all));
    CRD_TRY(crd_dist_share(shared->dist, &batch->labelled, (int64_t)sizeof batch->labelled, all));
    batch->labelled = 0;
    for (int rank = 0; rank < size; rank++) batch->labelled += all[rank];
    memset(shared->losses, 0, (size_t)batch->count * sizeof *shared->losses);
    CRD_TRY(crd_dist_sum_begin(shared->sum, batch->count));
    shared->begun = crd_seconds();
done:
    crd_free(&all);
    return status;
}

crd_status crd_shared_step_add(crd_shared_step *shared, int64_t i, const float *input, const uint8_t *label,
                               float scale)
{
    CRD_PASS(crd_trainer_example(shared->trainer, (uint32_t)i, input, label, scale, crd_dist_sum_vector(shared->sum, i),
                                 &shared->losses[i]));
    shared->examples++;
    return crd_dist_sum_put(shared->sum, i);
}

crd_status crd_shared_step_losses(crd_dist *dist, int64_t count, crd_loss *losses)
{
    crd_status status = CRD_OK;
    const int size = crd_dist_size(dist), rank = crd_dist_rank(dist);
    const int64_t most = (count + size - 1) / size;
    int64_t begin, end;
    crd_loss *own = NULL, *all = NULL;
    CRD_TRY(crd_alloc(most, sizeof *own, "the losses", &own));
    CRD_TRY(crd_alloc(most * size, sizeof *all, "the losses", &all));
    crd_dist_part(count, size, rank, &begin, &end);
    memcpy(own, losses + begin, (size_t)(end - begin) * sizeof *own);
    CRD_TRY(crd_dist_share(dist, own, most * (int64_t)sizeof *own, all));
    for (int other = 0; other < size; other++) {
        crd_dist_part(count, size, other, &begin, &end);
        memcpy(losses + begin, all + other * most, (size_t)(end - begin) * sizeof *losses);
    }
done:
    crd_free(&own);
    crd_free(&all);
    return status;
}

static void add(int64_t count, const float *restrict from, float *restrict to)
{
    for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

crd_status crd_shared_step_finish(crd_shared_step *shared, const crd_batch *batch, crd_loss *losses)
{
    shared->seconds += crd_seconds() - shared->begun;
    shared->count = batch->count;
    CRD_PASS(crd_dist_sum_parts(shared->sum, &shared->parts));
    memcpy(losses, shared->losses, (size_t)batch->count * sizeof *losses);
    return crd_shared_step_losses(shared->dist, batch->count, losses);
}

static crd_status exchange(crd_shared_step *shared, crd_exchange what)
{
    const int rank = crd_dist_rank(shared->dist), size = crd_dist_size(shared->dist);
    const int64_t *bounds = shared->bounds[what];
    float *values = crd_shared_vector_values(shared->vector);
    shared->backend->learner_pack_part(shared->learner, what, values + bounds[rank]);
    CRD_PASS(crd_shared_vector_share(shared->vector, bounds));
    for (int other = 0; other < size; other++) {
        if (other == rank) continue;
        shared->backend->learner_unpack_part(shared->learner, what, other, values + bounds[other]);
    }
    return CRD_OK;
}

static crd_status start_divided(crd_shared_step *shared, double kl_scale, double rate)
{
    CRD_PASS(crd_trainer_follow_parts(shared->trainer, shared->count, shared->parts, kl_scale, rate));
    return exchange(shared, CRD_EXCHANGE_STEP);
}

static crd_status start_whole(crd_shared_step *shared, double kl_scale, double rate)
{
    const int rank = crd_dist_rank(shared->dist);
    const int64_t *bounds = shared->bounds[CRD_EXCHANGE_GRADIENT], range = bounds[rank + 1] - bounds[rank];
    float *values = crd_shared_vector_values(shared->vector);
    memset(values + bounds[rank], 0, (size_t)range * sizeof *values);
    for (int64_t i = 0; i < shared->count; i++) add(range, shared->parts[i], values + bounds[rank]);
    CRD_PASS(crd_shared_vector_share(shared->vector, bounds));
    return crd_trainer_follow(shared->trainer, values, kl_scale, rate);
}

crd_status crd_shared_step_start(crd_shared_step *shared, double kl_scale, double rate)
{
    return divides(shared) ? start_divided(shared, kl_scale, rate) : start_whole(shared, kl_scale, rate);
}

crd_status crd_shared_step_collect(crd_shared_step *shared, bool moments)
{
    if (!divides(shared)) return CRD_OK;
    CRD_PASS(exchange(shared, CRD_EXCHANGE_PARAMETERS));
    if (!moments) return CRD_OK;
    CRD_PASS(exchange(shared, CRD_EXCHANGE_M));
    return exchange(shared, CRD_EXCHANGE_V);
}

crd_status crd_shared_step_speeds(crd_shared_step *shared, double *speeds)
{
    const double own = shared->seconds > 0.0 ? (double)shared->examples / shared->seconds : 0.0;
    shared->seconds = 0.0;
    shared->examples = 0;
    return crd_dist_gather(shared->dist, &own, (int64_t)sizeof own, speeds);
}
