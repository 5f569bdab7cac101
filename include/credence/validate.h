/* Validation: how well a prediction agrees with a label, and how well its uncertainty shows where it is wrong.
 *
 *     crd_validate_options options;
 *     crd_validation *figures = NULL;
 *     crd_settings_default(&crd_validate_settings, &options);
 *     crd_settings_set(&crd_validate_settings, &options, "run", "run");
 *     crd_settings_set(&crd_validate_settings, &options, "label", "label.tif");
 *     if (crd_validate(&options, NULL, &figures) != CRD_OK) fail(crd_last_error()->message);
 *     printf("accuracy %g, PAvPU3D %g\n", figures->accuracy, figures->pavpu.pavpu3d);
 *     crd_validation_free(&figures);
 *     crd_settings_clear(&crd_validate_settings, &options);
 *
 * Volumes of any size are read slab by slab. All sums are integers, so the figures are the same bits for any number of
 * threads. A figure that has no meaning (nothing was certain; there is no such class) is NaN here, null in JSON and
 * "n/a" in tables, never 0 or 1.
 *
 * Threads: several calls may run at once, each in a thread of its own, also on the same files. Options are only read,
 * and may be shared; figures belong to the caller.
 */
#ifndef CREDENCE_VALIDATE_H
#define CREDENCE_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every option; crd_validate_settings describes and fills it. Strings and lists are owned by the struct. */
typedef struct crd_validate_options {
    size_t size;             /* of this struct: crd_settings_default fills it in */
    char *run;               /* a run folder of `predict`, or NULL: the files below */
    char *prob, *seg, *unc;  /* seg may be missing (prob > 0.5), or prob or unc: what needs them is NaN */
    crd_text_list intervals; /* uncertainty maps of further intervals: how the map grows */
    char *label;
    crd_real_list foreground, ignore; /* label values, as in training */
    char *mask;                       /* a file, "cylinder", or NULL */

    char *measure;             /* "width" or "std": which map of a run folder is the uncertainty */
    int64_t edge, stride;      /* of the cubes */
    double accuracy_threshold; /* an accurate cube has at least this share of right voxels */
    char *threshold;           /* "mean", or a number: a cube of at least this mean uncertainty is uncertain */
    crd_real_list thresholds;  /* of the curve; empty: chosen from the map */
    bool core;                 /* leave out geometry, profiles, growth and distances: faster */
    bool csv;                  /* for programs: crd_validate itself prints nothing */
    int64_t threads;           /* 0: one per core */

    int64_t shape[3]; /* raw files; the type of raw maps follows from their size */
    char *type;       /* a raw label; NULL: u8 */
    int64_t offset;   /* a raw label */
    char *output;     /* the figures as JSON, in place of validation.json in the run folder; or NULL */
} crd_validate_options;

CRD_API extern const crd_settings crd_validate_settings;

/* A cube is accurate or inaccurate (a, i), certain or uncertain (c, u). */
typedef struct crd_pavpu {
    int64_t edge, stride;
    double accuracy_threshold, uncertainty_threshold;
    int64_t n_ac, n_au, n_ic, n_iu;
    double p_accurate_given_certain, p_uncertain_given_inaccurate, pavpu3d;
} crd_pavpu;

