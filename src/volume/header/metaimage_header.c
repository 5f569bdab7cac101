#include "volume/header/metaimage_header.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "volume/header/text.h"
#include "volume/own_keys.h"
#include "volume/shape.h"
#include "volume/types.h"
#include "volume/units.h"

static const struct {
    const char *name;
    int stored;
} types[] = {
    {"MET_CHAR", CRD_I8},    {"MET_UCHAR", CRD_U8},   {"MET_SHORT", CRD_I16},
    {"MET_USHORT", CRD_U16}, {"MET_INT", CRD_I32},    {"MET_UINT", CRD_U32},
    {"MET_LONG", CRD_I32},   {"MET_ULONG", CRD_U32},  {"MET_LONG_LONG", CRD_STORED_I64},
    {"MET_FLOAT", CRD_F32},  {"MET_DOUBLE", CRD_F64}, {"MET_ULONG_LONG", CRD_U64},
};
static const char *const type_names[CRD_TYPE_COUNT] = {
    [CRD_U8] = "MET_UCHAR",  [CRD_I8] = "MET_CHAR",    [CRD_U16] = "MET_USHORT",
    [CRD_I16] = "MET_SHORT", [CRD_U32] = "MET_UINT",   [CRD_I32] = "MET_INT",
    [CRD_F32] = "MET_FLOAT", [CRD_F64] = "MET_DOUBLE", [CRD_U64] = "MET_ULONG_LONG",
};

typedef struct parts {
    const char *path;
    int64_t dimensions, channels;
    int64_t sizes[CRD_METAIMAGE_AXES];
    double spacing[CRD_METAIMAGE_AXES], edges[CRD_METAIMAGE_AXES];
    int size_count, spacing_count, edge_count;
    bool type_seen, order_seen, orders_differ, big, ascii;
    double slope;
    unsigned own_keys;
    crd_volume_info said; /* by our own words */
} parts;

static crd_status broken(const parts *p, const char *what)
{
    return crd_fail(CRD_ERR_FORMAT, "%s has a broken MetaImage header: %s", p->path, what);
}

/* A word, blanks, an equals sign: one of the two fields that such a header begins with. */
bool crd_metaimage_is(const unsigned char *head, size_t count)
{
    static const char *const first[] = {"ObjectType", "NDims", "Comment"};
    const char *at = (const char *)head, *line;
    size_t length;
    if (!crd_next_line(&at, (const char *)head + count, &line, &length)) return false;
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        const size_t n = strlen(first[i]);
        if (length <= n || strncmp(line, first[i], n) != 0) continue;
        while (length > n && line[n] == ' ') line++, length--;
        if (length > n && line[n] == '=') return i != 2 || memmem(head, count, "\nNDims", 6) != NULL;
    }
    return false;
}

static bool is_true(const char *value, size_t length)
{
    return length > 0 && (value[0] == 'T' || value[0] == 't' || value[0] == '1');
}

static crd_status take_type(parts *p, const char *value, size_t length, crd_metaimage_header *out)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!crd_is_word(value, length, types[i].name)) continue;
        out->stored = types[i].stored;
        p->type_seen = true;
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s holds values of MetaImage type '%.*s'; credence reads integers and floats",
                    p->path, (int)(length < 40 ? length : 40), value);
}

static void look_at_matrix(const char *value, size_t length, crd_metaimage_header *out)
{
    double m[CRD_METAIMAGE_AXES * CRD_METAIMAGE_AXES];
    const int count = crd_take_reals(value, length, m, CRD_METAIMAGE_AXES * CRD_METAIMAGE_AXES);
    const int edge = count == 4 ? 2 : count == 9 ? 3 : count == 16 ? 4 : 0;
    for (int i = 0; i < edge * edge; i++) {
        if (m[i] != (i % edge == i / edge ? 1.0 : 0.0)) out->turned = true;
    }
}

