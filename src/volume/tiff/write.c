/* Writing slices: plain data straight from the caller's array, or strips of deflate. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/range.h"
#include "volume/tiff/tiff.h"
#include "volume/types.h"

/* A classic file ends below 4 GiB; we stop short of it. A page up to ONE_STRIP is one strip, a larger one has strips of
 * about LARGE_STRIP; compressed strips are small enough to be decoded for a few rows. */
#define CLASSIC_LIMIT INT64_C(4187593113)
enum { ONE_STRIP = 64 << 20, LARGE_STRIP = 8 << 20, DEFLATE_STRIP = 1 << 18, DATA_OFFSET = 16 };

struct crd_tiff_writer {
    crd_tiff_layout layout;
    int level;
    bool staged;  /* boxes in any order, and the range is given */
    int64_t next; /* the slice that must come next, where that counts */
    unsigned char *differences, *packed;
    uLong packed_room;
};

static void extend_range(crd_tiff_layout *layout, const void *voxels, int64_t count)
{
    crd_voxel_range(layout->info->type, voxels, count, &layout->minimum, &layout->maximum);
}

/* ---- setting up ---- */

static crd_status plan(crd_tiff_writer *writer, const char *path, const crd_volume_info *info)
{
    crd_tiff_layout *l = &writer->layout;
    int64_t data = 0, directories = 0;
    if (!crd_type_valid(info->type) || info->shape[0] < 1 || info->shape[1] < 1 || info->shape[2] < 1) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s can't be written: its shape or type makes no sense", path);
    }
    if (info->shape[0] > CRD_TIFF_MOST_PAGES || info->shape[1] > INT32_MAX || info->shape[2] > INT32_MAX) {
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s can't be written as TIFF: a shape of %lld x %lld x %lld (z, y, x) is too large for it; choose "
            "HDF5",
            path, (long long)info->shape[0], (long long)info->shape[1], (long long)info->shape[2]);
    }
    l->path = path;
    l->info = info;
    l->voxel = (int64_t)crd_type_size(info->type);
    CRD_PASS(crd_product(info->shape[2], l->voxel, 1, &l->row));
    CRD_PASS(crd_product(l->row, info->shape[1], 1, &l->page));
    CRD_PASS(crd_product(l->page, info->shape[0], 2, &data)); /* twice: deflate may add a little to it */
    l->deflated = writer->level > 0;
    l->differenced = l->deflated && l->voxel <= 2; /* all that ImageJ can undo */
    const int64_t target = l->deflated ? DEFLATE_STRIP : LARGE_STRIP;
    const bool one_strip = !l->deflated && l->page <= ONE_STRIP;
    l->rows_per_strip = one_strip || target / l->row >= info->shape[1] ? info->shape[1]
                        : target / l->row > 1                          ? target / l->row
                                                                       : 1;
    l->strips = (info->shape[1] + l->rows_per_strip - 1) / l->rows_per_strip;
    l->data = l->end = DATA_OFFSET;
    l->minimum = INFINITY;
    l->maximum = -INFINITY;
    CRD_PASS(crd_tiff_directories_bound(l, &directories));
    data = l->deflated ? data / 2 + data / 256 + 64 * l->strips * info->shape[0] : data / 2;
    l->big = data + directories + DATA_OFFSET > CLASSIC_LIMIT;
    return CRD_OK;
}

static crd_status prepare_deflate(crd_tiff_writer *writer)
{
    crd_tiff_layout *l = &writer->layout;
    const int64_t strip = l->rows_per_strip * l->row;
    int64_t strips = 0;
    if (strip > INT32_MAX) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s can't be compressed: one row has %lld bytes", l->path,
                        (long long)l->row);
    }
    writer->packed_room = compressBound((uLong)strip);
    CRD_PASS(crd_product(l->info->shape[0], l->strips, 1, &strips));
    CRD_PASS(crd_alloc(strips, sizeof *l->offsets, "the places of compressed strips", &l->offsets));
    CRD_PASS(crd_alloc(strips, sizeof *l->counts, "the sizes of compressed strips", &l->counts));
    CRD_PASS(crd_alloc((int64_t)writer->packed_room, 1, "a compressed strip", &writer->packed));
    if (l->differenced) CRD_PASS(crd_alloc(strip, 1, "a strip's differences", &writer->differences));
    return CRD_OK;
}

