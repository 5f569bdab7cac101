/* Steps of training against the reference numbers, and the same bytes for any number of threads. */
#include "harness.h"
#include "ops/ops.h"
#include "reference_data.h"
#include "train/trainer.h"

/* Adam's first steps are lr * sign(gradient): a gradient that is nearly 0 may fall either way in float32. With half of
 * the inputs changed in their last bit the second loss is up to 2.4e-4 off, whichever the instruction path (72 runs),
 * of which twice is allowed, and from the third on the paths differ among themselves by up to 1.2e-2. The same steps in
 * double, in test_reference_net.c, agree within 1e-6 throughout. */
static const double allowed[REFERENCE_ADAM_STEPS] = {1e-6, 5e-4, 2e-2, 2e-2, 2e-2, 2e-2};

static void check_adam_steps(const reference_case *c, const char *isa)
{
    crd_trainer *trainer = NULL;
    const crd_trainer_plan plan = {.backend = &crd_backend_cpu,
                                   .device = {.threads = 2, .isa = isa},
                                   .learner = {.net = &c->net,
                                               .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]},
                                               .batch = REFERENCE_BATCH,
                                               .estimator = CRD_MEAN,
                                               .prior = {.std = 1}}};
    const double voxels = (double)(REFERENCE_BATCH * c->voxels);
    CHECK_OK(crd_trainer_create(&plan, &trainer));
    memcpy(crd_trainer_state_of(trainer)->parameters, c->model, (size_t)c->net.model.total * sizeof(float));
    CHECK_OK(crd_trainer_parameters_changed(trainer));
    const int steps = sparse(2, "steps against the reference") == 1 ? REFERENCE_ADAM_STEPS : 2;
    for (int step = 0; step < steps; step++) {
        double bce = 0, kl;
        crd_loss losses[REFERENCE_BATCH];
        for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
            CHECK_OK(crd_trainer_add(trainer, b, c->input + b * c->voxels, c->label + b * c->voxels,
                                     (float)(1.0 / voxels), &losses[b]));
        }
        CHECK_OK(crd_trainer_finish(trainer, 0.5 / c->adam_m, 1e-3, &kl));
        for (int b = 0; b < REFERENCE_BATCH; b++) bce += losses[b].bce_sum / voxels;
        const double loss = bce + 0.5 * kl / c->adam_m;
        printf("       step %d: bce %.6f (%.1e off), loss %.6f (%.1e off)\n", step, bce,
               fabs(bce / c->adam[step][0] - 1), loss, fabs(loss / c->adam[step][1] - 1));
        CHECK(fabs(bce / c->adam[step][0] - 1) <= allowed[step]);
        CHECK(fabs(loss / c->adam[step][1] - 1) <= allowed[step]);
    }
    crd_trainer_free(&trainer);
}

/* On every path that this CPU has. */
static void check_all_paths(const reference_case *c)
{
    static const char *const paths[] = {"portable", "avx2", "avx512"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && !harness_failed; i++) {
        const crd_ops *ops;
        if (!have_path(paths[i], crd_ops_select(paths[i], &ops) == CRD_OK)) continue;
        printf("       %s\n", paths[i]);
        check_adam_steps(c, paths[i]);
    }
}

static void test_bcnn_steps(void)
{
    check_all_paths(reference_load(CRD_BCNN));
}

static void test_mcdn_steps(void)
{
    check_all_paths(reference_load(CRD_MCDN));
}

static void test_steps_of_three_classes(void)
{
    for (int kind = CRD_BCNN; kind <= CRD_MCDN; kind++) {
        const reference_case *c = reference_load_named((crd_kind)kind, "f8_k3");
        check_all_paths(c);
    }
}

/* For functions that give something back. */
static void must(crd_status status)
{
    if (status == CRD_OK) return;
    printf("%s\n", crd_last_error()->message);
    exit(1);
}

enum { SAMPLES = 3 };

