/* What store.c and store_attributes.c share. */
#ifndef CRD_NET_STORE_FILE_H
#define CRD_NET_STORE_FILE_H

#include <hdf5.h>

#include "base/hdf5/helper.h"
#include "base/hdf5/sink.h"
#include "net/store/store.h"

struct crd_store {
    hid_t file;
    crd_hdf5_sink *sink; /* that owns the file while writing */
    char *path;
    char *temporary;    /* NULL while reading */
    crd_helper *helper; /* that reads it; NULL: it is read or written here */
    crd_error lost;     /* the helper died of a question that has no error of its own */
};

/* A file that is open as `fd`, which is taken over in any case, to be read here. */
crd_status crd_store_take(int fd, int64_t length, const char *path, crd_store **out);

/* A dataset that was never written is read as any number of zeros: `count` values must be in `stored` bytes somehow. */
crd_status crd_store_check_claim(const crd_store *store, const char *name, int64_t count, uint64_t stored);

/* Opens the group, "" being the root; while writing, makes it and those above it. */
crd_status crd_store_group(crd_store *store, const char *group, hid_t *out);

/* Fails with libhdf5's own reason at the end of the sentence. */
crd_status crd_store_broken(const crd_store *store, const char *name);

#endif
