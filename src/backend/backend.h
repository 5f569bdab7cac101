/* What a device offers to prediction and training: whole chunks, whole examples. A backend is a const table; the CPU's
 * is always there, others are plug-ins loaded at run time. One of another build is refused (base/build_mark.h).
 *
 * A predictor is a queue: up to `depth` chunks may be submitted before the first is collected, so that a device can
 * overlap upload, compute and download. Results come back in the order of submission, unless the plan allows another
 * (any_order). Same plan, same chunk: same bits, whatever else is in the queue.
 *
 * A learner takes steps of training. The parameters and Adam's moments are the caller's (crd_learner_state): a learner
 * on the host works in them, a device in a copy, which learner_write and learner_read keep equal to them. */
#ifndef CRD_BACKEND_BACKEND_H
#define CRD_BACKEND_BACKEND_H

#include <stddef.h>

#include "backend/conduction.h"
#include "bayes/noise.h"
#include "bayes/prior_law.h"
#include "bayes/summary.h"
#include "credence/monitor.h"
#include "credence/volume.h"
#include "net/loss.h"
#include "net/net.h"
#include "net/norm.h"
#include "net/pieces.h"

enum { CRD_BACKEND_VERSION = 14 };

typedef enum crd_precision { CRD_PRECISION_F32 = 0, CRD_PRECISION_BF16 = 1, CRD_PRECISION_FP16 = 2 } crd_precision;

typedef struct crd_backend crd_backend;

enum { CRD_DEVICES_MOST = 16 };
/* Of GPUs, one or several: auto_tile_voxels. A scan has the same tiles on all of them. */
enum { CRD_GPU_TILE_VOXELS = 20000000 };

typedef struct crd_device_settings {
    int device;      /* index of the GPU */
    int threads;     /* CPU; 0: one per core */
    const char *isa; /* instruction path, NULL: the best */
    crd_precision precision;
    int64_t max_bytes; /* memory of each device, 0: what is free */
    /* For backend/several.h: which devices, and the backend that each of them has. */
    int device_count;
    int devices[CRD_DEVICES_MOST];
    const crd_backend *each;
    char fallback[160]; /* why the CPU was taken where a GPU might have been: for people; "" otherwise */
    const char *in_f32; /* why it computes in f32 and not in the precision that was asked for; NULL otherwise */
} crd_device_settings;

enum { CRD_MEMORY_SAVING_MOST = 2 };

typedef struct crd_predictor_plan {
    const crd_net *net;      /* borrowed until the predictor is freed, as all pointers here */
    const float *parameters; /* [members][net->model.total], model layout */
    int64_t members;         /* networks that take turns, sample by sample; 0: one */
    int64_t chunk[3];
    int64_t keep[3]; /* how large a part of a chunk is asked for at most (predictor_keep), where norms are frozen;
                        0, 0, 0: all of it */
    int64_t samples;
    uint64_t seed;
    crd_estimator estimator;    /* CRD_INDEPENDENT or CRD_MEAN */
    bool draws_per_chunk;       /* else one set of draws serves all chunks */
    const crd_moments *moments; /* [samples][crd_net_moments]: what norms are frozen at; NULL: at each chunk's own */
    float inverse_temperature;  /* multiplies the logit */
    const double *percentiles;  /* 0..100 */
    int64_t percentile_count;
    bool standard_deviation;
    bool entropy;         /* results carry the mean of the samples' entropies */
    bool keep_samples;    /* results carry every sample's probabilities */
    int64_t first_sample; /* samples first_sample .. first_sample + samples - 1 are drawn */
    int memory_saving;    /* 0 .. CRD_MEMORY_SAVING_MOST: more takes less host memory and more time; the results are the
                             same */
    int64_t any_order;    /* of so many chunks, submitted one after the other, the results may come in any order, before
                             all those of the next so many; 0: in the order of submission */
} crd_predictor_plan;

/* Sample number i of a run, whose first is first_sample, is of member i modulo their number: so any sample can be made
 * again alone. Of a plan's samples those from `turn` on, `members` apart, are of one network, whose encoder serves all
 * of them. */
