#include "run/folder.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "run/manifest.h"
#include "run/paths.h"
#include "volume/format.h"

typedef struct content {
    bool anything, manifest;
    bool begun;   /* a run got as far as making its folder for what is unfinished */
    bool partial; /* there is something to go on with in it */
} content;

/* ".scan_prob.tif.tmp.4711.0": what a writer that was killed has left. */
static bool is_leftover(const crd_run_target *target, const char *file)
{
    const char *const begins[] = {target->name, crd_run_file_name(CRD_RUN_MANIFEST), crd_run_file_name(CRD_RUN_PROBE),
                                  crd_run_file_name(CRD_RUN_NORMS)};
    bool ours = false;
    if (file[0] != '.' || strstr(file, ".tmp.") == NULL) return false;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        ours |= strncmp(file + 1, begins[i], strlen(begins[i])) == 0;
    }
    return ours;
}

/* A manifest, or list of volumes, where there is one. */
static crd_status read_if_there(const char *folder, crd_run_file file, bool *there, crd_manifest *out)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_run_path(folder, file, &path));
    *there = access(path, F_OK) == 0;
    if (*there) CRD_TRY(crd_manifest_read(path, out)); /* other programs have files of that name, too */
done:
    crd_free(&path);
    return status;
}

/* What is there, apart from our lock. Leftovers are removed on the way. */
static crd_status look(const crd_run_target *target, content *out)
{
    crd_status status = CRD_OK;
    crd_manifest manifest = {0};
    DIR *listing = crd_open_folder(target->path);
    memset(out, 0, sizeof *out);
    if (listing == NULL) return crd_fail_errno("can't look into %s", target->path);
    for (struct dirent *entry; (entry = crd_next_entry(listing, target->path, &status)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (strcmp(name, crd_run_file_name(CRD_RUN_LOCK)) == 0) continue;
        if (!is_leftover(target, name)) {
            out->anything = true;
            out->begun |= strcmp(name, crd_run_file_name(CRD_RUN_PARTIAL)) == 0;
        } else if (unlinkat(dirfd(listing), name, 0) != 0) {
            status = crd_fail_errno("can't remove %s/%s", target->path, name);
            break;
        }
    }
    (void)closedir(listing);
    CRD_PASS(status);
    out->partial = crd_run_interrupted(target->path);
    CRD_PASS(read_if_there(target->path, CRD_RUN_MANIFEST, &out->manifest, &manifest));
    crd_manifest_free(&manifest);
    return CRD_OK;
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

static bool is_output(const crd_run_target *target, const char *file)
{
    for (int64_t i = 0; i < target->output_count; i++) {
        if (strcmp(target->outputs[i].file, file) == 0) return true;
    }
    return false;
}

/* What is done with the volumes that a manifest or list names, which may be anybody's. `own`: it is one of this run. */
typedef crd_status visit_volume(const crd_run_target *target, const char *path, bool own);

static crd_status visit_listed(const crd_run_target *target, crd_run_file list, visit_volume *visit)
{
    crd_status status = CRD_OK;
    crd_manifest manifest;
    bool there;
    CRD_TRY(read_if_there(target->path, list, &there, &manifest));
    for (int64_t i = 0; status == CRD_OK && i < manifest.output_count; i++) {
        const char *file = manifest.outputs[i].file;
        char *path = NULL;
        CRD_TRY(crd_join_path(target->path, file, "", &path));
        status = visit(target, path, is_output(target, file));
        crd_free(&path);
    }
done:
    crd_manifest_free(&manifest);
    return status;
}

static crd_status remove_volume(const crd_run_target *target, const char *path, bool own)
{
    (void)target;
    (void)own;
    return crd_volume_remove(path);
}

/* A volume of this run stays, but not what lies beside one that isn't there: it would be in the way of a new one. */
static crd_status remove_others(const crd_run_target *target, const char *path, bool own)
{
    struct stat about;
    return own && lstat(path, &about) == 0 ? CRD_OK : remove_volume(target, path, own);
}

/* Nothing that this run reads may be among what it clears away. */
static crd_status spare_inputs(const crd_run_target *target, const char *path, bool own)
{
    (void)own;
    for (size_t i = 0; i < sizeof target->inputs / sizeof target->inputs[0]; i++) {
        if (target->inputs[i] == NULL || !crd_same_file(target->inputs[i], path)) continue;
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s is read by this run and belongs to the one that would be replaced; choose "
                        "another folder",
                        path);
    }
    return CRD_OK;
}

crd_status crd_run_folder_open(const crd_run_target *target, const crd_monitor *monitor, crd_run_folder *out)
{
    crd_status status = CRD_OK;
    const char *path = target->path;
    content found;
    char *lock = NULL;
    memset(out, 0, sizeof *out);
    out->target = *target;
    if (path == NULL || path[0] == '\0') {
        CRD_FAIL(CRD_ERR_ARGUMENT, "a prediction needs a folder to be written to; name one with -o");
    }
    if (target->resume && target->overwrite) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "resume and overwrite exclude each other");
    }
    out->made = access(path, F_OK) != 0;
    CRD_TRY(crd_make_lasting_folders(path));
    CRD_TRY(crd_run_path(path, CRD_RUN_LOCK, &lock));
    CRD_TRY(crd_lock_take(lock, monitor, &out->lock));
    CRD_TRY(look(target, &found));
    if (target->resume) {
        out->resume = found.partial;
        out->complete = !found.partial && found.manifest;
        if (found.anything && !found.begun && !found.manifest) {
            CRD_FAIL(CRD_ERR_ARGUMENT,
                     "%s holds no run that --resume could go on with, but other files; choose another folder", path);
        }
        if (!found.partial && !found.manifest) crd_info(monitor, "%s holds no run to go on with: it begins anew", path);
    } else if (found.anything && !target->overwrite) {
        status = not_empty(path, &found);
    } else if (found.anything && !found.begun && !found.manifest) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s holds no run that --overwrite could replace; choose another folder", path);
    }
    CRD_TRY(status);
    out->occupied = found.anything;
    if (out->complete) goto done;
    CRD_TRY(visit_listed(target, CRD_RUN_LIST, spare_inputs));
    CRD_TRY(visit_listed(target, CRD_RUN_MANIFEST, spare_inputs));
