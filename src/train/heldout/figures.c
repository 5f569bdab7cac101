#include "train/heldout/figures.h"

#include <math.h>
#include <string.h>

#include "base/portable_math.h"

/* The 95th percentile of Student's t for 1, 2, ... degrees of freedom. */
static const double student[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782,
                                 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714};

typedef struct pooled {
    crd_confusion network, threshold;
    double nll;
    int64_t voxels, right;
} pooled;

static int64_t voxels_of(const crd_block_answers *block, int classes)
{
    int64_t voxels = 0;
    for (int k = 0; k < classes; k++) {
        for (int a = 0; a < classes; a++) voxels += block->network[k][a];
    }
    return voxels;
}

/* All blocks but number `without`; -1: all. */
static void pool(const crd_block_answers *blocks, int64_t count, int classes, int64_t without, pooled *out)
{
    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < count; i++) {
        if (i == without) continue;
        out->nll += blocks[i].nll;
        out->voxels += voxels_of(&blocks[i], classes);
        for (int k = 0; k < classes; k++) {
            out->right += blocks[i].network[k][k];
            for (int a = 0; a < classes; a++) {
                out->network[k][a] += blocks[i].network[k][a];
                out->threshold[k][a] += blocks[i].threshold[k][a];
            }
        }
    }
}

double crd_confusion_dice(const crd_confusion confusion, int classes)
{
    double sum = 0.0;
    int met = 0;
    for (int k = classes == 2 ? 1 : 0; k < classes; k++) {
        int64_t both = 0;
        for (int other = 0; other < classes; other++) both += confusion[k][other] + confusion[other][k];
        if (both == 0) continue;
        sum += 2.0 * (double)confusion[k][k] / (double)both;
        met++;
    }
    return met > 0 ? sum / met : (double)NAN;
}

static double accuracy_of(const pooled *p)
{
    return (double)p->right / (double)p->voxels;
}

typedef double figure(const pooled *p, int classes);

static double get_accuracy(const pooled *p, int classes)
{
    (void)classes;
    return accuracy_of(p);
}

static double get_dice(const pooled *p, int classes)
{
    return crd_confusion_dice((const int64_t(*)[CRD_CLASSES_MAX])p->network, classes);
}

static double get_nll(const pooled *p, int classes)
{
    (void)classes;
    return p->nll / (double)p->voxels;
}

/* A share, or a positive number, on a scale without ends. Half a voxel keeps it from them. */
static double stretched(double value, bool share, double voxels)
{
    const double least = 0.5 / voxels;
    value = value < least ? least : value;
    if (!share) return crd_log(value);
    value = value > 1.0 - least ? 1.0 - least : value;
    return crd_log(value / (1.0 - value));
}

static double back(double value, bool share)
{
    return share ? crd_sigmoid(value) : crd_exp(value);
}

static void interval(const crd_block_answers *blocks, int64_t count, int classes, figure *get, bool share,
                     double out[2])
{
    enum { TABLE = sizeof student / sizeof student[0] };
    double sum = 0.0, squares = 0.0;
    int64_t used = 0;
    pooled p;
    out[0] = out[1] = (double)NAN;
    for (int64_t i = 0; i < count; i++) used += voxels_of(&blocks[i], classes) > 0;
    if (used < 2) return;
    pooled whole;
    pool(blocks, count, classes, -1, &whole);
    const double voxels = (double)whole.voxels, all = stretched(get(&whole, classes), share, voxels);
    for (int64_t i = 0; i < count; i++) {
        if (voxels_of(&blocks[i], classes) == 0) continue;
        pool(blocks, count, classes, i, &p);
        const double rest = stretched(get(&p, classes), share, voxels);
        if (!isfinite(rest)) return;
        const double value = (double)used * all - (double)(used - 1) * rest;
        sum += value;
        squares += value * value;
    }
    const double mean = sum / (double)used;
    const double variance = fmax(0.0, squares / (double)used - mean * mean) / (double)(used - 1);
    const double half = student[used - 2 < TABLE ? used - 2 : TABLE - 1] * sqrt(variance);
    out[0] = back(all - half, share);
    out[1] = back(all + half, share);
    if (!share) return;
    /* Stretched, a share of 0 or 1 is half a voxel off; the interval holds the figure itself all the same. */
    out[0] = fmin(out[0], get(&whole, classes));
    out[1] = fmax(out[1], get(&whole, classes));
}

void crd_heldout_figures(const crd_block_answers *blocks, int64_t count, int classes, int majority, crd_heldout *out)
{
    pooled p;
    int64_t rows[CRD_CLASSES_MAX] = {0}, right = 0;
    pool(blocks, count, classes, -1, &p);
    for (int k = 0; k < classes; k++) {
        for (int a = 0; a < classes; a++) rows[k] += p.network[k][a];
        right += p.threshold[k][k];
    }
    out->exam_blocks = count;
    out->exam_voxels = p.voxels;
    out->accuracy = p.voxels > 0 ? accuracy_of(&p) : (double)NAN;
    out->dice = get_dice(&p, classes);
    out->nll = p.voxels > 0 ? get_nll(&p, classes) : (double)NAN;
    interval(blocks, count, classes, get_accuracy, true, out->accuracy_interval);
    interval(blocks, count, classes, get_dice, true, out->dice_interval);
    interval(blocks, count, classes, get_nll, false, out->nll_interval);
    out->foreground_share = 1.0 - (double)rows[0] / (double)p.voxels;
    out->majority_accuracy = (double)rows[majority] / (double)p.voxels;
    out->threshold_accuracy = (double)right / (double)p.voxels;
    out->threshold_dice = crd_confusion_dice((const int64_t(*)[CRD_CLASSES_MAX])p.threshold, classes);
}
