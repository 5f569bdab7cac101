/* Boxes out of TIFF pages: by pread where the rows lie plainly in the file, through the block cache elsewhere. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/grey.h"
#include "volume/tiff/tiff.h"
#include "volume/types.h"

/* One more call of pread costs about as much as copying so many bytes of a row that nobody asked for. */
enum { CHEAP_TO_SKIP = 8192 };

crd_status crd_tiff_turn_to_file(crd_tiff_reader *reader, int64_t z)
{
    const int64_t name = reader->pages[z].file;
    if (reader->file.fd >= 0 && reader->open_name == name) return CRD_OK;
    crd_tiff_decoder_detach(reader->decoder);
    crd_tiff_file_close(&reader->file);
    CRD_PASS(crd_tiff_file_open(reader->names[name], &reader->file));
    reader->open_name = name;
    return CRD_OK;
}

static bool is_plain(const crd_tiff_reader *reader, const crd_tiff_page *page)
{
    return page->compression == COMPRESSION_NONE && reader->image.bits >= 8 && reader->image.samples == 1 &&
           !page->reversed;
}

static crd_status check_block(const crd_tiff_reader *reader, int64_t z, int64_t block)
{
    const crd_tiff_page *page = &reader->pages[z];
    const crd_tiff_file *file = &reader->file;
    const int64_t needed = crd_tiff_block_bytes(&reader->image, page, block);
    const uint64_t offset = reader->offsets[block], size = (uint64_t)file->size;
    uint64_t stored = reader->counts[block];
    const char *what = page->tiled ? "tile" : "strip";
    if (page->compression == COMPRESSION_NONE) {
        if (page->counts.count == 0) stored = (uint64_t)needed;
        if (stored < (uint64_t)needed) {
            return crd_fail(CRD_ERR_FORMAT,
                            "slice z = %lld in %s is broken: its %s %lld has %llu bytes and should have %lld; copy the "
                            "file again from its source",
                            (long long)z, file->path, what, (long long)block, (unsigned long long)stored,
                            (long long)needed);
        }
        stored = (uint64_t)needed;
    }
    if (offset == 0 || stored == 0) {
        return crd_fail(CRD_ERR_FORMAT,
                        "slice z = %lld in %s is incomplete: its %s %lld was never written; write the file anew",
                        (long long)z, file->path, what, (long long)block);
    }
    if (offset > size || stored > size - offset) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s is cut short: slice z = %lld needs bytes up to %llu and the file has %llu; copy it again "
                        "from its source",
                        file->path, (long long)z,
                        (unsigned long long)(offset > UINT64_MAX - stored ? UINT64_MAX : offset + stored),
                        (unsigned long long)size);
    }
    if (needed > crd_tiff_most_bytes(page->compression, (int64_t)stored)) {
        return crd_fail(CRD_ERR_FORMAT,
                        "slice z = %lld in %s is broken: %llu bytes of %s can't hold the %lld bytes of its %s %lld",
                        (long long)z, file->path, (unsigned long long)stored,
                        crd_tiff_compression_name(page->compression), (long long)needed, what, (long long)block);
    }
    if (page->compression != COMPRESSION_NONE && (int64_t)stored > 2 * needed + (1 << 16)) {
        return crd_fail(CRD_ERR_FORMAT, "slice z = %lld in %s is broken: its %s %lld is compressed to more than itself",
                        (long long)z, file->path, what, (long long)block);
    }
    return CRD_OK;
}

/* What a header's numbers alone may claim, whatever the cache's limit. */
static crd_status check_claim(const crd_tiff_reader *reader, int64_t bytes, const char *what)
{
    const int64_t most = crd_block_cache_fits(reader->cache, bytes) ? bytes : CRD_TIFF_CLAIM;
    if (bytes <= most) return CRD_OK;
    return crd_fail(CRD_ERR_MEMORY,
                    "%s of %s takes %.1f MiB, more than the cache for decoded data may hold; the file is "
                    "broken, or must be saved in another way",
                    what, reader->file.path, (double)bytes / 1048576.0);
}

