/* Classes of a project, as view.json keeps them. */
#ifndef CRD_VIEW_LABELS_CLASSES_H
#define CRD_VIEW_LABELS_CLASSES_H

#include "base/text.h"
#include "view/project.h"

/* As a JSON list: what is kept, or what a project begins with. */
crd_status crd_classes_write(crd_project *project, crd_text *out);

/* Checks a list of classes: CRD_ERR_ARGUMENT with a sentence. */
crd_status crd_classes_check(const cJSON *list);

#endif
