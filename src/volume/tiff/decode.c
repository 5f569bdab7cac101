/* libtiff, used as a decoder of strips, tiles and rows. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/tiff/tiff.h"

/* Nothing libtiff needs for an honest file is larger than this or than a few times a block. */
enum { LIBTIFF_ALLOWANCE = 256 << 20 };

struct crd_tiff_decoder {
    TIFF *handle;
    crd_tiff_file file; /* a copy; the descriptor is the reader's */
    crd_tiff_image image;
    crd_tiff_page page;
    int64_t z;         /* the page that libtiff has turned to, or -1 */
    int64_t allowance; /* the most libtiff may allocate at once */
    char trouble[256]; /* libtiff's first complaint since it was last cleared */
    bool is_error;
    int64_t position; /* where libtiff reads next */
    int failure;      /* errno of a read that failed since then, 0: none did */
};

crd_status crd_tiff_decoder_create(crd_tiff_decoder **out)
{
    CRD_PASS(crd_alloc(1, sizeof **out, "a TIFF decoder", out));
    (*out)->z = -1;
    return CRD_OK;
}

void crd_tiff_decoder_detach(crd_tiff_decoder *decoder)
{
    if (decoder == NULL) return;
    if (decoder->handle != NULL) TIFFClose(decoder->handle);
    decoder->handle = NULL;
    decoder->z = -1;
}

void crd_tiff_decoder_free(crd_tiff_decoder **decoder)
{
    crd_tiff_decoder_detach(*decoder);
    crd_free(decoder);
}

/* An error is worth more than a warning that came before it. */
static void note(crd_tiff_decoder *decoder, bool is_error, const char *format, va_list arguments)
{
    if (decoder->trouble[0] != '\0' && (decoder->is_error || !is_error)) return;
    vsnprintf(decoder->trouble, sizeof decoder->trouble, format, arguments);
    decoder->is_error = is_error;
    for (char *c = decoder->trouble; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20) *c = ' ';
    }
    for (size_t n = strlen(decoder->trouble);
         n > 0 && (decoder->trouble[n - 1] == '.' || decoder->trouble[n - 1] == ' ');) {
        decoder->trouble[--n] = '\0';
    }
}

/* Returning 1 keeps libtiff from calling the process-wide handlers, which print. */
static int take_error(TIFF *handle, void *context, const char *module, const char *format, va_list arguments)
{
    (void)handle;
    (void)module;
    note(context, true, format, arguments);
    return 1;
}

static int take_warning(TIFF *handle, void *context, const char *module, const char *format, va_list arguments)
{
    (void)handle;
    (void)module;
    note(context, false, format, arguments);
    return 1;
}

static void clear_trouble(crd_tiff_decoder *decoder)
{
    decoder->trouble[0] = '\0';
    decoder->is_error = false;
    decoder->failure = 0;
}

/* ---- how libtiff reads: its own way takes a read that was interrupted, or moved less, for a damaged file ---- */

static tmsize_t read_on(thandle_t client, void *data, tmsize_t bytes)
{
    crd_tiff_decoder *decoder = client;
    const int64_t got = bytes < 0 ? -1 : crd_read_some(decoder->file.fd, decoder->position, data, (size_t)bytes);
    if (got < 0) decoder->failure = errno;
    if (got > 0) decoder->position += got;
    return (tmsize_t)got;
}

static tmsize_t write_nothing(thandle_t client, void *data, tmsize_t bytes)
{
    (void)client, (void)data, (void)bytes;
    return -1;
}

static toff_t size_of(thandle_t client)
{
    struct stat about;
    return fstat(((const crd_tiff_decoder *)client)->file.fd, &about) == 0 ? (toff_t)about.st_size : 0;
}

static toff_t seek_to(thandle_t client, toff_t offset, int from)
{
    crd_tiff_decoder *decoder = client;
    const int64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? decoder->position : (int64_t)size_of(client);
    if (offset > INT64_MAX || base > INT64_MAX - (int64_t)offset) return (toff_t)-1;
    decoder->position = base + (int64_t)offset;
    return (toff_t)decoder->position;
}

/* The descriptor is the reader's. */
static int close_nothing(thandle_t client)
{
    (void)client;
    return 0;
}

static crd_status refuse(const crd_tiff_decoder *decoder, const char *what)
{
    if (decoder->failure != 0) {
        errno = decoder->failure;
        return crd_fail_errno("slice z = %lld in %s can't be read", (long long)decoder->z, decoder->file.path);
    }
    return crd_fail(CRD_ERR_FORMAT,
                    "slice z = %lld in %s can't be read (%s%s%s); the file is damaged: copy it again from its source",
                    (long long)decoder->z, decoder->file.path, what, decoder->trouble[0] != '\0' ? ": " : "",
                    decoder->trouble);
}

