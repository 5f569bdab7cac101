/* .zarray: an array of zarr version 2. */
#include <string.h>

#include "volume/array/npy_header.h"
#include "volume/zarr/layout.h"

static crd_status take_codec(const char *shown, const cJSON *root, crd_zarr_layout *out)
{
    const cJSON *compressor = crd_zarr_get(root, "compressor"), *filters = crd_zarr_get(root, "filters");
    const char *id = cJSON_GetStringValue(crd_zarr_get(compressor, "id"));
    if (filters != NULL && !cJSON_IsNull(filters) && cJSON_GetArraySize(filters) > 0) {
        const char *name = cJSON_GetStringValue(crd_zarr_get(cJSON_GetArrayItem(filters, 0), "id"));
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has its chunks filtered by '%.40s', which credence doesn't undo",
                        shown, name != NULL ? name : "?");
    }
    out->codec = CRD_ZARR_RAW;
    if (compressor == NULL || cJSON_IsNull(compressor)) return CRD_OK;
    if (id == NULL) return crd_zarr_broken(shown, 2, "its compressor has no id");
    return crd_zarr_codec_find(shown, id, &out->codec);
}

crd_status crd_zarr_layout2_take(const char *shown, const cJSON *root, crd_zarr_layout *out)
{
    const cJSON *version = crd_zarr_get(root, "zarr_format");
    const char *type = cJSON_GetStringValue(crd_zarr_get(root, "dtype")),
               *order = cJSON_GetStringValue(crd_zarr_get(root, "order"));
    const char *separator = cJSON_GetStringValue(crd_zarr_get(root, "dimension_separator"));
    if (!cJSON_IsNumber(version) || version->valuedouble != 2.0) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has a .zarray that isn't of zarr version 2", shown);
    }
    if (type == NULL || !crd_npy_type(type, &out->stored, &out->swap)) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s holds values of type '%.40s'; credence reads bool, integers and floats", shown,
                        type != NULL ? type : "?");
    }
    CRD_PASS(crd_zarr_take_shape(shown, crd_zarr_get(root, "shape"), crd_zarr_get(root, "chunks"), "chunks", out));
    CRD_PASS(crd_zarr_take_fill(shown, crd_zarr_get(root, "fill_value"), out));
    out->turned = order != NULL && strcmp(order, "F") == 0;
    for (int i = 0; i < 3; i++) out->order[i] = out->turned ? 2 - i : i;
    if (order != NULL && !out->turned && strcmp(order, "C") != 0) {
        return crd_zarr_broken(shown, 2, "its order is neither C nor F");
    }
    if (separator != NULL && strcmp(separator, ".") != 0 && strcmp(separator, "/") != 0) {
        return crd_zarr_broken(shown, 2, "its dimension_separator is neither . nor /");
    }
    out->separator = separator != NULL ? separator[0] : '\0';
    return take_codec(shown, root, out);
}

static void add_whole(crd_text *text, const char *key, const int64_t values[3])
{
    crd_text_print(text, "    \"%s\": ", key);
    crd_zarr_add_whole(text, values);
    crd_text_add(text, ",\n");
}

void crd_zarr_layout2_write(const crd_zarr_layout *layout, crd_text *text)
{
    char type[4];
    crd_npy_type_name((crd_type)layout->stored, type);
    crd_text_add(text, "{\n");
    add_whole(text, "chunks", layout->chunk);
    crd_text_add(text, "    \"compressor\": ");
    if (layout->codec == CRD_ZARR_BLOSC) {
        crd_text_print(text,
                       "{\"id\": \"blosc\", \"cname\": \"zstd\", \"clevel\": %d, \"shuffle\": 1, \"blocksize\": 0}",
                       layout->level);
    } else if (layout->codec == CRD_ZARR_ZLIB) {
        crd_text_print(text, "{\"id\": \"zlib\", \"level\": %d}", layout->level);
    } else {
        crd_text_add(text, "null");
    }
    crd_text_print(text, ",\n    \"dimension_separator\": \"%c\",\n    \"dtype\": \"%s\",\n    \"fill_value\": ",
                   layout->separator, type);
    crd_text_real(text, layout->fill);
    crd_text_add(text, ",\n    \"filters\": null,\n    \"order\": \"C\",\n");
    add_whole(text, "shape", layout->shape);
    crd_text_add(text, "    \"zarr_format\": 2\n}\n");
}
