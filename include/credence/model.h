/* Models: a network's settings and parameters, in a file.
 *
 *     crd_model *model = NULL;
 *     if (crd_model_load("model.h5", &model) != CRD_OK) fail(crd_last_error()->message);
 *     const crd_model_info *info = crd_model_describe(model);
 *     printf("%s with %d filters\n", crd_kind_name(info->kind), info->filters);
 *     crd_model_free(&model);
 *
 * A model file is HDF5 (docs/MODEL.md lists its content). It holds no time, date, path or host name: equal models are
 * equal bytes. Files of older versions stay readable for ever.
 *
 * Threads: functions that take a const model may be called for the same one by several threads at once. While
 * crd_model_set_calibration or crd_model_free has a model, no other thread may use it, nor what crd_model_describe
 * returned.
 */
#ifndef CREDENCE_MODEL_H
#define CREDENCE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "credence/status.h"
#include "credence/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum crd_kind {
    CRD_BCNN = 0, /* every convolution of the decoder and head is Bayesian */
    CRD_MCDN = 1  /* plain convolutions and spatial dropout */
} crd_kind;

CRD_API const char *crd_kind_name(crd_kind kind); /* "bcnn" */

/* What the scans that a model was trained on were like, all of them together, so that a scan that differs from them can
 * be pointed out. Values are those of the files, before any normalisation. */
typedef struct crd_training_record {
    int64_t voxels; /* 0: nothing is known */
    double minimum, maximum, mean, std;
    double histogram_low, histogram_high; /* outer edges */
    int64_t histogram[CRD_HISTOGRAM_BINS];
    double spacing[3]; /* voxel edge along z, y, x; 0, 0, 0 where the scans don't say or don't agree */
    char unit[16];
} crd_training_record;

enum {
    CRD_MEMBERS_MAX = 64,
    CRD_NORM_TEXT = 64,
    CRD_CLASSES_MAX = 16,
    CRD_CLASS_NAME_TEXT = 32,
    CRD_CLASS_NAMES_TEXT = 16 * 32
};

/* How good a network is where it didn't learn: in blocks of its training scans whose labels were held back. Half of
 * them chose its best state and its calibration; the figures are of the other half, the exam, which was looked at once,
 * at the end, as a prediction sees it. NaN: not known. */
typedef struct crd_heldout {
    int64_t blocks, voxels;           /* held back in all, and labelled voxels in them; 0: nothing was */
    int64_t exam_blocks, exam_voxels; /* of them, those of the exam */
    int64_t samples;                  /* of the prediction */
    double accuracy, dice, nll;       /* Dice: of the foreground, or with more than two classes the mean over them */
    double accuracy_interval[2], dice_interval[2], nll_interval[2]; /* 90 %, from how the blocks differ */
    double foreground_share;  /* of the exam's voxels; with more than two classes, of all but the first */
    double majority_accuracy; /* of always answering with the class that is commonest in training */
    /* Of the best single threshold on the grey value, or with more than two classes of the one that is commonest at
     * each grey value; found in training. */
    double threshold_accuracy, threshold_dice;
    bool unseen; /* no ancestor of the model learnt from these voxels, either */
} crd_heldout;

typedef struct crd_member_info { /* of a member of an ensemble */
    int64_t seed;                /* of its weights, order, augmentation and noise */
    int64_t epoch;               /* whose state it is; 0: not known */
    double check_nll;            /* of that state where it was checked; NaN: not known */
} crd_member_info;

enum { CRD_SHIFTS_MOST = 32, CRD_SHIFT_NAME_TEXT = 64 };

/* How far the network errs as a whole: its training scans were changed in ways that it didn't learn (other noise, blur,
 * contrast, drift), and its volume fractions compared with the labels. The error is told as an offset b of the logit
 * that is the same in every voxel, error = b * mean of p (1 - p), so that it holds for other scans, too. */