static crd_status attach(crd_tiff_decoder *decoder, const crd_tiff_file *file, int64_t allowance)
{
    crd_status status = CRD_OK;
    TIFFOpenOptions *options = NULL;
    crd_tiff_decoder_detach(decoder);
    decoder->file = *file;
    decoder->allowance = allowance;
    clear_trouble(decoder);
    decoder->position = 0;
    options = TIFFOpenOptionsAlloc();
    if (options == NULL) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory to decode %s", file->path);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)allowance);
    TIFFOpenOptionsSetErrorHandlerExtR(options, take_error, decoder);
    TIFFOpenOptionsSetWarningHandlerExtR(options, take_warning, decoder);
    /* m: not mapped, a mapped file that shrinks kills; h: the header only, pages are chosen by offset. */
    decoder->handle = TIFFClientOpenExt(file->path, "rmh", decoder, read_on, write_nothing, seek_to, close_nothing,
                                        size_of, NULL, NULL, options);
    if (decoder->handle == NULL && decoder->failure != 0) {
        errno = decoder->failure;
        status = crd_fail_errno("%s can't be read", file->path);
    } else if (decoder->handle == NULL) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s can't be opened as TIFF (%s)", file->path, decoder->trouble);
    }
done:
    if (options != NULL) TIFFOpenOptionsFree(options);
    return status;
}

/* Both of us read the same directory; where we disagree, sizes can't be trusted. */
static bool agrees(TIFF *handle, const crd_tiff_image *image, const crd_tiff_page *page)
{
    uint32_t width = 0, height = 0;
    uint16_t bits = 0, samples = 0, compression = 0;
    if (!TIFFGetField(handle, TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(handle, TIFFTAG_IMAGELENGTH, &height) ||
        !TIFFGetFieldDefaulted(handle, TIFFTAG_BITSPERSAMPLE, &bits) ||
        !TIFFGetFieldDefaulted(handle, TIFFTAG_SAMPLESPERPIXEL, &samples) ||
        !TIFFGetFieldDefaulted(handle, TIFFTAG_COMPRESSION, &compression)) {
        return false;
    }
    if (width != image->width || height != image->height || bits != image->bits || samples != image->samples ||
        compression != page->compression || (TIFFIsTiled(handle) != 0) != page->tiled) {
        return false;
    }
    const uint64_t row = page->tiled ? TIFFTileRowSize64(handle) : TIFFScanlineSize64(handle);
    const uint64_t block = page->tiled ? TIFFTileSize64(handle) : TIFFStripSize64(handle);
    const uint32_t blocks = page->tiled ? TIFFNumberOfTiles(handle) : TIFFNumberOfStrips(handle);
    return row == (uint64_t)crd_tiff_row_bytes(image, page) &&
           block == (uint64_t)crd_tiff_block_bytes(image, page, 0) && blocks == crd_tiff_block_count(image, page);
}

crd_status crd_tiff_decoder_select(crd_tiff_decoder *decoder, const crd_tiff_file *file, const crd_tiff_image *image,
                                   const crd_tiff_page *page, int64_t z)
{
    if (decoder->z == z) return CRD_OK;
    const int64_t block = crd_tiff_block_bytes(image, page, 0);
    const int64_t allowance = block < LIBTIFF_ALLOWANCE / 4 ? LIBTIFF_ALLOWANCE
                              : block < INT64_MAX / 4       ? 4 * block
                                                            : INT64_MAX;
    if (decoder->handle == NULL || decoder->allowance < allowance) CRD_PASS(attach(decoder, file, allowance));
    clear_trouble(decoder);
    decoder->image = *image;
    decoder->page = *page;
    decoder->z = z;
    const bool turned = TIFFSetSubDirectory(decoder->handle, (uint64_t)page->directory) != 0;
    if (turned && agrees(decoder->handle, image, page)) return CRD_OK;
    const crd_status status = refuse(decoder, turned ? "its directory contradicts itself" : "its directory");
    crd_tiff_decoder_detach(decoder);
    return status;
}

/* JPEG and fax decoders fill what is missing with grey or white, and merely warn. */
static bool guesses(uint16_t compression)
{
    return compression == COMPRESSION_JPEG || compression == COMPRESSION_CCITTRLE ||
           compression == COMPRESSION_CCITTRLEW || compression == COMPRESSION_CCITTFAX3 ||
           compression == COMPRESSION_CCITTFAX4;
}

static crd_status judge(crd_tiff_decoder *decoder, bool complete, const char *what, int64_t number)
{
    char where[64];
    const bool complained = decoder->is_error || (decoder->trouble[0] != '\0' && guesses(decoder->page.compression));
    if (complete && !complained) return CRD_OK;
    snprintf(where, sizeof where, "%s %lld", what, (long long)number);
    const crd_status status = refuse(decoder, where);
    crd_tiff_decoder_detach(decoder); /* libtiff's state after a failure is anybody's guess */
    return status;
}

crd_status crd_tiff_decode_block(crd_tiff_decoder *decoder, int64_t block, void *out, int64_t bytes)
{
    clear_trouble(decoder);
    const tmsize_t got = decoder->page.tiled
                             ? TIFFReadEncodedTile(decoder->handle, (uint32_t)block, out, (tmsize_t)bytes)
                             : TIFFReadEncodedStrip(decoder->handle, (uint32_t)block, out, (tmsize_t)bytes);
    return judge(decoder, got == (tmsize_t)bytes, decoder->page.tiled ? "tile" : "strip", block);
}

crd_status crd_tiff_decode_row(crd_tiff_decoder *decoder, int64_t row, void *out)
{
    clear_trouble(decoder);
    const bool complete = TIFFReadScanline(decoder->handle, out, (uint32_t)row, 0) == 1;
    return judge(decoder, complete, "row", row);
}
