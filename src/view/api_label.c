/* Painting: what changes labels, and what is told about them. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "view/labels/classes.h"
#include "view/labels/painter.h"
#include "view/view.h"

enum { HISTORY = 100 };

/* Revisions of the layer go on from a number that no earlier server gave out: browsers keep tiles by it. */
static int64_t layer_revision(const crd_view *view, int64_t revision)
{
    return atomic_load(&view->label_base) + revision;
}

void crd_view_tell_labels(crd_view *view)
{
    char json[160];
    const int64_t revision = crd_labels_revision(view->labels), shown = layer_revision(view, revision);
    crd_layer *layer = &view->layers.items[view->label_layer];
    if (atomic_load(&layer->revision) == shown) return;
    atomic_store(&layer->revision, shown);
    view->label_told = shown;
    snprintf(json, sizeof json, "{\"revision\":%lld,\"layer\":%d,\"shown\":%lld}", (long long)revision,
             view->label_layer, (long long)shown);
    crd_events_add(view->events, "label", json);
    if (view->server != NULL) view->http->wake(view->server);
}

void crd_api_add_labels(crd_text *text, crd_view *view)
{
    crd_labels_facts facts;
    crd_labels_describe(view->labels, &facts);
    crd_text_print(text, ",\"labels\":{\"layer\":%d,\"revision\":%lld,\"undo\":%lld,\"redo\":%lld,\"counts\":[",
                   view->label_layer, (long long)facts.revision, (long long)facts.undo, (long long)facts.redo);
    for (int k = 0; k < CRD_PAINT_CLASSES; k++)
        crd_text_print(text, "%s%lld", k > 0 ? "," : "", (long long)facts.counts[k]);
    crd_text_add(text, "],\"classes\":");
    if (crd_classes_write(view->project, text) != CRD_OK) crd_text_add(text, "[]");
    crd_text_add(text, ",\"boxes\":");
    if (crd_boxes_write(view->project, text) != CRD_OK) crd_text_add(text, "[]");
    crd_text_print(text, ",\"writable\":%s,\"made\":%s}", facts.writable ? "true" : "false",
                   facts.made ? "true" : "false");
}

cJSON *crd_api_body(const crd_request *request)
{
    return request->body != NULL ? cJSON_ParseWithLength(request->body, (size_t)request->body_bytes) : NULL;
}

/* Which status a refusal has: of a disk that is full it is worth asking again. */
static void refuse(crd_response *response)
{
    const crd_status status = crd_last_error()->status;
    crd_response_failed(response);
    if (status == CRD_ERR_BUSY) response->status = 409;
    if (status == CRD_ERR_SYSTEM) {
        response->status = 503;
        response->retry_after = 1;
    }
}

bool crd_api_may_write(const crd_view *view, crd_response *response)
{
    if (!crd_project_read_only(view->project)) return true;
    crd_response_error(response, 403, "read_only", "This viewer only looks (--read-only).");
    return false;
}

static void write_change(crd_view *view, const crd_label_change *change, crd_response *response)
{
    crd_text text = {0};
    crd_labels_facts facts;
    crd_labels_describe(view->labels, &facts);
    if (change->old_revision) {
        crd_response_error(response, 409, "old_revision",
                           "The labels have changed since (now revision %lld): ask for the state and try again.",
                           (long long)change->revision);
        return;
    }
    crd_text_print(&text, "{\"revision\":%lld,\"shown\":%lld,\"voxels\":%lld,\"undo\":%lld,\"redo\":%lld",
                   (long long)change->revision, (long long)layer_revision(view, facts.revision),
                   (long long)change->voxels, (long long)facts.undo, (long long)facts.redo);
    if (change->nothing) crd_text_add(&text, ",\"nothing\":true");
    if (change->undone > 0) crd_text_print(&text, ",\"operation\":%lld", (long long)change->undone);
    if (change->voxels > 0) {
        crd_text_print(&text, ",\"low\":[%lld,%lld,%lld],\"high\":[%lld,%lld,%lld]", (long long)change->low[0],
                       (long long)change->low[1], (long long)change->low[2], (long long)change->high[0],
                       (long long)change->high[1], (long long)change->high[2]);
    }
    crd_text_add(&text, ",\"counts\":[");
    for (int k = 0; k < CRD_PAINT_CLASSES; k++)
        crd_text_print(&text, "%s%lld", k > 0 ? "," : "", (long long)facts.counts[k]);
    crd_text_add(&text, "],\"blocks\":[");
    for (int64_t i = 0; i < change->blocks && change->places != NULL; i++) {
        const int64_t *at = change->places[i];
        crd_text_print(&text, "%s[%lld,%lld,%lld]", i > 0 ? "," : "", (long long)at[0], (long long)at[1],
                       (long long)at[2]);
    }
    crd_text_add(&text, "]}\n");
    crd_response_json(response, 200, &text);
}

/* The revision that a request is made for: -1 where it says none, false where it says nonsense. */
static bool read_revision(const cJSON *body, int64_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, "revision");
    *out = -1;
    if (item == NULL) return true;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.0 && item->valuedouble <= 9007199254740991.0)) return false;
    *out = (int64_t)item->valuedouble;
    return item->valuedouble == (double)*out;
}

