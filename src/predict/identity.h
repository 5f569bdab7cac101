/* What a prediction is, in a form that src/run can compare with an earlier one. */
#ifndef CRD_PREDICT_IDENTITY_H
#define CRD_PREDICT_IDENTITY_H

#include "predict/request.h"
#include "run/identity.h"

/* `norms` is the fingerprint of what norms are frozen at; "" where they aren't. Free the text with crd_free. */
crd_status crd_identity_make(const crd_request *request, const crd_fingerprints *fingerprints, const char *norms,
                             char **out);

#endif
