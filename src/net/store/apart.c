#include "net/store/apart.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

enum { TEXT_MOST = 64 << 20 };

crd_status crd_store_apart_open(crd_store *store)
{
    crd_status status = CRD_OK;
    crd_store_opening *opening = NULL;
    char mark[CRD_HELPER_MARK];
    crd_store_mark(mark);
    CRD_TRY(crd_alloc(1, sizeof *opening, "a question", &opening));
    CRD_TRY(crd_helper_start(store->path, store->path, mark, &store->helper));
    (void)snprintf(opening->path, sizeof opening->path, "%s", store->path); /* a longer one is cut, in sentences only */
    opening->length = crd_helper_length(store->helper);
    opening->data_limit = crd_available_memory();
    CRD_TRY(crd_helper_ask(store->helper, opening, sizeof *opening, NULL, 0));
done:
    crd_free(&opening);
    if (status != CRD_OK) crd_helper_close(&store->helper);
    return status;
}

static crd_status ask(crd_store *store, crd_store_order *order, const char *group, const char *name,
                      crd_store_reply *reply)
{
    if (strlen(group) >= sizeof order->group || strlen(name) >= sizeof order->name) {
        return crd_fail(CRD_ERR_INTERNAL, "the name %s/%s is too long for a dataset", group, name);
    }
    (void)snprintf(order->group, sizeof order->group, "%s", group);
    (void)snprintf(order->name, sizeof order->name, "%s", name);
    order->window = crd_helper_window_bytes(store->helper);
    return crd_helper_ask(store->helper, order, sizeof *order, reply, sizeof *reply);
}

bool crd_store_apart_has(crd_store *store, crd_store_question question, const char *group, const char *name)
{
    crd_store_order order = {.question = question};
    crd_store_reply reply;
    if (ask(store, &order, group, name, &reply) == CRD_OK) return reply.value == 1;
    /* Only a helper that died fails here. That must not pass for a part that the file doesn't have. */
    if (store->lost.status == CRD_OK) store->lost = *crd_last_error();
    return false;
}

crd_status crd_store_apart_shape(crd_store *store, const char *name, int rank, int64_t *shape)
{
    crd_store_order order = {.question = CRD_ASK_SHAPE, .rank = rank};
    crd_store_reply reply;
    if (rank > CRD_STORE_RANK) return crd_fail(CRD_ERR_INTERNAL, "%s can't have %d dimensions", name, rank);
    CRD_PASS(ask(store, &order, "", name, &reply));
    memcpy(shape, reply.shape, (size_t)rank * sizeof *shape);
    return CRD_OK;
}

crd_status crd_store_apart_values(crd_store *store, crd_store_question question, const char *group, const char *name,
                                  int rank, const int64_t *shape, const char *needed_by, size_t bytes, void *values)
{
    crd_store_order order = {.question = question, .rank = rank};
    crd_store_reply reply;
    int64_t count = 1, total;
    if (rank > CRD_STORE_RANK) return crd_fail(CRD_ERR_INTERNAL, "%s can't have %d dimensions", name, rank);
    for (int axis = 0; axis < rank; axis++) {
        order.shape[axis] = shape[axis];
        CRD_PASS(crd_product(count, shape[axis], 1, &count));
    }
    CRD_PASS(crd_product(count, (int64_t)bytes, 1, &total));
    CRD_PASS(crd_store_check_claim(store, name, count, (uint64_t)crd_helper_length(store->helper)));
    order.count = count;
    (void)snprintf(order.needed_by, sizeof order.needed_by, "%s", needed_by);
    CRD_PASS(crd_helper_widen(store->helper, total));
    CRD_PASS(ask(store, &order, group, name, &reply));
    if (total > 0) memcpy(values, crd_helper_window(store->helper), (size_t)total);
    return CRD_OK;
}

/* Its length is known once it has been read; where the shared memory was too small for it, it is read again. */
crd_status crd_store_apart_text(crd_store *store, const char *group, const char *name, char **out)
{
    crd_store_order order = {.question = CRD_ASK_TEXT};
    crd_store_reply reply;
    *out = NULL;
    for (int tries = 0; tries < 2; tries++) {
        CRD_PASS(ask(store, &order, group, name, &reply));
        if (reply.value < 0 || reply.value > TEXT_MOST) break;
        if (reply.value <= crd_helper_window_bytes(store->helper)) {
            CRD_PASS(crd_alloc(reply.value + 1, 1, "an attribute's text", out));
            if (reply.value > 0) memcpy(*out, crd_helper_window(store->helper), (size_t)reply.value);
            return CRD_OK;
        }
        CRD_PASS(crd_helper_widen(store->helper, reply.value));
    }
    return crd_fail(CRD_ERR_FORMAT, "the attribute '%s' of %s can't be read; the file is damaged", name, store->path);
}
