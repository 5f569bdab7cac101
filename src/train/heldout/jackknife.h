/* The 90 % interval of a figure that is pooled over parts, by leaving out each part in turn. */
#ifndef CRD_TRAIN_HELDOUT_JACKKNIFE_H
#define CRD_TRAIN_HELDOUT_JACKKNIFE_H

#include <stdbool.h>
#include <stdint.h>

/* Student's t over the parts on a scale without ends: `share` lies between 0 and 1, other figures above 0. */
typedef struct crd_jackknife {
    double figure, voxels, all, sum, squares;
    int64_t parts, left_out;
    bool share, failed;
} crd_jackknife;

/* `figure` is that of all `parts`, `voxels` what all of them have: half of one keeps the scale from its ends. */
void crd_jackknife_begin(crd_jackknife *j, double figure, int64_t parts, double voxels, bool share);
/* The figure without one of them; each comes once. */
void crd_jackknife_without(crd_jackknife *j, double figure);
/* NaN for fewer than two parts, or where a figure was none. It holds the figure itself. */
void crd_jackknife_interval(const crd_jackknife *j, double out[2]);

#endif
