/* The command of a job: what the user chose, and what only the server may say: scan, labels, model, output. */
#ifndef CRD_VIEW_COMMAND_H
#define CRD_VIEW_COMMAND_H

#include "view/jobs/job.h"

typedef struct crd_view crd_view;

/* Labels of a training: a snapshot in the project, or the file that the viewer was given. */
typedef enum crd_label_source { CRD_LABEL_NONE, CRD_LABEL_PAINTED, CRD_LABEL_FILE } crd_label_source;
crd_label_source crd_label_source_of(crd_view *view);

/* Before it starts: the labels as they are now, in the job's folder. */
crd_status crd_command_labels(crd_view *view, const crd_job *job, const char *folder);
/* Fills the job's words; its folder is known. A model lies in the project ("@/iterations/001/model.h5"), or is the file
 * that the viewer was given; `init` NULL: none. */
crd_status crd_command_train(crd_view *view, const crd_wishes *wishes, const char *init, crd_job *job);
crd_status crd_command_predict(crd_view *view, const crd_wishes *wishes, const char *model, crd_job *job);

#endif
