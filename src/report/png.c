/* Pixels to PNG in memory; the only file of reports that knows libpng. */
#include <string.h>

#include "base/memory.h"
#include "build_config.h"
#include "report/picture.h"

#if CRD_HAVE_PNG
#include <png.h>

bool crd_png_possible(void)
{
    return true;
}

crd_status crd_picture_png(const crd_picture *picture, uint8_t **bytes, int64_t *count)
{
    crd_status status = CRD_OK;
    png_image image;
    png_alloc_size_t size = 0;
    *bytes = NULL;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)picture->width;
    image.height = (png_uint_32)picture->height;
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_memory(&image, NULL, &size, 0, picture->rgb, 0, NULL)) {
        CRD_FAIL(CRD_ERR_INTERNAL, "libpng can't encode a picture: %s", image.message);
    }
    CRD_TRY(crd_alloc((int64_t)size, 1, "a picture", bytes));
    if (!png_image_write_to_memory(&image, *bytes, &size, 0, picture->rgb, 0, NULL)) {
        CRD_FAIL(CRD_ERR_INTERNAL, "libpng can't encode a picture: %s", image.message);
    }
    *count = (int64_t)size;
done:
    if (status != CRD_OK) crd_free(bytes);
    return status;
}

#else

bool crd_png_possible(void)
{
    return false;
}

crd_status crd_picture_png(const crd_picture *picture, uint8_t **bytes, int64_t *count)
{
    (void)picture;
    *bytes = NULL;
    *count = 0;
    return crd_fail(CRD_ERR_UNSUPPORTED, "this credence was built without libpng and can't draw pictures");
}

#endif

void crd_text_base64(crd_text *text, const uint8_t *bytes, int64_t count)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char some[1024];
    int64_t used = 0;
    for (int64_t i = 0; i < count; i += 3) {
        const int64_t left = count - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        some[used++] = letters[word >> 18];
        some[used++] = letters[word >> 12 & 63];
        some[used++] = left > 1 ? letters[word >> 6 & 63] : '=';
        some[used++] = left > 2 ? letters[word & 63] : '=';
        if (used == (int64_t)sizeof some || left <= 3) {
            crd_text_add_bytes(text, some, used);
            used = 0;
        }
    }
}
