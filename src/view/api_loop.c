/* The loop: boxes, proposals, beginning anew. */
#include <string.h>

#include "base/memory.h"
#include "view/view.h"

enum { COUNTED_VOXELS = 64 << 20, COUNTED_ONCE = 1 << 20 };

void crd_api_add_loop(crd_text *text, crd_view *view)
{
    crd_loop_facts facts;
    if (view->layers.items[0].kind != CRD_LAYER_SCAN || crd_loop_describe(view->loop, &facts) != CRD_OK) {
        crd_text_add(text, ",\"loop\":null");
        return;
    }
    crd_text_print(text,
                   ",\"loop\":{\"number\":%lld,\"seed\":%lld,\"size\":[%lld,%lld,%lld],\"exam\":%lld,\"check\":%lld,"
                   "\"next\":\"%s\"}",
                   (long long)facts.number, (long long)facts.seed, (long long)facts.size[0], (long long)facts.size[1],
                   (long long)facts.size[2], (long long)facts.exam, (long long)facts.check, crd_box_roles[facts.next]);
}

static void refuse(crd_response *response)
{
    crd_response_failed(response);
    if (crd_last_error()->status == CRD_ERR_BUSY) response->status = 409;
}

/* ---- boxes ---- */

/* Labelled voxels of a box, a few slices at a time. */
static crd_status count_labels(crd_view *view, const crd_box *box, int64_t *labelled)
{
    crd_status status = CRD_OK;
    const int64_t slice = box->size[1] * box->size[2];
    const int64_t deep = slice < COUNTED_ONCE ? COUNTED_ONCE / slice : 1;
    uint8_t *voxels = NULL;
    *labelled = 0;
    CRD_TRY(crd_alloc(deep * slice, 1, "labels", &voxels));
    for (int64_t z = 0; z < box->size[0]; z += deep) {
        crd_box part = *box;
        part.origin[0] += z;
        part.size[0] = box->size[0] - z < deep ? box->size[0] - z : deep;
        CRD_TRY(crd_labels_read(view->labels, &part, voxels));
        for (int64_t i = 0; i < part.size[0] * slice; i++) *labelled += voxels[i] != CRD_UNLABELLED;
    }
done:
    crd_free(&voxels);
    return status;
}

static crd_status add_box(crd_view *view, const crd_kept_box *box, crd_text *text)
{
    char words[CRD_BOX_WORDS];
    const int64_t voxels = box->box.size[0] * box->box.size[1] * box->box.size[2];
    int64_t labelled;
    crd_box_words(&box->box, words);
    crd_text_print(text, "{\"number\":%lld,\"role\":\"%s\",\"box\":\"%s\",\"used\":%s,\"voxels\":%lld,\"labelled\":",
                   (long long)box->number, crd_box_roles[box->role], words, box->used ? "true" : "false",
                   (long long)voxels);
    if (voxels > COUNTED_VOXELS) { /* it would take seconds, each time */
        crd_text_add(text, "null}");
        return CRD_OK;
    }
    CRD_PASS(count_labels(view, &box->box, &labelled));
    crd_text_print(text, "%lld}", (long long)labelled);
    return CRD_OK;
}

void crd_api_boxes(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_kept_box *boxes = NULL;
    crd_text text = {0};
    int64_t count = 0;
    (void)reader, (void)request;
    crd_text_add(&text, "{\"boxes\":[");
    crd_status status = crd_boxes_read(view->project, &boxes, &count);
    for (int64_t i = 0; i < count && status == CRD_OK; i++) {
        if (i > 0) crd_text_add(&text, ",");
        status = add_box(view, &boxes[i], &text);
    }
    crd_free(&boxes);
    if (status != CRD_OK) {
        crd_text_free(&text);
        crd_response_failed(response);
        return;
    }
    crd_text_add(&text, "]}\n");
    crd_response_json(response, 200, &text);
}

static void answer_box(crd_view *view, int64_t number, crd_box_role role, const crd_box *box, crd_response *response)
{
    crd_text text = {0};
    char words[CRD_BOX_WORDS];
    crd_box_words(box, words);
    crd_text_print(&text, "{\"number\":%lld,\"role\":\"%s\",\"box\":\"%s\"}\n", (long long)number, crd_box_roles[role],
                   words);
    crd_response_json(response, 201, &text);
    crd_view_tell_classes(view);
}

