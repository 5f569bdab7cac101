/* Training on the GPU against training on the CPU: gradients of every estimator, kind and precision, a course of steps,
 * the same bytes twice and for any number of examples at a time. Skipped where there is no GPU. */
#include "backend/choose.h"
#include "base/clock.h"
#include "base/philox.h"
#include "gpu.h"
#include "harness.h"
#include "net/model.h"
#include "reference_data.h"
#include "train/trainer.h"

enum { MOST_BATCH = 8 };

typedef struct train_case {
    crd_kind kind;
    int filters;
    int64_t chunk[3], batch;
    crd_estimator estimator;
    const char *precision;
} train_case;

typedef struct material { /* a mini-batch */
    int64_t voxels, labelled;
    float *input;
    uint8_t *label;
} material;

/* For functions that give something back. */
static void must(crd_status status)
{
    if (status == CRD_OK) return;
    printf("%s\n", crd_last_error()->message);
    exit(1);
}

/* Balls in noise, some voxels without a label. `number` makes different ones. */
static material make_material(const train_case *c, uint32_t number)
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
        m.label[i] = crd_random_u32(&noise, (uint64_t)(i + (1 << 30))) % 17 == 0 ? 255 : (uint8_t)inside;
        m.labelled += m.label[i] != 255;
    }
    return m;
}

static void drop_material(material *m)
{
    free(m->input);
    free(m->label);
}

/* Norms that do something, and a head that is alive: like a trained network's. */
static crd_status make_model(const train_case *c, crd_model **model)
{
    const crd_model_info info = {.kind = c->kind, .filters = c->filters, .groups = 4};
    CRD_PASS(crd_model_create(&info, 3, model));
    for (int i = 0; i < (*model)->net.model.count; i++) {
        const crd_parameter *p = &(*model)->net.model.parameters[i];
        float *values = (*model)->parameters + p->offset;
        for (int64_t k = 0; k < p->count; k++) {
            if (p->role == CRD_ROLE_GAMMA) values[k] = 1.0f + 0.3f * (float)((k * 7 + i) % 5 - 2) / 2.0f;
            if (p->role == CRD_ROLE_BETA) values[k] = 0.2f * (float)((k * 3 + i) % 7 - 3) / 3.0f;
            if (p->layer == CRD_SPATIAL && p->role == CRD_ROLE_BIAS) values[k] = 0.5f;
        }
    }
    return CRD_OK;
}

/* `device` is "cuda", or an instruction path of the CPU. */
static crd_status make_shared_trainer(const train_case *c, const crd_model *model, const char *device,
                                      int64_t max_bytes, bool shared, crd_trainer **trainer)
{
    const bool gpu = strcmp(device, "cuda") == 0;
    const crd_device_choice choice = {
        .device = gpu ? "cuda" : "cpu", .precision = gpu ? c->precision : NULL, .training = true};
    crd_trainer_plan plan = {.net = &model->net,
                             .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]},
                             .estimator = c->estimator,
                             .prior_std = 1.0,
                             .seed = 5,
                             .samples = 4,
                             .isa = gpu ? NULL : device,
                             .shared = shared,
                             .batch = c->batch};
    CRD_PASS(crd_backend_choose(&choice, &plan.backend, &plan.device));
    plan.device.max_bytes = max_bytes;
    CRD_PASS(crd_trainer_create(&plan, trainer));
    crd_trainer_state *state = crd_trainer_state_of(*trainer);
    memcpy(state->parameters, model->parameters, (size_t)state->count * sizeof(float));
    return crd_trainer_parameters_changed(*trainer);
}

static crd_status make_trainer(const train_case *c, const crd_model *model, const char *device, int64_t max_bytes,
                               crd_trainer **trainer)
{
    return make_shared_trainer(c, model, device, max_bytes, false, trainer);
}

static crd_status take_step(crd_trainer *trainer, const train_case *c, const material *m, double scale, double kl_scale,
                            double rate, crd_loss *losses, double *kl)
{
    crd_trainer_begin(trainer);
    for (int64_t i = 0; i < c->batch; i++) {
        CRD_PASS(crd_trainer_add(trainer, (uint32_t)i, m->input + i * m->voxels, m->label + i * m->voxels, (float)scale,
                                 &losses[i]));
    }
    return crd_trainer_finish(trainer, kl_scale, rate, kl);
}

