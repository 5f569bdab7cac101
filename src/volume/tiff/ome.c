/* OME-XML in a TIFF description: sizes, voxel edges and whether this file is all of it. We look at start tags and their
 * attributes only, and never leave the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monitor.h"
#include "base/number.h"
#include "volume/tiff/tiff.h"
#include "volume/units.h"

enum { VALUE_BYTES = 256 };

typedef struct tag {
    const char *name; /* without a namespace's prefix */
    size_t name_length;
    const char *attributes, *end; /* between the name and ">" */
} tag;

/* The next start tag at or after `text`; comments, declarations, CDATA and end tags are passed over. */
static const char *next_tag(const char *text, tag *out)
{
    static const struct skip {
        const char *open, *close;
    } skips[] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}, {"</", ">"}};
    while ((text = strchr(text, '<')) != NULL) {
        const char *close = NULL;
        bool skipped = false;
        for (size_t i = 0; i < sizeof skips / sizeof skips[0] && !skipped; i++) {
            if (strncmp(text, skips[i].open, strlen(skips[i].open)) != 0) continue;
            close = strstr(text, skips[i].close);
            if (close == NULL) return NULL;
            text = close + strlen(skips[i].close);
            skipped = true;
        }
        if (skipped) continue;
        const char *name = text + 1, *end = name + strcspn(name, " \t\r\n/>");
        const char *colon = memchr(name, ':', (size_t)(end - name));
        out->name = colon != NULL ? colon + 1 : name;
        out->name_length = (size_t)(end - out->name);
        out->attributes = end;
        char quote = '\0';
        while (*end != '\0' && (quote != '\0' || *end != '>')) { /* a ">" may stand inside quotes */
            if (quote == '\0' && (*end == '"' || *end == '\''))
                quote = *end;
            else if (*end == quote)
                quote = '\0';
            end++;
        }
        if (*end == '\0') return NULL;
        out->end = end;
        return end + 1;
    }
    return NULL;
}

static bool is_named(const tag *t, const char *name)
{
    return strlen(name) == t->name_length && strncmp(t->name, name, t->name_length) == 0;
}

/* Copies a value, with &lt; and &#181; resolved (characters above U+07FF aren't needed for units and become "?"). */
static void unescape(const char *from, size_t length, char out[VALUE_BYTES])
{
    static const struct entity {
        const char *name;
        char character;
    } entities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t used = 0;
    for (size_t i = 0; i < length && used < VALUE_BYTES - 3;) {
        size_t step = 1;
        if (from[i] != '&') {
            out[used++] = from[i];
        } else if (length - i > 3 && from[i + 1] == '#') {
            const bool hex = from[i + 2] == 'x' || from[i + 2] == 'X';
            char *end = NULL;
            const long code = strtol(from + i + (hex ? 3 : 2), &end, hex ? 16 : 10);
            if (*end == ';') end++;
            step = (size_t)(end - (from + i));
            if (code >= 0x80 && code < 0x800) {
                out[used++] = (char)(0xc0 | (code >> 6));
                out[used++] = (char)(0x80 | (code & 0x3f));
            } else {
                out[used++] = code >= 0x20 && code < 0x7f ? (char)code : '?';
            }
        } else {
            size_t k = 0;
            const size_t count = sizeof entities / sizeof entities[0];
            while (k < count && strncmp(from + i, entities[k].name, strlen(entities[k].name)) != 0) k++;
            out[used++] = k < count ? entities[k].character : '&';
            if (k < count) step = strlen(entities[k].name);
        }
        i += step;
    }
    out[used] = '\0';
}

static bool attribute(const tag *t, const char *name, char out[VALUE_BYTES])
{
    static const char blanks[] = " \t\r\n";
    const size_t n = strlen(name);
    for (const char *c = t->attributes; c < t->end;) {
        c += strspn(c, blanks);
        const char *start = c;
        c += strcspn(c, " \t\r\n=/>");
        const size_t length = (size_t)(c - start);
        c += strspn(c, blanks);
        if (*c != '=') {
            if (c >= t->end || c == start) return false;
            continue;
        }
        c++;
        c += strspn(c, blanks);
        if (*c != '"' && *c != '\'') return false;
        const char *value = c + 1, *close = strchr(value, *c);
        if (close == NULL || close >= t->end) return false;
        if (length == n && strncmp(start, name, n) == 0) {
            unescape(value, (size_t)(close - value), out);
            return true;
        }
        c = close + 1;
    }
    return false;
}

