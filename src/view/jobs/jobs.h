/* The jobs of a project: one runs at a time, all are kept in iterations/NNN. A training makes an iteration; a
 * prediction belongs to that of its model (000: the model that the viewer was given), as iterations/NNN/runs/N, and so
 * does an exam, as iterations/NNN/exam/N. */
#ifndef CRD_VIEW_JOBS_H
#define CRD_VIEW_JOBS_H

#include "view/jobs/job.h"

typedef struct crd_view crd_view;
typedef struct crd_jobs crd_jobs;

/* Finds what the project has; one that still runs is followed, as if this server had started it. */
crd_status crd_jobs_open(crd_view *view);
/* A job that runs goes on. */
void crd_jobs_close(crd_jobs **jobs);

/* Takes the place of nothing: CRD_ERR_BUSY while one runs. */
crd_status crd_jobs_start(crd_view *view, const crd_wishes *wishes, int64_t *number);
crd_status crd_jobs_resume(crd_view *view, int64_t number);
/* What a prediction of earlier made is shown, too. */
crd_status crd_jobs_show(crd_view *view, int64_t number);
/* Asks it to end in good order, and sees to it that it does. One that has ended is fine. */
crd_status crd_jobs_cancel(crd_view *view, int64_t number);
/* What it would take: JSON. */
crd_status crd_jobs_plan(crd_view *view, const crd_wishes *wishes, crd_text *text);

/* From the thread that follows: what has been said, who has ended. */
void crd_jobs_look(crd_view *view);

/* Is there such a job? */
bool crd_jobs_known(crd_jobs *jobs, int64_t number);
/* As JSON; number 0: the latest, or null. */
void crd_jobs_describe(crd_view *view, int64_t number, crd_text *text);
/* All iterations, as a list of JSON; the loop that goes on now, and whether a training from scratch is due. */
crd_status crd_jobs_iterations(crd_view *view, crd_text *text);
/* The log from a byte on, `most` bytes of it at most; *out to be freed with crd_free. */
crd_status crd_jobs_log(crd_view *view, int64_t number, int64_t from, int64_t most, char **out, int64_t *count);
/* The number of the one that runs, its process and what it does; 0: none does. */
int64_t crd_jobs_running(crd_jobs *jobs, int64_t *process, crd_job_kind *kind);

#endif
