/* Prediction on the CPU: these fill the slots of crd_backend_cpu. */
#ifndef CRD_BACKEND_HOST_PREDICTOR_H
#define CRD_BACKEND_HOST_PREDICTOR_H

#include "backend/backend.h"
#include "ops/ops.h"

/* The operations of the path and precision that are asked for. */
crd_status crd_host_ops(const crd_device_settings *settings, const crd_ops **out);

crd_status crd_host_predictor_bytes(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                    int64_t *host_bytes, int64_t *device_bytes);
crd_status crd_host_predictor_create(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                     crd_predictor **out);
int crd_host_predictor_depth(const crd_predictor *predictor);
void crd_host_predictor_keep(crd_predictor *predictor, const crd_box *keep);
crd_status crd_host_predictor_submit(crd_predictor *predictor, int64_t chunk_number, const float *input,
                                     const int64_t *probe, int64_t probe_count);
crd_status crd_host_predictor_collect(crd_predictor *predictor, crd_chunk_result *result);
void crd_host_predictor_free(crd_predictor **predictor);

#endif
