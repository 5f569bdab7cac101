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

#include "base/memory.h"
#include "base/report.h"
#include "predict/partial.h"

enum { MANIFEST_LIMIT = 256 << 20 };

typedef struct content {
    bool anything, manifest, partial;
} content;

/* What is there, apart from our lock. Leftovers of a writer that was killed are removed on the way. */
static crd_status look(const crd_request *request, const char *path, content *out)
{
    crd_status status = CRD_OK;
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
        if (strcmp(name, "manifest.json") == 0) out->manifest = true;
    }
    struct stat about;
    out->partial = fstatat(dirfd(listing), ".partial/run.json", &about, 0) == 0;
    (void)closedir(listing);
    return status;
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
    CRD_TRY(crd_lock_take(lock, &out->lock));
    CRD_TRY(look(request, out->path, &found));
    if (options->resume) {
        out->resume = found.partial;
        out->complete = !found.partial && found.manifest;
        if (!found.partial && !found.manifest)
            crd_info(monitor, "%s holds no run to go on with: it begins anew", out->path);
    } else if (found.anything && !options->overwrite) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is not empty%s", out->path,
                 found.partial ? ": it holds a run that was interrupted, which --resume goes on with; choose another "
                                 "folder, or replace it with --overwrite"
                 : found.manifest
                     ? ": it holds the result of an earlier run; choose another folder, or replace it with "
                       "--overwrite"
                     : ", and what it holds is no run; choose another folder");
    } else if (found.anything && !found.partial && !found.manifest) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s holds no run that --overwrite could replace; choose another folder", out->path);
    }
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

/* The volumes that the earlier run's manifest lists. Only names of files in the folder itself are believed. */
static crd_status remove_listed(const char *folder, const cJSON *manifest)
{
    const cJSON *output = NULL;
    cJSON_ArrayForEach(output, cJSON_GetObjectItemCaseSensitive(manifest, "outputs"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(output, "file"));
        if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, "..") == 0) continue;
        char *path = NULL;
        CRD_PASS(crd_join_path(folder, name, "", &path));
        const crd_status status = crd_volume_remove(path);
        crd_free(&path);
        CRD_PASS(status);
    }
    return CRD_OK;
}

crd_status crd_run_folder_clear(const crd_run_folder *folder)
{
    static const char *const others[] = {"log.jsonl", "probe.h5", "validation.json", "manifest.json"};
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    cJSON *manifest = NULL;
    CRD_TRY(crd_join_path(folder->path, "manifest.json", "", &path));
    if (access(path, F_OK) == 0) {
        CRD_TRY(crd_read_file(path, MANIFEST_LIMIT, &text, NULL));
        manifest = cJSON_Parse(text);
        const char *format = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(manifest, "format"));
        if (format != NULL && strcmp(format, "credence-run") == 0) CRD_TRY(remove_listed(folder->path, manifest));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) CRD_TRY(remove_file(folder->path, others[i]));
    CRD_TRY(crd_partial_remove(folder->path));
done:
    cJSON_Delete(manifest);
    crd_free(&path);
    crd_free(&text);
    return status;
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
