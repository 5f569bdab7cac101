#include "predict/folder.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "predict/manifest.h"
#include "predict/output.h"

/* The volumes that are begun or will be, in the manifest's form. It is there from before the first of them until after
 * the last is removed, so that a run that was killed at any moment can still be cleared away. */
static const char list_name[] = ".partial/" CRD_PARTIAL_LIST;

typedef struct content {
    bool anything, manifest;
    bool begun;   /* a run got as far as making its folder for what is unfinished */
    bool partial; /* there is something to go on with in it */
} content;

/* What is there, apart from our lock. Leftovers of a writer that was killed are removed on the way. */
static crd_status look(const crd_request *request, const char *path, content *out)
{
    crd_status status = CRD_OK;
    char *manifest = NULL;
    cJSON *root = NULL;
    const size_t name_length = strlen(request->name);
    DIR *listing = opendir(path);
    memset(out, 0, sizeof *out);
    if (listing == NULL) return crd_fail_errno("can't look into %s", path);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".lock") == 0) continue;
        const bool ours = strncmp(name + 1, request->name, name_length) == 0 ||
                          strncmp(name, ".manifest.json", 14) == 0 || strncmp(name, ".probe.h5", 9) == 0;
        if (name[0] == '.' && ours && strstr(name, ".tmp.") != NULL) {
            if (unlinkat(dirfd(listing), name, 0) != 0) {
                status = crd_fail_errno("can't remove %s/%s", path, name);
                break;
            }
            continue;
        }
        out->anything = true;
        if (strcmp(name, ".partial") == 0) out->begun = true;
    }
    struct stat about;
    out->partial = fstatat(dirfd(listing), ".partial/run.json", &about, 0) == 0;
    (void)closedir(listing);
    CRD_TRY(status);
    CRD_TRY(crd_join_path(path, "manifest.json", "", &manifest));
    if (access(manifest, F_OK) != 0) goto done;
    CRD_TRY(crd_manifest_parse(manifest, &root)); /* other programs have files of that name, too */
    out->manifest = true;
done:
    cJSON_Delete(root);
    crd_free(&manifest);
    return status;
}

static crd_status not_empty(const char *path, const content *found)
{
    const char *what = ", and what it holds is no run; choose another folder";
    if (found->partial) {
        what =
            ": it holds a run that was interrupted, which --resume goes on with; choose another folder, or replace it "
            "with --overwrite";
    } else if (found->manifest) {
        what = ": it holds the result of an earlier run; choose another folder, or replace it with --overwrite";
    } else if (found->begun) {
        what = ": it holds the rest of an earlier run; choose another folder, or replace it with --overwrite";
    }
    return crd_fail(CRD_ERR_ARGUMENT, "%s is not empty%s", path, what);
}

static crd_status is_output(const crd_request *request, const char *file, bool *out)
{
    *out = false;
    for (int64_t i = 0; i < request->output_count && !*out; i++) {
        char *name = NULL;
        CRD_PASS(crd_output_name(request, &request->outputs[i], &name));
        *out = strcmp(name, file) == 0;
        crd_free(&name);
    }
    return CRD_OK;
}

/* What is done with the volumes that a manifest or list names, which may be anybody's. `own`: it is one of this run. */
typedef crd_status visit_volume(const crd_request *request, const char *path, bool own);

/* Only names of files in the folder itself are believed, and none of hidden ones. */
static crd_status visit_named(const char *folder, const cJSON *manifest, const crd_request *request,
                              visit_volume *visit)
{
    const cJSON *output = NULL;
    cJSON_ArrayForEach(output, cJSON_GetObjectItemCaseSensitive(manifest, "outputs"))
    {
        bool own = false;
        char *path = NULL;
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(output, "file"));
        if (name == NULL || name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL) continue;
        if (request != NULL) CRD_PASS(is_output(request, name, &own));
        CRD_PASS(crd_join_path(folder, name, "", &path));
        const crd_status status = visit(request, path, own);
        crd_free(&path);
        CRD_PASS(status);
    }
    return CRD_OK;
}

