/* Steps of training against the reference numbers, and the same bytes for any number of threads. */
#include "harness.h"
#include "reference_data.h"
#include "train/parcel.h"

/* Adam's first steps are lr * sign(gradient): a gradient that is nearly 0 may fall either way in float32. With half of
 * the inputs changed in their last bit the second loss is up to 2.4e-4 off, whichever the instruction path (72 runs),
 * of which twice is allowed, and from the third on the paths differ among themselves by up to 1.2e-2. The same steps in
 * double, in test_reference_net.c, agree within 1e-6 throughout. */
static const double allowed[REFERENCE_ADAM_STEPS] = {1e-6, 5e-4, 2e-2, 2e-2, 2e-2, 2e-2};

static void check_adam_steps(crd_kind kind, const char *isa)
{
    const reference_case *c = reference_load(kind);
    crd_trainer *trainer = NULL;
    const crd_trainer_plan plan = {
        .net = &c->net, .chunk = {16, 32, 24}, .estimator = CRD_MEAN, .prior_std = 1.0, .threads = 2, .isa = isa};
    const double voxels = REFERENCE_BATCH * REFERENCE_VOXELS;
    CHECK_OK(crd_trainer_create(&plan, &trainer));
    memcpy(crd_trainer_state_of(trainer)->parameters, c->model, (size_t)c->net.model.total * sizeof(float));
    CHECK_OK(crd_trainer_parameters_changed(trainer));
    for (int step = 0; step < REFERENCE_ADAM_STEPS; step++) {
        double bce = 0, kl;
        crd_trainer_begin(trainer);
        for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
            crd_loss loss;
            CHECK_OK(crd_trainer_add(trainer, b, c->input + b * REFERENCE_VOXELS, c->label + b * REFERENCE_VOXELS,
                                     (float)(1.0 / voxels), &loss));
            bce += loss.bce_sum / voxels;
        }
        CHECK_OK(crd_trainer_finish(trainer, 0.5 / c->adam_m, 1e-3, &kl));
        const double loss = bce + 0.5 * kl / c->adam_m;
        printf("       step %d: bce %.6f (%.1e off), loss %.6f (%.1e off)\n", step, bce,
               fabs(bce / c->adam[step][0] - 1), loss, fabs(loss / c->adam[step][1] - 1));
        CHECK(fabs(bce / c->adam[step][0] - 1) <= allowed[step]);
        CHECK(fabs(loss / c->adam[step][1] - 1) <= allowed[step]);
    }
    crd_trainer_free(&trainer);
}

/* On every path that this CPU has. */
static void check_all_paths(crd_kind kind)
{
    static const char *const paths[] = {"portable", "avx2", "avx512"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && !harness_failed; i++) {
        const crd_ops *ops;
        if (!have_path(paths[i], crd_ops_select(paths[i], &ops) == CRD_OK)) continue;
        printf("       %s\n", paths[i]);
        check_adam_steps(kind, paths[i]);
    }
}

static void test_bcnn_steps(void)
{
    check_all_paths(CRD_BCNN);
}

static void test_mcdn_steps(void)
{
    check_all_paths(CRD_MCDN);
}

/* Three noisy steps; the parameters afterwards. */
static float *train_a_little(const reference_case *c, crd_estimator estimator, int threads, double *kl)
{
    crd_trainer *trainer = NULL;
    const crd_trainer_plan plan = {
        .net = &c->net, .chunk = {16, 32, 24}, .estimator = estimator, .prior_std = 1.0, .seed = 5, .threads = threads};
    const size_t bytes = (size_t)c->net.model.total * sizeof(float);
    float *result = malloc(bytes);
    if (crd_trainer_create(&plan, &trainer) != CRD_OK || result == NULL) exit(1);
    memcpy(crd_trainer_state_of(trainer)->parameters, c->model, bytes);
    if (crd_trainer_parameters_changed(trainer) != CRD_OK) exit(1);
    for (int step = 0; step < 3; step++) {
        crd_trainer_begin(trainer);
        for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
            crd_loss loss;
            if (crd_trainer_add(trainer, b, c->input + b * REFERENCE_VOXELS, c->label + b * REFERENCE_VOXELS, 1e-4f,
                                &loss) != CRD_OK) {
                exit(1);
            }
        }
        if (crd_trainer_finish(trainer, 1e-6, 1e-3, kl) != CRD_OK) exit(1);
    }
    memcpy(result, crd_trainer_state_of(trainer)->parameters, bytes);
    crd_trainer_free(&trainer);
    return result;
}

