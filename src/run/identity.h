/* What makes two runs the same: everything that shapes the volumes, as a flat JSON object. A run is resumed only by a
 * run of the same identity. */
#ifndef CRD_RUN_IDENTITY_H
#define CRD_RUN_IDENTITY_H

#include "base/hash/sha256.h"
#include "credence/monitor.h"
#include "run/manifest.h"

/* Fingerprints of what is read. */
typedef struct crd_fingerprints {
    char model[CRD_SHA256_TEXT]; /* of the file */
    char scan[CRD_SHA256_TEXT];  /* of shape, type and voxels, whatever the format */
    char mask[CRD_SHA256_TEXT];  /* the same; "" where no file is the mask */
} crd_fingerprints;

/* The key of the mask's fingerprint. Beside "mask", which is a path: runs of earlier versions have only that. */
#define CRD_IDENTITY_MASK "mask_sha256"
/* The key of the fingerprint of what norms are frozen at. */
#define CRD_IDENTITY_NORMS "norms_sha256"

/* Notes the identity of a run that begins in the folder: from now on it can be resumed. */
crd_status crd_identity_write(const char *folder, const char *identity);
/* The run that was interrupted in the folder must be `now`: else the sentence names the first key that differs. */
crd_status crd_identity_check_interrupted(const char *folder, const char *now);
/* The same for a run that is complete, whose manifest lies at `path`. One that says nothing of it (of an earlier
 * version) is believed. */
crd_status crd_identity_check_complete(const crd_manifest *manifest, const char *path, const char *now);

/* Warns of each of scan, mask, model, program and device that isn't what the manifest at `path` says. */
crd_status crd_identity_check_repeated(const char *path, const crd_fingerprints *now, const char *device,
                                       const crd_monitor *monitor);

#endif
