#include "draw/picture.h"

#include <string.h>

#include "base/memory.h"
#include "build_config.h"

crd_status crd_picture_create(int64_t width, int64_t height, crd_picture *out)
{
    int64_t bytes;
    CRD_PASS(crd_product(width, height, 3, &bytes));
    out->width = width;
    out->height = height;
    return crd_alloc(bytes, 1, "a picture", &out->rgb);
}

void crd_picture_free(crd_picture *picture)
{
    crd_free(&picture->rgb);
}

#if CRD_HAVE_PNG
#include <png.h>

bool crd_png_possible(void)
{
    return true;
}

crd_status crd_png_encode(const crd_picture *picture, uint8_t **bytes, int64_t *count)
{
    crd_status status = CRD_OK;
    png_image image;
    *bytes = NULL;
    *count = 0;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)picture->width;
    image.height = (png_uint_32)picture->height;
    image.format = PNG_FORMAT_RGB;
    image.flags = PNG_IMAGE_FLAG_FAST; /* three times as fast, and as small where areas are even */
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    CRD_TRY(crd_alloc((int64_t)size, 1, "a picture", bytes));
    if (!png_image_write_to_memory(&image, *bytes, &size, 0, picture->rgb, 0, NULL)) {
        CRD_FAIL(CRD_ERR_INTERNAL, "libpng can't encode a picture: %s", image.message);
    }
    *count = (int64_t)size;
done:
    if (status != CRD_OK) crd_free(bytes);
    png_image_free(&image);
    return status;
}

#else

bool crd_png_possible(void)
{
    return false;
}

crd_status crd_png_encode(const crd_picture *picture, uint8_t **bytes, int64_t *count)
{
    (void)picture;
    *bytes = NULL;
    *count = 0;
    return crd_fail(CRD_ERR_UNSUPPORTED, "this credence was built without libpng and can't draw pictures");
}

#endif
