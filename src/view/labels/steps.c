#include "view/labels/steps.h"

#include <string.h>

#include "base/memory.h"

void crd_steps_free(crd_steps *steps)
{
    crd_free(&steps->items);
    crd_free(&steps->done);
    crd_free(&steps->undone);
    *steps = (crd_steps){0};
}

static crd_status grow(void *array, int64_t count, int64_t room, size_t size)
{
    void *more = NULL, **old = array;
    CRD_PASS(crd_alloc(room, size, "the list of operations", &more));
    if (count > 0) memcpy(more, *old, (size_t)count * size);
    crd_free_untyped(old);
    *old = more;
    return CRD_OK;
}

/* What is forgotten: only that it was. */
static int64_t known(const crd_steps *s, int64_t number)
{
    return crd_steps_by_number(s, number) != NULL ? number : -number - 1;
}

static void apply(crd_steps *s, const crd_step *step)
{
    if (step->kind == CRD_RECORD_DONE) {
        s->done[s->done_count++] = step->number;
        s->undone_count = 0;
    } else if (step->kind == CRD_RECORD_UNDONE) {
        if (s->done_count > 0) s->done_count--;
        s->undone[s->undone_count++] = known(s, step->target);
    } else if (step->kind == CRD_RECORD_REDONE) {
        if (s->undone_count > 0) s->undone_count--;
        s->done[s->done_count++] = known(s, step->target);
    }
}

crd_status crd_steps_add(crd_steps *s, const crd_step *step)
{
    if (s->count == s->room) {
        const int64_t room = s->room > 0 ? s->room * 2 : 64;
        CRD_PASS(grow(&s->items, s->count, room, sizeof *s->items));
        s->room = room;
    }
    if (s->count + 1 > s->stack_room) {
        CRD_PASS(grow(&s->done, s->done_count, s->room, sizeof *s->done));
        CRD_PASS(grow(&s->undone, s->undone_count, s->room, sizeof *s->undone));
        s->stack_room = s->room;
    }
    s->items[s->count++] = *step;
    apply(s, step);
    return CRD_OK;
}

static void apply_all(crd_steps *s)
{
    s->done_count = s->undone_count = 0;
    for (int64_t i = 0; i < s->count; i++) apply(s, &s->items[i]);
}

void crd_steps_cut(crd_steps *s, int64_t count)
{
    s->count = count;
    apply_all(s);
}

void crd_steps_forget(crd_steps *s, int64_t first, int64_t moved)
{
    s->count -= first;
    memmove(s->items, s->items + first, (size_t)s->count * sizeof *s->items);
    for (int64_t i = 0; i < s->count; i++) s->items[i].offset -= moved;
    apply_all(s);
}

/* Numbers rise. */
const crd_step *crd_steps_by_number(const crd_steps *s, int64_t number)
{
    int64_t low = 0, high = s->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (s->items[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < s->count && s->items[low].number == number ? &s->items[low] : NULL;
}

const crd_step *crd_steps_by_id(const crd_steps *s, const char *id)
{
    if (id[0] == '\0') return NULL;
    for (int64_t i = s->count - 1; i >= 0; i--) {
        if (strcmp(s->items[i].id, id) == 0) return &s->items[i];
    }
    return NULL;
}

static int64_t top(const int64_t *stack, int64_t count)
{
    return count > 0 && stack[count - 1] >= 0 ? stack[count - 1] : -1;
}

static int64_t known_count(const int64_t *stack, int64_t count)
{
    int64_t i = count;
    while (i > 0 && stack[i - 1] >= 0) i--;
    return count - i;
}

int64_t crd_steps_to_undo(const crd_steps *s)
{
    return top(s->done, s->done_count);
}

int64_t crd_steps_to_redo(const crd_steps *s)
{
    return top(s->undone, s->undone_count);
}

int64_t crd_steps_undo_count(const crd_steps *s)
{
    return known_count(s->done, s->done_count);
}

int64_t crd_steps_redo_count(const crd_steps *s)
{
    return known_count(s->undone, s->undone_count);
}

bool crd_steps_is_undone(const crd_steps *s, int64_t number)
{
    for (int64_t i = 0; i < s->undone_count; i++) {
        if (s->undone[i] == number) return true;
    }
    return false;
}
