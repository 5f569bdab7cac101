/* How hard a phantom is: what the best global thresholds get wrong. Counted while the slices pass by. */
#ifndef CRD_PHANTOM_SCORE_H
#define CRD_PHANTOM_SCORE_H

#include "credence/phantom.h"
#include "credence/volume.h"

enum { CRD_SCORE_BINS = 65536 };

typedef struct crd_score {
    int64_t bins[CRD_PHANTOM_PHASES][CRD_SCORE_BINS]; /* voxels by truth and grey value; f32 in steps of 1/65535 */
    int64_t label_voxels[CRD_PHANTOM_PHASES], label_errors;
} crd_score;

void crd_score_add(crd_score *score, crd_type type, const void *scan, const uint8_t *label, const uint8_t *truth,
                   int64_t count);

/* `order`: the phases from dark to light. What is darker than the first threshold is taken for the first of them, what
 * is at least as light as the last one for the last. */
void crd_score_finish(const crd_score *score, int64_t phases, const int *order, crd_type type, crd_phantom_result *out);

#endif
