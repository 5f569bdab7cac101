/* The realisations of a run as packed bits, for those who measure or export them.
 *
 * A realisation is one possible segmentation of the whole scan: sample i of a run, cut at one half, or one of several
 * label volumes. Bit i of a voxel's word belongs to realisation i, so that one pass over the words goes through all of
 * them. Behind the samples' bits lie those of the run's segmentation and of its bounds, where there are any.
 *
 * The phases of a run are its classes, in their order: 0 and 1 where there are two. Those of label volumes are numbered
 * by the values that they hold, rising. The number of a voxel's phase is kept as bit planes: plane p holds bit p of it,
 * for every realisation. Two phases need one plane.
 *
 *     crd_realisations *r = NULL;
 *     CRD_TRY(crd_realisations_open(&(crd_realisations_options){.paths = &folder, .path_count = 1}, monitor, &r));
 *     const crd_realisations_info *info = crd_realisations_describe(r);
 *     // info->planes * info->words * voxels words
 *     CRD_TRY(crd_realisations_read(r, pool, z, 1, words, inside));
 */
#ifndef CRD_RUN_REALISATIONS_H
#define CRD_RUN_REALISATIONS_H

#include <stdbool.h>

#include "base/parallel.h"
#include "credence/model.h"
#include "credence/monitor.h"
#include "credence/volume.h"

enum { CRD_PHASES_MAX = 16, CRD_WORD_BITS = 64 };

typedef struct crd_realisations crd_realisations;

/* All fields 0 or NULL: the defaults. */
typedef struct crd_realisations_options {
    const char *const *paths;      /* one run folder, or label volumes of one shape */
    int64_t path_count;            /* at least 1 */
    crd_volume_options reading;    /* of raw label volumes; its spacing wins over that of the files */
    crd_box box;                   /* in the run's volumes; size 0: all of them */
    const char *mask;              /* "cylinder", or a file; NULL: the run's own, or none; "none": none */
    int64_t first_sample, samples; /* which realisations of a run, by their numbers; samples 0: all */
    bool from_start;               /* first_sample is the run's first, whatever its number */
    const double *wanted;          /* phases that are there although no voxel may have their values */
    int64_t wanted_count;
    /* Two more bits of a run of two classes: its probability cut where an offset of the whole scan's logit, 90 % down
     * and up, puts one half. Where the run doesn't know the offset, there are none. */
    bool cuts;
    /* A label volume, whose bit comes last; NULL: none. Only labelled voxels count then. What its values mean is said
     * as to crd_label_options: of two phases the larger value is that of the second, of more they are the phases' own.
     */
    const char *label;
    const double *foreground, *ignore;
    int64_t foreground_count, ignore_count;
} crd_realisations_options;

typedef struct crd_realisations_info {
    const char *name;  /* the folder, or the first of the files */
    bool run;          /* a run's, not label volumes */
    int64_t shape[3];  /* of the box */
    int64_t origin[3]; /* of the box in the scan */
    double spacing[3]; /* 0, 0, 0 where it isn't known */
    char unit[16];
    bool masked; /* a part of the box doesn't count */

    int64_t samples, first_sample;      /* bits 0 to samples - 1 */
    int64_t segmentation, lower, upper; /* their bits; -1: there is none */
    int64_t label, cuts[2];
    int64_t bits, words; /* in all; words of 64 bits that they take */

    int64_t phases, planes;
    double values[CRD_PHASES_MAX];                   /* of the phases */
    char names[CRD_PHASES_MAX][CRD_CLASS_NAME_TEXT]; /* of a run's; "" where they have none */
    /* By phase: the systematic term of its volume fraction (run/widen.h), of a run whose window is measured as it is;
     * NaN: not known. */
    double systematic[CRD_PHASES_MAX];

    int64_t layer; /* slices that are best read together: a depth of the files' blocks, or 1 */
} crd_realisations_info;

/* A run without kept samples is an error that says what to do, as is a sample that is missing. One label volume alone
 * is a segmentation without samples; several are samples without a segmentation. */
crd_status crd_realisations_open(const crd_realisations_options *options, const crd_monitor *monitor,
                                 crd_realisations **out);
void crd_realisations_close(crd_realisations **realisations);
const crd_realisations_info *crd_realisations_describe(const crd_realisations *realisations);

/* Which files the bits come from, with their sizes and times: a line each. Free with crd_free. */
crd_status crd_realisations_fingerprint(const crd_realisations *realisations, char **out);

/* Whole slices of the box: word w of plane p of voxel i lies at words[(p * info->words + w) * voxels + i], with
 * voxels = slices * info->shape[1] * info->shape[2]. `inside` gets 1 for each voxel that counts and 0 for the others,
 * whose bits are 0; NULL where all of them do. The pool shares the work; what is read doesn't depend on it. */
crd_status crd_realisations_read(crd_realisations *realisations, crd_pool *pool, int64_t z, int64_t slices,
                                 uint64_t *words, uint8_t *inside);
/* What that takes while it runs. */
int64_t crd_realisations_read_bytes(const crd_realisations *realisations, int64_t slices, int threads);
/* How many slices from z on, at most `most`, are best read in one call. */
int64_t crd_realisations_slices_at_once(const crd_realisations *realisations, int64_t z, int64_t most);

/* The phases' numbers of one realisation, by its bit; outside the mask CRD_PHASE_OUTSIDE. */
enum { CRD_PHASE_OUTSIDE = 255 };
crd_status crd_realisations_read_one(crd_realisations *realisations, int64_t bit, const crd_box *box, uint8_t *phases);

/* bits[i] = where voxel first + i is of one of the phases (bit p of `phases`: phase p), for the realisations of word w;
 * all bits behind the last are 0. `words`, of so many voxels, and `inside` are those of crd_realisations_read; `inside`
 * may be NULL. */
void crd_realisations_phases(const crd_realisations_info *info, unsigned phases, int64_t w, const uint64_t *words,
                             const uint8_t *inside, int64_t voxels, int64_t first, int64_t count, uint64_t *bits);

#endif
