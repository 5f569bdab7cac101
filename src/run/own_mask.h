/* The mask that a run was made in. */
#ifndef CRD_RUN_OWN_MASK_H
#define CRD_RUN_OWN_MASK_H

#include "credence/monitor.h"
#include "run/manifest.h"

/* "cylinder", or the file that the manifest names; NULL: the run has none. A file whose voxels have changed since is
 * refused: outside the mask that it was, a run holds no results. Free with crd_free. */
crd_status crd_run_own_mask(const char *folder, const crd_manifest *run, const crd_monitor *monitor, char **out);

#endif
