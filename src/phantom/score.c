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
        score->label_foreground += label[i];
        score->label_errors += label[i] != truth[i];
    }
}

void crd_score_finish(const crd_score *score, crd_phantom_kind kind, crd_type type, crd_phantom_result *out)
{
    const int dark = kind == CRD_PHANTOM_GRAPHITE ? 1 : 0; /* truth of what is darker than the threshold */
    int64_t all[2] = {0, 0}, errors = 0;
    int best = 0;
    memset(out, 0, sizeof *out);
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < CRD_SCORE_BINS; i++) all[t] += score->bins[t][i];
    }
    out->voxels = all[0] + all[1];
    out->foreground = all[1];
    out->label_foreground = score->label_foreground;
    out->label_errors = score->label_errors;
    out->majority_errors = all[0] < all[1] ? all[0] : all[1];
    /* Threshold 0: nothing is darker than it. */
    errors = all[dark];
    out->threshold_errors = errors;
    for (int i = 0; i < CRD_SCORE_BINS; i++) {
        errors += score->bins[1 - dark][i] - score->bins[dark][i];
        if (errors < out->threshold_errors) {
            out->threshold_errors = errors;
            best = i + 1;
        }
    }
    out->threshold = type == CRD_F32 ? ((double)best - 0.5) / 65535.0 : (double)best;
}
