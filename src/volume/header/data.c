#include "volume/header/data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "volume/outside_link.h"
#include "volume/types.h"

/* ---- the file beside a header ---- */

static bool leads_outside(const char *name)
{
    if (name[0] == '/' || name[0] == '~' || strchr(name, '\\') != NULL) return true;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return true;
    }
    return false;
}

crd_status crd_header_data_path(const char *header, const char *name, size_t length, const crd_monitor *monitor,
                                char **out)
{
    crd_status status = CRD_OK;
    char *folder = NULL, *copy = NULL, *path = NULL;
    CRD_TRY(crd_alloc((int64_t)length + 1, 1, "a file name", &copy));
    memcpy(copy, name, length);
    if (length == 0 || strlen(copy) != length) CRD_FAIL(CRD_ERR_FORMAT, "%s names no file for its voxels", header);
    if (leads_outside(copy)) {
        CRD_FAIL(
            CRD_ERR_FORMAT,
            "%s wants to take its voxels from '%s', which isn't in its own folder; move that file beside the header "
            "and write its bare name into it, or read it with --shape and --type",
            header, copy);
    }
    CRD_TRY(crd_folder_of(header, &folder));
    if (strchr(header, '/') != NULL) {
        CRD_TRY(crd_join_path(folder, copy, "", &path));
    } else {
        CRD_TRY(crd_strdup(copy, &path));
    }
    if (access(path, R_OK) != 0) {
        status = crd_fail_errno("%s takes its voxels from %s, which can't be opened", header, path);
        goto done;
    }
    crd_tell_link(header, folder, path, monitor);
    *out = path;
    path = NULL;
done:
    crd_free(&folder);
    crd_free(&copy);
    crd_free(&path);
    return status;
}

/* ---- writing ---- */

static crd_status make_data_path(const char *header, const char *data_suffix, char **out)
{
    const char *slash = strrchr(header, '/'), *dot = strrchr(header, '.');
    const size_t stem = dot != NULL && (slash == NULL || dot > slash + 1) ? (size_t)(dot - header) : strlen(header);
    const size_t bytes = stem + strlen(data_suffix) + 1;
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a file name", out));
    snprintf(*out, bytes, "%.*s%s", (int)stem, header, data_suffix);
    return CRD_OK;
}

/* Does a header lie there that a process which was killed between the two names had written? Then the voxels are ours.
 */
static bool header_was_due(const char *header)
{
    crd_status status = CRD_OK;
    char *folder = NULL;
    bool due = false;
    const char *slash = strrchr(header, '/'), *name = slash != NULL ? slash + 1 : header;
    const size_t length = strlen(name);
    if (crd_folder_of(header, &folder) != CRD_OK) return false;
    DIR *listing = crd_open_folder(folder);
    for (const struct dirent *entry; listing != NULL && (entry = crd_next_entry(listing, folder, &status)) != NULL;) {
        const char *found = entry->d_name;
        due = due || (found[0] == '.' && strncmp(found + 1, name, length) == 0 &&
                      strncmp(found + 1 + length, ".tmp.", 5) == 0);
    }
    if (listing != NULL) (void)closedir(listing);
    crd_free(&folder);
    return due;
}

static crd_status name_data(crd_volume *volume, const char *data_suffix, crd_header_data *data)
{
    CRD_PASS(make_data_path(volume->file, data_suffix, &data->path));
    if (!volume->over && !volume->staged && access(data->path, F_OK) == 0 && access(volume->file, F_OK) != 0 &&
        !header_was_due(volume->file)) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s would keep its voxels in %s, and there is such a file already; choose another name",
                        volume->file, data->path);
    }
    data->staged = volume->staged;
    return volume->staged ? make_data_path(volume->write_path, data_suffix, &data->temporary)
                          : crd_temporary_name(data->path, &data->temporary);
}

/* `head` is NULL where the voxels have a file of their own. */
static crd_status open_data(crd_volume *volume, const char *head, int level, const crd_header_style *style)
{
    crd_status status = CRD_OK;
    crd_header_data *data = NULL;
    const bool packed = level > 0;
    CRD_TRY(crd_alloc(1, sizeof *data, "a volume", &data));
    data->packing = packed ? style->packing : CRD_PACKING_NONE;
    if (head == NULL) CRD_TRY(name_data(volume, packed ? style->packed : style->plain, data));
    const crd_array_plan plan = {
        .temporary = head != NULL ? volume->write_path : data->temporary,
        .shown = head != NULL ? volume->file : data->path,
        .info = &volume->info,
        .packing = data->packing,
        .level = level,
        .head = head,
        .head_bytes = head != NULL ? strlen(head) : 0,
        .staged = volume->staged,
    };
    CRD_TRY(crd_array_create(&plan, &data->array));
    volume->in_order = packed;
    volume->state = data;
    data = NULL;
done:
    crd_header_data_close(&data);
    return status;
}

