#include "train/diagnosis.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/monitor.h"
#include "train/validation.h"

enum { DEAD_STEPS = 10, MOST_HEADS = 5, STEPS_TO_LEARN = 100, RISING_EPOCHS = 5 };

/* The cross entropy of always answering with the classes' shares; 0 where there is one class only. */
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

void crd_diagnose_grey(const crd_baseline *baseline, const crd_monitor *monitor)
{
    static const double HARDLY = 0.1;
    if (crd_baseline_contradicts(baseline)) {
        crd_warn(monitor, "the labels contradict each other: in one scan the foreground is brighter than the "
                          "background, in another darker; check --foreground, and that each label is its scan's");
    } else if (crd_baseline_classes(baseline) == 2 && crd_baseline_contrast(baseline) < HARDLY) {
        crd_warn(monitor,
                 "the labels have hardly anything to do with the grey values: foreground and background are as dark or "
                 "bright as each other (their shares on one side of a threshold differ by %.0f %% at most); unless "
                 "they differ in texture alone, check that the label is the scan's, and that no axis is turned",
                 100.0 * crd_baseline_contrast(baseline));
    }
}

void crd_diagnose_blocks(const int64_t exam[CRD_CLASSES_MAX], const int64_t classes[CRD_CLASSES_MAX],
                         const crd_monitor *monitor)
{
    const bool two = two_classes(classes);
    int64_t exam_voxels = 0, voxels = 0;
    char what[32] = "foreground";
    for (int k = 0; k < CRD_CLASSES_MAX; k++) {
        exam_voxels += exam[k];
        voxels += classes[k];
    }
    for (int k = two ? 1 : 0; k < (two ? 2 : CRD_CLASSES_MAX); k++) {
        const double wanted = (double)classes[k] / (double)voxels, found = (double)exam[k] / (double)exam_voxels;
        if (fabs(found - wanted) <= fmax(0.05, 0.3 * fmin(wanted, 1.0 - wanted))) continue;
        if (!two) snprintf(what, sizeof what, "of class %d", k);
        crd_warn(monitor,
                 "the blocks of the exam differ from the rest: %.1f %% of their voxels are %s, of all labels "
                 "%.1f %%; its figures will say little about the whole; labels in more places would help",
                 100.0 * found, what, 100.0 * wanted);
        return;
    }
}

/* How far the class's grey values in the exam are from those learnt from, in their standard deviations. */
static double grey_shift(const crd_exam *exam, const crd_baseline *baseline, int class)
{
    double sum = 0.0, mean, deviation;
    int64_t voxels = 0;
    for (int64_t i = 0; i < exam->count; i++) {
        sum += exam->blocks[i].grey[class];
        for (int k = 0; k < CRD_CLASSES_MAX; k++) voxels += exam->blocks[i].network[class][k];
    }
    if (voxels == 0 || !crd_baseline_grey(baseline, class, &mean, &deviation) || !(deviation > 0.0)) return 0.0;
    return (sum / (double)voxels - mean) / deviation;
}

void crd_diagnose_exam(const crd_exam *exam, const crd_baseline *baseline, const crd_heldout *figures,
                       const crd_monitor *monitor)
{
    static const double FAR = 1.0; /* half of it comes about by chance in a dozen blocks of a healthy scan */
    for (int k = 0; k < crd_baseline_classes(baseline); k++) {
        const double shift = grey_shift(exam, baseline, k);
        if (fabs(shift) < FAR) continue;
        crd_warn(
            monitor,
            "the blocks of the exam differ from the rest: class %d is %s there than in the labels that were learnt "
            "from, by %.1f standard deviations; the scan isn't alike everywhere, or its labels aren't",
            k, shift > 0.0 ? "brighter" : "darker", fabs(shift));
        break;
    }
    const bool two = crd_baseline_classes(baseline) == 2;
    if (isnan(figures->dice) || figures->dice > figures->threshold_dice) return;
    crd_warn(
        monitor,
        "the model is not better than %s: where nothing was learnt its Dice is %.3f, and that of the %s %.3f; train "
        "longer, label more, or look whether the label is the scan's",
        two ? "a threshold" : "the grey value alone", figures->dice,
        two ? "best single threshold on the grey value" : "class that is commonest at each grey value",
        figures->threshold_dice);
}

