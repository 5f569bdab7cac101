#include "volume/array/flat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/types.h"

enum {
    SCRATCH_BYTES = 1 << 20,
    AHEAD = 128,
    PIECE_BYTES = 1 << 16,
    PAGE_BYTES = 4096,
    TILE = 16,
    TILE_BYTES = 4 * SCRATCH_BYTES
};

static crd_status flat_new(const char *path, crd_flat **out)
{
    crd_status status = CRD_OK;
    crd_flat *flat = NULL;
    CRD_TRY(crd_alloc(1, sizeof *flat, "a volume", &flat));
    flat->fd = -1;
    CRD_TRY(crd_strdup(path, &flat->path));
    *out = flat;
    flat = NULL;
done:
    crd_flat_close(&flat);
    return status;
}

crd_status crd_flat_open(const char *path, crd_flat **out, int64_t *length)
{
    crd_status status = CRD_OK;
    crd_flat *flat = NULL;
    CRD_TRY(flat_new(path, &flat));
    CRD_TRY(crd_open_plain(path, &flat->fd, length));
    *out = flat;
    flat = NULL;
done:
    crd_flat_close(&flat);
    return status;
}

crd_status crd_flat_share(const char *path, int fd, crd_flat **out)
{
    CRD_PASS(flat_new(path, out));
    (*out)->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if ((*out)->fd >= 0) return CRD_OK;
    const crd_status status = crd_fail_errno("%s can't be read", path);
    crd_flat_close(out);
    return status;
}

crd_status crd_flat_check(const crd_flat *flat, int64_t length, int64_t *spare)
{
    const int64_t *shape = flat->shape, size = (int64_t)crd_stored_size(flat->stored);
    int64_t bytes, end;
    if (shape[0] < 1 || shape[1] < 1 || shape[2] < 1 || crd_product(shape[0], shape[1], shape[2], &bytes) != CRD_OK ||
        crd_product(bytes, size, 1, &bytes) != CRD_OK || flat->offset < 0 ||
        __builtin_add_overflow(bytes, flat->offset, &end)) {
        return crd_fail(CRD_ERR_FORMAT, "%s can't hold a volume of shape (%lld, %lld, %lld)", flat->path,
                        (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    }
    if (end > length) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s is too short: shape (z %lld, y %lld, x %lld) with %lld bytes a voxel needs %lld bytes, and "
                        "the file has %lld; it was cut off, or the shape or type is wrong",
                        flat->path, (long long)shape[0], (long long)shape[1], (long long)shape[2], (long long)size,
                        (long long)end, (long long)length);
    }
    if (spare != NULL) *spare = length - end;
    return CRD_OK;
}

/* Many files are opened to be looked at: the buffer comes with its first use. */
static crd_status need_scratch(crd_flat *flat)
{
    return flat->scratch != NULL ? CRD_OK : crd_alloc(SCRATCH_BYTES, 1, "a read buffer", &flat->scratch);
}

/* `rows` rows of `row` values, `pitch` values apart in the file from value `first` on, to packed memory. */
static crd_status fetch(crd_flat *flat, int64_t first, int64_t rows, int64_t row, int64_t pitch, char *out)
{
    const int64_t size = (int64_t)crd_stored_size(flat->stored);
    int64_t start = flat->offset + first * size;
    if (row == pitch || rows == 1) {
        return crd_read_at(flat->fd, flat->path, start, out, (size_t)(rows * row * size));
    }
    /* Where the gaps are smaller than a page, the disk reads them anyway: one call for many rows. */
    const int64_t at_once = (pitch - row) * size < PAGE_BYTES ? SCRATCH_BYTES / (pitch * size) : 1;
    if (at_once >= 2) CRD_PASS(need_scratch(flat));
    for (int64_t done = 0; done < rows;) {
        if (at_once < 2) {
            CRD_PASS(crd_read_at(flat->fd, flat->path, start, out, (size_t)(row * size)));
            done++, start += pitch * size, out += row * size;
            continue;
        }
        const int64_t n = rows - done < at_once ? rows - done : at_once;
        CRD_PASS(crd_read_at(flat->fd, flat->path, start, flat->scratch, (size_t)(((n - 1) * pitch + row) * size)));
        for (int64_t i = 0; i < n; i++, out += row * size) {
            memcpy(out, flat->scratch + i * pitch * size, (size_t)(row * size));
        }
        done += n, start += n * pitch * size;
    }
    return CRD_OK;
}

