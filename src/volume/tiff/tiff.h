/* The parts of the TIFF format, shared by the files of this folder only.
 *
 * Directories are read by our own code (directory.c), not by libtiff: an index of ten thousand pages takes
 * milliseconds that way, a page without compression is read by pread straight into the caller's array, and libtiff
 * meets a file only after its sizes and offsets were checked. libtiff decodes the pages that are compressed. */
#ifndef CRD_VOLUME_TIFF_H
#define CRD_VOLUME_TIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tiffio.h>

#include "base/error.h"
#include "credence/monitor.h"
#include "volume/block_cache.h"
#include "volume/format.h"

enum { CRD_TIFF_MOST_PAGES = 1 << 20 };

/* ---- one file, open (directory.c) ---- */

typedef struct crd_tiff_file {
    int fd; /* -1: closed */
    const char *path;
    int64_t size;
    bool swap; /* its byte order isn't the machine's */
    bool big;  /* BigTIFF */
    int64_t first_directory;
} crd_tiff_file;

/* The numbers of one tag: where they lie in the file, also when that is inside the directory itself. */
typedef struct crd_tiff_array {
    int64_t offset;
    int64_t count; /* 0: the tag is absent */
    uint16_t type; /* TIFF_SHORT, ... */
} crd_tiff_array;

/* How one page lies in its file. A block is a strip or a tile. */
typedef struct crd_tiff_page {
    int64_t directory; /* offset of its directory */
    int64_t data;      /* offset of its rows when they lie in one piece, uncompressed; else one of the below */
    int32_t file;      /* index among the files of a folder */
    uint16_t compression;
    bool tiled;
    bool reversed;         /* bits of a byte in rising order (FillOrder 2) */
    uint32_t block_height; /* never above the page's height for strips */
    uint32_t block_width;  /* the page's width for strips */
    crd_tiff_array offsets, counts;
} crd_tiff_page;

enum { CRD_TIFF_DATA_UNKNOWN = -1, CRD_TIFF_DATA_SCATTERED = -2 };

/* A directory, as far as we want to know it; the standard's defaults where it says nothing. */
typedef struct crd_tiff_directory {
    uint64_t subfile, width, height, bits, samples, sample_format, photometric, compression, fill_order, orientation;
    uint64_t planar;
    uint64_t rows_per_strip, tile_width, tile_height, resolution_unit;
    crd_tiff_array offsets, counts; /* of strips or tiles */
    crd_tiff_array description, resolution_x, resolution_y;
    int64_t offset, next; /* of itself, and of the next directory: 0 for the last */
} crd_tiff_directory;

/* Opens and reads the header. `path` is borrowed as long as the file is open. */
crd_status crd_tiff_file_open(const char *path, crd_tiff_file *out);
void crd_tiff_file_close(crd_tiff_file *file);

/* `number` counts from 1 and is for the error's sentence. */
crd_status crd_tiff_read_directory(const crd_tiff_file *file, int64_t offset, int64_t number, crd_tiff_directory *out);

/* `count` whole numbers of an array, from its element `first` on. */
crd_status crd_tiff_read_array(const crd_tiff_file *file, const crd_tiff_array *array, int64_t first, int64_t count,
                               uint64_t *out);
/* Numerator / denominator; 0 where the tag is absent or makes no sense. */
crd_status crd_tiff_read_rational(const crd_tiff_file *file, const crd_tiff_array *array, double *numerator,
                                  double *denominator);
/* A text with a final zero byte; NULL where the tag is absent; free with crd_free. */
crd_status crd_tiff_read_text(const crd_tiff_file *file, const crd_tiff_array *array, char **out);

/* ---- what the pages have in common (check.c) ---- */

typedef struct crd_tiff_image {
    int64_t width, height;
    int64_t bits;    /* of a value, as stored; 1 is unpacked to u8 */
    int64_t samples; /* values of a pixel: 1, or 3 and more of which red, green and blue become grey */
    crd_type type;
    uint64_t photometric, orientation;
} crd_tiff_image;

/* Refuses a page that isn't one plain image of a type we have, with a sentence that says what to do. `grey`: colours
 * are taken, too. */
crd_status crd_tiff_check_page(const crd_tiff_file *file, int64_t number, const crd_tiff_directory *directory,
                               bool grey, crd_tiff_image *image, crd_tiff_page *page);

const char *crd_tiff_compression_name(uint16_t compression);
/* The most that so many stored bytes can be decoded to. */
int64_t crd_tiff_most_bytes(uint16_t compression, int64_t stored);

/* Bytes of one row of a block, and of the whole block, decoded; and how many blocks there are. */
int64_t crd_tiff_row_bytes(const crd_tiff_image *image, const crd_tiff_page *page);
int64_t crd_tiff_block_bytes(const crd_tiff_image *image, const crd_tiff_page *page, int64_t block);
int64_t crd_tiff_blocks_across(const crd_tiff_image *image, const crd_tiff_page *page);
int64_t crd_tiff_block_count(const crd_tiff_image *image, const crd_tiff_page *page);

/* ---- what the description says (metadata.c, ome.c) ---- */

typedef struct crd_tiff_metadata {
    double spacing[3]; /* 0: not said */
    char unit[16];
    int64_t origin[3];
    double scale;
    int64_t slices; /* 0: not said */
    bool one_piece; /* all slices follow the first one's data, although only its directory may be there */
} crd_tiff_metadata;

