/* Run folders, as crd_predict leaves them, from outside. */
#ifndef CREDENCE_RUN_H
#define CREDENCE_RUN_H

#include <stdbool.h>

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a manifest says of a run, for tables of several: the kind of network ("bcnn"; "" where it isn't said). */
CRD_API crd_status crd_run_kind(const char *run, char kind[16]);

/* Is that, by its name, the manifest of a run? */
CRD_API bool crd_run_manifest_named(const char *path);

#ifdef __cplusplus
}
#endif
#endif