static double bce_of(const train_case *c, const crd_loss *losses, const material *m)
{
    double total = 0;
    for (int64_t i = 0; i < c->batch; i++) total += losses[i].bce_sum / (double)m->labelled;
    return total;
}

typedef struct likeness {
    double largest, cosine; /* |difference| / largest value, over values */
} likeness;

static likeness compare(const float *expected, const float *computed, int64_t count)
{
    double largest = 0, difference = 0, dot = 0, a = 0, b = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)expected[i]));
        difference = fmax(difference, fabs((double)expected[i] - (double)computed[i]));
        if (!isfinite(computed[i])) difference = INFINITY;
        dot += (double)expected[i] * (double)computed[i];
        a += (double)expected[i] * (double)expected[i];
        b += (double)computed[i] * (double)computed[i];
    }
    if (a == 0) return (likeness){b == 0 ? 0 : INFINITY, b == 0};
    return (likeness){difference / largest, dot / sqrt(a * b)};
}

/* One step at rate 0: its gradient, without the KL's where kl_scale is 0. */
static float *gradient_of(const train_case *c, const crd_model *model, const char *device, const material *m,
                          double scale, double kl_scale, crd_loss *losses, double *kl)
{
    crd_trainer *trainer = NULL;
    const size_t bytes = (size_t)model->net.model.total * sizeof(float);
    float *gradient = malloc(bytes);
    if (gradient == NULL) exit(1);
    must(make_trainer(c, model, device, 0, &trainer));
    must(take_step(trainer, c, m, scale, kl_scale, 0.0, losses, kl));
    must(crd_trainer_fetch_gradient(trainer));
    memcpy(gradient, crd_trainer_gradient(trainer), bytes);
    must(crd_trainer_fetch(trainer));
    if (memcmp(crd_trainer_state_of(trainer)->parameters, model->parameters, bytes) != 0) {
        printf("a step at rate 0 changed the parameters\n");
        exit(1);
    }
    crd_trainer_free(&trainer);
    return gradient;
}

/* The worst of the tensors, as compare() sees them. */
typedef struct worst_tensor {
    double largest, cosine;
    const char *path;
} worst_tensor;

static worst_tensor compare_tensors(const crd_model *model, const float *expected, const float *computed)
{
    worst_tensor worst = {0, 1, ""};
    for (int i = 0; i < model->net.model.count; i++) {
        const crd_parameter *p = &model->net.model.parameters[i];
        const likeness l = compare(expected + p->offset, computed + p->offset, p->count);
        if (l.largest > worst.largest) worst.path = p->path;
        worst.largest = fmax(worst.largest, l.largest);
        worst.cosine = fmin(worst.cosine, l.cosine);
    }
    return worst;
}

/* The same input, but for the last bit or two of every voxel. */
static material nudged(const train_case *c, const material *m, uint32_t number)
{
    const crd_stream noise = {.seed = 7, .purpose = CRD_PURPOSE_PHANTOM, .step = number};
    material n = *m;
    n.input = malloc((size_t)(c->batch * m->voxels) * sizeof *n.input);
    if (n.input == NULL) exit(1);
    for (int64_t i = 0; i < c->batch * m->voxels; i++) {
        n.input[i] = m->input[i] * (1.0f + (float)((int)(crd_random_u32(&noise, (uint64_t)i) % 5) - 2) * 0x1p-23f);
    }
    return n;
}

/* A value near 0 falls on either side of a ReLU, or a maximum on either of two voxels, as rounding has it. Deep layers
 * have so few voxels (12 of a chunk of 16x24x16) that one of them is some percent of a tensor's gradient. There the
 * gradient itself has steps: that of decoder/2/up/kernel of the last case below, in double precision, moves by 3.6e-2
 * with the last bits of the input, or by 1e-6. So the GPU is held to a CPU that fell as it did: one of its paths or,
 * where all of them fell otherwise, one that had its input nudged. */
