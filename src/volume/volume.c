/* The generic half of volumes: picks the format, checks boxes and descriptions, converts types, owns temporary names.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "volume/choose.h"
#include "volume/format.h"
#include "volume/types.h"
#include "volume/units.h"
#include "volume/views/lent.h"

static const size_t default_cache = (size_t)256 << 20;
static const crd_volume_options no_options;

static crd_status volume_new(const char *path, bool writing, const crd_volume_options *options, crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    if (path == NULL || path[0] == '\0') CRD_FAIL(CRD_ERR_ARGUMENT, "no file name was given");
    CRD_TRY(crd_alloc(1, sizeof *volume, "a volume", &volume));
    CRD_TRY(crd_strdup(path, &volume->path));
    CRD_TRY(crd_split_dataset(volume->path, writing, &volume->file, &volume->dataset));
    volume->cache_bytes = options->cache_bytes > 0 ? options->cache_bytes : default_cache;
    volume->info.scale = 1.0;
    *out = volume;
    volume = NULL;
done:
    crd_volume_close(&volume);
    return status;
}

static crd_status keep_options(crd_volume *volume, const crd_volume_options *options)
{
    volume->options = *options;
    CRD_PASS(crd_strdup(options->type, &volume->option_texts[0]));
    CRD_PASS(crd_strdup(options->unit, &volume->option_texts[1]));
    CRD_PASS(crd_strdup(options->format, &volume->option_texts[2]));
    volume->options.type = volume->option_texts[0];
    volume->options.unit = volume->option_texts[1];
    volume->options.format = volume->option_texts[2];
    return CRD_OK;
}

static bool all_positive(const double spacing[3])
{
    for (int i = 0; i < 3; i++) {
        if (!(isfinite(spacing[i]) && spacing[i] > 0.0)) return false;
    }
    return true;
}

static bool all_zero(const double spacing[3])
{
    return spacing[0] == 0.0 && spacing[1] == 0.0 && spacing[2] == 0.0;
}

/* Shape and type must be usable; spacing, unit and scale are brought into their standard form. */
static crd_status settle_info(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_volume_info *info = &volume->info;
    const bool read = volume->write_path == NULL && volume->format->open != NULL; /* a file says so, not a caller */
    int64_t voxels, bytes;
    char unit[CRD_UNIT_BYTES];
    if (!crd_type_valid(info->type)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s: %d is no voxel type", volume->path, (int)info->type);
    }
    if (info->shape[0] < 1 || info->shape[1] < 1 || info->shape[2] < 1 ||
        crd_product(info->shape[0], info->shape[1], info->shape[2], &voxels) != CRD_OK ||
        crd_product(voxels, (int64_t)crd_type_size(info->type), 1, &bytes) != CRD_OK) {
        return crd_fail(read ? CRD_ERR_FORMAT : CRD_ERR_ARGUMENT,
                        "%s: a volume can't have the shape (z %lld, y %lld, x %lld)", volume->path,
                        (long long)info->shape[0], (long long)info->shape[1], (long long)info->shape[2]);
    }
    if (!all_positive(info->spacing)) {
        if (!all_zero(info->spacing)) {
            crd_warn(monitor, "%s: its voxel spacing (%g, %g, %g) makes no sense and is ignored", volume->path,
                     info->spacing[0], info->spacing[1], info->spacing[2]);
        }
        memset(info->spacing, 0, sizeof info->spacing);
    }
    info->unit[sizeof info->unit - 1] = '\0';
    if (!all_zero(options->spacing)) {
        if (!all_positive(options->spacing)) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s: the spacing must be three numbers above 0, z,y,x", volume->path);
        }
        memcpy(info->spacing, options->spacing, sizeof info->spacing);
    }
    crd_unit_normalise(options->unit != NULL ? options->unit : info->unit, unit);
    memcpy(info->unit, unit, sizeof info->unit);
    if (!isfinite(info->scale) || info->scale == 0.0) info->scale = 1.0;
    memset(info->format, 0, sizeof info->format);
    memcpy(info->format, volume->format->name, strnlen(volume->format->name, sizeof info->format - 1));
    return CRD_OK;
}