static crd_trainer *new_trainer(const crd_backend *backend, const reference_case *c, crd_estimator estimator,
                                int threads, int rank, int size)
{
    crd_trainer *trainer = NULL;
    const crd_trainer_plan plan = {.backend = backend,
                                   .device = {.threads = threads},
                                   .learner = {.net = &c->net,
                                               .chunk = {16, 32, 24},
                                               .batch = REFERENCE_BATCH,
                                               .estimator = estimator,
                                               .prior = {.std = 1},
                                               .seed = 5,
                                               .samples = SAMPLES,
                                               .rank = rank,
                                               .size = size}};
    must(crd_trainer_create(&plan, &trainer));
    memcpy(crd_trainer_state_of(trainer)->parameters, c->model, (size_t)c->net.model.total * sizeof(float));
    must(crd_trainer_parameters_changed(trainer));
    return trainer;
}

/* The parameters, once the trainer is done with. */
static float *take_parameters(const reference_case *c, crd_trainer **trainer)
{
    const size_t bytes = (size_t)c->net.model.total * sizeof(float);
    float *result = malloc(bytes);
    if (result == NULL) exit(1);
    must(crd_trainer_fetch(*trainer, true));
    memcpy(result, crd_trainer_state_of(*trainer)->parameters, bytes);
    crd_trainer_free(trainer);
    return result;
}

static void add_batch(const reference_case *c, crd_trainer *trainer, crd_loss *losses)
{
    for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
        must(crd_trainer_add(trainer, b, c->input + b * REFERENCE_VOXELS, c->label + b * REFERENCE_VOXELS, 1e-4f,
                             &losses[b]));
    }
}

/* Noisy steps are three, and two where all is slow. */
static int stride_of_steps(void)
{
    return sparse(2, "the second of three steps");
}

/* The parameters after them. */
static float *train_a_little(const reference_case *c, crd_estimator estimator, int threads, double *kl)
{
    crd_trainer *trainer = new_trainer(&crd_backend_cpu, c, estimator, threads, 0, 0);
    crd_loss losses[REFERENCE_BATCH];
    for (int step = 0; step < 3; step += stride_of_steps()) {
        add_batch(c, trainer, losses);
        must(crd_trainer_finish(trainer, 1e-6, 1e-3, kl));
    }
    return take_parameters(c, &trainer);
}

/* The same on a backend that doesn't divide steps: every example's gradient by itself, and their sum. */
static float *train_apart(const reference_case *c, crd_estimator estimator, double *kl)
{
    crd_backend whole = crd_backend_cpu;
    whole.learner_example = NULL;
    crd_trainer *trainer = new_trainer(&whole, c, estimator, 2, 0, 0);
    const int64_t count = c->net.model.total;
    crd_loss loss;
    float *gradient = malloc((size_t)count * sizeof *gradient), *sum = malloc((size_t)count * sizeof *sum);
    if (gradient == NULL || sum == NULL) exit(1);
    for (int step = 0; step < 3; step += stride_of_steps()) {
        memset(sum, 0, (size_t)count * sizeof *sum);
        for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
            must(crd_trainer_example(trainer, b, c->input + b * REFERENCE_VOXELS, c->label + b * REFERENCE_VOXELS,
                                     1e-4f, gradient, &loss));
            for (int64_t i = 0; i < count; i++) sum[i] += gradient[i];
        }
        must(crd_trainer_follow(trainer, sum, 1e-6, 1e-3));
        must(crd_trainer_wait(trainer, kl));
    }
    free(gradient);
    free(sum);
    return take_parameters(c, &trainer);
}

static void test_same_bytes_from_examples_apart(void)
{
    static const crd_kind kinds[] = {CRD_BCNN, CRD_MCDN};
    for (int k = 0; k < 2; k++) {
        const reference_case *c = reference_load(kinds[k]);
        double kl[2];
        float *together = train_a_little(c, CRD_FLIPOUT, 2, &kl[0]), *apart = train_apart(c, CRD_FLIPOUT, &kl[1]);
        CHECK(memcmp(together, apart, (size_t)c->net.model.total * sizeof(float)) == 0);
        CHECK(kl[0] == kl[1]);
        free(together);
        free(apart);
    }
}

