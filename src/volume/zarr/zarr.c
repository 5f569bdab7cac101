/* OME-Zarr 0.4 and 0.5: a folder with the image's levels as zarr arrays (of version 2 and 3). Any level can be opened
 * by its own path; so can an array without OME's attributes. */
#include "volume/zarr/zarr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "volume/outside_link.h"
#include "volume/types.h"
#include "volume/zarr/pyramid.h"

typedef struct zarr_state {
    crd_zarr_array *array;
    /* while writing */
    crd_zarr_form form;
    int levels;
    int64_t shapes[CRD_ZARR_LEVELS][3], factors[CRD_ZARR_LEVELS][3];
} zarr_state;

static bool has(const char *folder, const char *name)
{
    char *path = NULL;
    const bool there = crd_join_path(folder, name, "", &path) == CRD_OK && access(path, F_OK) == 0;
    crd_free(&path);
    return there;
}

static bool is_folder(const char *path, size_t count)
{
    struct stat about;
    return count == 0 && stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool zarr2_sniff(const char *path, const unsigned char *head, size_t count)
{
    (void)head;
    return is_folder(path, count) && (has(path, ".zarray") || has(path, ".zattrs") || has(path, ".zgroup"));
}

static bool zarr3_sniff(const char *path, const unsigned char *head, size_t count)
{
    (void)head;
    return is_folder(path, count) && has(path, "zarr.json");
}

int crd_zarr_version(const char *format)
{
    return strcmp(format, crd_format_zarr.name) == 0 ? 2 : strcmp(format, crd_format_zarr3.name) == 0 ? 3 : 0;
}

static int version_of(const crd_volume *volume)
{
    return crd_zarr_version(volume->format->name);
}

/* ---- reading ---- */

/* The attributes of a folder; none is fine. */
static crd_status read_attributes(const char *folder, const char *level, crd_zarr_attributes *out)
{
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    size_t bytes = 0;
    *out = (crd_zarr_attributes){.info = {.scale = 1.0}};
    const int version = !has(folder, ".zattrs") && has(folder, "zarr.json") ? 3 : 2;
    CRD_TRY(crd_join_path(folder, crd_zarr_group_file(version), "", &path));
    if (access(path, F_OK) != 0) goto done;
    CRD_TRY(crd_read_file(path, CRD_ZARR_GROUP_LIMIT, &text, &bytes));
    CRD_TRY(crd_zarr_attributes_parse(folder, version, text, bytes, level, out));
done:
    crd_free(&path);
    crd_free(&text);
    return status;
}

/* The attributes that speak of an array by its name, in the folder above it. */
static crd_status attributes_above(const char *folder, crd_zarr_attributes *out)
{
    crd_status status = CRD_OK;
    char *above = NULL;
    *out = (crd_zarr_attributes){.info = {.scale = 1.0}};
    CRD_TRY(crd_strdup(folder, &above));
    for (size_t n = strlen(above); n > 1 && above[n - 1] == '/'; n--) above[n - 1] = '\0';
    char *slash = strrchr(above, '/');
    if (slash == NULL || slash == above) {
        CRD_TRY(read_attributes(slash == NULL ? "." : "/", slash == NULL ? above : slash + 1, out));
    } else {
        *slash = '\0';
        CRD_TRY(read_attributes(above, slash + 1, out));
    }
done:
    crd_free(&above);
    return status;
}

/* A level lies below its group: no way up, no way elsewhere. */
static bool is_below(const char *path)
{
    if (path[0] == '\0' || path[0] == '/' || strchr(path, '\\') != NULL) return false;
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
    }
    return true;
}

