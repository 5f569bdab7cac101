/* Headers and directories of TIFF and BigTIFF files, read without libtiff and without trust. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/tiff/tiff.h"
#include "volume/types.h"

/* A directory is read in one go when it is an ordinary one. More entries than MOST_ENTRIES have never been seen. */
enum { FIRST_READ = 1024, MOST_ENTRIES = 4096, LONGEST_TEXT = 64 << 20, ENTRY_BYTES = 12, ENTRY_BYTES_BIG = 20 };

static uint64_t number_at(const crd_tiff_file *file, const unsigned char *bytes, size_t size)
{
    unsigned char copy[8];
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    memcpy(copy, bytes, size);
    if (file->swap) crd_swap_bytes(copy, 1, size);
    switch (size) {
    case 1:
        return copy[0];
    case 2:
        memcpy(&u16, copy, 2);
        return u16;
    case 4:
        memcpy(&u32, copy, 4);
        return u32;
    default:
        memcpy(&u64, copy, 8);
        return u64;
    }
}

/* Bytes of one value of a TIFF type; 0 for types that don't exist. */
static size_t type_bytes(uint64_t type)
{
    static const unsigned char bytes[] = {
        [TIFF_BYTE] = 1,     [TIFF_ASCII] = 1,     [TIFF_SHORT] = 2,     [TIFF_LONG] = 4,
        [TIFF_RATIONAL] = 8, [TIFF_SBYTE] = 1,     [TIFF_UNDEFINED] = 1, [TIFF_SSHORT] = 2,
        [TIFF_SLONG] = 4,    [TIFF_SRATIONAL] = 8, [TIFF_FLOAT] = 4,     [TIFF_DOUBLE] = 8,
        [TIFF_IFD] = 4,      [TIFF_LONG8] = 8,     [TIFF_SLONG8] = 8,    [TIFF_IFD8] = 8,
    };
    return type < sizeof bytes ? bytes[type] : 0;
}

static bool is_whole_number(uint16_t type)
{
    return type == TIFF_BYTE || type == TIFF_SHORT || type == TIFF_LONG || type == TIFF_LONG8 || type == TIFF_IFD ||
           type == TIFF_IFD8;
}

static crd_status cut_short(const crd_tiff_file *file, const char *what)
{
    return crd_fail(
        CRD_ERR_FORMAT,
        "%s is broken or cut short: %s lies beyond its end (it has %lld bytes); copy it again from its source",
        file->path, what, (long long)file->size);
}

static crd_status read_header(crd_tiff_file *file)
{
    const uint16_t one = 1;
    const bool machine_is_little = *(const unsigned char *)&one == 1;
    unsigned char header[16] = {0};
    if (file->size < 8)
        return crd_fail(CRD_ERR_FORMAT, "%s is no TIFF file: it has %lld bytes", file->path, (long long)file->size);
    CRD_PASS(crd_read_at(file->fd, file->path, 0, header, file->size < 16 ? 8 : 16));
    if (!(header[0] == 'I' && header[1] == 'I') && !(header[0] == 'M' && header[1] == 'M')) {
        return crd_fail(CRD_ERR_FORMAT, "%s is no TIFF file: it doesn't begin with II or MM", file->path);
    }
    file->swap = (header[0] == 'I') != machine_is_little;
    const uint64_t version = number_at(file, header + 2, 2);
    if (version == 43) {
        file->big = true;
        if (file->size < 16 || number_at(file, header + 4, 2) != 8 || number_at(file, header + 6, 2) != 0) {
            return crd_fail(CRD_ERR_FORMAT, "%s is broken: it begins like a BigTIFF file, but its header isn't one",
                            file->path);
        }
    } else if (version != 42) {
        return crd_fail(CRD_ERR_FORMAT, "%s is no TIFF file: its version is %u, not 42 or 43", file->path,
                        (unsigned)version);
    }
    const uint64_t first = file->big ? number_at(file, header + 8, 8) : number_at(file, header + 4, 4);
    if (first == 0) {
        return crd_fail(CRD_ERR_FORMAT, "%s holds no image; the program that wrote it may not have finished",
                        file->path);
    }
    if (first >= (uint64_t)file->size) return cut_short(file, "its first directory");
    file->first_directory = (int64_t)first;
    return CRD_OK;
}

crd_status crd_tiff_file_open(const char *path, crd_tiff_file *out)
{
    crd_status status = CRD_OK;
    crd_tiff_file file = {.fd = -1, .path = path};
    CRD_TRY(crd_open_plain(path, &file.fd, &file.size));
    CRD_TRY(read_header(&file));
    *out = file;
    file.fd = -1;
done:
    crd_tiff_file_close(&file);
    return status;
}

void crd_tiff_file_close(crd_tiff_file *file)
{
    if (file->fd >= 0) (void)close(file->fd);
    file->fd = -1;
}

