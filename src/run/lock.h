/* One writer at a time. */
#ifndef CRD_RUN_LOCK_H
#define CRD_RUN_LOCK_H

#include "base/error.h"
#include "credence/monitor.h"

/* An advisory lock file that holds host and pid; a second holder gets CRD_ERR_BUSY with a sentence that names them. A
 * lock whose process is gone (same host) is taken over, and so is that of an earlier run of the same batch job, on any
 * host; `monitor` is told. */
typedef struct crd_lock crd_lock;
crd_status crd_lock_take(const char *path, const crd_monitor *monitor, crd_lock **out);
void crd_lock_release(crd_lock **lock);

#endif