static crd_status open_volume(const char *path, const crd_volume_options *options, bool grey, const crd_volume *other,
                              const crd_monitor *monitor, crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    *out = NULL;
    if (options == NULL) options = &no_options;
    CRD_TRY(crd_lent_open(path, &volume));
    if (volume != NULL) {
        CRD_TRY(settle_info(volume, options, monitor));
        *out = volume;
        return CRD_OK;
    }
    CRD_TRY(volume_new(path, false, options, &volume));
    CRD_TRY(keep_options(volume, options));
    volume->grey = grey;
    if (other != NULL) {
        volume->cache = crd_block_cache_share(other->cache);
        volume->again = true;
    }
    CRD_TRY(crd_choose_reader(volume, options, &volume->format));
    CRD_TRY(volume->format->open(volume, options, monitor));
    CRD_TRY(settle_info(volume, options, monitor));
    *out = volume;
    volume = NULL;
done:
    crd_volume_close(&volume);
    return status;
}

crd_status crd_volume_open(const char *path, const crd_volume_options *options, const crd_monitor *monitor,
                           crd_volume **out)
{
    return open_volume(path, options, false, NULL, monitor, out);
}

crd_status crd_volume_open_grey(const char *path, const crd_volume_options *options, const crd_monitor *monitor,
                                crd_volume **out)
{
    return open_volume(path, options, true, NULL, monitor, out);
}

crd_status crd_volume_open_again(const crd_volume *volume, crd_volume **out)
{
    if (volume->format->open_again != NULL) return volume->format->open_again(volume, out);
    return open_volume(volume->path, &volume->options, volume->grey, volume, NULL, out);
}

static crd_status name_temporary(crd_volume *volume)
{
    struct stat about;
    if (volume->format->folder && stat(volume->file, &about) == 0) {
        if (crd_is_empty_folder(volume->file)) return crd_temporary_name(volume->file, &volume->write_path);
        return crd_fail(CRD_ERR_ARGUMENT, "%s is there already; remove it or choose another name", volume->file);
    }
    if (stat(volume->file, &about) == 0 && !S_ISREG(about.st_mode)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is %s; give the name of a file to write", volume->file,
                        S_ISDIR(about.st_mode) ? "a folder" : "no plain file");
    }
    CRD_PASS(crd_check_target(volume->file));
    return crd_temporary_name(volume->file, &volume->write_path);
}

static crd_status create_volume(const char *path, const crd_volume_info *info, const crd_volume_options *options,
                                bool over, crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    *out = NULL;
    if (options == NULL) options = &no_options;
    CRD_TRY(volume_new(path, true, options, &volume));
    CRD_TRY(crd_choose_writer(volume, options, &volume->format));
    CRD_TRY(name_temporary(volume));
    volume->over = over;
    volume->info = *info;
    CRD_TRY(settle_info(volume, options, NULL));
    CRD_TRY(volume->format->create(volume, options));
    *out = volume;
    volume = NULL;
done:
    crd_volume_close(&volume);
    return status;
}

crd_status crd_volume_create(const char *path, const crd_volume_info *info, const crd_volume_options *options,
                             crd_volume **out)
{
    return create_volume(path, info, options, false, out);
}

crd_status crd_volume_create_over(const char *path, const crd_volume_info *info, const crd_volume_options *options,
                                  crd_volume **out)
{
    return create_volume(path, info, options, true, out);
}

crd_status crd_volume_stage(const char *path, const char *staged, const crd_volume_info *info, const char *format,
                            crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    const crd_volume_options options = {.format = format};
    *out = NULL;
    CRD_TRY(volume_new(path, true, &options, &volume));
    CRD_TRY(crd_choose_writer(volume, &options, &volume->format));
    volume->staged = true;
    volume->in_place = volume->format->folder;
    CRD_TRY(crd_strdup(volume->in_place ? volume->file : staged, &volume->write_path));
    volume->info = *info;
    CRD_TRY(settle_info(volume, &options, NULL));
    CRD_TRY(volume->format->create(volume, &options));
    *out = volume;
    volume = NULL;
done:
    crd_volume_close(&volume);
    return status;
}

