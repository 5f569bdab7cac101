/* Realisations for other programs: as voxel files, and through a command that makes a number of each.
 *
 * A realisation of a run is one possible segmentation of the whole scan. A property that a program computes from a
 * segmentation has one value for each of them, and their spread is what the model's uncertainty means for it.
 *
 *     crd_propagate_options options;
 *     crd_propagation *result = NULL;
 *     crd_settings_default(&crd_propagate_settings, &options);
 *     crd_settings_set(&crd_propagate_settings, &options, "run", "run");
 *     crd_settings_set(&crd_propagate_settings, &options, "command", "./solve");
 *     crd_settings_set(&crd_propagate_settings, &options, "command", "{}");
 *     if (crd_propagate(&options, NULL, &result) != CRD_OK) fail(crd_last_error()->message);
 *     printf("%g, 5-95 %%: %g to %g\n", result->median, result->interval[0], result->interval[1]);
 *     crd_propagation_free(&result);
 *     crd_settings_clear(&crd_propagate_settings, &options);
 *
 * Threads: several calls may run at once, each in a thread of its own, if their output folders differ. Options are only
 * read. A command is a process of the caller's, in a process group of its own, which ends with the call.
 */
#ifndef CREDENCE_PROPAGATE_H
#define CREDENCE_PROPAGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which realisations, and how their voxels are written; part of both structs of options. */
typedef struct crd_export_form {
    char *solver;         /* a format ("tiff", "raw", "vti", "npy") or a program whose format it is ("taufactor") */
    char *samples;        /* "16": the first sixteen; "8-23"; NULL: all */
    char *phase;          /* the value of the phase that becomes values[0]; NULL: of two the larger, of more none */
    crd_real_list values; /* of the voxels inside the phase, and of all others: 1 and 0 */
    char *spacing;        /* in place of the run's: "0.65,0.65,0.65,um" */
} crd_export_form;

/* Every option of an export; crd_export_settings describes and fills it. */
typedef struct crd_export_options {
    size_t size;  /* of this struct: crd_settings_default fills it in */
    char *run;    /* a run folder, or a label volume */
    char *output; /* a folder, made where it is missing */
    crd_export_form form;
    int64_t threads;
} crd_export_options;

CRD_API extern const crd_settings crd_export_settings;

typedef struct crd_export_summary {
    int64_t realisations; /* files, the segmentation's not counted */
    bool segmentation;
    int64_t bytes; /* of voxels in each file */
} crd_export_summary;

/* Writes a file for each realisation and for the segmentation, and realisations.json, which lists them, last.
 * `monitor` and `out` may be NULL. */
CRD_API crd_status crd_export(const crd_export_options *options, const crd_monitor *monitor, crd_export_summary *out);

/* Every option of a propagation; crd_propagate_settings describes and fills it. */
typedef struct crd_propagate_options {
    size_t size; /* of this struct: crd_settings_default fills it in */
    char *run;
    crd_text_list command; /* words: the program and its arguments; {} is the voxel file */
    char *output;          /* a folder, made where it is missing; NULL: propagate/NAME in the run folder */
    char *name, *unit;     /* of the number */
    char *pattern;         /* POSIX extended regular expression; its first group is the number. NULL: the last number */
    crd_export_form form;
    crd_pair_list interval; /* percentiles; 5-95 */
    int64_t jobs;           /* commands at a time */
    double timeout;         /* seconds for one command; 0: any */
    bool keep_going;        /* where a command fails, its value is undefined and the others go on */
    bool keep_files;        /* voxel files stay */
    bool resume, overwrite;
} crd_propagate_options;

CRD_API extern const crd_settings crd_propagate_settings;

typedef struct crd_propagation {
    char *name, *unit, *folder;
    double segmentation;      /* NaN: there is none, or its command failed */
    double mean, std, median; /* over the realisations that have a value; NaN without any, or with one alone */
    double interval[2], percent[2];
    int64_t first_sample, samples, defined;
    double *values, *seconds; /* of each realisation; NaN: none */
} crd_propagation;

/* Runs the command for the segmentation and every realisation, and writes propagate.json and propagate.csv. `monitor`
 * may be NULL, and so may `out`. */
CRD_API crd_status crd_propagate(const crd_propagate_options *options, const crd_monitor *monitor,
                                 crd_propagation **out);
/* Frees it and sets the pointer to NULL; NULL is fine. */
CRD_API void crd_propagation_free(crd_propagation **propagation);

#ifdef __cplusplus
}
#endif
#endif
