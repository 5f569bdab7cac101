/* Measuring: geometric and transport properties of every realisation of a run, each with its spread.
 *
 *     crd_measure_options options;
 *     crd_measurement *m = NULL;
 *     crd_settings_default(&crd_measure_settings, &options);
 *     crd_settings_set(&crd_measure_settings, &options, "input", "run");
 *     if (crd_measure(&options, NULL, &m) != CRD_OK) fail(crd_last_error()->message);
 *     const crd_property *surface = crd_measurement_find(m, "specific_surface", m->phases[0]);
 *     printf("%g (%g to %g) %s\n", surface->segmentation, surface->interval[0], surface->interval[1], surface->unit);
 *     crd_measurement_free(&m);
 *     crd_settings_clear(&crd_measure_settings, &options);
 *
 * A realisation is one weight draw applied to the whole scan, so that a property of it is one possible value, and the
 * spread over the realisations is what the model doesn't know. docs/MEASURE.md defines every property.
 *
 * Volumes of any size are read slab by slab. All sums are integers, so the values are the same bits for any number of
 * threads and any limit of memory. A value that has no meaning (the mean chord of an empty phase) is NaN here, null in
 * JSON and "n/a" in tables.
 *
 * Threads: several calls may run at once, each in a thread of its own. Options are only read, and may be shared; a
 * measurement belongs to the caller.
 */
#ifndef CREDENCE_MEASURE_H
#define CREDENCE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every option; crd_measure_settings describes and fills it. Strings and lists are owned by the struct. */
typedef struct crd_measure_options {
    size_t size;         /* of this struct: crd_settings_default fills it in */
    crd_text_list input; /* a run folder, or segmentations of one shape */
    char *samples;       /* which realisations of a run: "0-15", "16" (the first so many), or NULL: all */
    char *phase;         /* "1", "0,2", "all"; NULL: of two the larger, of more all */
    char *bbox;          /* "z0:z1,y0:y1,x0:x1" or NULL */
    char *mask;          /* a file, "cylinder", "none"; NULL: the run's own */
    char *spacing;       /* "0.65,0.65,0.65,um", in place of the files' */

    char *properties;     /* "fast", "all", or names with commas */
    int64_t connectivity; /* 6 or 26 */
    int64_t lags;         /* 0: the usual ones; else 0 to this many */
    char *interval;       /* "5-95" */

    char *axis;           /* "zyx": along which transport and active triple lines are computed */
    double tolerance;     /* of its solver */
    char *transport;      /* "exact", or "fast": on cells of 2x2x2 voxels, corrected by the segmentation's ratio */
    bool rev;             /* also blocks of 32, 64, 128 ... voxels: how much a piece of that size tells of the whole */
    bool rev_transport;   /* the same for transport */
    char *label;          /* a label volume that everything is compared with, where it is labelled */
    crd_real_list ignore; /* values of voxels that aren't labelled */

    int64_t slow_samples; /* realisations of which slow properties are computed; 0: all */

    bool resume;      /* go on with an unfinished measurement of a run */
    bool dry_run;     /* for the program: say what it would take */
    char *plot;       /* a picture of the distributions */
    char *csv;        /* a file for the values; NULL: measure.csv in a run folder */
    char *max_memory; /* "4G" */
    int64_t threads;  /* 0: one per core */

    int64_t shape[3]; /* raw segmentations */
    char *type;
    int64_t offset;

    /* "1=1,2=0.3": what phases conduct whose transport is computed together; NULL: each phase alone. */
    char *conductivity;
    crd_real_list foreground; /* values of the label that mean the second of two phases; none: the larger of two */
    bool active;              /* also triple lines of what joins both end faces along `axis` */
    char *device;             /* where transport is computed: "auto", "cpu", "cuda", "cuda:1" */
    char *max_gpu_memory;     /* "20G" of its memory; "auto": what is free */
} crd_measure_options;

CRD_API extern const crd_settings crd_measure_settings;

/* A number of every realisation that belongs to a property and has no line of its own: the length of the staircase
 * behind a triple line, the error of a solver. */
typedef struct crd_property_detail {
    char name[32];
    double segmentation;
    crd_real_list values;
} crd_property_detail;

enum { CRD_PROPERTY_NAME = 64, CRD_PROPERTY_DETAILS = 4 };

