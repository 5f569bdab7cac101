/* The inner loops: one stretch of a row at a time, in vector code. Every path gives the same bits: each operation is
 * rounded on its own, and whatever is added up is an integer or has a fixed place in its group. */
#ifndef CRD_VALIDATE_ROWS_H
#define CRD_VALIDATE_ROWS_H

#include <stdbool.h>

#include "validate/tally.h"

/* Rows are worked on in stretches of this many voxels, which begin at multiples of it. */
enum { CRD_STRETCH = 2048 };

/* Distances: how far is looked, and the voxels that are worked on at once. */
enum {
    CRD_REACH = CRD_DISTANCE_MAX,
    CRD_FAR_SQUARE = (CRD_REACH + 1) * (CRD_REACH + 1),
    CRD_CLASS = 0x8000,
    CRD_BLOCK = 32,
    CRD_MIXED = 1
};

/* What a voxel is: bits. 0: doesn't count. Of more than two classes a voxel that counts is PREDICTED, and LABELLED
 * where it is right: so whatever asks whether both agree serves any number of classes. */
enum { CRD_PREDICTED = 1, CRD_LABELLED = 2, CRD_COUNTS = 4 };

/* Room for counters that are too hot for 64 bits; emptied into the tally after at most 2^31 voxels. */
typedef struct crd_hot {
    uint32_t bins[2]
                 [2 * CRD_MEASURE_BINS + 1];  /* two tables, so that equal neighbours don't wait for each other; the */
    uint32_t cubes[2][4 * CRD_CUBE_BINS + 1]; /* last entry takes what doesn't count */
    uint64_t reliability[4 * CRD_RELIABILITY_BINS + 1][2]; /* count, excess */
} crd_hot;

/* The bits of the largest stored value that still counts as 1. Those of negative numbers and NaN are larger. */
static inline uint32_t crd_rows_limit(double scale)
{
    const float one = (float)(1.000001 / scale);
    uint32_t bits;
    memcpy(&bits, &one, sizeof bits);
    return bits;
}

void crd_hot_empty(crd_hot *hot, crd_tally *tally);

typedef struct crd_cube_rule {
    double limit; /* sum of the cube, in units, from which on it is uncertain: a whole number */
    int need;     /* right voxels of an accurate cube */
    double scale; /* stored uncertainty -> units of 2^-32 */
} crd_cube_rule;

/* Sums over two rows, one behind the other. */
typedef struct crd_cube_pair {
    double sums[CRD_STRETCH + 1];
    uint8_t marks[CRD_STRETCH + 1];
} crd_cube_pair;

/* A stretch of the probabilities of more than two classes. */
typedef struct crd_class_rows {
    int classes;
    const float *prob[CRD_CLASSES_MAX];
    const double *scales;
    const uint8_t *seg, *label, *kind;
} crd_class_rows;

typedef struct crd_neighbour_rows {
    const float *here, *below, *behind; /* at (z, y), (z, y + 1), (z + 1, y); one more voxel than `count` */
    const uint8_t *here_kind, *below_kind, *behind_kind;
    bool last; /* the stretch ends the row: its last voxel has none after it */
} crd_neighbour_rows;

typedef struct crd_rows {
    /* kind[] and mark[] (right | counts << 4) from the segmentation (nonzero: foreground), the label's classes and the
     * mask (NULL: everything is inside). */
    void (*mark)(const uint8_t *seg, const uint8_t *label, const uint8_t *inside, int64_t count, uint8_t *kind,
                 uint8_t *mark);
    /* The same of more than two classes: seg[] and label[] hold their numbers. */
    void (*mark_classes)(const uint8_t *seg, const uint8_t *label, const uint8_t *inside, int64_t count, uint8_t *kind,
                         uint8_t *mark);
    /* Voxels of at most CRD_STRETCH by label and segmentation, added; false where one that counts was given no class.
     */
    bool (*confusion)(const uint8_t *seg, const uint8_t *label, const uint8_t *kind, int64_t count,
                      int64_t confusion[CRD_CLASSES_MAX][CRD_CLASSES_MAX]);
    /* In place: -0 becomes 0, and so does what lies where a voxel doesn't count. The others want clean values. */
    void (*clean)(float *values, const uint8_t *kind, int64_t count);
    void (*count)(const uint8_t *kind, int64_t count, crd_class_counts *counts);
    /* Sums and bins of at most CRD_STRETCH voxels. */
    void (*uncertainty)(const float *unc, const uint8_t *kind, double scale, int64_t count, crd_tally *tally,
                        crd_slice_tally *slice, crd_hot *hot);
    /* Returns the largest stored probability as bits of a float: above crd_rows_limit means there is a wrong one. */
    uint32_t (*probability)(const float *prob, const uint8_t *kind, double scale, int64_t count, crd_tally *tally,
                            crd_hot *hot);
    /* The same of more than two classes, from the probabilities of all of them; returns the number of the first class
     * that has a wrong one, or -1. */
    int (*class_probabilities)(const crd_class_rows *rows, int64_t count, crd_tally *tally, crd_hot *hot);
    /* The `count` cubes of edge 2 that begin in this stretch, of the rows at (z, y) and (z + 1, y), each with one voxel
     * more, and those of the row before, y - 1, which the last call left in `before` (NULL: this is the first row). */
    void (*cubes)(const float *const unc[2], const uint8_t *const mark[2], const crd_cube_rule *rule, int64_t count,
                  const crd_cube_pair *before, crd_cube_pair *pair, crd_hot *hot);
    void (*neighbours)(const crd_neighbour_rows *rows, double scale, int64_t count, crd_tally *tally);
    /* Distances to the other class, squared, the class in the top bit: CRD_CLASS. Everything goes by whole blocks.
     *
     * Within a row: seg[-CRD_REACH] to seg[CRD_BLOCK * blocks + CRD_REACH - 1] are 0 or 255. far[b] is 0 or 255 where
     * block b is of that class and none of the other is in reach, CRD_MIXED elsewhere. */
    void (*scan)(const uint8_t *seg, int64_t blocks, uint16_t *out, uint8_t *far);
    /* Across rows: of those from rows[-before] to rows[after], rows[0] being the voxels' own, the nearest. Where
     * alone[b] isn't CRD_MIXED it is known that the block is of that class and nothing in reach. far may be alone. */
    void (*nearest)(const uint16_t *const *rows, int before, int after, const uint8_t *alone, int64_t blocks,
                    uint16_t *out, uint8_t *far);
    /* Sums by distance of one row, `far` as nearest() left it. */
    void (*by_distance)(const uint16_t *nearest, const uint8_t *far, const float *unc, const uint8_t *mark,
                        double scale, int64_t count, crd_tally *tally);
    /* The sum of a stretch of the uncertainty where `kind` isn't 0 (NULL: everywhere); *most as probability() has it.
     */
    uint64_t (*sum)(const float *unc, const uint8_t *kind, double scale, int64_t count, uint32_t *most);
} crd_rows;

/* The best that this CPU runs. */
const crd_rows *crd_rows_best(void);
/* On each path of base/cpu.h. */
extern const crd_rows *const crd_rows_all[]; /* [CRD_CPU_PATH_COUNT] */

#endif
