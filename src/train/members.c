#include "train/members.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/monitor.h"

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
        CRD_PASS(crd_member_open(m));
        CRD_PASS(crd_member_train(m));
        if (i + 1 < members) crd_member_close(m);
    }
    return CRD_OK;
}

crd_status crd_members_train(crd_train_run *r)
{
    r->at_once = 1;
    for (int64_t i = 0; i < r->options->members; i++) r->members[i].done = r->members[i].resumed_at;
    return train_in_turn(r);
}