static float *nearest_gradient(const train_case *c, const crd_model *model, const material *m, double scale, bool exact,
                               const float *computed, crd_loss *losses, double *kl, int *tries)
{
    static const char *const paths[] = {"portable", "avx2", "avx512"};
    enum { PATHS = sizeof paths / sizeof paths[0], NUDGES = 200 };
    static const double near_enough = 1e-3;
    float *nearest = NULL;
    double best = INFINITY;
    *tries = 0;
    for (int i = 0; i < PATHS + (exact ? NUDGES : 0) && best > near_enough; i++) {
        const crd_ops *ops;
        crd_loss own[MOST_BATCH];
        material n = i < PATHS ? *m : nudged(c, m, (uint32_t)i);
        if (i < PATHS && crd_ops_select(paths[i], &ops) != CRD_OK) continue;
        float *gradient = gradient_of(c, model, i < PATHS ? paths[i] : "auto", &n, scale, 0.0, own, kl);
        const double worst = exact ? compare_tensors(model, gradient, computed).largest
                                   : 1 - compare(gradient, computed, model->net.model.total).cosine;
        if (worst < best) {
            float *spare = nearest;
            best = worst;
            nearest = gradient;
            gradient = spare;
            memcpy(losses, own, sizeof own);
        }
        free(gradient);
        if (i >= PATHS) free(n.input);
        *tries = i + 1;
    }
    return nearest;
}

static void check_gradient(const train_case *c)
{
    static const char *const estimators[] = {"flipout", "independent", "mean"};
    crd_model *model = NULL;
    crd_loss cpu[MOST_BATCH], gpu[MOST_BATCH];
    double cpu_kl = 0, gpu_kl = 0;
    int tries;
    CHECK_OK(make_model(c, &model));
    material m = make_material(c, 1);
    const double scale = 1.0 / (double)m.labelled;
    float *computed = gradient_of(c, model, "cuda", &m, scale, 0.0, gpu, &gpu_kl);
    const bool exact = strcmp(c->precision, "f32") == 0 || c->filters % 16 != 0;
    float *expected = nearest_gradient(c, model, &m, scale, exact, computed, cpu, &cpu_kl, &tries);
    const worst_tensor worst = compare_tensors(model, expected, computed);
    const likeness all = compare(expected, computed, model->net.model.total);
    const double cpu_bce = bce_of(c, cpu, &m), gpu_bce = bce_of(c, gpu, &m);
    printf(
        "       %s f %d %lldx%lldx%lld batch %lld %s %s: bce %.2e off, gradient 1 - cosine %.1e, worst tensor %s %.1e, "
        "1 - cosine %.1e, CPU run %d\n",
        crd_kind_name(c->kind), c->filters, (long long)c->chunk[0], (long long)c->chunk[1], (long long)c->chunk[2],
        (long long)c->batch, estimators[c->estimator], c->precision, fabs(gpu_bce / cpu_bce - 1), 1 - all.cosine,
        worst.path, worst.largest, 1 - worst.cosine, tries);
    CHECK(fabs(gpu_bce / cpu_bce - 1) <= (exact ? 1e-4 : 5e-3));
    CHECK(all.cosine >= (exact ? 0.99999 : strcmp(c->precision, "fp16") == 0 ? 0.99 : 0.9));
    if (exact) CHECK(worst.largest <= 1e-2 && worst.cosine >= 0.9999);
    CHECK(fabs(gpu_kl - cpu_kl) <= 1e-9 * fabs(cpu_kl));
    for (int64_t i = 0; i < c->batch; i++) {
        CHECK(gpu[i].labelled == cpu[i].labelled && gpu[i].head_dead == cpu[i].head_dead);
        CHECK(llabs(gpu[i].correct - cpu[i].correct) <= (exact ? 2 : cpu[i].labelled / 50));
    }
    free(expected);
    free(computed);
    drop_material(&m);
    crd_model_free(&model);
}

