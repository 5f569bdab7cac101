/* A prediction under way: what run.c puts together and compute.c drives. */
#ifndef CRD_PREDICT_RUN_H
#define CRD_PREDICT_RUN_H

#include "predict/certificate.h"
#include "predict/expected_error.h"
#include "predict/finished/growing_volumes.h"
#include "predict/finished/probe.h"
#include "predict/finished/writer.h"
#include "predict/finisher.h"
#include "predict/inspection.h"
#include "predict/outlet.h"
#include "predict/reader.h"
#include "predict/record.h"
#include "predict/sharing.h"
#include "predict/tiles/writer.h"
#include "run/folder.h"

struct crd_predict_run {
    crd_dist *dist;
    crd_request request;
    crd_memory_plan memory;
    const char *path;      /* of the run folder */
    crd_run_folder folder; /* rank 0's */
    const crd_sink *sink;  /* NULL: the results are files in the folder; else that is */
    char *own_folder;      /* the run's own, and removed at its end */
    crd_outlet *outlet;    /* to the sink */
    crd_run_log log;
    crd_inspection *inspection; /* rank 0's; NULL: nothing is to be found out any more */
    crd_fingerprints fingerprints;
    char *identity; /* NULL until they are taken: then the run can be resumed. The inspection's while there is one */
    crd_scan *scan;
    const crd_finisher *finisher;
    crd_partial *partial;
    crd_probes *probes;

    int64_t *units; /* of work to be done, rising: rows of chunks, or tiles */
    int64_t unit_count;
    crd_sharing *sharing;
    crd_band band;        /* of units, being computed */
    int64_t bands;        /* computed here */
    crd_moments *moments; /* what norms are frozen at, by sample; NULL: each chunk has its own */
    char norms_sha256[CRD_SHA256_TEXT];
    bool norms_new; /* they were measured, not read */
    crd_predictor *predictor;
    crd_chunk_reader *reader;
    uint8_t *inside; /* the mask of a chunk or of a slice; NULL without */
    int64_t done;    /* chunks, in this call and process */
    int64_t in_band; /* of them, in this band */
    int64_t all;     /* chunks, in this call */
    double finished; /* seconds until this process's last item was finished */
    crd_seams seams;
    crd_certificate certificate;
    crd_training_match match; /* rank 0's */
    crd_run_times times;

    /* Of crd_finish_slices. */
    crd_accumulator *accumulator;
    crd_writer *writer;
    crd_growing_volumes *growing; /* NULL: the volumes are written at the end, or by rank 0 */
    /* Of crd_finish_tiles. */
    crd_tile_files *files;
    crd_tile_borders *borders;
    crd_tile_writer *tiles;
    crd_pool *pool;
};

/* Calls something and adds the seconds it took. */
#define TIMED(SECONDS, CALL)                                                                                           \
    do {                                                                                                               \
        const double timed_start = crd_run_log_seconds(&r->log);                                                       \
        const crd_status timed_status = (CALL);                                                                        \
        (SECONDS) += crd_run_log_seconds(&r->log) - timed_start;                                                       \
        if (timed_status != CRD_OK) return timed_status;                                                               \
    } while (0)

static inline bool crd_predict_first(const crd_predict_run *r)
{
    return crd_dist_rank(r->dist) == 0;
}

/* What people are told of. */
static inline const char *crd_predict_pieces(const crd_predict_run *r)
{
    return r->request.seamless ? "tiles" : "chunks";
}

static inline int64_t crd_predict_per_unit(const crd_predict_run *r)
{
    return crd_request_unit(&r->request);
}

/* All units, band after band, until every process is done; predictor, finisher and sharing are there. */
crd_status crd_predict_compute(crd_predict_run *r);

#endif
