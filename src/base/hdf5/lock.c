#include "base/hdf5/lock.h"

#include <hdf5.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static H5E_auto2_t host_printer; /* the host program's way of printing, kept while we hold the lock */
static void *host_context;

void crd_hdf5_lock(void)
{
    pthread_mutex_lock(&lock);
    host_printer = NULL;
    host_context = NULL;
    (void)H5Eget_auto2(H5E_DEFAULT, &host_printer, &host_context);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void crd_hdf5_unlock(void)
{
    (void)H5Eset_auto2(H5E_DEFAULT, host_printer, host_context);
    pthread_mutex_unlock(&lock);
}

typedef struct reason {
    char *out;
    size_t room;
} reason;

/* The innermost record comes first and is the cause; those further out say only what could therefore not be done. */
static herr_t keep_first(unsigned n, const H5E_error2_t *error, void *context)
{
    const reason *wanted = context;
    if (n == 0 && error->desc != NULL) snprintf(wanted->out, wanted->room, "%s", error->desc);
    return 0;
}

const char *crd_hdf5_reason(char *out, size_t room)
{
    reason wanted = {.out = out, .room = room};
    snprintf(out, room, "libhdf5 gives no reason");
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &wanted);
    /* Of "file write failed: time = ..., filename = ..., error message = 'No space left on device', buf = 0x..." only
     * the system's own words are for people. */
    char *cause = strstr(out, "error message = '"), *end;
    if (cause != NULL) {
        cause += strlen("error message = '");
        if ((end = strchr(cause, '\'')) != NULL) *end = '\0';
        memmove(out, cause, strlen(cause) + 1);
    }
    return out;
}