crd_status crd_zarr_missing_level(const char *path)
{
    crd_status status = CRD_OK;
    char *level = NULL, *group = NULL;
    int levels = 0;
    CRD_TRY(crd_strdup(path, &level));
    for (size_t n = strlen(level); n > 1 && level[n - 1] == '/'; n--) level[n - 1] = '\0';
    CRD_TRY(crd_folder_of(level, &group));
    const char *slash = strrchr(level, '/'), *name = slash != NULL ? slash + 1 : level;
    if (!has(group, ".zattrs") && !has(group, "zarr.json")) goto done;
    for (char layout[2][32]; levels < CRD_ZARR_LEVELS; levels++) {
        (void)snprintf(layout[0], sizeof layout[0], "%d/.zarray", levels);
        (void)snprintf(layout[1], sizeof layout[1], "%d/zarr.json", levels);
        if (!has(group, layout[0]) && !has(group, layout[1])) break;
    }
    if (levels == 1) status = crd_fail(CRD_ERR_ARGUMENT, "%s has no level %s; 0 is its only one", group, name);
    if (levels > 1) status = crd_fail(CRD_ERR_ARGUMENT, "%s has no level %s; it has 0 to %d", group, name, levels - 1);
done:
    crd_free(&level);
    crd_free(&group);
    return status;
}

/* The folder of the array that `path` means, and what is said about it. */
static crd_status find_array(const char *path, crd_zarr_attributes *about, char **out)
{
    crd_status status = CRD_OK;
    char *series = NULL;
    crd_zarr_node node;
    CRD_TRY(crd_zarr_look(path, &node));
    if (node.array) {
        CRD_TRY(attributes_above(path, about));
        CRD_TRY(crd_strdup(path, out));
        goto done;
    }
    CRD_TRY(read_attributes(path, NULL, about));
    if (!about->multiscales) { /* converted by bioformats2raw: images in folders that are called 0, 1, ... */
        CRD_TRY(crd_join_path(path, "0", "", &series));
        CRD_TRY(read_attributes(series, NULL, about));
    }
    if (!about->multiscales) {
        CRD_FAIL(CRD_ERR_FORMAT,
                 "%s is a zarr group without an OME-Zarr image; give the path of one of the arrays in it", path);
    }
    if (!about->found || !is_below(about->path)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s has a broken %s: its first level '%.80s' isn't a place below it", path,
                 crd_zarr_group_file(node.version), about->path);
    }
    CRD_TRY(crd_join_path(series != NULL ? series : path, about->path, "", out));
    CRD_TRY(crd_zarr_look(*out, &node));
    if (!node.array) CRD_FAIL(CRD_ERR_FORMAT, "%s lacks its level %s", path, about->path);
done:
    crd_free(&series);
    return status;
}

/* Files that aren't there are no mistake in zarr, and in a copy that was cut short they are. */
static crd_status tell_absent(const crd_volume *volume, crd_zarr_array *array, const crd_monitor *monitor)
{
    const crd_zarr_layout *layout = crd_zarr_array_layout(array);
    int64_t absent, looked;
    if (monitor == NULL) return CRD_OK;
    CRD_PASS(crd_zarr_array_absent(array, &absent, &looked));
    if (absent == 0) return CRD_OK;
    crd_info(monitor,
             "%s: %.3g %% of its %s files aren't there; their voxels read as %g. That is how zarr leaves out what was "
             "never written, and how a copy looks that was cut short",
             volume->file, 100.0 * (double)absent / (double)looked, layout->sharded ? "shards'" : "chunks'",
             layout->fill);
    return CRD_OK;
}

/* Of several images the first is meant, as converters have it. */
static void tell_others(const crd_volume *volume, const char *folder, const crd_monitor *monitor)
{
    char *next = NULL;
    const size_t root = strlen(volume->file);
    const bool below = strncmp(folder + root, "/0/", 3) == 0 || strncmp(folder + root, "0/", 2) == 0;
    crd_zarr_attributes about;
    if (monitor == NULL || !below || crd_join_path(volume->file, "1", "", &next) != CRD_OK) return;
    if (read_attributes(next, NULL, &about) == CRD_OK && about.multiscales) {
        crd_info(monitor, "%s holds several images: the first is read; %s is the next one", volume->file, next);
    }
    crd_free(&next);
}

