/* Passes over the volumes, slab by slab, by all threads. */
#ifndef CRD_VALIDATE_SWEEP_H
#define CRD_VALIDATE_SWEEP_H

#include "base/parallel.h"
#include "validate/inputs.h"
#include "validate/rows.h"

typedef struct crd_sweep {
    const crd_inputs *inputs;
    const crd_rows *rows;
    crd_pool *pool;
    const crd_monitor *monitor;
    int64_t first, last;  /* the slices [first, last) are tallied: the whole volume, or a part to be merged later */
    int64_t edge, stride; /* of the cubes */
    int need;             /* right voxels of an accurate cube */
    double threshold;     /* of the mean uncertainty */
    const double *thresholds;
    int64_t threshold_count;
    bool core;
    int class_number; /* crd_sweep_distance of more than two classes: the one whose voxels are looked at; else -1 */
} crd_sweep;

static inline bool crd_sweep_many(const crd_sweep *sweep)
{
    return sweep->inputs->class_count > 2;
}

/* What the voxels are, as rows->mark or rows->mark_classes has it. */
static inline void crd_sweep_mark(const crd_sweep *sweep, const uint8_t *seg, const uint8_t *label,
                                  const uint8_t *inside, int64_t count, uint8_t *kind, uint8_t *mark)
{
    (crd_sweep_many(sweep) ? sweep->rows->mark_classes : sweep->rows->mark)(seg, label, inside, count, kind, mark);
}

/* The threshold that a text asks for; NaN: the mean of the map. `name` is the setting's, for the sentence. */
crd_status crd_parse_threshold(const char *name, const char *text, double *out);
/* The sum from which on a cube of that edge is uncertain, in units of 2^-32: a whole number. */
double crd_cube_limit(double threshold, int64_t edge);

/* Counts and sums the uncertainty over the voxels that count: its mean is the usual threshold. */
crd_status crd_sweep_mean(const crd_sweep *sweep, int64_t *voxels, crd_wide *sum);
/* Everything but the distances. */
crd_status crd_sweep_run(const crd_sweep *sweep, crd_tally *tally);
/* The distances to the predicted boundary. */
crd_status crd_sweep_distance(const crd_sweep *sweep, crd_tally *tally);

/* One part of the work: some slices of a band of rows. */
typedef struct crd_sweep_part {
    int64_t z_begin, z_end;
    int64_t y_begin, y_end;
} crd_sweep_part;

/* What the passes share: parts are handed to threads, each with its own files, room and tally; the first failure stops
 * them all. */
typedef struct crd_team crd_team;
typedef struct crd_team_work {
    const char *stage;
    int64_t slab; /* slices of a part */
    int64_t band; /* rows of a part */
    /* The room of a thread, made once. `end` also takes one that `begin` left half made. */
    crd_status (*begin)(const crd_sweep *sweep, void **room);
    crd_status (*part)(const crd_sweep *sweep, const crd_sweep_part *part, crd_input_reader *reader, void *room,
                       crd_tally *tally);
    void (*end)(void **room);
} crd_team_work;
crd_status crd_team_run(const crd_sweep *sweep, const crd_team_work *work, crd_tally *tally);

#endif
