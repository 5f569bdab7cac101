/* Phantoms: simulated CT scans with exact truth and an imperfect hand label, for trying, teaching and testing.
 *
 * graphite is a battery electrode: flat, tilted, overlapping dark grains in a light matrix; foreground (1) is grain.
 * weld is two plates joined by a weld with pores: voids are light in dark metal, as light as the air around it;
 * foreground (1) is void. electrode has three phases: light particles (1) and between them, where they are close,
 * binder (2) of a middle grey value; the rest is pore (0), which is dark. image has no objects of its own: the same
 * camera looks at the phases of a label volume, whatever they are.
 *
 * Everything follows from the options and the seed: the same bytes on every machine, for any number of threads.
 *
 * Threads: several calls may run at once, each in a thread of its own and into a folder of its own. Options are only
 * read, and may be shared.
 *
 *     crd_phantom_options options;
 *     crd_settings_default(crd_phantom_settings(CRD_PHANTOM_GRAPHITE), &options);
 *     crd_settings_set(crd_phantom_settings(CRD_PHANTOM_GRAPHITE), &options, "output", "phantom");
 *     crd_phantom_write(CRD_PHANTOM_GRAPHITE, &options, NULL, NULL);
 *     crd_settings_clear(crd_phantom_settings(CRD_PHANTOM_GRAPHITE), &options);
 */
#ifndef CREDENCE_PHANTOM_H
#define CREDENCE_PHANTOM_H

#include <stdint.h>

#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum crd_phantom_kind {
    CRD_PHANTOM_GRAPHITE = 0,
    CRD_PHANTOM_WELD = 1,
    CRD_PHANTOM_ELECTRODE = 2,
    CRD_PHANTOM_IMAGE = 3
} crd_phantom_kind;
enum { CRD_PHANTOM_KINDS = 4, CRD_PHANTOM_PHASES = 16 }; /* how many there are; the most phases of one */

/* Every option; crd_phantom_settings describes and fills it. Strings are owned by the struct. Lengths are in voxels,
 * grey values are shares of the full scale (black 0, white 1), "deviation" is a standard deviation. The defaults, which
 * differ between the kinds, stand in the settings table. */
typedef struct crd_phantom_options {
    size_t size;      /* of this struct: crd_settings_default fills it in */
    char *output;     /* the folder that gets scan, label, truth and phantom.json; made if it is missing */
    int64_t shape[3]; /* z, y, x */
    int64_t seed;
    char *format;    /* of the three volumes, by name or suffix: "tiff", "nii.gz", ... */
    char *type;      /* of the scan: u8, u16 or f32 */
    char *spacing;   /* "z,y,x,unit": edges of a voxel; NULL: not said in the files */
    int64_t threads; /* 0: all cores */

    double fraction;          /* share of foreground voxels in the truth; of an electrode, of particle */
    double contrast;          /* light phase minus dark phase */
    double brightness;        /* half-way between them */
    double texture;           /* deviation of the grey value inside each phase, over a few voxels */
    double blur;              /* deviation of the Gaussian point spread */
    double noise;             /* deviation of the white noise */
    double noise_correlated;  /* deviation of the correlated noise */
    double noise_correlation; /* ... and the deviation of the Gaussian that correlates it */
    double rings;             /* deviation of the ring artifacts */
    double cupping;           /* corner minus centre of the beam-hardening bowl */
    double drift;             /* deviation of the slow drift of the grey value */
    double drift_length;      /* length over which it changes */
    double roughness;         /* deviation of the objects' surfaces from their smooth shape */
    double label_waver;       /* deviation of the label's boundary, smooth in 3D */
    double label_jitter;      /* ... and redrawn in every slice */
    double label_miss;        /* probability that a small object is missing from the label */

    double grain_size;     /* graphite, electrode: typical radius */
    double grain_spread;   /* deviation of the logarithm of the radius */
    double grain_flatness; /* long radius over short radius */
    double grain_tilt;     /* typical angle between a grain's flat axis and z, in degrees */
    double grain_grey;     /* deviation of the grey value from grain to grain */
    double grain_film;     /* thickness of the matrix between two grains that touch */

    double void_size;     /* weld: typical radius */
    double void_spread;   /* deviation of the logarithm of the radius */
    double void_flatness; /* long radius over short radius */
    double void_plates;   /* density of voids in the plates, relative to that in the weld */
    double margin;        /* air above and below the plates, each as a share of the height */
    double bead_height;   /* share of the height */
    double bead_width;    /* share of the width */
    double ripple;        /* height of the bead's ripples, as a share of the bead's height */
    double seam_gap;      /* width of the gap under the weld, as a share of the width */

    double binder_fraction; /* electrode: share of binder voxels in the truth */
    double binder_grey;     /* where its grey value lies between the pore's (0) and the particles' (1) */
    double binder_scatter;  /* deviation of its surface from an even meniscus */

    char *truth;         /* image: the label volume; its shape is the phantom's */
    crd_real_list greys; /* of its phases, in rising order of their values; none: evenly from dark to light */
} crd_phantom_options;

/* What was made. */
typedef struct crd_phantom_result {
    int64_t shape[3];
    int64_t voxels, foreground; /* of the truth; foreground is phase 1 */
    int64_t label_foreground;
    int64_t label_errors;     /* voxels where label and truth differ */
    double threshold;         /* grey value (stored units) that separates the two phases with the fewest errors */
    int64_t threshold_errors; /* voxels that it gets wrong */
    int64_t majority_errors;  /* voxels that always answering the commonest phase gets wrong */
    int64_t phases;           /* of the truth */
    double phase_values[CRD_PHANTOM_PHASES]; /* in the files: 0, 1, ...; of an image those of its label volume */
    int64_t phase_voxels[CRD_PHANTOM_PHASES], label_phase_voxels[CRD_PHANTOM_PHASES];
    double thresholds[CRD_PHANTOM_PHASES - 1]; /* phases - 1, rising: between the phases from dark to light */
} crd_phantom_result;

/* The table of settings and defaults of one kind, without those that only other kinds have. Static storage. */
CRD_API const crd_settings *crd_phantom_settings(crd_phantom_kind kind);
/* The settings of all kinds in one table, with graphite's defaults: for a program that reads the kind last. */
CRD_API extern const crd_settings crd_phantom_all_settings;
CRD_API const char *crd_phantom_kind_name(crd_phantom_kind kind); /* "graphite" */
/* How many phases the kind has (an image: as its label volume says, 0 here), and what each is: "pore". */
CRD_API int64_t crd_phantom_phases(crd_phantom_kind kind);
CRD_API const char *crd_phantom_phase_name(crd_phantom_kind kind, int64_t phase);

/* Writes options->output/{scan,label,truth}.EXT and phantom.json, slab by slab. `monitor` and `out` may be NULL. */
CRD_API crd_status crd_phantom_write(crd_phantom_kind kind, const crd_phantom_options *options,
                                     const crd_monitor *monitor, crd_phantom_result *out);

#ifdef __cplusplus
}
#endif
#endif
