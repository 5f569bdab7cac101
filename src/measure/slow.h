/* Inside src/measure: properties that take a pass for every realisation. */
#ifndef CRD_MEASURE_SLOW_H
#define CRD_MEASURE_SLOW_H

#include "dist/dist.h"
#include "measure/device.h"
#include "measure/journal.h"
#include "measure/results.h"

typedef struct crd_slow_plan {
    crd_realisations *realisations;
    int64_t phase;              /* its number */
    const double *conductivity; /* of transport: what each phase conducts, by its number; NULL: `phase` alone does */
    int64_t samples;            /* the first so many are taken, beside the segmentation */
    int64_t memory_bytes;
    bool axes[3];                     /* of transport */
    double tolerance;                 /* of its solver */
    bool fast;                        /* on cells of 2x2x2 voxels although voxels would fit */
    const crd_measure_device *device; /* of transport, where that fits; NULL: the CPU */
    crd_pool *pool;
    crd_dist *dist;             /* processes that share the realisations; NULL: one alone */
    const crd_journal *journal; /* of what is finished; NULL: none */
    const crd_monitor *monitor;
} crd_slow_plan;

/* Local thickness of a phase: mean, deviation, median, maximum, distribution. */
crd_status crd_slow_thickness(const crd_slow_plan *plan, crd_measurement *m);
/* Effective diffusivity, tortuosity factor, formation factor along the axes. Where voxels don't fit into memory cells
 * of 2x2x2 are taken, and corrected by windows of voxels. */
crd_status crd_slow_transport(const crd_slow_plan *plan, crd_measurement *m);

/* Is the realisation of that turn computed here? And, when all are, `count` numbers of every bit, of which each was
 * computed where its turn was: all processes have all of them then. `turns` has the turn of a bit; -1: nobody's. */
bool crd_slow_mine(const crd_slow_plan *plan, int64_t turn);
crd_status crd_slow_share(const crd_slow_plan *plan, double *values, int64_t count, const int64_t *turns);

/* "first 3 of 48 realisations" for a table, or "" where all are taken. */
void crd_slow_note_samples(const crd_slow_plan *plan, char *note, size_t size);

/* Bytes that local thickness takes, as far as they are known beforehand. */
int64_t crd_slow_thickness_bytes(const crd_realisations_info *info, int64_t memory_bytes);
/* Bytes that transport takes on voxels (cell 1) or on cells of 2x2x2, of one phase or of several
 * that conduct differently. */
int64_t crd_slow_transport_bytes(const crd_realisations_info *info, int cell, bool conductivity);

/* How transport is computed: on voxels, or on coarse cells times a ratio, of the segmentation's or of windows of each.
 */
typedef enum crd_slow_method { CRD_ON_VOXELS, CRD_BY_SEGMENTATION, CRD_BY_WINDOWS } crd_slow_method;
typedef struct crd_slow_way {
    crd_slow_method method;
    int64_t window;       /* voxels along the edge of those windows */
    bool on_device;       /* on the plan's, not on the CPU */
    int64_t bytes;        /* of this machine's memory, */
    int64_t device_bytes; /* and of the device's */
    char instead[160];    /* why the CPU solves it although there is a device, for people; "" otherwise */
} crd_slow_way;
/* Collective. */
crd_status crd_slow_transport_way(const crd_slow_plan *plan, crd_slow_way *out);

#endif
