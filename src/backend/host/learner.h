/* Training on the CPU: these fill the slots of crd_backend_cpu. */
#ifndef CRD_BACKEND_HOST_LEARNER_H
#define CRD_BACKEND_HOST_LEARNER_H

#include "backend/backend.h"

crd_status crd_host_learner_bytes(const crd_device_settings *settings, const crd_learner_plan *plan,
                                  int64_t *host_bytes, int64_t *device_bytes);
crd_status crd_host_learner_path(const crd_device_settings *settings, char *text, size_t size);
crd_status crd_host_learner_create(const crd_device_settings *settings, const crd_learner_plan *plan,
                                   crd_learner **out);
crd_status crd_host_learner_write(crd_learner *learner);
crd_status crd_host_learner_read(crd_learner *learner, bool moments);
crd_status crd_host_learner_stage(crd_learner *learner, int64_t place, const float *input, const uint8_t *label);
crd_status crd_host_learner_start(crd_learner *learner, const crd_learner_step *step);
crd_status crd_host_learner_finish(crd_learner *learner, crd_loss *losses, double *kl);
crd_status crd_host_learner_gradient(crd_learner *learner, float *gradient);
crd_status crd_host_learner_evaluate(crd_learner *learner, const float *input, const uint8_t *label, crd_loss *loss);
void crd_host_learner_free(crd_learner **learner);

void crd_host_learner_draw(crd_learner *learner, int64_t first_sample, int64_t count);
void crd_host_learner_encode(crd_learner *learner, const float *input);
void crd_host_learner_decode(crd_learner *learner, int64_t sample, float *probability);

crd_status crd_host_learner_example(crd_learner *learner, const crd_learner_step *step, const float *input,
                                    const uint8_t *label, float *gradient, crd_loss *loss);
int64_t crd_host_learner_part_values(const crd_learner *learner, crd_exchange exchange, int rank);
void crd_host_learner_pack_part(const crd_learner *learner, crd_exchange exchange, float *values);
void crd_host_learner_unpack_part(crd_learner *learner, crd_exchange exchange, int rank, const float *values);

#endif
