/* libhdf5 may be built without thread safety: everything that calls it holds this one lock. */
#ifndef CRD_BASE_HDF5_LOCK_H
#define CRD_BASE_HDF5_LOCK_H

#include <stddef.h>

/* Not recursive. While it is held, libhdf5 prints nothing; what it printed before is restored afterwards. */
void crd_hdf5_lock(void);
void crd_hdf5_unlock(void);

/* Why the last libhdf5 call failed, in its own words, for the end of a sentence of ours. Call it with the lock held,
 * before any other libhdf5 call. */
const char *crd_hdf5_reason(char *out, size_t room);

#endif