done:
    crd_free(&lock);
    return status;
}

static crd_status remove_file(const char *folder, crd_run_file file)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_run_path(folder, file, &path));
    if (unlink(path) != 0 && errno != ENOENT) status = crd_fail_errno("can't remove %s", path);
done:
    crd_free(&path);
    return status;
}

/* What an interrupted measurement has kept. */
static crd_status remove_measuring(const char *folder)
{
    char *path = NULL;
    CRD_PASS(crd_run_path(folder, CRD_RUN_MEASURING, &path));
    const crd_status status = crd_remove_folder(path);
    crd_free(&path);
    return status;
}

/* Numbers that commands made of the realisations that were here. */
static crd_status remove_propagated(const char *folder)
{
    crd_status status = CRD_OK;
    char *above = NULL, *path = NULL;
    DIR *listing = NULL;
    CRD_TRY(crd_run_path(folder, CRD_RUN_PROPAGATED, &above));
    listing = opendir(above); /* NULL: there are none */
    for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        struct stat about;
        if (entry->d_name[0] == '.') continue;
        crd_free(&path);
        CRD_TRY(crd_join_path(above, entry->d_name, "", &path));
        if (lstat(path, &about) != 0 || !S_ISDIR(about.st_mode)) continue;
        CRD_TRY(crd_run_propagation_clear(path));
        (void)rmdir(path); /* fails, as it should, where commands have left something */
    }
    (void)rmdir(above);
done:
    if (listing != NULL) (void)closedir(listing);
    crd_free(&above);
    crd_free(&path);
    return status;
}

/* From here on the run is no longer complete, and its manifest is the list of what is left to be removed. */
static crd_status set_manifest_aside(const char *folder)
{
    crd_status status = CRD_OK;
    char *manifest = NULL, *partial = NULL, *list = NULL;
    CRD_TRY(crd_run_path(folder, CRD_RUN_MANIFEST, &manifest));
    CRD_TRY(crd_run_path(folder, CRD_RUN_PARTIAL, &partial));
    CRD_TRY(crd_run_path(folder, CRD_RUN_LIST, &list));
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
    static const crd_run_file others[] = {CRD_RUN_LOG,        CRD_RUN_PROBE,   CRD_RUN_NORMS,
                                          CRD_RUN_VALIDATION, CRD_RUN_MEASURE, CRD_RUN_VALUES};
    const char *path = folder->target.path;
    CRD_PASS(set_manifest_aside(path));
    CRD_PASS(visit_listed(&folder->target, CRD_RUN_LIST, remove_volume));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) CRD_PASS(remove_file(path, others[i]));
    CRD_PASS(remove_measuring(path));
    CRD_PASS(remove_propagated(path));
    return crd_run_partial_remove(path);
}

crd_status crd_run_folder_list(const crd_run_folder *folder)
{
    crd_status status = CRD_OK;
    const crd_run_target *target = &folder->target;
    char *list = NULL;
    CRD_TRY(visit_listed(target, CRD_RUN_LIST, remove_others));
    /* A run that was killed between its manifest and its end: the manifest will be written anew. */
    CRD_TRY(visit_listed(target, CRD_RUN_MANIFEST, remove_others));
    CRD_TRY(remove_file(target->path, CRD_RUN_MANIFEST));
    CRD_TRY(crd_run_path(target->path, CRD_RUN_LIST, &list));
    CRD_TRY(crd_manifest_write_list(target->outputs, target->output_count, list));
done:
    crd_free(&list);
    return status;
}

void crd_run_folder_close(crd_run_folder *folder)
{
    const bool ours = folder->lock != NULL;
    crd_lock_release(&folder->lock);
    if (ours && folder->made) (void)rmdir(folder->target.path); /* fails, as it should, where something was written */
}

/* Bytes on disk of the finished slices that are there. */
static int64_t partial_bytes(const char *folder)
{
    char *path = NULL;
    int64_t bytes = 0;
    if (crd_run_path(folder, CRD_RUN_PARTIAL, &path) != CRD_OK) return 0;
    DIR *listing = crd_open_folder(path);
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
    if (statvfs(folder->target.path, &disk) != 0) return CRD_OK; /* not known: the run will find out */
    const double room = (double)disk.f_bavail * (double)disk.f_frsize + (double)partial_bytes(folder->target.path);
    if (room >= (double)bytes) return CRD_OK;
    return crd_fail(CRD_ERR_SYSTEM,
                    "the run needs %.0f MiB of disk and %s has %.0f MiB free; free some, choose another folder, or "
                    "write less with --dtype u8 or a --bbox",
                    ceil((double)bytes / 0x1p20), folder->target.path, floor(room / 0x1p20));
}
