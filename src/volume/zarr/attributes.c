/* OME-Zarr's attributes of an image: .zattrs (0.1 to 0.4), or "attributes" in zarr.json, where what is OME's is called
 * "ome" (0.5). */
#include <math.h>
#include <string.h>

#include "volume/units.h"
#include "volume/zarr/layout.h"

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
        const char *name = cJSON_GetStringValue(cJSON_IsString(axis) ? axis : crd_zarr_get(axis, "name"));
        if (count < 3 || name == NULL || strcmp(name, names[i]) != 0) {
            return crd_fail(CRD_ERR_UNSUPPORTED, "%s has axes that don't end in z, y, x, which is what a volume has",
                            shown);
        }
        crd_unit_normalise(cJSON_GetStringValue(crd_zarr_get(axis, "unit")), units[i]);
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
        const char *type = cJSON_GetStringValue(crd_zarr_get(item, "type"));
        const cJSON *scale = crd_zarr_get(item, "scale");
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
    const cJSON *scale = crd_zarr_get(own, "scale"), *origin = crd_zarr_get(own, "origin");
    const char *unit = cJSON_GetStringValue(crd_zarr_get(own, "unit"));
    if (cJSON_IsNumber(scale) && isfinite(scale->valuedouble) && scale->valuedouble != 0.0)
        info->scale = scale->valuedouble;
    for (int i = 0; i < 3 && first && cJSON_GetArraySize(origin) == 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(origin, i);
        if (cJSON_IsNumber(item) && fabs(item->valuedouble) <= 0x1p53) info->origin[i] = (int64_t)item->valuedouble;
    }
    if (unit != NULL && info->unit[0] == '\0') crd_unit_normalise(unit, info->unit);
    if (cJSON_IsFalse(crd_zarr_get(own, "spacing"))) memset(info->spacing, 0, sizeof info->spacing);
}

/* `ome` has the image, and `root` what only we say. */
static crd_status take_multiscales(const char *shown, const cJSON *root, const cJSON *ome, const char *level,
                                   crd_zarr_attributes *out)
{
    const cJSON *image = cJSON_GetArrayItem(crd_zarr_get(ome, "multiscales"), 0);
    const cJSON *datasets = crd_zarr_get(image, "datasets"), *dataset = NULL;
    double spacing[3] = {1.0, 1.0, 1.0};
    bool scaled = false;
    int number = 0;
    if (!cJSON_IsObject(image)) return CRD_OK;
    out->multiscales = true;
    CRD_PASS(take_axes(shown, crd_zarr_get(image, "axes"), spacing, out->info.unit));
    cJSON_ArrayForEach(dataset, datasets)
    {
        const char *path = cJSON_GetStringValue(crd_zarr_get(dataset, "path"));
        if (path != NULL && strlen(path) < sizeof out->path && (level == NULL || strcmp(path, level) == 0)) {
            memcpy(out->path, path, strlen(path) + 1);
            out->found = true;
            break;
        }
        number++;
    }
    if (!out->found) return CRD_OK;
    take_scale(crd_zarr_get(dataset, "coordinateTransformations"), spacing, &scaled);
    take_scale(crd_zarr_get(image, "coordinateTransformations"), spacing, &scaled);
    if (scaled) memcpy(out->info.spacing, spacing, sizeof spacing);
    take_own(crd_zarr_get(root, "credence"), number == 0, &out->info);
    out->incomplete = cJSON_IsFalse(crd_zarr_get(root, "complete"));
    return CRD_OK;
}

crd_status crd_zarr_attributes_parse(const char *shown, int version, const char *text, size_t bytes, const char *level,
                                     crd_zarr_attributes *out)
{
    cJSON *root = cJSON_ParseWithLength(text, bytes);
    *out = (crd_zarr_attributes){.info = {.scale = 1.0}};
    const cJSON *attributes = version == 3 ? crd_zarr_get(root, "attributes") : root;
    const cJSON *ome = crd_zarr_get(attributes, "ome");
    const crd_status status =
        cJSON_IsObject(root)
            ? take_multiscales(shown, attributes, version == 3 && cJSON_IsObject(ome) ? ome : attributes, level, out)
            : crd_fail(CRD_ERR_FORMAT, "%s has a broken %s: it is no JSON object", shown, crd_zarr_group_file(version));
    cJSON_Delete(root);
    return status;
}

