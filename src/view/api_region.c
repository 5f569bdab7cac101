/* Where to look first. */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "draw/colour.h"
#include "draw/slice.h"
#include "view/view.h"

/* ---- the list ---- */

static void add_place(crd_text *text, const char *name, const int64_t at[3], const int64_t origin[3])
{
    crd_text_print(text, ",\"%s\":[%lld,%lld,%lld]", name, (long long)(at[0] + origin[0]),
                   (long long)(at[1] + origin[1]), (long long)(at[2] + origin[2]));
}

/* The plane that shows most of it: across its least extent. */
static int best_axis(const crd_region *r)
{
    int axis = 0;
    for (int i = 1; i < 3; i++) {
        if (r->high[i] - r->low[i] < r->high[axis] - r->low[axis]) axis = i;
    }
    return axis;
}

static void add_region(crd_text *text, crd_view *view, const crd_looker *looker, const crd_look_region *r,
                       int64_t number)
{
    const int64_t *origin = view->layers.items[looker->uncertainty].origin;
    const crd_box box = crd_looker_box(looker, &view->layers, r);
    crd_text_print(text, "{\"number\":%lld", (long long)number);
    add_place(text, "centre", r->place.centre, origin);
    add_place(text, "low", r->place.low, origin);
    add_place(text, "high", r->place.high, origin);
    crd_text_print(text, ",\"voxels\":%lld,\"axis\":%d,\"mean\":", (long long)r->place.voxels, best_axis(&r->place));
    crd_text_number(text, r->mean, 6, "null");
    crd_text_add(text, ",\"excess\":");
    crd_text_number(text, r->excess, 6, "null");
    crd_text_add(text, ",\"peak\":"); /* of what the order goes by */
    crd_text_number(text, r->place.peak, 6, "null");
    crd_text_add(text, ",\"edges\":");
    crd_text_number(text, r->edges, 6, "null");
    crd_text_print(text, ",\"looked\":%s}", crd_project_looked(view->project, looker->run, &box) ? "true" : "false");
}

void crd_api_regions(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const char *order_word = crd_request_query(request, "order"), *count_word = crd_request_query(request, "count");
    const crd_looker *looker = atomic_load(&view->looker);
    crd_text text = {0};
    int64_t most = CRD_LOOK_REGIONS;
    (void)reader;
    const int order = order_word == NULL || strcmp(order_word, "excess") == 0 ? CRD_BY_EXCESS
                      : strcmp(order_word, "mean") == 0                       ? CRD_BY_MEAN
                                                                              : -1;
    if (order < 0 || (count_word != NULL && !crd_request_int(count_word, 1, CRD_LOOK_REGIONS, &most))) {
        crd_response_error(response, 400, "order", "order is excess or mean, and count 1 to %d.", CRD_LOOK_REGIONS);
        return;
    }
    if (looker->survey == NULL) {
        crd_response_error(response, 404, "no_run", "There is no run with an uncertainty to look at.");
        return;
    }
    const bool ready = atomic_load(&looker->ready);
    crd_text_print(&text, "{\"ready\":%s,\"there\":%.3f,\"order\":\"%s\",\"regions\":[", ready ? "true" : "false",
                   ready ? 1.0 : atomic_load(&looker->share) / 1000.0, order == CRD_BY_MEAN ? "mean" : "excess");
    for (int64_t i = 0; ready && i < most && i < looker->survey->counts[order]; i++) {
        if (i > 0) crd_text_add(&text, ",");
        add_region(&text, view, looker, &looker->survey->regions[order][i], 1000 * order + i);
    }
    crd_text_add(&text, "]}\n");
    crd_response_json(response, 200, &text);
}

static const crd_look_region *named(const crd_looker *looker, const crd_request *request, crd_response *response)
{
    int64_t number = -1;
    (void)crd_request_int(request->parts[3], 0, INT64_MAX, &number);
    const crd_look_region *region = crd_looker_region(looker, number);
    if (region == NULL) crd_response_error(response, 404, "not_found", "There is no region of that number.");
    return region;
}

void crd_api_look(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const crd_looker *looker = atomic_load(&view->looker);
    const crd_look_region *region = named(looker, request, response);
    crd_text text = {0};
    (void)reader;
    if (region == NULL) return;
    cJSON *body = request->body != NULL ? cJSON_ParseWithLength(request->body, (size_t)request->body_bytes) : NULL;
    const cJSON *looked = cJSON_GetObjectItem(body, "looked");
    const bool known = cJSON_IsBool(looked), yes = cJSON_IsTrue(looked);
    cJSON_Delete(body);
    if (!known) {
        crd_response_error(response, 400, "malformed", "The body must be {\"looked\":true} or {\"looked\":false}.");
        return;
    }
    const crd_box box = crd_looker_box(looker, &view->layers, region);
    if (crd_project_look(view->project, looker->run, &box, yes) != CRD_OK) {
        crd_response_failed(response);
        if (crd_last_error()->status == CRD_ERR_BUSY) response->status = 409;
        return;
    }
    crd_text_print(&text, "{\"looked\":%s}\n", yes ? "true" : "false");
    crd_response_json(response, 200, &text);
}

