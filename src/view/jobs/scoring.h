/* Judging a model: every exam box is predicted and validated, a process for each step of that; their figures become the
 * score of the model's iteration. */
#ifndef CRD_VIEW_SCORING_H
#define CRD_VIEW_SCORING_H

#include "view/jobs/job.h"

typedef struct crd_view crd_view;

/* Before it starts: the boxes and their labels, in the job's folder. */
crd_status crd_scoring_begin(crd_view *view, crd_job *job, const char *folder);
/* The words of the step that the job is at. */
crd_status crd_scoring_words(crd_view *view, crd_job *job);
int64_t crd_scoring_steps(const crd_job *job);
/* After the last one: score.json of the iteration. */
crd_status crd_scoring_end(const char *project, const crd_job *job);

#endif
