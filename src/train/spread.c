#include "train/spread.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

struct crd_spread {
    crd_dist *dist;
    crd_trainer *trainer;
    const crd_backend *backend;
    crd_learner *learner;
    crd_dist_sum *sum;
    const float *const *parts;           /* of the batch's gradients: the range that is this process's */
    int64_t count;                       /* of its examples */
    crd_dist_board *board;               /* of the parameters' parts; where they aren't divided, of the gradient's */
    int64_t *bounds[CRD_EXCHANGE_COUNT]; /* of the ranks' parts; where they aren't divided, of the gradient's alone */
    crd_loss *losses;                    /* of a batch */
    double begun, seconds;               /* of computing, and how many examples that were */
    int64_t examples;
};

/* Whether each process takes the steps of a part of the parameters. */
static bool divides(const crd_spread *spread)
{
    return spread->backend->learner_part_values != NULL;
}

/* Where everybody's part lies in a gradient, and in what is exchanged. */
static void find_bounds(crd_spread *spread)
{
    const int size = crd_dist_size(spread->dist);
    const int64_t parameters = crd_trainer_state_of(spread->trainer)->count;
    for (int e = 0; e < CRD_EXCHANGE_COUNT; e++) {
        int64_t *bounds = spread->bounds[e];
        for (int rank = 0; rank < size; rank++) {
            if (divides(spread)) {
                const int64_t values = spread->backend->learner_part_values(spread->learner, (crd_exchange)e, rank);
                bounds[rank + 1] = bounds[rank] + values;
            } else if (e == CRD_EXCHANGE_GRADIENT) {
                crd_dist_part(parameters, size, rank, &bounds[rank], &bounds[rank + 1]);
            }
        }
    }
}

crd_status crd_spread_create(crd_dist *dist, int64_t batch, crd_trainer *trainer, crd_spread **out)
{
    crd_status status = CRD_OK;
    crd_spread *spread = NULL;
    const int size = crd_dist_size(dist);
    int64_t length = 0;
    *out = NULL;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_alloc(1, sizeof *spread, "the mini-batch", &spread));
    *spread = (crd_spread){.dist = dist,
                           .trainer = trainer,
                           .backend = crd_trainer_backend(trainer),
                           .learner = crd_trainer_learner(trainer)};
    for (int e = 0; e < CRD_EXCHANGE_COUNT; e++) {
        CRD_TRY(crd_alloc(size + 1, sizeof *spread->bounds[e], "the parts", &spread->bounds[e]));
    }
    find_bounds(spread);
    for (int e = 0; e < CRD_EXCHANGE_COUNT; e++) {
        if (spread->bounds[e][size] > length) length = spread->bounds[e][size];
    }
    const int64_t *gradient = spread->bounds[CRD_EXCHANGE_GRADIENT];
    CRD_TRY(crd_dist_sum_create(dist, batch, gradient[size], gradient, &spread->sum));
    CRD_TRY(crd_dist_board_create(dist, length, &spread->board));
    CRD_TRY(crd_alloc(batch, sizeof *spread->losses, "the losses", &spread->losses));
    *out = spread;
    spread = NULL;
done:
    crd_spread_free(&spread);
    return status;
}

void crd_spread_free(crd_spread **pointer)
{
    crd_spread *spread = *pointer;
    if (spread == NULL) return;
    crd_dist_sum_free(&spread->sum);
    crd_dist_board_free(&spread->board);
    for (int e = 0; e < CRD_EXCHANGE_COUNT; e++) crd_free(&spread->bounds[e]);
    crd_free(&spread->losses);
    crd_free(pointer);
}

