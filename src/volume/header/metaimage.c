/* MetaImage: .mha with the voxels behind the header, .mhd with the voxels in a file beside it; plain or zlib. */
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "volume/header/data.h"
#include "volume/header/metaimage_header.h"
#include "volume/header/text.h"
#include "volume/types.h"

static bool metaimage_sniff(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return crd_metaimage_is(head, count);
}

static crd_status find_data(crd_volume *volume, const crd_metaimage_header *header, const crd_monitor *monitor,
                            char **path)
{
    const char *name = header->data_file;
    const size_t length = header->data_file_length;
    if (name == NULL) return crd_strdup(volume->file, path);
    if (crd_names_several(name, length)) {
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s spreads its voxels over several files, which credence doesn't read; save it as one .mha file",
            volume->file);
    }
    return crd_header_data_path(volume->file, name, length, monitor, path);
}

static crd_status place(const crd_metaimage_header *header, int64_t file_bytes, crd_array *array, int64_t *spare)
{
    crd_array_place p = {.packing = header->packed ? CRD_PACKING_ZLIB : CRD_PACKING_NONE,
                         .stored = header->stored,
                         .swap = header->swap};
    const int64_t least = header->data_file == NULL ? (int64_t)header->bytes : 0; /* a header is no voxels */
    const int64_t start = header->skip == 0 ? least : header->skip;
    if (start >= 0 && start < least) {
        return crd_fail(CRD_ERR_FORMAT, "%s has a broken MetaImage header: it is longer than its HeaderSize of %lld",
                        crd_array_file(array), (long long)header->skip);
    }
    memcpy(p.shape, header->info.shape, sizeof p.shape);
    if (header->packed) {
        p.packed_at = start > 0 ? start : least;
        return crd_array_set_place(array, &p, spare);
    }
    p.offset = start < 0 ? crd_array_offset_at_end(&p, file_bytes, least) : start;
    return crd_array_set_place(array, &p, spare);
}

static crd_status metaimage_open(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_header_data *data = NULL;
    crd_metaimage_header header;
    char *text = NULL, *path = NULL;
    size_t bytes = 0;
    int64_t file_bytes = 0, spare = 0;
    (void)options;
    CRD_TRY(crd_header_text(volume->file, &text, &bytes));
    CRD_TRY(crd_metaimage_parse(volume->file, text, bytes, &header));
    CRD_TRY(find_data(volume, &header, monitor, &path));
    CRD_TRY(crd_alloc(1, sizeof *data, "a volume", &data));
    CRD_TRY(crd_array_open(path, volume->cache_bytes, &volume->cache, &data->array, &file_bytes));
    CRD_TRY(place(&header, file_bytes, data->array, &spare));
    if (header.intercept != 0.0) {
        crd_warn(
            monitor,
            "%s says that its values are to be multiplied by %g and %g added; they are read as stored, and what is "
            "added is lost",
            volume->file, header.info.scale, header.intercept);
    }
    crd_header_data_tell(volume, data, spare, header.turned, header.stored, path, monitor);
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
    .detached = ".mhd", .plain = ".raw", .packed = ".zraw", .packing = CRD_PACKING_ZLIB, .write = crd_metaimage_write};

static crd_status metaimage_create(crd_volume *volume, const crd_volume_options *options)
{
    return crd_header_data_create(volume, options, &style);
}

static crd_status metaimage_finish(crd_volume *volume)
{
    return crd_header_data_finish(volume, &style);
}

const crd_format crd_format_metaimage = {
    .name = "metaimage",
    .suffixes = ".mha .mhd",
    .kinds = ".mhd",
    .any_order = true,
    .sniff = metaimage_sniff,
    .open = metaimage_open,
    .read = crd_header_data_read,
    .create = metaimage_create,
    .write = crd_header_data_write,
    .sync = crd_header_data_sync,
    .finish = metaimage_finish,
    .other_file = crd_header_data_file,
    .close = crd_header_data_close_volume,
};