/* One property of one phase, or of several. */
typedef struct crd_property {
    char name[CRD_PROPERTY_NAME]; /* "specific_surface", "percolates_z", "interface_area_0-2" */
    double phase;                 /* NaN: it lies between phases, which its name says */
    char axis;                    /* 'z', 'y', 'x', or 0 where there is none */
    char unit[24];                /* "1/um"; "1" where it has none */
    double segmentation;
    double bounds[2]; /* of the two segmentations of --bounds. No interval: a property need not lie between them */
    double mean, std, median;
    double interval[2];
    bool shown;                           /* the interval was seen to hold the truth as often as it says, */
    int coverage_held, coverage_phantoms; /* in `held` of so many phantoms; else it is a spread */
    int64_t defined;                      /* values that are numbers */
    crd_real_list values;                 /* of the realisations */
    double size_error;                    /* of the segmentation: what another piece of the same size would give */
    char *note;                           /* a sentence about what is odd, or NULL */
    crd_property_detail details[CRD_PROPERTY_DETAILS];
    int64_t detail_count;
    bool labelled; /* what follows is known: all of it over the labelled voxels alone */
    struct {
        double value; /* of the label */
        double segmentation, median, interval[2];
        bool inside; /* the label lies in the interval */
    } label;
} crd_property;

/* A density of the segmentation over blocks of one size. */
typedef struct crd_rev_row {
    char property[CRD_PROPERTY_NAME];
    double phase;
    int64_t voxels, blocks; /* along a block's edge; blocks that there are */
    double mean, std, interval[2];
    bool representative; /* the deviation is less than 5 % of the mean */
} crd_rev_row;

/* A distribution of one phase: bins between edges, or values at points. */
typedef struct crd_distribution {
    char name[40];
    double phase;
    char axis;
    char unit[24];       /* of the edges */
    crd_real_list edges; /* one more than values, or as many where `points` */
    bool points;
    crd_real_list segmentation, median, low, high;
} crd_distribution;

typedef struct crd_measurement {
    char *source;
    int64_t shape[3];
    double spacing[3]; /* 1, 1, 1 where it isn't known */
    char unit[16];     /* "um"; "voxel" where it isn't known */
    bool spacing_known;
    double *phases;
    int64_t phase_count;
    int64_t samples, first_sample;
    int64_t window_voxels;
    double percent[2];
    crd_property *properties;
    int64_t property_count;
    crd_distribution *distributions;
    int64_t distribution_count;
    crd_rev_row *rev;
    int64_t rev_count;
    int64_t labelled_voxels; /* 0 without a label */
    crd_text_list notes;     /* sentences about the whole */
    double seconds;
    int64_t memory_bytes; /* that were planned */
    /* Of all phases that there are, measured or not: their values, as in names of properties between them, and what
     * they are called. Empty where they have no names. */
    crd_real_list class_values;
    crd_text_list class_names;
    char transport_device[160]; /* where transport was computed: "cpu", "cuda (NVIDIA H200, sm80 path, f32)"; else "" */
} crd_measurement;

/* Measures. For a run folder, measure.json and measure.csv are written into it. `monitor` may be NULL, and so may `out`
 * where those files are all that is wanted. */
CRD_API crd_status crd_measure(const crd_measure_options *options, const crd_monitor *monitor, crd_measurement **out);
/* What a measurement would take: the first pass, and those that follow for each realisation. */
typedef struct crd_measure_pass {
    const char *name; /* "first", "thickness", "transport", "active" */
    int64_t realisations;
    int64_t memory_bytes;
    double seconds; /* about, by what a core was seen to do */
} crd_measure_pass;
typedef struct crd_measure_plan {
    int64_t shape[3], samples, phases;
    int64_t limit_bytes;
    crd_measure_pass passes[4];
    int64_t pass_count;
    bool coarse;                    /* transport on cells of 2x2x2 voxels */
    char transport_device[160];     /* where it would be computed, "" without transport, */
    int64_t transport_device_bytes; /* and how much of a GPU's memory that takes; 0: the CPU computes it */
} crd_measure_plan;
CRD_API crd_status crd_measure_plan_make(const crd_measure_options *options, const crd_monitor *monitor,
                                         crd_measure_plan *out);
/* Frees the measurement and sets the pointer to NULL; NULL is fine. */
CRD_API void crd_measurement_free(crd_measurement **measurement);

/* What a phase is called, by its value; NULL: it has no name. */
CRD_API const char *crd_measurement_phase_name(const crd_measurement *measurement, double phase);

/* "mean_intercept_z" -> "mean intercept along z", into `out`; NULL: one of those that only files have. What begins with
 * two spaces belongs to the property before. */
CRD_API const char *crd_property_words(const char *name, char *out, size_t size);

/* The property of that name and phase, which is NaN for those between phases; NULL where there is none. */
CRD_API const crd_property *crd_measurement_find(const crd_measurement *measurement, const char *name, double phase);

/* As JSON text, the form of measure.json, and as CSV, the form of measure.csv. Free with crd_settings_free_text. */
CRD_API crd_status crd_measurement_to_json(const crd_measurement *measurement, char **json);
CRD_API crd_status crd_measurement_to_csv(const crd_measurement *measurement, char **csv);

#ifdef __cplusplus
}
#endif
#endif
