/* Inside src/measure: what a measurement works with, from the options on. */
#ifndef CRD_MEASURE_JOB_H
#define CRD_MEASURE_JOB_H

#include "dist/dist.h"
#include "measure/pass.h"
#include "measure/properties.h"
#include "measure/slow.h"

/* All that a measurement works with. */
typedef struct crd_measure_job {
    const crd_measure_options *options;
    const crd_monitor *monitor;
    crd_dist *dist; /* the processes that share the work */
    crd_pool *pool;
    crd_realisations *realisations;
    const crd_realisations_info *info;
    unsigned wanted;
    double percent[2];
    int64_t *phases;
    int64_t phase_count;
    int64_t *lags;
    int64_t lag_count;
    int64_t memory_bytes;
    double conductivity[CRD_PHASES_MAX]; /* of each phase, by its number, */
    bool conducts;                       /* where it was said */
    crd_measure_device device;           /* of transport */
    bool labelled;                       /* the label is measured with the rest, over labelled voxels alone */
    char *files;                         /* that are measured, as they were at the beginning */
    crd_journal *journal;                /* of a run; NULL: there is none */
} crd_measure_job;

/* `options` and `monitor` are set: opens the input and settles the rest. */
crd_status crd_job_open(crd_measure_job *job);
void crd_job_close(crd_measure_job *job);

/* What the first pass counts, and what the slow ones go by; `phase` and `axes` of the latter aren't set. */
crd_pass_plan crd_job_first_plan(const crd_measure_job *job);
crd_slow_plan crd_job_slow_plan(const crd_measure_job *job);

static inline bool crd_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

#endif
