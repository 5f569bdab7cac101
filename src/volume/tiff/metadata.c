/* Spacing, unit and number of slices from a TIFF file's description (ImageJ's lines, tifffile's JSON; OME's XML is in
 * ome.c) and from its resolution tags. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/number.h"
#include "volume/own_keys.h"
#include "volume/tiff/tiff.h"
#include "volume/units.h"

/* ---- ImageJ: lines of key=value ---- */

/* The value of `key`, or NULL; lines end in \n, \r\n or the end of the text. */
static const char *find_line(const char *text, const char *key, size_t *length)
{
    const size_t n = strlen(key);
    for (const char *line = text; *line != '\0';) {
        const size_t end = strcspn(line, "\r\n");
        if (end > n && strncmp(line, key, n) == 0 && line[n] == '=') {
            *length = end - n - 1;
            return line + n + 1;
        }
        line += end + strspn(line + end, "\r\n");
    }
    return NULL;
}

static bool line_real(const char *text, const char *key, double *out)
{
    size_t length = 0;
    const char *value = find_line(text, key, &length);
    return value != NULL && crd_parse_real(value, length, out);
}

/* Counts are whole, yet some programs write "12.0"; 0 where the line is absent or isn't a count. */
static int64_t line_count(const char *text, const char *key)
{
    double value = 0.0;
    if (!line_real(text, key, &value) || value < 1.0 || value > 1e15) return 0;
    return (int64_t)value;
}

static void line_unit(const char *text, const char *key, char out[CRD_UNIT_BYTES])
{
    char word[64];
    size_t length = 0;
    const char *value = find_line(text, key, &length);
    out[0] = '\0';
    if (value == NULL || length >= sizeof word) return;
    memcpy(word, value, length);
    word[length] = '\0';
    crd_unit_normalise(word, out);
}

/* Three numbers between commas, all of them or none. */
static bool line_triple(const char *text, const char *key, double out[3])
{
    double values[3];
    size_t left = 0;
    const char *value = find_line(text, key, &left);
    if (value == NULL) return false;
    for (int i = 0; i < 3; i++) {
        const char *comma = memchr(value, ',', left);
        const size_t n = i < 2 && comma != NULL ? (size_t)(comma - value) : left;
        if ((i < 2 && comma == NULL) || !crd_parse_real(value, n, &values[i])) return false;
        value += i < 2 ? n + 1 : n;
        left -= i < 2 ? n + 1 : n;
    }
    memcpy(out, values, sizeof values);
    return true;
}

/* An edge given in `from`, told in `to`; unchanged where either is no length. */
static double in_unit(double edge, const char *from, const char *to)
{
    const double a = crd_unit_in_um(from), b = crd_unit_in_um(to);
    return a > 0.0 && b > 0.0 && a != b ? edge * a / b : edge;
}

/* What scanners, cameras and printers put there unasked. */
static bool is_habit(double per_inch)
{
    static const double habits[] = {1, 72, 75, 90, 96, 100, 120, 144, 150, 180, 200, 240, 300, 400, 600, 1200, 2400};
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        if (fabs(per_inch - habits[i]) < 1e-3 * habits[i]) return true;
    }
    return false;
}

