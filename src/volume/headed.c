#include "volume/headed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/report.h"
#include "credence/number.h"
#include "volume/types.h"

/* ---- text ---- */

crd_status crd_headed_text(const char *path, char **out, size_t *bytes)
{
    crd_status status = CRD_OK;
    int64_t length = 0;
    char *text = NULL;
    int fd = -1;
    CRD_TRY(crd_open_plain(path, &fd, &length));
    *bytes = length < CRD_HEADER_LIMIT ? (size_t)length : CRD_HEADER_LIMIT;
    CRD_TRY(crd_alloc((int64_t)*bytes + 1, 1, "a header", &text));
    CRD_TRY(crd_read_at(fd, path, 0, text, *bytes));
    *out = text;
    text = NULL;
done:
    if (fd >= 0) (void)close(fd);
    crd_free(&text);
    return status;
}

bool crd_next_line(const char **at, const char *end, const char **line, size_t *length)
{
    if (*at >= end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *at = stop != NULL ? stop + 1 : end;
    if (stop == NULL) stop = end;
    if (stop > *line && stop[-1] == '\r') stop--;
    *length = (size_t)(stop - *line);
    return true;
}

void crd_trim(const char **text, size_t *length)
{
    while (*length > 0 && (**text == ' ' || **text == '\t')) ++*text, --*length;
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\t')) --*length;
}

const char *crd_next_word(const char **text, size_t *length, size_t *word)
{
    crd_trim(text, length);
    const char *start = *text;
    for (*word = 0; *word < *length && start[*word] != ' ' && start[*word] != '\t';) ++*word;
    *text += *word, *length -= *word;
    return *word > 0 ? start : NULL;
}

int crd_take_reals(const char *text, size_t length, double *out, int most)
{
    size_t word;
    int count = 0;
    for (const char *start; (start = crd_next_word(&text, &length, &word)) != NULL; count++) {
        if (count == most || !crd_parse_real(start, word, &out[count])) return -1;
    }
    return count;
}

int crd_take_ints(const char *text, size_t length, int64_t *out, int most)
{
    size_t word;
    int count = 0;
    for (const char *start; (start = crd_next_word(&text, &length, &word)) != NULL; count++) {
        if (count == most || !crd_parse_int(start, word, &out[count])) return -1;
    }
    return count;
}

bool crd_is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

bool crd_names_several(const char *text, size_t length)
{
    size_t word;
    if (memchr(text, '%', length) != NULL) return true;
    const char *first = crd_next_word(&text, &length, &word);
    return first != NULL && crd_is_word(first, word, "LIST");
}

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

void crd_tell_link(const char *shown, const char *folder, const char *path, const crd_monitor *monitor)
{
    char *real_folder = realpath(folder, NULL), *real_path = realpath(path, NULL);
    const size_t length = real_folder != NULL ? strlen(real_folder) : 0;
    if (length > 0 && real_path != NULL &&
        (strncmp(real_folder, real_path, length) != 0 || (real_path[length] != '/' && length > 1))) {
        crd_warn(monitor, "%s takes its voxels from %s, a link to %s outside its folder", shown, path, real_path);
    }
    free(real_folder);
    free(real_path);
}

crd_status crd_headed_data_path(const char *header, const char *name, size_t length, const crd_monitor *monitor,
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

static crd_status name_data(crd_volume *volume, const char *data_suffix, crd_headed *headed)
{
    CRD_PASS(make_data_path(volume->file, data_suffix, &headed->data_path));
    if (!volume->over && access(headed->data_path, F_OK) == 0 && access(volume->file, F_OK) != 0) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s would keep its voxels in %s, and there is such a file already; choose another name",
                        volume->file, headed->data_path);
    }
    return crd_temporary_name(headed->data_path, &headed->data_temporary);
}

