/* How computed chunks become finished voxels: one table for each mode. Chunks that overlap are added up until no other
 * touches a slice (overlap.c); a tile's voxels are final at once (seamless.c). The rest of a run is the same.
 *
 * What a finisher calls finished survives any interruption: its items, slices or tiles, are in the journal
 * (predict/finished/partial.h). */
#ifndef CRD_PREDICT_FINISHER_H
#define CRD_PREDICT_FINISHER_H

#include "backend/backend.h"

typedef struct crd_predict_run crd_predict_run;

typedef struct crd_finisher {
    const char *items; /* "slices": what people are told of */
    /* Of a run that is resumed, at rank 0: before anything in the folder is cleared away. NULL: nothing. */
    crd_status (*restore)(crd_predict_run *r);
    /* r->partial is open: makes what lasts until the end. All processes, rank 0 first. */
    crd_status (*open)(crd_predict_run *r);
    /* Is a unit of work finished, of those that crd_request_unit speaks of? */
    bool (*done)(const crd_predict_run *r, int64_t unit);
    /* Takes what is needed while chunks are computed, and gives it back. */
    crd_status (*start)(crd_predict_run *r);
    void (*stop)(crd_predict_run *r);
    /* A chunk is computed. */
    crd_status (*take)(crd_predict_run *r, const crd_chunk_result *result);
    /* The last one of r->band is; and all processes know of it now. NULL: nothing. */
    crd_status (*end_band)(crd_predict_run *r);
    crd_status (*shared_band)(crd_predict_run *r);
    /* Until all that was taken is finished, also after an error. */
    crd_status (*wait)(crd_predict_run *r);
    /* r->partial is opened again, with what others finished: opens the rest again, too. Rank 0 of several. */
    crd_status (*gather)(crd_predict_run *r);
    /* Everything is finished: completes the volumes and measures r->seams. Rank 0. */
    crd_status (*commit)(crd_predict_run *r);
    /* Gives back the rest, before r->partial is closed. */
    void (*close)(crd_predict_run *r);
} crd_finisher;

extern const crd_finisher crd_finish_slices, crd_finish_tiles;

#endif
