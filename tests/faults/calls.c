#include "calls.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

const char *const family_names[FAMILIES] = {"open",   "read",  "write", "sync", "close", "rename", "link",
                                            "unlink", "mkdir", "size",  "list", "look",  "other"};

#define FD(name, family, fd)                                                                                           \
    {                                                                                                                  \
        SYS_##name, #name, family, fd, NONE, NONE, NONE, NONE                                                          \
    }
#define PATH(name, family, path)                                                                                       \
    {                                                                                                                  \
        SYS_##name, #name, family, NONE, NONE, path, NONE, NONE                                                        \
    }
#define AT(name, family, folder)                                                                                       \
    {                                                                                                                  \
        SYS_##name, #name, family, NONE, folder, (folder) + 1, NONE, NONE                                              \
    }
#define PATHS(name, family)                                                                                            \
    {                                                                                                                  \
        SYS_##name, #name, family, NONE, NONE, 0, NONE, 1                                                              \
    }
#define ATS(name, family)                                                                                              \
    {                                                                                                                  \
        SYS_##name, #name, family, NONE, 0, 1, 2, 3                                                                    \
    }

const call_row call_rows[] = {
    FD(read, READ, 0),
    FD(pread64, READ, 0),
    FD(readv, READ, 0),
    FD(preadv, READ, 0),
    FD(write, WRITE, 0),
    FD(pwrite64, WRITE, 0),
    FD(writev, OTHER, 0),
    FD(pwritev, OTHER, 0),
    FD(pwritev2, OTHER, 0),
    FD(preadv2, OTHER, 0),
    PATH(open, OPEN, 0),
    AT(openat, OPEN, 0),
    PATH(creat, OTHER, 0),
    AT(openat2, OTHER, 0),
    FD(close, CLOSE, 0),
    FD(fsync, SYNC, 0),
    FD(fdatasync, SYNC, 0),
    FD(syncfs, SYNC, 0),
    FD(sync_file_range, OTHER, 0),
    FD(ftruncate, SIZE, 0),
    PATH(truncate, OTHER, 0),
    FD(fallocate, SIZE, 0),
    PATHS(rename, RENAME),
    ATS(renameat, RENAME),
    ATS(renameat2, RENAME),
    PATHS(link, LINK),
    ATS(linkat, LINK),
    PATH(symlink, OTHER, 1),
    AT(symlinkat, OTHER, 1),
    PATH(unlink, UNLINK, 0),
    AT(unlinkat, UNLINK, 0),
    PATH(rmdir, UNLINK, 0),
    PATH(mkdir, MKDIR, 0),
    AT(mkdirat, MKDIR, 0),
    FD(getdents64, LIST, 0),
    PATH(stat, LOOK, 0),
    PATH(lstat, LOOK, 0),
    FD(fstat, LOOK, 0),
    AT(newfstatat, LOOK, 0),
    AT(statx, LOOK, 0),
    PATH(access, LOOK, 0),
    AT(faccessat, LOOK, 0),
    AT(faccessat2, LOOK, 0),
    FD(mmap, OTHER, 4),
    FD(sendfile, OTHER, 0),
    FD(copy_file_range, OTHER, 2),
    FD(splice, OTHER, 2),
};
const size_t call_row_count = sizeof call_rows / sizeof call_rows[0];

const call_row *call_row_of(long number)
{
    for (size_t i = 0; i < call_row_count; i++) {
        if (call_rows[i].number == number) return &call_rows[i];
    }
    return NULL;
}

bool read_memory(pid_t pid, uint64_t from, void *to, size_t bytes)
{
    struct iovec own = {to, bytes}, theirs = {(void *)(uintptr_t)from, bytes};
    return process_vm_readv(pid, &own, 1, &theirs, 1, 0) == (ssize_t)bytes;
}

/* A path ends anywhere before the end of its page or behind it. */
static bool read_text(pid_t pid, uint64_t from, char out[PATH_MAX])
{
    size_t used = 0;
    while (used < PATH_MAX) {
        const size_t page = 4096 - (from + used) % 4096, some = page < PATH_MAX - used ? page : PATH_MAX - used;
        if (!read_memory(pid, from + used, out + used, some)) return false;
        if (memchr(out + used, '\0', some) != NULL) return true;
        used += some;
    }
    return false;
}

bool path_of_fd(pid_t pid, int fd, char out[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd);
    const ssize_t length = readlink(link, out, PATH_MAX - 1);
    if (length <= 0 || out[0] != '/') return false;
    out[length] = '\0';
    return true;
}

/* Removes ".", ".." and doubled slashes. */
static void tidy(char *path)
{
    char *to = path;
    for (const char *from = path; *from != '\0';) {
        while (*from == '/') from++;
        const size_t length = strcspn(from, "/");
        if (length == 2 && from[0] == '.' && from[1] == '.') {
            while (to > path && *--to != '/') continue;
        } else if (length > 0 && !(length == 1 && from[0] == '.')) {
            *to++ = '/';
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    if (to == path) *to++ = '/';
    *to = '\0';
}

bool path_argument(pid_t pid, int folder_fd, uint64_t text, char out[PATH_MAX])
{
    char name[PATH_MAX], folder[PATH_MAX], link[64];
    if (!read_text(pid, text, name)) return false;
    if (name[0] == '/') {
        snprintf(out, PATH_MAX, "%s", name);
    } else {
        if (folder_fd == AT_FDCWD) {
            snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
            const ssize_t length = readlink(link, folder, sizeof folder - 1);
            if (length <= 0) return false;
            folder[length] = '\0';
        } else if (!path_of_fd(pid, folder_fd, folder)) {
            return false;
        }
        if (snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) return false;
    }
    tidy(out);
    return true;
}

const char *below(const char *folder, const char *path)
{
    const size_t length = strlen(folder);
    if (strncmp(path, folder, length) != 0) return NULL;
    if (path[length] == '\0') return ".";
    return path[length] == '/' ? path + length + 1 : NULL;
}

void steady_name(const char *path, char out[PATH_MAX])
{
    size_t used = 0;
    while (*path != '\0' && used < PATH_MAX - 1) {
        if (strncmp(path, ".tmp.", 5) == 0 && isdigit((unsigned char)path[5])) {
            memcpy(out + used, ".tmp", 4 < PATH_MAX - 1 - used ? 4 : 0);
            used += 4;
            path += 5;
            while (isdigit((unsigned char)*path) || *path == '.') path++;
            continue;
        }
        out[used++] = *path++;
    }
    out[used] = '\0';
}
