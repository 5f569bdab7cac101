/* One optimisation step: per-example gradients summed in batch order, the KL's gradient, Adam. The backend's learner
 * takes it; here is what all backends have in common.
 *
 *     for each example of the mini-batch, in order:
 *         crd_trainer_add(trainer, example, input, label, scale, &losses[example]);
 *     crd_trainer_finish(trainer, kl_scale, rate, &kl);      // the losses are there now
 *
 * crd_trainer_finish is crd_trainer_start and crd_trainer_wait. Where the backend overlaps, the next mini-batch can be
 * added between the two, while it computes; elsewhere inputs and labels are borrowed until the step was started.
 *
 * Several processes share a mini-batch as follows; src/train/shared_step.c is where they talk.
 *
 *     for each example of this process:
 *         crd_trainer_example(trainer, example, input, label, scale, gradient, &loss);
 *     ... everybody gets all of these gradients in its own part of the parameters, or their sum, and then ...
 *     crd_trainer_follow_parts(trainer, count, parts, kl_scale, rate), or
 *     crd_trainer_follow(trainer, sum, kl_scale, rate);
 *     ... where parts were followed, everybody gets the others' (crd_exchange), and then ...
 *     crd_trainer_wait(trainer, &kl);
 *
 * Everything is allocated by crd_trainer_create. The same bits for any number of threads. */
#ifndef CRD_TRAIN_TRAINER_H
#define CRD_TRAIN_TRAINER_H

#include "backend/backend.h"
#include "bayes/posterior.h"

typedef struct crd_trainer crd_trainer;

typedef struct crd_trainer_plan {
    const crd_backend *backend;
    crd_device_settings device;
    crd_learner_plan learner; /* its state is made by the trainer; samples: the most of crd_trainer_draw_samples */
} crd_trainer_plan;

/* What training changes: three flat buffers in the model layout, and the number of steps taken. Owned by the trainer;
 * the caller may read them between steps, after crd_trainer_fetch, and fill them before the first or to resume. After a
 * change call crd_trainer_parameters_changed. */
typedef struct crd_trainer_state {
    float *parameters, *m, *v;
    int64_t count;
    int64_t steps;
} crd_trainer_state;

/* "flipout", "independent" or "mean". */
crd_status crd_estimator_parse(const char *name, crd_estimator *out);

crd_status crd_trainer_create(const crd_trainer_plan *plan, crd_trainer **out);
void crd_trainer_free(crd_trainer **trainer);
/* Of host memory, and of the device's where there is one. */
crd_status crd_trainer_bytes(const crd_trainer_plan *plan, int64_t *bytes, int64_t *device_bytes);

crd_trainer_state *crd_trainer_state_of(crd_trainer *trainer);
crd_status crd_trainer_fetch(crd_trainer *trainer, bool moments); /* or the parameters alone */
crd_status crd_trainer_parameters_changed(crd_trainer *trainer);
/* The head gets new random weights, which follow from the seed and the number of steps taken, and Adam knows nothing of
 * them. Of two classes the commoner one is what its ReLU will let through: a network learns first that most voxels are
 * of that class, and would drive it to zero again. The state was fetched, with its moments. */
crd_status crd_trainer_redraw_head(crd_trainer *trainer, bool foreground_is_commoner);
const crd_backend *crd_trainer_backend(const crd_trainer *trainer);
crd_learner *crd_trainer_learner(const crd_trainer *trainer);
int64_t crd_trainer_chunk_voxels(const crd_trainer *trainer);
/* Probabilities of one voxel: crd_net_planes. */
int crd_trainer_planes(const crd_trainer *trainer);
/* "avx512", or "sm90 bf16" of a device: what a checkpoint says of where it comes from. */
const char *crd_trainer_isa(const crd_trainer *trainer);
int crd_trainer_threads(const crd_trainer *trainer); /* that it may use; 0: one per core */

