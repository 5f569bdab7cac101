#include "base/hdf5/serving.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static char *mapped;
static int64_t mapped_bytes;

bool crd_serving_take(void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        const ssize_t got = read(CRD_HELPER_SOCKET, at, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool crd_serving_send(const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t sent = write(CRD_HELPER_SOCKET, at, bytes);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

bool crd_serving_answer(crd_status status)
{
    crd_helper_answer words = {.status = (int)status};
    if (status != CRD_OK) (void)snprintf(words.sentence, sizeof words.sentence, "%s", crd_last_error()->message);
    return crd_serving_send(&words, sizeof words);
}

crd_status crd_serving_map(int64_t bytes, char **window)
{
    if (bytes > mapped_bytes) {
        if (mapped != NULL) (void)munmap(mapped, (size_t)mapped_bytes);
        mapped = NULL;
        mapped_bytes = 0;
        void *anew = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, CRD_HELPER_WINDOW, 0);
        if (anew == MAP_FAILED) return crd_fail_errno("no shared memory for what was read");
        mapped = anew;
        mapped_bytes = bytes;
    }
    *window = mapped;
    return CRD_OK;
}
