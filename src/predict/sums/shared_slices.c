#include "predict/sums/shared_slices.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "run/paths.h"

static crd_status name_file(const char *folder, int64_t z, int64_t band, char **out)
{
    char name[80];
    snprintf(name, sizeof name, "edge.%" PRId64 ".%" PRId64, z, band);
    return crd_run_partial_path(folder, name, out);
}

/* One tile after the other, then the volume fractions. */
static crd_status write_sums(crd_accumulator *a, int fd, const char *path, int64_t z)
{
    const crd_accumulator_sums sums = crd_accumulator_sums_of(a, z);
    const crd_slab_tiles *tiles = crd_slab_division(sums.slab);
    int64_t offset = 0;
    for (int64_t sum = 0; sum < sums.count; sum++) {
        for (int64_t y = 0; y < tiles->count[0]; y++) {
            for (int64_t x = 0; x < tiles->count[1]; x++, offset += tiles->bytes) {
                void *tile;
                CRD_PASS(crd_slab_tile(sums.slab, z, sum, y, x, &tile));
                CRD_PASS(crd_write_at(fd, path, offset, tile, (size_t)tiles->bytes));
            }
        }
    }
    if (sums.fraction_count == 0) return CRD_OK;
    return crd_write_at(fd, path, offset, sums.fractions, (size_t)sums.fraction_count * sizeof *sums.fractions);
}

static void add(const crd_accumulator_sums *sums, int64_t bytes, const void *from, void *to)
{
    if (sums->wide) {
        const uint64_t *more = from;
        for (int64_t i = 0; i < bytes / 8; i++) ((uint64_t *)to)[i] += more[i];
    } else {
        const uint32_t *more = from;
        for (int64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] += more[i];
    }
}

static crd_status add_sums(crd_accumulator *a, int fd, const char *path, int64_t z)
{
    crd_status status = CRD_OK;
    const crd_accumulator_sums sums = crd_accumulator_sums_of(a, z);
    const crd_slab_tiles *tiles = crd_slab_division(sums.slab);
    uint64_t *fractions = NULL;
    int64_t offset = 0;
    void *read = NULL;
    CRD_TRY(crd_alloc(tiles->bytes, 1, "a tile", &read));
    for (int64_t sum = 0; sum < sums.count; sum++) {
        for (int64_t y = 0; y < tiles->count[0]; y++) {
            for (int64_t x = 0; x < tiles->count[1]; x++, offset += tiles->bytes) {
                void *tile;
                CRD_TRY(crd_read_at(fd, path, offset, read, (size_t)tiles->bytes));
                CRD_TRY(crd_slab_tile(sums.slab, z, sum, y, x, &tile));
                add(&sums, tiles->bytes, read, tile);
            }
        }
    }
    if (sums.fraction_count == 0) goto done;
    CRD_TRY(crd_alloc(sums.fraction_count, sizeof *fractions, "the volume fractions", &fractions));
    CRD_TRY(crd_read_at(fd, path, offset, fractions, (size_t)sums.fraction_count * sizeof *fractions));
    for (int64_t i = 0; i < sums.fraction_count; i++) sums.fractions[i] += fractions[i];
done:
    crd_free(&read);
    crd_free(&fractions);
    return status;
}

crd_status crd_shared_slice_leave(crd_accumulator *a, const char *folder, int64_t z, int64_t band)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    int fd = -1;
    CRD_TRY(name_file(folder, z, band, &path));
    fd = crd_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    if (fd < 0) {
        status = crd_fail_errno("can't make %s", path);
        goto done;
    }
    CRD_TRY(write_sums(a, fd, path, z));
    const int closed =
        crd_close(fd); /* file systems between machines tell others at this moment, or say why they can't */
    fd = -1;
    if (closed != 0) {
        status = crd_fail_errno("can't write %s", path);
        goto done;
    }
    crd_accumulator_forget(a, z);
done:
    if (fd >= 0) (void)close(fd);
    crd_free(&path);
    return status;
}

crd_status crd_shared_slice_take(crd_accumulator *a, const char *folder, int64_t z, int64_t band)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    int fd = -1;
    CRD_TRY(name_file(folder, z, band, &path));
    fd = crd_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        status =
            crd_fail_errno("can't open %s, which another process has written: do all machines see this folder?", path);
        goto done;
    }
    CRD_TRY(add_sums(a, fd, path, z));
    (void)unlink(path);
done:
    if (fd >= 0) (void)close(fd);
    crd_free(&path);
    return status;
}

crd_status crd_shared_slice_bytes(const crd_request *request, int64_t *bytes)
{
    crd_slab_shape shape;
    crd_slab_tiles tiles;
    crd_accumulator_shape(request, &shape);
    CRD_PASS(crd_slab_divide(&shape, &tiles));
    *bytes = shape.sums * tiles.count[0] * tiles.count[1] * tiles.bytes + request->samples * 8;
    return CRD_OK;
}