/* The same of the file `list` of the folder, where there is one. */
static crd_status visit_listed(const char *folder, const char *list, const crd_request *request, visit_volume *visit)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    cJSON *manifest = NULL;
    CRD_TRY(crd_join_path(folder, list, "", &path));
    if (access(path, F_OK) != 0) goto done;
    CRD_TRY(crd_manifest_parse(path, &manifest));
    CRD_TRY(visit_named(folder, manifest, request, visit));
done:
    cJSON_Delete(manifest);
    crd_free(&path);
    return status;
}

/* A volume of this run stays, but not what lies beside one that isn't there: it would be in the way of a new one. */
static crd_status remove_others(const crd_request *request, const char *path, bool own)
{
    struct stat about;
    (void)request;
    return own && lstat(path, &about) == 0 ? CRD_OK : crd_volume_remove(path);
}

/* Nothing that this run reads may be among what it clears away. */
static crd_status spare_inputs(const crd_request *request, const char *path, bool own)
{
    const crd_predict_options *o = request->options;
    const char *const inputs[] = {o->scan, o->model, crd_request_mask_file(request)};
    (void)own;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        if (inputs[i] == NULL || !crd_same_file(inputs[i], path)) continue;
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s is read by this run and belongs to the one that would be replaced; choose "
                        "another folder",
                        path);
    }
    return CRD_OK;
}

crd_status crd_run_folder_open(const crd_request *request, const crd_monitor *monitor, crd_run_folder *out)
{
    crd_status status = CRD_OK;
    const crd_predict_options *options = request->options;
    content found;
    char *lock = NULL;
    memset(out, 0, sizeof *out);
    out->path = options->output;
    if (out->path == NULL || out->path[0] == '\0') {
        CRD_FAIL(CRD_ERR_ARGUMENT, "a prediction needs a folder to be written to; name one with -o");
    }
    if (options->resume && options->overwrite) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "resume and overwrite exclude each other");
    }
    out->made = access(out->path, F_OK) != 0;
    CRD_TRY(crd_make_folders(out->path));
    CRD_TRY(crd_join_path(out->path, ".lock", "", &lock));
    CRD_TRY(crd_lock_take(lock, monitor, &out->lock));
    CRD_TRY(look(request, out->path, &found));
    if (options->resume) {
        out->resume = found.partial;
        out->complete = !found.partial && found.manifest;
        if (found.anything && !found.begun && !found.manifest) {
            CRD_FAIL(CRD_ERR_ARGUMENT,
                     "%s holds no run that --resume could go on with, but other files; choose another folder",
                     out->path);
        }
        if (!found.partial && !found.manifest)
            crd_info(monitor, "%s holds no run to go on with: it begins anew", out->path);
    } else if (found.anything && !options->overwrite) {
        status = not_empty(out->path, &found);
    } else if (found.anything && !found.begun && !found.manifest) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s holds no run that --overwrite could replace; choose another folder", out->path);
    }
    CRD_TRY(status);
    out->occupied = found.anything;
    if (out->complete) goto done;
    CRD_TRY(visit_listed(out->path, list_name, request, spare_inputs));
    CRD_TRY(visit_listed(out->path, "manifest.json", request, spare_inputs));
done:
    crd_free(&lock);
    return status;
}

static crd_status remove_file(const char *folder, const char *name)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_join_path(folder, name, "", &path));
    if (unlink(path) != 0 && errno != ENOENT) status = crd_fail_errno("can't remove %s", path);
done:
    crd_free(&path);
    return status;
}

/* From here on the run is no longer complete, and its manifest is the list of what is left to be removed. */
static crd_status set_manifest_aside(const char *folder)
{
    crd_status status = CRD_OK;
    char *manifest = NULL, *partial = NULL, *list = NULL;
    CRD_TRY(crd_join_path(folder, "manifest.json", "", &manifest));
    CRD_TRY(crd_join_path(folder, ".partial", "", &partial));
    CRD_TRY(crd_join_path(folder, list_name, "", &list));
    if (access(manifest, F_OK) != 0) goto done;
    CRD_TRY(crd_make_folders(partial));
    if (rename(manifest, list) != 0) status = crd_fail_errno("can't move %s to %s", manifest, list);
done:
    crd_free(&manifest);
    crd_free(&partial);
    crd_free(&list);
    return status;
}

