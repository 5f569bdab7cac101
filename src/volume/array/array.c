#include "volume/array/array.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "volume/types.h"

enum { OUTPUT_BYTES = 1 << 18, PUT_LIMIT = 1 << 30, FORMAT_GZIP = 15 + 16, FORMAT_ZLIB = 15 };

struct crd_array {
    crd_flat *flat; /* shape and type in any case; its descriptor while it is open */
    crd_unpack *unpack;
    size_t cache_bytes;
    crd_block_cache **shared;
    int64_t file_bytes;

    /* packed writing */
    z_stream stream;
    bool packing;
    unsigned char *output;
    int64_t written; /* bytes of the file so far */
    int64_t head;    /* of them, not packed */
    int64_t next;    /* the slice that must come next */
};

static crd_status array_new(crd_array **out)
{
    return crd_alloc(1, sizeof **out, "a volume", out);
}

/* ---- reading ---- */

crd_status crd_array_open(const char *path, size_t cache_bytes, crd_block_cache **shared, crd_array **out,
                          int64_t *file_bytes)
{
    crd_status status = CRD_OK;
    crd_array *array = NULL;
    CRD_TRY(array_new(&array));
    CRD_TRY(crd_flat_open(path, &array->flat, &array->file_bytes));
    array->cache_bytes = cache_bytes;
    array->shared = shared;
    *file_bytes = array->file_bytes;
    *out = array;
    array = NULL;
done:
    crd_array_close(&array);
    return status;
}

int64_t crd_array_offset_at_end(const crd_array_place *place, int64_t file_bytes, int64_t least)
{
    int64_t bytes;
    if (crd_product(place->shape[0], place->shape[1], place->shape[2], &bytes) != CRD_OK ||
        crd_product(bytes, (int64_t)crd_stored_size(place->stored), 1, &bytes) != CRD_OK || bytes > file_bytes) {
        return least;
    }
    return file_bytes - bytes > least ? file_bytes - bytes : least;
}

const char *crd_array_file(const crd_array *array)
{
    return array->flat->path;
}

static crd_status start_unpacking(crd_array *array, crd_packing packing, int64_t packed_at)
{
    const crd_flat *flat = array->flat;
    if (array->unpack != NULL) return CRD_OK;
    return crd_unpack_open(flat->fd, flat->path, packed_at, array->file_bytes, packing, array->cache_bytes,
                           array->shared, &array->unpack);
}

crd_status crd_array_peek(crd_array *array, crd_packing packing, int64_t offset, void *data, size_t bytes)
{
    if (packing == CRD_PACKING_NONE) return crd_read_at(array->flat->fd, array->flat->path, offset, data, bytes);
    CRD_PASS(start_unpacking(array, packing, 0));
    return crd_unpack_read(array->unpack, offset, data, bytes);
}

crd_status crd_array_set_place(crd_array *array, const crd_array_place *place, int64_t *spare)
{
    crd_flat *flat = array->flat;
    memcpy(flat->shape, place->shape, sizeof flat->shape);
    flat->offset = place->offset;
    flat->stored = place->stored;
    flat->swap = place->swap;
    *spare = 0;
    if (place->packing == CRD_PACKING_NONE) return crd_flat_check(flat, array->file_bytes, spare);
    CRD_PASS(crd_flat_check(flat, INT64_MAX, NULL));
    CRD_PASS(start_unpacking(array, place->packing, place->packed_at));
    const int64_t *shape = place->shape;
    return crd_unpack_expect(array->unpack,
                             place->offset + shape[0] * shape[1] * shape[2] * (int64_t)crd_stored_size(place->stored));
}

void crd_array_tell_packed(const crd_array *array, const crd_monitor *monitor)
{
    const crd_flat *flat = array->flat;
    const int64_t voxels = flat->shape[0] * flat->shape[1] * flat->shape[2];
    if (array->unpack == NULL || voxels * (int64_t)crd_stored_size(flat->stored) < INT64_C(1) << 30) return;
    crd_warn(
        monitor,
        "%s is packed in one piece, so parts of it are slow to read; `credence convert` to another file once makes "
        "everything after faster",
        flat->path);
}

/* Row by row, or as one run where the box holds whole rows or slices. */
static crd_status read_packed(crd_array *array, const crd_box *box, char *out)
{
    const crd_flat *flat = array->flat;
    const int64_t *origin = box->origin, *count = box->size, *shape = flat->shape;
    const int64_t size = (int64_t)crd_stored_size(flat->stored);
    const bool whole_rows = count[2] == shape[2];
    const int64_t run = whole_rows ? count[1] * count[2] : count[2];
    for (int64_t z = 0; z < count[0]; z++) {
        for (int64_t y = 0; y < (whole_rows ? 1 : count[1]); y++, out += run * size) {
            const int64_t first = ((origin[0] + z) * shape[1] + origin[1] + y) * shape[2] + origin[2];
            CRD_PASS(crd_unpack_read(array->unpack, flat->offset + first * size, out, (size_t)(run * size)));
        }
    }
    return CRD_OK;
}

crd_status crd_array_read(crd_array *array, const crd_box *box, void *voxels)
{
    const crd_flat *flat = array->flat;
    if (array->unpack == NULL) return crd_flat_read(array->flat, box, voxels);
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    const size_t size = crd_stored_size(flat->stored);
    const crd_type type = crd_stored_widened(flat->stored);
    char *packed = (char *)voxels + (size_t)count * (crd_type_size(type) - size);
    CRD_PASS(read_packed(array, box, packed));
    if (flat->swap) crd_swap_bytes(packed, count, size);
    crd_shared_step(flat->stored, count, type, voxels);
    return CRD_OK;
}

