#include "train/heldout/baseline.h"

#include <math.h>

#include "base/memory.h"
#include "volume/levels.h"

enum { BINS = CRD_LEVEL_BINS, VOXELS_MOST = 1 << 22, CHUNKS_LEAST = 8 };
static const double CLEAR = 0.3; /* of a scan's contrast: no accident */

struct crd_baseline {
    int classes;
    int64_t *counts; /* [BINS][classes]; the bins are those of volume/levels.h, which fit any range of values */
    int64_t totals[CRD_CLASSES_MAX];
    double sum[CRD_CLASSES_MAX], squares[CRD_CLASSES_MAX];
    int majority;
    int64_t cut; /* of two classes: bins from here on are `above`, those before it the other */
    int above;
    double contrast;
    bool brighter, darker; /* the foreground, clearly, in some scan */
};

/* The cut with the best Dice of the foreground, whichever side that is on, and the contrast: the largest difference
 * between the shares of foreground and background on one side of a cut, with its sign. */
static double find_cut(crd_baseline *b, const int64_t *counts, const int64_t *totals, bool keep)
{
    double best = -1.0, contrast = 0.0;
    int64_t below[2] = {0, 0};
    for (int64_t bin = 0; bin <= BINS; bin++) {
        for (int above = 0; above < 2; above++) { /* the class above the cut */
            const int64_t hits = above == 1 ? totals[1] - below[1] : below[1];
            const int64_t answers = above == 1 ? totals[0] + totals[1] - below[0] - below[1] : below[0] + below[1];
            const double dice = 2.0 * (double)hits / (double)(answers + totals[1]);
            if (!keep || !(dice > best)) continue;
            best = dice;
            b->cut = bin;
            b->above = above;
        }
        if (totals[0] > 0 && totals[1] > 0) {
            const double gap = (double)below[0] / (double)totals[0] - (double)below[1] / (double)totals[1];
            if (fabs(gap) > fabs(contrast)) contrast = gap;
        }
        for (int k = 0; k < 2 && bin < BINS; k++) below[k] += counts[bin * b->classes + k];
    }
    return contrast;
}

static void count_chunk(crd_baseline *b, const float *input, const uint8_t *label, int64_t voxels, int64_t *counts)
{
    for (int64_t v = 0; v < voxels; v++) {
        const int k = label[v];
        if (k >= b->classes) continue;
        counts[(int64_t)crd_level_coarse_bin(input[v]) * b->classes + k]++;
        b->sum[k] += input[v];
        b->squares[k] += (double)input[v] * input[v];
    }
}

/* A scan's own counts join those of the others. */
static void join_scan(crd_baseline *b, int64_t *own)
{
    int64_t totals[CRD_CLASSES_MAX] = {0};
    for (int64_t i = 0; i < (int64_t)BINS * b->classes; i++) totals[i % b->classes] += own[i];
    const double contrast = b->classes == 2 ? find_cut(b, own, totals, false) : 0.0;
    b->brighter |= contrast > CLEAR;
    b->darker |= contrast < -CLEAR;
    for (int k = 0; k < b->classes; k++) b->totals[k] += totals[k];
    for (int64_t i = 0; i < (int64_t)BINS * b->classes; i++) {
        b->counts[i] += own[i];
        own[i] = 0;
    }
}

/* By all labels that are learnt from, not by chunks of them, which overlap: so it is the class that the user knows as
 * the commonest. */
static void find_majority(crd_baseline *b, const crd_dataset *dataset)
{
    int64_t learnt[CRD_CLASSES_MAX], held[2][CRD_CLASSES_MAX];
    crd_dataset_classes(dataset, learnt);
    for (int exam = 0; exam < 2; exam++) (void)crd_blocks_counts(crd_dataset_blocks(dataset), exam == 1, held[exam]);
    for (int k = 0; k < b->classes; k++) {
        learnt[k] -= held[0][k] + held[1][k];
        if (learnt[k] > learnt[b->majority]) b->majority = k;
    }
}

static void conclude(crd_baseline *b)
{
    if (b->classes == 2) b->contrast = fabs(find_cut(b, b->counts, b->totals, true));
}

crd_status crd_baseline_learn(const crd_dataset *dataset, int classes, const int64_t chunk[3], crd_baseline **out)
{
    crd_status status = CRD_OK;
    const int64_t voxels = chunk[0] * chunk[1] * chunk[2], chunks = crd_dataset_count(dataset);
    int64_t used = VOXELS_MOST / voxels, labelled, *own = NULL, last = 0;
    crd_baseline *b = NULL;
    crd_dataset *data = NULL;
    float *input = NULL;
    uint8_t *label = NULL;
    *out = NULL;
    used = used < CHUNKS_LEAST ? CHUNKS_LEAST : used;
    used = used < chunks ? used : chunks;
    CRD_TRY(crd_alloc(1, sizeof *b, "the baseline", &b));
    b->classes = classes;
    CRD_TRY(crd_alloc(BINS, (size_t)classes * sizeof *b->counts, "the baseline", &b->counts));
    CRD_TRY(crd_alloc(BINS, (size_t)classes * sizeof *own, "the baseline", &own));
    CRD_TRY(crd_alloc(voxels, sizeof *input, "a chunk", &input));
    CRD_TRY(crd_alloc(voxels, 1, "a chunk", &label));
    CRD_TRY(crd_dataset_reopen(dataset, &data));
    for (int64_t i = 0; i < used; i++) {
        const int64_t number = i * chunks / used, scan = crd_dataset_scan_of(data, number, NULL);
        if (scan != last) join_scan(b, own);
        last = scan;
        CRD_TRY(crd_dataset_read_plain(data, number, input, label, &labelled));
        count_chunk(b, input, label, voxels, own);
    }
    join_scan(b, own);
    find_majority(b, dataset);
    conclude(b);
    *out = b;
    b = NULL;
done:
    crd_dataset_close(&data);
    crd_baseline_free(&b);
    crd_free(&own);
    crd_free(&input);
    crd_free(&label);
    return status;
}

void crd_baseline_free(crd_baseline **baseline)
{
    if (*baseline == NULL) return;
    crd_free(&(*baseline)->counts);
    crd_free(baseline);
}

int crd_baseline_classes(const crd_baseline *baseline)
{
    return baseline->classes;
}

int crd_baseline_majority(const crd_baseline *baseline)
{
    return baseline->majority;
}

int crd_baseline_answer(const crd_baseline *b, float grey)
{
    const int64_t bin = crd_level_coarse_bin(grey);
    int best = b->majority;
    if (b->classes == 2) return bin >= b->cut ? b->above : 1 - b->above;
    for (int k = 0; k < b->classes; k++) {
        if (b->counts[bin * b->classes + k] > b->counts[bin * b->classes + best]) best = k;
    }
    return best;
}

bool crd_baseline_grey(const crd_baseline *b, int class, double *mean, double *deviation)
{
    const double n = (double)b->totals[class];
    if (b->totals[class] == 0) return false;
    *mean = b->sum[class] / n;
    *deviation = sqrt(fmax(0.0, b->squares[class] / n - *mean * *mean));
    return true;
}

double crd_baseline_contrast(const crd_baseline *baseline)
{
    return baseline->contrast;
}

bool crd_baseline_contradicts(const crd_baseline *baseline)
{
    return baseline->brighter && baseline->darker;
}
