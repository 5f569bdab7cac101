#include "volume/pictures/pictures.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "volume/slices/names.h"
#include "volume/types.h"

typedef struct pictures {
    crd_slice_decode *decode;
    char **names; /* one, or one for each slice */
    int64_t count;
    crd_slice_image image;
    crd_block_cache *cache;
} pictures;

bool crd_pictures_sniff(const crd_format *format, const char *path, size_t count)
{
    struct stat about;
    if (count > 0 || (stat(path, &about) == 0 && !S_ISDIR(about.st_mode))) return false;
    return crd_slices_present(path, format);
}

static crd_status open_file(const char *path, FILE **file, int64_t *bytes)
{
    int fd = -1;
    CRD_PASS(crd_open_plain(path, &fd, bytes));
    *file = fdopen(fd, "rb");
    if (*file != NULL) return CRD_OK;
    const crd_status status = crd_fail_errno("%s can't be opened", path);
    (void)close(fd);
    return status;
}

static crd_status look_at(const char *path, crd_slice_look *look, bool grey, crd_slice_image *out)
{
    FILE *file = NULL;
    int64_t bytes = 0, voxels = 0;
    memset(out, 0, sizeof *out);
    CRD_PASS(open_file(path, &file, &bytes));
    const crd_status status = look(file, path, bytes, grey, out);
    (void)fclose(file);
    CRD_PASS(status);
    if (out->width < 1 || out->height < 1 || out->width > INT32_MAX || out->height > INT32_MAX) {
        return crd_fail(CRD_ERR_FORMAT, "%s has a size of %lld x %lld pixels (y, x), and can't be read", path,
                        (long long)out->height, (long long)out->width);
    }
    return crd_product(out->width, out->height, (int64_t)crd_type_size(out->type), &voxels);
}

static crd_status name_files(crd_volume *volume, const crd_monitor *monitor, pictures *p)
{
    struct stat about;
    if (stat(volume->path, &about) != 0 || S_ISDIR(about.st_mode)) {
        return crd_slices_list(volume->path, volume->format, monitor, &p->names, &p->count);
    }
    CRD_PASS(crd_alloc(1, sizeof *p->names, "a file name", &p->names));
    p->count = 1;
    return crd_strdup(volume->path, &p->names[0]);
}

/* The first slice sets what the others must be. */
static crd_status look_at_all(const crd_volume *volume, crd_slice_look *look, const crd_monitor *monitor, pictures *p)
{
    for (int64_t i = 0; i < p->count; i++) {
        const crd_slice_image *first = &p->image;
        crd_slice_image image;
        CRD_PASS(look_at(p->names[i], look, volume->grey, &image));
        if (i == 0) p->image = image;
        if (image.width != first->width || image.height != first->height || image.type != first->type) {
            return crd_fail(CRD_ERR_MISMATCH,
                            "%s has %lld x %lld pixels (y, x) of type %s, but %s has %lld x %lld of type %s; the "
                            "slices of a volume must be alike",
                            p->names[0], (long long)first->height, (long long)first->width, crd_type_name(first->type),
                            p->names[i], (long long)image.height, (long long)image.width, crd_type_name(image.type));
        }
        if (i == 0 && image.remark != NULL) crd_info(monitor, "%s %s", p->names[0], image.remark);
        if (i % 64 == 63) CRD_PASS(crd_advance(monitor, "opening", "slices", i + 1, p->count, NULL));
    }
    return CRD_OK;
}

crd_status crd_pictures_open(crd_volume *volume, crd_slice_look *look, crd_slice_decode *decode,
                             const crd_monitor *monitor)
{
    pictures *p = NULL;
    CRD_PASS(crd_alloc(1, sizeof *p, "a volume of slices", &p));
    volume->state = p;
    p->decode = decode;
    crd_status status = name_files(volume, monitor, p);
    if (status == CRD_OK) status = look_at_all(volume, look, monitor, p);
    if (status == CRD_OK) status = crd_block_cache_open(volume->cache_bytes, &volume->cache, &p->cache);
    if (status != CRD_OK) {
        crd_pictures_close(volume);
        return status;
    }
    volume->info =
        (crd_volume_info){.shape = {p->count, p->image.height, p->image.width}, .type = p->image.type, .scale = 1.0};
    return CRD_OK;
}

/* A decoded slice, to be released. */
static crd_status fetch_slice(const crd_volume *volume, const pictures *p, int64_t z, crd_block **out)
{
    crd_status status = CRD_OK;
    const int64_t bytes = p->image.width * p->image.height * (int64_t)crd_type_size(p->image.type);
    FILE *file = NULL;
    crd_block *block = crd_block_cache_find(p->cache, z, 0, bytes);
    if (block == NULL) {
        int64_t length = 0;
        if (!crd_block_cache_fits(p->cache, bytes)) {
            CRD_FAIL(CRD_ERR_MEMORY, "a slice of %s takes %.1f MiB decoded, more than there is memory for; allow more",
                     volume->path, (double)bytes / 0x1p20);
        }
        CRD_TRY(crd_block_cache_add(p->cache, z, 0, bytes, &block));
        CRD_TRY(open_file(p->names[z], &file, &length));
        CRD_TRY(p->decode(file, p->names[z], volume->grey, &p->image, block->data));
        crd_block_cache_publish(p->cache, block);
    }
    *out = block;
    block = NULL;
done:
    if (file != NULL) (void)fclose(file);
    crd_block_cache_release(p->cache, &block);
    return status;
}

crd_status crd_pictures_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    const pictures *p = volume->state;
    const size_t voxel = crd_type_size(p->image.type), row = (size_t)box->size[2] * voxel;
    unsigned char *out = voxels;
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        crd_block *block = NULL;
        CRD_PASS(fetch_slice(volume, p, z, &block));
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++, out += row) {
            memcpy(out, (const char *)block->data + (size_t)(y * p->image.width + box->origin[2]) * voxel, row);
        }
        crd_block_cache_release(p->cache, &block);
    }
    return CRD_OK;
}

const char *crd_pictures_file(const crd_volume *volume, int64_t index)
{
    const pictures *p = volume->state;
    return index < p->count ? p->names[index] : NULL;
}

void crd_pictures_close(crd_volume *volume)
{
    pictures *p = volume->state;
    if (p == NULL) return;
    crd_slices_free(&p->names, p->count);
    crd_block_cache_free(&p->cache);
    crd_free(&volume->state);
}
