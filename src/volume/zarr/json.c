#include "volume/zarr/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "volume/array/npy_header.h"
#include "volume/types.h"
#include "volume/units.h"

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static crd_status broken(const char *shown, const char *what)
{
    return crd_fail(CRD_ERR_FORMAT, "%s has a broken .zarray: %s", shown, what);
}

/* ---- .zarray ---- */

/* `count` whole numbers of at least 1. */
static bool take_whole(const cJSON *array, int count, int64_t *out)
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

static crd_status take_shape(const char *shown, const cJSON *root, crd_zarr_layout *out)
{
    int64_t shape[CRD_ZARR_AXES], chunk[CRD_ZARR_AXES];
    const int rank = cJSON_GetArraySize(get(root, "shape"));
    if (rank < 3 || rank > CRD_ZARR_AXES) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s is an array of %d dimensions; a volume has three, or up to five of which the "
                        "first ones are 1",
                        shown, rank);
    }
    if (!take_whole(get(root, "shape"), rank, shape)) return broken(shown, "its shape is no list of counts");
    if (!take_whole(get(root, "chunks"), rank, chunk)) return broken(shown, "its chunks are no list of counts");
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

static crd_status take_fill(const char *shown, const cJSON *fill, double *out)
{
    *out = 0.0;
    if (fill == NULL || cJSON_IsNull(fill) || cJSON_IsFalse(fill)) return CRD_OK;
    *out = 1.0;
    if (cJSON_IsTrue(fill)) return CRD_OK;
    *out = fill->valuedouble;
    if (cJSON_IsNumber(fill)) return CRD_OK;
    const char *word = cJSON_IsString(fill) ? fill->valuestring : "";
    if (crd_parse_real(word, strlen(word), out)) return CRD_OK; /* n5-zarr writes "0" */
    *out = strcmp(word, "NaN") == 0        ? (double)NAN
           : strcmp(word, "Infinity") == 0 ? (double)INFINITY
                                           : -(double)INFINITY;
    if (!isinf(*out) || *out > 0.0 || strcmp(word, "-Infinity") == 0) return CRD_OK;
    return broken(shown, "its fill_value is no number");
}

static crd_status take_codec(const char *shown, const cJSON *root, crd_zarr_layout *out)
{
    const cJSON *compressor = get(root, "compressor"), *filters = get(root, "filters");
    const char *id = cJSON_GetStringValue(get(compressor, "id"));
    if (filters != NULL && !cJSON_IsNull(filters) && cJSON_GetArraySize(filters) > 0) {
        const char *name = cJSON_GetStringValue(get(cJSON_GetArrayItem(filters, 0), "id"));
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has its chunks filtered by '%.40s', which credence doesn't undo",
                        shown, name != NULL ? name : "?");
    }
    out->codec = CRD_ZARR_RAW;
    if (compressor == NULL || cJSON_IsNull(compressor)) return CRD_OK;
    if (id == NULL) return broken(shown, "its compressor has no id");
    return crd_zarr_codec_find(shown, id, &out->codec);
}

static crd_status take_layout(const char *shown, const cJSON *root, crd_zarr_layout *out)
{
    const cJSON *version = get(root, "zarr_format");
    const char *type = cJSON_GetStringValue(get(root, "dtype")), *order = cJSON_GetStringValue(get(root, "order"));
    const char *separator = cJSON_GetStringValue(get(root, "dimension_separator"));
    if (!cJSON_IsNumber(version) || version->valuedouble != 2.0) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s is no zarr array of version 2, the one that credence reads", shown);
    }
    if (type == NULL || !crd_npy_type(type, &out->stored, &out->swap)) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s holds values of type '%.40s'; credence reads bool, integers and floats", shown,
                        type != NULL ? type : "?");
    }
    CRD_PASS(take_shape(shown, root, out));
    CRD_PASS(take_fill(shown, get(root, "fill_value"), &out->fill));
    double kept = 0.0;
    const crd_type widened = crd_stored_widened(out->stored);
    if (crd_convert(CRD_F64, &out->fill, 1.0, 1, widened, &kept) != 0) {
        return broken(shown, "its fill_value is none of its type's");
    }
    out->fortran = order != NULL && strcmp(order, "F") == 0;
    if (order != NULL && !out->fortran && strcmp(order, "C") != 0) return broken(shown, "its order is neither C nor F");
    if (separator != NULL && strcmp(separator, ".") != 0 && strcmp(separator, "/") != 0) {
        return broken(shown, "its dimension_separator is neither . nor /");
    }
    out->separator = separator != NULL ? separator[0] : '\0';
    return take_codec(shown, root, out);
}

