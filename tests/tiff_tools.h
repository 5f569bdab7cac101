/* TIFF files for tests: made by libtiff, or byte by byte where libtiff wouldn't make them. */
#ifndef CRD_TESTS_TIFF_TOOLS_H
#define CRD_TESTS_TIFF_TOOLS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <tiffio.h>

#include "credence/volume.h"
#include "volume_tools.h"

/* ---- what was said ---- */

static char tools_said[4096];

static inline void tools_listen(void *context, crd_level level, const char *text)
{
    (void)context;
    const size_t used = strlen(tools_said);
    snprintf(tools_said + used, sizeof tools_said - used, "%s: %s\n", level == CRD_LEVEL_WARNING ? "warning" : "info",
             text);
}

static const crd_monitor tools_monitor = {.message = tools_listen};

static inline crd_status tools_open(const char *path, crd_volume **out)
{
    tools_said[0] = '\0';
    return crd_volume_open(path, NULL, &tools_monitor, out);
}

/* Opens, and closes again at once when that succeeds. */
static inline crd_status tools_try(const char *path)
{
    crd_volume *volume = NULL;
    const crd_status status = tools_open(path, &volume);
    crd_volume_close(&volume);
    return status;
}

/* ---- by libtiff ---- */

typedef struct tiff_spec {
    const char *mode; /* "w", "wb" (big-endian), "w8", "w8b" */
    int64_t shape[3];
    crd_type type;
    int bits; /* 0: the type's */
    int compression, predictor;
    uint32_t rows_per_strip, tile; /* tile: edge, a multiple of 16 */
    int photometric, orientation, fill_order;
    const char *description;
    double x_resolution, y_resolution;
    int resolution_unit;
    bool strips_backwards;
} tiff_spec;

static inline void tools_set_fields(TIFF *t, const tiff_spec *s, int64_t z)
{
    const crd_type type = s->type;
    const int format = type == CRD_F32 || type == CRD_F64                     ? SAMPLEFORMAT_IEEEFP
                       : type == CRD_I8 || type == CRD_I16 || type == CRD_I32 ? SAMPLEFORMAT_INT
                                                                              : SAMPLEFORMAT_UINT;
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, (uint32_t)s->shape[2]);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, (uint32_t)s->shape[1]);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, s->bits > 0 ? s->bits : (int)(8 * crd_type_size(type)));
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, format);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, s->photometric);
    TIFFSetField(t, TIFFTAG_COMPRESSION, s->compression > 0 ? s->compression : COMPRESSION_NONE);
    if (s->fill_order > 0) TIFFSetField(t, TIFFTAG_FILLORDER, s->fill_order);
    if (s->orientation > 0) TIFFSetField(t, TIFFTAG_ORIENTATION, s->orientation);
    if (s->predictor > 0) TIFFSetField(t, TIFFTAG_PREDICTOR, s->predictor);
    if (s->tile > 0) {
        TIFFSetField(t, TIFFTAG_TILEWIDTH, s->tile);
        TIFFSetField(t, TIFFTAG_TILELENGTH, s->tile);
    } else {
        TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, s->rows_per_strip > 0 ? s->rows_per_strip : (uint32_t)s->shape[1]);
    }
    if (z == 0 && s->description != NULL) TIFFSetField(t, TIFFTAG_IMAGEDESCRIPTION, s->description);
    if (s->x_resolution > 0.0) {
        TIFFSetField(t, TIFFTAG_XRESOLUTION, s->x_resolution);
        TIFFSetField(t, TIFFTAG_YRESOLUTION, s->y_resolution);
        TIFFSetField(t, TIFFTAG_RESOLUTIONUNIT, s->resolution_unit);
    }
}

static inline bool tools_put_page(TIFF *t, const tiff_spec *s, const unsigned char *page)
{
    const int64_t row = (s->shape[2] * (s->bits > 0 ? s->bits : (int64_t)(8 * crd_type_size(s->type))) + 7) / 8;
    bool good = true;
    if (s->tile > 0) {
        const int64_t voxel = (int64_t)crd_type_size(s->type), edge = s->tile;
        unsigned char *tile = calloc((size_t)(edge * edge), (size_t)voxel);
        for (int64_t y = 0; y < s->shape[1]; y += edge) {
            for (int64_t x = 0; x < s->shape[2]; x += edge) {
                const int64_t width = s->shape[2] - x < edge ? s->shape[2] - x : edge;
                for (int64_t i = 0; i < edge && y + i < s->shape[1]; i++) {
                    memcpy(tile + i * edge * voxel, page + (y + i) * row + x * voxel, (size_t)(width * voxel));
                }
                const uint32_t number = TIFFComputeTile(t, (uint32_t)x, (uint32_t)y, 0, 0);
                good = good && TIFFWriteEncodedTile(t, number, tile, edge * edge * voxel) == edge * edge * voxel;
            }
        }
        free(tile);
        return good;
    }
    const int64_t rows = s->rows_per_strip > 0 ? s->rows_per_strip : s->shape[1];
    const int64_t strips = (s->shape[1] + rows - 1) / rows;
    unsigned char *copy = malloc((size_t)(rows * row)); /* libtiff may swap bytes in place */
    for (int64_t i = 0; i < strips; i++) {
        const int64_t strip = s->strips_backwards ? strips - 1 - i : i, y = strip * rows;
        const int64_t bytes = (s->shape[1] - y < rows ? s->shape[1] - y : rows) * row;
        memcpy(copy, page + y * row, (size_t)bytes);
        good = good && TIFFWriteEncodedStrip(t, (uint32_t)strip, copy, bytes) == bytes;
    }
    free(copy);
    return good;
}

