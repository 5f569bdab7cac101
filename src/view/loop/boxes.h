/* Boxes of a project, as view.json keeps them: to train on, to check on while training, for the exam. */
#ifndef CRD_VIEW_LOOP_BOXES_H
#define CRD_VIEW_LOOP_BOXES_H

#include "base/text.h"
#include "view/project.h"

typedef enum crd_box_role { CRD_BOX_TRAIN, CRD_BOX_CHECK, CRD_BOX_EXAM, CRD_BOX_ROLES } crd_box_role;
extern const char *const crd_box_roles[CRD_BOX_ROLES];

typedef struct crd_kept_box {
    int64_t number;
    crd_box_role role;
    crd_box box;
    bool used; /* a training has left it out, or a model was judged on it: its place stays held out without it */
} crd_kept_box;

/* "train" ...; CRD_BOX_ROLES: none of them. `word` may be NULL. */
crd_box_role crd_box_role_of(const char *word);
bool crd_boxes_touch(const crd_box *a, const crd_box *b);

/* As a JSON list. */
crd_status crd_boxes_write(crd_project *project, crd_text *out);
/* *out is freed with crd_free. */
crd_status crd_boxes_read(crd_project *project, crd_kept_box **out, int64_t *count);
/* Replaces all of them, on the disk as well. */
crd_status crd_boxes_keep(crd_project *project, const crd_kept_box *boxes, int64_t count);
/* *number: of the new box. */
crd_status crd_boxes_add(crd_project *project, crd_box_role role, const crd_box *box, int64_t *number);
/* Does a box touch one that is held out (check, exam)? */
crd_status crd_boxes_held_out(crd_project *project, const crd_box *box, bool *touched);

#endif
