#include "run/paths.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/views/lent.h"

enum { TEXT_LIMIT = 1 << 28 };

#define PARTIAL  ".partial"
#define IDENTITY "run.json"
#define LIST     "outputs.json"
static const char *const names[] = {
    [CRD_RUN_MANIFEST] = "manifest.json",
    [CRD_RUN_LOG] = "log.jsonl",
    [CRD_RUN_PROBE] = "probe.h5",
    [CRD_RUN_NORMS] = "norms.h5",
    [CRD_RUN_VALIDATION] = "validation.json",
    [CRD_RUN_MEASURE] = "measure.json",
    [CRD_RUN_VALUES] = "measure.csv",
    [CRD_RUN_MEASURING] = ".measure",
    [CRD_RUN_PROPAGATED] = "propagate",
    [CRD_RUN_LOCK] = ".lock",
    [CRD_RUN_PARTIAL] = PARTIAL,
    [CRD_RUN_IDENTITY] = PARTIAL "/" IDENTITY,
    [CRD_RUN_LIST] = PARTIAL "/" LIST,
};

const char *crd_run_file_name(crd_run_file file)
{
    return names[file];
}

crd_status crd_run_path(const char *folder, crd_run_file file, char **out)
{
    return crd_join_path(folder, names[file], "", out);
}

crd_status crd_run_partial_path(const char *folder, const char *name, char **out)
{
    crd_status status = CRD_OK;
    char *partial = NULL;
    CRD_TRY(crd_run_path(folder, CRD_RUN_PARTIAL, &partial));
    CRD_TRY(crd_join_path(partial, name, "", out));
done:
    crd_free(&partial);
    return status;
}

crd_status crd_run_volume_path(const char *folder, const char *file, char **out)
{
    return crd_is_lent(file) ? crd_strdup(file, out) : crd_join_path(folder, file, "", out);
}

bool crd_run_volume_there(const char *path)
{
    return crd_is_lent(path) || access(path, F_OK) == 0;
}

crd_status crd_run_text(const char *folder, crd_run_file file, char **out)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    *out = NULL;
    CRD_TRY(crd_run_path(folder, file, &path));
    if (access(path, F_OK) != 0 && errno == ENOENT) goto done;
    CRD_TRY(crd_read_file(path, TEXT_LIMIT, out, NULL));
done:
    crd_free(&path);
    return status;
}

bool crd_run_interrupted(const char *folder)
{
    char *path = NULL;
    const bool there = crd_run_path(folder, CRD_RUN_IDENTITY, &path) == CRD_OK && access(path, F_OK) == 0;
    crd_free(&path);
    return there;
}

static crd_status unlink_in(DIR *folder, const char *path, const char *name)
{
    if (unlinkat(dirfd(folder), name, 0) == 0 || errno == ENOENT) return CRD_OK;
    return crd_fail_errno("can't remove %s/%s", path, name);
}

crd_status crd_run_propagation_clear(const char *folder)
{
    static const char *const files[] = {"state.json", "propagate.json", "propagate.csv"};
    crd_status status = CRD_OK;
    char *path = NULL;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        crd_free(&path);
        CRD_TRY(crd_join_path(folder, files[i], "", &path));
        if (unlink(path) != 0 && errno != ENOENT) CRD_TRY(crd_fail_errno("can't remove %s", path));
    }
done:
    crd_free(&path);
    return status;
}

crd_status crd_run_partial_remove(const char *folder)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    DIR *listing = NULL;
    CRD_TRY(crd_run_path(folder, CRD_RUN_PARTIAL, &path));
    listing = crd_open_folder(path);
    if (listing == NULL) {
        if (errno != ENOENT) status = crd_fail_errno("can't look into %s", path);
        goto done;
    }
    CRD_TRY(unlink_in(listing, path, IDENTITY));
    for (struct dirent *entry; (entry = crd_next_entry(listing, path, &status)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, LIST) == 0) continue;
        CRD_TRY(unlink_in(listing, path, name));
    }
    CRD_TRY(status);
    CRD_TRY(unlink_in(listing, path, LIST));
    if (rmdir(path) != 0) status = crd_fail_errno("can't remove %s", path);
done:
    if (listing != NULL) (void)closedir(listing);
    crd_free(&path);
    return status;
}