static int64_t attribute_count(const tag *t, const char *name, int64_t otherwise)
{
    char text[VALUE_BYTES];
    int64_t value = 0;
    if (!attribute(t, name, text) || !crd_parse_int(text, strlen(text), &value)) return otherwise;
    return value;
}

/* PhysicalSizeX and its unit; micrometres unless it says otherwise. */
static double attribute_edge(const tag *t, const char *axis, char unit[CRD_UNIT_BYTES])
{
    char name[32], text[VALUE_BYTES];
    double value = 0.0;
    snprintf(name, sizeof name, "PhysicalSize%s", axis);
    if (!attribute(t, name, text) || !crd_parse_real(text, strlen(text), &value) || value <= 0.0) return 0.0;
    snprintf(name, sizeof name, "PhysicalSize%sUnit", axis);
    crd_unit_normalise(attribute(t, name, text) ? text : "um", unit);
    return value;
}

static void read_edges(const tag *pixels, crd_tiff_metadata *out)
{
    static const char *const axes[3] = {"Z", "Y", "X"};
    char units[3][CRD_UNIT_BYTES] = {"", "", ""};
    for (int i = 0; i < 3; i++) out->spacing[i] = attribute_edge(pixels, axes[i], units[i]);
    for (int i = 2; i >= 0 && out->unit[0] == '\0'; i--) memcpy(out->unit, units[i], CRD_UNIT_BYTES);
    for (int i = 0; i < 3; i++) {
        const double from = crd_unit_in_um(units[i]), to = crd_unit_in_um(out->unit);
        if (from > 0.0 && to > 0.0 && from != to) out->spacing[i] *= from / to;
    }
}

static crd_status in_other_files(const char *path)
{
    return crd_fail(
        CRD_ERR_UNSUPPORTED,
        "%s is one of several files of an OME-TIFF data set, which credence doesn't put together; save it as one "
        "file, or give the folder of its slices",
        path);
}

static crd_status read_pixels(const char *path, const tag *pixels, bool slice, crd_tiff_metadata *out)
{
    const int64_t channels = attribute_count(pixels, "SizeC", 1), times = attribute_count(pixels, "SizeT", 1);
    if (channels > 1 || times > 1) {
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s is an OME-TIFF with %lld channels and %lld time points, and a volume has one of each; save one "
            "of them as a file of its own",
            path, (long long)channels, (long long)times);
    }
    if (!slice) out->slices = attribute_count(pixels, "SizeZ", 0);
    read_edges(pixels, out);
    return CRD_OK;
}

/* Slice FirstZ is page IFD; anything but the natural order is refused, as are other files. */
static crd_status check_tiff_data(const char *path, const tag *t)
{
    const int64_t slice = attribute_count(t, "FirstZ", 0), page = attribute_count(t, "IFD", 0);
    if (page == slice) return CRD_OK;
    return crd_fail(
        CRD_ERR_UNSUPPORTED,
        "%s is an OME-TIFF whose pages aren't in the order of its slices (slice %lld is page %lld); save it "
        "anew, slice by slice",
        path, (long long)slice, (long long)page);
}

crd_status crd_tiff_read_ome(const char *path, const char *text, bool slice, const crd_monitor *monitor,
                             crd_tiff_metadata *out)
{
    char file_name[VALUE_BYTES] = "", other[VALUE_BYTES];
    int images = 0, pixels = 0;
    tag t;
    while ((text = next_tag(text, &t)) != NULL) {
        if (is_named(&t, "BinaryOnly") && !slice) return in_other_files(path);
        if (is_named(&t, "Image")) images++;
        if (is_named(&t, "Pixels") && pixels++ == 0) CRD_PASS(read_pixels(path, &t, slice, out));
        if (slice) continue;
        if (is_named(&t, "TiffData")) CRD_PASS(check_tiff_data(path, &t));
        if (is_named(&t, "UUID") && attribute(&t, "FileName", other)) {
            if (file_name[0] != '\0' && strcmp(file_name, other) != 0) return in_other_files(path);
            memcpy(file_name, other, sizeof other);
        }
    }
    if (images > 1) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s is an OME-TIFF with %d images; save one of them as a file of its own",
                        path, images);
    }
    if (pixels == 0) crd_warn(monitor, "the OME description of %s can't be understood, and is ignored", path);
    return CRD_OK;
}
