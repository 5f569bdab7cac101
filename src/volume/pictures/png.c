/* PNG slices, by libpng: 1 to 16 bits of grey, as they are stored; of colours, where that is asked for, their grey. */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "volume/grey.h"
#include "volume/optional.h"
#include "volume/pictures/pictures.h"

enum { DEFLATE_RATIO = 1032 }; /* no stored byte becomes more */

typedef struct png {
    png_structp read;
    png_infop info;
    const char *path;
    char trouble[160];
    png_uint_32 width, height;
    int depth, colour, interlace;
    void *rows; /* of colours, before they become grey */
} png;

static _Noreturn void take_error(png_structp read, png_const_charp text)
{
    png *p = png_get_error_ptr(read);
    snprintf(p->trouble, sizeof p->trouble, "%s", text);
    png_longjmp(read, 1);
}

/* What libpng warns of lies in parts that hold no pixels. */
static void take_warning(png_structp read, png_const_charp text)
{
    (void)read;
    (void)text;
}

static crd_status damaged(const png *p)
{
    return crd_fail(CRD_ERR_FORMAT, "%s can't be read (%s); the file is damaged: copy it again from its source",
                    p->path, p->trouble);
}

static crd_status begin(FILE *file, const char *path, png *p)
{
    *p = (png){.path = path};
    p->read = png_create_read_struct(PNG_LIBPNG_VER_STRING, p, take_error, take_warning);
    if (p->read != NULL) p->info = png_create_info_struct(p->read);
    if (p->info == NULL) return crd_fail(CRD_ERR_MEMORY, "not enough memory to read %s", path);
    png_init_io(p->read, file);
    return CRD_OK;
}

static void end(png *p)
{
    if (p->read != NULL) png_destroy_read_struct(&p->read, &p->info, NULL);
    crd_free(&p->rows);
}

/* Up to the pixels. */
static crd_status read_head(png *p)
{
    if (setjmp(png_jmpbuf(p->read)) != 0) return damaged(p);
    png_set_user_limits(p->read, INT32_MAX, INT32_MAX);
    png_read_info(p->read, p->info);
    (void)png_get_IHDR(p->read, p->info, &p->width, &p->height, &p->depth, &p->colour, &p->interlace, NULL, NULL);
    return CRD_OK;
}

static bool has_colours(const png *p, bool grey)
{
    return p->colour == PNG_COLOR_TYPE_RGB || p->colour == PNG_COLOR_TYPE_RGB_ALPHA ||
           (p->colour == PNG_COLOR_TYPE_PALETTE && grey);
}

static const char *remark_of(const png *p, bool grey)
{
    if (p->colour == PNG_COLOR_TYPE_PALETTE && !grey) {
        return "has a colour table, which is ignored: values are read as stored";
    }
    return (p->colour & PNG_COLOR_MASK_ALPHA) != 0 ? "says how transparent its pixels are, which is ignored" : NULL;
}

crd_status crd_png_look(FILE *file, const char *path, int64_t bytes, bool grey, crd_slice_image *out)
{
    crd_status status = CRD_OK;
    png p;
    CRD_TRY(begin(file, path, &p));
    CRD_TRY(read_head(&p));
    if (has_colours(&p, grey) && !grey) {
        CRD_FAIL(CRD_ERR_UNSUPPORTED,
                 "%s has colours, and a scan has one value per pixel; credence convert --grey makes it grey", path);
    }
    *out = (crd_slice_image){
        .width = p.width, .height = p.height, .type = p.depth == 16 ? CRD_U16 : CRD_U8, .remark = remark_of(&p, grey)};
    const double row = (double)p.width * (double)p.depth / 8.0;
    if (row * (double)p.height > (double)DEFLATE_RATIO * (double)bytes) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is broken: %lld bytes can't hold its %lld x %lld pixels", path, (long long)bytes,
                 (long long)p.height, (long long)p.width);
    }
done:
    end(&p);
    return status;
}

/* Colours of all rows, or the grey values themselves, into `out`, whose rows are so many bytes. */
static crd_status read_rows(png *p, size_t row_bytes, unsigned char *out)
{
    if (setjmp(png_jmpbuf(p->read)) != 0) return damaged(p);
    const int passes = png_set_interlace_handling(p->read);
    png_read_update_info(p->read, p->info);
    if (png_get_rowbytes(p->read, p->info) != row_bytes) png_error(p->read, "its rows have another length");
    for (int pass = 0; pass < passes; pass++) {
        for (png_uint_32 y = 0; y < p->height; y++) png_read_row(p->read, out + y * row_bytes, NULL);
    }
    return CRD_OK;
}

static crd_status choose_form(png *p, bool colours)
{
    const uint16_t one = 1;
    const bool little_endian = *(const uint8_t *)&one == 1;
    if (setjmp(png_jmpbuf(p->read)) != 0) return damaged(p);
    if (p->depth < 8) png_set_packing(p->read); /* a byte for each pixel, of the same value */
    if (p->depth == 16 && little_endian) png_set_swap(p->read);
    if (colours && p->colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(p->read);
    if ((p->colour & PNG_COLOR_MASK_ALPHA) != 0) png_set_strip_alpha(p->read);
    return CRD_OK;
}

crd_status crd_png_decode(FILE *file, const char *path, bool grey, const crd_slice_image *image, void *voxels)
{
    crd_status status = CRD_OK;
    png p;
    const size_t row = (size_t)image->width * crd_type_size(image->type);
    CRD_TRY(begin(file, path, &p));
    CRD_TRY(read_head(&p));
    if (p.width != image->width || p.height != image->height || (p.depth == 16) != (image->type == CRD_U16)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s has changed since it was opened", path);
    }
    const bool colours = has_colours(&p, grey);
    CRD_TRY(choose_form(&p, colours));
    if (!colours) {
        CRD_TRY(read_rows(&p, row, voxels));
        goto done;
    }
    CRD_TRY(crd_alloc(3 * image->height, row, "a slice in colours", &p.rows));
    CRD_TRY(read_rows(&p, 3 * row, p.rows));
    crd_grey(image->type, p.rows, 3, 0, image->width * image->height, voxels);
done:
    end(&p);
    return status;
}

static bool sniff(const char *path, const unsigned char *head, size_t count)
{
    return (count >= 8 && memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0) ||
           crd_pictures_sniff(&crd_format_png, path, count);
}

static crd_status open_volume(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    (void)options;
    return crd_pictures_open(volume, crd_png_look, crd_png_decode, monitor);
}

const crd_format crd_format_png = {
    .name = "png",
    .suffixes = CRD_PNG_SUFFIXES,
    .only_read = CRD_PNG_SUFFIXES,
    .library = "libpng",
    .sniff = sniff,
    .open = open_volume,
    .read = crd_pictures_read,
    .other_file = crd_pictures_file,
    .close = crd_pictures_close,
};