static crd_status make_room(crd_tiff_reader *reader, int64_t blocks)
{
    if (blocks <= reader->block_room) return CRD_OK;
    CRD_PASS(check_claim(reader, 2 * blocks * (int64_t)sizeof *reader->offsets, "the list of strips"));
    crd_free(&reader->offsets);
    crd_free(&reader->counts);
    reader->block_room = 0;
    CRD_PASS(crd_alloc(blocks, sizeof *reader->offsets, "a page's strips", &reader->offsets));
    CRD_PASS(crd_alloc(blocks, sizeof *reader->counts, "a page's strips", &reader->counts));
    reader->block_room = blocks;
    return CRD_OK;
}

crd_status crd_tiff_load_blocks(crd_tiff_reader *reader, int64_t z)
{
    crd_tiff_page *page = &reader->pages[z];
    if (reader->blocks_of == z) return CRD_OK;
    CRD_PASS(crd_tiff_turn_to_file(reader, z));
    const int64_t blocks = crd_tiff_block_count(&reader->image, page);
    reader->blocks_of = -1;
    CRD_PASS(make_room(reader, blocks));
    CRD_PASS(crd_tiff_read_array(&reader->file, &page->offsets, 0, blocks, reader->offsets));
    if (page->counts.count > 0) CRD_PASS(crd_tiff_read_array(&reader->file, &page->counts, 0, blocks, reader->counts));
    bool in_one_piece = is_plain(reader, page) && !page->tiled;
    for (int64_t i = 0; i < blocks; i++) {
        CRD_PASS(check_block(reader, z, i));
        const uint64_t expected = reader->offsets[0] + (uint64_t)(i * crd_tiff_block_bytes(&reader->image, page, 0));
        if (reader->offsets[i] != expected) in_one_piece = false;
    }
    page->data = in_one_piece ? (int64_t)reader->offsets[0] : CRD_TIFF_DATA_SCATTERED;
    reader->blocks_of = z;
    return CRD_OK;
}

/* A rectangle of an image whose rows lie one behind the other from `data` on. */
static crd_status read_rows(crd_tiff_reader *reader, int64_t data, const crd_box *part, unsigned char *out)
{
    const crd_tiff_file *file = &reader->file;
    const int64_t voxel = reader->image.bits / 8, row = reader->image.width * voxel;
    const int64_t rows = part->size[1], wanted = part->size[2] * voxel, skip = part->origin[2] * voxel;
    data += part->origin[1] * row;
    if (wanted == row) return crd_read_at(file->fd, file->path, data, out, (size_t)(rows * row));
    if (row - wanted > CHEAP_TO_SKIP || row > CRD_TIFF_SCRATCH) {
        for (int64_t y = 0; y < rows; y++) {
            CRD_PASS(crd_read_at(file->fd, file->path, data + y * row + skip, out + y * wanted, (size_t)wanted));
        }
        return CRD_OK;
    }
    const int64_t most = CRD_TIFF_SCRATCH / row;
    for (int64_t y = 0; y < rows; y += most) {
        const int64_t count = rows - y < most ? rows - y : most;
        const int64_t span = (count - 1) * row + wanted;
        CRD_PASS(crd_read_at(file->fd, file->path, data + y * row + skip, reader->scratch, (size_t)span));
        for (int64_t i = 0; i < count; i++) {
            memcpy(out + (y + i) * wanted, reader->scratch + i * row, (size_t)wanted);
        }
    }
    return CRD_OK;
}

/* `count` pixels of a decoded row from `first` on; single bits become bytes, and colours grey values. */
static void copy_pixels(const crd_tiff_image *image, const unsigned char *row, int64_t first, int64_t count,
                        unsigned char *out)
{
    if (image->samples > 1) {
        crd_grey(image->type, row, image->samples, first, count, out);
        return;
    }
    if (image->bits >= 8) {
        const int64_t voxel = image->bits / 8;
        memcpy(out, row + first * voxel, (size_t)(count * voxel));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t x = first + i;
        out[i] = (unsigned char)((row[x / 8] >> (7 - x % 8)) & 1);
    }
}

