#include "train/relay.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* Messages are few: one an epoch and member. What doesn't fit waits for the caller's thread, until all ends. */
enum { MESSAGES = 64, TEXT = 1200, WORDS = 200 };

typedef struct message {
    crd_level level;
    char text[TEXT];
} message;

struct crd_relay {
    const crd_monitor *caller;
    crd_monitor monitor;
    pthread_mutex_t lock;
    pthread_cond_t room; /* for messages */
    message messages[MESSAGES];
    int count;
    crd_progress latest; /* its texts are those below */
    char stage[WORDS], unit[WORDS], note[WORDS];
    bool fresh, stop;
};

static void take_message(void *context, crd_level level, const char *text)
{
    crd_relay *relay = context;
    pthread_mutex_lock(&relay->lock);
    while (relay->count == MESSAGES && !relay->stop) pthread_cond_wait(&relay->room, &relay->lock);
    if (relay->count < MESSAGES) {
        message *to = &relay->messages[relay->count++];
        to->level = level;
        snprintf(to->text, sizeof to->text, "%s", text);
    }
    pthread_mutex_unlock(&relay->lock);
}

static bool take_progress(void *context, const crd_progress *progress)
{
    crd_relay *relay = context;
    pthread_mutex_lock(&relay->lock);
    if (!relay->fresh || progress->done >= relay->latest.done) { /* a bar doesn't go back */
        snprintf(relay->stage, sizeof relay->stage, "%s", progress->stage);
        snprintf(relay->unit, sizeof relay->unit, "%s", progress->unit);
        snprintf(relay->note, sizeof relay->note, "%s", progress->note != NULL ? progress->note : "");
        relay->latest = (crd_progress){relay->stage, relay->unit, progress->done, progress->total,
                                       progress->note != NULL ? relay->note : NULL};
        relay->fresh = true;
    }
    const bool go_on = !relay->stop;
    pthread_mutex_unlock(&relay->lock);
    return go_on;
}

crd_status crd_relay_open(const crd_monitor *caller, crd_relay **out)
{
    static const crd_monitor silent = {0};
    CRD_PASS(crd_alloc(1, sizeof **out, "messages between threads", out));
    crd_relay *relay = *out;
    relay->caller = caller != NULL ? caller : &silent;
    relay->monitor = (crd_monitor){.context = relay, .message = take_message, .progress = take_progress};
    pthread_mutex_init(&relay->lock, NULL);
    pthread_cond_init(&relay->room, NULL);
    return CRD_OK;
}

void crd_relay_close(crd_relay **relay)
{
    if (*relay == NULL) return;
    pthread_cond_destroy(&(*relay)->room);
    pthread_mutex_destroy(&(*relay)->lock);
    crd_free(relay);
}

const crd_monitor *crd_relay_monitor(const crd_relay *relay)
{
    return &relay->monitor;
}

void crd_relay_stop(crd_relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    relay->stop = true;
    pthread_cond_broadcast(&relay->room);
    pthread_mutex_unlock(&relay->lock);
}

/* The caller's callbacks run without the lock: they may take their time. */
static bool next_message(crd_relay *relay, int *told, message *out)
{
    pthread_mutex_lock(&relay->lock);
    const bool there = *told < relay->count;
    if (there) {
        *out = relay->messages[(*told)++];
    } else {
        relay->count = 0;
        pthread_cond_broadcast(&relay->room);
    }
    pthread_mutex_unlock(&relay->lock);
    return there;
}

void crd_relay_pass(crd_relay *relay)
{
    const crd_monitor *caller = relay->caller;
    message now;
    int told = 0;
    while (next_message(relay, &told, &now)) {
        if (caller->message != NULL) caller->message(caller->context, now.level, now.text);
    }
    char stage[WORDS], unit[WORDS], note[WORDS];
    pthread_mutex_lock(&relay->lock);
    const bool fresh = relay->fresh;
    crd_progress latest = relay->latest;
    memcpy(stage, relay->stage, sizeof stage);
    memcpy(unit, relay->unit, sizeof unit);
    memcpy(note, relay->note, sizeof note);
    relay->fresh = false;
    pthread_mutex_unlock(&relay->lock);
    if (!fresh || caller->progress == NULL) return;
    latest.stage = stage;
    latest.unit = unit;
    if (latest.note != NULL) latest.note = note;
    if (!caller->progress(caller->context, &latest)) crd_relay_stop(relay);
}