/* The same steps by several trainers that share examples and parameters as processes do, without the messages. */
enum { MOST_RANKS = 5 };

static void exchange(crd_parcel parcel, int size, crd_trainer **trainers)
{
    for (int from = 0; from < size; from++) {
        const crd_part *part = crd_trainer_part(trainers[from]);
        float *values = malloc((size_t)crd_parcel_values(parcel, part) * sizeof *values + 1);
        if (values == NULL) exit(1);
        crd_parcel_pack(parcel, part, crd_trainer_posterior(trainers[from]), crd_trainer_state_of(trainers[from]),
                        values);
        for (int to = 0; to < size; to++) {
            if (to == from) continue;
            crd_parcel_unpack(parcel, part, values, crd_trainer_posterior(trainers[to]),
                              crd_trainer_state_of(trainers[to]));
        }
        free(values);
    }
}

static void share_a_step(const reference_case *c, int size, crd_trainer **trainers, float *gradients, double *kl)
{
    const int64_t values = crd_trainer_example_values(trainers[0]);
    for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
        crd_loss loss;
        if (crd_trainer_example(trainers[(int)b % size], b, c->input + b * REFERENCE_VOXELS,
                                c->label + b * REFERENCE_VOXELS, 1e-4f, gradients + b * values, &loss) != CRD_OK) {
            exit(1);
        }
    }
    for (int rank = 0; rank < size; rank++) {
        const crd_part *part = crd_trainer_part(trainers[rank]);
        crd_trainer_begin(trainers[rank]);
        for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
            crd_trainer_add_part(trainers[rank], b, gradients + b * values + part->points.begin);
        }
        if (crd_trainer_start(trainers[rank], 1e-6, 1e-3) != CRD_OK) exit(1);
    }
    exchange(CRD_PARCEL_STEP, size, trainers);
    for (int rank = 0; rank < size; rank++) {
        crd_trainer_joined(trainers[rank]);
        if (crd_trainer_wait(trainers[rank], &kl[rank]) != CRD_OK) exit(1);
    }
}

static void check_parts(const reference_case *c, crd_estimator estimator, int size, const float *expected,
                        double expected_kl)
{
    crd_trainer *trainers[MOST_RANKS] = {NULL};
    double kl[MOST_RANKS];
    const size_t bytes = (size_t)c->net.model.total * sizeof(float);
    int64_t place = 0, weight = 0;
    for (int rank = 0; rank < size; rank++) {
        const crd_trainer_plan plan = {.net = &c->net,
                                       .chunk = {16, 32, 24},
                                       .estimator = estimator,
                                       .prior_std = 1.0,
                                       .seed = 5,
                                       .threads = 1,
                                       .shared = true,
                                       .rank = rank,
                                       .size = size};
        if (crd_trainer_create(&plan, &trainers[rank]) != CRD_OK) exit(1);
        memcpy(crd_trainer_state_of(trainers[rank])->parameters, c->model, bytes);
        if (crd_trainer_parameters_changed(trainers[rank]) != CRD_OK) exit(1);
        const crd_part *part = crd_trainer_part(trainers[rank]);
        CHECK(part->points.begin == place && part->weights.begin == weight);
        place = part->points.end;
        weight = part->weights.end;
    }
    CHECK(place == c->net.point.total && weight == crd_trainer_posterior(trainers[0])->weights);
    float *gradients = malloc((size_t)(REFERENCE_BATCH * c->net.point.total) * sizeof *gradients);
    if (gradients == NULL) exit(1);
    for (int step = 0; step < 3; step++) share_a_step(c, size, trainers, gradients, kl);
    exchange(CRD_PARCEL_PARAMETERS, size, trainers);
    exchange(CRD_PARCEL_M, size, trainers);
    exchange(CRD_PARCEL_V, size, trainers);
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
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
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
        for (int estimator = CRD_FLIPOUT; estimator <= CRD_INDEPENDENT; estimator++) {
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

TEST_MAIN(TEST(test_bcnn_steps), TEST(test_mcdn_steps), TEST(test_same_bytes_for_any_number_of_threads),
          TEST(test_same_bytes_for_any_number_of_parts))
