#include "volume/header/nrrd_header.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "volume/header/text.h"
#include "volume/own_keys.h"
#include "volume/shape.h"
#include "volume/types.h"
#include "volume/units.h"

static const struct {
    int stored;
    const char *names; /* between commas */
} types[] = {
    {CRD_I8, ",signed char,int8,int8_t,"},
    {CRD_U8, ",uchar,unsigned char,uint8,uint8_t,"},
    {CRD_I16, ",short,short int,signed short,signed short int,int16,int16_t,"},
    {CRD_U16, ",ushort,unsigned short,unsigned short int,uint16,uint16_t,"},
    {CRD_I32, ",int,signed int,int32,int32_t,"},
    {CRD_U32, ",uint,unsigned int,uint32,uint32_t,"},
    {CRD_STORED_I64, ",longlong,long long,long long int,signed long long,signed long long int,int64,int64_t,"},
    {CRD_U64, ",ulonglong,unsigned long long,unsigned long long int,uint64,uint64_t,"},
    {CRD_F32, ",float,"},
    {CRD_F64, ",double,"},
};
static const char *const type_names[CRD_TYPE_COUNT] = {
    [CRD_U8] = "uint8",  [CRD_I8] = "int8",   [CRD_U16] = "uint16", [CRD_I16] = "int16",  [CRD_U32] = "uint32",
    [CRD_I32] = "int32", [CRD_F32] = "float", [CRD_F64] = "double", [CRD_U64] = "uint64",
};

/* What the fields say, before it is put together. */
typedef struct parts {
    const char *path;
    int64_t dimension;
    int64_t sizes[CRD_NRRD_AXES];
    int size_count;
    double spacing[CRD_NRRD_AXES]; /* 0: not said */
    double direction[CRD_NRRD_AXES];
    char units[CRD_NRRD_AXES][CRD_UNIT_BYTES]; /* of the axes */
    char space_units[CRD_NRRD_AXES]
                    [CRD_UNIT_BYTES]; /* of the space's, in the order of the axes that have a direction */
    bool no_direction[CRD_NRRD_AXES], no_space[CRD_NRRD_AXES]; /* "none"; a kind that is no place */
    bool has_spacing, has_direction, has_space_units, type_seen, encoding_seen, endian_seen, big;
    unsigned own_keys;
    crd_volume_info said; /* by our own lines */
} parts;

bool crd_nrrd_is(const unsigned char *head, size_t count)
{
    return count >= 8 && memcmp(head, "NRRD000", 7) == 0 && head[7] >= '1' && head[7] <= '9';
}

static crd_status broken(const parts *p, const char *what)
{
    return crd_fail(CRD_ERR_FORMAT, "%s has a broken NRRD header: %s", p->path, what);
}

static crd_status take_type(parts *p, const char *value, size_t length, crd_nrrd_header *out)
{
    char word[64] = ",";
    if (length < sizeof word - 3) {
        for (size_t i = 0; i < length; i++)
            word[i + 1] = (char)(value[i] | (value[i] >= 'A' && value[i] <= 'Z' ? 32 : 0));
        word[length + 1] = ',';
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            if (strstr(types[i].names, word) == NULL || memchr(value, ',', length) != NULL) continue;
            out->stored = types[i].stored;
            p->type_seen = true;
            return CRD_OK;
        }
    }
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s holds values of NRRD type '%.*s'; credence reads integers and floats",
                    p->path, (int)(length < 40 ? length : 40), value);
}

static crd_status take_encoding(parts *p, const char *value, size_t length, crd_nrrd_header *out)
{
    p->encoding_seen = true;
    out->packing = CRD_PACKING_NONE;
    if (crd_is_word(value, length, "raw")) return CRD_OK;
    out->packing = CRD_PACKING_GZIP;
    if (crd_is_word(value, length, "gzip") || crd_is_word(value, length, "gz")) return CRD_OK;
    return crd_fail(CRD_ERR_UNSUPPORTED,
                    "%s is NRRD with the encoding '%.*s'; credence reads raw and gzip (`unu save -e gzip` makes one)",
                    p->path, (int)(length < 40 ? length : 40), value);
}

