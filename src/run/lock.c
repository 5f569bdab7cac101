#include "run/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"

/* Two things together make the lock. flock() ends with its process, whatever kills it, and so tells a living holder
 * from a stale file without a race. The content, "host pid" or "host pid job restarts", names the holder and covers
 * what flock can't see: a process on another machine, where the file system keeps locks per machine or not at all.
 *
 * Of a holder on another machine nothing can be asked. But a batch system starts a job again, on other machines after
 * one has failed, only when it has given up the job's earlier run: so what that one has left is no obstacle. */
enum { HOST_BYTES = 256, JOB_BYTES = 32, CONTENT_BYTES = 384, TRIES = 1000 };

struct crd_lock {
    char *path;
    int fd;
    pid_t owner;
};

typedef struct holder {
    char host[HOST_BYTES];
    long pid;            /* 0: nobody, or not written yet */
    char job[JOB_BYTES]; /* of the batch system; "": none */
    long restarts;       /* how often the job had been started again */
} holder;

static holder this_process(void)
{
    holder own = {.pid = (long)getpid()};
    const char *job = getenv("SLURM_JOB_ID"), *restarts = getenv("SLURM_RESTART_COUNT"); /* unset in the first run */
    if (gethostname(own.host, HOST_BYTES) != 0) snprintf(own.host, HOST_BYTES, "localhost");
    own.host[HOST_BYTES - 1] = '\0';
    if (job == NULL || strlen(job) >= JOB_BYTES || strspn(job, "0123456789") != strlen(job)) return own;
    snprintf(own.job, sizeof own.job, "%s", job);
    if (restarts != NULL) own.restarts = strtol(restarts, NULL, 10);
    return own;
}

static holder read_holder(int fd)
{
    holder found = {.pid = 0};
    char content[CONTENT_BYTES];
    const int64_t got = crd_read_some(fd, 0, content, sizeof content - 1);
    if (got <= 0) return found;
    content[got] = '\0';
    const int fields = sscanf(content, "%255s %ld %31s %ld", found.host, &found.pid, found.job, &found.restarts);
    if (fields < 2 || found.pid <= 0) found.pid = 0;
    if (fields < 4 || found.pid == 0) found.job[0] = '\0';
    return found;
}

static crd_status write_holder(int fd, const char *path, const holder *own)
{
    char content[CONTENT_BYTES];
    int length = snprintf(content, sizeof content, "%s %ld", own->host, own->pid);
    if (own->job[0] != '\0') {
        length += snprintf(content + length, sizeof content - (size_t)length, " %s %ld", own->job, own->restarts);
    }
    content[length++] = '\n';
    return crd_resize(fd, 0) == 0 ? crd_write_at(fd, path, 0, content, (size_t)length)
                                  : crd_fail_errno("can't write the lock file %s", path);
}

static bool earlier_run(const holder *found, const holder *own)
{
    return found->job[0] != '\0' && strcmp(found->job, own->job) == 0 && found->restarts < own->restarts;
}

static crd_status busy(const holder *found, const char *path)
{
    if (found->pid == 0) {
        return crd_fail(CRD_ERR_BUSY, "another process is already writing there (lock file %s); wait for it to end",
                        path);
    }
    return crd_fail(CRD_ERR_BUSY,
                    "process %ld on %s is already writing there (lock file %s); wait for it to end, or remove the "
                    "lock file if that process no longer exists",
                    found->pid, found->host, path);
}

static bool same_file(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/* The lock file open for writing, and whether we made it. */
static crd_status open_lock(const char *path, int *fd, bool *created)
{
    for (int i = 0; i < TRIES; i++) {
        *created = true;
        *fd = crd_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
        if (*fd >= 0) return CRD_OK;
        if (errno != EEXIST) break;
        *created = false;
        *fd = crd_open(path, O_RDWR | O_CLOEXEC);
        if (*fd >= 0) return CRD_OK;
        if (errno != ENOENT) break; /* it was released between the two calls */
    }
    return crd_fail_errno("can't open the lock file %s", path);
}

/* One attempt on an open lock file: takes it, or says why not. */
static crd_status claim(int fd, bool created, const char *path, const crd_monitor *monitor, bool *retry)
{
    const holder own = this_process();
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    const int refusal = locked ? 0 : errno;
    if (refusal == EINTR) {
        *retry = true;
        return CRD_OK;
    }
    const holder found = read_holder(fd);
    if (refusal == EWOULDBLOCK) return busy(&found, path);
    if (!same_file(fd, path)) {
        *retry = true;
        return CRD_OK;
    }
    if (earlier_run(&found, &own)) {
        crd_info(monitor,
                 "the lock file %s was left by process %ld on %s, in an earlier run of this job (%s): it is taken over",
                 path, found.pid, found.host, own.job);
    } else if (found.pid != 0) {
        if (strcmp(found.host, own.host) != 0) return busy(&found, path);
        const bool alive = kill((pid_t)found.pid, 0) == 0 || errno == EPERM;
        if (!locked && alive) return busy(&found, path);
    } else if (!locked && !created) {
        return busy(&found, path);
    }
    const crd_status status = write_holder(fd, path, &own);
    if (status != CRD_OK) (void)unlink(path);
    return status;
}

crd_status crd_lock_take(const char *path, const crd_monitor *monitor, crd_lock **out)
{
    crd_status status = CRD_OK;
    crd_lock *lock = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *lock, "a lock", &lock));
    lock->fd = -1;
    CRD_TRY(crd_strdup(path, &lock->path));
    for (int i = 0; i < TRIES; i++) {
        bool created = false, retry = false;
        CRD_TRY(open_lock(path, &lock->fd, &created));
        CRD_TRY(claim(lock->fd, created, path, monitor, &retry));
        if (!retry) {
            lock->owner = getpid();
            *out = lock;
            return CRD_OK;
        }
        (void)close(lock->fd);
        lock->fd = -1;
    }
    status = crd_fail(CRD_ERR_BUSY, "other processes keep taking and leaving the lock file %s; try again", path);
done:
    if (lock != NULL && lock->fd >= 0) (void)close(lock->fd);
    if (lock != NULL) crd_free(&lock->path);
    crd_free(&lock);
    return status;
}

void crd_lock_release(crd_lock **lock)
{
    crd_lock *self = *lock;
    if (self == NULL) return;
    /* A forked child shares the descriptor but doesn't own the lock. Removing comes before unlocking: whoever opened
     * the old file meanwhile sees that its name is gone and starts again. */
    if (self->owner == getpid()) (void)unlink(self->path);
    (void)close(self->fd);
    crd_free(&self->path);
    crd_free(lock);
}
