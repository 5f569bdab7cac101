#include "view/tiles/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash/sha256.h"
#include "base/memory.h"
#include "volume/zarr/zarr.h"

enum { NAME_BYTES = 32 };

struct crd_cache_folder {
    char *path;
    int64_t limit;
    int locks[CRD_VIEW_LAYERS];
    int lock_count;
};

static crd_status default_place(char **out)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache != NULL && cache[0] == '/') return crd_join_path(cache, "credence/view", "", out);
    if (home != NULL && home[0] == '/') return crd_join_path(home, ".cache/credence/view", "", out);
    return crd_fail(CRD_ERR_SYSTEM, "neither XDG_CACHE_HOME nor HOME names a folder for the cache; choose --cache DIR");
}

static int64_t free_disk(const char *path)
{
    struct statvfs about;
    return statvfs(path, &about) == 0 ? (int64_t)about.f_bavail * (int64_t)about.f_frsize : 0;
}

crd_status crd_cache_folder_open(const char *where, int64_t limit, crd_cache_folder **out)
{
    crd_status status = CRD_OK;
    crd_cache_folder *cache = NULL;
    CRD_TRY(crd_alloc(1, sizeof *cache, "the cache", &cache));
    if (where != NULL) {
        CRD_TRY(crd_strdup(where, &cache->path));
    } else {
        CRD_TRY(default_place(&cache->path));
    }
    CRD_TRY(crd_make_folders(cache->path));
    cache->limit = limit;
    if (limit < 0) {
        const int64_t most = (int64_t)50 << 30, tenth = free_disk(cache->path) / 10;
        cache->limit = tenth < most ? tenth : most;
    }
    *out = cache;
    cache = NULL;
done:
    crd_cache_folder_close(&cache);
    return status;
}

void crd_cache_folder_close(crd_cache_folder **cache)
{
    if (*cache == NULL) return;
    for (int i = 0; i < (*cache)->lock_count; i++) (void)close((*cache)->locks[i]);
    crd_free(&(*cache)->path);
    crd_free(cache);
}

/* ---- whose folder it is ---- */