/* "(1,0,0) (0,1,0) none": the length of each vector, and whether it lies along one axis. */
static crd_status take_directions(parts *p, const char *value, size_t length, crd_nrrd_header *out)
{
    const char *end = value + length;
    int along = 0; /* the axis of the space that comes next, where nothing is turned */
    for (int axis = 0; value < end; axis++) {
        double sum = 0.0;
        int parallel = 0, component = 0;
        if (axis == CRD_NRRD_AXES) return broken(p, "too many space directions");
        if (*value != '(') {
            const char *blank = memchr(value, ' ', (size_t)(end - value));
            const size_t word = (size_t)((blank != NULL ? blank : end) - value);
            if (!crd_is_word(value, word, "none")) return broken(p, "its space directions can't be read");
            value += word;
            p->no_direction[axis] = true;
        } else {
            const char *close = memchr(value, ')', (size_t)(end - value));
            if (close == NULL) return broken(p, "its space directions can't be read");
            for (value++; value <= close;) {
                const char *comma = memchr(value, ',', (size_t)(close - value));
                const char *stop = comma != NULL ? comma : close;
                double number;
                if (!crd_parse_real(value, (size_t)(stop - value), &number))
                    return broken(p, "a space direction is no vector");
                sum += number * number;
                parallel += number != 0.0;
                out->oblique = out->oblique || (number != 0.0 && component != along) || number < 0.0;
                component++;
                value = stop + 1;
            }
            along++;
            p->direction[axis] = sqrt(sum);
            out->oblique = out->oblique || parallel > 1;
        }
        while (value < end && (*value == ' ' || *value == '\t')) value++;
    }
    p->has_direction = true;
    return CRD_OK;
}

/* "spacings: 1 2 nan": what isn't a number isn't known. */
static crd_status take_spacings(parts *p, const char *value, size_t length)
{
    const char *end = value + length;
    for (int axis = 0; value < end; axis++) {
        if (axis == CRD_NRRD_AXES) return broken(p, "too many spacings");
        const char *stop = value;
        while (stop < end && *stop != ' ' && *stop != '\t') stop++;
        double number = 0.0;
        if (crd_parse_real(value, (size_t)(stop - value), &number)) p->spacing[axis] = fabs(number);
        for (value = stop; value < end && (*value == ' ' || *value == '\t');) value++;
    }
    p->has_spacing = true;
    return CRD_OK;
}

/* "\"um\" \"um\" \"um\"" */
static int take_units(const char *value, size_t length, char units[][CRD_UNIT_BYTES], int most)
{
    const char *end = value + length;
    int count = 0;
    while (value < end && count < most) {
        char word[40] = "";
        const char *open = memchr(value, '"', (size_t)(end - value));
        const char *close = open != NULL ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
        if (close == NULL) break;
        const size_t n = (size_t)(close - open - 1);
        memcpy(word, open + 1, n < sizeof word - 1 ? n : sizeof word - 1);
        crd_unit_normalise(word, units[count++]);
        value = close + 1;
    }
    return count;
}

/* "domain domain list": axes along which there is something else than places. */
static void take_kinds(parts *p, const char *value, size_t length)
{
    static const char *const places[] = {"domain", "space", "???", "none"};
    size_t word;
    const char *kind;
    for (int axis = 0; axis < CRD_NRRD_AXES && (kind = crd_next_word(&value, &length, &word)) != NULL; axis++) {
        p->no_space[axis] = true;
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            if (crd_is_word(kind, word, places[i])) p->no_space[axis] = false;
        }
    }
}

static crd_status take_field(parts *p, const char *key, size_t n, const char *value, size_t length,
                             crd_nrrd_header *out)
{
    int64_t number;
    if (crd_is_word(key, n, "dimension")) {
        if (!crd_parse_int(value, length, &p->dimension)) return broken(p, "its dimension is no number");
    } else if (crd_is_word(key, n, "sizes")) {
        p->size_count = crd_take_ints(value, length, p->sizes, CRD_NRRD_AXES);
        if (p->size_count < 1) return broken(p, "its sizes can't be read");
    } else if (crd_is_word(key, n, "type")) {
        return take_type(p, value, length, out);
    } else if (crd_is_word(key, n, "encoding")) {
        return take_encoding(p, value, length, out);
    } else if (crd_is_word(key, n, "endian")) {
        p->big = crd_is_word(value, length, "big");
        if (!p->big && !crd_is_word(value, length, "little")) return broken(p, "its endian is neither big nor little");
        p->endian_seen = true;
    } else if (crd_is_word(key, n, "spacings")) {
        return take_spacings(p, value, length);
    } else if (crd_is_word(key, n, "space directions")) {
        return take_directions(p, value, length, out);
    } else if (crd_is_word(key, n, "units")) {
        (void)take_units(value, length, p->units, CRD_NRRD_AXES);
    } else if (crd_is_word(key, n, "space units")) {
        p->has_space_units = take_units(value, length, p->space_units, CRD_NRRD_AXES) > 0;
    } else if (crd_is_word(key, n, "kinds")) {
        take_kinds(p, value, length);
    } else if (crd_is_word(key, n, "data file") || crd_is_word(key, n, "datafile")) {
        out->data_file = value;
        out->data_file_length = length;
    } else if (crd_is_word(key, n, "line skip") || crd_is_word(key, n, "lineskip")) {
        if (!crd_parse_int(value, length, &number) || number < 0) return broken(p, "its line skip is no count");
        out->line_skip = number;
    } else if (crd_is_word(key, n, "byte skip") || crd_is_word(key, n, "byteskip")) {
        if (!crd_parse_int(value, length, &number) || number < -1) return broken(p, "its byte skip is no count");
        out->byte_skip = number;
    }
    return CRD_OK;
}