/* Strips that don't follow each other: each one is a small image of its own. */
static crd_status read_plain_strips(crd_tiff_reader *reader, int64_t z, const crd_box *part, unsigned char *out)
{
    const crd_tiff_page *page = &reader->pages[z];
    const int64_t height = page->block_height, out_row = part->size[2] * (reader->image.bits / 8);
    const int64_t end = part->origin[1] + part->size[1];
    for (int64_t y = part->origin[1]; y < end;) {
        const int64_t strip = y / height, stop = (strip + 1) * height < end ? (strip + 1) * height : end;
        const crd_box rows = {.origin = {0, y - strip * height, part->origin[2]}, .size = {1, stop - y, part->size[2]}};
        CRD_PASS(read_rows(reader, (int64_t)reader->offsets[strip], &rows, out + (y - part->origin[1]) * out_row));
        y = stop;
    }
    return CRD_OK;
}

/* A decoded strip or tile, in the machine's byte order, to be released. */
static crd_status fetch_block(crd_tiff_reader *reader, int64_t z, int64_t number, crd_block **out)
{
    crd_status status = CRD_OK;
    const crd_tiff_page *page = &reader->pages[z];
    const int64_t bytes = crd_tiff_block_bytes(&reader->image, page, number);
    crd_block *block = crd_block_cache_find(reader->cache, z, number, bytes);
    if (block == NULL) {
        CRD_TRY(crd_tiff_load_blocks(reader, z));
        CRD_TRY(crd_tiff_turn_to_file(reader, z));
        CRD_TRY(crd_block_cache_add(reader->cache, z, number, bytes, &block));
        if (is_plain(reader, page)) {
            const int64_t voxel = reader->image.bits / 8, at = (int64_t)reader->offsets[number];
            CRD_TRY(crd_read_at(reader->file.fd, reader->file.path, at, block->data, (size_t)bytes));
            if (reader->file.swap) crd_swap_bytes(block->data, bytes / voxel, (size_t)voxel);
        } else {
            CRD_TRY(crd_tiff_decoder_select(reader->decoder, &reader->file, &reader->image, page, z));
            CRD_TRY(crd_tiff_decode_block(reader->decoder, number, block->data, bytes));
        }
        crd_block_cache_publish(reader->cache, block);
    }
    *out = block;
    block = NULL;
done:
    crd_block_cache_release(reader->cache, &block);
    return status;
}

static crd_status read_blocks(crd_tiff_reader *reader, int64_t z, const crd_box *part, unsigned char *out)
{
    const crd_tiff_page *page = &reader->pages[z];
    const crd_tiff_image *image = &reader->image;
    const int64_t height = page->block_height, width = page->block_width;
    const int64_t across = crd_tiff_blocks_across(image, page), row = crd_tiff_row_bytes(image, page);
    const int64_t voxel = (int64_t)crd_type_size(image->type);
    const int64_t y_end = part->origin[1] + part->size[1], x_end = part->origin[2] + part->size[2];
    for (int64_t by = part->origin[1] / height; by * height < y_end; by++) {
        const int64_t y0 = by * height > part->origin[1] ? by * height : part->origin[1];
        const int64_t y1 = (by + 1) * height < y_end ? (by + 1) * height : y_end;
        for (int64_t bx = part->origin[2] / width; bx * width < x_end; bx++) {
            const int64_t x0 = bx * width > part->origin[2] ? bx * width : part->origin[2];
            const int64_t x1 = (bx + 1) * width < x_end ? (bx + 1) * width : x_end;
            crd_block *block = NULL;
            CRD_PASS(fetch_block(reader, z, by * across + bx, &block));
            for (int64_t y = y0; y < y1; y++) {
                unsigned char *to = out + ((y - part->origin[1]) * part->size[2] + x0 - part->origin[2]) * voxel;
                const unsigned char *from = (const unsigned char *)block->data + (y - by * height) * row;
                copy_pixels(image, from, x0 - bx * width, x1 - x0, to);
            }
            crd_block_cache_release(reader->cache, &block);
        }
    }
    return CRD_OK;
}

