/* HDF5 files that are written: a file driver of our own, because libhdf5 can't cope with a write that fails. On a full
 * disk its caches stay dirty, H5Fclose gives up half-way, memory is lost, and the process may crash at exit. This
 * driver remembers the first failure, tells libhdf5 that all is well, and drops all later writes; crd_hdf5_sink_check
 * reports it.
 *
 * All calls need the lock of base/hdf5/lock.h. */
#ifndef CRD_BASE_HDF5_SINK_H
#define CRD_BASE_HDF5_SINK_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/error.h"

typedef struct crd_hdf5_sink crd_hdf5_sink;

/* Creates the new file `path`, which error sentences call `shown`, without object times; `fixed_format`: in the format
 * of libhdf5 1.8, whatever the library's own release. *file is the sink's; close what was opened in it, then call
 * crd_hdf5_sink_finish to keep it, and crd_hdf5_sink_close in any case. */
crd_status crd_hdf5_sink_create(const char *path, const char *shown, bool fixed_format, crd_hdf5_sink **out,
                                hid_t *file);

/* The same over a file that may be there already, made by the same calls: their bytes are written once more, and what
 * else the file holds stays. */
crd_status crd_hdf5_sink_over(const char *path, const char *shown, crd_hdf5_sink **out, hid_t *file);

/* To be called with the result of each libhdf5 call that may write: has writing failed, or has libhdf5? */
crd_status crd_hdf5_sink_check(const crd_hdf5_sink *sink, herr_t result);

/* Writes all that is still in memory and closes the file; syncing is the caller's. */
crd_status crd_hdf5_sink_finish(crd_hdf5_sink *sink);

/* From now on nothing is written: to be called before closing the objects of a file that is given up. */
void crd_hdf5_sink_drop(crd_hdf5_sink *sink);

/* Closes the file, dropping what wasn't finished. Removes nothing. NULL is fine. */
void crd_hdf5_sink_close(crd_hdf5_sink **sink);

#endif
