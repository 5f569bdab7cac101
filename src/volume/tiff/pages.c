/* The directories of a TIFF file that we write, its header, and the description that ImageJ understands. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "credence/number.h"
#include "volume/tiff/tiff.h"
#include "volume/types.h"
#include "volume/units.h"

enum { MOST_ENTRIES = 20, DESCRIPTION_BYTES = 2048, FLUSH_BYTES = 1 << 20 };

/* Bytes on their way to the file. */
typedef struct sink {
    unsigned char *bytes;
    int64_t used, room;
    int64_t offset; /* in the file, of bytes[0] */
} sink;

/* One directory while it is put together: entries here, longer values behind it in the file. */
typedef struct directory {
    bool big;
    int entries, expected;
    unsigned char fields[MOST_ENTRIES * 20];
    unsigned char *values; /* what is too long for an entry; `room` bytes */
    int64_t used, room;
    int64_t values_offset; /* in the file */
} directory;

static int64_t head_bytes(bool big)
{
    return big ? 8 : 2;
}

static int64_t entry_bytes(bool big)
{
    return big ? 20 : 12;
}

static int64_t word_bytes(bool big)
{
    return big ? 8 : 4;
}

static int64_t directory_bytes(bool big, int entries)
{
    return head_bytes(big) + entries * entry_bytes(big) + word_bytes(big);
}

/* A whole number as wide as offsets are in this kind of file. */
static void put_word(bool big, unsigned char *to, uint64_t value)
{
    const uint32_t narrow = (uint32_t)value;
    if (big)
        memcpy(to, &value, sizeof value);
    else
        memcpy(to, &narrow, sizeof narrow);
}

/* Values in the machine's byte order, which is the file's. Directories list tags in rising order: so do the calls. */
static void put(directory *d, uint16_t tag, uint16_t type, size_t size, int64_t count, const void *values)
{
    unsigned char *field = d->fields + d->entries++ * entry_bytes(d->big);
    const int64_t bytes = count * (int64_t)size;
    memset(field, 0, (size_t)entry_bytes(d->big));
    memcpy(field, &tag, 2);
    memcpy(field + 2, &type, 2);
    put_word(d->big, field + 4, (uint64_t)count);
    field += 4 + word_bytes(d->big);
    if (bytes <= word_bytes(d->big)) {
        memcpy(field, values, (size_t)bytes);
        return;
    }
    put_word(d->big, field, (uint64_t)(d->values_offset + d->used));
    memcpy(d->values + d->used, values, (size_t)bytes);
    d->used += (bytes + 7) / 8 * 8;
}

static void put_short(directory *d, uint16_t tag, uint16_t value)
{
    put(d, tag, TIFF_SHORT, sizeof value, 1, &value);
}

static void put_long(directory *d, uint16_t tag, uint32_t value)
{
    put(d, tag, TIFF_LONG, sizeof value, 1, &value);
}

/* A list of offsets or sizes, narrowed in place of `list` for a classic file. */
static void put_words(directory *d, uint16_t tag, uint64_t *list, int64_t count)
{
    if (!d->big) {
        for (int64_t i = 0; i < count; i++) {
            const uint32_t narrow = (uint32_t)list[i];
            memcpy((unsigned char *)list + i * 4, &narrow, 4);
        }
    }
    put(d, tag, d->big ? TIFF_LONG8 : TIFF_LONG, d->big ? 8 : 4, count, list);
}

/* ---- spacing as a rational number, and the description ---- */

/* The nearest numerator / denominator of 32 bits each, by continued fractions. */
static void approximate(double value, uint32_t out[2])
{
    double h0 = 0.0, h1 = 1.0, k0 = 1.0, k1 = 0.0, x = value;
    for (int i = 0; i < 64; i++) {
        const double a = floor(x), h = a * h1 + h0, k = a * k1 + k0;
        if (!(h <= (double)UINT32_MAX && k <= (double)UINT32_MAX)) break;
        h0 = h1;
        h1 = h;
        k0 = k1;
        k1 = k;
        if (h1 / k1 == value || x == a) break;
        x = 1.0 / (x - a);
    }
    if (k1 < 1.0) { /* larger than any such fraction */
        h1 = (double)UINT32_MAX;
        k1 = 1.0;
    }
    if (h1 < 1.0) {
        h1 = 1.0;
        k1 = (double)UINT32_MAX;
    }
    out[0] = (uint32_t)h1;
    out[1] = (uint32_t)k1;
}

/* Pixels per unit are units per pixel upside down. */
static void find_resolution(double spacing, uint32_t out[2])
{
    uint32_t edge[2];
    approximate(spacing, edge);
    out[0] = edge[1];
    out[1] = edge[0];
}

static bool has_resolution(const crd_volume_info *info)
{
    return info->spacing[1] > 0.0 && info->spacing[2] > 0.0;
}

typedef struct text {
    char bytes[DESCRIPTION_BYTES];
    size_t used;
} text;

