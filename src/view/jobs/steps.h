/* A job of several steps, a process for each: an exam (view/jobs/scoring.h), or a prediction of several boxes, each of
 * which is a run in the job's folder. A job without parts is one step. */
#ifndef CRD_VIEW_STEPS_H
#define CRD_VIEW_STEPS_H

#include "view/jobs/job.h"

typedef struct crd_view crd_view;

/* The parts of a prediction of all held-out boxes. */
crd_status crd_steps_held_out(crd_view *view, crd_job *job);
int64_t crd_steps_count(const crd_job *job);
/* The words of the step that the job is at. */
crd_status crd_steps_words(crd_view *view, crd_job *job);
/* A step of a prediction is done: its run is shown. */
crd_status crd_steps_show(crd_view *view, const crd_job *job, int64_t step);
/* Shows all that is there. */
crd_status crd_steps_show_all(crd_view *view, const crd_job *job);
/* After the last one. */
crd_status crd_steps_end(crd_view *view, const crd_job *job);

#endif