crd_status crd_run_folder_clear(const crd_run_folder *folder)
{
    static const char *const others[] = {"log.jsonl", "probe.h5", "validation.json"};
    CRD_PASS(set_manifest_aside(folder->path));
    CRD_PASS(visit_listed(folder->path, list_name, NULL, remove_others));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) CRD_PASS(remove_file(folder->path, others[i]));
    return crd_partial_remove(folder->path);
}

static bool fill_list(const crd_request *request, cJSON *root)
{
    cJSON *outputs = NULL;
    if (cJSON_AddStringToObject(root, "format", "credence-run") == NULL) return false;
    if ((outputs = cJSON_AddArrayToObject(root, "outputs")) == NULL) return false;
    for (int64_t i = 0; i < request->output_count; i++) {
        cJSON *output = cJSON_CreateObject();
        char *name = NULL;
        if (!cJSON_AddItemToArray(outputs, output)) return false;
        if (crd_output_name(request, &request->outputs[i], &name) != CRD_OK) return false;
        const bool added = cJSON_AddStringToObject(output, "file", name) != NULL;
        crd_free(&name);
        if (!added) return false;
    }
    return true;
}

static crd_status write_list(const char *folder, const crd_request *request)
{
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    cJSON *root = cJSON_CreateObject();
    if (!fill_list(request, root)) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the list of volumes");
    CRD_TRY(crd_json_print(root, false, &text));
    CRD_TRY(crd_join_path(folder, list_name, "", &path));
    CRD_TRY(crd_write_file(path, text, strlen(text)));
done:
    crd_free(&text);
    cJSON_Delete(root);
    crd_free(&path);
    return status;
}

crd_status crd_run_folder_list(const crd_run_folder *folder, const crd_request *request)
{
    CRD_PASS(visit_listed(folder->path, list_name, request, remove_others));
    /* A run that was killed between its manifest and its end: the manifest will be written anew. */
    CRD_PASS(visit_listed(folder->path, "manifest.json", request, remove_others));
    CRD_PASS(remove_file(folder->path, "manifest.json"));
    return write_list(folder->path, request);
}

void crd_run_folder_close(crd_run_folder *folder)
{
    const bool ours = folder->lock != NULL;
    crd_lock_release(&folder->lock);
    if (ours && folder->made) (void)rmdir(folder->path); /* fails, as it should, where something was written */
}

/* Bytes on disk of the finished slices that are there. */
static int64_t partial_bytes(const char *folder)
{
    char *path = NULL;
    int64_t bytes = 0;
    if (crd_join_path(folder, ".partial", "", &path) != CRD_OK) return 0;
    DIR *listing = opendir(path);
    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        struct stat about;
        if (fstatat(dirfd(listing), entry->d_name, &about, 0) == 0 && S_ISREG(about.st_mode)) {
            bytes += (int64_t)about.st_blocks * 512;
        }
    }
    if (listing != NULL) (void)closedir(listing);
    crd_free(&path);
    return bytes;
}

crd_status crd_run_folder_check_space(const crd_run_folder *folder, int64_t bytes)
{
    struct statvfs disk;
    if (statvfs(folder->path, &disk) != 0) return CRD_OK; /* not known: the run will find out */
    const double room = (double)disk.f_bavail * (double)disk.f_frsize + (double)partial_bytes(folder->path);
    if (room >= (double)bytes) return CRD_OK;
    return crd_fail(CRD_ERR_SYSTEM,
                    "the run needs %.0f MiB of disk and %s has %.0f MiB free; free some, choose another folder, or "
                    "write less with --dtype u8 or a --bbox",
                    ceil((double)bytes / 0x1p20), folder->path, floor(room / 0x1p20));
}