__attribute__((format(printf, 2, 3))) static void say(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(t->bytes + t->used, sizeof t->bytes - t->used, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < sizeof t->bytes - t->used) t->used += (size_t)n;
}

static void say_real(text *t, const char *key, double value)
{
    char number[CRD_NUMBER_BYTES];
    say(t, "%s=%s\n", key, crd_format_real(value, number));
}

static void say_triple(text *t, const char *key, const double values[3])
{
    char z[CRD_NUMBER_BYTES], y[CRD_NUMBER_BYTES], x[CRD_NUMBER_BYTES];
    say(t, "%s=%s,%s,%s\n", key, crd_format_real(values[0], z), crd_format_real(values[1], y),
        crd_format_real(values[2], x));
}

/* Do the lines and tags that every program understands give back the very same spacing? */
static bool spacing_is_exact(const crd_volume_info *info)
{
    uint32_t y[2], x[2];
    if (info->spacing[0] == 0.0 && info->spacing[1] == 0.0 && info->spacing[2] == 0.0) return true;
    if (!has_resolution(info) || info->spacing[0] <= 0.0) return false;
    find_resolution(info->spacing[1], y);
    find_resolution(info->spacing[2], x);
    return (double)y[1] / (double)y[0] == info->spacing[1] && (double)x[1] / (double)x[0] == info->spacing[2];
}

static void describe(const crd_tiff_layout *layout, text *t)
{
    const crd_volume_info *info = layout->info;
    char unit[CRD_UNIT_BYTES];
    crd_unit_normalise(info->unit, unit);
    say(t, "ImageJ=1.53t\nimages=%lld\nslices=%lld\n", (long long)info->shape[0], (long long)info->shape[0]);
    if (unit[0] != '\0') say(t, "unit=%s\n", strcmp(unit, "um") == 0 ? "micron" : unit);
    if (info->spacing[0] > 0.0) say_real(t, "spacing", info->spacing[0]);
    say(t, "loop=false\n");
    /* The range to show. ImageJ keeps short signed types with an offset, so theirs would be misunderstood. */
    const bool shown = info->type != CRD_I8 && info->type != CRD_I16;
    if (shown && layout->minimum <= layout->maximum) {
        say_real(t, "min", layout->minimum);
        say_real(t, "max", layout->maximum);
    }
    if (!spacing_is_exact(info)) say_triple(t, "credence_spacing", info->spacing);
    if (info->origin[0] != 0 || info->origin[1] != 0 || info->origin[2] != 0) {
        say(t, "credence_origin=%lld,%lld,%lld\n", (long long)info->origin[0], (long long)info->origin[1],
            (long long)info->origin[2]);
    }
    if (info->scale > 0.0 && info->scale != 1.0) say_real(t, "credence_scale", info->scale);
}

/* ---- directories ---- */

static uint16_t sample_format(crd_type type)
{
    if (!crd_type_is_integer(type)) return SAMPLEFORMAT_IEEEFP;
    return type == CRD_U8 || type == CRD_U16 || type == CRD_U32 || type == CRD_U64 ? SAMPLEFORMAT_UINT
                                                                                   : SAMPLEFORMAT_INT;
}

static int entry_count(const crd_tiff_layout *layout, int64_t z)
{
    return 12 + (z == 0) + (has_resolution(layout->info) ? 3 : 0) + layout->differenced;
}

crd_status crd_tiff_directories_bound(const crd_tiff_layout *layout, int64_t *out)
{
    const int64_t each = directory_bytes(true, MOST_ENTRIES) + 16 * (layout->strips + 8);
    CRD_PASS(crd_product(layout->info->shape[0], each, 1, out));
    *out += DESCRIPTION_BYTES + FLUSH_BYTES;
    return CRD_OK;
}

static void find_strips(const crd_tiff_layout *layout, int64_t z, uint64_t *offsets, uint64_t *counts)
{
    const int64_t strip = layout->rows_per_strip * layout->row;
    for (int64_t i = 0; i < layout->strips; i++) {
        if (layout->deflated) {
            offsets[i] = layout->offsets[z * layout->strips + i];
            counts[i] = layout->counts[z * layout->strips + i];
        } else {
            offsets[i] = (uint64_t)(layout->data + z * layout->page + i * strip);
            counts[i] = (uint64_t)(i + 1 < layout->strips ? strip : layout->page - i * strip);
        }
    }
}