/* Adds an example to mini-batch number state.steps (from 0): the loss is scale * (sum of BCE over its labelled voxels).
 * `example` is its place in the batch; the scale is the same for all of it. *loss is filled when the step is
 * finished. */
crd_status crd_trainer_add(crd_trainer *trainer, uint32_t example, const float *input, const uint8_t *label,
                           float scale, crd_loss *loss);
/* Adds kl_scale * the KL's gradient, updates the parameters with Adam, and counts the step. */
crd_status crd_trainer_start(crd_trainer *trainer, double kl_scale, double rate);
/* *kl is the KL before the step. */
crd_status crd_trainer_wait(crd_trainer *trainer, double *kl);
crd_status crd_trainer_finish(crd_trainer *trainer, double kl_scale, double rate, double *kl);
/* The last step's gradient, model layout, with the KL's share: for checks. */
crd_status crd_trainer_gradient(crd_trainer *trainer, float *gradient);

/* The gradient of one example by itself: in the layout that processes divide, or where they don't, the model's. */
crd_status crd_trainer_example(crd_trainer *trainer, uint32_t example, const float *input, const uint8_t *label,
                               float scale, float *gradient, crd_loss *loss);
/* As crd_trainer_start, on the sum of all examples' gradients, or on `count` gradients in the own part. Both are
 * borrowed until crd_trainer_wait. */
crd_status crd_trainer_follow(crd_trainer *trainer, const float *gradient, double kl_scale, double rate);
crd_status crd_trainer_follow_parts(crd_trainer *trainer, int64_t count, const float *const *parts, double kl_scale,
                                    double rate);

/* Loss of one example without gradient, with the kernels at their means and no dropout. */
crd_status crd_trainer_evaluate(crd_trainer *trainer, const float *input, const uint8_t *label, crd_loss *loss);
/* The same for chunk `number` of the data set that is checked on, counted from 0: *loss is there when
 * crd_trainer_checked returns. Of chunks that crd_trainer_keeps, input and label may be NULL. */
crd_status crd_trainer_check(crd_trainer *trainer, int64_t number, const float *input, const uint8_t *label,
                             crd_loss *loss);
crd_status crd_trainer_checked(crd_trainer *trainer);
bool crd_trainer_keeps(const crd_trainer *trainer, int64_t number);
/* Of the posterior as it is. */
crd_status crd_trainer_summarise(crd_trainer *trainer, crd_posterior_summary *out);

/* From here on samples are those of all these networks, in turns, and no longer of the trainer's own. */
typedef struct crd_trainer_networks {
    const float *parameters; /* [members], borrowed */
    int64_t members;
    uint64_t seed;
    bool at_means; /* they have no spread of their own */
} crd_trainer_networks;
void crd_trainer_pool(crd_trainer *trainer, const crd_trainer_networks *networks);

/* What the samples of a prediction would say, from streams that training never uses:
 *
 *     crd_trainer_draw_samples(trainer, samples);     // of the parameters as they are
 *     for each chunk:
 *         crd_trainer_encode(trainer, input);
 *         for each of the samples: crd_trainer_decode(trainer, sample, probability);
 *
 * probability: [crd_trainer_planes][voxels]. */
crd_status crd_trainer_draw_samples(crd_trainer *trainer, int64_t count);
crd_status crd_trainer_encode(crd_trainer *trainer, const float *input);
/* Its two halves. Where the trainer takes chunks ahead, the next may be sent before this one is received; its input is
 * free again. */
bool crd_trainer_takes_ahead(const crd_trainer *trainer);
crd_status crd_trainer_send(crd_trainer *trainer, const float *input);
crd_status crd_trainer_receive(crd_trainer *trainer);
void crd_trainer_decode(crd_trainer *trainer, int64_t sample, float *probability);
/* The same where they lie: in `room`, or with the device until the next chunk is received. */
const float *crd_trainer_decoded(crd_trainer *trainer, int64_t sample, float *room);

#endif