static crd_status take_line(parts *p, const char *line, size_t length, crd_nrrd_header *out)
{
    const char *colon = length > 0 && line[0] != '#' ? memchr(line, ':', length) : NULL;
    if (colon == NULL || colon + 1 == line + length) return CRD_OK;
    const char *value = colon + 2;
    if (colon + 2 > line + length) value = line + length;
    size_t rest = (size_t)(line + length - value);
    if (colon[1] == '=') {
        crd_own_keys_take(line, (size_t)(colon - line), value, rest, &p->said, &p->own_keys);
        return CRD_OK;
    }
    value = colon + 1;
    rest = (size_t)(line + length - value);
    crd_trim(&value, &rest);
    return take_field(p, line, (size_t)(colon - line), value, rest, out);
}

/* Along an axis of several colours, channels or times there are no places. That slices were stacked up can look the
 * same: the slowest axis may have no direction. */
static crd_status check_axis(const parts *p, int axis, bool slowest, bool placed)
{
    const bool strange = p->sizes[axis] > 1 && (p->no_space[axis] || (placed && p->no_direction[axis] && !slowest));
    if (!strange) return CRD_OK;
    return crd_fail(
        CRD_ERR_UNSUPPORTED,
        "%s has colours, channels or times along its axis %d (%lld of them) by its NRRD header; if those are "
        "places, write 'domain' among its kinds and give all axes a direction",
        p->path, axis + 1, (long long)p->sizes[axis]);
}

/* The unit of an axis, which may be none: in the space's order where there is a space. */
static const char *unit_of(const parts *p, int axis)
{
    int along = 0;
    for (int k = 0; k < axis; k++) along += !p->no_direction[k];
    return p->has_space_units ? p->space_units[along] : p->units[axis];
}

/* Edges and unit of the three axes that are the volume's. */
static crd_status settle_spacing(const parts *p, int channel, crd_nrrd_header *out)
{
    crd_volume_info *info = &out->info;
    const int first = p->size_count - 3 - (channel == 0); /* of the three: the fastest */
    const bool placed = !p->no_direction[first] || !p->no_direction[first + 1] || !p->no_direction[first + 2];
    const char *unit = "";
    for (int i = 2; i >= 0; i--) {
        const int axis = first + 2 - i;
        const char *own = unit_of(p, axis);
        CRD_PASS(check_axis(p, axis, i == 0, placed));
        info->spacing[i] = p->has_direction ? p->direction[axis] : p->has_spacing ? p->spacing[axis] : 0.0;
        if (unit[0] == '\0') unit = own;
        if (own[0] == '\0' || strcmp(unit, own) == 0 || info->spacing[i] == 0.0) continue;
        const double ratio = crd_unit_in_um(own) / crd_unit_in_um(unit);
        out->units_differ = out->units_differ || !isfinite(ratio) || ratio == 0.0;
        info->spacing[i] *= ratio;
    }
    if (out->units_differ) {
        memset(info->spacing, 0, sizeof info->spacing);
    } else {
        memcpy(info->unit, unit, sizeof info->unit);
    }
    return CRD_OK;
}

