/* A prediction under way: what run.c puts together and compute.c drives. */
#ifndef CRD_PREDICT_RUN_H
#define CRD_PREDICT_RUN_H

#include "predict/certificate.h"
#include "predict/finished/growing_volumes.h"
#include "predict/finished/probe.h"
#include "predict/finished/writer.h"
#include "predict/inspection.h"
#include "predict/likeness.h"
#include "predict/reader.h"
#include "predict/record.h"
#include "predict/sharing.h"
#include "run/folder.h"

struct crd_predict_run {
    crd_dist *dist;
    crd_request request;
    crd_memory_plan memory;
    const char *path;      /* of the run folder */
    crd_run_folder folder; /* rank 0's */
    crd_run_log log;
    crd_inspection *inspection; /* rank 0's; NULL: nothing is to be found out any more */
    crd_fingerprints fingerprints;
    char *identity; /* NULL until they are taken: then the run can be resumed. The inspection's while there is one */
    crd_scan *scan;
    crd_partial *partial;
    crd_growing_volumes *growing; /* NULL: the volumes are written at the end, or by rank 0 */
    crd_probes *probes;

    int64_t *rows; /* rows of chunks to be computed, rising */
    int64_t row_count;
    crd_sharing *sharing;
    crd_band band;        /* of rows, being computed */
    int64_t bands;        /* computed here */
    crd_moments *moments; /* what norms are frozen at, by sample; NULL: each chunk has its own */
    crd_predictor *predictor;
    crd_accumulator *accumulator;
    crd_reader *reader;
    crd_writer *writer;
    uint8_t *inside; /* the mask of a chunk or of a slice; NULL without */
    int64_t done;    /* chunks, in this call and process */
    int64_t in_band; /* of them, in this band */
    int64_t all;     /* chunks, in this call */
    double finished; /* seconds until this process's last slice was written */
    crd_seams seams;
    crd_certificate certificate;
    crd_likeness likeness; /* rank 0's */
    crd_run_times times;
};

static inline bool crd_predict_first(const crd_predict_run *r)
{
    return crd_dist_rank(r->dist) == 0;
}

/* Chunks of a row. */
static inline int64_t crd_predict_per_row(const crd_predict_run *r)
{
    return r->request.count[1] * r->request.count[2];
}

/* All rows, band after band, until every process is done; predictor, accumulator, writer and sharing are there. */
crd_status crd_predict_compute(crd_predict_run *r);

#endif