/* ImageJ's own rules: an edge that isn't said is 1, and 72 dpi means that nobody set one. */
static void imagej_spacing(const char *path, const char *text, const crd_tiff_resolution *resolution, bool slice,
                           const crd_monitor *monitor, crd_tiff_metadata *out)
{
    char unit[CRD_UNIT_BYTES], other[CRD_UNIT_BYTES];
    double depth = 0.0, x = resolution->x, y = resolution->y;
    const bool has_depth = line_real(text, "spacing", &depth) && depth != 0.0;
    line_unit(text, "unit", unit);
    const bool has_unit = unit[0] != '\0';
    if (resolution->unit == RESUNIT_INCH && is_habit(resolution->per_x)) x = y = 0.0;
    if (resolution->unit == RESUNIT_CENTIMETER && strcmp(unit, "um") == 0) { /* as ImageJ reads it */
        x *= 1e4;
        y *= 1e4;
    }
    if (!has_unit && resolution->unit != RESUNIT_NONE && x > 0.0) return; /* left to the resolution tags */
    if (!has_depth && (x <= 0.0 || y <= 0.0 || (!has_unit && x == 1.0 && y == 1.0))) return; /* nothing is said */
    memcpy(out->unit, unit, sizeof unit);
    out->spacing[2] = x > 0.0 ? x : 1.0;
    out->spacing[1] = y > 0.0 ? y : 1.0;
    if (has_depth) {
        out->spacing[0] = fabs(depth);
    } else if (!slice) {
        out->spacing[0] = 1.0;
        crd_info(monitor, "%s doesn't say how far apart its slices are: taken as 1 %s, as ImageJ does", path,
                 has_unit ? unit : "pixel");
    }
    line_unit(text, "yunit", other);
    out->spacing[1] = in_unit(out->spacing[1], other, unit);
    line_unit(text, "zunit", other);
    out->spacing[0] = in_unit(out->spacing[0], other, unit);
}

static void imagej_calibration(const char *path, const char *text, const crd_monitor *monitor)
{
    double function = 0.0, zero = 0.0;
    if (!line_real(text, "cf", &function)) return;
    (void)line_real(text, "c0", &zero);
    if (function == 0.0 && zero == 0.0) return; /* a mere factor, which is ours too when we wrote it */
    crd_warn(monitor,
             "%s holds an ImageJ calibration of its grey values, which isn't applied: values are read as stored", path);
}

static crd_status read_imagej(const char *path, const char *text, const crd_tiff_resolution *resolution, bool slice,
                              const crd_monitor *monitor, crd_tiff_metadata *out)
{
    static const char *const other_axes[] = {"channels", "frames"};
    double values[3], scale = 0.0;
    for (int i = 0; i < 2; i++) {
        const int64_t n = line_count(text, other_axes[i]);
        if (n <= 1) continue;
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s is an ImageJ hyperstack with %lld %s, and a volume has one; save one of them (Image > "
                        "Duplicate), or make them slices if that is what they are (Image > Properties)",
                        path, (long long)n, other_axes[i]);
    }
    out->slices = line_count(text, "images");
    out->one_piece = out->slices > 1;
    imagej_spacing(path, text, resolution, slice, monitor, out);
    if (line_triple(text, "credence_spacing", values) && values[0] >= 0.0 && values[1] >= 0.0 && values[2] >= 0.0) {
        memcpy(out->spacing, values, sizeof values);
        line_unit(text, "unit", out->unit);
    }
    if (line_triple(text, "credence_origin", values)) {
        for (int i = 0; i < 3; i++) out->origin[i] = fabs(values[i]) < 9e15 ? (int64_t)values[i] : 0;
    }
    if (line_real(text, "credence_scale", &scale) && scale > 0.0)
        out->scale = scale;
    else
        imagej_calibration(path, text, monitor);
    return CRD_OK;
}

/* ---- tifffile: {"shape": [z, y, x], ...} ---- */

enum { LONGEST_JSON = 1 << 20 }; /* the tree that it becomes takes forty times as much */

static crd_status read_json(const char *path, const char *text, const crd_tiff_resolution *resolution,
                            crd_tiff_metadata *out)
{
    crd_status status = CRD_OK;
    cJSON *root = strlen(text) <= LONGEST_JSON ? cJSON_Parse(text) : NULL;
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(root, "shape"), *size = NULL;
    const cJSON *spacing = cJSON_GetObjectItemCaseSensitive(root, "spacing");
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(root, "unit");
    int axes = 0;
    if (!cJSON_IsArray(shape)) goto done; /* somebody else's JSON */
    cJSON_ArrayForEach(size, shape) axes += cJSON_IsNumber(size) && size->valuedouble > 1.0;
    if (axes > 3) {
        CRD_FAIL(CRD_ERR_UNSUPPORTED,
                 "%s holds an array of %d axes, and a volume has three (z, y, x); save one volume per file", path,
                 axes);
    }
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "truncated")) && cJSON_GetArraySize(shape) >= 3) {
        double slices = 1.0;
        cJSON_ArrayForEach(size, shape)
        {
            if (size->next == NULL || size->next->next == NULL) break; /* y and x */
            slices *= size->valuedouble;
        }
        if (slices >= 1.0 && slices < 1e15) out->slices = (int64_t)slices;
        out->one_piece = out->slices > 1;
    }
    if (cJSON_IsString(unit)) crd_unit_normalise(unit->valuestring, out->unit);
    if (cJSON_IsNumber(spacing) && spacing->valuedouble > 0.0) {
        const bool unset = resolution->per_x == 1.0 && resolution->per_y == 1.0; /* what tifffile writes unasked */
        out->spacing[0] = spacing->valuedouble;
        out->spacing[1] = unset ? 0.0 : resolution->y;
        out->spacing[2] = unset ? 0.0 : resolution->x;
    }