crd_status crd_zarr_array_attributes_check(const char *shown, const char *text, size_t bytes)
{
    cJSON *root = cJSON_ParseWithLength(text, bytes);
    const cJSON *names = crd_zarr_get(root, "_ARRAY_DIMENSIONS");
    const int rank = cJSON_GetArraySize(names);
    const crd_status status = rank >= 3 ? crd_zarr_check_names(shown, names, rank) : CRD_OK;
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

static void add_dataset(crd_text *text, const crd_volume_info *info, int level, const int64_t factors[3],
                        const char *indent)
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
    crd_text_print(text, "%s%s            {\"path\": \"%d\", \"coordinateTransformations\": [", level > 0 ? ",\n" : "",
                   indent, level);
    add_reals(text, "scale", scale);
    if (shifted) {
        crd_text_add(text, ", ");
        add_reals(text, "translation", shift);
    }
    crd_text_add(text, "]}");
}

/* In the lines of 0.4, which those of 0.5 are, but further in. */
static void add_image(crd_text *text, const crd_volume_info *info, int levels, const int64_t factors[][3],
                      const char *indent)
{
    static const char *const axes[3] = {"z", "y", "x"};
    const char *unit = long_name(info->unit);
    crd_text_print(text, ",\n%s        \"axes\": [", indent);
    for (int i = 0; i < 3; i++) {
        crd_text_print(text, "%s{\"name\": \"%s\", \"type\": \"space\"", i > 0 ? ", " : "", axes[i]);
        if (unit != NULL) crd_text_print(text, ", \"unit\": \"%s\"", unit);
        crd_text_add(text, "}");
    }
    crd_text_print(text, "],\n%s        \"datasets\": [\n", indent);
    for (int i = 0; i < levels; i++) add_dataset(text, info, i, factors[i], indent);
    crd_text_print(text, "\n%s        ]", indent);
    if (levels > 1) crd_text_print(text, ",\n%s        \"type\": \"mean\"", indent);
    crd_text_print(text, "\n%s    }]", indent);
}

/* What only credence says. */
static void add_own(crd_text *text, const crd_volume_info *info, bool complete, const char *indent)
{
    crd_text_print(text, ",\n%s    \"complete\": %s,\n%s    \"credence\": {\"version\": 1", indent,
                   complete ? "true" : "false", indent);
    if (!(info->spacing[0] > 0.0)) crd_text_add(text, ", \"spacing\": false");
    if (long_name(info->unit) == NULL && info->unit[0] != '\0') {
        crd_text_add(text, ", \"unit\": ");
        crd_text_json(text, info->unit);
    }
    if (info->scale != 1.0) {
        crd_text_add(text, ", \"scale\": ");
        crd_text_real(text, info->scale);
    }
    if (info->origin[0] != 0 || info->origin[1] != 0 || info->origin[2] != 0) {
        crd_text_add(text, ", \"origin\": ");
        crd_zarr_add_whole(text, info->origin);
    }
    crd_text_add(text, "}");
}

void crd_zarr_attributes_write(int version, const crd_volume_info *info, const char *name, int levels,
                               const int64_t factors[][3], bool complete, crd_text *text)
{
    if (version == 3) {
        static const char indent[] = "        ";
        crd_text_add(text, "{\n    \"zarr_format\": 3,\n    \"node_type\": \"group\",\n    \"attributes\": {\n"
                           "        \"ome\": {\n            \"version\": \"0.5\",\n"
                           "            \"multiscales\": [{\n                \"name\": ");
        crd_text_json(text, name);
        add_image(text, info, levels, factors, indent);
        crd_text_add(text, "\n        }");
        add_own(text, info, complete, "    ");
        crd_text_add(text, "\n    }\n}\n");
    } else {
        crd_text_add(text, "{\n    \"multiscales\": [{\n        \"version\": \"0.4\",\n        \"name\": ");
        crd_text_json(text, name);
        add_image(text, info, levels, factors, "");
        add_own(text, info, complete, "");
        crd_text_add(text, "\n}\n");
    }
}
