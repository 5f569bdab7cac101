/* The side of the process that wants voxels. */
#include "volume/hdf5/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
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
#include "volume/types.h"

extern char **environ;

/* Seconds that the helper may compute, and that an answer may take; chunks along z, and bytes of the places of a layer,
 * that are kept; bytes of a box that is read at once. */
enum { CPU_SECONDS = 120, WAIT_SECONDS = 900, MOST_LAYERS = 1 << 20, MOST_PLACES = 1 << 26, MOST_WINDOW = 1 << 26 };
static const char helper_name[] = "credence-hdf5";

struct crd_hdf5_remote {
    const char *shown;
    pid_t pid;   /* 0: none */
    pid_t owner; /* a copy of this process made by fork has none, and starts its own */
    crd_hdf5_opening *what;
    int file, socket, window;
    int64_t length, window_bytes;
    char *mapped;
    int64_t layers;
    crd_hdf5_place **places; /* by layer of chunks; NULL: not known yet */
};

/* ---- its life ---- */

static void unmap(crd_hdf5_remote *r)
{
    if (r->mapped != NULL) (void)munmap(r->mapped, (size_t)r->window_bytes);
    r->mapped = NULL;
}

/* Ends the helper; gives back how it ended, -1 where nobody knows. Only what is still our child is killed: a program
 * that waits for whatever child ends may have taken it, and its number may be another process's by now. One that is
 * dying keeps the reason that it dies of. */
static int end_helper(crd_hdf5_remote *r)
{
    int how = -1;
    pid_t got = -1;
    if (r->socket >= 0) (void)close(r->socket);
    r->socket = -1;
    if (r->pid > 0 && r->owner == getpid()) {
        got = waitpid(r->pid, &how, WNOHANG);
        if (got == 0) (void)kill(r->pid, SIGKILL);
        while (got == 0 || (got < 0 && errno == EINTR)) got = waitpid(r->pid, &how, 0);
    }
    r->pid = 0;
    return got > 0 ? how : -1;
}

void crd_hdf5_remote_close(crd_hdf5_remote **pointer)
{
    crd_hdf5_remote *r = *pointer;
    if (r == NULL) return;
    (void)end_helper(r);
    unmap(r);
    if (r->window >= 0) (void)close(r->window);
    if (r->file >= 0) (void)close(r->file);
    for (int64_t i = 0; r->places != NULL && i < r->layers; i++) crd_free(&r->places[i]);
    crd_free(&r->places);
    crd_free(&r->what);
    crd_free(pointer);
}

int crd_hdf5_remote_file(const crd_hdf5_remote *remote)
{
    return remote->file;
}

int64_t crd_hdf5_remote_length(const crd_hdf5_remote *remote)
{
    return remote->length;
}

/* Files 3 to 5 are the helper's; ours must lie elsewhere, or one would take another's place. */
static int move_up(int fd)
{
    const int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 16) : -1;
    if (fd >= 0) (void)close(fd);
    return moved;
}

