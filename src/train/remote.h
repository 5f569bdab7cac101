/* The trainer's other half, where a device takes the steps: parameters and moments live there, and come to the host
 * when somebody wants to see them. */
#ifndef CRD_TRAIN_REMOTE_H
#define CRD_TRAIN_REMOTE_H

#include "train/trainer.h"

typedef struct crd_remote crd_remote;

/* Does the backend of the plan take steps itself? */
bool crd_remote_wanted(const crd_trainer_plan *plan);

crd_status crd_remote_create(const crd_trainer_plan *plan, crd_remote **out);
void crd_remote_free(crd_remote **remote);
crd_status crd_remote_bytes(const crd_trainer_plan *plan, int64_t *host_bytes, int64_t *device_bytes);

/* The state to the device, and back where the device's is newer. */
crd_status crd_remote_write(crd_remote *remote, const crd_trainer_state *state);
crd_status crd_remote_read(crd_remote *remote, crd_trainer_state *state);

crd_status crd_remote_add(crd_remote *remote, uint32_t example, const float *input, const uint8_t *label, float scale,
                          crd_loss *loss);
/* `gradient`, where not NULL, takes the place of that of the examples added. */
crd_status crd_remote_start(crd_remote *remote, int64_t step, double kl_scale, double rate, const float *gradient);
crd_status crd_remote_finish(crd_remote *remote, double *kl);
crd_status crd_remote_gradient(crd_remote *remote, float *gradient);
/* Gradient and loss of one example alone. */
crd_status crd_remote_example(crd_remote *remote, int64_t step, uint32_t example, const float *input,
                              const uint8_t *label, float scale, float *gradient, crd_loss *loss);

crd_status crd_remote_evaluate(crd_remote *remote, const float *input, const uint8_t *label, crd_loss *loss);
/* Samples first_step .. first_step + samples - 1 of the parameters as they are; then all of them for a chunk. The
 * probabilities [samples][voxels] are borrowed until the next call. */
crd_status crd_remote_draw(crd_remote *remote, const float *parameters, uint32_t first_step);
crd_status crd_remote_decode(crd_remote *remote, const float *input, const float **probabilities);

#endif
