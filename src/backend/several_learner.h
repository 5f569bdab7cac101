/* Training on several devices: the examples of a mini-batch are divided among them, and their gradients are added on
 * the host in the order of the batch, so that any number of devices gives the bytes of one. Every device then takes the
 * whole step, and all have the same parameters. */
#ifndef CRD_BACKEND_SEVERAL_LEARNER_H
#define CRD_BACKEND_SEVERAL_LEARNER_H

#include "backend/backend.h"

/* These fill the slots of crd_backend_several. */
crd_status crd_several_learner_bytes(const crd_device_settings *settings, const crd_learner_plan *plan,
                                     int64_t *host_bytes, int64_t *device_bytes);
crd_status crd_several_learner_path(const crd_device_settings *settings, char *text, size_t size);
crd_status crd_several_learner_create(const crd_device_settings *settings, const crd_learner_plan *plan,
                                      crd_learner **out);
crd_status crd_several_learner_write(crd_learner *learner);
crd_status crd_several_learner_read(crd_learner *learner, bool moments);
crd_status crd_several_learner_stage(crd_learner *learner, int64_t place, const float *input, const uint8_t *label);
crd_status crd_several_learner_start(crd_learner *learner, const crd_learner_step *step);
crd_status crd_several_learner_finish(crd_learner *learner, crd_loss *losses, double *kl);
crd_status crd_several_learner_gradient(crd_learner *learner, float *gradient);
crd_status crd_several_learner_evaluate(crd_learner *learner, const float *input, const uint8_t *label, crd_loss *loss);
crd_status crd_several_learner_check(crd_learner *learner, int64_t number, const float *input, const uint8_t *label,
                                     crd_loss *loss);
crd_status crd_several_learner_checked(crd_learner *learner);
bool crd_several_learner_keeps(const crd_learner *learner, int64_t number);
void crd_several_learner_free(crd_learner **learner);

#endif
