/* The weights of every sample of a plan, as the CPU's engine takes them: drawn once, or anew for every chunk. */
#ifndef CRD_BACKEND_HOST_DRAWS_H
#define CRD_BACKEND_HOST_DRAWS_H

#include "backend/backend.h"
#include "base/parallel.h"

typedef struct crd_host_draws crd_host_draws;

/* The plan and what it borrows, and the pool, must outlive the draws. */
crd_status crd_host_draws_create(const crd_predictor_plan *plan, crd_pool *pool, crd_host_draws **out);
void crd_host_draws_free(crd_host_draws **draws);
int64_t crd_host_draws_bytes(const crd_predictor_plan *plan);

/* Weights at their means, point layout: the encoder's are the same for all samples of a turn (crd_plan_turns). */
const float *crd_host_draws_encoder(const crd_host_draws *draws, int64_t turn);

typedef struct crd_host_sample {
    const float *decoder; /* point layout, from crd_decoder_offset on */
    const float *masks;   /* NULL: no dropout */
} crd_host_sample;

/* Sample `sample` of the plan, counted from 0; valid until the next call. Where every chunk has draws of its own, it is
 * best to take all samples of a turn before those of the next. */
crd_host_sample crd_host_draws_sample(crd_host_draws *draws, int64_t sample, int64_t chunk_number);

#endif
