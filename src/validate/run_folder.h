/* A run folder of predict, as those who read it see it. */
#ifndef CRD_VALIDATE_RUN_FOLDER_H
#define CRD_VALIDATE_RUN_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/settings.h"

typedef struct crd_run_files {
    char *name; /* the scan's: what the volumes' names begin with */
    char *prob, *seg, *unc, *std;
    crd_text_list maps;      /* uncertainty of further intervals, narrow ones first, */
    crd_text_list map_names; /* and what they are called: "20-80" */
} crd_run_files;

/* Looks at the names in the folder. A folder without any of the volumes is an error; one that has several runs, too. */
crd_status crd_run_files_find(const char *folder, crd_run_files *files);
void crd_run_files_free(crd_run_files *files);

/* The text of folder/manifest.json; *out stays NULL where there is none. */
crd_status crd_run_manifest(const char *folder, char **out);

/* What validation wants to know of it. */
typedef struct crd_run_facts {
    char interval[32]; /* of the uncertainty: "33-67"; "" where it isn't said */
    char kind[16];     /* of the model */
    double mean;       /* of the uncertainty over all voxels inside the mask; NaN where it isn't said */
    char *mask;        /* of the run; NULL: none */
    bool boxed;        /* the run is of a box of the scan, which begins at */
    int64_t origin[3];
} crd_run_facts;

crd_status crd_run_facts_read(const char *folder, crd_run_facts *facts);
void crd_run_facts_free(crd_run_facts *facts);

#endif
