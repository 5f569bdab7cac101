/* How well tiles meet: at places on their borders the network is asked again with twice the halo.
 *
 * A place is a small box that touches a border from inside a tile. It is computed twice, with some of the run's
 * samples: seeing as much beyond the border as its tile did, and twice as much. What differs is what the halo leaves
 * out. */
#ifndef CRD_PREDICT_CERTIFICATE_H
#define CRD_PREDICT_CERTIFICATE_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_certificate {
    int64_t places; /* 0: one tile, which has no borders; -1: chunks that overlap */
    double largest_probability, mean_probability, largest_uncertainty; /* of |difference| */
} crd_certificate;

typedef struct crd_predict_run crd_predict_run;
/* Rank 0's, once everything is computed. Warns where tiles can be seen. */
crd_status crd_certificate_make(crd_predict_run *r, crd_certificate *out);

#endif
