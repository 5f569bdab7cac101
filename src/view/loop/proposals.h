/* Which boxes to label next. */
#ifndef CRD_VIEW_LOOP_PROPOSALS_H
#define CRD_VIEW_LOOP_PROPOSALS_H

#include "view/loop/candidates.h"

enum { CRD_PROPOSALS = 8 };

typedef enum crd_proposal_order {
    CRD_PROPOSE_EXCESS, /* uncertainty beyond what edges explain */
    CRD_PROPOSE_MEAN,   /* mean uncertainty */
    CRD_PROPOSE_RANDOM,
    CRD_PROPOSE_ORDERS
} crd_proposal_order;
extern const char *const crd_proposal_orders[CRD_PROPOSE_ORDERS]; /* "excess", "mean", "random" */

/* What a candidate is to a proposal. */
typedef enum crd_candidate_state { CRD_CANDIDATE_FREE, CRD_CANDIDATE_LABELLED, CRD_CANDIDATE_NOT } crd_candidate_state;

typedef struct crd_proposal {
    int64_t candidate;
    double excess; /* NaN where nothing is known */
} crd_proposal;

/* By excess or mean: one after the other takes the free candidate of the largest e * min(1, d / d0), where d is the
 * distance in standardised features to the nearest that is labelled or chosen, d0 the median distance to their middle,
 * and no two overlap. *a and *b: e = uncertainty - (a + b * edges), by least squares over all that lie in the mask. */
crd_status crd_propose(const crd_candidates *candidates, const uint8_t *states, crd_proposal_order order, int most,
                       crd_proposal out[], int *count, double *a, double *b);
/* By random keys that the seed and the loop's number give; `free` is asked of one after the other. Needs no figures. */
crd_status crd_propose_random(const crd_candidates *candidates, int64_t seed, int64_t loop,
                              crd_status (*may)(void *context, int64_t candidate, bool *free), void *context, int most,
                              crd_proposal out[], int *count);

#endif
