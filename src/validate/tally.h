/* Everything that validation counts and adds, as integers: parts of a volume are tallied apart and merged in any order,
 * and the result is the same. */
#ifndef CRD_VALIDATE_TALLY_H
#define CRD_VALIDATE_TALLY_H

#include "base/error.h"
#include "credence/model.h"
#include "validate/fixed.h"

enum {
    CRD_RELIABILITY_BINS = 15,
    CRD_MEASURE_BINS = 65536, /* of the uncertainty, for risk and coverage */
    CRD_CUBE_BINS = 16384,    /* of a cube's mean uncertainty */
    CRD_DISTANCE_MAX = 16,
    CRD_DISTANCES = CRD_DISTANCE_MAX + 1, /* 1 .. 16 voxels, and farther */
    CRD_MAPS_MAX = 16                     /* further intervals */
};

typedef struct crd_class_counts {
    int64_t voxels, predicted, labelled, both; /* that count; foreground in the segmentation, in the label, in both */
} crd_class_counts;

typedef struct crd_slice_tally {
    crd_class_counts counts;
    uint64_t sum; /* of the uncertainty */
} crd_slice_tally;

typedef struct crd_tally {
    int64_t slices; /* of the whole volume */
    int64_t threshold_count;

    crd_class_counts counts;
    crd_wide sum, square; /* of the uncertainty */
    uint32_t least, most; /* of the stored uncertainty, as bits of a float: least > most where there is none */
    crd_wide brier, nll;
    int64_t confusion[CRD_CLASSES_MAX][CRD_CLASSES_MAX]; /* more than two classes: voxels by label and segmentation */
    struct {
        int64_t count;
        crd_wide excess;                    /* confidence above one over the number of classes */
    } reliability[4][CRD_RELIABILITY_BINS]; /* by segmentation | label << 1; of more than two classes by right << 1 | 1
                                             */
    struct {
        int64_t pairs;
        crd_wide product, sum;
    } neighbours[3]; /* along z, y, x */
    int64_t gradients;
    crd_wide gradient;
    int64_t above; /* voxels of the uncertainty map above the threshold; counted where there are further maps */
    struct {
        crd_wide sum, square, cross;
        int64_t above;
    } maps[CRD_MAPS_MAX];
    struct {
        int64_t count, wrong;
        crd_wide sum;
    } distance[CRD_DISTANCES];

    int64_t (*bins)[2];                           /* CRD_MEASURE_BINS: right, wrong */
    int64_t (*cubes)[4];                          /* CRD_CUBE_BINS: accurate << 1 | uncertain */
    int64_t (*thresholds)[4];                     /* the same for each threshold of the curve */
    crd_slice_tally *slice;                       /* slices */
    int64_t (*slice_classes)[2][CRD_CLASSES_MAX]; /* slices: voxels of each class in the label, in the segmentation */
} crd_tally;

/* Room for what more than two classes need is made where there are such. */
crd_status crd_tally_create(int64_t slices, int64_t threshold_count, int class_count, crd_tally **out);
void crd_tally_free(crd_tally **tally);
void crd_tally_merge(crd_tally *into, const crd_tally *from);

#endif