/* What an array of version 2 says of itself lies beside it. */
static crd_status check_own_attributes(const char *folder, int version)
{
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    size_t bytes = 0;
    if (version != 2 || !has(folder, ".zattrs")) return CRD_OK;
    CRD_TRY(crd_join_path(folder, ".zattrs", "", &path));
    CRD_TRY(crd_read_file(path, CRD_ZARR_GROUP_LIMIT, &text, &bytes));
    CRD_TRY(crd_zarr_array_attributes_check(folder, text, bytes));
done:
    crd_free(&path);
    crd_free(&text);
    return status;
}

static crd_status zarr_open(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    zarr_state *state = NULL;
    crd_zarr_attributes about;
    char *folder = NULL;
    (void)options;
    CRD_TRY(find_array(volume->file, &about, &folder));
    if (strcmp(folder, volume->file) != 0) crd_tell_link(volume->file, volume->file, folder, monitor);
    CRD_TRY(crd_alloc(1, sizeof *state, "a volume", &state));
    CRD_TRY(crd_zarr_array_open(folder, volume->cache_bytes, &volume->cache, &state->array));
    const crd_zarr_layout *layout = crd_zarr_array_layout(state->array);
    CRD_TRY(check_own_attributes(folder, layout->version));
    volume->info = about.info;
    memcpy(volume->info.shape, layout->shape, sizeof layout->shape);
    volume->info.type = crd_stored_widened(layout->stored);
    volume->layer = layout->chunk[0];
    if (about.incomplete) {
        crd_warn(monitor,
                 "%s isn't complete: it is still being written, or that was interrupted; what is missing reads as 0",
                 volume->file);
    }
    if (!about.incomplete) CRD_TRY(tell_absent(volume, state->array, monitor));
    if (!about.incomplete) tell_others(volume, folder, monitor);
    if (layout->stored == CRD_STORED_I64) {
        crd_info(monitor, "%s holds 64-bit integers, which are read as f64 (exact up to 2^53)", volume->file);
    }
    volume->state = state;
    state = NULL;
done:
    if (state != NULL) crd_zarr_array_close(&state->array);
    crd_free(&state);
    crd_free(&folder);
    return status;
}

static crd_status zarr_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    return crd_zarr_array_read(((zarr_state *)volume->state)->array, box, volume->read_once, voxels);
}

/* ---- writing ---- */

static crd_status write_text(const char *folder, const char *name, const char *words)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_join_path(folder, name, "", &path));
    CRD_TRY(crd_write_file(path, words, strlen(words)));
done:
    crd_free(&path);
    return status;
}

static crd_status write_attributes(const crd_volume *volume, int levels, bool complete)
{
    crd_status status = CRD_OK;
    const zarr_state *state = volume->state;
    const char *slash = strrchr(volume->file, '/');
    crd_text text = {0};
    char *words = NULL, *name = NULL;
    CRD_TRY(crd_strdup(slash != NULL ? slash + 1 : volume->file, &name));
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name) *dot = '\0';
    crd_zarr_attributes_write(version_of(volume), &volume->info, name, levels, state->factors, complete, &text);
    CRD_TRY(crd_text_finish(&text, &words));
    CRD_TRY(write_text(volume->write_path, crd_zarr_group_file(version_of(volume)), words));
done:
    crd_text_free(&text);
    crd_free(&words);
    crd_free(&name);
    return status;
}

static crd_status sync_all(crd_volume *volume)
{
    return crd_sync_tree(volume->write_path, volume->file);
}

