#include "phantom/score.h"

#include <string.h>

void crd_score_add(crd_score *score, crd_type type, const void *scan, const uint8_t *label, const uint8_t *truth,
                   int64_t count)
{
    const uint8_t *bytes = scan;
    const uint16_t *words = scan;
    const float *reals = scan;
    for (int64_t i = 0; i < count; i++) {
        const int bin = type == CRD_U8 ? bytes[i] : type == CRD_U16 ? words[i] : (int)(reals[i] * 65535.0f + 0.5f);
        score->bins[truth[i]][bin]++;
        score->label_voxels[label[i]]++;
        score->label_errors += label[i] != truth[i];
    }
}

/* Bins below the first threshold are taken for the darkest phase, those from there to below the second for the next,
 * and so on. Returns how many voxels the best thresholds are right about; of several that are, the lowest are taken. */
static int64_t best_thresholds(const crd_score *score, const int *phase, int phases, int best[CRD_PHANTOM_PHASES - 1])
{
    int64_t right[CRD_PHANTOM_PHASES] = {0}; /* [k]: at best, with phases 0 .. k, in the bins so far */
    int begin[CRD_PHANTOM_PHASES][CRD_PHANTOM_PHASES] = {{0}}; /* [k]: where phases 1 .. k then begin */
    for (int i = 0; i < CRD_SCORE_BINS; i++) {
        for (int k = phases - 1; k >= 0; k--) right[k] += score->bins[phase[k]][i];
        for (int k = 1; k < phases; k++) { /* phase k may begin above this bin */
            if (right[k - 1] <= right[k]) continue;
            right[k] = right[k - 1];
            memcpy(begin[k], begin[k - 1], sizeof begin[k]);
            begin[k][k] = i + 1;
        }
    }
    for (int k = 1; k < phases; k++) best[k - 1] = begin[phases - 1][k];
    return right[phases - 1];
}

void crd_score_finish(const crd_score *score, int64_t phases, const int *order, crd_type type, crd_phantom_result *out)
{
    int best[CRD_PHANTOM_PHASES - 1];
    int64_t commonest = 0;
    memset(out, 0, sizeof *out);
    out->phases = phases;
    for (int64_t t = 0; t < out->phases; t++) {
        for (int i = 0; i < CRD_SCORE_BINS; i++) out->phase_voxels[t] += score->bins[t][i];
        out->label_phase_voxels[t] = score->label_voxels[t];
        out->voxels += out->phase_voxels[t];
        if (out->phase_voxels[t] > commonest) commonest = out->phase_voxels[t];
    }
    out->foreground = out->phase_voxels[1];
    out->label_foreground = out->label_phase_voxels[1];
    out->label_errors = score->label_errors;
    out->majority_errors = out->voxels - commonest;
    out->threshold_errors = out->voxels - best_thresholds(score, order, (int)out->phases, best);
    for (int64_t k = 0; k + 1 < out->phases; k++) {
        out->thresholds[k] = type == CRD_F32 ? ((double)best[k] - 0.5) / 65535.0 : (double)best[k];
    }
    out->threshold = out->thresholds[0];
}