/* `voxels`: the volume as it shall be read, or packed bits where spec->bits is 1. */
static inline bool tools_make_tiff(const char *path, const tiff_spec *s, const void *voxels)
{
    const int64_t row = (s->shape[2] * (s->bits > 0 ? s->bits : (int64_t)(8 * crd_type_size(s->type))) + 7) / 8;
    const TIFFErrorHandler before = TIFFSetWarningHandler(NULL); /* quiet for making, not for reading */
    TIFF *t = TIFFOpen(path, s->mode != NULL ? s->mode : "w");
    bool good = t != NULL;
    for (int64_t z = 0; good && z < s->shape[0]; z++) {
        tools_set_fields(t, s, z);
        good = tools_put_page(t, s, (const unsigned char *)voxels + z * s->shape[1] * row) && TIFFWriteDirectory(t);
    }
    if (t != NULL) TIFFClose(t);
    TIFFSetWarningHandler(before);
    return good;
}

/* ---- byte by byte, little-endian ---- */

typedef struct maker {
    unsigned char bytes[8192];
    size_t used;
    bool big;
} maker;

static inline void make_number(maker *m, uint64_t value, int size)
{
    for (int i = 0; i < size; i++) m->bytes[m->used++] = (unsigned char)(value >> (8 * i));
}

static inline maker make_header(bool big, uint64_t first_directory)
{
    maker m = {.big = big};
    make_number(&m, 0x4949, 2);
    make_number(&m, big ? 43 : 42, 2);
    if (big) make_number(&m, 8, 4);
    make_number(&m, first_directory, big ? 8 : 4);
    return m;
}

/* One entry with one value, or with a count and the place of its values. */
static inline void make_entry(maker *m, int tag, int type, uint64_t count, uint64_t value)
{
    make_number(m, (uint64_t)tag, 2);
    make_number(m, (uint64_t)type, 2);
    make_number(m, count, m->big ? 8 : 4);
    make_number(m, value, m->big ? 8 : 4);
}

typedef struct page_spec {
    uint64_t width, height, bits, compression, strip_offset, strip_bytes, rows, next;
    uint64_t description, description_bytes; /* 0: none */
} page_spec;

/* A page of one strip at the end of `m`. */
static inline void make_page(maker *m, const page_spec *p)
{
    make_number(m, p->description_bytes > 0 ? 9 : 8, m->big ? 8 : 2);
    make_entry(m, TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, p->width);
    make_entry(m, TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, p->height);
    make_entry(m, TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, p->bits);
    make_entry(m, TIFFTAG_COMPRESSION, TIFF_SHORT, 1, p->compression);
    make_entry(m, TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1);
    if (p->description_bytes > 0) {
        make_entry(m, TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, p->description_bytes, p->description);
    }
    make_entry(m, TIFFTAG_STRIPOFFSETS, m->big ? TIFF_LONG8 : TIFF_LONG, 1, p->strip_offset);
    make_entry(m, TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, p->rows > 0 ? p->rows : p->height);
    make_entry(m, TIFFTAG_STRIPBYTECOUNTS, m->big ? TIFF_LONG8 : TIFF_LONG, 1, p->strip_bytes);
    make_number(m, p->next, m->big ? 8 : 4);
}

/* Writes bytes to a file, `length` bytes long in the end (a hole follows), 0: as long as they are. */
static inline bool tools_save(const char *path, const void *bytes, size_t count, int64_t length)
{
    (void)unlink(path); /* a file system may bring a truncated file onto the disk first */
    const int fd = open(path, O_RDWR | O_CREAT, 0666);
    bool good = fd >= 0 && write(fd, bytes, count) == (ssize_t)count;
    if (good && length > 0) good = ftruncate(fd, (off_t)length) == 0;
    if (fd >= 0) good = close(fd) == 0 && good;
    return good;
}

static inline bool tools_poke(const char *path, int64_t offset, const void *bytes, size_t count)
{
    const int fd = open(path, O_RDWR);
    bool good = fd >= 0 && pwrite(fd, bytes, count, (off_t)offset) == (ssize_t)count;
    if (fd >= 0) good = close(fd) == 0 && good;
    return good;
}

/* ---- comparing ---- */

/* Does the open volume hold `expected`? The whole of it and `boxes` random boxes. */
static inline bool tools_same(crd_volume *volume, const void *expected, int boxes, uint64_t seed)
{
    const crd_volume_info *info = crd_volume_describe(volume);
    const size_t size = crd_type_size(info->type);
    const size_t bytes = (size_t)(info->shape[0] * info->shape[1] * info->shape[2]) * size;
    char *memory = malloc(2 * bytes), *copy = memory + bytes;
    crd_box box = {.size = {info->shape[0], info->shape[1], info->shape[2]}};
    bool good = memory != NULL && crd_volume_read(volume, &box, info->type, memory) == CRD_OK &&
                memcmp(memory, expected, bytes) == 0;
    for (int i = 0; good && i < boxes; i++) {
        box = tools_random_box(info->shape, &seed);
        const size_t part = (size_t)(box.size[0] * box.size[1] * box.size[2]) * size;
        tools_copy_box((void *)(uintptr_t)expected, info->shape, size, &box, copy, 0);
        good = crd_volume_read(volume, &box, info->type, memory) == CRD_OK && memcmp(memory, copy, part) == 0;
    }
    free(memory);
    return good;
}

#endif
