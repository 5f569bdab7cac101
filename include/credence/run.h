/* What a run folder of a prediction says of itself: its manifest, in short.
 *
 *     crd_run_summary run;
 *     if (crd_run_summarise("run", &run) != CRD_OK) fail(crd_last_error()->message);
 *     for (int k = 0; k < run.class_count; k++) printf("%s: %g\n", run.classes[k].name, run.classes[k].segmentation);
 *
 * Threads: any, at any time.
 */
#ifndef CREDENCE_RUN_H
#define CREDENCE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/model.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct crd_class_share {
    char name[CRD_CLASS_NAME_TEXT];
    double value;         /* in the segmentation */
    double segmentation;  /* share of the voxels */
    double mean;          /* over the realisations; NaN where there are none, and so is what follows */
    double interval90[2]; /* around the mean, of 90 %; it holds the truth so often only where the next is known */
    double systematic;    /* what the interval adds for errors of whole scans; NaN: the model knows of none */
} crd_class_share;

/* What isn't known is NaN, 0 or "". */
typedef struct crd_run_summary {
    char kind[16]; /* of the network: "bcnn" */
    char model[1024], scan[1024];
    char mode[16]; /* "seamless", "overlap" */
    int64_t shape[3], samples;
    char interval[40];       /* of percentiles, that the uncertainty is the width of: "33-67" */
    double mean_uncertainty; /* over the voxels that count */
    int class_count;
    crd_class_share classes[CRD_CLASSES_MAX];
    int64_t warnings; /* how many there were */
} crd_run_summary;

/* Is it a folder with the manifest of a complete run? */
CRD_API bool crd_run_recognise(const char *path);
CRD_API crd_status crd_run_summarise(const char *path, crd_run_summary *out);

#ifdef __cplusplus
}
#endif
#endif
