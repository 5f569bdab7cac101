/* What there is: counts, history, voxels. */
#include <string.h>

#include "base/memory.h"
#include "view/labels/labels_inside.h"

void crd_labels_describe(crd_labels *l, crd_labels_facts *out)
{
    pthread_mutex_lock(&l->lock);
    *out = (crd_labels_facts){.revision = l->revision,
                              .undo = crd_steps_undo_count(&l->steps),
                              .redo = crd_steps_redo_count(&l->steps),
                              .writable = l->ours || !crd_project_read_only(l->project),
                              .made = l->revision > 0 || l->kept};
    memcpy(out->counts, l->counts, sizeof out->counts);
    pthread_mutex_unlock(&l->lock);
}

int64_t crd_labels_revision(crd_labels *l)
{
    crd_labels_facts facts;
    crd_labels_describe(l, &facts);
    return facts.revision;
}

void crd_labels_counts(crd_labels *l, int64_t counts[CRD_PAINT_CLASSES])
{
    crd_labels_facts facts;
    crd_labels_describe(l, &facts);
    memcpy(counts, facts.counts, sizeof facts.counts);
}

bool crd_labels_empty(crd_labels *l)
{
    int64_t counts[CRD_PAINT_CLASSES], sum = 0;
    crd_labels_counts(l, counts);
    for (int k = 0; k < CRD_PAINT_CLASSES; k++) sum += counts[k];
    return sum == 0;
}

crd_status crd_labels_read(crd_labels *l, const crd_box *box, uint8_t *voxels)
{
    return crd_label_blocks_read(l->blocks, box, voxels);
}

crd_status crd_labels_visit(crd_labels *l,
                            crd_status (*visit)(void *context, const int64_t index[3], const uint8_t *voxels),
                            void *context)
{
    return crd_label_blocks_visit(l->blocks, visit, context);
}

static crd_status add_step(crd_labels *l, int64_t number, bool undone, crd_text *out)
{
    const crd_step *step = crd_steps_by_number(&l->steps, number);
    crd_record record;
    uint8_t *room = NULL;
    if (step == NULL) return CRD_OK;
    CRD_PASS(crd_label_journal_read(l->journal, step->offset, step->length, &room, &record));
    crd_text_print(out, "%s{\"number\":%lld,\"undone\":%s,\"about\":%s}", out->length > 1 ? "," : "", (long long)number,
                   undone ? "true" : "false", record.words);
    crd_free(&room);
    return CRD_OK;
}

crd_status crd_labels_history(crd_labels *l, int64_t from, int64_t most, crd_text *out)
{
    crd_status status = CRD_OK;
    crd_text list = {0};
    char *words = NULL;
    crd_text_add(&list, "[");
    pthread_mutex_lock(&l->lock);
    const crd_steps *s = &l->steps;
    const int64_t undone = crd_steps_redo_count(s), done = crd_steps_undo_count(s);
    for (int64_t i = from; i < from + most && i < undone + done; i++) {
        const bool ahead = i < undone; /* of undone ones the newest was undone first */
        const int64_t number =
            ahead ? s->undone[s->undone_count - undone + i] : s->done[s->done_count - 1 - (i - undone)];
        CRD_TRY(add_step(l, number, ahead, &list));
    }
    crd_text_add(&list, "]");
    CRD_TRY(crd_text_finish(&list, &words));
    crd_text_add(out, words);
done:
    pthread_mutex_unlock(&l->lock);
    crd_text_free(&list);
    crd_free(&words);
    return status;
}
