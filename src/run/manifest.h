/* manifest.json: what was done, with what, and its sums. One struct, which predict fills and all others read. */
#ifndef CRD_RUN_MANIFEST_H
#define CRD_RUN_MANIFEST_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "credence/settings.h"
#include "run/outputs.h"

/* Where the seconds went. */
typedef struct crd_run_times {
    double preparing; /* fingerprints, statistics, timing the network */
    double starting;  /* drawing the weights, taking the memory */
    double waiting;   /* for chunks of the scan */
    double network;
    double summarising; /* means and percentiles of the samples, where they don't run beside the network */
    double adding;      /* chunks to the sums */
    double finishing;   /* slices */
    double writing;     /* the volumes, at the end */
} crd_run_times;

/* What is known of an interval of percentiles. */
typedef struct crd_run_interval {
    char text[CRD_INTERVAL_BYTES]; /* "33-67" */
    double mean, least, most;      /* of the uncertainty, over the voxels that count */
    char sum[48];                  /* of round(uncertainty * 2^32), exact: more digits than a JSON number keeps */
    double fractions[2];           /* these percentiles of the samples' volume fractions; NaN where there are none */
} crd_run_interval;

/* What is known of a class of the segmentation. */
typedef struct crd_run_class {
    const char *name;
    double value; /* in the segmentation */
    double segmentation, mean, interval90[2];
    double systematic; /* as that of the fraction below */
    crd_real_list samples;
    /* With more than two classes, as `fraction` below has them of two. */
    double mean_probability;
    double (*intervals)[2]; /* by interval; NULL: there are none */
} crd_run_class;

/* What isn't known is NaN, 0, NULL or, where it goes into tables, "". */
typedef struct crd_manifest {
    cJSON *document; /* what was read, and what the texts lie in; NULL: no manifest was */
    char *name;      /* what scan.name lies in where it comes from the volumes' names */

    const char *program, *device;
    double seed;
    struct {
        const char *path, *sha256, *kind; /* "bcnn" */
        int64_t filters, groups;
        double calibration;
    } model;
    struct {
        const char *path, *sha256;
        int64_t shape[3];
        const char *type;
        double spacing[3];
        const char *unit;
        double mean, std;
        int64_t nonfinite;
        double normalised_by[2]; /* mean, deviation */
        const char *name;        /* what the volumes' names begin with */
    } scan;
    struct {
        const char *path, *sha256;
    } mask; /* where it is a file */
    struct {
        int64_t chunk[3]; /* what the network sees at a time */
        int64_t step;     /* of chunks that overlap, */
        double trim;
        int64_t tile[3], halo;       /* or of tiles; 0 where there are none */
        int64_t origin[3], shape[3]; /* of what was written, in the scan */
        int64_t chunks, min_coverage, max_coverage, samples;
    } plan;
    const char *mode, *norms; /* "seamless"; "training" */
    struct {
        int64_t places; /* on the borders of tiles; -1: it isn't known */
        double largest_probability, mean_probability, largest_uncertainty; /* of what twice the halo changes there */
    } certificate;
    struct {                                            /* to the training scans */
        double expected_error, training_expected_error; /* shares of voxels that the network expects to get wrong */
        double histogram_distance;                      /* of the grey values, 0 .. 1 */
    } match;
    crd_output *outputs;
    int64_t output_count;
    int64_t inside;               /* voxels that count */
    crd_run_interval uncertainty; /* of the first interval, which a run goes by */
    crd_run_interval *intervals;  /* all of them */
    int64_t interval_count;
    struct {
        double segmentation;
        /* Over the realisations: of each, the share of voxels above one half, or the mean of its probabilities. `mean`
         * is the one to go by, now that of cut ones, and what follows belongs to it. */
        double mean, mean_cut, mean_probability;
        /* 90 %: the 5th to 95th percentile over the realisations, wider by the systematic term, a standard deviation;
         * NaN: the model knows of none, and the interval is that of the realisations. */
        double interval90[2], systematic;
        crd_real_list samples; /* of each realisation; none where draws differ from chunk to chunk */
    } fraction;                /* of the second of two classes; NaN, and no samples, where there are more */
    crd_run_class *classes;
    int64_t class_count;
    struct {
        double at, elsewhere, ratio; /* mean step between neighbouring voxels */
    } seams;
    crd_text_list warnings;
    cJSON *settings, *identity;
    const char *finished; /* when */
    double seconds;
    crd_run_times times;
    int64_t computed; /* chunks, in the last call */
    int64_t memory_bytes, scratch_bytes;
} crd_manifest;

/* Paths are written so that they are valid from any folder. */
crd_status crd_manifest_write(const crd_manifest *manifest, const char *path);

/* The volumes alone, in the same form: a run has this list from before the first of them is begun until after the last
 * is removed, so that one that was killed at any moment can still be cleared away. */
crd_status crd_manifest_write_list(const crd_output *outputs, int64_t count, const char *path);

/* A manifest, or the list of volumes that an unfinished run keeps. Fails where the file is none of ours. */
crd_status crd_manifest_read(const char *path, crd_manifest *out);
/* The same of a text that may be anybody's: fails where it is no JSON object, and gives what it says otherwise. NULL:
 * nothing is known. */
crd_status crd_manifest_parse(const char *text, const char *path, crd_manifest *out);
/* Of one that was read. */
void crd_manifest_free(crd_manifest *manifest);

/* The volume of that role, of several the one of that number from 0 on; NULL where there is none. */
const crd_output *crd_manifest_output(const crd_manifest *manifest, crd_output_role role, int64_t number);
/* Is the run of a box in the scan? */
bool crd_manifest_boxed(const crd_manifest *manifest);
/* Where the run's volumes begin in its scan, whatever origin the scan's own file says; false: nothing tells. */
bool crd_manifest_place(const crd_manifest *manifest, int64_t origin[3]);
/* What says which voxels count: a file, or "cylinder"; NULL: all do. */
const char *crd_manifest_mask(const crd_manifest *manifest);
/* The number of its first sample. */
int64_t crd_manifest_first_sample(const crd_manifest *manifest);
/* What the run was told of a scan whose file doesn't say it; the byte order is part of the type. */
crd_volume_options crd_manifest_reading(const crd_manifest *manifest);

#endif