typedef struct crd_systematic {
    int64_t shifts;                                   /* made-up changes; 0: nothing is known */
    int64_t voxels;                                   /* labelled ones that were looked at after each */
    int64_t samples;                                  /* of the prediction */
    char names[CRD_SHIFTS_MOST][CRD_SHIFT_NAME_TEXT]; /* "noise 0.5, blur 0.9" */
    double offsets[CRD_SHIFTS_MOST][CRD_CLASSES_MAX]; /* b, of each class against the rest */
    double median[CRD_CLASSES_MAX];                   /* of |b| over the shifts */
} crd_systematic;

typedef struct crd_model_info {
    crd_kind kind;
    int filters;                            /* base filters: 16 unless set otherwise */
    int groups;                             /* of every group norm: 4 unless set otherwise */
    int members;                            /* networks whose samples are pooled: 1 unless set otherwise */
    int classes;                            /* that it tells apart: 2 unless set otherwise, at most CRD_CLASSES_MAX */
    char class_names[CRD_CLASS_NAMES_TEXT]; /* "pore,ysz,nickel"; "" where they have none of their own */
    double class_values[CRD_CLASSES_MAX];   /* their values in the labels; of two classes, where not known, 0 and 1 */
    int64_t chunk[3];                       /* the training chunk; 0, 0, 0 where not known */
    double calibration;                     /* divides the logit in a prediction; 1 unless calibrated */
    char norm[CRD_NORM_TEXT]; /* how scans are normalised: "phases", "levels", "scan", "none" or "MEAN,STD" */
    const char *config;       /* the settings it was trained with, as JSON text; NULL where not known */
    crd_training_record training;
    int64_t parameters; /* trainable values of a member; ignored by crd_model_create */
    int64_t pieces;     /* of the training scans that it carries, for frozen norms; ignored as well */
    int64_t piece[3];   /* their size */
    crd_heldout heldout;
    crd_member_info member[CRD_MEMBERS_MAX]; /* where there are several; else 0 */
    crd_systematic systematic;
    int64_t checkpoint_step; /* of the training that the file is a checkpoint of; 0: a model. Ignored, too */
    int64_t heads_redrawn;   /* how often, in its training, the head was dead and got new weights; of all members */
} crd_model_info;

typedef struct crd_model crd_model;

/* A new model with initial parameters drawn from the seed, each member's from one of its own. Fields of `info` that are
 * 0 or "" get the defaults above; everything is copied. */
CRD_API crd_status crd_model_create(const crd_model_info *info, uint64_t seed, crd_model **out);

/* Loads a model, or the model in a checkpoint. A file that doesn't fit is refused with the dataset's name and both
 * shapes; a value that is not a finite number is refused, too. */
CRD_API crd_status crd_model_load(const char *path, crd_model **out);

/* Whether the file says that it is a model or a checkpoint; reads little, and sets no error. */
CRD_API bool crd_model_recognise(const char *path);

/* Writes to a temporary name beside `path`, then renames: the file is never half-written. */
CRD_API crd_status crd_model_save(const crd_model *model, const char *path);

/* Frees the model and sets the pointer to NULL; NULL is fine. */
CRD_API void crd_model_free(crd_model **model);

/* Borrowed from the model, valid until it is freed or changed. */
CRD_API const crd_model_info *crd_model_describe(const crd_model *model);

/* A class's name: its own, or background and foreground of two, or its value in the label. */
CRD_API void crd_class_name(const crd_model_info *info, int class_number, char name[CRD_CLASS_NAME_TEXT]);

/* How good it is where it didn't learn, as a JSON object with the names of crd_heldout's fields; "null" where nothing
 * was held back. Free it with crd_settings_free_text. */
CRD_API crd_status crd_heldout_to_json(const crd_heldout *heldout, char **json);
/* That of crd_model_describe, for programs that don't know the layout of crd_model_info. */
CRD_API const crd_heldout *crd_model_heldout(const crd_model *model);

/* One line for people: "bcnn, 16 filters, 4 groups, 1924964 parameters, chunk 88,176,176". */
CRD_API void crd_model_summary(const crd_model *model, char *text, size_t size);

/* > 0 and finite. */
CRD_API crd_status crd_model_set_calibration(crd_model *model, double calibration);

#ifdef __cplusplus
}
#endif
#endif