static bool open_channels(crd_hdf5_remote *r, int *theirs)
{
    int pair[2];
    *theirs = -1;
    r->window = move_up(memfd_create("credence voxels", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    /* It could only make us crash by taking memory away. */
    if (r->window < 0 || fcntl(r->window, F_ADD_SEALS, F_SEAL_SHRINK) != 0) return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
    r->socket = move_up(pair[0]);
    *theirs = move_up(pair[1]);
    return r->socket >= 0 && *theirs >= 0;
}

/* Without our signal mask, and in no way tied to this thread. */
static int start(const crd_hdf5_remote *r, const char *program, int theirs, pid_t *pid)
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
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, theirs, CRD_HDF5_SOCKET);
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, r->window, CRD_HDF5_WINDOW);
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, r->file, CRD_HDF5_FILE);
        if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
        if (error == 0) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (error == 0) error = posix_spawn(pid, program, &actions, &attributes, arguments, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

static crd_status start_helper(crd_hdf5_remote *r)
{
    char program[PATH_MAX];
    int theirs = -1;
    if (!crd_shared_object_find(helper_name, program)) {
        return crd_fail(CRD_ERR_SYSTEM,
                        "%s can't be read: the program %s, which reads HDF5 files apart from this one, lies neither "
                        "beside the library nor where installations have it; install credence anew, or, for a file "
                        "that you trust, use --trust",
                        r->shown, helper_name);
    }
    if (!open_channels(r, &theirs)) {
        const crd_status status = crd_fail_errno("%s can't be read: no way to speak with %s", r->shown, program);
        if (theirs >= 0) (void)close(theirs);
        return status;
    }
    const int error = start(r, program, theirs, &r->pid);
    (void)close(theirs);
    if (error == 0) return CRD_OK;
    r->pid = 0;
    errno = error;
    return crd_fail_errno("%s can't be read: %s can't be started", r->shown, program);
}

/* ---- orders and answers ---- */

/* It may compute so many seconds more. */
static void allow_time(const crd_hdf5_remote *r)
{
    clockid_t clock;
    struct timespec used;
    struct rlimit limit;
    if (clock_getcpuclockid(r->pid, &clock) != 0 || clock_gettime(clock, &used) != 0 ||
        prlimit(r->pid, RLIMIT_CPU, NULL, &limit) != 0) {
        return;
    }
    limit.rlim_cur = (rlim_t)used.tv_sec + 1 + CPU_SECONDS;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    (void)prlimit(r->pid, RLIMIT_CPU, &limit, NULL);
}

static bool send_all(const crd_hdf5_remote *r, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t sent = send(r->socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

/* Only seconds in which it was waited count: not those in which this process was stopped, by Ctrl-Z or a debugger. */
static bool receive_all(const crd_hdf5_remote *r, void *data, size_t bytes, bool *late)
{
    char *at = data;
    int waited = 0;
    *late = false;
    while (bytes > 0) {
        struct pollfd wait = {.fd = r->socket, .events = POLLIN};
        *late = waited > WAIT_SECONDS;
        if (*late) return false;
        const int ready = poll(&wait, 1, 1000);
        waited += ready == 0;
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t got = recv(r->socket, at, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

static crd_status lost(crd_hdf5_remote *r, bool late)
{
    const int how = end_helper(r);
    if (late || (how >= 0 && WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU)) {
        return crd_fail(
            CRD_ERR_FORMAT,
            "%s keeps libhdf5 busy without an end: it is damaged, or made to do harm; nothing of it is used", r->shown);
    }
    if (how >= 0 && WIFSIGNALED(how)) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s makes libhdf5 crash (%s): it is damaged, or made to do harm; nothing of it is used",
                        r->shown, strsignal(WTERMSIG(how)));
    }
    if (how >= 0 && WIFEXITED(how) && WEXITSTATUS(how) == CRD_HDF5_STRANGER) {
        return crd_fail(CRD_ERR_SYSTEM,
                        "%s can't be read: the program %s that was found is of another version of credence; install "
                        "credence anew",
                        r->shown, helper_name);
    }
    return crd_fail(CRD_ERR_FORMAT,
                    "%s can't be read: the process that reads HDF5 files ended without an answer (exit %d)", r->shown,
                    how >= 0 ? WEXITSTATUS(how) : -1);
}

static crd_status ask(crd_hdf5_remote *r, const void *order, size_t order_bytes, void *result, size_t result_bytes);

/* After a fork: what it says of the file is known. */
static crd_status start_again(crd_hdf5_remote *r)
{
    crd_hdf5_description about;
    unmap(r);
    r->window_bytes = 0;
    (void)close(r->socket);
    (void)close(r->window);
    r->socket = r->window = -1;
    r->pid = 0;
    r->owner = getpid();
    CRD_PASS(start_helper(r));
    return ask(r, r->what, sizeof *r->what, &about, sizeof about);
}

/* Sends `order`, and takes the answer and, where that is good, what follows it. */
static crd_status ask(crd_hdf5_remote *r, const void *order, size_t order_bytes, void *result, size_t result_bytes)
{
    crd_hdf5_answer answer;
    bool late = false;
    if (r->pid == 0) {
        return crd_fail(CRD_ERR_FORMAT, "%s can't be read any more: the process that read it ended", r->shown);
    }
    allow_time(r);
    if (!send_all(r, order, order_bytes) || !receive_all(r, &answer, sizeof answer, &late)) return lost(r, late);
    answer.sentence[sizeof answer.sentence - 1] = '\0';
    if (answer.status != CRD_OK) {
        const bool known = answer.status > CRD_OK && answer.status <= CRD_ERR_INTERNAL;
        return crd_fail(known ? (crd_status)answer.status : CRD_ERR_FORMAT, "%s", answer.sentence);
    }
    return receive_all(r, result, result_bytes, &late) ? CRD_OK : lost(r, late);
}

/* At least so much shared memory, here. The helper maps it when it hears of it. */
static crd_status widen(crd_hdf5_remote *r, int64_t bytes)
{
    if (bytes <= r->window_bytes) return CRD_OK;
    unmap(r);
    r->window_bytes = 0;
    if (ftruncate(r->window, bytes) != 0) return crd_fail_errno("%s: no shared memory for its voxels", r->shown);
    void *mapped = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, r->window, 0);
    if (mapped == MAP_FAILED) return crd_fail_errno("%s: no shared memory for its voxels", r->shown);
    r->mapped = mapped;
    r->window_bytes = bytes;
    return CRD_OK;
}

/* ---- what is asked ---- */

/* All that is used later, and isn't a matter of taste. */
static bool is_sound(const crd_hdf5_description *d, const crd_hdf5_remote *r, size_t cache_bytes)
{
    const crd_hdf5_array *a = &d->array;
    int64_t bytes;
    for (int i = 0; i < 3; i++) {
        if (a->shape[i] < 1) return false;
    }
    for (int i = 0; i < 4; i++) {
        if (a->chunk[i] < 0) return false;
    }
    if (!crd_type_valid(a->type) || a->channel < -1 || a->channel > 3 || a->chunk_bytes < 0 ||
        crd_product(a->shape[0], a->shape[1], a->shape[2], &bytes) != CRD_OK ||
        crd_product(bytes, (int64_t)crd_type_size(a->type), 1, &bytes) != CRD_OK) {
        return false;
    }
    if (d->way == CRD_HDF5_PLAIN) {
        return d->stored >= 0 && d->stored < CRD_STORED_COUNT && crd_stored_widened(d->stored) == a->type &&
               d->offset >= 0 && d->offset <= r->length;
    }
    if (d->way == CRD_HDF5_BOXES) return true;
    return d->way == CRD_HDF5_CHUNKS && crd_hdf5_grid_is_sound(&d->grid, cache_bytes) && d->grid.type == a->type &&
           memcmp(d->grid.shape, a->shape, sizeof a->shape) == 0 && d->grid.file_bytes <= r->length;
}

static crd_status describe(crd_hdf5_remote *r, const crd_volume *volume, size_t own_cache_bytes,
                           crd_hdf5_description *about)
{
    const char *dataset = volume->dataset;
    crd_status status = CRD_OK;
    CRD_TRY(crd_alloc(1, sizeof *r->what, "a question", &r->what));
    crd_hdf5_opening *what = r->what;
    if (strlen(r->shown) >= sizeof what->shown || (dataset != NULL && strlen(dataset) >= sizeof what->dataset)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is a name of more than %d letters", r->shown, CRD_HDF5_NAME - 1);
    }
    crd_hdf5_mark(what->mark);
    snprintf(what->file, sizeof what->file, "%s", volume->file);
    snprintf(what->shown, sizeof what->shown, "%s", r->shown);
    snprintf(what->dataset, sizeof what->dataset, "%s", dataset != NULL ? dataset : "");
    what->length = r->length;
    what->cache_bytes = (int64_t)volume->cache_bytes;
    what->own_cache_bytes = (int64_t)own_cache_bytes;
    what->data_limit = crd_available_memory();
    CRD_TRY(ask(r, what, sizeof *what, about, sizeof *about));
    about->info.unit[sizeof about->info.unit - 1] = '\0';
    if (!is_sound(about, r, volume->cache_bytes))
        CRD_FAIL(CRD_ERR_FORMAT, "%s is described in a way that can't be", r->shown);
    if (about->way == CRD_HDF5_CHUNKS) { /* too many to keep their places: libhdf5 has it all */
        const crd_hdf5_grid *g = &about->grid;
        int64_t places;
        if (g->counts[0] > MOST_LAYERS ||
            crd_product(g->counts[1], g->counts[2], (int64_t)sizeof(crd_hdf5_place), &places) != CRD_OK ||
            places > MOST_PLACES) {
            about->way = CRD_HDF5_BOXES;
            goto done;
        }
        r->layers = g->counts[0];
        CRD_TRY(crd_alloc(r->layers, sizeof *r->places, "the places of chunks", &r->places));
    }
done:
    return status;
}

crd_status crd_hdf5_remote_open(const crd_volume *volume, size_t own_cache_bytes, crd_hdf5_remote **out,
                                crd_hdf5_description *about)
{
    crd_status status = CRD_OK;
    crd_hdf5_remote *r = NULL;
    int fd = -1;
    CRD_TRY(crd_alloc(1, sizeof *r, "a volume", &r));
    r->shown = volume->path;
    r->owner = getpid();
    r->file = r->socket = r->window = -1;
    CRD_TRY(crd_open_plain(volume->file, &fd, &r->length));
    r->file = move_up(fd);
    if (r->file < 0) {
        status = crd_fail_errno("%s can't be opened", volume->file);
        goto done;
    }
    CRD_TRY(start_helper(r));
    CRD_TRY(describe(r, volume, own_cache_bytes, about));
    *out = r;
    r = NULL;
done:
    crd_hdf5_remote_close(&r);
    return status;
}

static crd_status learn_layer(crd_hdf5_remote *r, const crd_hdf5_grid *grid, int64_t layer)
{
    crd_status status = CRD_OK;
    crd_hdf5_place *places = NULL;
    const int64_t count = grid->counts[1] * grid->counts[2], bytes = count * (int64_t)sizeof *places;
    const crd_hdf5_order order = {.window = bytes > r->window_bytes ? bytes : r->window_bytes, .layer = layer};
    CRD_TRY(crd_alloc(count, sizeof *places, "the places of chunks", &places));
    CRD_TRY(widen(r, order.window));
    CRD_TRY(ask(r, &order, sizeof order, NULL, 0));
    memcpy(places, r->mapped, (size_t)bytes);
    r->places[layer] = places;
    places = NULL;
done:
    crd_free(&places);
    return status;
}

crd_status crd_hdf5_remote_place(crd_hdf5_remote *r, const crd_hdf5_grid *grid, const int64_t index[3],
                                 crd_hdf5_place *out)
{
    if (r->places[index[0]] == NULL) {
        if (r->pid > 0 && r->owner != getpid()) CRD_PASS(start_again(r));
        CRD_PASS(learn_layer(r, grid, index[0]));
    }
    *out = r->places[index[0]][index[1] * grid->counts[2] + index[2]];
    return CRD_OK;
}

crd_status crd_hdf5_remote_read(crd_hdf5_remote *r, const crd_box *box, size_t size, void *voxels)
{
    char *to = voxels;
    const int64_t row = box->size[2] * (int64_t)size;
    if (r->pid > 0 && r->owner != getpid()) CRD_PASS(start_again(r));
    int64_t rows = MOST_WINDOW / row;
    if (rows < 1) rows = 1;
    const int64_t slices = rows / box->size[1] > 0 ? rows / box->size[1] : 1;
    if (rows > box->size[1]) rows = box->size[1];
    for (int64_t z = 0; z < box->size[0]; z += slices) {
        for (int64_t y = 0; y < box->size[1]; y += rows) {
            const int64_t deep = box->size[0] - z < slices ? box->size[0] - z : slices;
            const int64_t high = box->size[1] - y < rows ? box->size[1] - y : rows;
            const int64_t bytes = deep * high * row;
            const crd_hdf5_order order = {
                .window = bytes > r->window_bytes ? bytes : r->window_bytes,
                .layer = -1,
                .box = {{box->origin[0] + z, box->origin[1] + y, box->origin[2]}, {deep, high, box->size[2]}}};
            CRD_PASS(widen(r, order.window));
            CRD_PASS(ask(r, &order, sizeof order, NULL, 0));
            memcpy(to + (z * box->size[1] + y) * row, r->mapped, (size_t)bytes);
        }
    }
    return CRD_OK;
}