/* Each slice has a small piece of the box, far from the others. The disk hears of the next ones while one is waited
 * for, as it reads several at once. */
static crd_status read_rows(crd_flat *flat, const crd_box *box, char *out)
{
    const int64_t *origin = box->origin, *count = box->size, *shape = flat->shape;
    const int64_t size = (int64_t)crd_stored_size(flat->stored), pitch = shape[1] * shape[2];
    const int64_t first = (origin[0] * shape[1] + origin[1]) * shape[2] + origin[2];
    const int64_t piece = ((count[1] - 1) * shape[2] + count[2]) * size;
    if (count[1] == shape[1]) return fetch(flat, first, count[0] * count[1], count[2], shape[2], out);
    for (int64_t z = 0, told = 1; z < count[0]; z++) {
        for (; piece <= PIECE_BYTES && told < count[0] && told - z <= AHEAD; told++) {
            (void)posix_fadvise(flat->fd, flat->offset + (first + told * pitch) * size, piece, POSIX_FADV_WILLNEED);
        }
        CRD_PASS(fetch(flat, first + z * pitch, count[1], count[2], shape[2], out + z * count[1] * count[2] * size));
    }
    return CRD_OK;
}

/* out[z][y][x] = in[x][y][z] for `nx` columns of a box that is `width` wide; x innermost, so that writes are runs. */
#define TRANSPOSE(TYPE)                                                                                                \
    do {                                                                                                               \
        const TYPE *restrict in = from;                                                                                \
        TYPE *restrict out = to;                                                                                       \
        for (int64_t y = 0; y < ny; y++) {                                                                             \
            for (int64_t z = 0; z < nz; z++) {                                                                         \
                for (int64_t x = 0; x < nx; x++) {                                                                     \
                    out[z * slice + y * width + x] = in[(x * ny + y) * nz + z];                                        \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

static void transpose(const void *from, void *to, size_t size, int64_t nx, int64_t ny, int64_t nz, int64_t width,
                      int64_t slice)
{
    switch (size) {
    case 1:
        TRANSPOSE(uint8_t);
        break;
    case 2:
        TRANSPOSE(uint16_t);
        break;
    case 4:
        TRANSPOSE(uint32_t);
        break;
    default:
        TRANSPOSE(uint64_t);
        break;
    }
}

static int64_t at_most(int64_t count, int64_t most)
{
    return most < 1 ? 1 : count < most ? count : most;
}

static crd_status read_columns(crd_flat *flat, const crd_box *box, char *out)
{
    crd_status status = CRD_OK;
    const int64_t *origin = box->origin, *count = box->size, *shape = flat->shape;
    const int64_t size = (int64_t)crd_stored_size(flat->stored);
    const int64_t slice = count[1] * count[2], wide = count[2] < TILE ? count[2] : TILE;
    const int64_t deep = at_most(count[0], TILE_BYTES / (wide * size));
    const int64_t high = at_most(count[1], TILE_BYTES / (wide * deep * size));
    char *tile = NULL;
    CRD_TRY(crd_alloc(wide * high * deep, (size_t)size, "turning Fortran order around", &tile));
    for (int64_t z = 0; z < count[0]; z += deep) {
        const int64_t nz = at_most(count[0] - z, deep);
        for (int64_t x = 0; x < count[2]; x += wide) {
            const int64_t nx = at_most(count[2] - x, wide);
            for (int64_t y = 0; y < count[1]; y += high) {
                const int64_t ny = at_most(count[1] - y, high);
                for (int64_t i = 0; i < nx; i++) {
                    const int64_t first = ((origin[2] + x + i) * shape[1] + origin[1] + y) * shape[0] + origin[0] + z;
                    CRD_TRY(fetch(flat, first, ny, nz, shape[0], tile + i * ny * nz * size));
                }
                transpose(tile, out + ((z * count[1] + y) * count[2] + x) * size, (size_t)size, nx, ny, nz, count[2],
                          slice);
            }
        }
    }
done:
    crd_free(&tile);
    return status;
}

crd_status crd_flat_read(crd_flat *flat, const crd_box *box, void *voxels)
{
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    const size_t size = crd_stored_size(flat->stored);
    const crd_type type = crd_stored_widened(flat->stored);
    char *packed = (char *)voxels + (size_t)count * (crd_type_size(type) - size);
    CRD_PASS(flat->fortran ? read_columns(flat, box, packed) : read_rows(flat, box, packed));
    if (flat->swap) crd_swap_bytes(packed, count, size);
    crd_shared_step(flat->stored, count, type, voxels);
    return CRD_OK;
}

crd_status crd_flat_make(const char *shown, const crd_volume_info *info, crd_flat **out)
{
    CRD_PASS(flat_new(shown, out));
    (*out)->stored = (int)info->type;
    memcpy((*out)->shape, info->shape, sizeof(*out)->shape);
    return CRD_OK;
}

crd_status crd_flat_create_at(const char *temporary, const char *shown, const crd_volume_info *info, int64_t offset,
                              bool swap, bool staged, crd_flat **out)
{
    crd_status status = CRD_OK;
    crd_flat *flat = NULL;
    int64_t bytes;
    CRD_TRY(crd_product(info->shape[0], info->shape[1], info->shape[2], &bytes));
    CRD_TRY(crd_product(bytes, (int64_t)crd_type_size(info->type), 1, &bytes));
    CRD_TRY(crd_flat_make(shown, info, &flat));
    flat->offset = offset;
    flat->swap = swap;
    flat->fd = crd_open(temporary, O_RDWR | O_CREAT | (staged ? 0 : O_EXCL) | O_CLOEXEC);
    if (flat->fd < 0) {
        status = crd_fail_errno("%s can't be created", shown);
        goto done;
    }
    /* A full disk is better said now than after hours; file systems that can't reserve find out while writing. */
    if (fallocate(flat->fd, 0, 0, offset + bytes) != 0 &&
        ((errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) || crd_resize(flat->fd, offset + bytes) != 0)) {
        status = crd_fail_errno("%s can't be given its %.1f MiB", shown, (double)(offset + bytes) / 1048576.0);
        goto done;
    }
    *out = flat;
    flat = NULL;
done:
    crd_flat_close(&flat);
    return status;
}

crd_status crd_flat_create(const crd_volume *volume, int64_t offset, bool swap, crd_flat **out)
{
    return crd_flat_create_at(volume->write_path, volume->file, &volume->info, offset, swap, volume->staged, out);
}

static crd_status put(crd_flat *flat, int64_t first, int64_t count, const char *voxels)
{
    const int64_t size = (int64_t)crd_stored_size(flat->stored);
    const int64_t start = flat->offset + first * size;
    if (!flat->swap) return crd_write_at(flat->fd, flat->path, start, voxels, (size_t)(count * size));
    const int64_t step = SCRATCH_BYTES / size;
    CRD_PASS(need_scratch(flat));
    for (int64_t i = 0; i < count; i += step) {
        const int64_t n = count - i < step ? count - i : step;
        memcpy(flat->scratch, voxels + i * size, (size_t)(n * size));
        crd_swap_bytes(flat->scratch, n, (size_t)size);
        CRD_PASS(crd_write_at(flat->fd, flat->path, start + i * size, flat->scratch, (size_t)(n * size)));
    }
    return CRD_OK;
}

crd_status crd_flat_write(crd_flat *flat, const crd_box *box, const void *voxels)
{
    const int64_t *origin = box->origin, *count = box->size, *shape = flat->shape;
    const int64_t size = (int64_t)crd_stored_size(flat->stored);
    const char *in = voxels;
    /* The longest runs that are runs in the file as well. */
    const bool whole_rows = count[2] == shape[2], whole_slices = whole_rows && count[1] == shape[1];
    const int64_t run = whole_slices ? count[0] * count[1] * count[2] : whole_rows ? count[1] * count[2] : count[2];
    for (int64_t z = 0; z < (whole_slices ? 1 : count[0]); z++) {
        for (int64_t y = 0; y < (whole_rows ? 1 : count[1]); y++, in += run * size) {
            const int64_t first = ((origin[0] + z) * shape[1] + origin[1] + y) * shape[2] + origin[2];
            CRD_PASS(put(flat, first, run, in));
        }
    }
    return CRD_OK;
}

crd_status crd_flat_sync(const crd_flat *flat)
{
    if (crd_sync_data(flat->fd) != 0) return crd_fail_errno("can't bring %s onto the disk", flat->path);
    return CRD_OK;
}

crd_status crd_flat_finish(crd_flat *flat)
{
    const int fd = flat->fd;
    flat->fd = -1;
    return crd_sync_and_close(fd, flat->path);
}

void crd_flat_close(crd_flat **flat)
{
    if (*flat == NULL) return;
    if ((*flat)->fd >= 0) (void)close((*flat)->fd);
    crd_free(&(*flat)->scratch);
    crd_free(&(*flat)->path);
    crd_free(flat);
}
