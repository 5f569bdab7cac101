/* Mini-batches, models and trainers for the tests of training on a GPU. */
#ifndef CRD_TESTS_TRAIN_TOOLS_H
#define CRD_TESTS_TRAIN_TOOLS_H

#include "base/random/philox.h"
#include "gpu.h"
#include "harness.h"
#include "net/model.h"
#include "train/trainer.h"

enum { MOST_BATCH = 8 };

typedef struct train_case {
    crd_kind kind;
    int filters;
    int64_t chunk[3], batch;
    crd_estimator estimator;
    const char *precision;
    int classes;              /* 0: two */
    crd_prior_settings prior; /* std 0: N(0, 1) */
} train_case;

typedef struct material { /* a mini-batch */
    int64_t voxels, labelled;
    float *input;
    uint8_t *label;
} material;

/* For functions that give something back. */
static inline void must(crd_status status)
{
    if (status == CRD_OK) return;
    printf("%s\n", crd_last_error()->message);
    exit(1);
}

/* Balls in noise, some voxels without a label. `number` makes different ones. */
static inline material make_material(const train_case *c, uint32_t number)
{
    material m = {.voxels = c->chunk[0] * c->chunk[1] * c->chunk[2]};
    m.input = malloc((size_t)(c->batch * m.voxels) * sizeof *m.input);
    m.label = malloc((size_t)(c->batch * m.voxels));
    if (m.input == NULL || m.label == NULL) exit(1);
    const crd_stream noise = {.seed = 99, .purpose = CRD_PURPOSE_PHANTOM, .step = number};
    for (int64_t i = 0; i < c->batch * m.voxels; i++) {
        const int64_t v = i % m.voxels, x = v % c->chunk[2], y = v / c->chunk[2] % c->chunk[1];
        const int64_t z = v / (c->chunk[1] * c->chunk[2]), shift = i / m.voxels * 3 + number;
        const int64_t dz = (z + shift) % 12 - 6, dy = (y + 2 * shift) % 14 - 7, dx = (x + shift) % 12 - 6;
        const bool inside = dz * dz + dy * dy + dx * dx < 22;
        m.input[i] = (inside ? 0.9f : -0.4f) + 0.6f * crd_random_normal(&noise, (uint64_t)i);
        const int class = c->classes > 2 && inside ? 1 + (int)((z + y / 5) % (c->classes - 1)) : inside;
        if (c->classes > 2) m.input[i] += 0.5f * (float)class;
        m.label[i] = crd_random_u32(&noise, (uint64_t)(i + (1 << 30))) % 17 == 0 ? 255 : (uint8_t) class;
        m.labelled += m.label[i] != 255;
    }
    return m;
}

static inline void drop_material(material *m)
{
    free(m->input);
    free(m->label);
}

/* Norms that do something, and a head that is alive: like a trained network's. */
static inline crd_status make_model(const train_case *c, crd_model **model)
{
    crd_model_info info = {.kind = c->kind, .filters = c->filters, .groups = 4, .classes = c->classes};
    for (int i = 0; i < c->classes; i++) info.class_values[i] = i;
    CRD_PASS(crd_model_create(&info, 3, model));
    for (int i = 0; i < (*model)->net.model.count; i++) {
        const crd_parameter *p = &(*model)->net.model.parameters[i];
        float *values = (*model)->parameters + p->offset;
        for (int64_t k = 0; k < p->count; k++) {
            if (p->role == CRD_ROLE_GAMMA) values[k] = 1.0f + 0.3f * (float)((k * 7 + i) % 5 - 2) / 2.0f;
            if (p->role == CRD_ROLE_BETA) values[k] = 0.2f * (float)((k * 3 + i) % 7 - 3) / 3.0f;
            if (p->layer == (*model)->net.head && p->role == CRD_ROLE_BIAS) values[k] = 0.5f;
        }
    }
    return CRD_OK;
}

/* `device` is "cuda", or an instruction path of the CPU. */
static inline crd_status make_trainer(const train_case *c, const crd_model *model, const char *device,
                                      int64_t max_bytes, crd_trainer **trainer)
{
    const bool gpu = strcmp(device, "cuda") == 0;
    const crd_device_choice choice = {.device = gpu ? "cuda" : "cpu",
                                      .precision = gpu ? c->precision : NULL,
                                      .isa = gpu ? NULL : device,
                                      .training = true};
    crd_trainer_plan plan = {.learner = {.net = &model->net,
                                         .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]},
                                         .batch = c->batch,
                                         .estimator = c->estimator,
                                         .prior = c->prior,
                                         .seed = 5,
                                         .samples = 4}};
    if (plan.learner.prior.std == 0) plan.learner.prior.std = 1;
    CRD_PASS(crd_backend_choose(&choice, &plan.backend, &plan.device));
    plan.device.max_bytes = max_bytes;
    CRD_PASS(crd_trainer_create(&plan, trainer));
    crd_trainer_state *state = crd_trainer_state_of(*trainer);
    memcpy(state->parameters, model->parameters, (size_t)state->count * sizeof(float));
    return crd_trainer_parameters_changed(*trainer);
}

static inline crd_status take_step(crd_trainer *trainer, const train_case *c, const material *m, double scale,
                                   double kl_scale, double rate, crd_loss *losses, double *kl)
{
    for (int64_t i = 0; i < c->batch; i++) {
        CRD_PASS(crd_trainer_add(trainer, (uint32_t)i, m->input + i * m->voxels, m->label + i * m->voxels, (float)scale,
                                 &losses[i]));
    }
    return crd_trainer_finish(trainer, kl_scale, rate, kl);
}

static inline double bce_of(const train_case *c, const crd_loss *losses, const material *m)
{
    double total = 0;
    for (int64_t i = 0; i < c->batch; i++) total += losses[i].bce_sum / (double)m->labelled;
    return total;
}

#endif
