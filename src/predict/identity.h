/* What makes two runs the same: everything that shapes the volumes, as a flat JSON object. A run is resumed only by a
 * run of the same identity. */
#ifndef CRD_PREDICT_IDENTITY_H
#define CRD_PREDICT_IDENTITY_H

#include "base/sha256.h"
#include "predict/request.h"

/* Fingerprints of what is read. */
typedef struct crd_fingerprints {
    char model[CRD_SHA256_TEXT]; /* of the file */
    char scan[CRD_SHA256_TEXT];  /* of shape, type and voxels, whatever the format */
    char mask[CRD_SHA256_TEXT];  /* the same; "" where no file is the mask */
} crd_fingerprints;

/* Reads every file once. */
crd_status crd_fingerprints_take(const crd_request *request, const crd_monitor *monitor, crd_fingerprints *out);

/* Free the text with crd_free. */
crd_status crd_identity_make(const crd_request *request, const crd_fingerprints *fingerprints, char **out);
/* Fails with a sentence that names the first key that differs. `path` is where `earlier` was found. */
crd_status crd_identity_compare(const char *earlier, const char *now, const char *path);
/* The same for a run that is complete, whose manifest is `path`. One that says nothing of it (of an earlier version) is
 * believed. */
crd_status crd_identity_finished(const char *path, const char *now);

/* Warns of each of scan, mask, model, program and device that isn't what the manifest at `path` says. */
crd_status crd_identity_repeats(const crd_request *request, const char *path, const crd_fingerprints *fingerprints,
                                const crd_monitor *monitor);

#endif
