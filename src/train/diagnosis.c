#include "train/diagnosis.h"

#include <inttypes.h>
#include <math.h>

#include "base/report.h"

/* The cross entropy of always saying one half. */
static const double CLUELESS = 0.6931;

crd_status crd_diagnose_labels(const int64_t classes[2], int64_t chunks)
{
    if (chunks == 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "no chunk of the scans holds a labelled voxel; check --label, --ignore, --mask "
                        "and --chunk");
    }
    if (classes[0] == 0 || classes[1] == 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "all labelled voxels are %s: there is nothing to tell apart; check the label, "
                        "--foreground and --ignore", classes[0] == 0 ? "foreground" : "background");
    }
    return CRD_OK;
}

crd_status crd_diagnose_step(int64_t step, double bce, double kl, bool dead, const char *checkpoint, bool has_steps)
{
    if (!isfinite(bce) || !isfinite(kl)) {
        return crd_fail(CRD_ERR_NUMERIC, "the loss is not a finite number at step %" PRId64 "; %s%s is intact; try a "
                        "smaller --lr, or another --seed", step, has_steps ? "the last checkpoint " : "nothing in ",
                        checkpoint);
    }
    if (dead) {
        return crd_fail(CRD_ERR_NUMERIC, "the head of the network is dead at step %" PRId64 ": its last ReLU is zero "
                        "for every voxel, and no gradient gets through; start anew with another --seed or a smaller --lr",
                        step);
    }
    return CRD_OK;
}

void crd_diagnose_epoch(crd_train_progress *progress, int64_t epoch, const crd_log_epoch *line,
                        const crd_monitor *monitor)
{
    if (epoch == 1) {
        progress->first_valid_bce = line->valid_bce;
        if (line->valid_bce > 0.98 * CLUELESS) {
            crd_warn(monitor, "nothing learned yet: the validation BCE after the first epoch is %.3f, and guessing gives "
                     "%.3f; is the label the scan's? try more epochs, or a larger --lr", line->valid_bce, CLUELESS);
        }
    }
    progress->rising = line->valid_bce > progress->last_valid_bce ? progress->rising + 1 : 0;
    if (progress->rising >= 2 && line->mean_sigma > 0.3) {
        crd_warn(monitor, "the validation BCE rises (%.4f) while the weights drift to their prior (mean sigma %.2f); try "
                 "a larger --kl-temperature, or fewer epochs", line->valid_bce, line->mean_sigma);
    } else if (progress->rising >= 3) {
        crd_warn(monitor, "the validation BCE has risen for %" PRId64 " epochs (%.4f): the best model is that of epoch %"
                 PRId64, progress->rising, line->valid_bce, progress->best_epoch);
    }
}