static void test_gradients_in_f32(void)
{
    static const train_case cases[] = {
        {CRD_BCNN, 8, {16, 32, 24}, 2, CRD_FLIPOUT, "f32"},      {CRD_BCNN, 16, {24, 32, 40}, 3, CRD_FLIPOUT, "f32"},
        {CRD_BCNN, 16, {16, 16, 16}, 2, CRD_INDEPENDENT, "f32"}, {CRD_BCNN, 4, {8, 8, 8}, 3, CRD_MEAN, "bf16"},
        {CRD_MCDN, 16, {8, 16, 32}, 3, CRD_FLIPOUT, "f32"},      {CRD_MCDN, 12, {8, 16, 24}, 2, CRD_INDEPENDENT, "f32"},
        {CRD_MCDN, 16, {16, 16, 16}, 1, CRD_MEAN, "f32"},        {CRD_MCDN, 16, {16, 24, 16}, 3, CRD_FLIPOUT, "f32"},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_gradient(&cases[i]);
}

static void test_gradients_in_half_precision(void)
{
    static const train_case cases[] = {
        {CRD_BCNN, 16, {16, 32, 24}, 2, CRD_FLIPOUT, "fp16"},
        {CRD_BCNN, 16, {16, 32, 24}, 2, CRD_FLIPOUT, "bf16"},
        {CRD_BCNN, 16, {8, 8, 8}, 3, CRD_MEAN, "fp16"},
        {CRD_BCNN, 16, {24, 40, 56}, 3, CRD_FLIPOUT, "fp16"},
        {CRD_BCNN, 32, {16, 24, 40}, 2, CRD_INDEPENDENT, "fp16"},
        {CRD_MCDN, 16, {16, 24, 40}, 3, CRD_FLIPOUT, "fp16"},
        {CRD_MCDN, 32, {16, 16, 24}, 2, CRD_MEAN, "fp16"},
        {CRD_MCDN, 16, {24, 40, 16}, 2, CRD_INDEPENDENT, "bf16"},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_gradient(&cases[i]);
}

static void test_gradient_of_the_kl(void)
{
    const train_case c = {CRD_BCNN, 16, {8, 8, 8}, 1, CRD_FLIPOUT, "bf16"};
    crd_model *model = NULL;
    crd_loss losses[MOST_BATCH];
    double kl;
    if (!have_gpu()) SKIP("no GPU");
    CHECK_OK(make_model(&c, &model));
    material m = make_material(&c, 1);
    float *expected = gradient_of(&c, model, "portable", &m, 0.0, 1.0, losses, &kl);
    float *computed = gradient_of(&c, model, "cuda", &m, 0.0, 1.0, losses, &kl);
    const likeness l = compare(expected, computed, model->net.model.total);
    printf("       gradient of the KL: %.1e off\n", l.largest);
    CHECK(l.largest <= 1e-6);
    free(expected);
    free(computed);
    drop_material(&m);
    crd_model_free(&model);
}

/* The BCE before each of 20 steps, mini-batches taking turns. */
static void follow(const train_case *c, const char *device, double rate, double bce[20])
{
    crd_model *model = NULL;
    crd_trainer *trainer = NULL;
    const crd_model_info info = {.kind = c->kind, .filters = c->filters, .groups = 4};
    material m[4];
    CHECK_OK(crd_model_create(&info, 3, &model));
    for (uint32_t i = 0; i < 4; i++) m[i] = make_material(c, i);
    CHECK_OK(make_trainer(c, model, device, 0, &trainer));
    for (int step = 0; step < 20 && !harness_failed; step++) {
        const material *now = &m[step % 4];
        crd_loss losses[MOST_BATCH];
        double kl;
        CHECK_OK(take_step(trainer, c, now, 1.0 / (double)now->labelled, 1e-6, rate, losses, &kl));
        bce[step] = bce_of(c, losses, now);
    }
    for (int i = 0; i < 4; i++) drop_material(&m[i]);
    crd_trainer_free(&trainer);
    crd_model_free(&model);
}

static void test_twenty_steps_agree_with_the_cpu(void)
{
    const train_case c = {CRD_BCNN, 16, {16, 32, 32}, 3, CRD_FLIPOUT, "f32"};
    const train_case half = {CRD_BCNN, 16, {16, 32, 32}, 3, CRD_FLIPOUT, "bf16"};
    double cpu[20], gpu[20], bf16[20], worst = 0;
    if (!have_gpu()) SKIP("no GPU");
    follow(&c, "portable", 1e-4, cpu);
    follow(&c, "cuda", 1e-4, gpu);
    follow(&half, "cuda", 1e-4, bf16);
    for (int i = 0; i < 20; i++) {
        printf("       step %2d: bce %.6f on the CPU, %.6f in f32, %.6f in bf16\n", i, cpu[i], gpu[i], bf16[i]);
        worst = fmax(worst, fabs(cpu[i] - gpu[i]));
    }
    printf("       f32: at most %.1e apart\n", worst);
    CHECK(worst <= 1e-3);
    CHECK(fabs(bf16[19] / cpu[19] - 1) <= 2e-2);
}

/* The reference's six noise-free steps; test_trainer.c says why the tolerances are these. */
static void test_reference_steps(void)
{
    static const double allowed[REFERENCE_ADAM_STEPS] = {1e-6, 1e-4, 2e-2, 2e-2, 2e-2, 2e-2};
    if (!have_gpu()) SKIP("no GPU");
    for (int kind = 0; kind < 2 && !harness_failed; kind++) {
        const reference_case *r = reference_load(kind == 0 ? CRD_BCNN : CRD_MCDN);
        const train_case c = {r->net.kind, 8, {16, 32, 24}, REFERENCE_BATCH, CRD_MEAN, "f32"};
        const material m = {.voxels = REFERENCE_VOXELS,
                            .labelled = REFERENCE_BATCH * REFERENCE_VOXELS,
                            .input = r->input,
                            .label = r->label};
        crd_trainer *trainer = NULL;
        crd_model model = {.net = r->net, .parameters = r->model};
        CHECK_OK(make_trainer(&c, &model, "cuda", 0, &trainer));
        for (int step = 0; step < REFERENCE_ADAM_STEPS; step++) {
            crd_loss losses[MOST_BATCH];
            double kl;
            CHECK_OK(take_step(trainer, &c, &m, 1.0 / (double)m.labelled, 0.5 / r->adam_m, 1e-3, losses, &kl));
            const double bce = bce_of(&c, losses, &m), loss = bce + 0.5 * kl / r->adam_m;
            printf("       step %d: bce %.6f (%.1e off), loss %.6f (%.1e off)\n", step, bce,
                   fabs(bce / r->adam[step][0] - 1), loss, fabs(loss / r->adam[step][1] - 1));
            CHECK(fabs(bce / r->adam[step][0] - 1) <= allowed[step]);
            CHECK(fabs(loss / r->adam[step][1] - 1) <= allowed[step]);
        }
        crd_trainer_free(&trainer);
    }
}

/* Parameters after three steps, with so much memory on the GPU. */
static float *train_a_little(const train_case *c, int64_t max_bytes)
{
    crd_model *model = NULL;
    crd_trainer *trainer = NULL;
    crd_loss losses[MOST_BATCH];
    double kl;
    must(make_model(c, &model));
    material m = make_material(c, 1);
    const size_t bytes = (size_t)model->net.model.total * sizeof(float);
    float *result = malloc(bytes);
    if (result == NULL) exit(1);
    must(make_trainer(c, model, "cuda", max_bytes, &trainer));
    for (int step = 0; step < 3 && !harness_failed; step++) {
        must(take_step(trainer, c, &m, 1.0 / (double)m.labelled, 1e-6, 1e-3, losses, &kl));
    }
    must(crd_trainer_fetch(trainer));
    memcpy(result, crd_trainer_state_of(trainer)->parameters, bytes);
    drop_material(&m);
    crd_trainer_free(&trainer);
    crd_model_free(&model);
    return result;
}

/* The same with every example's gradient by itself, summed here: what several processes do with one mini-batch. */
static float *train_apart(const train_case *c)
{
    crd_model *model = NULL;
    crd_trainer *trainer = NULL;
    crd_loss losses[MOST_BATCH];
    double kl;
    must(make_model(c, &model));
    material m = make_material(c, 1);
    const int64_t count = model->net.model.total;
    float *result = malloc((size_t)count * sizeof *result), *sum = malloc((size_t)count * sizeof *sum);
    if (result == NULL || sum == NULL) exit(1);
    must(make_shared_trainer(c, model, "cuda", 0, true, &trainer));
    for (int step = 0; step < 3; step++) {
        memset(sum, 0, (size_t)count * sizeof *sum);
        for (int64_t i = 0; i < c->batch; i++) {
            crd_trainer_begin(trainer);
            must(crd_trainer_add(trainer, (uint32_t)i, m.input + i * m.voxels, m.label + i * m.voxels,
                                 (float)(1.0 / (double)m.labelled), &losses[i]));
            for (int64_t k = 0; k < count; k++) sum[k] += crd_trainer_gradient(trainer)[k];
        }
        memcpy(crd_trainer_gradient(trainer), sum, (size_t)count * sizeof *sum);
        must(crd_trainer_finish(trainer, 1e-6, 1e-3, &kl));
    }
    must(crd_trainer_fetch(trainer));
    memcpy(result, crd_trainer_state_of(trainer)->parameters, (size_t)count * sizeof *result);
    free(sum);
    drop_material(&m);
    crd_trainer_free(&trainer);
    crd_model_free(&model);
    return result;
}

static int64_t device_bytes(const train_case *c, int64_t batch)
{
    crd_model *model = NULL;
    int64_t host, device = 0;
    const crd_device_choice choice = {.device = "cuda", .precision = c->precision, .training = true};
    must(make_model(c, &model));
    crd_trainer_plan plan = {.net = &model->net,
                             .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]},
                             .estimator = c->estimator,
                             .batch = batch};
    must(crd_backend_choose(&choice, &plan.backend, &plan.device));
    must(crd_trainer_bytes(&plan, &host, &device));
    crd_model_free(&model);
    return device;
}

