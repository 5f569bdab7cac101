/* Inside src/run: volumes known by their names, for a folder without a manifest, or whose manifest lists none of what
 * is there: volumes that somebody copied or converted. Nothing else looks at a volume's name. */
#ifndef CRD_RUN_BY_NAME_H
#define CRD_RUN_BY_NAME_H

#include "run/manifest.h"

/* Fills the outputs anew, and the scan's name where the manifest doesn't say it. Volumes of more
 * than one run are an error. */
crd_status crd_run_look_by_name(const char *folder, crd_manifest *manifest);

#endif