crd_status crd_zarr_layout_parse(const char *shown, const char *text, size_t bytes, crd_zarr_layout *out)
{
    cJSON *root = cJSON_ParseWithLength(text, bytes);
    memset(out, 0, sizeof *out);
    const crd_status status =
        cJSON_IsObject(root) ? take_layout(shown, root, out) : broken(shown, "it is no JSON object");
    cJSON_Delete(root);
    return status;
}

static void add_whole(crd_text *text, const char *key, const int64_t values[3])
{
    crd_text_print(text, "    \"%s\": [%lld, %lld, %lld],\n", key, (long long)values[0], (long long)values[1],
                   (long long)values[2]);
}

void crd_zarr_layout_write(const crd_zarr_layout *layout, crd_text *text)
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

/* ---- .zattrs ---- */

/* The names of the axes must end in z, y, x; their units, if they have any, are of length and converted to x's. */
static crd_status take_axes(const char *shown, const cJSON *axes, double factors[3], char unit[CRD_UNIT_BYTES])
{
    static const char *const names[3] = {"z", "y", "x"};
    char units[3][CRD_UNIT_BYTES] = {"", "", ""};
    const int count = cJSON_GetArraySize(axes);
    unit[0] = '\0';
    if (!cJSON_IsArray(axes)) return CRD_OK; /* 0.1 and 0.2 had none: t, c, z, y, x */
    for (int i = 0; i < 3; i++) {
        const cJSON *axis = cJSON_GetArrayItem(axes, count - 3 + i);
        const char *name = cJSON_GetStringValue(cJSON_IsString(axis) ? axis : get(axis, "name"));
        if (count < 3 || name == NULL || strcmp(name, names[i]) != 0) {
            return crd_fail(CRD_ERR_UNSUPPORTED, "%s has axes that don't end in z, y, x, which is what a volume has",
                            shown);
        }
        crd_unit_normalise(cJSON_GetStringValue(get(axis, "unit")), units[i]);
    }
    memcpy(unit, units[2], CRD_UNIT_BYTES);
    for (int i = 0; i < 2; i++) {
        const double ratio = crd_unit_in_um(units[i]) / crd_unit_in_um(unit);
        if (strcmp(units[i], unit) != 0 && isfinite(ratio) && ratio > 0.0) factors[i] = ratio;
    }
    return CRD_OK;
}

/* Multiplies by the last three numbers of the scale in a list of transformations. */
static void take_scale(const cJSON *transformations, double spacing[3], bool *found)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, transformations)
    {
        const char *type = cJSON_GetStringValue(get(item, "type"));
        const cJSON *scale = get(item, "scale");
        const int count = cJSON_GetArraySize(scale);
        if (type == NULL || strcmp(type, "scale") != 0 || !cJSON_IsArray(scale) || count < 3) continue;
        for (int i = 0; i < 3; i++) {
            const cJSON *number = cJSON_GetArrayItem(scale, count - 3 + i);
            spacing[i] *= cJSON_IsNumber(number) ? number->valuedouble : 0.0;
        }
        *found = true;
    }
}

/* What only credence says: attributes under its own name. */
static void take_own(const cJSON *own, bool first, crd_volume_info *info)
{
    const cJSON *scale = get(own, "scale"), *origin = get(own, "origin");
    const char *unit = cJSON_GetStringValue(get(own, "unit"));
    if (cJSON_IsNumber(scale) && isfinite(scale->valuedouble) && scale->valuedouble != 0.0)
        info->scale = scale->valuedouble;
    for (int i = 0; i < 3 && first && cJSON_GetArraySize(origin) == 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(origin, i);
        if (cJSON_IsNumber(item) && fabs(item->valuedouble) <= 0x1p53) info->origin[i] = (int64_t)item->valuedouble;
    }
    if (unit != NULL && info->unit[0] == '\0') crd_unit_normalise(unit, info->unit);
    if (cJSON_IsFalse(get(own, "spacing"))) memset(info->spacing, 0, sizeof info->spacing);
}

static crd_status take_multiscales(const char *shown, const cJSON *root, const char *level, crd_zarr_attributes *out)
{
    const cJSON *image = cJSON_GetArrayItem(get(root, "multiscales"), 0), *datasets = get(image, "datasets");
    const cJSON *dataset = NULL;
    double spacing[3] = {1.0, 1.0, 1.0};
    bool scaled = false;
    int number = 0;
    if (!cJSON_IsObject(image)) return CRD_OK;
    out->multiscales = true;
    CRD_PASS(take_axes(shown, get(image, "axes"), spacing, out->info.unit));
    cJSON_ArrayForEach(dataset, datasets)
    {
        const char *path = cJSON_GetStringValue(get(dataset, "path"));
        if (path != NULL && strlen(path) < sizeof out->path && (level == NULL || strcmp(path, level) == 0)) {
            memcpy(out->path, path, strlen(path) + 1);
            out->found = true;
            break;
        }
        number++;
    }
    if (!out->found) return CRD_OK;
    take_scale(get(dataset, "coordinateTransformations"), spacing, &scaled);
    take_scale(get(image, "coordinateTransformations"), spacing, &scaled);
    if (scaled) memcpy(out->info.spacing, spacing, sizeof spacing);
    take_own(get(root, "credence"), number == 0, &out->info);
    out->incomplete = cJSON_IsFalse(get(root, "complete"));
    return CRD_OK;
}

