/* What store.c and store_attributes.c share. */
#ifndef CRD_NET_STORE_FILE_H
#define CRD_NET_STORE_FILE_H

#include <hdf5.h>

#include "base/hdf5/sink.h"
#include "net/store/store.h"

struct crd_store {
    hid_t file;
    crd_hdf5_sink *sink; /* that owns the file while writing */
    char *path;
    char *temporary; /* NULL while reading */
};

/* Opens the group, "" being the root; while writing, makes it and those above it. */
crd_status crd_store_group(crd_store *store, const char *group, hid_t *out);

/* Fails with libhdf5's own reason at the end of the sentence. */
crd_status crd_store_broken(const crd_store *store, const char *name);

#endif