crd_status crd_header_data_create(crd_volume *volume, const crd_volume_options *options, const crd_header_style *style)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *head = NULL;
    if (!crd_path_ends_in(volume->file, style->detached)) {
        style->write(&volume->info, options->compress > 0 ? 0 : -1, NULL, &text);
        CRD_TRY(crd_text_finish(&text, &head));
    }
    CRD_TRY(open_data(volume, head, options->compress, style));
done:
    crd_text_free(&text);
    crd_free(&head);
    return status;
}

/* The data file's name as the header says it: without a folder. */
static const char *name_of(const crd_header_data *data)
{
    if (data->path == NULL) return NULL;
    const char *slash = strrchr(data->path, '/');
    return slash != NULL ? slash + 1 : data->path;
}

static crd_status place_both(crd_volume *volume, crd_header_data *data, const char *head)
{
    if (data->path == NULL) {
        CRD_PASS(crd_array_write_head(data->array, 0, head, strlen(head)));
        return crd_array_finish(data->array);
    }
    CRD_PASS(crd_array_finish(data->array));
    CRD_PASS(crd_write_file(volume->write_path, head, strlen(head)));
    /* An earlier header must not describe the new voxels, whatever happens before its own takes its place. */
    if (unlink(volume->file) != 0 && errno != ENOENT) return crd_fail_errno("%s can't be replaced", volume->file);
    const crd_status status = crd_replace_file(data->temporary, data->path);
    data->placed = access(data->temporary, F_OK) != 0;
    if (data->placed) crd_free(&data->temporary);
    return status;
}

crd_status crd_header_data_finish(crd_volume *volume, const crd_header_style *style)
{
    crd_status status = CRD_OK;
    crd_header_data *data = volume->state;
    crd_text text = {0};
    char *head = NULL;
    int64_t packed_bytes;
    CRD_TRY(crd_array_end_stream(data->array, &packed_bytes));
    style->write(&volume->info, data->packing != CRD_PACKING_NONE ? packed_bytes : -1, name_of(data), &text);
    CRD_TRY(crd_text_finish(&text, &head));
    CRD_TRY(place_both(volume, data, head));
done:
    crd_text_free(&text);
    crd_free(&head);
    return status;
}

void crd_header_data_close(crd_header_data **data)
{
    if (*data == NULL) return;
    crd_array_close(&(*data)->array);
    if ((*data)->temporary != NULL && !(*data)->staged) (void)unlink((*data)->temporary);
    crd_free(&(*data)->temporary);
    crd_free(&(*data)->path);
    crd_free(data);
}

crd_status crd_header_data_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    return crd_array_read(((crd_header_data *)volume->state)->array, box, voxels);
}

crd_status crd_header_data_write(crd_volume *volume, const crd_box *box, const void *voxels)
{
    return crd_array_write(((crd_header_data *)volume->state)->array, box, voxels);
}

crd_status crd_header_data_sync(crd_volume *volume)
{
    return crd_array_sync(((crd_header_data *)volume->state)->array);
}

const char *crd_header_data_file(const crd_volume *volume, int64_t index)
{
    const crd_header_data *data = volume->state;
    if (index > 0) return NULL;
    return data->path != NULL ? data->path : crd_array_file(data->array);
}

void crd_header_data_close_volume(crd_volume *volume)
{
    crd_header_data *data = volume->state;
    /* Voxels alone would be in the way of the next try. */
    if (data != NULL && data->placed && !data->staged && !volume->committed && access(volume->file, F_OK) != 0) {
        (void)unlink(data->path);
    }
    crd_header_data_close(&data);
    volume->state = NULL;
}

void crd_header_data_tell(const crd_volume *volume, const crd_header_data *data, int64_t spare_bytes, bool turned,
                          int stored, const char *data_path, const crd_monitor *monitor)
{
    crd_array_tell_packed(data->array, monitor);
    if (spare_bytes > 0) {
        crd_warn(monitor, "%s has %lld bytes behind its voxels; they are ignored", data_path, (long long)spare_bytes);
    }
    if (turned) {
        crd_warn(monitor, "%s is turned or mirrored in its space; credence keeps the voxels' edges and not the turn",
                 volume->file);
    }
    if (stored == CRD_STORED_I64) {
        crd_info(monitor, "%s holds 64-bit integers, which are read as f64 (exact up to 2^53)", volume->file);
    }
}