/* Shape, spacing and unit in our order: the file's axes are fastest first. */
static crd_status settle(parts *p, crd_nrrd_header *out)
{
    int64_t dims[CRD_NRRD_AXES];
    crd_volume_info *info = &out->info;
    int channel;
    const int count = p->size_count;
    if (count == 0 || p->dimension != count) return broken(p, "dimension and sizes don't agree");
    if (!p->type_seen || !p->encoding_seen) return broken(p, "type or encoding is missing");
    for (int i = 0; i < count; i++) dims[i] = p->sizes[count - 1 - i];
    if (!crd_shape_of(dims, count, info->shape, &channel)) {
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s holds an array of %d dimensions; a volume has three, or four with one channel first or last", p->path,
            count);
    }
    if (!p->endian_seen && crd_stored_size(out->stored) > 1) return broken(p, "endian is missing");
    out->swap = crd_stored_size(out->stored) > 1 && p->big != (CRD_BIG_ENDIAN != 0);
    CRD_PASS(settle_spacing(p, channel, out));
    info->type = crd_stored_widened(out->stored);
    info->scale = 1.0;
    if (p->own_keys & CRD_OWN_UNIT) memcpy(info->unit, p->said.unit, sizeof info->unit);
    if (p->own_keys & CRD_OWN_SCALE) info->scale = p->said.scale;
    if (p->own_keys & CRD_OWN_ORIGIN) memcpy(info->origin, p->said.origin, sizeof info->origin);
    return CRD_OK;
}

crd_status crd_nrrd_parse(const char *path, const char *text, size_t length, crd_nrrd_header *out)
{
    parts p = {.path = path};
    const char *at = text, *end = text + length, *line;
    size_t line_length;
    bool ended = false;
    memset(out, 0, sizeof *out);
    if (!crd_nrrd_is((const unsigned char *)text, length))
        return broken(&p, "it doesn't begin with NRRD000 and a digit");
    if (text[7] > '5') {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has NRRD version %c; versions 1 to 5 are known", path, text[7]);
    }
    (void)crd_next_line(&at, end, &line, &line_length);
    while (!ended && crd_next_line(&at, end, &line, &line_length)) {
        ended = line_length == 0;
        if (!ended) CRD_PASS(take_line(&p, line, line_length, out));
    }
    out->bytes = (size_t)(at - text);
    if (!ended && out->data_file == NULL) return broken(&p, "no empty line ends it within a MiB");
    return settle(&p, out);
}

void crd_nrrd_write(const crd_volume_info *info, int64_t packed_bytes, const char *data_file, crd_text *text)
{
    const unsigned own_keys =
        crd_own_keys_needed(info, CRD_OWN_SCALE | CRD_OWN_ORIGIN | (info->spacing[0] > 0.0 ? 0 : CRD_OWN_UNIT));
    /* Version 4 is the first with a space; version 5 adds nothing that is needed here. */
    crd_text_print(text, "NRRD0004\n# https://teem.sourceforge.net/nrrd/format.html\ntype: %s\ndimension: 3\n",
                   type_names[info->type]);
    if (info->spacing[0] > 0.0) crd_text_add(text, "space dimension: 3\n");
    crd_text_print(text, "sizes: %lld %lld %lld\n", (long long)info->shape[2], (long long)info->shape[1],
                   (long long)info->shape[0]);
    if (info->spacing[0] > 0.0) {
        crd_text_add(text, "space directions:");
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++) {
                crd_text_add(text, k == 0 ? " (" : ",");
                crd_text_real(text, i == k ? info->spacing[2 - i] : 0.0);
            }
            crd_text_add(text, ")");
        }
        crd_text_add(text, "\n");
    }
    crd_text_add(text, "kinds: domain domain domain\n");
    if (crd_type_size(info->type) > 1) crd_text_print(text, "endian: %s\n", CRD_BIG_ENDIAN ? "big" : "little");
    crd_text_print(text, "encoding: %s\n", packed_bytes >= 0 ? "gzip" : "raw");
    if (info->spacing[0] > 0.0 && info->unit[0] != '\0') {
        char unit[sizeof info->unit];
        memcpy(unit, info->unit, sizeof unit);
        for (char *c = unit; *c != '\0'; c++) *c = *c == '"' || *c == '\\' ? '\'' : *c;
        crd_text_print(text, "space units: \"%s\" \"%s\" \"%s\"\n", unit, unit, unit);
    }
    if (info->spacing[0] > 0.0) {
        crd_text_add(text, "space origin:");
        for (int i = 2; i >= 0; i--) {
            crd_text_add(text, i == 2 ? " (" : ",");
            crd_text_real(text, (double)info->origin[i] * info->spacing[i]);
        }
        crd_text_add(text, ")\n");
    }
    if (data_file != NULL) crd_text_print(text, "data file: %s\n", data_file);
    crd_own_keys_write(info, own_keys, ":=", "\n", text);
    if (data_file == NULL) crd_text_add(text, "\n");
}
