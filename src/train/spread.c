#include "train/spread.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/parcel.h"

struct crd_spread {
    crd_dist *dist;
    crd_trainer *trainer;
    crd_dist_sum *sum;
    crd_dist_board *board;             /* of parcels; on a device, of the gradient */
    crd_part *parts;                   /* by rank; NULL on a device */
    int64_t *bounds[CRD_PARCEL_COUNT]; /* of the ranks' parcels; on a device, [0]: of the gradient's parts */
    crd_loss *losses;                  /* of a batch */
    double begun, seconds;             /* of computing, and how many examples that were */
    int64_t examples;
};

/* Everybody's part, and where it lies in a gradient and in the parcels. */
static crd_status divide(crd_spread *spread, int64_t *points)
{
    const int size = crd_dist_size(spread->dist);
    const crd_posterior *posterior = crd_trainer_posterior(spread->trainer);
    CRD_PASS(crd_alloc(size, sizeof *spread->parts, "the parts", &spread->parts));
    for (int rank = 0; rank < size; rank++) {
        crd_part *part = &spread->parts[rank];
        crd_part_make(posterior, size, rank, part);
        points[rank + 1] = part->points.end;
        for (int p = 0; p < CRD_PARCEL_COUNT; p++) {
            spread->bounds[p][rank + 1] = spread->bounds[p][rank] + crd_parcel_values((crd_parcel)p, part);
        }
    }
    return CRD_OK;
}

crd_status crd_spread_create(crd_dist *dist, int64_t batch, crd_trainer *trainer, crd_spread **out)
{
    crd_status status = CRD_OK;
    crd_spread *spread = NULL;
    const int size = crd_dist_size(dist);
    const int64_t values = crd_trainer_example_values(trainer);
    int64_t *points = NULL, length = 0;
    *out = NULL;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_alloc(1, sizeof *spread, "the mini-batch", &spread));
    *spread = (crd_spread){.dist = dist, .trainer = trainer};
    CRD_TRY(crd_alloc(size + 1, sizeof *points, "the parts", &points));
    for (int p = 0; p < CRD_PARCEL_COUNT; p++) {
        CRD_TRY(crd_alloc(size + 1, sizeof *spread->bounds[p], "the parts", &spread->bounds[p]));
    }
    if (crd_trainer_remote(trainer)) {
        for (int rank = 0; rank < size; rank++) crd_dist_part(values, size, rank, &points[rank], &points[rank + 1]);
        memcpy(spread->bounds[0], points, (size_t)(size + 1) * sizeof *points);
    } else {
        CRD_TRY(divide(spread, points));
    }
    for (int p = 0; p < CRD_PARCEL_COUNT; p++) {
        if (spread->bounds[p][size] > length) length = spread->bounds[p][size];
    }
    CRD_TRY(crd_dist_sum_create(dist, batch, values, points, &spread->sum));
    CRD_TRY(crd_dist_board_create(dist, length, &spread->board));
    CRD_TRY(crd_alloc(batch, sizeof *spread->losses, "the losses", &spread->losses));
    *out = spread;
    spread = NULL;
done:
    crd_free(&points);
    crd_spread_free(&spread);
    return status;
}

void crd_spread_free(crd_spread **pointer)
{
    crd_spread *spread = *pointer;
    if (spread == NULL) return;
    crd_dist_sum_free(&spread->sum);
    crd_dist_board_free(&spread->board);
    crd_free(&spread->parts);
    for (int p = 0; p < CRD_PARCEL_COUNT; p++) crd_free(&spread->bounds[p]);
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

/* On a device: the whole sum, to the trainer. */
static crd_status add_everywhere(crd_spread *spread, int64_t count, const float *const *parts)
{
    const int rank = crd_dist_rank(spread->dist);
    const int64_t *bounds = spread->bounds[0], range = bounds[rank + 1] - bounds[rank];
    float *values = crd_dist_board_values(spread->board);
    memset(values + bounds[rank], 0, (size_t)range * sizeof *values);
    for (int64_t v = 0; v < count; v++) add(range, parts[v], values + bounds[rank]);
    CRD_PASS(crd_dist_board_share(spread->board, bounds));
    memcpy(crd_trainer_gradient(spread->trainer), values,
           (size_t)crd_trainer_example_values(spread->trainer) * sizeof *values);
    return CRD_OK;
}

crd_status crd_spread_finish(crd_spread *spread, const crd_batch *batch, crd_loss *losses)
{
    const float *const *parts;
    spread->seconds += crd_seconds() - spread->begun;
    CRD_PASS(crd_dist_sum_parts(spread->sum, &parts));
    memcpy(losses, spread->losses, (size_t)batch->count * sizeof *losses);
    CRD_PASS(crd_spread_losses(spread->dist, batch->count, losses));
    if (spread->parts == NULL) return add_everywhere(spread, batch->count, parts);
    crd_trainer_begin(spread->trainer);
    for (int64_t v = 0; v < batch->count; v++) crd_trainer_add_part(spread->trainer, (uint32_t)v, parts[v]);
    return CRD_OK;
}

static crd_status exchange(crd_spread *spread, crd_parcel parcel)
{
    const int rank = crd_dist_rank(spread->dist), size = crd_dist_size(spread->dist);
    const int64_t *bounds = spread->bounds[parcel];
    float *values = crd_dist_board_values(spread->board);
    crd_posterior *posterior = crd_trainer_posterior(spread->trainer);
    crd_trainer_state *state = crd_trainer_state_of(spread->trainer);
    crd_parcel_pack(parcel, &spread->parts[rank], posterior, state, values + bounds[rank]);
    CRD_PASS(crd_dist_board_share(spread->board, bounds));
    for (int other = 0; other < size; other++) {
        if (other == rank) continue;
        crd_parcel_unpack(parcel, &spread->parts[other], values + bounds[other], posterior, state);
    }
    return CRD_OK;
}

crd_status crd_spread_join(crd_spread *spread)
{
    if (spread->parts == NULL) return CRD_OK;
    CRD_PASS(exchange(spread, CRD_PARCEL_STEP));
    crd_trainer_joined(spread->trainer);
    return CRD_OK;
}

crd_status crd_spread_collect(crd_spread *spread, bool moments)
{
    if (spread->parts == NULL) return CRD_OK;
    CRD_PASS(exchange(spread, CRD_PARCEL_PARAMETERS));
    if (!moments) return CRD_OK;
    CRD_PASS(exchange(spread, CRD_PARCEL_M));
    return exchange(spread, CRD_PARCEL_V);
}

crd_status crd_spread_speeds(crd_spread *spread, double *speeds)
{
    const double own = spread->seconds > 0.0 ? (double)spread->examples / spread->seconds : 0.0;
    spread->seconds = 0.0;
    spread->examples = 0;
    return crd_dist_gather(spread->dist, &own, (int64_t)sizeof own, speeds);
}