void crd_diagnose_classes(const crd_exam *exam, const crd_model_info *info, const crd_monitor *monitor)
{
    static const double FOUND = 0.1;
    enum { ENOUGH = 64 }; /* voxels to judge by */
    for (int k = 0; k < info->classes && info->classes > 2; k++) {
        char name[CRD_CLASS_NAME_TEXT];
        int64_t voxels = 0, found = 0;
        for (int64_t i = 0; i < exam->count; i++) {
            found += exam->blocks[i].network[k][k];
            for (int answer = 0; answer < info->classes; answer++) voxels += exam->blocks[i].network[k][answer];
        }
        if (voxels < ENOUGH || (double)found >= FOUND * (double)voxels) continue;
        crd_class_name(info, k, name);
        crd_warn(monitor,
                 "class %s is hardly ever found: of its %" PRId64 " voxels in the exam %.1f %% are; train longer, or "
                 "label more of it, and trust nothing that the model says of it until then",
                 name, voxels, 100.0 * (double)found / (double)voxels);
    }
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
    if (crd_head_is_dead(progress) && progress->redrawn >= MOST_HEADS) {
        return crd_fail(CRD_ERR_NUMERIC,
                        "the head of the network is dead at step %" PRId64
                        ": for %d steps its last ReLU was zero in every voxel, and no gradient gets through; it got "
                        "new weights %d times before; start anew with a smaller --lr, or another --seed",
                        step, (int)DEAD_STEPS, (int)MOST_HEADS);
    }
    return CRD_OK;
}

bool crd_head_is_dead(const crd_train_progress *progress)
{
    return progress->dead >= DEAD_STEPS;
}

void crd_diagnose_redraw(int64_t step, const crd_monitor *monitor)
{
    crd_warn(monitor,
             "the head of the network was dead at step %" PRId64
             ": for %d steps its last ReLU was zero in every voxel, and no gradient got through; it gets new random "
             "weights, and the training goes on; a smaller --lr makes that rarer",
             step, (int)DEAD_STEPS);
}

/* Said once, at the end of the epoch in which there have been steps enough. */
static void diagnose_start(const crd_train_progress *progress, double bce, bool validated,
                           const int64_t classes[CRD_CLASSES_MAX], const crd_monitor *monitor)
{
    const double guess = clueless(classes);
    const bool due = progress->steps >= STEPS_TO_LEARN && progress->steps - progress->epoch_steps < STEPS_TO_LEARN;
    if (!due || guess == 0.0 || !(bce > 0.98 * guess)) return;
    crd_warn(monitor,
             "nothing learnt after %" PRId64 " steps: the cross entropy %s is %.3f, and always answering with the %s "
             "gives %.3f there; is the label the scan's? try a larger --lr, or another --seed",
             progress->steps, validated ? "on what is held back" : "in training", bce,
             two_classes(classes) ? "foreground's share" : "classes' shares", guess);
}

/* Few voxels are checked, so that their cross entropy goes up and down by a tenth from epoch to epoch also in a good
 * training. Said once in each stretch of epochs that lies above that. */
static void diagnose_rise(crd_train_progress *progress, int64_t epoch, const crd_log_epoch *line,
                          const crd_monitor *monitor)
{
    char drift[128] = "";
    if (progress->lowest_epoch == 0 || line->valid_bce < progress->lowest) {
        progress->lowest = line->valid_bce;
        progress->lowest_epoch = epoch;
    }
    progress->rising = line->valid_bce > 1.1 * progress->lowest ? progress->rising + 1 : 0;
    if (progress->rising != RISING_EPOCHS) return;
    if (line->mean_sigma > 0.3) {
        snprintf(drift, sizeof drift,
                 ", while the weights drift to their prior (mean sigma %.2f); try a larger --kl-temperature, or fewer "
                 "epochs",
                 line->mean_sigma);
    }
    crd_warn(monitor,
             "the model gets worse on what is held back to check on: its cross entropy there is %.4f, and has been a "
             "tenth or more above that of epoch %" PRId64 " (%.4f) for %d epochs%s",
             line->valid_bce, progress->lowest_epoch, progress->lowest, RISING_EPOCHS, drift);
}

void crd_diagnose_epoch(crd_train_progress *progress, int64_t epoch, double bce, const crd_log_epoch *line,
                        const int64_t classes[CRD_CLASSES_MAX], const crd_monitor *monitor)
{
    const bool validated = isfinite(line->valid_bce);
    diagnose_start(progress, validated ? line->valid_bce : bce, validated, classes, monitor);
    if (!validated) return;
    if (epoch == 1) progress->first_valid_bce = line->valid_bce;
    diagnose_rise(progress, epoch, line, monitor);
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
