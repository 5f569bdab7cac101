/* An HDF5 file of named arrays and attributes without times: what models and checkpoints are written with.
 *
 * A store that is written, or read in this process, holds libhdf5's lock (base/hdf5/lock.h) from open or create to
 * close: one at a time, on one thread. Names are paths from the root ("decoder/3/a/bias"); groups in between are made
 * as needed. An attribute belongs to a group, "" being the root. Every failure's sentence names the file. */
#ifndef CRD_NET_STORE_H
#define CRD_NET_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "net/net.h"

typedef struct crd_store crd_store;

/* For reading, which a process of its own does (base/hdf5/helper.h) unless crd_trust_files says otherwise. What it
 * doesn't find it may not have been able to look for: crd_store_check, at the end, tells. */
crd_status crd_store_open(const char *path, crd_store **out);
crd_status crd_store_check(const crd_store *store);
/* Writes to a temporary file beside `path`, which crd_store_commit renames; closing without commit removes it. */
crd_status crd_store_create(const char *path, crd_store **out);
crd_status crd_store_commit(crd_store *store);
void crd_store_close(crd_store **store);
const char *crd_store_path(const crd_store *store);

crd_status crd_store_put_floats(crd_store *store, const char *name, int rank, const int64_t *shape,
                                const float *values);
crd_status crd_store_put_doubles(crd_store *store, const char *name, int rank, const int64_t *shape,
                                 const double *values);
/* As IEEE half precision, which libhdf5 rounds to. */
crd_status crd_store_put_halves(crd_store *store, const char *name, int rank, const int64_t *shape,
                                const float *values);
crd_status crd_store_put_integers(crd_store *store, const char *name, int64_t count, const int64_t *values);
/* The dataset must be there, be float32 (or of integers), and have that shape; `needed_by` ends the sentence otherwise
 * ("a bcnn with 16 filters and 4 groups"). */
crd_status crd_store_get_floats(crd_store *store, const char *name, int rank, const int64_t *shape,
                                const char *needed_by, float *values);
crd_status crd_store_get_doubles(crd_store *store, const char *name, int rank, const int64_t *shape,
                                 const char *needed_by, double *values);
crd_status crd_store_get_halves(crd_store *store, const char *name, int rank, const int64_t *shape,
                                const char *needed_by, float *values);
crd_status crd_store_get_integers(crd_store *store, const char *name, int64_t count, const char *needed_by,
                                  int64_t *values);

/* The shape of a dataset that must be there and have that rank. */
crd_status crd_store_get_shape(crd_store *store, const char *name, int rank, int64_t *shape);

/* A flat buffer as the datasets of a layout, below the group `prefix` ("" or "optimizer/m"). */
crd_status crd_store_put_layout(crd_store *store, const char *prefix, const crd_layout *layout, const float *values);
crd_status crd_store_get_layout(crd_store *store, const char *prefix, const crd_layout *layout, const char *needed_by,
                                float *values);

bool crd_store_has(crd_store *store, const char *name); /* a dataset or group */
bool crd_store_has_attribute(crd_store *store, const char *group, const char *name);

crd_status crd_store_put_text(crd_store *store, const char *group, const char *name, const char *text);
crd_status crd_store_put_numbers(crd_store *store, const char *group, const char *name, int64_t count,
                                 const int64_t *values);
crd_status crd_store_put_reals(crd_store *store, const char *group, const char *name, int64_t count,
                               const double *values);
/* Free the text with crd_free. */
crd_status crd_store_get_text(crd_store *store, const char *group, const char *name, char **out);
crd_status crd_store_get_numbers(crd_store *store, const char *group, const char *name, int64_t count, int64_t *values);
crd_status crd_store_get_reals(crd_store *store, const char *group, const char *name, int64_t count, double *values);

#endif