crd_status crd_headed_create(crd_volume *volume, const char *head, const char *data_suffix, crd_packing packing,
                             int level, crd_headed **out)
{
    crd_status status = CRD_OK;
    crd_headed *headed = NULL;
    CRD_TRY(crd_alloc(1, sizeof *headed, "a volume", &headed));
    headed->packing = packing;
    if (head == NULL) CRD_TRY(name_data(volume, data_suffix, headed));
    const crd_array_plan plan = {
        .temporary = head != NULL ? volume->write_path : headed->data_temporary,
        .shown = head != NULL ? volume->file : headed->data_path,
        .info = &volume->info,
        .packing = packing,
        .level = level,
        .head = head,
        .head_bytes = head != NULL ? strlen(head) : 0,
    };
    CRD_TRY(crd_array_create(&plan, &headed->array));
    volume->in_order = packing != CRD_PACKING_NONE;
    *out = headed;
    headed = NULL;
done:
    crd_headed_close(&headed);
    return status;
}

const char *crd_headed_data_name(const crd_headed *headed)
{
    if (headed->data_path == NULL) return NULL;
    const char *slash = strrchr(headed->data_path, '/');
    return slash != NULL ? slash + 1 : headed->data_path;
}

crd_status crd_headed_end(crd_headed *headed, int64_t *packed_bytes)
{
    return crd_array_end_stream(headed->array, packed_bytes);
}

crd_status crd_headed_finish(crd_volume *volume, crd_headed *headed, const char *head)
{
    if (headed->data_path == NULL) {
        CRD_PASS(crd_array_write_head(headed->array, 0, head, strlen(head)));
        return crd_array_finish(headed->array);
    }
    CRD_PASS(crd_array_finish(headed->array));
    CRD_PASS(crd_write_file(volume->write_path, head, strlen(head)));
    /* An earlier header must not describe the new voxels, whatever happens before its own takes its place. */
    if (unlink(volume->file) != 0 && errno != ENOENT) return crd_fail_errno("%s can't be replaced", volume->file);
    CRD_PASS(crd_replace_file(headed->data_temporary, headed->data_path));
    crd_free(&headed->data_temporary);
    return CRD_OK;
}

void crd_headed_close(crd_headed **headed)
{
    if (*headed == NULL) return;
    crd_array_close(&(*headed)->array);
    if ((*headed)->data_temporary != NULL) (void)unlink((*headed)->data_temporary);
    crd_free(&(*headed)->data_temporary);
    crd_free(&(*headed)->data_path);
    crd_free(headed);
}

crd_status crd_headed_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    return crd_array_read(((crd_headed *)volume->state)->array, box, voxels);
}

crd_status crd_headed_write(crd_volume *volume, const crd_box *box, const void *voxels)
{
    return crd_array_write(((crd_headed *)volume->state)->array, box, voxels);
}

const char *crd_headed_data_file(const crd_volume *volume, int64_t index)
{
    const crd_headed *headed = volume->state;
    if (index > 0) return NULL;
    return headed->data_path != NULL ? headed->data_path : crd_array_file(headed->array);
}

void crd_headed_close_volume(crd_volume *volume)
{
    crd_headed *headed = volume->state;
    crd_headed_close(&headed);
    volume->state = NULL;
}

void crd_headed_tell(const crd_volume *volume, const crd_headed *headed, int64_t spare_bytes, bool turned, int stored,
                     const char *data_path, const crd_monitor *monitor)
{
    crd_array_tell_packed(headed->array, monitor);
    if (spare_bytes > 0) {
        crd_warn(monitor, "%s has %lld bytes behind its voxels; they are ignored", data_path, (long long)spare_bytes);
    }
    if (turned) {
        crd_warn(monitor, "%s is turned or mirrored in its space; credence keeps the voxels' edges and not the turn",
                 volume->file);
    }
    if (stored == CRD_STORED_I64 || stored == CRD_STORED_U64) {
        crd_info(monitor, "%s holds 64-bit integers, which are read as f64 (exact up to 2^53)", volume->file);
    }
}
