#include "train/diagnosis.h"

#include <inttypes.h>
#include <math.h>

#include "base/monitor.h"
#include "train/validation.h"

enum { DEAD_STEPS = 10, STEPS_TO_LEARN = 100 };

/* The cross entropy of always answering with the classes' shares. */
static double clueless(const int64_t classes[CRD_CLASSES_MAX])
{
    double total = 0.0, sum = 0.0;
    for (int c = 0; c < CRD_CLASSES_MAX; c++) total += (double)classes[c];
    for (int c = 0; c < CRD_CLASSES_MAX; c++) {
        const double p = (double)classes[c] / total;
        if (classes[c] > 0) sum -= p * log(p);
    }
    return sum;
}

static bool two_classes(const int64_t classes[CRD_CLASSES_MAX])
{
    for (int c = 2; c < CRD_CLASSES_MAX; c++)
        if (classes[c] > 0) return false;
    return true;
}

crd_status crd_diagnose_labels(const int64_t classes[CRD_CLASSES_MAX], int64_t chunks)
{
    if (chunks == 0) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "no chunk of the scans holds a labelled voxel; check --label, --ignore, --mask "
                        "and --chunk");
    }
    int occur = 0;
    for (int c = 0; c < CRD_CLASSES_MAX; c++) occur += classes[c] > 0;
    if (occur < 2) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "all labelled voxels are %s: there is nothing to tell apart; check the label, "
                        "--foreground and --ignore",
                        classes[0] == 0 ? "foreground" : "background");
    }
    return CRD_OK;
}

crd_status crd_diagnose_step(crd_train_progress *progress, int64_t step, double bce, double kl, bool dead,
                             const char *checkpoint)
{
    if (!isfinite(bce) || !isfinite(kl)) {
        return crd_fail(CRD_ERR_NUMERIC,
                        "the loss is not a finite number at step %" PRId64 "%s%s%s; start anew with a smaller --lr, or "
                        "another --seed",
                        step, progress->steps > 0 ? "; the checkpoint " : "", progress->steps > 0 ? checkpoint : "",
                        progress->steps > 0 ? " is from before and intact" : "");
    }
    progress->dead = dead ? progress->dead + 1 : 0;
    if (progress->dead >= DEAD_STEPS) {
        return crd_fail(CRD_ERR_NUMERIC,
                        "the head of the network is dead at step %" PRId64
                        ": for %d steps its last ReLU was zero in every "
                        "voxel, and no gradient gets through; start anew with another --seed or a smaller --lr",
                        step, (int)DEAD_STEPS);
    }
    return CRD_OK;
}

/* Said once, at the end of the epoch in which there have been steps enough. */
static void diagnose_start(const crd_train_progress *progress, double bce, bool validated,
                           const int64_t classes[CRD_CLASSES_MAX], const crd_monitor *monitor)
{
    const double guess = clueless(classes);
    const bool due = progress->steps >= STEPS_TO_LEARN && progress->steps - progress->epoch_steps < STEPS_TO_LEARN;
    if (!due || !(bce > 0.98 * guess)) return;
    crd_warn(monitor,
             "nothing learnt after %" PRId64 " steps: the %s BCE is %.3f, and always answering with the %s "
             "gives %.3f; is the label the scan's? try a larger --lr, or another --seed",
             progress->steps, validated ? "validation" : "training", bce,
             two_classes(classes) ? "foreground's share" : "classes' shares", guess);
}

void crd_diagnose_epoch(crd_train_progress *progress, int64_t epoch, double bce, const crd_log_epoch *line,
                        const int64_t classes[CRD_CLASSES_MAX], const crd_monitor *monitor)
{
    const bool validated = isfinite(line->valid_bce);
    diagnose_start(progress, validated ? line->valid_bce : bce, validated, classes, monitor);
    if (!validated) return;
    if (epoch == 1) progress->first_valid_bce = line->valid_bce;
    progress->rising = line->valid_bce > progress->last_valid_bce ? progress->rising + 1 : 0;
    if (progress->rising >= 2 && line->mean_sigma > 0.3) {
        crd_warn(
            monitor,
            "the validation BCE rises (%.4f) while the weights drift to their prior (mean sigma %.2f); try a larger "
            "--kl-temperature, or fewer epochs",
            line->valid_bce, line->mean_sigma);
    } else if (progress->rising >= 3) {
        crd_warn(monitor,
                 "the validation BCE has risen for %" PRId64 " epochs (%.4f): the best model is that of epoch %" PRId64,
                 progress->rising, line->valid_bce, progress->best_epoch);
    }
}

void crd_diagnose_calibration(double calibration, const crd_monitor *monitor)
{
    const bool timid = calibration < 1.02 * CRD_CALIBRATION_LOW;
    if (!timid && calibration < 0.98 * CRD_CALIBRATION_HIGH) return;
    crd_warn(
        monitor,
        "the calibration (%.2g) is at the end of its range: the network is far too %s where it was checked, and its "
        "probabilities can't be taken at their word; train longer, or look at the label",
        calibration, timid ? "timid" : "sure of itself");
}