static void test_same_bytes(void)
{
    static const train_case cases[] = {
        {CRD_BCNN, 16, {16, 32, 24}, 5, CRD_FLIPOUT, "bf16"},
        {CRD_BCNN, 16, {16, 24, 16}, 5, CRD_INDEPENDENT, "fp16"},
        {CRD_MCDN, 16, {16, 24, 16}, 5, CRD_FLIPOUT, "bf16"},
        {CRD_BCNN, 8, {16, 24, 16}, 5, CRD_FLIPOUT, "f32"},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && !harness_failed; i++) {
        const train_case *c = &cases[i];
        const int64_t for_two = device_bytes(c, 2) + 12 * c->chunk[0] * c->chunk[1] * c->chunk[2] * 5;
        const int64_t for_all = device_bytes(c, c->batch);
        const crd_model_info info = {.kind = c->kind, .filters = c->filters, .groups = 4};
        crd_model *model = NULL;
        CHECK_OK(crd_model_create(&info, 3, &model));
        const size_t bytes = (size_t)model->net.model.total * sizeof(float);
        float *once = train_a_little(c, 0), *twice = train_a_little(c, 0), *few = train_a_little(c, for_two);
        float *apart = train_apart(c);
        CHECK(for_two < for_all); /* else nothing was accumulated */
        CHECK(memcmp(once, twice, bytes) == 0);
        CHECK(memcmp(once, few, bytes) == 0);
        CHECK(memcmp(once, apart, bytes) == 0);
        free(once);
        free(twice);
        free(few);
        free(apart);
        crd_model_free(&model);
    }
}

