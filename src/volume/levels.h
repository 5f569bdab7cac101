/* Two grey levels that stand for what a scan is made of, whatever share of it each material has.
 *
 * There are two ways to find them. crd_level_find gives the means of the darker and of the brighter class into which
 * Otsu's threshold parts the voxels; where noise carries voxels across the threshold, those means move with the share
 * of a material all the same. crd_level_phases gives the means of two normal distributions of one width that add up to
 * the counts, which noise and shares move far less. Values beyond the 1st and 99th percentile count at most half the
 * distance of those two outside them, so that a few outliers, however large, move nothing. Everything follows from
 * counts: the same bits in any order of reading. */
#ifndef CRD_VOLUME_LEVELS_H
#define CRD_VOLUME_LEVELS_H

#include <stdint.h>
#include <string.h>

/* Bins of the coarse and of the fine count. */
enum { CRD_LEVEL_BINS = 65536 };

/* The coarse bin of a finite value: the upper half of a float's bits, in an order that rises with the value. */
static inline uint32_t crd_level_coarse_bin(double value)
{
    const float rounded = (float)value;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits = (bits & UINT32_C(0x80000000)) != 0 ? ~bits : bits | UINT32_C(0x80000000);
    return bits >> 16;
}

/* Values minimum .. maximum counted in bins of one width, the first of which has its centre at `first`; what lies
 * outside the bins counts in the outermost. */
typedef struct crd_level_counts {
    const int64_t *counts;
    int64_t bins;
    double first, width;
    double minimum, maximum; /* of all values */
} crd_level_counts;

/* The range that fine bins should divide, from coarse counts. */
void crd_level_range(const int64_t coarse[CRD_LEVEL_BINS], double minimum, double maximum, double range[2]);
/* levels[0] <= levels[1]; equal where all values are. */
void crd_level_find(const crd_level_counts *c, double levels[2]);
/* As that. Where counts hardly show two phases, the levels stay near those of crd_level_find. */
void crd_level_phases(const crd_level_counts *c, double levels[2]);

#endif