typedef struct crd_tiff_resolution {
    double x, y;         /* edge of a pixel: 1 / resolution; 0: not said */
    double per_x, per_y; /* the resolution itself */
    uint64_t unit;       /* RESUNIT_NONE, _INCH or _CENTIMETER */
} crd_tiff_resolution;

/* `text` may be NULL. `slice`: the file is one of many slices, so what it says about their number doesn't count. */
crd_status crd_tiff_read_metadata(const char *path, const char *text, const crd_tiff_resolution *resolution, bool slice,
                                  const crd_monitor *monitor, crd_tiff_metadata *out);
crd_status crd_tiff_read_ome(const char *path, const char *text, bool slice, const crd_monitor *monitor,
                             crd_tiff_metadata *out);

/* ---- decoding by libtiff (decode.c) ---- */

typedef struct crd_tiff_decoder crd_tiff_decoder;

crd_status crd_tiff_decoder_create(crd_tiff_decoder **out);
void crd_tiff_decoder_free(crd_tiff_decoder **decoder);
/* Forgets the file it had open; called before that file is closed. */
void crd_tiff_decoder_detach(crd_tiff_decoder *decoder);
/* Turns to a page; `z` is its number in the volume. */
crd_status crd_tiff_decoder_select(crd_tiff_decoder *decoder, const crd_tiff_file *file, const crd_tiff_image *image,
                                   const crd_tiff_page *page, int64_t z);
crd_status crd_tiff_decode_block(crd_tiff_decoder *decoder, int64_t block, void *out, int64_t bytes);
/* One row of a page in strips; rows of a strip are asked for in rising order, from its first one on. */
crd_status crd_tiff_decode_row(crd_tiff_decoder *decoder, int64_t row, void *out);

/* ---- an open volume (tiff.c, read.c) ---- */

typedef struct crd_tiff_reader {
    char **names; /* the files: one, or one for each slice */
    int64_t name_count;
    crd_tiff_file file; /* the one that is open now */
    int64_t open_name;  /* its index */
    bool grey;          /* colours become grey values */
    crd_tiff_image image;
    crd_tiff_page *pages;
    int64_t page_count, page_room;
    crd_tiff_decoder *decoder;
    crd_block_cache *cache;
    int64_t blocks_of; /* the page whose blocks are loaded, or -1 */
    uint64_t *offsets, *counts;
    int64_t block_room;
    unsigned char *scratch; /* CRD_TIFF_SCRATCH bytes */
} crd_tiff_reader;

enum { CRD_TIFF_SCRATCH = 1 << 18, CRD_TIFF_CLAIM = 64 << 20 };

/* Opens the file in which page z lies, if it isn't the open one. */
crd_status crd_tiff_turn_to_file(crd_tiff_reader *reader, int64_t z);
/* Reads and checks where the blocks of page z lie. */
crd_status crd_tiff_load_blocks(crd_tiff_reader *reader, int64_t z);
crd_status crd_tiff_read_box(crd_tiff_reader *reader, const crd_box *box, void *voxels);

/* ---- writing (write.c, pages.c, and folder.c for a file for each slice) ----
 *
 * Our own code again: the data of all slices lies in one piece, in front of all directories. ImageJ reads a stack whose
 * description says "images=N" by the first directory alone and expects just that, libtiff would put a directory behind
 * each slice; and the description, written last, can hold the range of values that was seen. */

typedef struct crd_tiff_writer crd_tiff_writer;

/* `path` and `info` are borrowed until the writer is freed. `level`: 0 for plain data, 1 to 9 for deflate. `ome`: the
 * description is OME's rather than ImageJ's. */
crd_status crd_tiff_writer_create(const char *path, const crd_volume_info *info, int level, bool ome, bool staged,
                                  crd_tiff_writer **out);
/* Whole slices in rising order. */
crd_status crd_tiff_writer_put(crd_tiff_writer *writer, const crd_box *box, const void *voxels);
/* Of a staged one: see crd_volume_sync and crd_volume_set_range. */
crd_status crd_tiff_writer_sync(const crd_tiff_writer *writer);
void crd_tiff_writer_set_range(crd_tiff_writer *writer, double low, double high);
/* `sync`: the file is on the disk then; else the caller sees to it. */
crd_status crd_tiff_writer_finish(crd_tiff_writer *writer, bool sync);
void crd_tiff_writer_free(crd_tiff_writer **writer);

/* What pages.c needs to know to write the directories and the header. */
typedef struct crd_tiff_layout {
    const char *path;
    const crd_volume_info *info;
    int fd;
    bool big, ome;
    bool deflated, differenced;     /* compressed, with the horizontal predictor */
    int64_t voxel, row, page;       /* bytes */
    int64_t rows_per_strip, strips; /* of one page */
    int64_t data;                   /* offset of the first slice */
    int64_t end;                    /* behind the last one written */
    uint64_t *offsets, *counts;     /* of the strips of all pages when deflated, else NULL */
    double minimum, maximum;        /* of the finite values; minimum > maximum: none were seen */
} crd_tiff_layout;

/* An upper bound of the bytes of all directories. */
crd_status crd_tiff_directories_bound(const crd_tiff_layout *layout, int64_t *out);
crd_status crd_tiff_write_directories(const crd_tiff_layout *layout);
/* ome_write.c: gives back the length; 0 where it doesn't fit. */
size_t crd_tiff_describe_ome(const crd_volume_info *info, char *out, size_t room);

#endif