/* ---- writing ---- */

static crd_status flush_output(crd_array *array)
{
    const size_t bytes = OUTPUT_BYTES - array->stream.avail_out;
    CRD_PASS(crd_write_at(array->flat->fd, array->flat->path, array->written, array->output, bytes));
    array->written += (int64_t)bytes;
    array->stream.next_out = array->output;
    array->stream.avail_out = OUTPUT_BYTES;
    return CRD_OK;
}

static crd_status pack(crd_array *array, const char *data, int64_t bytes)
{
    while (bytes > 0) {
        const int64_t count = bytes < PUT_LIMIT ? bytes : PUT_LIMIT;
        array->stream.next_in = (z_const Bytef *)data;
        array->stream.avail_in = (uInt)count;
        while (array->stream.avail_in > 0) {
            if (deflate(&array->stream, Z_NO_FLUSH) != Z_OK) {
                return crd_fail(CRD_ERR_INTERNAL, "%s can't be packed", array->flat->path);
            }
            if (array->stream.avail_out == 0) CRD_PASS(flush_output(array));
        }
        data += count, bytes -= count;
    }
    return CRD_OK;
}

static crd_status create_packed(const crd_array_plan *plan, crd_array *array)
{
    crd_flat *flat = array->flat;
    CRD_PASS(crd_alloc(OUTPUT_BYTES, 1, "packing", &array->output));
    if (deflateInit2(&array->stream, plan->level, Z_DEFLATED,
                     plan->packing == CRD_PACKING_GZIP ? FORMAT_GZIP : FORMAT_ZLIB, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return crd_fail(CRD_ERR_MEMORY, "not enough memory to pack %s", plan->shown);
    }
    array->packing = true;
    array->stream.next_out = array->output;
    array->stream.avail_out = OUTPUT_BYTES;
    flat->fd = crd_open(plan->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
    if (flat->fd < 0) return crd_fail_errno("%s can't be created", plan->shown);
    if (plan->pack_head) return pack(array, plan->head, (int64_t)plan->head_bytes);
    array->written = array->head = (int64_t)plan->head_bytes;
    return crd_write_at(flat->fd, flat->path, 0, plan->head, plan->head_bytes);
}

crd_status crd_array_create(const crd_array_plan *plan, crd_array **out)
{
    crd_status status = CRD_OK;
    crd_array *array = NULL;
    CRD_TRY(array_new(&array));
    if (plan->packing != CRD_PACKING_NONE) {
        CRD_TRY(crd_flat_make(plan->shown, plan->info, &array->flat));
        CRD_TRY(create_packed(plan, array));
    } else {
        CRD_TRY(crd_flat_create_at(plan->temporary, plan->shown, plan->info, (int64_t)plan->head_bytes, false,
                                   plan->staged, &array->flat));
        CRD_TRY(crd_write_at(array->flat->fd, plan->shown, 0, plan->head, plan->head_bytes));
    }
    *out = array;
    array = NULL;
done:
    crd_array_close(&array);
    return status;
}

crd_status crd_array_write(crd_array *array, const crd_box *box, const void *voxels)
{
    const crd_flat *flat = array->flat;
    if (!array->packing) return crd_flat_write(array->flat, box, voxels);
    if (box->origin[0] != array->next || box->size[1] != flat->shape[1] || box->size[2] != flat->shape[2]) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s is packed, so it is written in whole slices in rising z; slice %lld must come next",
                        flat->path, (long long)array->next);
    }
    array->next += box->size[0];
    return pack(array, voxels, box->size[0] * box->size[1] * box->size[2] * (int64_t)crd_stored_size(flat->stored));
}

static crd_status finish_packed(crd_array *array)
{
    const crd_flat *flat = array->flat;
    static const char zeros[4096];
    const int64_t slice = flat->shape[1] * flat->shape[2] * (int64_t)crd_stored_size(flat->stored);
    for (int64_t left = (flat->shape[0] - array->next) * slice; left > 0; left -= (int64_t)sizeof zeros) {
        CRD_PASS(pack(array, zeros, left < (int64_t)sizeof zeros ? left : (int64_t)sizeof zeros));
    }
    array->next = flat->shape[0];
    for (;;) {
        const int result = deflate(&array->stream, Z_FINISH);
        CRD_PASS(flush_output(array));
        if (result == Z_STREAM_END) return CRD_OK;
        if (result != Z_OK) return crd_fail(CRD_ERR_INTERNAL, "%s can't be packed", flat->path);
    }
}

crd_status crd_array_end_stream(crd_array *array, int64_t *packed_bytes)
{
    if (array->packing) CRD_PASS(finish_packed(array));
    *packed_bytes = array->written - array->head;
    return CRD_OK;
}

crd_status crd_array_write_head(crd_array *array, int64_t at, const char *text, size_t bytes)
{
    return crd_write_at(array->flat->fd, array->flat->path, at, text, bytes);
}

crd_status crd_array_sync(const crd_array *array)
{
    return crd_flat_sync(array->flat);
}

crd_status crd_array_finish(crd_array *array)
{
    return crd_flat_finish(array->flat);
}

void crd_array_close(crd_array **array)
{
    if (*array == NULL) return;
    if ((*array)->packing) (void)deflateEnd(&(*array)->stream);
    crd_unpack_close(&(*array)->unpack);
    crd_flat_close(&(*array)->flat);
    crd_free(&(*array)->output);
    crd_free(array);
}