/* Every kernel of training at sizes that compute-sanitizer gets through. */
static void test_little_steps(void)
{
    static const train_case cases[] = {
        {CRD_BCNN, 16, {8, 16, 24}, 2, CRD_FLIPOUT, "bf16"},
        {CRD_MCDN, 16, {16, 8, 8}, 1, CRD_FLIPOUT, "fp16"},
        {CRD_BCNN, 8, {8, 8, 16}, 1, CRD_INDEPENDENT, "f32"},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crd_model *model = NULL;
        CHECK_OK(make_model(&cases[i], &model));
        float *trained = train_a_little(&cases[i], 0);
        int64_t moved = 0;
        for (int64_t k = 0; k < model->net.model.total; k++) {
            CHECK(isfinite(trained[k]));
            moved += trained[k] != model->parameters[k];
        }
        CHECK(moved > model->net.model.total / 2);
        free(trained);
        crd_model_free(&model);
    }
}

/* What validation asks of a trainer. */
static void test_evaluation_and_samples(void)
{
    static const train_case cases[] = {{CRD_BCNN, 16, {16, 24, 16}, 1, CRD_FLIPOUT, "f32"},
                                       {CRD_MCDN, 16, {16, 24, 16}, 1, CRD_FLIPOUT, "f32"},
                                       {CRD_BCNN, 16, {16, 24, 16}, 1, CRD_FLIPOUT, "fp16"}};
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && !harness_failed; i++) {
        const train_case *c = &cases[i];
        crd_model *model = NULL;
        crd_trainer *trainers[2] = {NULL, NULL};
        crd_loss losses[2];
        CHECK_OK(make_model(c, &model));
        material m = make_material(c, 1);
        float *probability[2];
        for (int k = 0; k < 2; k++) {
            probability[k] = malloc((size_t)m.voxels * sizeof(float));
            CHECK_OK(make_trainer(c, model, k == 0 ? "portable" : "cuda", 0, &trainers[k]));
            CHECK_OK(crd_trainer_evaluate(trainers[k], m.input, m.label, &losses[k]));
            CHECK_OK(crd_trainer_draw_samples(trainers[k]));
            CHECK_OK(crd_trainer_encode(trainers[k], m.input));
        }
        const double allowed = i < 2 ? 1e-4 : 3e-3;
        CHECK(fabs(losses[1].bce_sum / losses[0].bce_sum - 1) <= allowed);
        for (int64_t s = 0; s < 4; s++) {
            double mean = 0;
            for (int k = 0; k < 2; k++) crd_trainer_decode(trainers[k], s, probability[k]);
            for (int64_t v = 0; v < m.voxels; v++)
                mean += fabs(probability[0][v] - probability[1][v]) / (double)m.voxels;
            printf("       %s %s sample %lld: mean |difference| %.1e\n", crd_kind_name(c->kind), c->precision,
                   (long long)s, mean);
            CHECK(mean <= allowed);
        }
        for (int k = 0; k < 2; k++) {
            free(probability[k]);
            crd_trainer_free(&trainers[k]);
        }
        drop_material(&m);
        crd_model_free(&model);
    }
}