crd_status crd_tiff_read_array(const crd_tiff_file *file, const crd_tiff_array *array, int64_t first, int64_t count,
                               uint64_t *out)
{
    const size_t size = type_bytes(array->type);
    if (!is_whole_number(array->type) || first < 0 || count < 0 || first > array->count - count) {
        return crd_fail(CRD_ERR_FORMAT, "%s is broken: a directory's list of numbers is too short or of a wrong type",
                        file->path);
    }
    /* Narrow values are read into the end of the array and widened from its beginning: writing never overtakes. */
    unsigned char *narrow = (unsigned char *)out + (size_t)count * (sizeof *out - size);
    CRD_PASS(crd_read_at(file->fd, file->path, array->offset + first * (int64_t)size, narrow, (size_t)count * size));
    for (int64_t i = 0; i < count; i++) {
        const uint64_t value = number_at(file, narrow + (size_t)i * size, size);
        out[i] = value;
    }
    return CRD_OK;
}

crd_status crd_tiff_read_rational(const crd_tiff_file *file, const crd_tiff_array *array, double *numerator,
                                  double *denominator)
{
    unsigned char bytes[8];
    *numerator = *denominator = 0.0;
    if (array->count != 1 || array->type != TIFF_RATIONAL) return CRD_OK;
    CRD_PASS(crd_read_at(file->fd, file->path, array->offset, bytes, sizeof bytes));
    const double above = (double)number_at(file, bytes, 4), below = (double)number_at(file, bytes + 4, 4);
    if (above > 0.0 && below > 0.0) {
        *numerator = above;
        *denominator = below;
    }
    return CRD_OK;
}

crd_status crd_tiff_read_text(const crd_tiff_file *file, const crd_tiff_array *array, char **out)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    *out = NULL;
    const bool is_text = array->type == TIFF_ASCII || array->type == TIFF_BYTE || array->type == TIFF_UNDEFINED;
    if (array->count < 1 || array->count > LONGEST_TEXT || !is_text) return CRD_OK;
    CRD_TRY(crd_alloc(array->count + 1, 1, "a TIFF description", &text));
    CRD_TRY(crd_read_at(file->fd, file->path, array->offset, text, (size_t)array->count));
    *out = text;
    text = NULL;
done:
    crd_free(&text);
    return status;
}

/* Entry at `bytes`, which lies at `offset` in the file, as an array; out of range is an error only where the tag is
 * used. */
static bool locate_array(const crd_tiff_file *file, const unsigned char *bytes, int64_t offset, crd_tiff_array *out)
{
    const size_t word = file->big ? 8 : 4;
    const uint64_t count = number_at(file, bytes + 4, word);
    const size_t size = type_bytes(number_at(file, bytes + 2, 2));
    if (size == 0 || count == 0 || count > (uint64_t)file->size / size) return false;
    uint64_t place = (uint64_t)offset + 4 + word;
    if (count * size > word) place = number_at(file, bytes + 4 + word, word);
    if (place > (uint64_t)file->size || count * size > (uint64_t)file->size - place) return false;
    *out = (crd_tiff_array){
        .offset = (int64_t)place, .count = (int64_t)count, .type = (uint16_t)number_at(file, bytes + 2, 2)};
    return true;
}

/* The tags we want to know: a number (its first value) or an array (where its values are). */
static const struct tag_row {
    uint16_t tag;
    bool is_array, optional;
    size_t member;
} tag_rows[] = {
#define NUMBER(tag, member)                                                                                            \
    {                                                                                                                  \
        tag, false, false, offsetof(crd_tiff_directory, member)                                                        \
    }
#define ARRAY(tag, member)                                                                                             \
    {                                                                                                                  \
        tag, true, false, offsetof(crd_tiff_directory, member)                                                         \
    }
#define REMARK(tag, member)                                                                                            \
    {                                                                                                                  \
        tag, true, true, offsetof(crd_tiff_directory, member)                                                          \
    }
    NUMBER(TIFFTAG_SUBFILETYPE, subfile),        NUMBER(TIFFTAG_IMAGEWIDTH, width),
    NUMBER(TIFFTAG_IMAGELENGTH, height),         NUMBER(TIFFTAG_BITSPERSAMPLE, bits),
    NUMBER(TIFFTAG_COMPRESSION, compression),    NUMBER(TIFFTAG_PHOTOMETRIC, photometric),
    NUMBER(TIFFTAG_FILLORDER, fill_order),       REMARK(TIFFTAG_IMAGEDESCRIPTION, description),
    ARRAY(TIFFTAG_STRIPOFFSETS, offsets),        NUMBER(TIFFTAG_ORIENTATION, orientation),
    NUMBER(TIFFTAG_SAMPLESPERPIXEL, samples),    NUMBER(TIFFTAG_ROWSPERSTRIP, rows_per_strip),
    ARRAY(TIFFTAG_STRIPBYTECOUNTS, counts),      REMARK(TIFFTAG_XRESOLUTION, resolution_x),
    REMARK(TIFFTAG_YRESOLUTION, resolution_y),   NUMBER(TIFFTAG_RESOLUTIONUNIT, resolution_unit),
    NUMBER(TIFFTAG_TILEWIDTH, tile_width),       NUMBER(TIFFTAG_TILELENGTH, tile_height),
    ARRAY(TIFFTAG_TILEOFFSETS, offsets),         ARRAY(TIFFTAG_TILEBYTECOUNTS, counts),
    NUMBER(TIFFTAG_SAMPLEFORMAT, sample_format), NUMBER(TIFFTAG_PLANARCONFIG, planar),
#undef NUMBER
#undef ARRAY
#undef REMARK
};