/* Asks for the space now rather than running out of it hours later; file systems that can't reserve are fine, too. */
static crd_status reserve(const crd_tiff_layout *l)
{
    int result = 0;
    if (l->deflated) return CRD_OK;
    do {
        result = fallocate(l->fd, 0, 0, (off_t)(l->data + l->info->shape[0] * l->page));
    } while (result != 0 && errno == EINTR);
    if (result == 0 || (errno != ENOSPC && errno != EFBIG && errno != EDQUOT)) return CRD_OK;
    return crd_fail_errno("can't reserve %.1f MiB for %s", (double)(l->info->shape[0] * l->page) / 1048576.0, l->path);
}

crd_status crd_tiff_writer_create(const char *path, const crd_volume_info *info, int level, bool ome, bool staged,
                                  crd_tiff_writer **out)
{
    crd_status status = CRD_OK;
    crd_tiff_writer *writer = NULL;
    *out = NULL;
    if (level < 0 || level > 9)
        return crd_fail(CRD_ERR_ARGUMENT, "a compression level of %d isn't between 0 and 9", level);
    CRD_TRY(crd_alloc(1, sizeof *writer, "a TIFF writer", &writer));
    writer->layout.fd = -1;
    writer->level = level;
    writer->layout.ome = ome;
    writer->staged = staged;
    CRD_TRY(plan(writer, path, info));
    if (writer->layout.deflated) CRD_TRY(prepare_deflate(writer));
    writer->layout.fd = crd_open(path, O_RDWR | O_CREAT | (staged ? 0 : O_EXCL) | O_CLOEXEC);
    if (writer->layout.fd < 0) {
        status = crd_fail_errno("can't create %s", path);
        goto done;
    }
    CRD_TRY(reserve(&writer->layout));
    *out = writer;
    writer = NULL;
done:
    crd_tiff_writer_free(&writer);
    return status;
}

void crd_tiff_writer_free(crd_tiff_writer **writer)
{
    crd_tiff_writer *w = *writer;
    if (w == NULL) return;
    if (w->layout.fd >= 0) (void)close(w->layout.fd); /* of what is given up */
    crd_free(&w->layout.offsets);
    crd_free(&w->layout.counts);
    crd_free(&w->differences);
    crd_free(&w->packed);
    crd_free(writer);
}

/* ---- writing ---- */

/* Each pixel less the one before it in its row; the first stays. */
static void subtract_neighbours(const unsigned char *from, int64_t rows, int64_t width, int64_t voxel,
                                unsigned char *to)
{
    for (int64_t y = 0; y < rows; y++) {
        const unsigned char *in = from + y * width * voxel;
        unsigned char *out = to + y * width * voxel;
        memcpy(out, in, (size_t)voxel);
        for (int64_t x = 1; x < width; x++) {
            if (voxel == 1) {
                out[x] = (unsigned char)(in[x] - in[x - 1]);
            } else {
                uint16_t pair[2];
                memcpy(pair, in + 2 * (x - 1), sizeof pair);
                const uint16_t difference = (uint16_t)(pair[1] - pair[0]);
                memcpy(out + 2 * x, &difference, sizeof difference);
            }
        }
    }
}

static crd_status put_deflated_page(crd_tiff_writer *writer, int64_t z, const unsigned char *page)
{
    crd_tiff_layout *l = &writer->layout;
    const int64_t strip = l->rows_per_strip * l->row;
    for (int64_t i = 0; i < l->strips; i++) {
        const int64_t bytes = i + 1 < l->strips ? strip : l->page - i * strip;
        const unsigned char *source = page + i * strip;
        if (l->differenced) {
            subtract_neighbours(source, bytes / l->row, l->info->shape[2], l->voxel, writer->differences);
            source = writer->differences;
        }
        uLongf packed = writer->packed_room;
        if (compress2(writer->packed, &packed, source, (uLong)bytes, writer->level) != Z_OK) {
            return crd_fail(CRD_ERR_MEMORY, "not enough memory to compress slice %lld of %s", (long long)z, l->path);
        }
        CRD_PASS(crd_write_at(l->fd, l->path, l->end, writer->packed, packed));
        l->offsets[z * l->strips + i] = (uint64_t)l->end;
        l->counts[z * l->strips + i] = packed;
        l->end += (int64_t)packed;
    }
    return CRD_OK;
}

