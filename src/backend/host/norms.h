/* Statistics of frozen norms: fills the slot measure_norms of crd_backend_cpu. */
#ifndef CRD_BACKEND_HOST_NORMS_H
#define CRD_BACKEND_HOST_NORMS_H

#include "backend/backend.h"

crd_status crd_host_norms_bytes(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                const crd_pieces *pieces, int64_t *host_bytes);
crd_status crd_host_measure_norms(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                  const crd_pieces *pieces, const crd_monitor *monitor, crd_moments *moments);

#endif