static inline int64_t crd_plan_members(const crd_predictor_plan *plan)
{
    return plan->members > 0 ? plan->members : 1;
}

/* Networks among the samples. */
static inline int64_t crd_plan_turns(const crd_predictor_plan *plan)
{
    const int64_t members = crd_plan_members(plan);
    return members < plan->samples ? members : plan->samples;
}

/* The most samples that one of them has. */
static inline int64_t crd_plan_samples_each(const crd_predictor_plan *plan)
{
    const int64_t members = crd_plan_members(plan);
    return (plan->samples + members - 1) / members;
}

/* The parameters of sample `sample` of the plan, counted from 0. */
static inline const float *crd_plan_parameters(const crd_predictor_plan *plan, int64_t sample)
{
    return plan->parameters + (plan->first_sample + sample) % crd_plan_members(plan) * plan->net->model.total;
}

/* Everything is indexed by the voxels of the chunk that were asked for, z slowest; with more than two classes there is
 * a plane of them for each, [planes][voxels] wherever [voxels] stands (crd_net_planes). Borrowed from the predictor
 * until the next collect, or, where the depth is 1, until the next submit. */
typedef struct crd_chunk_result {
    int64_t chunk_number;
    crd_box kept;              /* those, in the chunk */
    const uint32_t *mean;      /* value * 2^24, rounded to nearest even */
    const uint32_t *deviation; /* the same, or NULL */
    const uint32_t *const *percentiles;
    const uint32_t *entropy; /* the mean of the samples' entropies in bits, value * 2^22, of [voxels] alone; or NULL */
    const uint64_t *above;   /* bit s % 64 of word [s / 64][voxel]: sample s > 0.5 there, or that the plane's class is
                                the first of the largest in sample s */
    const float *samples;    /* [samples][voxels], or NULL */
    const float *probe;      /* [probe_count][samples][planes]: the values at the voxels asked for */
    int64_t probe_count;
    /* How many values of the samples aren't finite numbers, and the first sample that has one (0 ..; -1: none). Such a
     * value is NaN, and stands for any number that wasn't finite on the way to it, or whose logit isn't; mean and all
     * the rest mean nothing then. */
    int64_t nonfinite, nonfinite_sample;
    double summary_seconds; /* of the time that computing took, what mean, percentiles and the like took where
                               they run after the network, not beside it; else 0 */
} crd_chunk_result;

typedef struct crd_predictor crd_predictor;

typedef struct crd_device_peak { /* of the device itself, measured: what the network's figures are compared with */
    double matrix_gflops;        /* products of matrices, in the precision of the settings */
    double copy_gigabytes;       /* per second, read and written, within its memory */
} crd_device_peak;

typedef struct crd_device_load { /* at this moment; 0 where it isn't known */
    double megahertz, watts;
} crd_device_load;

typedef struct crd_learner_state { /* net->model.total values each */
    float *parameters, *m, *v;     /* m, v: Adam's moments */
} crd_learner_state;

typedef struct crd_learner_plan {
    const crd_net *net;      /* borrowed until the learner is freed */
    crd_learner_state state; /* borrowed as well */
    int64_t chunk[3];
    int64_t batch; /* the most examples of a mini-batch */
    crd_estimator estimator;
    crd_prior_settings prior;
    uint64_t seed;
    int64_t samples; /* that learner_draw can keep */
    int rank, size;  /* which of how many processes this is, where each takes the steps of a part of the parameters;
                        0 of 0: alone */
} crd_learner_plan;

typedef struct crd_learner_step {
    int64_t number; /* of the step, from 0: of its random streams, and in Adam's correction */
    int64_t first;  /* place in the batch of the first example staged: other processes may have others */
    int64_t count;  /* examples staged */
    float scale;    /* the loss is scale * (sum of BCE over the labelled voxels of the batch) + kl_scale * KL */
    double kl_scale, rate;
    bool gradient_only; /* no KL, and no change of the parameters */
    /* Where nothing was staged, what the step follows in place of that; else NULL: */
    const float *gradient; /* model layout */
    /* the gradients of `count` examples as learner_example gives them, in the own part of the parameters */
    const float *const *parts;
} crd_learner_step;

