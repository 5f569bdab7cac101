/* Which pages we take, and how large their parts are. */
#include "base/memory.h"
#include "volume/tiff/tiff.h"
#include "volume/types.h"

/* The codecs that give grey values. `ratio` bounds what one stored byte can become, so that a small file can't claim an
 * endless image: deflate can't exceed 1032, LZW 2731, PackBits 64; the others' bounds are generous. */
static const struct codec_row {
    uint16_t code;
    const char *name;
    int64_t ratio;
} codec_rows[] = {
    {COMPRESSION_NONE, "no compression", 1},
    {COMPRESSION_CCITTRLE, "CCITT RLE", 1 << 20},
    {COMPRESSION_CCITTFAX3, "CCITT fax group 3", 1 << 20},
    {COMPRESSION_CCITTFAX4, "CCITT fax group 4", 1 << 20},
    {COMPRESSION_CCITTRLEW, "CCITT RLE (words)", 1 << 20},
    {COMPRESSION_LZW, "LZW", 2731},
    {COMPRESSION_JPEG, "JPEG", 1 << 12},
    {COMPRESSION_ADOBE_DEFLATE, "deflate", 1032},
    {COMPRESSION_DEFLATE, "deflate", 1032},
    {COMPRESSION_PACKBITS, "PackBits", 64},
    {COMPRESSION_JBIG, "JBIG", 1 << 20},
    {COMPRESSION_LERC, "LERC", 1 << 20},
    {COMPRESSION_LZMA, "LZMA", 1 << 16},
    {COMPRESSION_ZSTD, "Zstandard", 1 << 16},
};

static const struct codec_row *codec_of(uint64_t compression)
{
    for (size_t i = 0; i < sizeof codec_rows / sizeof codec_rows[0]; i++) {
        if (codec_rows[i].code == compression) return &codec_rows[i];
    }
    return NULL;
}

const char *crd_tiff_compression_name(uint16_t compression)
{
    const struct codec_row *row = codec_of(compression);
    return row != NULL ? row->name : "unknown";
}

int64_t crd_tiff_most_bytes(uint16_t compression, int64_t stored)
{
    const struct codec_row *row = codec_of(compression);
    int64_t most = 0;
    if (row == NULL || __builtin_mul_overflow(stored, row->ratio, &most)) return INT64_MAX;
    return most > INT64_MAX - 4096 ? INT64_MAX : most + 4096;
}

static crd_status check_compression(const crd_tiff_file *file, uint64_t compression)
{
    const struct codec_row *row = codec_of(compression);
    if (row == NULL) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s is compressed by a method (number %llu) that credence doesn't read; save it without "
                        "compression, with deflate or with LZW",
                        file->path, (unsigned long long)compression);
    }
    if (!TIFFIsCODECConfigured(row->code)) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s is compressed by %s, which the libtiff on this machine was built without; save it without "
                        "compression, with deflate or with LZW",
                        file->path, row->name);
    }
    return CRD_OK;
}

static crd_status find_type(const crd_tiff_file *file, const crd_tiff_directory *d, crd_type *out)
{
    static const struct type_row {
        uint64_t format, bits;
        crd_type type;
    } rows[] = {
        {SAMPLEFORMAT_UINT, 1, CRD_U8},   {SAMPLEFORMAT_UINT, 8, CRD_U8},     {SAMPLEFORMAT_UINT, 16, CRD_U16},
        {SAMPLEFORMAT_UINT, 32, CRD_U32}, {SAMPLEFORMAT_INT, 8, CRD_I8},      {SAMPLEFORMAT_INT, 16, CRD_I16},
        {SAMPLEFORMAT_INT, 32, CRD_I32},  {SAMPLEFORMAT_IEEEFP, 32, CRD_F32}, {SAMPLEFORMAT_IEEEFP, 64, CRD_F64},
        {SAMPLEFORMAT_UINT, 64, CRD_U64},
    };
    const uint64_t format = d->sample_format == SAMPLEFORMAT_VOID ? SAMPLEFORMAT_UINT : d->sample_format;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].format != format || rows[i].bits != d->bits) continue;
        *out = rows[i].type;
        return CRD_OK;
    }
    const char *kind = format == SAMPLEFORMAT_UINT     ? "unsigned integers"
                       : format == SAMPLEFORMAT_INT    ? "signed integers"
                       : format == SAMPLEFORMAT_IEEEFP ? "floating-point numbers"
                                                       : "complex or unknown numbers";
    return crd_fail(CRD_ERR_UNSUPPORTED,
                    "%s holds %s of %llu bits, which credence doesn't read; convert it to 8-bit, 16-bit or 32-bit (in "
                    "ImageJ: Image > Type)",
                    file->path, kind, (unsigned long long)d->bits);
}

/* Red, green and blue side by side in every pixel, and what may stand behind them. */
static bool is_rgb(const crd_tiff_directory *d)
{
    return d->photometric == PHOTOMETRIC_RGB && d->samples >= 3 && d->samples <= 16 &&
           d->planar == PLANARCONFIG_CONTIG && (d->bits == 8 || d->bits == 16) &&
           (d->sample_format == SAMPLEFORMAT_UINT || d->sample_format == SAMPLEFORMAT_VOID);
}