static crd_status take_entry(const crd_tiff_file *file, int64_t number, const unsigned char *bytes, int64_t offset,
                             crd_tiff_directory *out)
{
    enum { ROWS = sizeof tag_rows / sizeof tag_rows[0] };
    const uint64_t tag = number_at(file, bytes, 2);
    crd_tiff_array array;
    size_t i = 0;
    while (i < ROWS && tag_rows[i].tag != tag) i++;
    if (i == ROWS) return CRD_OK;
    const bool located = locate_array(file, bytes, offset, &array);
    if (!located && tag_rows[i].optional) return CRD_OK;
    if (!located || (!tag_rows[i].optional && !is_whole_number(array.type))) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s is broken or cut short: the values of tag %u of page %lld lie beyond its end or are no "
                        "numbers; copy it again from its source",
                        file->path, (unsigned)tag, (long long)number);
    }
    char *member = (char *)out + tag_rows[i].member;
    if (tag_rows[i].is_array) {
        memcpy(member, &array, sizeof array);
        return CRD_OK;
    }
    uint64_t value = 0;
    const size_t word = file->big ? 8 : 4, size = type_bytes(array.type);
    if ((uint64_t)array.count * size <= word) { /* it lies in the entry itself */
        value = number_at(file, bytes + 4 + word, size);
    } else {
        CRD_PASS(crd_tiff_read_array(file, &array, 0, 1, &value));
    }
    memcpy(member, &value, sizeof value);
    return CRD_OK;
}

static crd_status parse(const crd_tiff_file *file, int64_t offset, int64_t number, const unsigned char *bytes,
                        int64_t entries, crd_tiff_directory *out)
{
    const int64_t head = file->big ? 8 : 2, entry = file->big ? ENTRY_BYTES_BIG : ENTRY_BYTES, word = file->big ? 8 : 4;
    const uint64_t next = number_at(file, bytes + head + entries * entry, (size_t)word);
    for (int64_t i = 0; i < entries; i++) {
        const int64_t at = head + i * entry;
        CRD_PASS(take_entry(file, number, bytes + at, offset + at, out));
    }
    if (next > INT64_MAX) return cut_short(file, "the next directory");
    out->next = (int64_t)next;
    return CRD_OK;
}

crd_status crd_tiff_read_directory(const crd_tiff_file *file, int64_t offset, int64_t number, crd_tiff_directory *out)
{
    crd_status status = CRD_OK;
    unsigned char first[FIRST_READ], *whole = NULL;
    const int64_t head = file->big ? 8 : 2, entry = file->big ? ENTRY_BYTES_BIG : ENTRY_BYTES, word = file->big ? 8 : 4;
    /* The standard's defaults, where it has them. */
    *out = (crd_tiff_directory){.samples = 1,
                                .bits = 1,
                                .compression = COMPRESSION_NONE,
                                .orientation = 1,
                                .fill_order = FILLORDER_MSB2LSB,
                                .rows_per_strip = UINT32_MAX,
                                .sample_format = SAMPLEFORMAT_UINT,
                                .photometric = PHOTOMETRIC_MINISBLACK,
                                .resolution_unit = RESUNIT_INCH,
                                .offset = offset};
    if (offset < 8 || offset > file->size - head) return cut_short(file, "a directory");
    const int64_t available = file->size - offset;
    const int64_t wanted = available < FIRST_READ ? available : FIRST_READ;
    CRD_PASS(crd_read_at(file->fd, file->path, offset, first, (size_t)wanted));
    const uint64_t entries = number_at(file, first, (size_t)head);
    if (entries == 0 || entries > MOST_ENTRIES) {
        return crd_fail(CRD_ERR_FORMAT, "%s is broken: the directory of page %lld has %llu entries", file->path,
                        (long long)number, (unsigned long long)entries);
    }
    const int64_t bytes = head + (int64_t)entries * entry + word;
    if (bytes > available) return cut_short(file, "a directory");
    if (bytes <= wanted) return parse(file, offset, number, first, (int64_t)entries, out);
    CRD_TRY(crd_alloc(bytes, 1, "a TIFF directory", &whole));
    CRD_TRY(crd_read_at(file->fd, file->path, offset, whole, (size_t)bytes));
    CRD_TRY(parse(file, offset, number, whole, (int64_t)entries, out));
done:
    crd_free(&whole);
    return status;
}