crd_status crd_volume_create_in_place(const char *path, const crd_volume_info *info, const crd_format *format,
                                      crd_status (*begin)(crd_volume *volume), crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    *out = NULL;
    CRD_TRY(volume_new(path, true, &no_options, &volume));
    volume->format = format;
    volume->in_place = true;
    volume->info = *info;
    CRD_TRY(settle_info(volume, &no_options, NULL));
    CRD_TRY(begin(volume));
    *out = volume;
    volume = NULL;
done:
    crd_volume_close(&volume);
    return status;
}

crd_status crd_volume_create_view(const char *path, const char *file, const crd_volume_info *info,
                                  const crd_format *format, size_t state_bytes, crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *volume, "a volume", &volume));
    CRD_TRY(crd_strdup(path, &volume->path));
    CRD_TRY(crd_strdup(file, &volume->file));
    volume->format = format;
    volume->info = *info;
    volume->cache_bytes = default_cache;
    CRD_TRY(settle_info(volume, &no_options, NULL));
    if (state_bytes > 0) CRD_TRY(crd_alloc(1, state_bytes, "a volume", &volume->state));
    *out = volume;
    volume = NULL;
done:
    crd_volume_close(&volume);
    return status;
}

static const char *file_of(const crd_volume *volume, int64_t index)
{
    if (index == 0) return volume->file;
    return volume->format->other_file != NULL ? volume->format->other_file(volume, index - 1) : NULL;
}

bool crd_volumes_share_file(const crd_volume *a, const crd_volume *b)
{
    const char *mine, *other;
    for (int64_t i = 0; (mine = file_of(a, i)) != NULL; i++) {
        for (int64_t k = 0; (other = file_of(b, k)) != NULL; k++) {
            if (crd_same_file(mine, other)) return true;
        }
    }
    return false;
}

const crd_volume_info *crd_volume_describe(const crd_volume *volume)
{
    return &volume->info;
}

const char *crd_volume_path(const crd_volume *volume)
{
    return volume->path;
}