void crd_api_add_box(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_kept_box placed;
    crd_box box;
    int64_t number;
    (void)reader;
    if (!crd_api_may_write(view, response)) return;
    cJSON *body = crd_api_body(request);
    const crd_box_role role = crd_box_role_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "role")));
    const char *words = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "box"));
    const bool at_random = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(body, "held_out"));
    const bool good = role < CRD_BOX_ROLES && crd_request_box(words, view->layers.items[0].info.shape, &box);
    cJSON_Delete(body);
    if (at_random) {
        if (crd_loop_place(view->loop, &placed) != CRD_OK) {
            refuse(response);
        } else {
            answer_box(view, placed.number, placed.role, &placed.box, response);
        }
    } else if (!good) {
        crd_response_error(response, 400, "malformed",
                           "The body must be {\"held_out\":true}, or {\"role\":\"train\",\"box\":"
                           "\"z0:z1,y0:y1,x0:x1\"} inside the scan.");
    } else if (crd_loop_add(view->loop, role, &box, &number) != CRD_OK) {
        refuse(response);
    } else {
        answer_box(view, number, role, &box, response);
    }
}

void crd_api_remove_box(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_text text = {0};
    int64_t number = -1;
    bool there = false;
    (void)reader;
    if (!crd_api_may_write(view, response)) return;
    (void)crd_request_int(request->parts[3], 1, INT64_MAX, &number);
    if (number > 0 && crd_loop_remove(view->loop, number, &there) != CRD_OK) {
        refuse(response);
    } else if (!there) {
        crd_response_error(response, 404, "not_found", "There is no box of that number.");
    } else {
        crd_text_print(&text, "{\"number\":%lld}\n", (long long)number);
        crd_response_json(response, 200, &text);
        crd_view_tell_classes(view);
    }
}

/* ---- the loop itself ---- */

static void answer_loop(crd_view *view, crd_response *response)
{
    crd_text text = {0};
    char *words = NULL;
    crd_api_add_loop(&text, view);
    if (crd_text_finish(&text, &words) != CRD_OK) {
        crd_response_failed(response);
        return;
    }
    crd_text answer = {0};
    crd_text_print(&answer, "{%s}\n", words + 1); /* without the comma before it */
    crd_free(&words);
    crd_response_json(response, 200, &answer);
    crd_view_tell_classes(view);
}

void crd_api_loop(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    int64_t size[3];
    (void)reader;
    if (!crd_api_may_write(view, response)) return;
    cJSON *body = crd_api_body(request);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "size");
    bool good = cJSON_IsArray(list) && cJSON_GetArraySize(list) == 3;
    for (int i = 0; i < 3 && good; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        good = cJSON_IsNumber(item) && item->valuedouble >= 0.0 && item->valuedouble <= 1e6 &&
               item->valuedouble == (double)(int64_t)item->valuedouble;
        if (good) size[i] = (int64_t)item->valuedouble;
    }
    cJSON_Delete(body);
    if (!good) {
        crd_response_error(response, 400, "malformed", "The body must be {\"size\":[16,64,64]}.");
    } else if (crd_loop_resize(view->loop, size) != CRD_OK) {
        refuse(response);
    } else {
        answer_loop(view, response);
    }
}

void crd_api_anew(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    (void)reader, (void)request;
    if (!crd_api_may_write(view, response)) return;
    if (crd_loop_anew(view->loop) != CRD_OK) {
        refuse(response);
    } else {
        answer_loop(view, response);
    }
}

void crd_api_proposals(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const char *word = crd_request_query(request, "order"), *count_word = crd_request_query(request, "count");
    crd_text text = {0};
    int64_t most = CRD_PROPOSALS;
    int order = CRD_PROPOSE_EXCESS;
    (void)reader;
    if (word != NULL) {
        for (order = 0; order < CRD_PROPOSE_ORDERS && strcmp(word, crd_proposal_orders[order]) != 0;) order++;
    }
    if (order == CRD_PROPOSE_ORDERS || (count_word != NULL && !crd_request_int(count_word, 1, CRD_PROPOSALS, &most))) {
        crd_response_error(response, 400, "order", "order is excess, mean or random, and count 1 to %d.",
                           CRD_PROPOSALS);
        return;
    }
    if (view->layers.items[0].kind != CRD_LAYER_SCAN) {
        crd_response_error(response, 404, "no_scan", "There is no scan here to propose boxes of.");
        return;
    }
    if (crd_scout_propose(view, (crd_proposal_order)order, (int)most, &text) != CRD_OK) {
        crd_text_free(&text);
        crd_response_failed(response);
        return;
    }
    crd_response_json(response, 200, &text);
}
