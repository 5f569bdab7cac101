#include "train/heldout/figures.h"

#include <math.h>
#include <string.h>

#include "train/heldout/jackknife.h"

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

static void interval(const crd_block_answers *blocks, int64_t count, int classes, figure *get, bool share,
                     double out[2])
{
    crd_jackknife jackknife;
    int64_t used = 0;
    pooled p;
    for (int64_t i = 0; i < count; i++) used += voxels_of(&blocks[i], classes) > 0;
    pool(blocks, count, classes, -1, &p);
    crd_jackknife_begin(&jackknife, used >= 2 ? get(&p, classes) : (double)NAN, used, (double)p.voxels, share);
    for (int64_t i = 0; i < count && used >= 2; i++) {
        if (voxels_of(&blocks[i], classes) == 0) continue;
        pool(blocks, count, classes, i, &p);
        crd_jackknife_without(&jackknife, get(&p, classes));
    }
    crd_jackknife_interval(&jackknife, out);
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
