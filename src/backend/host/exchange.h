/* What a part of the parameters is in each exchange between processes (crd_exchange), as flat floats. */
#ifndef CRD_BACKEND_HOST_EXCHANGE_H
#define CRD_BACKEND_HOST_EXCHANGE_H

#include "backend/backend.h"
#include "bayes/posterior.h"

int64_t crd_exchange_values(crd_exchange exchange, const crd_posterior_part *part);
/* These two are for all but the gradient, which lies in one piece. */
void crd_exchange_pack(crd_exchange exchange, const crd_posterior_part *part, const crd_posterior *posterior,
                       const crd_learner_state *state, float *values);
void crd_exchange_unpack(crd_exchange exchange, const crd_posterior_part *part, const float *values,
                         crd_posterior *posterior, const crd_learner_state *state);

#endif