crd_status crd_spread_begin(crd_spread *spread, crd_batch *batch)
{
    crd_status status = CRD_OK;
    const int size = crd_dist_size(spread->dist);
    int64_t *all = NULL;
    CRD_TRY(crd_alloc(size, sizeof *all, "a message", &all));
    CRD_TRY(crd_dist_share(spread->dist, &batch->labelled, (int64_t)sizeof batch->labelled, all));
    batch->labelled = 0;
    for (int rank = 0; rank < size; rank++) batch->labelled += all[rank];
    memset(spread->losses, 0, (size_t)batch->count * sizeof *spread->losses);
    CRD_TRY(crd_dist_sum_begin(spread->sum, batch->count));
    spread->begun = crd_seconds();
done:
    crd_free(&all);
    return status;
}

crd_status crd_spread_add(crd_spread *spread, int64_t i, const float *input, const uint8_t *label, float scale)
{
    CRD_PASS(crd_trainer_example(spread->trainer, (uint32_t)i, input, label, scale, crd_dist_sum_vector(spread->sum, i),
                                 &spread->losses[i]));
    spread->examples++;
    return crd_dist_sum_put(spread->sum, i);
}

crd_status crd_spread_losses(crd_dist *dist, int64_t count, crd_loss *losses)
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

crd_status crd_spread_finish(crd_spread *spread, const crd_batch *batch, crd_loss *losses)
{
    spread->seconds += crd_seconds() - spread->begun;
    spread->count = batch->count;
    CRD_PASS(crd_dist_sum_parts(spread->sum, &spread->parts));
    memcpy(losses, spread->losses, (size_t)batch->count * sizeof *losses);
    return crd_spread_losses(spread->dist, batch->count, losses);
}

static crd_status exchange(crd_spread *spread, crd_exchange what)
{
    const int rank = crd_dist_rank(spread->dist), size = crd_dist_size(spread->dist);
    const int64_t *bounds = spread->bounds[what];
    float *values = crd_dist_board_values(spread->board);
    spread->backend->learner_pack_part(spread->learner, what, values + bounds[rank]);
    CRD_PASS(crd_dist_board_share(spread->board, bounds));
    for (int other = 0; other < size; other++) {
        if (other == rank) continue;
        spread->backend->learner_unpack_part(spread->learner, what, other, values + bounds[other]);
    }
    return CRD_OK;
}

static crd_status start_divided(crd_spread *spread, double kl_scale, double rate)
{
    CRD_PASS(crd_trainer_follow_parts(spread->trainer, spread->count, spread->parts, kl_scale, rate));
    return exchange(spread, CRD_EXCHANGE_STEP);
}

static crd_status start_whole(crd_spread *spread, double kl_scale, double rate)
{
    const int rank = crd_dist_rank(spread->dist);
    const int64_t *bounds = spread->bounds[CRD_EXCHANGE_GRADIENT], range = bounds[rank + 1] - bounds[rank];
    float *values = crd_dist_board_values(spread->board);
    memset(values + bounds[rank], 0, (size_t)range * sizeof *values);
    for (int64_t i = 0; i < spread->count; i++) add(range, spread->parts[i], values + bounds[rank]);
    CRD_PASS(crd_dist_board_share(spread->board, bounds));
    return crd_trainer_follow(spread->trainer, values, kl_scale, rate);
}

crd_status crd_spread_start(crd_spread *spread, double kl_scale, double rate)
{
    return divides(spread) ? start_divided(spread, kl_scale, rate) : start_whole(spread, kl_scale, rate);
}

crd_status crd_spread_collect(crd_spread *spread, bool moments)
{
    if (!divides(spread)) return CRD_OK;
    CRD_PASS(exchange(spread, CRD_EXCHANGE_PARAMETERS));
    if (!moments) return CRD_OK;
    CRD_PASS(exchange(spread, CRD_EXCHANGE_M));
    return exchange(spread, CRD_EXCHANGE_V);
}

crd_status crd_spread_speeds(crd_spread *spread, double *speeds)
{
    const double own = spread->seconds > 0.0 ? (double)spread->examples / spread->seconds : 0.0;
    spread->seconds = 0.0;
    spread->examples = 0;
    return crd_dist_gather(spread->dist, &own, (int64_t)sizeof own, speeds);
}