crd_status crd_zarr_attributes_parse(const char *shown, const char *text, size_t bytes, const char *level,
                                     crd_zarr_attributes *out)
{
    cJSON *root = cJSON_ParseWithLength(text, bytes);
    *out = (crd_zarr_attributes){.info = {.scale = 1.0}};
    const crd_status status = cJSON_IsObject(root)
                                  ? take_multiscales(shown, root, level, out)
                                  : crd_fail(CRD_ERR_FORMAT, "%s has a broken .zattrs: it is no JSON object", shown);
    cJSON_Delete(root);
    return status;
}

static const char *long_name(const char *unit)
{
    static const char *const names[][2] = {{"pm", "picometer"},  {"A", "angstrom"},    {"nm", "nanometer"},
                                           {"um", "micrometer"}, {"mm", "millimeter"}, {"cm", "centimeter"},
                                           {"m", "meter"},       {"inch", "inch"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(unit, names[i][0]) == 0) return names[i][1];
    }
    return NULL;
}

static void add_reals(crd_text *text, const char *key, const double values[3])
{
    crd_text_print(text, "{\"type\": \"%s\", \"%s\": [", key, key);
    for (int i = 0; i < 3; i++) {
        if (i > 0) crd_text_add(text, ", ");
        crd_text_real(text, values[i]);
    }
    crd_text_add(text, "]}");
}

static void add_dataset(crd_text *text, const crd_volume_info *info, int level, const int64_t factors[3])
{
    double scale[3], shift[3];
    bool shifted = false;
    for (int i = 0; i < 3; i++) {
        const double edge = info->spacing[i] > 0.0 ? info->spacing[i] : 1.0;
        scale[i] = edge * (double)factors[i];
        /* The middle of the first voxel: that of the whole scan's, for a box of it; and between those that were joined.
         */
        shift[i] = edge * ((double)info->origin[i] + ((double)factors[i] - 1.0) / 2.0);
        shifted = shifted || shift[i] != 0.0;
    }
    crd_text_print(text, "%s            {\"path\": \"%d\", \"coordinateTransformations\": [", level > 0 ? ",\n" : "",
                   level);
    add_reals(text, "scale", scale);
    if (shifted) {
        crd_text_add(text, ", ");
        add_reals(text, "translation", shift);
    }
    crd_text_add(text, "]}");
}

void crd_zarr_attributes_write(const crd_volume_info *info, const char *name, int levels, const int64_t factors[][3],
                               bool complete, crd_text *text)
{
    static const char *const axes[3] = {"z", "y", "x"};
    const char *unit = long_name(info->unit);
    crd_text_add(text, "{\n    \"multiscales\": [{\n        \"version\": \"0.4\",\n        \"name\": ");
    crd_text_json(text, name);
    crd_text_add(text, ",\n        \"axes\": [");
    for (int i = 0; i < 3; i++) {
        crd_text_print(text, "%s{\"name\": \"%s\", \"type\": \"space\"", i > 0 ? ", " : "", axes[i]);
        if (unit != NULL) crd_text_print(text, ", \"unit\": \"%s\"", unit);
        crd_text_add(text, "}");
    }
    crd_text_add(text, "],\n        \"datasets\": [\n");
    for (int i = 0; i < levels; i++) add_dataset(text, info, i, factors[i]);
    crd_text_add(text, "\n        ]");
    if (levels > 1) crd_text_add(text, ",\n        \"type\": \"mean\"");
    crd_text_print(text, "\n    }],\n    \"complete\": %s,\n    \"credence\": {\"version\": 1",
                   complete ? "true" : "false");
    if (!(info->spacing[0] > 0.0)) crd_text_add(text, ", \"spacing\": false");
    if (unit == NULL && info->unit[0] != '\0') {
        crd_text_add(text, ", \"unit\": ");
        crd_text_json(text, info->unit);
    }
    if (info->scale != 1.0) {
        crd_text_add(text, ", \"scale\": ");
        crd_text_real(text, info->scale);
    }
    if (info->origin[0] != 0 || info->origin[1] != 0 || info->origin[2] != 0) {
        crd_text_print(text, ", \"origin\": [%lld, %lld, %lld]", (long long)info->origin[0], (long long)info->origin[1],
                       (long long)info->origin[2]);
    }
    crd_text_add(text, "}\n}\n");
}