/* Any box to its place, by the longest runs that are runs in the file as well. */
static crd_status put_box(const crd_tiff_layout *l, const crd_box *box, const char *voxels)
{
    const int64_t *size = box->size, *origin = box->origin, *shape = l->info->shape;
    const bool whole_rows = size[2] == shape[2], whole_slices = whole_rows && size[1] == shape[1];
    const int64_t run = l->voxel * size[2] * (whole_rows ? size[1] : 1) * (whole_slices ? size[0] : 1);
    for (int64_t z = 0; z < (whole_slices ? 1 : size[0]); z++) {
        for (int64_t y = 0; y < (whole_rows ? 1 : size[1]); y++, voxels += run) {
            const int64_t at = l->data + (origin[0] + z) * l->page + (origin[1] + y) * l->row + origin[2] * l->voxel;
            CRD_PASS(crd_write_at(l->fd, l->path, at, voxels, (size_t)run));
        }
    }
    return CRD_OK;
}

crd_status crd_tiff_writer_put(crd_tiff_writer *writer, const crd_box *box, const void *voxels)
{
    crd_tiff_layout *l = &writer->layout;
    const int64_t *shape = l->info->shape;
    if (writer->staged) return put_box(l, box, voxels);
    const bool whole =
        box->origin[1] == 0 && box->origin[2] == 0 && box->size[1] == shape[1] && box->size[2] == shape[2];
    if (!whole || box->origin[0] != writer->next || box->size[0] > shape[0] - writer->next) {
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "%s is written slice by slice: whole slices from z = %lld on must come next, not a box at %lld, "
            "%lld, %lld (z, y, x)",
            l->path, (long long)writer->next, (long long)box->origin[0], (long long)box->origin[1],
            (long long)box->origin[2]);
    }
    extend_range(l, voxels, box->size[0] * shape[1] * shape[2]);
    if (l->deflated) {
        for (int64_t i = 0; i < box->size[0]; i++) {
            CRD_PASS(put_deflated_page(writer, writer->next, (const unsigned char *)voxels + i * l->page));
            writer->next++;
        }
        return CRD_OK;
    }
    CRD_PASS(crd_write_at(l->fd, l->path, l->end, voxels, (size_t)(box->size[0] * l->page)));
    l->end += box->size[0] * l->page;
    writer->next += box->size[0];
    return CRD_OK;
}

void crd_tiff_writer_set_range(crd_tiff_writer *writer, double low, double high)
{
    writer->layout.minimum = low;
    writer->layout.maximum = high;
}

crd_status crd_tiff_writer_sync(const crd_tiff_writer *writer)
{
    const crd_tiff_layout *l = &writer->layout;
    if (crd_sync_data(l->fd) != 0) return crd_fail_errno("can't bring %s onto the disk", l->path);
    return CRD_OK;
}

crd_status crd_tiff_writer_finish(crd_tiff_writer *writer, bool sync)
{
    crd_tiff_layout *l = &writer->layout;
    if (writer->staged) {
        writer->next = l->info->shape[0];
        l->end = l->data + writer->next * l->page;
    }
    if (writer->next != l->info->shape[0]) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s can't be finished: %lld of its %lld slices were written", l->path,
                        (long long)writer->next, (long long)l->info->shape[0]);
    }
    CRD_PASS(crd_tiff_write_directories(l));
    const int fd = l->fd;
    l->fd = -1;
    if (sync) return crd_sync_and_close(fd, l->path);
    return crd_close(fd) == 0 ? CRD_OK : crd_fail_errno("can't finish writing %s", l->path);
}
