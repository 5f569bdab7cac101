/* From a finished prediction to its manifest. */
#ifndef CRD_PREDICT_RECORD_H
#define CRD_PREDICT_RECORD_H

#include "predict/certificate.h"
#include "predict/expected_error.h"
#include "predict/finished/volumes.h"
#include "predict/identity.h"
#include "predict/memory_plan.h"
#include "run/log.h"

typedef struct crd_record {
    const crd_request *request;
    const crd_fingerprints *fingerprints;
    const char *identity;
    const crd_scan *scan;
    const crd_memory_plan *memory;
    const crd_seams *seams;
    const crd_certificate *certificate;
    crd_training_match *match;
    crd_run_log *log;
    const crd_partial *partial;
    const crd_run_times *times;
    int64_t computed; /* chunks, in this call */
} crd_record;

/* Writes the manifest and fills the sums of the result; warns of what they show. */
crd_status crd_record_write(const crd_record *record, const char *folder, crd_predict_result *result);
/* Fills the sums of the result, and its chunks and samples, with what a manifest says. */
void crd_record_result(const crd_manifest *manifest, crd_predict_result *result);

#endif