/* What processes that divide the parameters among them tell each other about their parts, as flat floats. */
typedef enum crd_exchange {
    CRD_EXCHANGE_GRADIENT,   /* of one example */
    CRD_EXCHANGE_STEP,       /* what the next step's draws need, and the KL before the last: no rho, but sigma */
    CRD_EXCHANGE_PARAMETERS, /* all of them */
    CRD_EXCHANGE_M,          /* Adam's moments */
    CRD_EXCHANGE_V,
    CRD_EXCHANGE_COUNT
} crd_exchange;

typedef struct crd_learner crd_learner;

struct crd_backend {
    uint32_t version;
    const char *name; /* "cpu", "cuda" */

    bool on_host;  /* computes on the caller's cores, by one of the processor's instruction paths (settings.isa) */
    bool overlaps; /* computes beside the caller, who can bring the next chunk or mini-batch meanwhile */
    int64_t auto_chunk[3];    /* the largest chunk that a prediction takes by itself, */
    int64_t auto_tile_voxels; /* and how many voxels a tile with its halo has at most */

    /* A sentence for the manifest: the processor and the instruction path. */
    crd_status (*describe)(const crd_device_settings *settings, char *text, size_t size);
    /* What a network of so many filters runs in where these settings are asked for. NULL: in their precision. */
    crd_precision (*precision_of)(const crd_device_settings *settings, int filters, bool training);

    crd_status (*predictor_bytes)(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                  int64_t *host_bytes, int64_t *device_bytes);
    crd_status (*predictor_create)(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                   crd_predictor **out);
    int (*predictor_depth)(const crd_predictor *predictor);
    /* Of chunks submitted from here on only this part is asked for, and what it doesn't depend on isn't computed
     * (net/crop.h). It begins at multiples of crd_net_step and is nowhere longer than the plan's `keep`. At first it is
     * all of a chunk, or as much of its beginning. */
    void (*predictor_keep)(crd_predictor *predictor, const crd_box *keep);
    /* `input` is the normalised chunk; it and `probe` (voxel numbers among those asked for, rising) are copied before
     * the call returns. */
    crd_status (*predictor_submit)(crd_predictor *predictor, int64_t chunk_number, const float *input,
                                   const int64_t *probe, int64_t probe_count);
    crd_status (*predictor_collect)(crd_predictor *predictor, crd_chunk_result *result);
    /* The numbers behind the plan's `parameters` are others now: chunks from here on are computed with those. Nothing
     * may be in the queue. NULL: another predictor is made. */
    crd_status (*predictor_renew)(crd_predictor *predictor);
    void (*predictor_free)(crd_predictor **predictor);
    /* The moments of a plan's samples over pieces (see net/engine.h), for crd_predictor_plan.moments; of the plan,
     * chunk and summary don't matter. A monitor is shown how far it is, and may end it soon; NULL: nobody. */
    crd_status (*norms_bytes)(const crd_device_settings *settings, const crd_predictor_plan *plan,
                              const crd_pieces *pieces, int64_t *host_bytes); /* of the host's memory; NULL: little */
    crd_status (*measure_norms)(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                const crd_pieces *pieces, const crd_monitor *monitor, crd_moments *moments);
    /* For measuring: computes `input` once and says how long each convolution took, with its norm, and the summary over
     * samples: milliseconds [net->layer_count + 1]. Nothing may be in the queue. NULL: the backend can't. */
    crd_status (*predictor_layers)(crd_predictor *predictor, const float *input, double *milliseconds);
    crd_status (*device_peak)(const crd_device_settings *settings, crd_device_peak *out);
    /* NULL: it doesn't know. */
    crd_status (*device_load)(const crd_device_settings *settings, crd_device_load *out);

