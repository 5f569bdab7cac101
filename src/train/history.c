#include "train/history.h"

#include <string.h>

static void add_epoch(crd_history *h, const crd_log_step *step, const crd_log_epoch *epoch)
{
    if (h->epoch_count == CRD_HISTORY_POINTS) {
        for (int64_t i = 0; i < CRD_HISTORY_POINTS / 2; i++) h->epoch[i] = h->epoch[2 * i + 1];
        h->epoch_count = CRD_HISTORY_POINTS / 2;
        h->every *= 2;
    }
    h->epochs++;
    if (h->epochs % h->every != 0) return;
    h->epoch[h->epoch_count++] = (crd_history_epoch){.step = step->step,
                                                     .bce = h->sum / (double)h->count,
                                                     .valid_bce = epoch->valid_bce,
                                                     .valid_accuracy = epoch->valid_accuracy,
                                                     .sample_dice = epoch->sample_dice,
                                                     .kl_weight = step->kl_weight,
                                                     .mean_sigma = epoch->mean_sigma};
}

void crd_history_add(void *context, const crd_log_step *step, const crd_log_epoch *epoch)
{
    crd_history *h = context;
    if (h->steps == h->per_bin * CRD_HISTORY_POINTS) {
        for (int64_t i = 0; i < CRD_HISTORY_POINTS / 2; i++) h->bce[i] = h->bce[2 * i] + h->bce[2 * i + 1];
        memset(h->bce + CRD_HISTORY_POINTS / 2, 0, sizeof h->bce / 2);
        h->per_bin *= 2;
    }
    h->bce[h->steps / h->per_bin] += step->bce;
    h->steps++;
    h->sum += step->bce;
    h->count++;
    if (epoch == NULL) return;
    add_epoch(h, step, epoch);
    h->sum = 0.0;
    h->count = 0;
}

int64_t crd_history_bins(const crd_history *history)
{
    return (history->steps + history->per_bin - 1) / history->per_bin;
}

double crd_history_bce(const crd_history *history, int64_t bin)
{
    const int64_t left = history->steps - bin * history->per_bin;
    return history->bce[bin] / (double)(left < history->per_bin ? left : history->per_bin);
}