done:
    cJSON_Delete(root);
    return status;
}

/* ---- resolution tags alone ---- */

static void read_resolution(const crd_tiff_resolution *resolution, crd_tiff_metadata *out)
{
    const bool inch = resolution->unit == RESUNIT_INCH, cm = resolution->unit == RESUNIT_CENTIMETER;
    if (!(inch || cm) || resolution->x <= 0.0 || resolution->y <= 0.0) return;
    const double per_inch = inch ? resolution->per_x : resolution->per_x * 2.54;
    if (is_habit(per_inch) || resolution->per_x == 1.0) return;
    const double um = inch ? 25400.0 : 10000.0;
    out->spacing[2] = resolution->x * um;
    out->spacing[1] = resolution->y * um;
    memcpy(out->unit, "um", sizeof "um");
}

/* A spacing is known along all axes or not at all. */
static void complete_spacing(const char *path, const crd_monitor *monitor, crd_tiff_metadata *out)
{
    double *s = out->spacing;
    if (s[0] > 0.0 && s[1] > 0.0 && s[2] > 0.0) return;
    if (s[1] > 0.0 && s[2] > 0.0) {
        crd_info(monitor,
                 "%s says that its pixels are %g x %g %s (y, x), but not how far apart its slices are: give "
                 "--spacing z,y,x,unit",
                 path, s[1], s[2], out->unit[0] != '\0' ? out->unit : "units");
    } else if (s[0] > 0.0) {
        crd_info(monitor,
                 "%s says that its slices are %g %s apart, but not how large its pixels are: give --spacing "
                 "z,y,x,unit",
                 path, s[0], out->unit[0] != '\0' ? out->unit : "units");
    }
    s[0] = s[1] = s[2] = 0.0;
    out->unit[0] = '\0';
}

/* Our own words in a comment of OME-XML. */
static void take_extras(const char *text, crd_tiff_metadata *out)
{
    crd_volume_info said = {.scale = 1.0};
    unsigned found = 0;
    crd_own_keys_read(text, strlen(text), &said, &found);
    if (found & CRD_OWN_UNIT) memcpy(out->unit, said.unit, sizeof out->unit);
    if (found & CRD_OWN_SCALE) out->scale = said.scale;
    if (found & CRD_OWN_ORIGIN) memcpy(out->origin, said.origin, sizeof out->origin);
}

crd_status crd_tiff_read_metadata(const char *path, const char *text, const crd_tiff_resolution *resolution, bool slice,
                                  const crd_monitor *monitor, crd_tiff_metadata *out)
{
    *out = (crd_tiff_metadata){.scale = 1.0};
    if (text != NULL && strncmp(text, "ImageJ=", 7) == 0) {
        CRD_PASS(read_imagej(path, text, resolution, slice, monitor, out));
    } else if (text != NULL && strstr(text, "<OME") != NULL) {
        CRD_PASS(crd_tiff_read_ome(path, text, slice, monitor, out));
        take_extras(text, out);
    } else if (text != NULL && text[strspn(text, " \t\r\n")] == '{') {
        CRD_PASS(read_json(path, text, resolution, out));
    }
    if (out->spacing[0] == 0.0 && out->spacing[1] == 0.0 && out->spacing[2] == 0.0) {
        read_resolution(resolution, out);
    }
    complete_spacing(path, monitor, out);
    return CRD_OK;
}