    /* Beside the caller's state. */
    crd_status (*learner_bytes)(const crd_device_settings *settings, const crd_learner_plan *plan, int64_t *host_bytes,
                                int64_t *device_bytes);
    /* "avx512", "sm90 bf16": what a checkpoint says of where its steps were taken. */
    crd_status (*learner_path)(const crd_device_settings *settings, char *text, size_t size);
    crd_status (*learner_create)(const crd_device_settings *settings, const crd_learner_plan *plan, crd_learner **out);
    /* After the caller has changed the state, and before the caller looks at it after steps: the parameters, and where
     * they are wanted Adam's moments. */
    crd_status (*learner_write)(crd_learner *learner);
    crd_status (*learner_read)(crd_learner *learner, bool moments);
    /* Example `place` of the next step. Where the backend overlaps, it is copied before the call returns, also while a
     * step runs; else it is borrowed until learner_start returns. */
    crd_status (*learner_stage)(crd_learner *learner, int64_t place, const float *input, const uint8_t *label);
    /* Starts a step on what was staged; where the backend overlaps, it returns at once. Gradients are summed in batch
     * order. */
    crd_status (*learner_start)(crd_learner *learner, const crd_learner_step *step);
    /* Waits for it: the losses of its examples, and the KL before it. */
    crd_status (*learner_finish)(crd_learner *learner, crd_loss *losses, double *kl);
    /* The gradient of the last step, model layout, with the KL's share unless it was gradient_only. */
    crd_status (*learner_gradient)(crd_learner *learner, float *gradient);
    /* Loss of one example with the kernels at their means and no dropout. */
    crd_status (*learner_evaluate)(crd_learner *learner, const float *input, const uint8_t *label, crd_loss *loss);
    /* The same for chunk `number` of one data set, counted from 0, over and over again: *loss is filled when
     * learner_checked returns. What learner_keeps is on the device already; input and label may be NULL then. Not while
     * a step runs. NULL, all three: each chunk is evaluated. */
    crd_status (*learner_check)(crd_learner *learner, int64_t number, const float *input, const uint8_t *label,
                                crd_loss *loss);
    crd_status (*learner_checked)(crd_learner *learner);
    bool (*learner_keeps)(const crd_learner *learner, int64_t number);
    /* Of the weights as they are; NULL: the caller reads them and sums up. */
    crd_status (*learner_summarise)(crd_learner *learner, crd_posterior_summary *out);
    void (*learner_free)(crd_learner **learner);

    /* Samples first_sample .. first_sample + count - 1 of the parameters as they are, at most plan.samples of them, in
     * the learner's own memory: drawn once, then a chunk encoded, then any of them, counted from 0, decoded. NULL, all
     * three: a predictor is made for them. */
    void (*learner_draw)(crd_learner *learner, int64_t first_sample, int64_t count);
    void (*learner_encode)(crd_learner *learner, const float *input);
    void (*learner_decode)(crd_learner *learner, int64_t sample, float *probability);

    /* Steps that processes divide: each has the examples' gradients in its own part of the parameters (step.parts),
     * and after learner_start, before learner_finish, gets the others' parts. NULL, all four: each takes whole steps.
     * The gradient of the one example that `step` names (first, count 1), in the layout that is divided. */
    crd_status (*learner_example)(crd_learner *learner, const crd_learner_step *step, const float *input,
                                  const uint8_t *label, float *gradient, crd_loss *loss);
    int64_t (*learner_part_values)(const crd_learner *learner, crd_exchange exchange, int rank);
    void (*learner_pack_part)(const crd_learner *learner, crd_exchange exchange, float *values); /* the own one */
    void (*learner_unpack_part)(crd_learner *learner, crd_exchange exchange, int rank, const float *values);

    /* Steady diffusion through voxels. NULL, both: the caller solves it (measure/transport/). Bytes of the device's
     * memory that a solution takes, on voxels (cell 1) or cells of 2x2x2, and how many it may take now. */
    crd_status (*transport_bytes)(const crd_device_settings *settings, const int64_t shape[3], int cell,
                                  bool conductivity, int64_t *bytes, int64_t *available);
    /* For what crd_conduction_suits_device. The same bits every time; a monitor is asked in every iteration. */
    crd_status (*transport_solve)(const crd_device_settings *settings, const crd_conduction_plan *plan,
                                  const crd_monitor *monitor, crd_conduction_result *result);
};

extern const crd_backend crd_backend_cpu;

#endif
