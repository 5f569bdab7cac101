#include "train/saver.h"

#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/queue.h"

enum { BEST, CHECKPOINT, KINDS }; /* in the order in which they are written */

typedef struct snapshot {
    crd_trainer_state state; /* of the best only the parameters */
    crd_train_progress progress;
} snapshot;

struct crd_saver {
    crd_saver_plan plan;
    crd_queue *queue; /* an item is a state that was handed over; whatever waits is written */
    int64_t given;    /* items */
    pthread_mutex_t mutex;
    snapshot waiting[KINDS]; /* guarded by the mutex, as is_waiting */
    bool is_waiting[KINDS];
    snapshot written[KINDS]; /* at work, by the thread */
    void *memory;
};

static void take_snapshot(crd_arena *arena, int64_t count, bool moments, snapshot *out)
{
    out->state.count = count;
    out->state.parameters = crd_arena_take(arena, count, sizeof(float));
    out->state.m = crd_arena_take(arena, moments ? count : 0, sizeof(float));
    out->state.v = crd_arena_take(arena, moments ? count : 0, sizeof(float));
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_saver *saver = owner;
    for (int kind = 0; kind < KINDS; kind++) {
        const int64_t count = saver->plan.model->net.model.total;
        take_snapshot(arena, count, kind == CHECKPOINT, &saver->waiting[kind]);
        take_snapshot(arena, count, kind == CHECKPOINT, &saver->written[kind]);
    }
}

/* What waits becomes what is written, of both kinds at once: a best state that came later would put the checkpoint off,
 * again and again. */
static void take(crd_saver *saver, bool *taken)
{
    pthread_mutex_lock(&saver->mutex);
    for (int kind = 0; kind < KINDS; kind++) {
        taken[kind] = saver->is_waiting[kind];
        if (!taken[kind]) continue;
        const snapshot other = saver->waiting[kind];
        saver->waiting[kind] = saver->written[kind];
        saver->written[kind] = other;
        saver->is_waiting[kind] = false;
    }
    pthread_mutex_unlock(&saver->mutex);
}

static crd_status write_next(void *context, int64_t item, int thread)
{
    (void)item;
    (void)thread;
    crd_saver *saver = context;
    const crd_saver_plan *plan = &saver->plan;
    crd_model model = *plan->model;
    bool taken[KINDS];
    take(saver, taken); /* nothing, where an item before this one has written it */
    if (taken[BEST]) {
        model.parameters = saver->written[BEST].state.parameters;
        CRD_PASS(crd_model_save(&model, plan->best_path));
    }
    if (!taken[CHECKPOINT]) return CRD_OK;
    const snapshot *s = &saver->written[CHECKPOINT];
    model.parameters = s->state.parameters;
    CRD_PASS(crd_log_flush(plan->log));
    return crd_checkpoint_save(plan->checkpoint_path, &model, &s->state, &s->progress, plan->identity);
}

crd_status crd_saver_open(const crd_saver_plan *plan, crd_saver **out)
{
    crd_status status = CRD_OK;
    crd_saver *saver = NULL;
    *out = NULL;
    CRD_PASS(crd_alloc(1, sizeof *saver, "the states to be saved", &saver));
    saver->plan = *plan;
    pthread_mutex_init(&saver->mutex, NULL);
    CRD_TRY(crd_arena_carve(lay_out, saver, "the states to be saved", &saver->memory));
    CRD_TRY(crd_queue_open(
        &(crd_queue_plan){.what = "saves the training", .threads = 1, .context = saver, .work = write_next},
        &saver->queue));
    *out = saver;
    saver = NULL;
done:
    crd_saver_close(&saver);
    return status;
}

void crd_saver_close(crd_saver **pointer)
{
    crd_saver *saver = *pointer;
    if (saver == NULL) return;
    if (saver->queue != NULL) {
        const crd_error told = *crd_last_error(); /* why the training ends stays what is told */
        if (crd_queue_wait(saver->queue, saver->given) != CRD_OK) (void)crd_error_adopt(&told);
    }
    crd_queue_close(&saver->queue);
    pthread_mutex_destroy(&saver->mutex);
    crd_free(&saver->memory);
    crd_free(pointer);
}

crd_status crd_saver_look(crd_saver *saver)
{
    if (!crd_queue_wait_a_while(saver->queue, saver->given, 0)) return CRD_OK;
    return crd_queue_wait(saver->queue, saver->given);
}

crd_status crd_saver_wait(crd_saver *saver)
{
    return crd_queue_wait(saver->queue, saver->given);
}

static crd_status give(crd_saver *saver, int kind, const crd_trainer_state *state, const crd_train_progress *progress)
{
    const size_t bytes = (size_t)saver->plan.model->net.model.total * sizeof(float);
    CRD_PASS(crd_saver_look(saver));
    pthread_mutex_lock(&saver->mutex);
    snapshot *to = &saver->waiting[kind];
    memcpy(to->state.parameters, state->parameters, bytes);
    if (kind == CHECKPOINT) {
        memcpy(to->state.m, state->m, bytes);
        memcpy(to->state.v, state->v, bytes);
        to->state.steps = state->steps;
        to->progress = *progress;
    }
    saver->is_waiting[kind] = true;
    pthread_mutex_unlock(&saver->mutex);
    crd_queue_allow(saver->queue, ++saver->given);
    return CRD_OK;
}

crd_status crd_saver_best(crd_saver *saver, const float *parameters)
{
    return give(saver, BEST, &(crd_trainer_state){.parameters = (float *)parameters}, NULL);
}

crd_status crd_saver_checkpoint(crd_saver *saver, const crd_trainer_state *state, const crd_train_progress *progress)
{
    return give(saver, CHECKPOINT, state, progress);
}