/* A learner's samples are those of a predictor that keeps nothing of the skips. */
static void test_samples_are_a_predictors(void)
{
    enum { FIRST = 10 };
    static const crd_kind kinds[] = {CRD_BCNN, CRD_MCDN};
    static float probability[REFERENCE_VOXELS];
    for (int k = 0; k < 2; k++) {
        const reference_case *c = reference_load(kinds[k]);
        const crd_device_settings device = {.threads = 2};
        const crd_predictor_plan same = {.net = &c->net,
                                         .parameters = c->model,
                                         .chunk = {16, 32, 24},
                                         .samples = SAMPLES,
                                         .seed = 5,
                                         .estimator = CRD_INDEPENDENT,
                                         .inverse_temperature = 1.0f,
                                         .keep_samples = true,
                                         .first_sample = FIRST,
                                         .memory_saving = CRD_MEMORY_SAVING_MOST};
        crd_trainer *trainer = new_trainer(&crd_backend_cpu, c, CRD_FLIPOUT, 2, 0, 0);
        crd_learner *learner = crd_trainer_learner(trainer);
        crd_predictor *predictor = NULL;
        crd_chunk_result result;
        CHECK_OK(crd_backend_cpu.predictor_create(&device, &same, &predictor));
        CHECK_OK(crd_backend_cpu.predictor_submit(predictor, 0, c->input, NULL, 0));
        CHECK_OK(crd_backend_cpu.predictor_collect(predictor, &result));
        crd_backend_cpu.learner_draw(learner, FIRST, SAMPLES);
        crd_backend_cpu.learner_encode(learner, c->input);
        for (int s = 0; s < SAMPLES; s++) {
            crd_backend_cpu.learner_decode(learner, s, probability);
            CHECK(memcmp(probability, result.samples + s * REFERENCE_VOXELS, sizeof probability) == 0);
        }
        crd_backend_cpu.predictor_free(&predictor);
        crd_trainer_free(&trainer);
    }
}

/* An example that has no place in the batch, or comes before its turn. */
static void test_examples_out_of_order(void)
{
    const reference_case *c = reference_load(CRD_BCNN);
    crd_trainer *trainer = new_trainer(&crd_backend_cpu, c, CRD_MEAN, 1, 0, 0);
    crd_loss losses[REFERENCE_BATCH + 1];
    CHECK_FAILS(crd_trainer_add(trainer, 1, c->input, c->label, 1.0f, losses), CRD_ERR_INTERNAL, "out of order");
    add_batch(c, trainer, losses);
    CHECK_FAILS(crd_trainer_add(trainer, REFERENCE_BATCH, c->input, c->label, 1.0f, losses), CRD_ERR_INTERNAL,
                "out of order");
    CHECK_FAILS(crd_backend_cpu.learner_stage(crd_trainer_learner(trainer), -1, c->input, c->label), CRD_ERR_INTERNAL,
                "none of the batch");
    crd_trainer_free(&trainer);
}

/* The same steps by several trainers that share examples and parameters as processes do, without the messages. */
enum { MOST_RANKS = 5 };

static void exchange(crd_exchange what, int size, crd_trainer **trainers)
{
    for (int from = 0; from < size; from++) {
        const crd_learner *learner = crd_trainer_learner(trainers[from]);
        float *values = malloc((size_t)crd_backend_cpu.learner_part_values(learner, what, from) * sizeof *values + 1);
        if (values == NULL) exit(1);
        crd_backend_cpu.learner_pack_part(learner, what, values);
        for (int to = 0; to < size; to++) {
            if (to == from) continue;
            crd_backend_cpu.learner_unpack_part(crd_trainer_learner(trainers[to]), what, from, values);
        }
        free(values);
    }
}

static void share_a_step(const reference_case *c, int size, crd_trainer **trainers, float *gradients, double *kl)
{
    const int64_t values = c->net.point.total;
    int64_t begin = 0;
    for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
        crd_loss loss;
        must(crd_trainer_example(trainers[(int)b % size], b, c->input + b * REFERENCE_VOXELS,
                                 c->label + b * REFERENCE_VOXELS, 1e-4f, gradients + b * values, &loss));
    }
    for (int rank = 0; rank < size; rank++) {
        const float *parts[REFERENCE_BATCH];
        for (int b = 0; b < REFERENCE_BATCH; b++) parts[b] = gradients + b * values + begin;
        must(crd_trainer_follow_parts(trainers[rank], REFERENCE_BATCH, parts, 1e-6, 1e-3));
        begin += crd_backend_cpu.learner_part_values(crd_trainer_learner(trainers[rank]), CRD_EXCHANGE_GRADIENT, rank);
    }
    exchange(CRD_EXCHANGE_STEP, size, trainers);
    for (int rank = 0; rank < size; rank++) {
        must(crd_trainer_wait(trainers[rank], &kl[rank]));
    }
}