static crd_status take_field(parts *p, const char *key, size_t n, const char *value, size_t length,
                             crd_metaimage_header *out)
{
    if (crd_is_word(key, n, "ObjectType")) {
        if (!crd_is_word(value, length, "Image")) return broken(p, "it describes no image");
    } else if (crd_is_word(key, n, "NDims")) {
        if (!crd_parse_int(value, length, &p->dimensions)) return broken(p, "NDims is no number");
    } else if (crd_is_word(key, n, "DimSize")) {
        p->size_count = crd_take_ints(value, length, p->sizes, CRD_METAIMAGE_AXES);
        if (p->size_count < 1) return broken(p, "DimSize can't be read");
    } else if (crd_is_word(key, n, "ElementSpacing")) {
        p->spacing_count = crd_take_reals(value, length, p->spacing, CRD_METAIMAGE_AXES);
    } else if (crd_is_word(key, n, "ElementSize")) {
        p->edge_count = crd_take_reals(value, length, p->edges, CRD_METAIMAGE_AXES);
    } else if (crd_is_word(key, n, "ElementNumberOfChannels")) {
        if (!crd_parse_int(value, length, &p->channels)) return broken(p, "ElementNumberOfChannels is no number");
    } else if (crd_is_word(key, n, "ElementType")) {
        return take_type(p, value, length, out);
    } else if (crd_is_word(key, n, "BinaryDataByteOrderMSB") || crd_is_word(key, n, "ElementByteOrderMSB")) {
        const bool big = is_true(value, length);
        p->orders_differ = p->order_seen && big != p->big;
        p->big = big;
        p->order_seen = true;
    } else if (crd_is_word(key, n, "BinaryData")) {
        p->ascii = !is_true(value, length);
    } else if (crd_is_word(key, n, "CompressedData")) {
        out->packed = is_true(value, length);
    } else if (crd_is_word(key, n, "HeaderSize")) {
        if (!crd_parse_int(value, length, &out->skip) || out->skip < -1) return broken(p, "HeaderSize is no count");
    } else if (crd_is_word(key, n, "TransformMatrix") || crd_is_word(key, n, "Rotation") ||
               crd_is_word(key, n, "Orientation")) {
        look_at_matrix(value, length, out);
    } else if (crd_is_word(key, n, "DistanceUnits")) {
        char unit[CRD_UNIT_BYTES] = "";
        if (length < sizeof unit && value[0] != '?') memcpy(unit, value, length);
        crd_unit_normalise(unit, out->info.unit);
    } else if (crd_is_word(key, n, "ElementToIntensityFunctionSlope")) {
        if (!crd_parse_real(value, length, &p->slope)) return broken(p, "ElementToIntensityFunctionSlope is no number");
    } else if (crd_is_word(key, n, "ElementToIntensityFunctionOffset")) {
        if (!crd_parse_real(value, length, &out->intercept)) {
            return broken(p, "ElementToIntensityFunctionOffset is no number");
        }
    } else if (crd_is_word(key, n, "Comment")) {
        crd_own_keys_read(value, length, &p->said, &p->own_keys);
    }
    return CRD_OK;
}

static crd_status settle(parts *p, crd_metaimage_header *out)
{
    int64_t dims[CRD_METAIMAGE_AXES];
    crd_volume_info *info = &out->info;
    int channel;
    const int count = p->size_count;
    const double *spacing = p->spacing_count == count ? p->spacing : p->edge_count == count ? p->edges : NULL;
    if (count == 0 || p->dimensions != count) return broken(p, "NDims and DimSize don't agree");
    if (!p->type_seen) return broken(p, "ElementType is missing");
    if (p->ascii) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s keeps its voxels as text; credence reads binary MetaImage files",
                        p->path);
    }
    for (int i = 0; i < count; i++) dims[i] = p->sizes[count - 1 - i];
    if (p->channels != 1 || !crd_shape_of(dims, count, info->shape, &channel)) {
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s holds an image of %d dimensions and %lld channels; a volume has three, or four of which the "
            "first or last is 1, and one channel",
            p->path, count, (long long)p->channels);
    }
    if (p->orders_differ && crd_stored_size(out->stored) > 1) return broken(p, "it says two different orders of bytes");
    out->swap = crd_stored_size(out->stored) > 1 && p->big != (CRD_BIG_ENDIAN != 0);
    for (int i = 0; i < 3 && spacing != NULL; i++) info->spacing[i] = fabs(spacing[count - 1 - (i + (channel == 0))]);
    info->type = crd_stored_widened(out->stored);
    info->scale = p->slope != 0.0 ? p->slope : 1.0;
    if (p->own_keys & CRD_OWN_UNIT) memcpy(info->unit, p->said.unit, sizeof info->unit);
    if (p->own_keys & CRD_OWN_SCALE) info->scale = p->said.scale;
    if (p->own_keys & CRD_OWN_ORIGIN) memcpy(info->origin, p->said.origin, sizeof info->origin);
    return CRD_OK;
}