/* The figures. Lists that belong together have the same length; counts in lists are exact up to 2^53. */
typedef struct crd_validation {
    int64_t shape[3];
    int64_t voxels;  /* that count: labelled, inside the mask */
    int64_t ignored; /* the others */
    double accuracy;
    double dice, iou;       /* of the foreground; of more than two classes the mean over those that occur */
    int64_t tp, fp, fn, tn; /* of the foreground; -1 where there are more than two classes */
    double volume_fraction; /* of the foreground in the segmentation; NaN where there are more than two classes */
    double label_fraction;  /* and in the label */
    struct {                /* one entry per class */
        crd_text_list name;
        crd_real_list value; /* in the segmentation */
        crd_real_list dice, iou;
        crd_real_list volume_fraction, label_fraction;
        crd_real_list confusion; /* counts of voxels: [label * classes + segmentation] */
        crd_real_list slice_volume_fraction, slice_label_fraction; /* more than two: [slice * classes + class] */
    } classes;
    int64_t seen_in_training; /* did the model, or one that it began with, learn from any of these voxels? 1: yes, so
                                 that the figures flatter; 0: no; -1: not known */
    struct {                  /* where they were: the same figures over the voxels that weren't learnt from */
        int64_t voxels;
        double accuracy, dice, iou, ece, nll, p_accurate_given_certain, p_uncertain_given_inaccurate;
    } unseen;

    char measure[16];
    struct {
        double mean, variance, min, max;
    } uncertainty;
    crd_pavpu pavpu;
    struct {
        crd_real_list threshold, n_ac, n_au, n_ic, n_iu;
        crd_real_list p_accurate_given_certain, p_uncertain_given_inaccurate, pavpu3d;
    } pavpu_curve;

    struct {
        double ece, brier, nll, aurc;
    } calibration;
    struct { /* 15 equal bins of the predicted class's probability, from 1 / classes to 1; NaN where a bin is empty */
        crd_real_list low, high, count, confidence, accuracy;
    } reliability;
    struct { /* error rate among the most certain share of the voxels */
        crd_real_list coverage, risk;
    } risk_coverage;
    struct { /* of the uncertainty, from 0 to `high`; the last bin holds the rest */
        double high;
        crd_real_list right, wrong;
    } histogram;

    struct {
        double autocorrelation;           /* of neighbours along all three axes, */
        double along_z, along_y, along_x; /* and along each */
        double gradient;                  /* mean length of the gradient, in 1/voxel */
        double gradient_over_mean;
    } geometry;
    struct { /* one entry per map, the first being the uncertainty itself */
        crd_text_list map;
        crd_real_list mean, share_above, correlation; /* above the threshold of pavpu; correlation with the first */
        double threshold;
    } growth;
    struct { /* slice by slice along z; fractions of the foreground of two classes */
        crd_real_list accuracy, uncertainty, volume_fraction, label_fraction;
    } slices;
    struct { /* by distance to the nearest voxel of another predicted class: from k to below k + 1 voxels, k = 1 to
                16; the last entry is everything farther away */
        crd_real_list from, count, uncertainty, error;
    } distance;
} crd_validation;

/* Validates. For a run folder, validation.json is written into it, unless `output` names another file; where the folder
 * can't be written to and there is an `out`, that is a warning. `monitor` may be NULL, and so may `out` where the file
 * is all that is wanted. */
CRD_API crd_status crd_validate(const crd_validate_options *options, const crd_monitor *monitor, crd_validation **out);
/* Frees the figures and sets the pointer to NULL; NULL is fine. */
CRD_API void crd_validation_free(crd_validation **validation);

/* As JSON text, the form of validation.json; `run` becomes the first key where it isn't NULL. Free the text with
 * crd_settings_free_text. */
CRD_API crd_status crd_validation_to_json(const crd_validation *validation, const char *run, char **json);
/* Back from JSON; keys that are missing are NaN, 0 or empty. `source` is the file's name for the sentence. */
CRD_API crd_status crd_validation_from_json(const char *json, const char *source, crd_validation **out);
/* Reads `run`/validation.json; *out stays NULL, without an error, where the run hasn't been validated. */
CRD_API crd_status crd_validation_load(const char *run, crd_validation **out);

/* What the figures of two runs or more say, in sentences, a line each: where one is ahead, where they are level. Runs
 * of different kinds of network ("" where not known) are grouped by kind, and means over each group compared; runs of
 * one kind are compared one by one. The words come from the figures alone. Free the text with crd_settings_free_text.
 */
typedef struct crd_compared_run {
    const char *run, *kind;
    const crd_validation *figures;
} crd_compared_run;
CRD_API crd_status crd_compare_in_words(const crd_compared_run *runs, int64_t count, char **text);

/* What a manifest says of a run, for tables of several: the kind of network ("bcnn"; "" where it isn't said). */
CRD_API crd_status crd_run_kind(const char *run, char kind[16]);

#ifdef __cplusplus
}
#endif
#endif
