/* Training on the GPU against training on the CPU: a course of steps, the same bytes twice and for any number of
 * examples at a time. Skipped where there is no GPU. */
#include "base/clock.h"
#include "reference_data.h"
#include "train_tools.h"

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
    const train_case c = {CRD_BCNN, 16, {16, 32, 32}, 3, CRD_FLIPOUT, "f32", 0, {0}};
    const train_case half = {CRD_BCNN, 16, {16, 32, 32}, 3, CRD_FLIPOUT, "bf16", 0, {0}};
    double cpu[20], gpu[20], bf16[20], worst = 0;
    if (!have_gpu()) SKIP("no GPU");
    follow(&c, "portable", 1e-4, cpu);
    follow(&c, "cuda", 1e-4, gpu);
    follow(&half, "cuda", 1e-4, bf16);
    for (int i = 0; i < 20; i++) {
        printf("       step %2d: bce %.6f on the CPU, %.6f in f32, %.6f in bf16\n", i, cpu[i], gpu[i], bf16[i]);
        worst = worse(worst, apart(gpu[i], cpu[i]));
    }
    printf("       f32: at most %.1e apart\n", worst);
    CHECK(worst <= 1e-3);
    CHECK(fabs(bf16[19] / cpu[19] - 1) <= 2e-2);
}

/* The reference's six noise-free steps; test_trainer.c says why the tolerances are these. */
static void check_reference_steps(bool three_classes)
{
    static const double allowed[REFERENCE_ADAM_STEPS] = {1e-6, 1e-4, 2e-2, 2e-2, 2e-2, 2e-2};
    for (int kind = 0; kind < 2 && !harness_failed; kind++) {
        const reference_case *r =
            three_classes ? reference_load_named((crd_kind)kind, "f8_k3") : reference_load((crd_kind)kind);
        const train_case c = {.kind = r->net.kind,
                              .filters = 8,
                              .chunk = {r->chunk[0], r->chunk[1], r->chunk[2]},
                              .batch = REFERENCE_BATCH,
                              .estimator = CRD_MEAN,
                              .precision = "f32",
                              .classes = r->net.classes};
        const material m = {
            .voxels = r->voxels, .labelled = REFERENCE_BATCH * r->voxels, .input = r->input, .label = r->label};
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

static void test_reference_steps(void)
{
    if (!have_gpu()) SKIP("no GPU");
    check_reference_steps(false);
}

static void test_reference_steps_of_three_classes(void)
{
    if (!have_gpu()) SKIP("no GPU");
    check_reference_steps(true);
}

/* Enough that steps are replayed as graphs, of each half of the input. */
enum { LITTLE_STEPS = 6 };

/* Parameters after a few steps, with so much memory on the GPU. */
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
    for (int step = 0; step < LITTLE_STEPS && !harness_failed; step++) {
        must(take_step(trainer, c, &m, 1.0 / (double)m.labelled, 1e-6, 1e-3, losses, &kl));
    }
    must(crd_trainer_fetch(trainer, true));
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
    float *gradient = malloc((size_t)count * sizeof *gradient);
    if (result == NULL || sum == NULL || gradient == NULL) exit(1);
    must(make_trainer(c, model, "cuda", 0, &trainer));
    for (int step = 0; step < LITTLE_STEPS; step++) {
        memset(sum, 0, (size_t)count * sizeof *sum);
        for (int64_t i = 0; i < c->batch; i++) {
            must(crd_trainer_example(trainer, (uint32_t)i, m.input + i * m.voxels, m.label + i * m.voxels,
                                     (float)(1.0 / (double)m.labelled), gradient, &losses[i]));
            for (int64_t k = 0; k < count; k++) sum[k] += gradient[k];
        }
        must(crd_trainer_follow(trainer, sum, 1e-6, 1e-3));
        must(crd_trainer_wait(trainer, &kl));
    }
    must(crd_trainer_fetch(trainer, true));
    memcpy(result, crd_trainer_state_of(trainer)->parameters, (size_t)count * sizeof *result);
    free(sum);
    free(gradient);
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
    crd_trainer_plan plan = {.learner = {.net = &model->net,
                                         .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]},
                                         .batch = batch,
                                         .estimator = c->estimator}};
    must(crd_backend_choose(&choice, &plan.backend, &plan.device));
    must(crd_trainer_bytes(&plan, &host, &device));
    crd_model_free(&model);
    return device;
}

static void test_same_bytes(void)
{
    static const train_case cases[] = {
        {CRD_BCNN, 16, {16, 32, 24}, 5, CRD_FLIPOUT, "bf16", 0, {0}},
        {CRD_BCNN, 16, {16, 24, 16}, 5, CRD_INDEPENDENT, "fp16", 0, {0}},
        {CRD_MCDN, 16, {16, 24, 16}, 5, CRD_FLIPOUT, "bf16", 0, {0}},
        {CRD_BCNN, 8, {16, 24, 16}, 5, CRD_FLIPOUT, "f32", 0, {0}},
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
        {CRD_BCNN, 16, {8, 16, 24}, 2, CRD_FLIPOUT, "bf16", 0, {0}},
        {CRD_MCDN, 16, {16, 8, 8}, 1, CRD_FLIPOUT, "fp16", 0, {0}},
        {CRD_BCNN, 8, {8, 8, 16}, 1, CRD_INDEPENDENT, "f32", 0, {0}},
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
    static const train_case cases[] = {{CRD_BCNN, 16, {16, 24, 16}, 1, CRD_FLIPOUT, "f32", 0, {0}},
                                       {CRD_MCDN, 16, {16, 24, 16}, 1, CRD_FLIPOUT, "f32", 0, {0}},
                                       {CRD_BCNN, 16, {16, 24, 16}, 1, CRD_FLIPOUT, "fp16", 0, {0}}};
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
            CHECK_OK(crd_trainer_draw_samples(trainers[k], 4));
            CHECK_OK(crd_trainer_encode(trainers[k], m.input));
        }
        const double allowed = i < 2 ? 1e-4 : 3e-3;
        CHECK(fabs(losses[1].bce_sum / losses[0].bce_sum - 1) <= allowed);
        for (int64_t s = 0; s < 4; s++) {
            double mean = 0;
            for (int k = 0; k < 2; k++) crd_trainer_decode(trainers[k], s, probability[k]);
            for (int64_t v = 0; v < m.voxels; v++)
                mean += apart(probability[1][v], probability[0][v]) / (double)m.voxels;
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
    const train_case c = {CRD_BCNN, 16, {88, 176, 176}, 3, CRD_FLIPOUT, "bf16", 0, {0}};
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

TEST_MAIN(TEST(test_reference_steps), TEST(test_reference_steps_of_three_classes),
          TEST(test_twenty_steps_agree_with_the_cpu), TEST(test_same_bytes), TEST(test_little_steps),
          TEST(test_evaluation_and_samples), TEST(test_speed))