crd_status crd_metaimage_parse(const char *path, const char *text, size_t length, crd_metaimage_header *out)
{
    parts p = {.path = path, .channels = 1};
    const char *at = text, *end = text + length, *line;
    size_t rest;
    memset(out, 0, sizeof *out);
    while (crd_next_line(&at, end, &line, &rest)) {
        const char *equals = memchr(line, '=', rest);
        if (equals == NULL) {
            crd_trim(&line, &rest);
            if (rest == 0) continue;
            return broken(&p, "a line without = comes before ElementDataFile");
        }
        const char *value = equals + 1;
        size_t key_length = (size_t)(equals - line), value_length = (size_t)(line + rest - value);
        crd_trim(&line, &key_length);
        crd_trim(&value, &value_length);
        if (crd_is_word(line, key_length, "ElementDataFile")) {
            out->bytes = (size_t)(at - text);
            out->data_file = crd_is_word(value, value_length, "LOCAL") ? NULL : value;
            out->data_file_length = value_length;
            return settle(&p, out);
        }
        CRD_PASS(take_field(&p, line, key_length, value, value_length, out));
    }
    return broken(&p, "ElementDataFile is missing");
}

static void add_three(crd_text *text, const char *key, const double values[3])
{
    crd_text_print(text, "%s =", key);
    for (int i = 2; i >= 0; i--) {
        crd_text_add(text, " ");
        crd_text_real(text, values[i]);
    }
    crd_text_add(text, "\n");
}

void crd_metaimage_write(const crd_volume_info *info, int64_t packed_bytes, const char *data_file, crd_text *text)
{
    /* The units that the format knows; all others are said in the comment alone. */
    const bool own_unit =
        strcmp(info->unit, "um") == 0 || strcmp(info->unit, "mm") == 0 || strcmp(info->unit, "cm") == 0;
    const unsigned own_keys = crd_own_keys_needed(info, CRD_OWN_SCALE | CRD_OWN_ORIGIN | (own_unit ? 0 : CRD_OWN_UNIT));
    double offset[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < 3; i++) offset[i] = (double)info->origin[i] * (info->spacing[i] > 0.0 ? info->spacing[i] : 1.0);
    crd_text_add(text, "ObjectType = Image\nNDims = 3\n");
    if (own_keys != 0) {
        crd_text_add(text, "Comment = ");
        crd_own_keys_write(info, own_keys, "=", "; ", text);
        crd_text_add(text, "\n");
    }
    if (own_unit) crd_text_print(text, "DistanceUnits = %s\n", info->unit);
    crd_text_print(text, "BinaryData = True\nBinaryDataByteOrderMSB = %s\n", CRD_BIG_ENDIAN ? "True" : "False");
    crd_text_print(text, "CompressedData = %s\n", packed_bytes >= 0 ? "True" : "False");
    if (packed_bytes >= 0) crd_text_print(text, "CompressedDataSize = %018lld\n", (long long)packed_bytes);
    crd_text_add(text, "TransformMatrix = 1 0 0 0 1 0 0 0 1\n");
    add_three(text, "Offset", offset);
    if (info->spacing[0] > 0.0) add_three(text, "ElementSpacing", info->spacing);
    crd_text_print(text, "DimSize = %lld %lld %lld\n", (long long)info->shape[2], (long long)info->shape[1],
                   (long long)info->shape[0]);
    crd_text_print(text, "ElementType = %s\n", type_names[info->type]);
    crd_text_print(text, "ElementDataFile = %s\n", data_file != NULL ? data_file : "LOCAL");
}
