/* One optimisation step: per-example gradients summed in batch order, the KL's gradient, Adam.
 *
 *     crd_trainer_begin(trainer);
 *     for each example of the mini-batch, in order:
 *         crd_trainer_add(trainer, example, input, label, scale, &losses[example]);
 *     crd_trainer_finish(trainer, kl_scale, rate, &kl);      // the losses are there now
 *
 * crd_trainer_finish is crd_trainer_start and crd_trainer_wait. Where a device takes the steps (crd_trainer_remote),
 * the next mini-batch can be begun and added between the two, while it computes.
 *
 * Several processes share a mini-batch on CPUs as follows; src/train/spread.c is where they talk.
 *
 *     for each example of this process:
 *         crd_trainer_example(trainer, example, input, label, scale, gradient, &loss);
 *     ... everybody gets its part of all examples' gradients ...
 *     crd_trainer_begin(trainer);
 *     for each example of the mini-batch, in order:
 *         crd_trainer_add_part(trainer, example, gradient_part);
 *     crd_trainer_start(trainer, kl_scale, rate);            // of the own part alone
 *     ... everybody gets the others' parts (src/train/parcel.h), and then ...
 *     crd_trainer_joined(trainer);
 *     crd_trainer_wait(trainer, &kl);
 *
 * Everything is allocated by crd_trainer_create. The same bits for any number of threads. */
#ifndef CRD_TRAIN_TRAINER_H
#define CRD_TRAIN_TRAINER_H

#include "backend/backend.h"
#include "bayes/posterior.h"
#include "net/engine.h"

typedef struct crd_trainer crd_trainer;

typedef struct crd_trainer_plan {
    const crd_net *net; /* borrowed */
    int64_t chunk[3];
    crd_estimator estimator;
    double prior_std;
    uint64_t seed;
    int threads;                /* 0: one per core */
    const char *isa;            /* NULL: the best */
    int64_t samples;            /* that crd_trainer_draw_samples keeps; 0: none */
    const crd_backend *backend; /* NULL, or one without a learner: the CPU */
    crd_device_settings device;
    int64_t batch;  /* the most examples of a mini-batch; only a device asks */
    bool shared;    /* mini-batches are shared among processes: a step is that of the own part, and crd_trainer_joined
                       follows it; on a device every crd_trainer_add fills gradient and loss at once */
    int rank, size; /* which of them, of how many, this one is; 0 of 0: alone */
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
crd_status crd_trainer_fetch(crd_trainer *trainer);
crd_status crd_trainer_parameters_changed(crd_trainer *trainer);
bool crd_trainer_remote(const crd_trainer *trainer);
crd_posterior *crd_trainer_posterior(const crd_trainer *trainer);
crd_pool *crd_trainer_pool(const crd_trainer *trainer);
int64_t crd_trainer_chunk_voxels(const crd_trainer *trainer);
/* "avx512", or "sm80 bf16" of a device: what a checkpoint says of where it comes from. */
const char *crd_trainer_isa(const crd_trainer *trainer);

/* Starts mini-batch number state.steps (from 0): the gradient is zero. */
void crd_trainer_begin(crd_trainer *trainer);
/* Adds the gradient of scale * (sum of BCE over the example's labelled voxels). `example` is its place in the batch;
 * the scale is the same for all of it. *loss is filled when the step is finished, at the latest. */
crd_status crd_trainer_add(crd_trainer *trainer, uint32_t example, const float *input, const uint8_t *label,
                           float scale, crd_loss *loss);
/* Adds kl_scale * the KL's gradient, updates the parameters with Adam, and counts the step. */
crd_status crd_trainer_start(crd_trainer *trainer, double kl_scale, double rate);
/* *kl is the KL before the step. */
crd_status crd_trainer_wait(crd_trainer *trainer, double *kl);
crd_status crd_trainer_finish(crd_trainer *trainer, double kl_scale, double rate, double *kl);
/* The gradient so far, model layout: for checks, and for sums over several processes. A device has it after the step
 * only, with the KL's share. */
float *crd_trainer_gradient(crd_trainer *trainer);
crd_status crd_trainer_fetch_gradient(crd_trainer *trainer);

/* The gradient of one example by itself, of crd_trainer_example_values(): the point layout's on a CPU, the model
 * layout's on a device. */
int64_t crd_trainer_example_values(const crd_trainer *trainer);
crd_status crd_trainer_example(crd_trainer *trainer, uint32_t example, const float *input, const uint8_t *label,
                               float scale, float *gradient, crd_loss *loss);
/* On CPUs: the part of the parameters whose steps this process takes, and an example's gradient there. */
const crd_part *crd_trainer_part(const crd_trainer *trainer);
void crd_trainer_add_part(crd_trainer *trainer, uint32_t example, const float *gradient_part);
void crd_trainer_joined(crd_trainer *trainer);

/* Loss of one example without gradient, with the kernels at their means and no dropout. */
crd_status crd_trainer_evaluate(crd_trainer *trainer, const float *input, const uint8_t *label, crd_loss *loss);

/* What the samples of a prediction would say, from streams that training never uses:
 *
 *     crd_trainer_draw_samples(trainer);              // of the parameters as they are
 *     for each chunk:
 *         crd_trainer_encode(trainer, input);
 *         for each sample below plan.samples: crd_trainer_decode(trainer, sample, probability); */
crd_status crd_trainer_draw_samples(crd_trainer *trainer);
crd_status crd_trainer_encode(crd_trainer *trainer, const float *input);
void crd_trainer_decode(crd_trainer *trainer, int64_t sample, float *probability);

#endif
