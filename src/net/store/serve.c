/* The helper's side of a store, and what the helper does at all. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/hdf5/sandbox.h"
#include "base/hdf5/serving.h"
#include "base/memory.h"
#include "credence/volume.h"
#include "net/store/apart.h"
#include "volume/hdf5/remote.h"

void crd_store_mark(char mark[CRD_HELPER_MARK])
{
    crd_helper_mark(
        "store", (const size_t[]){sizeof(crd_store_opening), sizeof(crd_store_order), sizeof(crd_store_reply)}, mark);
}

static bool is_text(const char *text, size_t room)
{
    return memchr(text, '\0', room) != NULL;
}

/* The text stays in the shared memory if it fits, and has no NUL there. */
static crd_status answer_text(crd_store *store, const crd_store_order *o, char *window, crd_store_reply *reply)
{
    char *text = NULL;
    CRD_PASS(crd_store_get_text(store, o->group, o->name, &text));
    reply->value = (int64_t)strlen(text);
    if (reply->value > 0 && reply->value <= o->window) memcpy(window, text, (size_t)reply->value);
    crd_free(&text);
    return CRD_OK;
}

static crd_status obey(crd_store *store, const crd_store_order *o, crd_store_reply *reply)
{
    char *window = NULL;
    void *to;
    if (!is_text(o->group, sizeof o->group) || !is_text(o->name, sizeof o->name) ||
        !is_text(o->needed_by, sizeof o->needed_by) || o->rank < 0 || o->rank > CRD_STORE_RANK) {
        return crd_fail(CRD_ERR_INTERNAL, "credence-hdf5 was asked what it doesn't know");
    }
    if (o->window > 0) CRD_PASS(crd_serving_map(o->window, &window));
    to = window;
    switch (o->question) {
    case CRD_ASK_HAS:
        reply->value = crd_store_has(store, o->name);
        return CRD_OK;
    case CRD_ASK_HAS_ATTRIBUTE:
        reply->value = crd_store_has_attribute(store, o->group, o->name);
        return CRD_OK;
    case CRD_ASK_SHAPE:
        return crd_store_get_shape(store, o->name, o->rank, reply->shape);
    case CRD_ASK_FLOATS:
        return crd_store_get_floats(store, o->name, o->rank, o->shape, o->needed_by, to);
    case CRD_ASK_DOUBLES:
        return crd_store_get_doubles(store, o->name, o->rank, o->shape, o->needed_by, to);
    case CRD_ASK_HALVES:
        return crd_store_get_halves(store, o->name, o->rank, o->shape, o->needed_by, to);
    case CRD_ASK_INTEGERS:
        return crd_store_get_integers(store, o->name, o->count, o->needed_by, to);
    case CRD_ASK_TEXT:
        return answer_text(store, o, window, reply);
    case CRD_ASK_NUMBERS:
        return crd_store_get_numbers(store, o->group, o->name, o->count, to);
    case CRD_ASK_REALS:
        return crd_store_get_reals(store, o->group, o->name, o->count, to);
    }
    return crd_fail(CRD_ERR_INTERNAL, "credence-hdf5 was asked what it doesn't know");
}

static int serve_store(void)
{
    static crd_store_opening opening;
    crd_store_order order;
    crd_store *store = NULL;
    if (!crd_serving_take(&opening, sizeof opening) || !is_text(opening.path, sizeof opening.path)) return 2;
    crd_sandbox_enter(opening.data_limit);
    const crd_status status = crd_store_take(CRD_HELPER_FILE, opening.length, opening.path, &store);
    if (!crd_serving_answer(status) || status != CRD_OK) return 0;
    while (crd_serving_take(&order, sizeof order)) {
        crd_store_reply reply = {0};
        const crd_status done = obey(store, &order, &reply);
        if (!crd_serving_answer(done)) return 0;
        if (done == CRD_OK && !crd_serving_send(&reply, sizeof reply)) return 0;
    }
    return 0;
}

/* Stopping is for the process that it works for. */
static void ignore_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) (void)signal(numbers[i], SIG_IGN);
}

int crd_hdf5_serve(void)
{
    char mark[CRD_HELPER_MARK], volume[CRD_HELPER_MARK], store[CRD_HELPER_MARK];
    ignore_signals();
    if (!crd_serving_take(mark, sizeof mark)) return 2;
    crd_hdf5_mark(volume);
    crd_store_mark(store);
    if (memcmp(mark, volume, sizeof mark) == 0) return crd_hdf5_serve_volume();
    return memcmp(mark, store, sizeof mark) == 0 ? serve_store() : CRD_HELPER_STRANGER;
}
