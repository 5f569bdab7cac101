/* What lies in a run folder beside its volumes, and where. */
#ifndef CRD_RUN_PATHS_H
#define CRD_RUN_PATHS_H

#include <stdbool.h>

#include "base/error.h"

typedef enum crd_run_file {
    CRD_RUN_MANIFEST, /* what was done; there once the run is complete */
    CRD_RUN_LOG,
    CRD_RUN_PROBE,
    CRD_RUN_NORMS,      /* what norms are frozen at */
    CRD_RUN_VALIDATION, /* figures, where there is a label */
    CRD_RUN_MEASURE,    /* properties of the realisations, */
    CRD_RUN_VALUES,     /* and all values of them as a table; */
    CRD_RUN_MEASURING,  /* the folder of what an unfinished measurement has finished */
    CRD_RUN_PROPAGATED, /* the folder of those of propagated numbers */
    CRD_RUN_LOCK,
    CRD_RUN_PARTIAL,  /* the folder of what isn't complete yet, */
    CRD_RUN_IDENTITY, /* in it: what the run is, so that it can be resumed, */
    CRD_RUN_LIST      /* and the volumes that it writes, so that they can be cleared away */
} crd_run_file;

const char *crd_run_file_name(crd_run_file file);
/* Free with crd_free. */
crd_status crd_run_path(const char *folder, crd_run_file file, char **out);
/* A file of that name in the folder of what isn't complete yet. */
crd_status crd_run_partial_path(const char *folder, const char *name, char **out);

/* Where a volume lies that a manifest names: in the run folder, or in memory, if it is called as one that is lent
 * (credence/volume.h). Free with crd_free. */
crd_status crd_run_volume_path(const char *folder, const char *file, char **out);
/* Is it there? */
bool crd_run_volume_there(const char *path);

/* The file's text; *out stays NULL, without an error, where there is none. */
crd_status crd_run_text(const char *folder, crd_run_file file, char **out);
/* Has a run been interrupted there that can be resumed? */
bool crd_run_interrupted(const char *folder);

/* Removes the values of a propagation from its folder, which stays: what a command wrote there is the user's. */
crd_status crd_run_propagation_clear(const char *folder);

/* Removes the folder of what isn't complete and all in it: the identity first, since a run
 * whose slices are partly gone can't be resumed, and the list of volumes last, since it says which run the rest is of.
 */
crd_status crd_run_partial_remove(const char *folder);

#endif
