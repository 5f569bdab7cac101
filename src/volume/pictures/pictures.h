/* Slices as PNG or JPEG files: one file, or a folder or pattern with one for each slice. Only read.
 *
 * A slice is decoded whole and kept while there is room. png.c and jpeg.c are all that knows the libraries. */
#ifndef CRD_VOLUME_PICTURES_H
#define CRD_VOLUME_PICTURES_H

#include <stdio.h>

#include "base/error.h"
#include "volume/format.h"

/* What a file says of itself. */
typedef struct crd_slice_image {
    int64_t width, height;
    crd_type type;      /* u8 or u16 */
    const char *remark; /* what is to be said of it once, behind its name; NULL: nothing */
} crd_slice_image;

/* Both read the file from where it stands, its beginning; `bytes` is its length. Colours are refused unless they are to
 * become `grey`. */
typedef crd_status crd_slice_look(FILE *file, const char *path, int64_t bytes, bool grey, crd_slice_image *out);
/* Into voxels of the image that crd_slice_look found. */
typedef crd_status crd_slice_decode(FILE *file, const char *path, bool grey, const crd_slice_image *image,
                                    void *voxels);

crd_slice_look crd_png_look, crd_jpeg_look;
crd_slice_decode crd_png_decode, crd_jpeg_decode;

/* For the rows of both formats. */
bool crd_pictures_sniff(const crd_format *format, const char *path, size_t count);
crd_status crd_pictures_open(crd_volume *volume, crd_slice_look *look, crd_slice_decode *decode,
                             const crd_monitor *monitor);
crd_status crd_pictures_read(crd_volume *volume, const crd_box *box, void *voxels);
const char *crd_pictures_file(const crd_volume *volume, int64_t index);
void crd_pictures_close(crd_volume *volume);

#endif
