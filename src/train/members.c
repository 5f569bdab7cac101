#include "train/members.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "base/monitor.h"
#include "base/queue.h"
#include "train/relay.h"

/* --- who speaks ------------------------------------------------------------------------------------------------- */

static void pass_message(void *context, crd_level level, const char *text)
{
    const crd_member *m = context;
    char sentence[1100];
    if (m->outer == NULL || m->outer->message == NULL) return;
    snprintf(sentence, sizeof sentence, "member %" PRId64 " of %" PRId64 ": %s", m->number + 1,
             m->run->options->members, text);
    m->outer->message(m->outer->context, level, sentence);
}

/* Steps of all members count. */
static bool pass_progress(void *context, const crd_progress *progress)
{
    crd_member *m = context;
    const int64_t members = m->run->options->members;
    crd_progress all = *progress;
    char note[160];
    atomic_store(&m->done, progress->done);
    if (m->outer == NULL || m->outer->progress == NULL) return true;
    snprintf(note, sizeof note, "member %" PRId64 " of %" PRId64 "%s%s", m->number + 1, members,
             progress->note != NULL ? ", " : "", progress->note != NULL ? progress->note : "");
    all.note = note;
    all.total = members * progress->total;
    all.done = 0;
    for (int64_t i = 0; i < members; i++) all.done += atomic_load(&m->run->members[i].done);
    return m->outer->progress(m->outer->context, &all);
}

static void watch(crd_member *m, const crd_monitor *outer)
{
    static const crd_monitor silent = {0};
    m->outer = outer;
    if (m->run->options->members > 1) {
        m->monitor = (crd_monitor){.context = m, .message = pass_message, .progress = pass_progress};
    } else {
        m->monitor = outer != NULL ? *outer : silent;
    }
}

/* --- one after the other ---------------------------------------------------------------------------------------- */

static crd_status train_in_turn(crd_train_run *r)
{
    const int64_t members = r->options->members;
    for (int64_t i = 0; i < members; i++) {
        crd_member *m = &r->members[i];
        watch(m, r->monitor);
        if (m->trainer == NULL) CRD_PASS(crd_member_open(m));
        CRD_PASS(crd_member_train(m));
        if (i + 1 < members) crd_member_close(m);
    }
    return CRD_OK;
}

/* --- side by side ----------------------------------------------------------------------------------------------- */

typedef struct crew {
    crd_train_run *run;
    crd_relay *relay;
    pthread_mutex_t lock;
    crd_error cause; /* of the first failure, which isn't that another one ended all */
} crew;

/* The first that fit at the same time; of those that don't there is at least one less. */
static crd_status open_together(crd_train_run *r)
{
    for (int64_t i = 0; i < r->at_once; i++) {
        crd_member *m = &r->members[i];
        watch(m, r->monitor);
        const crd_status status = crd_member_open(m);
        if (status == CRD_ERR_MEMORY && i > 0) {
            crd_member_close(m);
            r->at_once = i;
        } else {
            CRD_PASS(status);
        }
    }
    return CRD_OK;
}

/* One failure ends all; the others leave checkpoints. */
static crd_status train_one(void *context, int64_t item, int thread)
{
    (void)thread;
    crew *c = context;
    crd_member *m = &c->run->members[item];
    crd_status status = CRD_OK;
    watch(m, crd_relay_monitor(c->relay));
    if (m->trainer == NULL) status = crd_member_open(m);
    if (status == CRD_OK) status = crd_member_train(m);
    if (status != CRD_OK) {
        pthread_mutex_lock(&c->lock);
        if (status != CRD_ERR_CANCELLED && c->cause.status == CRD_OK) c->cause = *crd_last_error();
        pthread_mutex_unlock(&c->lock);
        crd_relay_stop(c->relay);
    }
    if (item + 1 < c->run->options->members) crd_member_close(m);
    return status;
}

static crd_status train_together(crd_train_run *r)
{
    enum { MILLISECONDS = 50 };
    crd_status status = CRD_OK;
    crd_queue *queue = NULL;
    crew c = {.run = r};
    const int64_t members = r->options->members;
    const crd_queue_plan plan = {
        .what = "trains a member", .threads = (int)r->at_once, .context = &c, .work = train_one};
    pthread_mutex_init(&c.lock, NULL);
    CRD_TRY(crd_relay_open(r->monitor, &c.relay));
    CRD_TRY(crd_queue_open(&plan, &queue));
    crd_queue_allow(queue, members);
    while (!crd_queue_wait_a_while(queue, members, MILLISECONDS)) crd_relay_pass(c.relay);
    status = crd_queue_wait(queue, members);
done:
    crd_queue_close(&queue); /* waits for those that are stopped, too */
    if (c.relay != NULL) crd_relay_pass(c.relay);
    crd_relay_close(&c.relay);
    pthread_mutex_destroy(&c.lock);
    if (c.cause.status != CRD_OK) status = crd_error_adopt(&c.cause);
    for (int64_t i = 0; i < members; i++) watch(&r->members[i], r->monitor);
    return status;
}

/* How many members a device takes at a time: as many as have the voxels of a mini-batch that fills it. Processes of a
 * job and several GPUs share each mini-batch already, and a CPU's cores share each convolution. */
int64_t crd_members_at_once(const crd_train_run *r)
{
    enum { FILLING = 8000000, MOST = 8 };
    const crd_train_options *o = r->options;
    const int64_t voxels = o->batch * o->chunk[0] * o->chunk[1] * o->chunk[2];
    int64_t count = FILLING / voxels < MOST ? FILLING / voxels : MOST;
    if (r->plan.backend->on_host || r->plan.device.device_count > 1) count = 1;
    if (o->at_once > 0) count = o->at_once;
    if (crd_dist_size(r->dist) > 1) count = 1; /* whose collective steps have one order */
    count = count < o->members ? count : o->members;
    return count > 1 ? count : 1;
}

crd_status crd_members_train(crd_train_run *r, int64_t at_once)
{
    r->at_once = at_once;
    for (int64_t i = 0; i < r->options->members; i++) r->members[i].done = r->members[i].resumed_at;
    if (r->at_once > 1) CRD_PASS(open_together(r));
    return r->at_once > 1 ? train_together(r) : train_in_turn(r);
}