/* ---- a picture of a region ---- */

enum { EDGE = 160, MARGIN = 12 };

/* The part of the plane through its centre with a margin, square. */
static void window_of(const crd_layer *unc, const crd_look_region *region, int axis, crd_box *box)
{
    static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};
    const int axes[2] = {down[axis], right[axis]};
    int64_t edge = EDGE / 2;
    for (int i = 0; i < 2; i++) {
        const int64_t extent = region->place.high[axes[i]] - region->place.low[axes[i]] + 2 * MARGIN;
        if (extent > edge) edge = extent;
    }
    box->origin[axis] = region->place.centre[axis];
    box->size[axis] = 1;
    for (int i = 0; i < 2; i++) {
        const int64_t n = unc->info.shape[axes[i]], size = n < edge ? n : edge;
        int64_t first = (region->place.low[axes[i]] + region->place.high[axes[i]] - size) / 2;
        if (first > n - size) first = n - size;
        box->origin[axes[i]] = first > 0 ? first : 0;
        box->size[axes[i]] = size;
    }
}

static crd_status read_plane(crd_reader *reader, int layer, const crd_box *box, int axis, crd_plane *out)
{
    crd_volume *volume = NULL;
    float *values;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    out->rows = axis == 1 ? box->size[0] : box->size[1];
    out->columns = axis == 2 ? box->size[0] : box->size[2];
    CRD_PASS(crd_alloc(count, sizeof *out->values, "a picture", &out->values));
    CRD_PASS(crd_reader_find(reader, layer, 0, box, &volume));
    if (volume == NULL) CRD_PASS(crd_reader_source(reader, layer, &volume));
    CRD_PASS(crd_reader_room(reader, count * (int64_t)sizeof *values, &values));
    CRD_PASS(crd_volume_read(volume, box, CRD_F32, values));
    for (int64_t r = 0; r < out->rows; r++) {
        for (int64_t c = 0; c < out->columns; c++) {
            out->values[r * out->columns + c] = values[axis == 2 ? c * out->rows + r : r * out->columns + c];
        }
    }
    return CRD_OK;
}

/* The map over the scan, as strong as it is high. */
static void blend(crd_picture *picture, const crd_plane *map, double scale)
{
    uint8_t colours[CRD_COLOURS][3];
    crd_colour_map(colours);
    for (int64_t y = 0; y < picture->height; y++) {
        for (int64_t x = 0; x < picture->width; x++) {
            const int64_t r = y * map->rows / picture->height, c = x * map->columns / picture->width;
            const double value = (double)map->values[r * map->columns + c] * scale;
            const int i = value >= 1.0 ? CRD_COLOURS - 1 : value > 0.0 ? (int)(value * (CRD_COLOURS - 1)) : 0;
            const int strength = i < 64 ? i * 3 : 192; /* of 256 */
            uint8_t *rgb = picture->rgb + 3 * (y * picture->width + x);
            for (int k = 0; k < 3; k++) rgb[k] = (uint8_t)((rgb[k] * (256 - strength) + colours[i][k] * strength) >> 8);
        }
    }
}

static crd_status draw_region(crd_view *view, crd_reader *reader, int uncertainty, const crd_look_region *region,
                              uint8_t **png, int64_t *count)
{
    crd_status status = CRD_OK;
    const crd_layer *scan = &view->layers.items[0], *unc = &view->layers.items[uncertainty];
    const int axis = scan->slow_across ? 0 : best_axis(&region->place); /* no plane that takes seconds to read */
    crd_plane grey = {0}, map = {0};
    crd_picture picture = {0};
    crd_box box, in_scan;
    int64_t width, height;
    window_of(unc, region, axis, &box);
    in_scan = box;
    for (int i = 0; i < 3; i++) in_scan.origin[i] += unc->origin[i];
    CRD_TRY(read_plane(reader, uncertainty, &box, axis, &map));
    CRD_TRY(read_plane(reader, 0, &in_scan, axis, &grey));
    const double *spacing = scan->info.spacing;
    const bool known = spacing[0] > 0.0;
    crd_picture_size(&grey, known ? spacing[axis == 1 ? 0 : 1] : 1.0, known ? spacing[axis == 2 ? 0 : 2] : 1.0, EDGE,
                     &width, &height);
    CRD_TRY(crd_picture_grey(&grey, view->window[0], view->window[1], width, height, &picture));
    blend(&picture, &map, unc->scale / atomic_load(&unc->high));
    CRD_TRY(crd_png_encode(&picture, png, count));
done:
    crd_plane_free(&grey);
    crd_plane_free(&map);
    crd_picture_free(&picture);
    return status;
}

void crd_api_thumbnail(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const crd_looker *looker = atomic_load(&view->looker);
    const crd_look_region *region = named(looker, request, response);
    uint8_t *png = NULL;
    int64_t count = 0;
    if (region == NULL) return;
    if (draw_region(view, reader, looker->uncertainty, region, &png, &count) != CRD_OK) {
        crd_response_failed(response);
        return;
    }
    crd_response_bytes(response, "image/png", &png, count);
}