static int64_t values_of_all(const crd_trainer *trainer, crd_exchange what, int size)
{
    int64_t sum = 0;
    for (int rank = 0; rank < size; rank++) {
        sum += crd_backend_cpu.learner_part_values(crd_trainer_learner(trainer), what, rank);
    }
    return sum;
}

static void check_parts(const reference_case *c, crd_estimator estimator, int size, const float *expected,
                        double expected_kl)
{
    crd_trainer *trainers[MOST_RANKS] = {NULL};
    double kl[MOST_RANKS];
    const size_t bytes = (size_t)c->net.model.total * sizeof(float);
    for (int rank = 0; rank < size; rank++) trainers[rank] = new_trainer(&crd_backend_cpu, c, estimator, 1, rank, size);
    CHECK(values_of_all(trainers[0], CRD_EXCHANGE_GRADIENT, size) == c->net.point.total);
    CHECK(values_of_all(trainers[0], CRD_EXCHANGE_PARAMETERS, size) == c->net.model.total);
    float *gradients = malloc((size_t)(REFERENCE_BATCH * c->net.point.total) * sizeof *gradients);
    if (gradients == NULL) exit(1);
    for (int step = 0; step < 3; step += stride_of_steps()) share_a_step(c, size, trainers, gradients, kl);
    exchange(CRD_EXCHANGE_PARAMETERS, size, trainers);
    exchange(CRD_EXCHANGE_M, size, trainers);
    exchange(CRD_EXCHANGE_V, size, trainers);
    for (int rank = 0; rank < size; rank++) {
        const crd_trainer_state *state = crd_trainer_state_of(trainers[rank]),
                                *first = crd_trainer_state_of(trainers[0]);
        CHECK(memcmp(expected, state->parameters, bytes) == 0);
        CHECK(memcmp(first->m, state->m, bytes) == 0 && memcmp(first->v, state->v, bytes) == 0);
        CHECK(kl[rank] == expected_kl);
    }
    for (int rank = 0; rank < size; rank++) crd_trainer_free(&trainers[rank]);
    free(gradients);
}

static void test_same_bytes_for_any_number_of_parts(void)
{
    static const struct {
        crd_kind kind;
        crd_estimator estimator;
        int sizes[3];
    } cases[] = {{CRD_BCNN, CRD_FLIPOUT, {2, 5}}, {CRD_BCNN, CRD_INDEPENDENT, {3}}, {CRD_MCDN, CRD_FLIPOUT, {3}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += (size_t)sparse(2, "cases")) {
        const reference_case *c = reference_load(cases[i].kind);
        double kl;
        float *expected = train_a_little(c, cases[i].estimator, 2, &kl);
        for (int k = 0; cases[i].sizes[k] > 0; k++) {
            check_parts(c, cases[i].estimator, cases[i].sizes[k], expected, kl);
        }
        free(expected);
    }
}

static void test_same_bytes_for_any_number_of_threads(void)
{
    static const crd_kind kinds[] = {CRD_BCNN, CRD_MCDN};
    for (int k = 0; k < 2; k++) {
        const reference_case *c = reference_load(kinds[k]);
        for (int estimator = CRD_FLIPOUT; estimator <= CRD_INDEPENDENT; estimator += sparse(2, "estimators")) {
            double kl;
            float *one = train_a_little(c, (crd_estimator)estimator, 1, &kl);
            float *two = train_a_little(c, (crd_estimator)estimator, 2, &kl);
            float *five = train_a_little(c, (crd_estimator)estimator, 5, &kl);
            CHECK(memcmp(one, two, (size_t)c->net.model.total * sizeof(float)) == 0);
            CHECK(memcmp(one, five, (size_t)c->net.model.total * sizeof(float)) == 0);
            CHECK(memcmp(one, c->model, (size_t)c->net.model.total * sizeof(float)) != 0);
            free(one);
            free(two);
            free(five);
        }
    }
}

TEST_MAIN(TEST(test_bcnn_steps), TEST(test_mcdn_steps), TEST(test_steps_of_three_classes),
          TEST(test_same_bytes_for_any_number_of_threads), TEST(test_same_bytes_for_any_number_of_parts),
          TEST(test_same_bytes_from_examples_apart), TEST(test_samples_are_a_predictors),
          TEST(test_examples_out_of_order))