static crd_status paint(crd_view *view, crd_reader *reader, const crd_operation *op, int64_t revision,
                        crd_label_change *change, bool *held_out)
{
    const crd_paint_sources sources = crd_painter_sources(reader);
    *held_out = false;
    if (op->kind == CRD_PAINT_ACCEPT) {
        CRD_PASS(crd_boxes_held_out(view->project, &op->box, held_out));
        if (*held_out) return CRD_OK;
    }
    return crd_labels_do(view->labels, op, revision, &sources, change);
}

void crd_api_label(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_operation op = {.points = NULL};
    crd_label_change change = {.places = NULL};
    int64_t revision = -1;
    bool held_out = false;
    if (!crd_api_may_write(view, response)) return;
    cJSON *body = crd_api_body(request);
    const bool good = cJSON_IsObject(body) && read_revision(body, &revision);
    const crd_status read = good ? crd_operation_read(body, view->layers.items[0].info.shape, &op) : CRD_OK;
    cJSON_Delete(body);
    if (!good) {
        crd_response_error(response, 400, "malformed",
                           "The body must be an operation as docs/VIEW.md describes it, with the revision it is for.");
        return;
    }
    if (read != CRD_OK) {
        crd_response_error(response, 400, "malformed", "%s.", crd_last_error()->message);
    } else if (paint(view, reader, &op, revision, &change, &held_out) != CRD_OK) {
        refuse(response);
    } else if (held_out) {
        crd_response_error(response, 422, "held_out",
                           "The box touches one that is held out: what the model says must not become its label.");
    } else {
        write_change(view, &change, response);
    }
    crd_label_change_free(&change);
    crd_operation_free(&op);
}

static void turn(crd_view *view, const crd_request *request, crd_response *response,
                 crd_status (*work)(crd_labels *, const char *, int64_t, crd_label_change *))
{
    crd_label_change change = {.places = NULL};
    int64_t revision = -1;
    char id[CRD_PAINT_ID] = "";
    if (!crd_api_may_write(view, response)) return;
    cJSON *body = crd_api_body(request);
    const bool good = (request->body_bytes == 0 || cJSON_IsObject(body)) && read_revision(body, &revision) &&
                      crd_operation_id(body, id);
    cJSON_Delete(body);
    if (!good) {
        crd_response_error(response, 400, "malformed", "The body must be {\"revision\":N}, and may have an id.");
    } else if (work(view->labels, id, revision, &change) != CRD_OK) {
        refuse(response);
    } else {
        write_change(view, &change, response);
    }
    crd_label_change_free(&change);
}

void crd_api_undo(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    (void)reader;
    turn(view, request, response, crd_labels_undo);
}

void crd_api_redo(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    (void)reader;
    turn(view, request, response, crd_labels_redo);
}

void crd_api_history(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const char *word = crd_request_query(request, "from");
    crd_text text = {0};
    int64_t from = 0;
    crd_labels_facts facts;
    (void)reader;
    if (word != NULL && !crd_request_int(word, 0, INT64_MAX / 2, &from)) {
        crd_response_error(response, 400, "from", "from must be a whole number.");
        return;
    }
    crd_labels_describe(view->labels, &facts);
    crd_text_print(&text, "{\"revision\":%lld,\"undo\":%lld,\"redo\":%lld,\"operations\":", (long long)facts.revision,
                   (long long)facts.undo, (long long)facts.redo);
    if (crd_labels_history(view->labels, from, HISTORY, &text) != CRD_OK) {
        crd_text_free(&text);
        crd_response_failed(response);
        return;
    }
    crd_text_add(&text, "}\n");
    crd_response_json(response, 200, &text);
}

void crd_api_export(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_text text = {0};
    crd_box box;
    (void)reader;
    if (!crd_api_may_write(view, response)) return;
    cJSON *body = crd_api_body(request);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "name"));
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(body, "box");
    const bool boxed = part != NULL && !cJSON_IsNull(part);
    if (!crd_exporter_may_write(name)) {
        crd_response_error(response, 400, "name",
                           "The name of the file may have letters, digits, '.', '_' and '-', and be none of the "
                           "project's own.");
    } else if (boxed && !crd_request_box(cJSON_GetStringValue(part), view->layers.items[0].info.shape, &box)) {
        crd_response_error(response, 400, "box", "box must be z0:z1,y0:y1,x0:x1 inside the scan.");
    } else if (crd_exporter_begin(view->exporter, name, boxed ? &box : NULL) != CRD_OK) {
        refuse(response);
    } else {
        crd_text_add(&text, "{\"name\":");
        crd_text_json(&text, name);
        crd_text_add(&text, "}\n");
        crd_response_json(response, 202, &text);
    }
    cJSON_Delete(body);
}

/* ---- classes ---- */

void crd_view_tell_classes(crd_view *view)
{
    crd_events_add(view->events, "classes", "{}");
    if (view->server != NULL) view->http->wake(view->server);
}

void crd_api_classes(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_text text = {0};
    (void)reader;
    if (!crd_api_may_write(view, response)) return;
    cJSON *body = crd_api_body(request);
    if (crd_classes_check(body) != CRD_OK) {
        crd_response_error(response, 400, "malformed", "%s.", crd_last_error()->message);
        cJSON_Delete(body);
        return;
    }
    if (crd_project_set(view->project, "classes", body) != CRD_OK) {
        refuse(response);
        return;
    }
    crd_view_tell_classes(view);
    if (crd_classes_write(view->project, &text) != CRD_OK) {
        crd_text_free(&text);
        crd_response_failed(response);
        return;
    }
    crd_text_add(&text, "\n");
    crd_response_json(response, 200, &text);
}
