/* Removing a folder tree that holds a zarr group: only names that zarr uses, and never through links. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "volume/zarr/zarr.h"

enum { DEEPEST = 16 };

static const char *const own[] = {".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json", "c"};
enum { OWN = sizeof own / sizeof own[0] };

/* What a writer that was killed has left: "..zattrs.tmp.4711.0". */
static bool is_leftover(const char *name)
{
    for (int i = 0; i < OWN; i++) {
        const size_t length = strlen(own[i]);
        if (name[0] == '.' && strncmp(name + 1, own[i], length) == 0 && strncmp(name + 1 + length, ".tmp.", 5) == 0)
            return true;
    }
    return false;
}

/* .zarray, zarr.json, ..., and chunks: numbers, with dots or a passing suffix; those of version 3 in a folder "c". */
static bool is_zarr_name(const char *name)
{
    if (is_leftover(name)) return true;
    for (int i = 0; i < OWN; i++) {
        if (strcmp(name, own[i]) == 0) return true;
    }
    const size_t dot = name[0] == '.', digits = strspn(name + dot, "0123456789.");
    const char *rest = name + dot + digits;
    return isdigit((unsigned char)name[dot]) && (*rest == '\0' || strcmp(rest, "tmp") == 0);
}

/* Takes `folder` over. */
static crd_status list(int folder, const char *shown, DIR **out)
{
    *out = fdopendir(folder);
    if (*out != NULL) return CRD_OK;
    (void)close(folder);
    return crd_fail_errno("can't look into %s", shown);
}

static crd_status remove_content(int folder, const char *shown, int depth)
{
    crd_status status = CRD_OK;
    DIR *listing;
    CRD_PASS(list(folder, shown, &listing));
    for (struct dirent *entry; status == CRD_OK && (entry = crd_next_entry(listing, shown, &status)) != NULL;) {
        const char *name = entry->d_name;
        struct stat about;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !is_zarr_name(name)) continue;
        if (fstatat(dirfd(listing), name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
        const bool is_folder = S_ISDIR(about.st_mode);
        if (is_folder && depth < DEEPEST) {
            const int child = crd_open_in(dirfd(listing), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (child >= 0) status = remove_content(child, shown, depth + 1);
        }
        if (status == CRD_OK && unlinkat(dirfd(listing), name, is_folder ? AT_REMOVEDIR : 0) != 0) {
            status = crd_fail_errno("can't remove %s in %s", name, shown);
        }
    }
    (void)closedir(listing);
    return status;
}

crd_status crd_zarr_remove(const char *path)
{
    const int folder = crd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return errno == ENOENT ? CRD_OK : crd_fail_errno("can't remove %s", path);
    CRD_PASS(remove_content(folder, path, 0));
    if (rmdir(path) != 0) return crd_fail_errno("%s holds more than a zarr volume and isn't removed", path);
    return CRD_OK;
}

static crd_status sweep(int folder, const char *shown, bool levels)
{
    crd_status status = CRD_OK;
    DIR *listing;
    CRD_PASS(list(folder, shown, &listing));
    for (struct dirent *entry; status == CRD_OK && (entry = crd_next_entry(listing, shown, &status)) != NULL;) {
        const char *name = entry->d_name;
        if (is_leftover(name)) {
            if (unlinkat(dirfd(listing), name, 0) != 0 && errno != ENOENT) {
                status = crd_fail_errno("can't remove %s in %s", name, shown);
            }
        } else if (levels && strspn(name, "0123456789") == strlen(name)) {
            const int level = crd_open_in(dirfd(listing), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (level >= 0) status = sweep(level, shown, false);
        }
    }
    (void)closedir(listing);
    return status;
}

crd_status crd_zarr_sweep(const char *path)
{
    const int folder = crd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return crd_fail_errno("can't look into %s", path);
    return sweep(folder, path, true);
}
