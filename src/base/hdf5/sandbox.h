/* What is left to a process that parses a file of somebody else's: to read what is open, to compute, to answer. */
#ifndef CRD_BASE_HDF5_SANDBOX_H
#define CRD_BASE_HDF5_SANDBOX_H

#include <stdint.h>

/* For good: no memory dump, no writing to files, at most `data_bytes` of memory, and, where the kernel has seccomp, no
 * network, no other process, no file opened but for reading (libraries that unpack lie in files). A call that isn't
 * allowed fails with EPERM. What this system doesn't have is left out. */
void crd_sandbox_enter(int64_t data_bytes);

#endif
