/* manifest.json: what was done, with what, and its sums. */
#ifndef CRD_PREDICT_MANIFEST_H
#define CRD_PREDICT_MANIFEST_H

#include <cjson/cJSON.h>

#include "predict/identity.h"
#include "predict/memory_plan.h"
#include "predict/notes.h"
#include "predict/output.h"

/* Where the seconds went. */
typedef struct crd_run_times {
    double preparing; /* fingerprints, statistics, timing the network */
    double starting;  /* drawing the weights, taking the memory */
    double waiting;   /* for chunks of the scan */
    double network;
    double summarising; /* means and percentiles of the samples, where they don't run beside the network */
    double adding;      /* chunks to the sums */
    double finishing;   /* slices */
    double writing;     /* the volumes, at the end */
} crd_run_times;

typedef struct crd_manifest {
    const crd_request *request;
    const crd_fingerprints *fingerprints;
    const char *identity;
    const crd_scan *scan;
    const crd_memory_plan *memory;
    const crd_seams *seams;
    const crd_notes *notes;
    const crd_partial *partial;
    const crd_run_times *times;
    int64_t computed; /* chunks, in this call */
} crd_manifest;

/* Writes the file and fills the sums of the result. */
crd_status crd_manifest_write(const crd_manifest *manifest, const char *path, crd_predict_result *result);
/* manifest_read.c: the content of a manifest, or of the list of volumes that an unfinished run keeps; free with
 * cJSON_Delete. Fails where the file is none of ours. */
crd_status crd_manifest_parse(const char *path, cJSON **out);
/* Fills the sums of the result, and its chunks and samples, with what the manifest at `path` says. */
crd_status crd_manifest_read(const char *path, crd_predict_result *result);

#endif
