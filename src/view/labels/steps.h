/* The list of what was done, undone and redone, and what can be: kept in memory, made from the journal. */
#ifndef CRD_VIEW_LABELS_STEPS_H
#define CRD_VIEW_LABELS_STEPS_H

#include "view/labels/journal.h"
#include "view/labels/operation.h"

typedef struct crd_step {
    int64_t number, target; /* target: of what an undo or a redo is about; an operation's own number */
    int64_t offset, length; /* in the journal */
    crd_record_kind kind;
    char id[CRD_PAINT_ID];
} crd_step;

/* Begins as {0}. */
typedef struct crd_steps {
    crd_step *items;
    int64_t count, room;
    int64_t *done, *undone; /* numbers of operations; what the journal has forgotten is -number - 1 */
    int64_t done_count, undone_count, stack_room;
} crd_steps;

void crd_steps_free(crd_steps *steps);
crd_status crd_steps_add(crd_steps *steps, const crd_step *step);
/* Forgets all but the first `count`, or all before the item `first`, whose bytes moved to the front. */
void crd_steps_cut(crd_steps *steps, int64_t count);
void crd_steps_forget(crd_steps *steps, int64_t first, int64_t moved);
/* NULL: there is none. */
const crd_step *crd_steps_by_number(const crd_steps *steps, int64_t number);
const crd_step *crd_steps_by_id(const crd_steps *steps, const char *id);
/* The operation that an undo or a redo would be about; -1: none. */
int64_t crd_steps_to_undo(const crd_steps *steps);
int64_t crd_steps_to_redo(const crd_steps *steps);
/* How many there are, until one that is forgotten. */
int64_t crd_steps_undo_count(const crd_steps *steps);
int64_t crd_steps_redo_count(const crd_steps *steps);
bool crd_steps_is_undone(const crd_steps *steps, int64_t number);

#endif