/* Strips too large for the cache are decoded row by row, from each strip's first row on, and not kept. */
static crd_status stream_rows(crd_tiff_reader *reader, int64_t z, const crd_box *part, unsigned char *out)
{
    crd_status status = CRD_OK;
    const crd_tiff_page *page = &reader->pages[z];
    const crd_tiff_image *image = &reader->image;
    const int64_t height = page->block_height, out_row = part->size[2] * (int64_t)crd_type_size(image->type);
    unsigned char *row = NULL;
    CRD_TRY(crd_tiff_load_blocks(reader, z));
    CRD_TRY(crd_tiff_turn_to_file(reader, z));
    CRD_TRY(check_claim(reader, crd_tiff_row_bytes(image, page), "one row"));
    CRD_TRY(crd_alloc(crd_tiff_row_bytes(image, page), 1, "a row of pixels", &row));
    CRD_TRY(crd_tiff_decoder_select(reader->decoder, &reader->file, image, page, z));
    for (int64_t y = part->origin[1] / height * height; y < part->origin[1] + part->size[1]; y++) {
        CRD_TRY(crd_tiff_decode_row(reader->decoder, y, row));
        if (y < part->origin[1]) continue;
        copy_pixels(image, row, part->origin[2], part->size[2], out + (y - part->origin[1]) * out_row);
    }
done:
    crd_free(&row);
    return status;
}

static crd_status read_page(crd_tiff_reader *reader, int64_t z, const crd_box *part, unsigned char *out)
{
    const crd_tiff_page *page = &reader->pages[z];
    const int64_t block = crd_tiff_block_bytes(&reader->image, page, 0);
    if (is_plain(reader, page) && !page->tiled) {
        if (page->data == CRD_TIFF_DATA_SCATTERED) CRD_PASS(crd_tiff_load_blocks(reader, z));
        CRD_PASS(crd_tiff_turn_to_file(reader, z));
        CRD_PASS(page->data >= 0 ? read_rows(reader, page->data, part, out) : read_plain_strips(reader, z, part, out));
        const int64_t voxel = reader->image.bits / 8;
        if (reader->file.swap) crd_swap_bytes(out, part->size[1] * part->size[2], (size_t)voxel);
        return CRD_OK;
    }
    if (crd_block_cache_fits(reader->cache, block)) return read_blocks(reader, z, part, out);
    if (!page->tiled) return stream_rows(reader, z, part, out);
    return crd_fail(
        CRD_ERR_MEMORY,
        "%s is stored in tiles of %.1f MiB, more than the cache for decoded data may hold; allow more memory",
        reader->names[page->file], (double)block / 1048576.0);
}

/* How many whole slices from z on, at most `most`, lie one behind the other in the same file. */
static int64_t slices_in_one_piece(const crd_tiff_reader *reader, int64_t z, int64_t most)
{
    const crd_tiff_page *first = &reader->pages[z];
    const int64_t bytes = reader->image.height * reader->image.width * (reader->image.bits / 8);
    int64_t count = 1;
    while (count < most && reader->pages[z + count].file == first->file &&
           reader->pages[z + count].data == first->data + count * bytes) {
        count++;
    }
    return count;
}

crd_status crd_tiff_read_box(crd_tiff_reader *reader, const crd_box *box, void *voxels)
{
    unsigned char *out = voxels;
    const crd_tiff_image *image = &reader->image;
    const int64_t voxel = (int64_t)crd_type_size(image->type);
    const bool whole = box->size[1] == image->height && box->size[2] == image->width;
    const int64_t end = box->origin[0] + box->size[0];
    for (int64_t z = box->origin[0]; z < end;) {
        if (is_plain(reader, &reader->pages[z]) && reader->pages[z].data == CRD_TIFF_DATA_UNKNOWN) {
            CRD_PASS(crd_tiff_load_blocks(reader, z));
        }
        crd_box part = *box;
        int64_t slices = 1;
        if (whole && reader->pages[z].data >= 0) {
            slices = slices_in_one_piece(reader, z, end - z);
            part.size[1] = image->height * slices; /* one tall page */
        }
        CRD_PASS(read_page(reader, z, &part, out));
        out += slices * box->size[1] * box->size[2] * voxel;
        z += slices;
    }
    return CRD_OK;
}