static void fill_directory(const crd_tiff_layout *layout, int64_t z, uint64_t *offsets, uint64_t *counts, directory *d)
{
    const crd_volume_info *info = layout->info;
    uint32_t resolution[2];
    put_long(d, TIFFTAG_SUBFILETYPE, 0);
    put_long(d, TIFFTAG_IMAGEWIDTH, (uint32_t)info->shape[2]);
    put_long(d, TIFFTAG_IMAGELENGTH, (uint32_t)info->shape[1]);
    put_short(d, TIFFTAG_BITSPERSAMPLE, (uint16_t)(8 * layout->voxel));
    put_short(d, TIFFTAG_COMPRESSION, layout->deflated ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_NONE);
    put_short(d, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    if (z == 0) {
        text t = {0};
        if (layout->ome) {
            t.used = crd_tiff_describe_ome(info, t.bytes, sizeof t.bytes);
        } else {
            describe(layout, &t);
        }
        put(d, TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, 1, (int64_t)t.used + 1, t.bytes);
    }
    put_words(d, TIFFTAG_STRIPOFFSETS, offsets, layout->strips);
    put_short(d, TIFFTAG_SAMPLESPERPIXEL, 1);
    put_long(d, TIFFTAG_ROWSPERSTRIP, (uint32_t)layout->rows_per_strip);
    put_words(d, TIFFTAG_STRIPBYTECOUNTS, counts, layout->strips);
    if (has_resolution(info)) {
        find_resolution(info->spacing[2], resolution);
        put(d, TIFFTAG_XRESOLUTION, TIFF_RATIONAL, 8, 1, resolution);
        find_resolution(info->spacing[1], resolution);
        put(d, TIFFTAG_YRESOLUTION, TIFF_RATIONAL, 8, 1, resolution);
    }
    put_short(d, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    if (has_resolution(info)) put_short(d, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
    if (layout->differenced) put_short(d, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
    put_short(d, TIFFTAG_SAMPLEFORMAT, sample_format(info->type));
}

static crd_status flush(const crd_tiff_layout *layout, sink *s)
{
    CRD_PASS(crd_write_at(layout->fd, layout->path, s->offset, s->bytes, (size_t)s->used));
    s->offset += s->used;
    s->used = 0;
    return CRD_OK;
}

static crd_status append(const crd_tiff_layout *layout, sink *s, const directory *d, bool last)
{
    const int64_t start = s->offset + s->used, size = directory_bytes(d->big, d->entries) + d->used;
    const int64_t padded = (size + 15) / 16 * 16;
    if (d->entries != d->expected)
        return crd_fail(CRD_ERR_INTERNAL, "%s: a TIFF directory was miscounted", layout->path);
    if (s->used + padded > s->room) CRD_PASS(flush(layout, s));
    unsigned char *to = s->bytes + s->used;
    const uint16_t short_count = (uint16_t)d->entries;
    memset(to, 0, (size_t)padded);
    if (d->big)
        put_word(true, to, (uint64_t)d->entries);
    else
        memcpy(to, &short_count, 2);
    memcpy(to + head_bytes(d->big), d->fields, (size_t)(d->entries * entry_bytes(d->big)));
    put_word(d->big, to + directory_bytes(d->big, d->entries) - word_bytes(d->big),
             last ? 0 : (uint64_t)(start + padded));
    memcpy(to + directory_bytes(d->big, d->entries), d->values, (size_t)d->used);
    s->used += padded;
    return CRD_OK;
}

static crd_status write_header(const crd_tiff_layout *layout, int64_t first)
{
    unsigned char header[16] = {0};
    const uint16_t one = 1, version = layout->big ? 43 : 42, width = 8;
    memcpy(header, *(const unsigned char *)&one == 1 ? "II" : "MM", 2);
    memcpy(header + 2, &version, 2);
    if (layout->big) memcpy(header + 4, &width, 2);
    put_word(layout->big, header + (layout->big ? 8 : 4), (uint64_t)first);
    return crd_write_at(layout->fd, layout->path, 0, header, sizeof header);
}

crd_status crd_tiff_write_directories(const crd_tiff_layout *layout)
{
    crd_status status = CRD_OK;
    const int64_t slices = layout->info->shape[0];
    uint64_t *offsets = NULL, *counts = NULL;
    directory d = {.big = layout->big, .room = 16 * (layout->strips + 8) + DESCRIPTION_BYTES};
    sink s = {.offset = (layout->end + 15) / 16 * 16};
    const int64_t first = s.offset;
    s.room = FLUSH_BYTES + d.room + directory_bytes(true, MOST_ENTRIES) + 16;
    CRD_TRY(crd_alloc(layout->strips, sizeof *offsets, "a page's strips", &offsets));
    CRD_TRY(crd_alloc(layout->strips, sizeof *counts, "a page's strips", &counts));
    CRD_TRY(crd_alloc(d.room, 1, "a TIFF directory", &d.values));
    CRD_TRY(crd_alloc(s.room, 1, "TIFF directories", &s.bytes));
    for (int64_t z = 0; z < slices; z++) {
        d.entries = 0;
        d.used = 0;
        d.expected = entry_count(layout, z);
        d.values_offset = s.offset + s.used + directory_bytes(d.big, d.expected);
        find_strips(layout, z, offsets, counts);
        fill_directory(layout, z, offsets, counts, &d);
        CRD_TRY(append(layout, &s, &d, z + 1 == slices));
    }
    CRD_TRY(flush(layout, &s));
    CRD_TRY(write_header(layout, first));
done:
    crd_free(&offsets);
    crd_free(&counts);
    crd_free(&d.values);
    crd_free(&s.bytes);
    return status;
}
