#include "base/hdf5/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/shared_object.h"
#include "build_config.h"

extern char **environ;

/* Seconds that the helper may compute, and that an answer may take. */
enum { CPU_SECONDS = 120, WAIT_SECONDS = 900 };
static const char helper_name[] = "credence-hdf5";

struct crd_helper {
    const char *shown;
    char mark[CRD_HELPER_MARK];
    pid_t pid;   /* 0: none */
    pid_t owner; /* a copy of this process made by fork has none, and starts its own */
    int file, socket, window;
    int64_t length, window_bytes;
    char *mapped;
};

void crd_helper_mark(const char *work, const size_t sizes[3], char mark[CRD_HELPER_MARK])
{
    memset(mark, 0, CRD_HELPER_MARK);
    (void)snprintf(mark, CRD_HELPER_MARK, "credence %s %s %zu %zu %zu %zu", CRD_VERSION, work, sizes[0], sizes[1],
                   sizes[2], sizeof(crd_helper_answer));
}

/* ---- its life ---- */

static void unmap(crd_helper *h)
{
    if (h->mapped != NULL) (void)munmap(h->mapped, (size_t)h->window_bytes);
    h->mapped = NULL;
    h->window_bytes = 0;
}

/* Ends the helper; gives back how it ended, -1 where nobody knows. Only what is still our child is killed: a program
 * that waits for whatever child ends may have taken it, and its number may be another process's by now. One that is
 * dying keeps the reason that it dies of. */
static int end_helper(crd_helper *h)
{
    int how = -1;
    pid_t got = -1;
    if (h->socket >= 0) (void)close(h->socket);
    h->socket = -1;
    if (h->pid > 0 && h->owner == getpid()) {
        got = waitpid(h->pid, &how, WNOHANG);
        if (got == 0) (void)kill(h->pid, SIGKILL);
        while (got == 0 || (got < 0 && errno == EINTR)) got = waitpid(h->pid, &how, 0);
    }
    h->pid = 0;
    return got > 0 ? how : -1;
}

void crd_helper_close(crd_helper **pointer)
{
    crd_helper *h = *pointer;
    if (h == NULL) return;
    (void)end_helper(h);
    unmap(h);
    if (h->window >= 0) (void)close(h->window);
    if (h->file >= 0) (void)close(h->file);
    crd_free(pointer);
}

int crd_helper_file(const crd_helper *h)
{
    return h->file;
}

int64_t crd_helper_length(const crd_helper *h)
{
    return h->length;
}