/* The bar is for an H200; other GPUs just say how fast they are. */
static void test_speed(void)
{
    const train_case c = {CRD_BCNN, 16, {88, 176, 176}, 3, CRD_FLIPOUT, "bf16"};
    const crd_device_choice choice = {.device = "cuda", .precision = "bf16", .training = true};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_model *model = NULL;
    crd_trainer *trainer = NULL;
    crd_loss losses[2][MOST_BATCH];
    char device[256];
    double begin = 0, kl;
    int steps = 0;
    if (!have_gpu()) SKIP("no GPU");
    CHECK_OK(crd_backend_choose(&choice, &backend, &settings));
    CHECK_OK(backend->describe(&settings, device, sizeof device));
    CHECK_OK(make_model(&c, &model));
    material m = make_material(&c, 1);
    CHECK_OK(make_trainer(&c, model, "cuda", 0, &trainer));
    for (int i = -1; i < 8 || crd_seconds() - begin < 2.0; i++) { /* the next mini-batch goes up while a step runs */
        if (i == 3) begin = crd_seconds();
        if (i >= 0) CHECK_OK(crd_trainer_start(trainer, 1e-6, 1e-4));
        crd_trainer_begin(trainer);
        for (uint32_t e = 0; e < c.batch; e++) {
            CHECK_OK(crd_trainer_add(trainer, e, m.input + e * m.voxels, m.label + e * m.voxels,
                                     (float)(1.0 / (double)m.labelled), &losses[i & 1][e]));
        }
        if (i >= 0) CHECK_OK(crd_trainer_wait(trainer, &kl));
        steps = i - 2;
    }
    const double milliseconds = 1e3 * (crd_seconds() - begin) / steps, gigabytes = (double)device_bytes(&c, 3) / 0x1p30;
    printf("       %s: %.1f ms a step of 3 chunks of 88x176x176, %.2f GiB\n", device, milliseconds, gigabytes);
    if (strstr(device, "H200") != NULL) CHECK(milliseconds <= 35.0);
    CHECK(gigabytes <= 12.0);
    drop_material(&m);
    crd_trainer_free(&trainer);
    crd_model_free(&model);
}

TEST_MAIN(TEST(test_gradients_in_f32), TEST(test_gradients_in_half_precision), TEST(test_gradient_of_the_kl),
          TEST(test_reference_steps), TEST(test_twenty_steps_agree_with_the_cpu), TEST(test_same_bytes),
          TEST(test_little_steps), TEST(test_evaluation_and_samples), TEST(test_speed))
