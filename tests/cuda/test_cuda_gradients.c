/* Gradients on the GPU against those on the CPU: every estimator, kind and precision. Skipped where there is no GPU. */
#include "ops/ops.h"
#include "train_tools.h"

static comparison compare_all(const float *expected, const float *computed, int64_t count)
{
    comparison c = {0};
    for (int64_t i = 0; i < count; i++) compare(&c, (double)computed[i], (double)expected[i]);
    return c;
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
    must(crd_trainer_gradient(trainer, gradient));
    must(crd_trainer_fetch(trainer, true));
    if (memcmp(crd_trainer_state_of(trainer)->parameters, model->parameters, bytes) != 0) {
        printf("a step at rate 0 changed the parameters\n");
        exit(1);
    }
    crd_trainer_free(&trainer);
    return gradient;
}

/* The worst of the tensors. */
typedef struct worst_tensor {
    double error, cosine; /* the error as a part of the largest value */
    const char *path;
} worst_tensor;

static worst_tensor compare_tensors(const crd_model *model, const float *expected, const float *computed)
{
    worst_tensor worst = {0, 1, ""};
    for (int i = 0; i < model->net.model.count; i++) {
        const crd_parameter *p = &model->net.model.parameters[i];
        const comparison c = compare_all(expected + p->offset, computed + p->offset, p->count);
        if (relative_error(&c) > worst.error) worst.path = p->path;
        worst.error = worse(worst.error, relative_error(&c));
        if (cosine(&c) < worst.cosine) worst.cosine = cosine(&c);
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
    static const double near_enough = 5e-3; /* half of what is allowed */
    float *nearest = NULL;
    double best = INFINITY;
    *tries = 0;
    for (int i = 0; i < PATHS + (exact ? NUDGES : 0) && best > near_enough; i++) {
        const crd_ops *ops;
        crd_loss own[MOST_BATCH];
        material n = i < PATHS ? *m : nudged(c, m, (uint32_t)i);
        if (i < PATHS && !have_path(paths[i], crd_ops_select(paths[i], &ops) == CRD_OK)) continue;
        float *gradient = gradient_of(c, model, i < PATHS ? paths[i] : "auto", &n, scale, 0.0, own, kl);
        const comparison all = compare_all(gradient, computed, model->net.model.total);
        const double worst = exact ? compare_tensors(model, gradient, computed).error : 1 - cosine(&all);
        if (nearest == NULL || worst < best) {
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
    const comparison all = compare_all(expected, computed, model->net.model.total);
    const double cpu_bce = bce_of(c, cpu, &m), gpu_bce = bce_of(c, gpu, &m);
    printf(
        "       %s f %d %lldx%lldx%lld batch %lld %s %s: bce %.2e off, gradient 1 - cosine %.1e, worst tensor %s %.1e, "
        "1 - cosine %.1e, CPU run %d\n",
        crd_kind_name(c->kind), c->filters, (long long)c->chunk[0], (long long)c->chunk[1], (long long)c->chunk[2],
        (long long)c->batch, estimators[c->estimator], c->precision, fabs(gpu_bce / cpu_bce - 1), 1 - cosine(&all),
        worst.path, worst.error, 1 - worst.cosine, tries);
    CHECK(fabs(gpu_bce / cpu_bce - 1) <= (exact ? 1e-4 : 5e-3));
    CHECK(cosine(&all) >= (exact ? 0.99999 : strcmp(c->precision, "fp16") == 0 ? 0.99 : 0.9));
    if (exact) CHECK(worst.error <= 1e-2 && worst.cosine >= 0.9999);
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
        {CRD_BCNN, 8, {16, 32, 24}, 2, CRD_FLIPOUT, "f32", 0, {0}},
        {CRD_BCNN, 16, {24, 32, 40}, 3, CRD_FLIPOUT, "f32", 0, {0}},
        {CRD_BCNN, 16, {16, 16, 16}, 2, CRD_INDEPENDENT, "f32", 0, {0}},
        {CRD_BCNN, 4, {8, 8, 8}, 3, CRD_MEAN, "bf16", 0, {0}},
        {CRD_MCDN, 16, {8, 16, 32}, 3, CRD_FLIPOUT, "f32", 0, {0}},
        {CRD_MCDN, 12, {8, 16, 24}, 2, CRD_INDEPENDENT, "f32", 0, {0}},
        {CRD_MCDN, 16, {16, 16, 16}, 1, CRD_MEAN, "f32", 0, {0}},
        {CRD_MCDN, 16, {16, 24, 16}, 3, CRD_FLIPOUT, "f32", 0, {0}},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_gradient(&cases[i]);
}

static void test_gradients_in_half_precision(void)
{
    static const train_case cases[] = {
        {CRD_BCNN, 16, {16, 32, 24}, 2, CRD_FLIPOUT, "fp16", 0, {0}},
        {CRD_BCNN, 16, {16, 32, 24}, 2, CRD_FLIPOUT, "bf16", 0, {0}},
        {CRD_BCNN, 16, {8, 8, 8}, 3, CRD_MEAN, "fp16", 0, {0}},
        {CRD_BCNN, 16, {24, 40, 56}, 3, CRD_FLIPOUT, "fp16", 0, {0}},
        {CRD_BCNN, 32, {16, 24, 40}, 2, CRD_INDEPENDENT, "fp16", 0, {0}},
        {CRD_MCDN, 16, {16, 24, 40}, 3, CRD_FLIPOUT, "fp16", 0, {0}},
        {CRD_MCDN, 32, {16, 16, 24}, 2, CRD_MEAN, "fp16", 0, {0}},
        {CRD_MCDN, 16, {24, 40, 16}, 2, CRD_INDEPENDENT, "bf16", 0, {0}},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_gradient(&cases[i]);
}

/* More than two classes, as many as a matrix instruction is wide, and in between. */
static void test_gradients_of_classes(void)
{
    static const train_case cases[] = {
        {CRD_BCNN, 8, {16, 32, 24}, 2, CRD_FLIPOUT, "f32", 3, {0}},
        {CRD_BCNN, 16, {8, 16, 24}, 2, CRD_INDEPENDENT, "f32", 5, {0}},
        {CRD_MCDN, 16, {16, 16, 16}, 2, CRD_FLIPOUT, "f32", 16, {0}},
        {CRD_MCDN, 4, {8, 8, 16}, 3, CRD_MEAN, "f32", 4, {0}},
        {CRD_BCNN, 16, {16, 32, 24}, 2, CRD_FLIPOUT, "fp16", 3, {0}},
        {CRD_BCNN, 16, {24, 40, 56}, 3, CRD_FLIPOUT, "bf16", 3, {0}},
        {CRD_MCDN, 16, {64, 40, 24}, 2, CRD_FLIPOUT, "fp16", 4, {0}},
        {CRD_BCNN, 32, {16, 24, 40}, 2, CRD_INDEPENDENT, "fp16", 7, {0}},
        {CRD_MCDN, 16, {16, 24, 40}, 3, CRD_FLIPOUT, "fp16", 16, {0}},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_gradient(&cases[i]);
}

static void check_kl_gradient(crd_prior_settings prior)
{
    const train_case c = {CRD_BCNN, 16, {8, 8, 8}, 1, CRD_FLIPOUT, "bf16", 0, prior};
    crd_model *model = NULL;
    crd_loss losses[MOST_BATCH];
    double kl, gpu_kl;
    CHECK_OK(make_model(&c, &model));
    material m = make_material(&c, 1);
    float *expected = gradient_of(&c, model, "portable", &m, 0.0, 1.0, losses, &kl);
    float *computed = gradient_of(&c, model, "cuda", &m, 0.0, 1.0, losses, &gpu_kl);
    const comparison all = compare_all(expected, computed, model->net.model.total);
    printf("       KL: %.1e off, its gradient %.1e\n", fabs(gpu_kl / kl - 1), relative_error(&all));
    CHECK(relative_error(&all) <= 1e-6);
    CHECK(fabs(gpu_kl / kl - 1) <= 1e-9);
    free(expected);
    free(computed);
    drop_material(&m);
    crd_model_free(&model);
}

static void test_gradient_of_the_kl(void)
{
    if (!have_gpu()) SKIP("no GPU");
    check_kl_gradient((crd_prior_settings){.std = 1});
    check_kl_gradient((crd_prior_settings){CRD_PRIOR_MIXTURE, 1, 0.0025, 0.5});
    check_kl_gradient((crd_prior_settings){CRD_PRIOR_MIXTURE, 0.5, 0.01, 0.2});
}

TEST_MAIN(TEST(test_gradients_in_f32), TEST(test_gradients_in_half_precision), TEST(test_gradients_of_classes),
          TEST(test_gradient_of_the_kl))
