/* JPEG slices, by libjpeg: 8 bits of grey, or of colours, where that is asked for, their grey. */
#include <stdio.h>

#include <jpeglib.h> /* needs FILE */
#include <setjmp.h>
#include <string.h>

#include "base/memory.h"
#include "volume/grey.h"
#include "volume/optional.h"
#include "volume/pictures/pictures.h"

enum {
    MOST_PIXELS_A_BYTE = 1 << 12, /* far beyond what a picture of anything comes to */
    MOST_SCANS = 100              /* of a progressive file: each costs as much as the whole picture */
};

typedef struct jpeg {
    struct jpeg_decompress_struct read;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    bool begun;
    const char *path;
    char trouble[JMSG_LENGTH_MAX];
    unsigned char *row; /* of colours, before they become grey */
} jpeg;

static _Noreturn void take_error(j_common_ptr read)
{
    jpeg *j = read->client_data;
    read->err->format_message(read, j->trouble);
    longjmp(j->failed, 1);
}

/* Where data are missing libjpeg fills in grey and merely warns: such a picture is not a slice. */
static void take_message(j_common_ptr read, int level)
{
    if (level < 0) take_error(read);
}

static void count_scans(j_common_ptr read)
{
    jpeg *j = read->client_data;
    if (j->read.input_scan_number <= MOST_SCANS) return;
    snprintf(j->trouble, sizeof j->trouble, "it is in more than %d scans", (int)MOST_SCANS);
    longjmp(j->failed, 1);
}

static crd_status damaged(const jpeg *j)
{
    return crd_fail(CRD_ERR_FORMAT, "%s can't be read (%s); the file is damaged: copy it again from its source",
                    j->path, j->trouble);
}

/* Up to the pixels. `j` is zero. */
static crd_status read_head(FILE *file, const char *path, jpeg *j)
{
    j->path = path;
    j->read.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = take_error;
    j->errors.emit_message = take_message;
    j->read.client_data = j;
    if (setjmp(j->failed) != 0) return damaged(j);
    jpeg_create_decompress(&j->read);
    j->begun = true;
    j->progress.progress_monitor = count_scans;
    j->read.progress = &j->progress;
    jpeg_stdio_src(&j->read, file);
    (void)jpeg_read_header(&j->read, TRUE);
    return CRD_OK;
}

static void end(jpeg *j)
{
    if (j->begun) jpeg_destroy_decompress(&j->read);
    crd_free(&j->row);
}

static crd_status check_colours(const jpeg *j, bool grey)
{
    const J_COLOR_SPACE space = j->read.jpeg_color_space;
    if (j->read.num_components == 1) return CRD_OK;
    if (j->read.num_components != 3 || (space != JCS_YCbCr && space != JCS_RGB)) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s holds %d colours that are neither grey nor red, green and blue; convert "
                        "it to grey first",
                        j->path, j->read.num_components);
    }
    if (grey) return CRD_OK;
    return crd_fail(CRD_ERR_UNSUPPORTED,
                    "%s has colours, and a scan has one value per pixel; credence convert --grey makes it grey",
                    j->path);
}

crd_status crd_jpeg_look(FILE *file, const char *path, int64_t bytes, bool grey, crd_slice_image *out)
{
    crd_status status = CRD_OK;
    jpeg *j = NULL;
    CRD_PASS(crd_alloc(1, sizeof *j, "a JPEG slice", &j));
    CRD_TRY(read_head(file, path, j));
    CRD_TRY(check_colours(j, grey));
    *out = (crd_slice_image){.width = j->read.image_width,
                             .height = j->read.image_height,
                             .type = CRD_U8,
                             .remark = "is JPEG, which keeps what people see and not the values: take the original "
                                       "slices where there are any"};
    if ((double)out->width * (double)out->height > (double)MOST_PIXELS_A_BYTE * (double)bytes) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is broken: %lld bytes can't hold its %lld x %lld pixels", path, (long long)bytes,
                 (long long)out->height, (long long)out->width);
    }
done:
    end(j);
    crd_free(&j);
    return status;
}

/* What libjpeg keeps of colours apart from their hue is the same grey. */
static crd_status read_rows(jpeg *j, const crd_slice_image *image, unsigned char *out)
{
    const bool rgb = j->read.num_components == 3 && j->read.jpeg_color_space == JCS_RGB;
    if (setjmp(j->failed) != 0) return damaged(j);
    j->read.out_color_space = rgb ? JCS_RGB : JCS_GRAYSCALE;
    j->read.dct_method = JDCT_ISLOW; /* the same bytes on every machine */
    (void)jpeg_start_decompress(&j->read);
    for (int64_t y = 0; y < image->height; y++) {
        unsigned char *to = out + y * image->width;
        JSAMPROW row = rgb ? j->row : to;
        (void)jpeg_read_scanlines(&j->read, &row, 1);
        if (rgb) crd_grey(CRD_U8, row, 3, 0, image->width, to);
    }
    (void)jpeg_finish_decompress(&j->read);
    return CRD_OK;
}

crd_status crd_jpeg_decode(FILE *file, const char *path, bool grey, const crd_slice_image *image, void *voxels)
{
    crd_status status = CRD_OK;
    jpeg *j = NULL;
    CRD_PASS(crd_alloc(1, sizeof *j, "a JPEG slice", &j));
    CRD_TRY(read_head(file, path, j));
    CRD_TRY(check_colours(j, grey));
    if (j->read.image_width != image->width || j->read.image_height != image->height) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s has changed since it was opened", path);
    }
    CRD_TRY(crd_alloc(image->width, 3, "a row of colours", &j->row));
    CRD_TRY(read_rows(j, image, voxels));
done:
    end(j);
    crd_free(&j);
    return status;
}

static bool sniff(const char *path, const unsigned char *head, size_t count)
{
    return (count >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0) || crd_pictures_sniff(&crd_format_jpeg, path, count);
}

static crd_status open_volume(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    (void)options;
    return crd_pictures_open(volume, crd_jpeg_look, crd_jpeg_decode, monitor);
}

const crd_format crd_format_jpeg = {
    .name = "jpeg",
    .suffixes = CRD_JPEG_SUFFIXES,
    .only_read = CRD_JPEG_SUFFIXES,
    .library = "libjpeg",
    .sniff = sniff,
    .open = open_volume,
    .read = crd_pictures_read,
    .other_file = crd_pictures_file,
    .close = crd_pictures_close,
};
