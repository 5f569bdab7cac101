#include "view/watch.h"

#include <stddef.h>
#include <sys/stat.h>

static bool look(const char *path, crd_watch *out)
{
    struct stat about;
    if (stat(path, &about) != 0) return false;
    out->bytes = (int64_t)about.st_size;
    out->device = (int64_t)about.st_dev;
    out->file = (int64_t)about.st_ino;
    out->seconds = (int64_t)about.st_mtim.tv_sec;
    out->nanoseconds = (int64_t)about.st_mtim.tv_nsec;
    return true;
}

void crd_watch_begin(crd_watch *watch, const char *path)
{
    *watch = (crd_watch){.path = NULL};
    if (look(path, watch)) watch->path = path;
}

const char *crd_watch_look(crd_watch *watch)
{
    crd_watch now = {.path = watch->path};
    if (watch->path == NULL) return NULL;
    const bool there = look(watch->path, &now);
    if (there && now.bytes == watch->bytes && now.device == watch->device && now.file == watch->file &&
        now.seconds == watch->seconds && now.nanoseconds == watch->nanoseconds) {
        return NULL;
    }
    watch->path = NULL; /* said once */
    return there
               ? "The scan's file has changed since the viewer was started: what you see may be a mixture of both. End "
                 "the viewer and start it again."
               : "The scan's file isn't there any more. What is kept of it can still be seen; put it back, or end the "
                 "viewer.";
}