/* By what the volume is and when it was changed: another one never gets its levels. */
static crd_status name_of(const crd_layer *layer, char name[NAME_BYTES + 1])
{
    crd_status status = CRD_OK;
    char *path = NULL, digest[CRD_SHA256_TEXT], about[512];
    struct stat file = {0};
    crd_sha256 hash;
    CRD_TRY(crd_absolute_path(layer->source->path, &path));
    if (layer->source->file != NULL) (void)stat(layer->source->file, &file);
    const crd_volume_info *info = &layer->info;
    int length =
        snprintf(about, sizeof about, "2 %lld %lld.%09ld %lldx%lldx%lld %d %lld %d %d", (long long)file.st_size,
                 (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, (long long)info->shape[0],
                 (long long)info->shape[1], (long long)info->shape[2], (int)info->type,
                 (long long)layer->source->options.offset, (int)layer->kind, (int)layer->in_blocks);
    crd_sha256_begin(&hash);
    crd_sha256_add(&hash, about, (size_t)length);
    if (layer->kind == CRD_LAYER_CLASSES) {
        crd_sha256_add(&hash, layer->class_values, sizeof layer->class_values[0] * (size_t)layer->class_count);
    }
    crd_sha256_add(&hash, path, strlen(path));
    crd_sha256_end(&hash, digest);
    snprintf(name, NAME_BYTES + 1, "%.*s", NAME_BYTES, digest);
done:
    crd_free(&path);
    return status;
}

/* ---- what is there ---- */

typedef struct entry {
    char name[NAME_BYTES + 1];
    struct timespec used;
    int64_t bytes;
} entry;

static bool is_ours(const char *name)
{
    return strlen(name) == NAME_BYTES && strspn(name, "0123456789abcdef") == NAME_BYTES;
}

static int64_t bytes_below(int folder, int depth)
{
    int64_t bytes = 0;
    DIR *list = fdopendir(folder);
    if (list == NULL) {
        (void)close(folder);
        return 0;
    }
    for (struct dirent *e; (e = readdir(list)) != NULL;) {
        struct stat about;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (fstatat(dirfd(list), e->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
        bytes += (int64_t)about.st_blocks * 512;
        if (!S_ISDIR(about.st_mode) || depth == 0) continue;
        const int below = crd_open_in(dirfd(list), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) bytes += bytes_below(below, depth - 1);
    }
    (void)closedir(list);
    return bytes;
}

/* The folder's size is noted when it is complete; walking through thousands of files each time would be slow. */
static int64_t bytes_of(const char *path)
{
    const int fd = crd_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? bytes_below(fd, 6) : 0;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const entry *)a)->used, *y = &((const entry *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* Exclusive, or -1: somebody uses it. */
static int lock_folder(const char *path)
{
    char *file = NULL;
    if (crd_join_path(path, "lock", "", &file) != CRD_OK) return -1;
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)close(fd);
        fd = -1;
    }
    crd_free(&file);
    return fd;
}

/* Only what we put there: the image, what is noted, the lock. */
static void remove_folder(const char *path)
{
    static const char *const files[] = {"state", "lock"};
    char *inside = NULL;
    const int lock = lock_folder(path);
    if (lock < 0) return;
    if (crd_join_path(path, "levels.zarr", "", &inside) == CRD_OK) (void)crd_zarr_remove(inside);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        crd_free(&inside);
        if (crd_join_path(path, files[i], "", &inside) == CRD_OK) (void)unlink(inside);
    }
    crd_free(&inside);
    (void)rmdir(path);
    (void)close(lock);
}

static crd_status list_entries(const crd_cache_folder *cache, entry **out, int64_t *count)
{
    crd_status status = CRD_OK;
    int64_t room = 0;
    DIR *list = crd_open_folder(cache->path);
    if (list == NULL) return crd_fail_errno("can't look into %s", cache->path);
    for (struct dirent *e; (e = readdir(list)) != NULL;) {
        struct stat about;
        char *path = NULL;
        if (!is_ours(e->d_name) || fstatat(dirfd(list), e->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISDIR(about.st_mode)) continue;
        if (*count == room) {
            entry *more = NULL;
            CRD_TRY(crd_alloc(room * 2 + 16, sizeof *more, "the cache's folders", &more));
            if (*count > 0) memcpy(more, *out, (size_t)*count * sizeof *more);
            crd_free(out);
            *out = more;
            room = room * 2 + 16;
        }
        CRD_TRY(crd_join_path(cache->path, e->d_name, "", &path));
        entry *new = &(*out)[(*count)++];
        memcpy(new->name, e->d_name, sizeof new->name);
        new->used = about.st_mtim;
        new->bytes = bytes_of(path);
        crd_free(&path);
    }
done:
    (void)closedir(list);
    return status;
}

/* Removes the least recently used, but not `name`, until so much more fits. *fits false: it can't. */
static crd_status make_room(const crd_cache_folder *cache, const char *name, int64_t bytes, bool *fits)
{
    crd_status status = CRD_OK;
    entry *entries = NULL;
    int64_t count = 0, taken = 0;
    *fits = false;
    if (bytes > cache->limit) return CRD_OK;
    CRD_TRY(list_entries(cache, &entries, &count));
    if (count > 0) qsort(entries, (size_t)count, sizeof *entries, by_use);
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(entries[i].name, name) != 0) taken += entries[i].bytes;
    }
    for (int64_t i = 0; i < count && taken + bytes > cache->limit; i++) {
        char *path = NULL;
        if (strcmp(entries[i].name, name) == 0) continue;
        CRD_TRY(crd_join_path(cache->path, entries[i].name, "", &path));
        remove_folder(path);
        if (access(path, F_OK) != 0) taken -= entries[i].bytes;
        crd_free(&path);
    }
    *fits = taken + bytes <= cache->limit;
done:
    crd_free(&entries);
    return status;
}

crd_status crd_cache_folder_take(crd_cache_folder *cache, const crd_layer *layer, int64_t bytes, char **out)
{
    crd_status status = CRD_OK;
    char name[NAME_BYTES + 1], *path = NULL;
    bool fits = false;
    *out = NULL;
    CRD_TRY(name_of(layer, name));
    CRD_TRY(make_room(cache, name, bytes, &fits));
    if (!fits || cache->lock_count == CRD_VIEW_LAYERS) goto done;
    CRD_TRY(crd_join_path(cache->path, name, "", &path));
    CRD_TRY(crd_make_folders(path));
    const int lock = lock_folder(path);
    if (lock < 0) goto done;
    cache->locks[cache->lock_count++] = lock;
    (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now */
    *out = path;
    path = NULL;
done:
    crd_free(&path);
    return status;
}
