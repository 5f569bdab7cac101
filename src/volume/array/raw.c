/* Raw voxels without a header. What describes them lies beside (see sidecar.h) or comes from the options, which win. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "volume/array/flat.h"
#include "volume/format.h"
#include "volume/sidecar.h"
#include "volume/types.h"

/* Only what describes itself: a raw suffix, and a sidecar that names the type. All else is for the options to say. */
static bool raw_sniff(const char *path, const unsigned char *head, size_t count)
{
    (void)head;
    return count > 0 && crd_format_has_suffix(&crd_format_raw, path) && crd_sidecar_names_type(path);
}

int64_t crd_raw_voxel_bytes(const char *path, const int64_t shape[3])
{
    struct stat about;
    int64_t voxels;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    if (crd_product(shape[0], shape[1], shape[2], &voxels) != CRD_OK || voxels < 1) return 0;
    if (about.st_size % voxels != 0 || crd_sidecar_names_type(path)) return 0;
    return about.st_size / voxels;
}

static crd_status raw_open(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_flat *flat = NULL;
    crd_sidecar sidecar;
    crd_type type;
    bool big = false;
    int64_t length = 0, spare = 0;

    CRD_TRY(crd_sidecar_read(volume->file, &sidecar));
    const bool shape_given = options->shape[0] != 0 || options->shape[1] != 0 || options->shape[2] != 0;
    const int64_t *shape = shape_given ? options->shape : sidecar.shape;
    const char *type_name = options->type != NULL ? options->type : sidecar.type;
    if (shape[0] == 0 || type_name[0] == '\0') {
        CRD_FAIL(
            CRD_ERR_ARGUMENT,
            "%s is read as raw data and its %s unknown: give --shape z,y,x and --type u16le, or write \"shape\" and "
            "\"type\" into %s.json",
            volume->file,
            shape[0] != 0          ? "type is"
            : type_name[0] != '\0' ? "shape is"
                                   : "shape and type are",
            volume->file);
    }
    CRD_TRY(crd_type_parse(type_name, &type, &big));
    CRD_TRY(crd_flat_open(volume->file, &flat, &length));
    memcpy(flat->shape, shape, sizeof flat->shape);
    flat->offset = options->offset;
    flat->stored = (int)type;
    flat->swap = big != CRD_BIG_ENDIAN;
    CRD_TRY(crd_flat_check(flat, length, &spare));
    if (spare > 0) {
        crd_warn(monitor,
                 "%s has %lld bytes more than its shape and type need; they are ignored (--offset skips a header)",
                 volume->file, (long long)spare);
    }
    memcpy(volume->info.shape, shape, sizeof volume->info.shape);
    volume->info.type = type;
    crd_sidecar_apply(&sidecar, &volume->info);
    volume->state = flat;
    flat = NULL;
done:
    crd_flat_close(&flat);
    return status;
}

static crd_status raw_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    return crd_flat_read(volume->state, box, voxels);
}

static crd_status raw_create(crd_volume *volume, const crd_volume_options *options)
{
    crd_type type = volume->info.type;
    bool big = false;
    crd_flat *flat = NULL;
    if (options->type != NULL) {
        CRD_PASS(crd_type_parse(options->type, &type, &big));
        if (type != volume->info.type) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s: the options say type %s, the volume to write is %s", volume->path,
                            options->type, crd_type_name(volume->info.type));
        }
    }
    CRD_PASS(crd_flat_create(volume, 0, big != CRD_BIG_ENDIAN, &flat));
    volume->state = flat;
    return CRD_OK;
}

static crd_status raw_write(crd_volume *volume, const crd_box *box, const void *voxels)
{
    return crd_flat_write(volume->state, box, voxels);
}

static crd_status raw_sync(crd_volume *volume)
{
    return crd_flat_sync(volume->state);
}

static crd_status raw_finish(crd_volume *volume)
{
    CRD_PASS(crd_flat_finish(volume->state));
    return crd_sidecar_remove(volume->file);
}

static crd_status raw_describe(crd_volume *volume)
{
    const crd_flat *flat = volume->state;
    char type[16];
    snprintf(type, sizeof type, "%s%s", crd_type_name(volume->info.type),
             crd_type_size(volume->info.type) == 1 ? ""
             : flat->swap != CRD_BIG_ENDIAN        ? "be"
                                                   : "le");
    return crd_sidecar_write(volume->file, &volume->info, type);
}

static void raw_close(crd_volume *volume)
{
    crd_flat *flat = volume->state;
    crd_flat_close(&flat);
    volume->state = NULL;
}

const crd_format crd_format_raw = {
    .name = "raw",
    .suffixes = ".raw .bin .dat .vol",
    .any_order = true,
    .sniff = raw_sniff,
    .open = raw_open,
    .read = raw_read,
    .create = raw_create,
    .write = raw_write,
    .sync = raw_sync,
    .finish = raw_finish,
    .describe = raw_describe,
    .close = raw_close,
};