static bool send_all(const crd_helper *h, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t sent = send(h->socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

/* Files 3 to 5 are the helper's; ours must lie elsewhere, or one would take another's place. */
static int move_up(int fd)
{
    const int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 16) : -1;
    if (fd >= 0) (void)close(fd);
    return moved;
}

static bool open_channels(crd_helper *h, int *theirs)
{
    int pair[2];
    *theirs = -1;
    h->window = move_up(memfd_create("credence voxels", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    /* It could only make us crash by taking memory away. */
    if (h->window < 0 || fcntl(h->window, F_ADD_SEALS, F_SEAL_SHRINK) != 0) return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
    h->socket = move_up(pair[0]);
    *theirs = move_up(pair[1]);
    return h->socket >= 0 && *theirs >= 0;
}

/* Without our signal mask, and in no way tied to this thread. */
static int spawn(const crd_helper *h, const char *program, int theirs, pid_t *pid)
{
    char *arguments[] = {(char *)(uintptr_t)helper_name, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    (void)sigemptyset(&none);
    if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
    int error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        for (int fd = 0; fd < 3 && error == 0; fd++) {
            error = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
        }
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, theirs, CRD_HELPER_SOCKET);
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, h->window, CRD_HELPER_WINDOW);
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, h->file, CRD_HELPER_FILE);
        if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
        if (error == 0) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (error == 0) error = posix_spawn(pid, program, &actions, &attributes, arguments, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

static crd_status start_helper(crd_helper *h)
{
    char program[PATH_MAX];
    int theirs = -1;
    if (!crd_shared_object_find(helper_name, program)) {
        return crd_fail(CRD_ERR_SYSTEM,
                        "%s can't be read: the program %s, which reads HDF5 files apart from this one, lies neither "
                        "beside the library nor where installations have it; install credence anew, or, for a file "
                        "that you trust, use --trust",
                        h->shown, helper_name);
    }
    if (!open_channels(h, &theirs)) {
        const crd_status status = crd_fail_errno("%s can't be read: no way to speak with %s", h->shown, program);
        if (theirs >= 0) (void)close(theirs);
        return status;
    }
    const int error = spawn(h, program, theirs, &h->pid);
    (void)close(theirs);
    if (error != 0) {
        h->pid = 0;
        errno = error;
        return crd_fail_errno("%s can't be read: %s can't be started", h->shown, program);
    }
    (void)send_all(h, h->mark, sizeof h->mark); /* if it is dead already, the first answer doesn't come */
    return CRD_OK;
}

crd_status crd_helper_start(const char *file, const char *shown, const char mark[CRD_HELPER_MARK], crd_helper **out)
{
    crd_status status = CRD_OK;
    crd_helper *h = NULL;
    int fd = -1;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *h, "a helper", &h));
    h->shown = shown;
    memcpy(h->mark, mark, sizeof h->mark);
    h->owner = getpid();
    h->file = h->socket = h->window = -1;
    CRD_TRY(crd_open_plain(file, &fd, &h->length));
    h->file = move_up(fd);
    if (h->file < 0) CRD_TRY(crd_fail_errno("%s can't be opened", file));
    CRD_TRY(start_helper(h));
    *out = h;
    h = NULL;
done:
    crd_helper_close(&h);
    return status;
}

bool crd_helper_left_behind(const crd_helper *h)
{
    return h->pid > 0 && h->owner != getpid();
}

crd_status crd_helper_start_again(crd_helper *h)
{
    unmap(h);
    (void)close(h->socket);
    (void)close(h->window);
    h->socket = h->window = -1;
    h->pid = 0;
    h->owner = getpid();
    return start_helper(h);
}

/* ---- orders and answers ---- */

/* It may compute so many seconds more. */
static void allow_time(const crd_helper *h)
{
    clockid_t clock;
    struct timespec used;
    struct rlimit limit;
    if (clock_getcpuclockid(h->pid, &clock) != 0 || clock_gettime(clock, &used) != 0 ||
        prlimit(h->pid, RLIMIT_CPU, NULL, &limit) != 0) {
        return;
    }
    limit.rlim_cur = (rlim_t)used.tv_sec + 1 + CPU_SECONDS;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    (void)prlimit(h->pid, RLIMIT_CPU, &limit, NULL);
}

/* Only seconds in which it was waited count: not those in which this process was stopped, by Ctrl-Z or a debugger. */
static bool receive_all(const crd_helper *h, void *data, size_t bytes, bool *late)
{
    char *at = data;
    int waited = 0;
    *late = false;
    while (bytes > 0) {
        struct pollfd wait = {.fd = h->socket, .events = POLLIN};
        *late = waited > WAIT_SECONDS;
        if (*late) return false;
        const int ready = poll(&wait, 1, 1000);
        waited += ready == 0;
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t got = recv(h->socket, at, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

static crd_status lost(crd_helper *h, bool late)
{
    const int how = end_helper(h);
    if (late) { /* it hardly computed, or the limit on that would have ended it */
        return crd_fail(CRD_ERR_SYSTEM,
                        "%s can't be read: the process that reads HDF5 files was waited for in vain for %d minutes; "
                        "the disk may be slow, or gone",
                        h->shown, WAIT_SECONDS / 60);
    }
    if (how >= 0 && WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU) {
        return crd_fail(
            CRD_ERR_FORMAT,
            "%s keeps libhdf5 busy without an end: it is damaged, or made to do harm; nothing of it is used", h->shown);
    }
    if (how >= 0 && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) { /* nothing in a file sends that */
        return crd_fail(CRD_ERR_MEMORY,
                        "%s can't be read: the process that reads HDF5 files was killed, as the system does where "
                        "memory runs out",
                        h->shown);
    }
    if (how >= 0 && WIFSIGNALED(how)) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s makes libhdf5 crash (%s): it is damaged, or made to do harm; nothing of it is used",
                        h->shown, strsignal(WTERMSIG(how)));
    }
    if (how >= 0 && WIFEXITED(how) && WEXITSTATUS(how) == CRD_HELPER_STRANGER) {
        return crd_fail(CRD_ERR_SYSTEM,
                        "%s can't be read: the program %s that was found is of another version of credence; install "
                        "credence anew",
                        h->shown, helper_name);
    }
    return crd_fail(CRD_ERR_FORMAT,
                    "%s can't be read: the process that reads HDF5 files ended without an answer (exit %d)", h->shown,
                    how >= 0 ? WEXITSTATUS(how) : -1);
}

crd_status crd_helper_ask(crd_helper *h, const void *order, size_t order_bytes, void *result, size_t result_bytes)
{
    crd_helper_answer answer;
    bool late = false;
    if (h->pid == 0) {
        return crd_fail(CRD_ERR_FORMAT, "%s can't be read any more: the process that read it ended", h->shown);
    }
    allow_time(h);
    if (!send_all(h, order, order_bytes) || !receive_all(h, &answer, sizeof answer, &late)) return lost(h, late);
    answer.sentence[sizeof answer.sentence - 1] = '\0';
    if (answer.status != CRD_OK) {
        const bool known = answer.status > CRD_OK && answer.status <= CRD_ERR_INTERNAL;
        return crd_fail(known ? (crd_status)answer.status : CRD_ERR_FORMAT, "%s", answer.sentence);
    }
    return receive_all(h, result, result_bytes, &late) ? CRD_OK : lost(h, late);
}

crd_status crd_helper_widen(crd_helper *h, int64_t bytes)
{
    struct rlimit limit;
    if (bytes <= h->window_bytes) return CRD_OK;
    /* Linux counts shared memory as a file, and ends who goes beyond. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (rlim_t)bytes > limit.rlim_cur) {
        return crd_fail(
            CRD_ERR_MEMORY,
            "%s: its values need %lld bytes of shared memory, and the limit on the size of files (ulimit -f) "
            "allows %lld; raise it, or, for a file that you trust, use --trust",
            h->shown, (long long)bytes, (long long)limit.rlim_cur);
    }
    unmap(h);
    if (ftruncate(h->window, bytes) != 0) return crd_fail_errno("%s: no shared memory for its values", h->shown);
    void *mapped = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, h->window, 0);
    if (mapped == MAP_FAILED) return crd_fail_errno("%s: no shared memory for its values", h->shown);
    h->mapped = mapped;
    h->window_bytes = bytes;
    return CRD_OK;
}

int64_t crd_helper_window_bytes(const crd_helper *h)
{
    return h->window_bytes;
}

const char *crd_helper_window(const crd_helper *h)
{
    return h->mapped;
}

/* ---- whether it is wanted ---- */

static atomic_bool trusting;

void crd_helper_trust(bool trust)
{
    atomic_store(&trusting, trust);
}

bool crd_helper_trusted(void)
{
    return atomic_load(&trusting);
}
