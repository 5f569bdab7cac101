/* Classes and boxes of a project, as view.json keeps them. */
#ifndef CRD_VIEW_LABELS_CLASSES_H
#define CRD_VIEW_LABELS_CLASSES_H

#include "base/text.h"
#include "view/project.h"

/* Both as JSON lists: what is kept, or what a project begins with. */
crd_status crd_classes_write(crd_project *project, crd_text *out);
crd_status crd_boxes_write(crd_project *project, crd_text *out);

/* Checks a list of classes: CRD_ERR_ARGUMENT with a sentence. */
crd_status crd_classes_check(const cJSON *list);

typedef enum crd_box_role { CRD_BOX_TRAIN, CRD_BOX_CHECK, CRD_BOX_EXAM, CRD_BOX_ROLES } crd_box_role;

/* *number: of the new box. */
crd_status crd_boxes_add(crd_project *project, const char *role, const crd_box *box, int64_t *number);
/* *there: was there one of that number? */
crd_status crd_boxes_remove(crd_project *project, int64_t number, bool *there);
/* Does a box touch one that is held out (check, exam)? */
crd_status crd_boxes_held_out(crd_project *project, const crd_box *box, bool *touched);

#endif
