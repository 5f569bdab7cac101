/* NumPy's .npy: a small header, then a plain array. Spacing lies in a sidecar. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "volume/array/flat.h"
#include "volume/array/npy_header.h"
#include "volume/format.h"
#include "volume/shape.h"
#include "volume/sidecar.h"
#include "volume/types.h"

static bool npy_sniff(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return crd_npy_is(head, count);
}

static crd_status read_header(crd_flat *flat, int64_t file_length, crd_npy_header *out)
{
    crd_status status = CRD_OK;
    unsigned char prefix[CRD_NPY_PREFIX];
    char *text = NULL;
    size_t start = 0, length = 0;
    const size_t count = file_length < CRD_NPY_PREFIX ? (size_t)file_length : CRD_NPY_PREFIX;
    CRD_TRY(crd_read_at(flat->fd, flat->path, 0, prefix, count));
    CRD_TRY(crd_npy_prefix(flat->path, prefix, count, &start, &length));
    if ((int64_t)(start + length) > file_length) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is cut off within its NumPy header", flat->path);
    }
    CRD_TRY(crd_alloc((int64_t)length, 1, "a NumPy header", &text));
    CRD_TRY(crd_read_at(flat->fd, flat->path, (int64_t)start, text, length));
    CRD_TRY(crd_npy_parse(flat->path, text, length, out));
    flat->offset = (int64_t)(start + length);
done:
    crd_free(&text);
    return status;
}

static crd_status npy_open(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_flat *flat = NULL;
    crd_npy_header header;
    crd_sidecar sidecar;
    int64_t length = 0, spare = 0;
    int channel;
    (void)options;

    CRD_TRY(crd_flat_open(volume->file, &flat, &length));
    CRD_TRY(read_header(flat, length, &header));
    if (!crd_shape_of(header.dims, header.dim_count, flat->shape, &channel)) {
        CRD_FAIL(CRD_ERR_UNSUPPORTED,
                 "%s holds an array of %d dimensions; a volume has three, or four with one channel first or last",
                 volume->file, header.dim_count);
    }
    flat->stored = header.stored;
    flat->swap = header.swap;
    flat->fortran = header.fortran;
    CRD_TRY(crd_flat_check(flat, length, &spare));
    if (spare > 0) {
        crd_warn(monitor, "%s has %lld bytes behind its array; they are ignored", volume->file, (long long)spare);
    }
    if (crd_stored_widened(header.stored) == CRD_F64 && header.stored != CRD_F64) {
        crd_info(monitor, "%s holds 64-bit integers, which are read as f64 (exact up to 2^53)", volume->file);
    }
    if (header.fortran && length >= INT64_C(1) << 30) {
        crd_warn(monitor,
                 "%s is in Fortran order (z fastest), so slices are slow to read; `credence convert` to another "
                 "file once makes everything after faster",
                 volume->file);
    }
    CRD_TRY(crd_sidecar_read(volume->file, &sidecar));
    crd_sidecar_apply(&sidecar, &volume->info);
    memcpy(volume->info.shape, flat->shape, sizeof volume->info.shape);
    volume->info.type = crd_stored_widened(header.stored);
    volume->z_fastest = header.fortran;
    volume->state = flat;
    flat = NULL;
done:
    crd_flat_close(&flat);
    return status;
}

static crd_status npy_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    return crd_flat_read(volume->state, box, voxels);
}

static crd_status npy_create(crd_volume *volume, const crd_volume_options *options)
{
    crd_status status = CRD_OK;
    crd_flat *flat = NULL;
    char header[256];
    const size_t bytes = crd_npy_write(&volume->info, header, sizeof header);
    (void)options;
    CRD_TRY(crd_flat_create(volume, (int64_t)bytes, false, &flat));
    CRD_TRY(crd_write_at(flat->fd, flat->path, 0, header, bytes));
    volume->state = flat;
    flat = NULL;
done:
    crd_flat_close(&flat);
    return status;
}

static crd_status npy_write(crd_volume *volume, const crd_box *box, const void *voxels)
{
    return crd_flat_write(volume->state, box, voxels);
}

static crd_status npy_sync(crd_volume *volume)
{
    return crd_flat_sync(volume->state);
}

static crd_status npy_finish(crd_volume *volume)
{
    CRD_PASS(crd_flat_finish(volume->state));
    return crd_sidecar_remove(volume->file);
}

static crd_status npy_describe(crd_volume *volume)
{
    return crd_sidecar_write(volume->file, &volume->info, NULL);
}

static void npy_reverse_axes(crd_volume *volume)
{
    crd_flat *flat = volume->state;
    const int64_t first = flat->shape[0];
    flat->shape[0] = volume->info.shape[0] = flat->shape[2];
    flat->shape[2] = volume->info.shape[2] = first;
    flat->fortran = !flat->fortran;
}

static void npy_close(crd_volume *volume)
{
    crd_flat *flat = volume->state;
    crd_flat_close(&flat);
    volume->state = NULL;
}

const crd_format crd_format_npy = {
    .name = "npy",
    .suffixes = ".npy",
    .any_order = true,
    .sniff = npy_sniff,
    .open = npy_open,
    .read = npy_read,
    .create = npy_create,
    .write = npy_write,
    .sync = npy_sync,
    .finish = npy_finish,
    .describe = npy_describe,
    .reverse_axes = npy_reverse_axes,
    .close = npy_close,
};
