/* The side of the helper: one file, one dataset, until nobody asks any more. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hdf5/lock.h"
#include "base/hdf5/sandbox.h"
#include "base/hdf5/source.h"
#include "base/memory.h"
#include "build_config.h"
#include "volume/hdf5/remote.h"

void crd_hdf5_mark(char mark[CRD_HDF5_MARK])
{
    memset(mark, 0, CRD_HDF5_MARK);
    snprintf(mark, CRD_HDF5_MARK, "credence %s %zu %zu %zu %zu", CRD_VERSION, sizeof(crd_hdf5_opening),
             sizeof(crd_hdf5_order), sizeof(crd_hdf5_description), sizeof(crd_hdf5_answer));
}

typedef struct serving {
    crd_hdf5_opening what;
    crd_hdf5_description about;
    char *window;
    int64_t window_bytes;
} serving;

static bool move(bool in, void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        const ssize_t moved = in ? read(CRD_HDF5_SOCKET, at, bytes) : write(CRD_HDF5_SOCKET, at, bytes);
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0) return false;
        at += moved;
        bytes -= (size_t)moved;
    }
    return true;
}

static bool answer(crd_status status)
{
    crd_hdf5_answer words = {.status = (int)status};
    if (status != CRD_OK) snprintf(words.sentence, sizeof words.sentence, "%s", crd_last_error()->message);
    return move(false, &words, sizeof words);
}

static crd_status open_file(serving *s)
{
    hid_t file = H5I_INVALID_HID;
    crd_hdf5_lock();
    crd_status status = crd_hdf5_source_take(CRD_HDF5_FILE, s->what.length, s->what.file, &file);
    if (status == CRD_OK) status = crd_hdf5_describe(file, &s->what, &s->about);
    crd_hdf5_unlock();
    return status;
}

static crd_status map_window(serving *s, int64_t bytes)
{
    if (bytes <= s->window_bytes) return CRD_OK;
    if (s->window != NULL) (void)munmap(s->window, (size_t)s->window_bytes);
    s->window = NULL;
    s->window_bytes = 0;
    void *mapped = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, CRD_HDF5_WINDOW, 0);
    if (mapped == MAP_FAILED) return crd_fail_errno("%s: no shared memory for its voxels", s->what.shown);
    s->window = mapped;
    s->window_bytes = bytes;
    return CRD_OK;
}

static void tell_places(const serving *s, int64_t layer)
{
    const crd_hdf5_grid *g = &s->about.grid;
    crd_hdf5_place *to = (crd_hdf5_place *)(void *)s->window;
    crd_hdf5_lock();
    for (int64_t y = 0; y < g->counts[1]; y++) {
        for (int64_t x = 0; x < g->counts[2]; x++) {
            const int64_t index[3] = {layer, y, x};
            if (crd_hdf5_find_chunk(s->about.array.dataset, g, index, s->what.shown, to) != CRD_OK) {
                to->bytes = CRD_HDF5_LOST; /* the others can be read all the same */
            }
            to++;
        }
    }
    crd_hdf5_unlock();
}

static crd_status obey(serving *s, const crd_hdf5_order *order)
{
    CRD_PASS(map_window(s, order->window));
    if (order->layer >= 0) {
        tell_places(s, order->layer);
        return CRD_OK;
    }
    return crd_hdf5_read_box(&s->about.array, &order->box, s->what.shown, s->window);
}

/* Stopping is for the process that it works for. */
static void ignore_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) (void)signal(numbers[i], SIG_IGN);
}

int crd_hdf5_serve(void)
{
    static serving s;
    crd_hdf5_order order;
    ignore_signals();
    char own[CRD_HDF5_MARK];
    crd_hdf5_mark(own);
    if (!move(true, s.what.mark, sizeof s.what.mark)) return 2;
    if (memcmp(s.what.mark, own, sizeof own) != 0) return CRD_HDF5_STRANGER;
    if (!move(true, (char *)&s.what + sizeof own, sizeof s.what - sizeof own)) return 2;
    crd_sandbox_enter(s.what.data_limit);
    const crd_status status = open_file(&s);
    if (!answer(status) || status != CRD_OK) return 0;
    if (!move(false, &s.about, sizeof s.about)) return 0;
    while (move(true, &order, sizeof order)) {
        if (!answer(obey(&s, &order))) return 0;
    }
    return 0;
}
