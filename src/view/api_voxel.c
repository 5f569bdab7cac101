/* Values as they are: of one voxel, or of a box. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "view/tiles/written_slices.h"
#include "view/view.h"

static crd_status add_value(crd_text *text, crd_reader *reader, int number, const int64_t at[3])
{
    const crd_layer *layer = &reader->layers->items[number];
    crd_volume *volume;
    crd_box box = {.size = {1, 1, 1}};
    double value;
    crd_text_print(text, "%s{\"number\":%d,\"value\":", number > 0 ? "," : "", number);
    for (int i = 0; i < 3; i++) {
        box.origin[i] = at[i] - layer->origin[i];
        if (box.origin[i] < 0 || box.origin[i] >= layer->info.shape[i]) {
            crd_text_add(text, "null}");
            return CRD_OK;
        }
    }
    if (layer->written != NULL && !crd_written_slices_ready(layer->written, box.origin[0], box.origin[0] + 1)) {
        crd_text_add(text, "null}"); /* it isn't computed yet */
        return CRD_OK;
    }
    CRD_PASS(crd_reader_source(reader, number, &volume));
    CRD_PASS(crd_volume_read(volume, &box, CRD_F64, &value));
    crd_text_real(text, layer->kind == CRD_LAYER_MAP ? value * layer->scale : value);
    if (layer->kind == CRD_LAYER_CLASSES) {
        const int class = crd_layer_class(layer, value);
        crd_text_print(text, ",\"class\":%d", class == CRD_NO_CLASS ? -1 : class);
    }
    crd_text_add(text, "}");
    return CRD_OK;
}

void crd_api_voxel(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_text text = {0};
    int64_t at[3];
    if (!crd_request_place(crd_request_query(request, "at"), view->layers.items[0].info.shape, at)) {
        crd_response_error(response, 400, "place", "at must be z,y,x: a voxel of the scan.");
        return;
    }
    crd_text_add(&text, "{\"values\":[");
    for (int i = 0, count = view->layers.count; i < count; i++) {
        if (add_value(&text, reader, i, at) != CRD_OK) {
            crd_text_free(&text);
            crd_response_failed(response);
            return;
        }
    }
    crd_text_add(&text, "]}\n");
    crd_response_json(response, 200, &text);
}

/* ---- a box as .npy ---- */

enum { BOX_BYTES = 64 << 20, HEAD_BYTES = 128 };

/* What numpy.load reads: magic, version, length, and a dictionary that ends on a multiple of 64. */
static void write_head(crd_type type, const int64_t size[3], char head[HEAD_BYTES])
{
    static const char *const names[CRD_TYPE_COUNT] = {
        [CRD_U8] = "|u1", [CRD_I8] = "|i1", [CRD_U16] = "u2", [CRD_I16] = "i2", [CRD_U32] = "u4",
        [CRD_I32] = "i4", [CRD_F32] = "f4", [CRD_F64] = "f8", [CRD_U64] = "u8"};
    const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    memset(head, ' ', HEAD_BYTES);
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    head[8] = (char)(HEAD_BYTES - 10);
    head[9] = 0;
    const int length =
        snprintf(head + 10, HEAD_BYTES - 10, "{'descr': '%s%s', 'fortran_order': False, 'shape': (%lld, %lld, %lld), }",
                 crd_type_size(type) == 1 ? ""
                 : big                    ? ">"
                                          : "<",
                 names[type], (long long)size[0], (long long)size[1], (long long)size[2]);
    head[10 + length] = ' ';
    head[HEAD_BYTES - 1] = '\n';
}

void crd_api_box(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const char *level_text = crd_request_query(request, "level");
    crd_box box;
    crd_volume *volume = NULL;
    uint8_t *bytes = NULL;
    int64_t number, level = 0, voxels;
    if (!crd_request_int(request->parts[3], 0, view->layers.count - 1, &number)) {
        crd_response_error(response, 404, "not_found", "There is no layer of that number.");
        return;
    }
    const crd_layer *layer = &view->layers.items[number];
    if ((level_text != NULL && !crd_request_int(level_text, 0, layer->levels - 1, &level)) ||
        !crd_request_box(crd_request_query(request, "box"), layer->shapes[level], &box)) {
        crd_response_error(response, 400, "box",
                           "box must be z0:z1,y0:y1,x0:x1 inside the layer, and level one of its "
                           "levels.");
        return;
    }
    if (crd_product(box.size[0], box.size[1], box.size[2], &voxels) != CRD_OK ||
        voxels > (int64_t)(BOX_BYTES / crd_type_size(layer->info.type))) {
        crd_response_error(response, 413, "too_large", "A box may have 64 MiB at most.");
        return;
    }
    const bool grown = layer->written == NULL || level > 0 ||
                       crd_written_slices_ready(layer->written, box.origin[0], box.origin[0] + box.size[0]);
    const crd_status found = !grown       ? CRD_OK
                             : level == 0 ? crd_reader_source(reader, (int)number, &volume)
                                          : crd_reader_find(reader, (int)number, (int)level, &box, &volume);
    if (found == CRD_OK && volume == NULL) {
        crd_response_error(response, 503, "not_yet", "This isn't there yet.");
        response->retry_after = 1;
        return;
    }
    const crd_type type = found == CRD_OK ? crd_volume_describe(volume)->type : CRD_U8;
    const int64_t count = HEAD_BYTES + voxels * (int64_t)crd_type_size(type);
    if (found != CRD_OK || crd_alloc(count, 1, "a box", &bytes) != CRD_OK ||
        crd_volume_read(volume, &box, type, bytes + HEAD_BYTES) != CRD_OK) {
        crd_free(&bytes);
        crd_response_failed(response);
        return;
    }
    write_head(type, box.size, (char *)bytes);
    crd_response_bytes(response, "application/octet-stream", &bytes, count);
}
