#include "volume/zarr/layout.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "volume/types.h"

const char *crd_zarr_array_file(int version)
{
    return version == 3 ? "zarr.json" : ".zarray";
}

const char *crd_zarr_group_file(int version)
{
    return version == 3 ? "zarr.json" : ".zattrs";
}

const cJSON *crd_zarr_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

crd_status crd_zarr_broken(const char *shown, int version, const char *what)
{
    return crd_fail(CRD_ERR_FORMAT, "%s has a broken %s: %s", shown, crd_zarr_array_file(version), what);
}

bool crd_zarr_take_whole(const cJSON *array, int count, int64_t *out)
{
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != count) return false;
    for (int i = 0; i < count; i++) {
        const cJSON *item = cJSON_GetArrayItem(array, i);
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 1.0 && item->valuedouble <= 0x1p53)) return false;
        if (item->valuedouble != floor(item->valuedouble)) return false;
        out[i] = (int64_t)item->valuedouble;
    }
    return true;
}

crd_status crd_zarr_take_shape(const char *shown, const cJSON *shape_list, const cJSON *chunk_list,
                               const char *chunks_called, crd_zarr_layout *out)
{
    int64_t shape[CRD_ZARR_AXES], chunk[CRD_ZARR_AXES];
    const int rank = cJSON_GetArraySize(shape_list);
    if (rank < 3 || rank > CRD_ZARR_AXES) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s is an array of %d dimensions; a volume has three, or up to five of which the "
                        "first ones are 1",
                        shown, rank);
    }
    if (!crd_zarr_take_whole(shape_list, rank, shape))
        return crd_zarr_broken(shown, out->version, "its shape is no list of counts");
    if (!crd_zarr_take_whole(chunk_list, rank, chunk)) {
        return crd_fail(CRD_ERR_FORMAT, "%s has a broken %s: its %s is no list of counts", shown,
                        crd_zarr_array_file(out->version), chunks_called);
    }
    for (int i = 0; i < rank - 3; i++) {
        if (shape[i] == 1 && chunk[i] != 1) {
            return crd_fail(CRD_ERR_UNSUPPORTED, "%s has chunks that reach beyond its axis %d, which is 1; rechunk it",
                            shown, i);
        }
        if (shape[i] != 1) {
            return crd_fail(CRD_ERR_UNSUPPORTED,
                            "%s has several channels or times (%lld along axis %d); choose one and save it by itself",
                            shown, (long long)shape[i], i);
        }
    }
    out->rank = rank;
    memcpy(out->shape, shape + rank - 3, sizeof out->shape);
    memcpy(out->chunk, chunk + rank - 3, sizeof out->chunk);
    return CRD_OK;
}

crd_status crd_zarr_check_names(const char *shown, const cJSON *names, int rank)
{
    static const char *const wanted[3] = {"z", "y", "x"};
    int known = 0, right = 0;
    for (int i = 0; i < 3; i++) {
        const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(names, rank - 3 + i));
        if (name == NULL) continue;
        known += strlen(name) == 1 && strchr("zyx", name[0]) != NULL;
        right += strcmp(name, wanted[i]) == 0;
    }
    if (known == right) return CRD_OK;
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s has axes that don't end in z, y, x, which is what a volume has", shown);
}

/* A number, or a word for one. */
static bool take_number(const cJSON *fill, double *out)
{
    *out = 0.0;
    if (fill == NULL || cJSON_IsNull(fill) || cJSON_IsFalse(fill)) return true;
    *out = 1.0;
    if (cJSON_IsTrue(fill)) return true;
    *out = fill->valuedouble;
    if (cJSON_IsNumber(fill)) return true;
    const char *word = cJSON_IsString(fill) ? fill->valuestring : "";
    if (crd_parse_real(word, strlen(word), out)) return true; /* n5-zarr writes "0" */
    *out = strcmp(word, "NaN") == 0        ? (double)NAN
           : strcmp(word, "Infinity") == 0 ? (double)INFINITY
                                           : -(double)INFINITY;
    return !isinf(*out) || *out > 0.0 || strcmp(word, "-Infinity") == 0;
}

crd_status crd_zarr_take_fill(const char *shown, const cJSON *fill, crd_zarr_layout *out)
{
    double kept = 0.0;
    if (!take_number(fill, &out->fill)) return crd_zarr_broken(shown, out->version, "its fill_value is no number");
    if (crd_convert(CRD_F64, &out->fill, 1.0, 1, crd_stored_widened(out->stored), &kept) != 0) {
        return crd_zarr_broken(shown, out->version, "its fill_value is none of its type's");
    }
    return CRD_OK;
}

crd_status crd_zarr_layout_parse(const char *shown, int version, const char *text, size_t bytes, crd_zarr_layout *out)
{
    cJSON *root = cJSON_ParseWithLength(text, bytes);
    memset(out, 0, sizeof *out);
    out->version = version;
    const crd_status status = !cJSON_IsObject(root) ? crd_zarr_broken(shown, version, "it is no JSON object")
                              : version == 3        ? crd_zarr_layout3_take(shown, root, out)
                                                    : crd_zarr_layout2_take(shown, root, out);
    cJSON_Delete(root);
    return status;
}

void crd_zarr_layout_write(const crd_zarr_layout *layout, crd_text *text)
{
    if (layout->version == 3) {
        crd_zarr_layout3_write(layout, text);
    } else {
        crd_zarr_layout2_write(layout, text);
    }
}

void crd_zarr_add_whole(crd_text *text, const int64_t values[3])
{
    crd_text_print(text, "[%lld, %lld, %lld]", (long long)values[0], (long long)values[1], (long long)values[2]);
}

static bool has(const char *folder, const char *name)
{
    char *path = NULL;
    const bool there = crd_join_path(folder, name, "", &path) == CRD_OK && access(path, F_OK) == 0;
    crd_free(&path);
    return there;
}

crd_status crd_zarr_look(const char *folder, crd_zarr_node *out)
{
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    size_t bytes = 0;
    cJSON *root = NULL;
    *out = (crd_zarr_node){.version = 2, .array = has(folder, ".zarray")};
    if (out->array || has(folder, ".zattrs") || has(folder, ".zgroup")) return CRD_OK;
    out->version = 0;
    if (!has(folder, "zarr.json")) return CRD_OK;
    CRD_TRY(crd_join_path(folder, "zarr.json", "", &path));
    CRD_TRY(crd_read_file(path, CRD_ZARR_GROUP_LIMIT, &text, &bytes));
    root = cJSON_ParseWithLength(text, bytes);
    const cJSON *version = crd_zarr_get(root, "zarr_format");
    const char *type = cJSON_GetStringValue(crd_zarr_get(root, "node_type"));
    if (!cJSON_IsNumber(version) || version->valuedouble != 3.0 || type == NULL ||
        (strcmp(type, "array") != 0 && strcmp(type, "group") != 0)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s has a broken zarr.json: it describes no array or group of zarr version 3", folder);
    }
    *out = (crd_zarr_node){.version = 3, .array = strcmp(type, "array") == 0};
done:
    cJSON_Delete(root);
    crd_free(&path);
    crd_free(&text);
    return status;
}
