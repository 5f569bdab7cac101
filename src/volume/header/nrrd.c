/* NRRD: .nrrd with the voxels behind the header, .nhdr with the voxels in a file beside it; plain or gzip. */
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "volume/header/data.h"
#include "volume/header/nrrd_header.h"
#include "volume/header/text.h"
#include "volume/types.h"

static bool nrrd_sniff(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return crd_nrrd_is(head, count);
}

/* Where the line behind `lines` lines begins, from `at` on. */
static crd_status skip_lines(crd_array *array, int64_t lines, int64_t file_bytes, int64_t *at)
{
    crd_status status = CRD_OK;
    enum { PIECE = 65536 };
    char *piece = NULL;
    CRD_TRY(crd_alloc(PIECE, 1, "skipping lines", &piece));
    while (lines > 0) {
        if (*at >= file_bytes) {
            CRD_FAIL(CRD_ERR_FORMAT, "%s has fewer lines than its NRRD header wants to skip", crd_array_file(array));
        }
        const size_t count = file_bytes - *at < PIECE ? (size_t)(file_bytes - *at) : PIECE;
        CRD_TRY(crd_array_peek(array, CRD_PACKING_NONE, *at, piece, count));
        size_t used = 0;
        while (lines > 0 && used < count) {
            const char *end = memchr(piece + used, '\n', count - used);
            used = end != NULL ? (size_t)(end - piece) + 1 : count;
            lines -= end != NULL;
        }
        *at += (int64_t)used;
    }
done:
    crd_free(&piece);
    return status;
}

static crd_status find_data(crd_volume *volume, const crd_nrrd_header *header, const crd_monitor *monitor, char **path)
{
    const char *name = header->data_file;
    const size_t length = header->data_file_length;
    if (name == NULL) return crd_strdup(volume->file, path);
    if (crd_names_several(name, length)) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s spreads its voxels over several files, which credence doesn't read; `unu save` joins them",
                        volume->file);
    }
    return crd_header_data_path(volume->file, name, length, monitor, path);
}

static crd_status place(const crd_nrrd_header *header, const char *path, int64_t file_bytes, crd_array *array,
                        int64_t *spare)
{
    crd_array_place p = {.packing = header->packing, .stored = header->stored, .swap = header->swap};
    int64_t start = header->data_file == NULL ? (int64_t)header->bytes : 0;
    memcpy(p.shape, header->info.shape, sizeof p.shape);
    if (header->line_skip > 0) CRD_PASS(skip_lines(array, header->line_skip, file_bytes, &start));
    if (header->packing != CRD_PACKING_NONE) {
        p.packed_at = start;
        p.offset = header->byte_skip;
        if (header->byte_skip < 0) {
            return crd_fail(CRD_ERR_UNSUPPORTED, "%s is packed NRRD with a byte skip of -1, which makes no sense",
                            path);
        }
        return crd_array_set_place(array, &p, spare);
    }
    if (header->byte_skip < 0) {
        p.offset = crd_array_offset_at_end(&p, file_bytes, start); /* the header is no voxels */
    } else if (__builtin_add_overflow(start, header->byte_skip, &p.offset)) {
        return crd_fail(CRD_ERR_FORMAT, "%s has an NRRD header that skips beyond any file", path);
    }
    return crd_array_set_place(array, &p, spare);
}

static crd_status nrrd_open(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_header_data *data = NULL;
    crd_nrrd_header header;
    char *text = NULL, *path = NULL;
    size_t bytes = 0;
    int64_t file_bytes = 0, spare = 0;
    (void)options;
    CRD_TRY(crd_header_text(volume->file, &text, &bytes));
    CRD_TRY(crd_nrrd_parse(volume->file, text, bytes, &header));
    CRD_TRY(find_data(volume, &header, monitor, &path));
    CRD_TRY(crd_alloc(1, sizeof *data, "a volume", &data));
    CRD_TRY(crd_array_open(path, volume->cache_bytes, &volume->cache, &data->array, &file_bytes));
    CRD_TRY(place(&header, path, file_bytes, data->array, &spare));
    if (header.units_differ) {
        crd_warn(monitor, "%s measures its axes in different units that can't be compared; its spacing isn't read",
                 volume->file);
    }
    crd_header_data_tell(volume, data, spare, header.oblique, header.stored, path, monitor);
    volume->info = header.info;
    volume->state = data;
    data = NULL;
done:
    crd_header_data_close(&data);
    crd_free(&text);
    crd_free(&path);
    return status;
}

static const crd_header_style style = {
    .detached = ".nhdr", .plain = ".raw", .packed = ".raw.gz", .packing = CRD_PACKING_GZIP, .write = crd_nrrd_write};

static crd_status nrrd_create(crd_volume *volume, const crd_volume_options *options)
{
    return crd_header_data_create(volume, options, &style);
}

static crd_status nrrd_finish(crd_volume *volume)
{
    return crd_header_data_finish(volume, &style);
}

const crd_format crd_format_nrrd = {
    .name = "nrrd",
    .suffixes = ".nrrd .nhdr",
    .kinds = ".nhdr",
    .any_order = true,
    .sniff = nrrd_sniff,
    .open = nrrd_open,
    .read = crd_header_data_read,
    .create = nrrd_create,
    .write = crd_header_data_write,
    .sync = crd_header_data_sync,
    .finish = nrrd_finish,
    .other_file = crd_header_data_file,
    .close = crd_header_data_close_volume,
};