/* What grows has a file for each chunk, so that chunks appear at once. */
static crd_status begin(crd_volume *volume, int compress, int levels, bool grows)
{
    crd_status status = CRD_OK;
    zarr_state *state = NULL;
    char *folder = NULL;
    CRD_TRY(crd_alloc(1, sizeof *state, "a volume", &state));
    volume->state = state;
    state->form.version = version_of(volume);
    state->form.level = compress;
    state->form.codec = compress > 0 ? crd_zarr_codec_preferred(state->form.version) : CRD_ZARR_RAW;
    state->form.shards = !grows && state->form.version == 3;
    if (grows || volume->info.type == CRD_U64) levels = 1; /* words of bits have no mean */
    state->levels = crd_zarr_pyramid_plan(volume->info.shape, levels, state->shapes, state->factors);
    CRD_TRY(crd_make_folders(volume->write_path));
    CRD_TRY(crd_join_path(volume->write_path, "0", "", &folder));
    CRD_TRY(crd_zarr_array_create(folder, &volume->info, &state->form, grows, &state->array));
    if (state->form.version == 2) {
        CRD_TRY(write_text(volume->write_path, ".zgroup", "{\n    \"zarr_format\": 2\n}\n"));
    }
    CRD_TRY(write_attributes(volume, 1, false));
    volume->layer = crd_zarr_array_layout(state->array)->chunk[0];
done:
    crd_free(&folder);
    return status;
}

static crd_status zarr_create(crd_volume *volume, const crd_volume_options *options)
{
    if (volume->staged) return begin(volume, 0, 1, true);
    return begin(volume, options->compress, options->levels, false);
}

static crd_status zarr_write(crd_volume *volume, const crd_box *box, const void *voxels)
{
    return crd_zarr_array_write(((zarr_state *)volume->state)->array, box, voxels);
}

static crd_status zarr_finish(crd_volume *volume)
{
    zarr_state *state = volume->state;
    CRD_PASS(crd_zarr_array_finish(state->array));
    CRD_PASS(crd_zarr_pyramid_build(volume->write_path, &volume->info, &state->form, state->levels, state->shapes));
    if (volume->staged) CRD_PASS(crd_zarr_sweep(volume->write_path));
    CRD_PASS(sync_all(volume)); /* chunks first: `complete` is only said of what is there */
    CRD_PASS(write_attributes(volume, state->levels, true));
    return sync_all(volume);
}

static void zarr_close(crd_volume *volume)
{
    zarr_state *state = volume->state;
    if (state != NULL) crd_zarr_array_close(&state->array);
    crd_free(&state);
    volume->state = NULL;
}

int64_t crd_zarr_layer(const crd_volume *volume)
{
    return volume->layer;
}

bool crd_zarr_has_layer(crd_volume *volume, int64_t layer)
{
    return crd_zarr_array_has_layer(((zarr_state *)volume->state)->array, layer);
}

static crd_status grow(crd_volume *volume)
{
    crd_status status = CRD_OK;
    CRD_TRY(crd_strdup(volume->file, &volume->write_path));
    CRD_TRY(begin(volume, 0, 1, true));
done:
    return status;
}

crd_status crd_zarr_grow(const char *path, int version, const crd_volume_info *info, crd_volume **out)
{
    return crd_volume_create_in_place(path, info, version == 3 ? &crd_format_zarr3 : &crd_format_zarr, grow, out);
}

crd_status crd_zarr_make_room(const char *path, int version)
{
    return has(path, version == 3 ? ".zgroup" : "zarr.json") ? crd_zarr_remove(path) : CRD_OK;
}

#define FUNCTIONS                                                                                                      \
    .any_order = true, .folder = true, .open = zarr_open, .read = zarr_read, .create = zarr_create,                    \
    .write = zarr_write, .sync = sync_all, .finish = zarr_finish, .remove = crd_zarr_remove, .close = zarr_close

const crd_format crd_format_zarr = {.name = "zarr", .suffixes = ".zarr .ome.zarr", .sniff = zarr2_sniff, FUNCTIONS};

/* Its files have the same names; where a name alone decides, as it does when writing, that is the older one's. */
const crd_format crd_format_zarr3 = {.name = "zarr3", .suffixes = ".zarr .ome.zarr", .sniff = zarr3_sniff, FUNCTIONS};
