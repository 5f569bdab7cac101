/* A run folder for those who read it. */
#ifndef CRD_RUN_READ_H
#define CRD_RUN_READ_H

#include "run/manifest.h"

/* What the folder's manifest says, and those of its volumes that are there: further uncertainty maps behind the first,
 * narrow intervals before wide ones. Without a manifest (`document` is NULL then) volumes are known by their names. A
 * run that isn't complete is an error, and so is a folder without probability and segmentation. */
crd_status crd_run_read(const char *folder, crd_manifest *out);
/* The manifest alone; nothing is known where there is none. */
crd_status crd_run_read_manifest(const char *folder, crd_manifest *out);

#endif