crd_status crd_volume_check_box(const crd_volume *volume, const crd_box *box)
{
    const int64_t *shape = volume->info.shape;
    for (int i = 0; i < 3; i++) {
        if (box->origin[i] >= 0 && box->size[i] >= 1 && box->origin[i] < shape[i] &&
            box->size[i] <= shape[i] - box->origin[i]) {
            continue;
        }
        return crd_fail(CRD_ERR_ARGUMENT,
                        "the box at (z %lld, y %lld, x %lld) of size (%lld, %lld, %lld) doesn't lie within %s, whose "
                        "shape is (z %lld, y %lld, x %lld)",
                        (long long)box->origin[0], (long long)box->origin[1], (long long)box->origin[2],
                        (long long)box->size[0], (long long)box->size[1], (long long)box->size[2], volume->path,
                        (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    }
    return CRD_OK;
}

int64_t crd_volume_slices_at_once(const crd_volume *volume, int64_t z, int64_t end, int64_t slice_voxels)
{
    enum { IN_CACHE = 1 << 15 }; /* voxels: with their floats and labels a quarter of a megabyte */
    int64_t count = slice_voxels < IN_CACHE ? IN_CACHE / slice_voxels : 1;
    if (volume->z_fastest) return end - z;
    if (volume->layer > 1) count = (z + count + volume->layer - 1) / volume->layer * volume->layer - z;
    return count < end - z ? count : end - z;
}

/* f64 or u64 as f32: narrower than what the file holds, so piece by piece through a buffer. The pieces are long along
 * the file's fastest axis. */
static crd_status read_narrowed(crd_volume *volume, const crd_box *box, float *voxels)
{
    enum { PIECE = 1 << 18 };
    crd_status status = CRD_OK;
    double *piece = NULL;
    int64_t edge[3], left = PIECE;
    for (int i = 0; i < 3; i++) {
        const int axis = volume->z_fastest ? i : 2 - i;
        edge[axis] = box->size[axis] < left ? box->size[axis] : left;
        left /= edge[axis];
    }
    CRD_TRY(crd_alloc(edge[0] * edge[1] * edge[2], sizeof *piece, "converting voxels", &piece));
    for (int64_t z = 0; z < box->size[0]; z += edge[0]) {
        for (int64_t y = 0; y < box->size[1]; y += edge[1]) {
            for (int64_t x = 0; x < box->size[2]; x += edge[2]) {
                const int64_t at[3] = {z, y, x};
                crd_box part;
                for (int i = 0; i < 3; i++) {
                    part.origin[i] = box->origin[i] + at[i];
                    part.size[i] = box->size[i] - at[i] < edge[i] ? box->size[i] - at[i] : edge[i];
                }
                CRD_TRY(volume->format->read(volume, &part, piece));
                for (int64_t row = 0; row < part.size[0] * part.size[1]; row++) {
                    const int64_t line = (z + row / part.size[1]) * box->size[1] + y + row % part.size[1];
                    crd_to_float(volume->info.type, piece + row * part.size[2], part.size[2], CRD_F32,
                                 voxels + line * box->size[2] + x);
                }
            }
        }
    }
done:
    crd_free(&piece);
    return status;
}

crd_status crd_volume_read(crd_volume *volume, const crd_box *box, crd_type as, void *voxels)
{
    const crd_type type = volume->info.type;
    if (volume->write_path != NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is being written and can't be read", volume->path);
    }
    if (as != type && as != CRD_F32 && as != CRD_F64) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s holds %s; it can be read as that, as f32 or as f64, not as %s",
                        volume->path, crd_type_name(type), crd_type_name(as));
    }
    CRD_PASS(crd_volume_check_box(volume, box));
    if (as == type) return volume->format->read(volume, box, voxels);
    if (crd_type_size(as) < crd_type_size(type)) return read_narrowed(volume, box, voxels);
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    char *end = (char *)voxels + (size_t)count * (crd_type_size(as) - crd_type_size(type));
    CRD_PASS(volume->format->read(volume, box, end));
    crd_shared_step((int)type, count, as, voxels);
    return CRD_OK;
}

crd_status crd_volume_write(crd_volume *volume, const crd_box *box, const void *voxels)
{
    if (volume->write_path == NULL || volume->committed) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is not open for writing", volume->path);
    }
    CRD_PASS(crd_volume_check_box(volume, box));
    const crd_status status = volume->format->write(volume, box, voxels);
    if (status != CRD_OK) volume->failed = true;
    return status;
}

crd_status crd_volume_commit(crd_volume *volume)
{
    if (volume->write_path == NULL || volume->committed) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is not open for writing", volume->path);
    }
    if (volume->failed) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s can't be finished: writing to it failed before", volume->path);
    }
    volume->failed = true;
    CRD_PASS(volume->format->finish(volume));
    if (!volume->in_place) CRD_PASS(crd_replace_file(volume->write_path, volume->file));
    if (volume->format->describe != NULL) CRD_PASS(volume->format->describe(volume));
    volume->failed = false;
    volume->committed = true;
    return CRD_OK;
}

void crd_volume_close(crd_volume **volume)
{
    crd_volume *v = *volume;
    if (v == NULL) return;
    if (v->lent) crd_lent_end(v);
    if (v->format != NULL && v->format->close != NULL) v->format->close(v);
    if (v->write_path != NULL && !v->committed && !v->in_place && !v->staged) {
        if (v->format != NULL && v->format->folder) {
            (void)v->format->remove(v->write_path);
        } else {
            (void)unlink(v->write_path);
        }
    }
    crd_block_cache_free(&v->cache);
    for (int i = 0; i < 3; i++) crd_free(&v->option_texts[i]);
    crd_free(&v->write_path);
    crd_free(&v->file);
    crd_free(&v->path);
    crd_free(volume);
}
