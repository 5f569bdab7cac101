#include "train/spread.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

struct crd_spread {
    crd_dist *dist;
    crd_trainer *trainer;
    crd_dist_sum *sum;
    crd_loss *losses; /* of a batch */
    int64_t parameters;
    double begun, seconds; /* of computing, and how many examples that were */
    int64_t examples;
};

crd_status crd_spread_create(crd_dist *dist, int64_t batch, crd_trainer *trainer, crd_spread **out)
{
    crd_status status = CRD_OK;
    crd_spread *spread = NULL;
    *out = NULL;
    if (crd_dist_size(dist) == 1) return CRD_OK;
    CRD_TRY(crd_alloc(1, sizeof *spread, "the mini-batch", &spread));
    *spread = (crd_spread){.dist = dist, .trainer = trainer, .parameters = crd_trainer_state_of(trainer)->count};
    CRD_TRY(crd_dist_sum_create(dist, batch, spread->parameters, &spread->sum));
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
    spread->begun = crd_seconds();
done:
    crd_free(&all);
    return status;
}

void crd_spread_keep(crd_spread *spread, const crd_batch *batch, int64_t i, const crd_loss *loss)
{
    memcpy(crd_dist_sum_own(spread->sum) + (i - batch->first) * spread->parameters,
           crd_trainer_gradient(spread->trainer), (size_t)spread->parameters * sizeof(float));
    crd_trainer_begin(spread->trainer);
    spread->losses[i] = *loss;
    spread->examples++;
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

crd_status crd_spread_finish(crd_spread *spread, const crd_batch *batch, crd_loss *losses)
{
    spread->seconds += crd_seconds() - spread->begun;
    memcpy(losses, spread->losses, (size_t)batch->count * sizeof *losses);
    CRD_PASS(crd_spread_losses(spread->dist, batch->count, losses));
    return crd_dist_sum_all(spread->sum, batch->count, crd_trainer_gradient(spread->trainer));
}

crd_status crd_spread_speeds(crd_spread *spread, double *speeds)
{
    const double own = spread->seconds > 0.0 ? (double)spread->examples / spread->seconds : 0.0;
    spread->seconds = 0.0;
    spread->examples = 0;
    return crd_dist_gather(spread->dist, &own, (int64_t)sizeof own, speeds);
}
