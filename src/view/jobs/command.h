/* The command of a job: what the user chose, and what only the server may say: scan, labels, model, output. */
#ifndef CRD_VIEW_COMMAND_H
#define CRD_VIEW_COMMAND_H

#include "view/jobs/job.h"

typedef struct crd_view crd_view;

/* Labels of a training: a snapshot in the project, or the file that the viewer was given. */
typedef enum crd_label_source { CRD_LABEL_NONE, CRD_LABEL_PAINTED, CRD_LABEL_FILE } crd_label_source;
crd_label_source crd_label_source_of(crd_view *view);

/* Fills the job's words from the rest of it: its folder, its model ("@/iterations/001/model.h5" in the project, or the
 * file that the viewer was given), and what was chosen. */
crd_status crd_command_train(crd_view *view, crd_job *job);
crd_status crd_command_predict(crd_view *view, crd_job *job);
/* Steps of an exam: predict a box as the run of that name, and validate it. */
crd_status crd_command_exam(crd_view *view, crd_job *job, const char *box, const char *run);
crd_status crd_command_validate(crd_job *job, const char *run);

#endif
