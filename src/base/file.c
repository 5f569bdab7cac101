#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* Linux moves at most 2 GiB less a page in one call; the rest of the name's 255 bytes is kept for the suffix. */
enum { CALL_LIMIT = 1 << 30, NAME_KEPT = 200 };

int crd_open(const char *path, int flags)
{
    int fd;
    do fd = open(path, flags, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int crd_open_in(int folder, const char *name, int flags)
{
    int fd;
    do fd = openat(folder, name, flags, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int crd_close(int fd)
{
    return close(fd) != 0 && errno != EINTR ? -1 : 0;
}

int crd_sync_data(int fd)
{
    int failed;
    do failed = fdatasync(fd);
    while (failed != 0 && errno == EINTR);
    return failed;
}

int crd_resize(int fd, int64_t bytes)
{
    int failed;
    do failed = ftruncate(fd, (off_t)bytes);
    while (failed != 0 && errno == EINTR);
    return failed;
}

DIR *crd_open_folder(const char *path)
{
    DIR *listing;
    do listing = opendir(path);
    while (listing == NULL && errno == EINTR);
    return listing;
}

struct dirent *crd_next_entry(DIR *listing, const char *path, crd_status *status)
{
    errno = 0;
    struct dirent *entry = readdir(listing);
    if (entry == NULL && errno != 0) *status = crd_fail_errno("can't read the folder %s", path);
    return entry;
}

int64_t crd_read_some(int fd, int64_t offset, void *data, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const size_t wanted = bytes - done < CALL_LIMIT ? bytes - done : CALL_LIMIT;
        const ssize_t got = pread(fd, (char *)data + done, wanted, (off_t)(offset + (int64_t)done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

crd_status crd_read_at(int fd, const char *path, int64_t offset, void *data, size_t bytes)
{
    char *target = data;
    size_t done = 0;
    while (done < bytes) {
        const size_t wanted = bytes - done < CALL_LIMIT ? bytes - done : CALL_LIMIT;
        const ssize_t got = pread(fd, target + done, wanted, (off_t)(offset + (int64_t)done));
        if (got < 0) {
            if (errno == EINTR) continue;
            return crd_fail_errno("can't read %zu bytes at byte %lld of %s", bytes, (long long)offset, path);
        }
        if (got == 0) {
            return crd_fail(CRD_ERR_FORMAT,
                            "%s ends at byte %lld, but bytes up to %lld are needed; it may be cut short", path,
                            (long long)offset + (long long)done, (long long)offset + (long long)bytes);
        }
        done += (size_t)got;
    }
    return CRD_OK;
}

crd_status crd_write_at(int fd, const char *path, int64_t offset, const void *data, size_t bytes)
{
    const char *source = data;
    size_t done = 0;
    while (done < bytes) {
        const size_t wanted = bytes - done < CALL_LIMIT ? bytes - done : CALL_LIMIT;
        const ssize_t put = pwrite(fd, source + done, wanted, (off_t)(offset + (int64_t)done));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            if (put == 0) errno = ENOSPC;
            return crd_fail_errno("can't write %zu bytes at byte %lld of %s", bytes, (long long)offset, path);
        }
        done += (size_t)put;
    }
    return CRD_OK;
}

crd_status crd_write_on(int fd, const char *path, const void *data, size_t bytes)
{
    const char *source = data;
    while (bytes > 0) {
        const ssize_t put = write(fd, source, bytes < CALL_LIMIT ? bytes : CALL_LIMIT);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return crd_fail_errno("can't write %s", path);
        source += put;
        bytes -= (size_t)put;
    }
    return CRD_OK;
}

/* Length of `path` without trailing slashes, and where its last part begins. */
static size_t split_path(const char *path, size_t *name_start)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/') start--;
    *name_start = start;
    return length;
}

crd_status crd_temporary_name(const char *path, char **out)
{
    static atomic_uint counter;
    size_t start = 0;
    const size_t length = split_path(path, &start);
    *out = NULL;
    if (length == 0 || start == length) {
        return crd_fail(CRD_ERR_ARGUMENT, "'%s' can't be written: it isn't the name of a file", path);
    }
    const size_t kept = length - start < NAME_KEPT ? length - start : NAME_KEPT;
    const size_t capacity = start + kept + 64;
    struct stat about;
    CRD_PASS(crd_alloc((int64_t)capacity, 1, "a file name", out));
    do { /* an earlier process of the same number may have died and left its own */
        snprintf(*out, capacity, "%.*s.%.*s.tmp.%ld.%u", (int)start, path, (int)kept, path + start, (long)getpid(),
                 atomic_fetch_add(&counter, 1));
    } while (lstat(*out, &about) == 0);
    return CRD_OK;
}

crd_status crd_sync_and_close(int fd, const char *path)
{
    /* Some file systems have nothing to sync for a folder and say EINVAL. */
    int failed;
    do failed = fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP ? errno : 0;
    while (failed == EINTR);
    if (crd_close(fd) != 0 && failed == 0) return crd_fail_errno("can't finish writing %s", path);
    if (failed == 0) return CRD_OK;
    errno = failed;
    return crd_fail_errno("can't bring %s onto the disk", path);
}

crd_status crd_sync_tree(const char *folder, const char *shown)
{
    const int fd = crd_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0;
    if (!failed) {
        do failed = syncfs(fd);
        while (failed != 0 && errno == EINTR);
    }
    const crd_status status = failed != 0 ? crd_fail_errno("can't bring %s onto the disk", shown) : CRD_OK;
    if (fd >= 0) (void)close(fd);
    return status;
}

crd_status crd_sync_folder(const char *path)
{
    const int fd = crd_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return crd_fail_errno("can't open %s to bring it onto the disk", path);
    return crd_sync_and_close(fd, path);
}

static crd_status sync_folder_of(const char *path)
{
    crd_status status = CRD_OK;
    char *folder = NULL;
    size_t start = 0;
    (void)split_path(path, &start);
    if (start == 0) return crd_sync_folder(".");
    CRD_TRY(crd_strdup(path, &folder));
    folder[start] = '\0';
    CRD_TRY(crd_sync_folder(folder));
done:
    crd_free(&folder);
    return status;
}

crd_status crd_replace_file(const char *temporary, const char *path)
{
    /* Renaming over /dev/null or a pipe would destroy it rather than write to it. */
    struct stat target;
    if (stat(path, &target) == 0 && !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s can't be written: it is neither a file nor a folder", path);
    }
    if (rename(temporary, path) != 0) return crd_fail_errno("can't rename %s to %s", temporary, path);
    return sync_folder_of(path);
}

crd_status crd_check_target(const char *path)
{
    crd_status status = CRD_OK;
    struct stat about;
    char *folder = NULL;
    size_t start = 0;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return crd_fail(CRD_ERR_ARGUMENT, "%s is a folder; give the name of a file to write", path);
    (void)split_path(path, &start);
    if (start == 0) return CRD_OK;
    CRD_TRY(crd_strdup(path, &folder));
    folder[start] = '\0';
    if (stat(folder, &about) == 0 || errno != ENOENT) goto done; /* other reasons show when it is written */
    folder[start > 1 ? start - 1 : start] = '\0';
    status = crd_fail(CRD_ERR_SYSTEM, "%s can't be written: there is no folder %s; make it first", path, folder);
done:
    crd_free(&folder);
    return status;
}

bool crd_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool crd_file_is_other(const char *path, const char *beginning)
{
    char head[64];
    const size_t length = strlen(beginning);
    const int fd = crd_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const int64_t got = crd_read_some(fd, 0, head, length < sizeof head ? length : sizeof head);
    (void)close(fd);
    bool zeros = true; /* what a power cut leaves of a file whose bytes hadn't arrived */
    for (int64_t i = 0; i < got; i++) zeros = zeros && head[i] == '\0';
    return !zeros && ((size_t)got < length || strncasecmp(head, beginning, length) != 0);
}

crd_status crd_write_file(const char *path, const void *data, size_t bytes)
{
    crd_status status = CRD_OK;
    char *name = NULL;
    CRD_PASS(crd_temporary_name(path, &name));
    const int fd = crd_open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (fd < 0) {
        status = crd_fail_errno("can't create a file beside %s", path);
        crd_free(&name);
        return status;
    }
    status = crd_write_at(fd, path, 0, data, bytes);
    if (status == CRD_OK) {
        status = crd_sync_and_close(fd, path);
    } else {
        (void)close(fd);
    }
    if (status == CRD_OK) status = crd_replace_file(name, path);
    if (status != CRD_OK) (void)unlink(name);
    crd_free(&name);
    return status;
}

/* Reads to the end, whatever the size said before: a pipe has none, and a file may grow meanwhile. */
static crd_status read_to_end(int fd, const char *path, size_t limit, size_t guess, char **out, size_t *bytes)
{
    crd_status status = CRD_OK;
    size_t capacity = guess + 2, used = 0;
    char *text = NULL, *larger = NULL;
    CRD_TRY(crd_alloc((int64_t)capacity, 1, path, &text));
    for (;;) {
        const ssize_t got = read(fd, text + used, capacity - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            status = crd_fail_errno("can't read %s", path);
            goto done;
        }
        if (got == 0) break;
        used += (size_t)got;
        if (used > limit)
            CRD_FAIL(CRD_ERR_ARGUMENT, "%s is larger than the %zu bytes expected of such a file", path, limit);
        if (used == capacity - 1) {
            CRD_TRY(crd_alloc((int64_t)(2 * capacity), 1, path, &larger));
            memcpy(larger, text, used);
            crd_free(&text);
            text = larger;
            larger = NULL;
            capacity *= 2;
        }
    }
    text[used] = '\0';
    *out = text;
    if (bytes != NULL) *bytes = used;
    text = NULL;
done:
    crd_free(&text);
    crd_free(&larger);
    return status;
}

crd_status crd_open_plain(const char *path, int *fd, int64_t *bytes)
{
    struct stat about = {0};
    *fd = crd_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool seen = *fd >= 0 && fstat(*fd, &about) == 0;
    if (seen && S_ISREG(about.st_mode)) {
        *bytes = about.st_size;
        return CRD_OK;
    }
    const crd_status status = !seen ? crd_fail_errno("%s can't be opened", path)
                              : S_ISDIR(about.st_mode)
                                  ? crd_fail(CRD_ERR_ARGUMENT, "%s is a folder, not a file", path)
                                  : crd_fail(CRD_ERR_ARGUMENT, "%s can't be read: it is no plain file", path);
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
    return status;
}

crd_status crd_read_file(const char *path, size_t limit, char **out, size_t *bytes)
{
    crd_status status = CRD_OK;
    int64_t length = 0;
    int fd = -1;
    *out = NULL;
    if (bytes != NULL) *bytes = 0;
    CRD_PASS(crd_open_plain(path, &fd, &length));
    if ((uint64_t)length > limit) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is larger than the %zu bytes expected of such a file", path, limit);
    }
    CRD_TRY(read_to_end(fd, path, limit, (size_t)length, out, bytes));
done:
    (void)close(fd);
    return status;
}

crd_status crd_join_path(const char *folder, const char *name, const char *suffix, char **out)
{
    const size_t bytes = strlen(folder) + strlen(name) + strlen(suffix) + 2;
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a path", out));
    const char *slash = folder[0] == '\0' || folder[strlen(folder) - 1] == '/' ? "" : "/";
    snprintf(*out, bytes, "%s%s%s%s", folder, slash, name, suffix);
    return CRD_OK;
}

crd_status crd_absolute_path(const char *path, char **out)
{
    char folder[4096];
    if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL) return crd_strdup(path, out);
    return crd_join_path(folder, path, "", out);
}

crd_status crd_folder_of(const char *path, char **out)
{
    const char *slash = strrchr(path, '/');
    CRD_PASS(crd_strdup(slash != NULL ? path : ".", out));
    if (slash != NULL) (*out)[slash == path ? 1 : slash - path] = '\0';
    return CRD_OK;
}

/* Whose folder can't be read can't be synced: a user may enter it all the same. */
static crd_status sync_name_of(const char *path)
{
    crd_status status = CRD_OK;
    char *folder = NULL;
    CRD_TRY(crd_folder_of(path, &folder));
    if (access(folder, R_OK) == 0 || errno != EACCES) status = crd_sync_folder(folder);
done:
    crd_free(&folder);
    return status;
}

static crd_status make_folders(const char *path, bool lasting)
{
    crd_status status = CRD_OK;
    char *copy = NULL;
    struct stat about;
    if (path == NULL || path[0] == '\0') return crd_fail(CRD_ERR_ARGUMENT, "a folder needs a name");
    CRD_TRY(crd_strdup(path, &copy));
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != '\0') continue;
        const char end = *p;
        *p = '\0';
        const bool made = mkdir(copy, 0777) == 0;
        if (!made && errno != EEXIST) {
            status = crd_fail_errno("can't make the folder %s", copy);
            goto done;
        }
        if (lasting && (made || end == '\0')) CRD_TRY(sync_name_of(copy));
        *p = end;
        if (end == '\0') break;
    }
    if (stat(path, &about) != 0) {
        status = crd_fail_errno("can't use the folder %s", path);
    } else if (!S_ISDIR(about.st_mode)) {
        status = crd_fail(CRD_ERR_SYSTEM, "%s is a file, and a folder is needed; give -o another name", path);
    }
done:
    crd_free(&copy);
    return status;
}

crd_status crd_make_folders(const char *path)
{
    return make_folders(path, false);
}

crd_status crd_make_lasting_folders(const char *path)
{
    return make_folders(path, true);
}

bool crd_is_empty_folder(const char *path)
{
    crd_status status = CRD_OK;
    int64_t entries = 0;
    DIR *listing = crd_open_folder(path);
    if (listing == NULL) return false;
    while (entries <= 2 && crd_next_entry(listing, path, &status) != NULL) entries++;
    (void)closedir(listing);
    return status == CRD_OK && entries <= 2; /* itself and the one above */
}

crd_status crd_empty_folder(const char *path)
{
    crd_status status = CRD_OK;
    DIR *listing = crd_open_folder(path);
    if (listing == NULL) return errno == ENOENT ? CRD_OK : crd_fail_errno("can't look into %s", path);
    for (struct dirent *entry; (entry = crd_next_entry(listing, path, &status)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(dirfd(listing), entry->d_name, 0) != 0 && errno != ENOENT) {
            CRD_TRY(crd_fail_errno("can't remove %s/%s", path, entry->d_name));
        }
    }
done:
    (void)closedir(listing);
    return status;
}

crd_status crd_remove_folder(const char *path)
{
    CRD_PASS(crd_empty_folder(path));
    if (rmdir(path) != 0 && errno != ENOENT) return crd_fail_errno("can't remove %s", path);
    return CRD_OK;
}