static crd_status check_colour(const crd_tiff_file *file, const crd_tiff_directory *d, bool grey)
{
    if (is_rgb(d)) {
        if (grey) return CRD_OK;
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s has colours, and a scan has one value per pixel; credence convert --grey makes it grey",
                        file->path);
    }
    if (d->samples != 1) {
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s has %llu values per pixel (colours or channels), and a scan has one; convert it to grey (in "
            "ImageJ: Image > Type > 8-bit) or save one channel",
            file->path, (unsigned long long)d->samples);
    }
    if (d->photometric > PHOTOMETRIC_MASK || d->photometric == PHOTOMETRIC_RGB) {
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s holds colours (photometric interpretation %llu) rather than grey values; convert it to grey "
            "(in ImageJ: Image > Type > 8-bit)",
            file->path, (unsigned long long)d->photometric);
    }
    return CRD_OK;
}

int64_t crd_tiff_row_bytes(const crd_tiff_image *image, const crd_tiff_page *page)
{
    return ((int64_t)page->block_width * image->bits * image->samples + 7) / 8;
}

int64_t crd_tiff_block_bytes(const crd_tiff_image *image, const crd_tiff_page *page, int64_t block)
{
    int64_t rows = page->block_height;
    if (!page->tiled && rows > image->height - block * rows) rows = image->height - block * rows;
    return rows * crd_tiff_row_bytes(image, page);
}

int64_t crd_tiff_blocks_across(const crd_tiff_image *image, const crd_tiff_page *page)
{
    return (image->width + page->block_width - 1) / page->block_width;
}

int64_t crd_tiff_block_count(const crd_tiff_image *image, const crd_tiff_page *page)
{
    return (image->height + page->block_height - 1) / page->block_height * crd_tiff_blocks_across(image, page);
}

static crd_status check_layout(const crd_tiff_file *file, int64_t number, const crd_tiff_directory *d,
                               crd_tiff_image *image, crd_tiff_page *page)
{
    const bool tiled = d->tile_width != 0 || d->tile_height != 0;
    const uint64_t width = tiled ? d->tile_width : d->width, height = tiled ? d->tile_height : d->rows_per_strip;
    if (width < 1 || height < 1 || (tiled && (width > INT32_MAX || height > INT32_MAX))) {
        return crd_fail(CRD_ERR_FORMAT, "%s is broken: page %lld is in %s of %llu x %llu pixels", file->path,
                        (long long)number, tiled ? "tiles" : "strips", (unsigned long long)width,
                        (unsigned long long)height);
    }
    *page = (crd_tiff_page){.directory = d->offset,
                            .data = CRD_TIFF_DATA_UNKNOWN,
                            .compression = (uint16_t)d->compression,
                            .tiled = tiled,
                            .reversed = d->fill_order == FILLORDER_LSB2MSB,
                            .block_width = (uint32_t)width,
                            .block_height = (uint32_t)(!tiled && height > d->height ? d->height : height),
                            .offsets = d->offsets,
                            .counts = d->counts};
    int64_t bytes = 0;
    CRD_PASS(crd_product(page->block_height, crd_tiff_row_bytes(image, page), 1, &bytes));
    CRD_PASS(crd_product(image->height, image->width, (int64_t)sizeof(double) * image->samples, &bytes));
    const int64_t blocks = crd_tiff_block_count(image, page);
    const bool raw = page->compression == COMPRESSION_NONE;
    if (page->offsets.count < blocks || (page->counts.count < blocks && !(raw && page->counts.count == 0))) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s is broken: page %lld has %lld %s by its size, but its directory lists %lld; copy it again "
                        "from its source",
                        file->path, (long long)number, (long long)blocks, tiled ? "tiles" : "strips",
                        (long long)(page->offsets.count < blocks ? page->offsets.count : page->counts.count));
    }
    return CRD_OK;
}

crd_status crd_tiff_check_page(const crd_tiff_file *file, int64_t number, const crd_tiff_directory *directory,
                               bool grey, crd_tiff_image *image, crd_tiff_page *page)
{
    const crd_tiff_directory *d = directory;
    if (d->width < 1 || d->height < 1 || d->width > INT32_MAX || d->height > INT32_MAX) {
        return crd_fail(CRD_ERR_FORMAT, "%s is broken: page %lld has a size of %llu x %llu pixels (y, x)", file->path,
                        (long long)number, (unsigned long long)d->height, (unsigned long long)d->width);
    }
    *image = (crd_tiff_image){.width = (int64_t)d->width,
                              .height = (int64_t)d->height,
                              .bits = (int64_t)d->bits,
                              .samples = (int64_t)d->samples,
                              .photometric = d->photometric,
                              .orientation = d->orientation};
    CRD_PASS(check_colour(file, d, grey));
    CRD_PASS(find_type(file, d, &image->type));
    CRD_PASS(check_compression(file, d->compression));
    return check_layout(file, number, d, image, page);
}
