/* The command of a job: what the user chose, and what only the server may say: scan, labels, model, output. */
#ifndef CRD_VIEW_COMMAND_H
#define CRD_VIEW_COMMAND_H

#include "view/jobs/job.h"

typedef struct crd_view crd_view;

/* Is there a label to learn from: painted, or one that the viewer was given? */
bool crd_command_trainable(crd_view *view);

/* Fills the job's words from the rest of it: its folder, its model ("@/iterations/001/model.h5" in the project, or the
 * file that the viewer was given), and what was chosen. */
crd_status crd_command_train(crd_view *view, crd_job *job);
crd_status crd_command_predict(crd_view *view, crd_job *job);
/* Predicts a box as the run of that name in the job's folder. */
crd_status crd_command_box(crd_view *view, crd_job *job, const char *box, const char *format, const char *run);
/* A step of an exam: validates such a run. */
crd_status crd_command_validate(const crd_view *view, crd_job *job, const char *run);

#endif
