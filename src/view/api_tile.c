/* Tiles as bytes. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "view/view.h"

/* LAYER REVISION AXIS LEVEL SLICE ROW COLUMN, behind /api/1/tile. */
static bool read_place(const crd_view *view, const crd_request *request, crd_tile_place *place, int64_t *revision)
{
    const char *const *parts = request->parts + 3;
    const char *low = crd_request_query(request, "lo"), *high = crd_request_query(request, "hi");
    int64_t layer, level;
    memset(place, 0, sizeof *place);
    if (!crd_request_int(parts[0], 0, view->layers.count - 1, &layer) ||
        !crd_request_int(parts[1], 0, INT64_MAX, revision) ||
        !crd_request_int(parts[3], 0, CRD_VIEW_LEVELS - 1, &level) ||
        !crd_request_int(parts[4], 0, INT64_MAX, &place->slice) ||
        !crd_request_int(parts[5], 0, INT64_MAX, &place->row) ||
        !crd_request_int(parts[6], 0, INT64_MAX, &place->column)) {
        return false;
    }
    place->axis = strcmp(parts[2], "z") == 0 ? 0 : strcmp(parts[2], "y") == 0 ? 1 : strcmp(parts[2], "x") == 0 ? 2 : -1;
    place->layer = (int)layer;
    place->level = (int)level;
    const crd_layer *of = &view->layers.items[layer];
    if (of->kind == CRD_LAYER_MAP) { /* the page speaks of the quantity, the file may hold bytes */
        place->high = atomic_load(&of->high) / of->scale;
    } else if (of->kind == CRD_LAYER_SCAN) {
        place->low = view->window[0];
        place->high = view->window[1];
    } else {
        place->high = 1.0;
    }
    if (of->kind == CRD_LAYER_CLASSES || (low == NULL && high == NULL)) return place->axis >= 0;
    if (!crd_request_real(low, &place->low) || !crd_request_real(high, &place->high)) return false;
    place->low /= of->scale;
    place->high /= of->scale;
    return place->axis >= 0 && place->high > place->low;
}

/* Kept only where it saves a quarter: a noisy scan doesn't. */
static void pack(crd_response *response, const uint8_t *pixels, int64_t count)
{
    uint8_t *packed = NULL;
    uLongf length = compressBound((uLong)count);
    if (crd_alloc((int64_t)length, 1, "a packed tile", &packed) != CRD_OK) return;
    if (compress2(packed, &length, pixels, (uLong)count, 1) == Z_OK && (int64_t)length <= count / 4 * 3) {
        const crd_response before = *response;
        crd_response_free(response);
        *response = before;
        crd_response_bytes(response, before.type, &packed, (int64_t)length);
        response->deflated = true;
    }
    crd_free(&packed);
}

static void not_yet(crd_response *response, double there)
{
    crd_text text = {0};
    crd_text_add(&text, "{\"there\":");
    crd_text_fixed(&text, there < 0.999 ? there : 0.999, 3, "0");
    crd_text_add(&text, "}\n");
    crd_response_json(response, 202, &text);
}

void crd_api_tile(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_tile_place place;
    int64_t revision, rows, columns;
    uint8_t *pixels = NULL;
    double there = 1.0;
    if (!read_place(view, request, &place, &revision) || !crd_tile_size(&view->layers, &place, &rows, &columns)) {
        crd_response_error(response, 404, "not_found", "There is no such tile.");
        return;
    }
    const int64_t now = atomic_load(&view->layers.items[place.layer].revision), count = rows * columns;
    if (crd_alloc(count, 1, "a tile", &pixels) != CRD_OK) {
        crd_response_failed(response);
        return;
    }
    if (!crd_tile_cache_get(view->tiles, &place, now, count, pixels)) {
        if (crd_tile_make(reader, &place, pixels, &there) != CRD_OK) {
            crd_free(&pixels);
            crd_response_failed(response);
            return;
        }
        if (there < 1.0) {
            crd_free(&pixels);
            not_yet(response, there);
            return;
        }
        crd_tile_cache_put(view->tiles, &place, now, count, pixels);
    }
    const uint8_t *bytes = pixels;
    crd_response_bytes(response, "application/octet-stream", &pixels, count);
    snprintf(response->tile, sizeof response->tile, "%lld,%lld", (long long)rows, (long long)columns);
    /* Under an old number there is what is new, and nobody must keep that under the old one. */
    response->keep = revision == now ? CRD_KEEP_LONG : CRD_KEEP_NOT;
    if (request->deflate && view->layers.items[place.layer].kind != CRD_LAYER_SCAN) pack(response, bytes, count);
}
