/* Steps of training against the reference numbers, and the same bytes for any number of threads. */
#include "harness.h"
#include "reference_data.h"
#include "train/trainer.h"

/* Adam's first steps are lr * sign(gradient): a gradient that is nearly 0 may fall either way in float32, and from the
 * third loss on the instruction paths differ among themselves by up to 1.2e-2. The same steps in double, in
 * test_reference_net.c, agree within 1e-6 throughout. */
static const double allowed[REFERENCE_ADAM_STEPS] = {1e-6, 1e-4, 2e-2, 2e-2, 2e-2, 2e-2};

static void check_adam_steps(crd_kind kind)
{
    const reference_case *c = reference_load(kind);
    crd_trainer *trainer = NULL;
    const crd_trainer_plan plan = {
        .net = &c->net, .chunk = {16, 32, 24}, .estimator = CRD_MEAN, .prior_std = 1.0, .threads = 2};
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

static void test_bcnn_steps(void)
{
    check_adam_steps(CRD_BCNN);
}

static void test_mcdn_steps(void)
{
    check_adam_steps(CRD_MCDN);
}

/* Three noisy steps; the parameters afterwards. */
static float *train_a_little(const reference_case *c, crd_estimator estimator, int threads)
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
        double kl;
        crd_trainer_begin(trainer);
        for (uint32_t b = 0; b < REFERENCE_BATCH; b++) {
            crd_loss loss;
            if (crd_trainer_add(trainer, b, c->input + b * REFERENCE_VOXELS, c->label + b * REFERENCE_VOXELS, 1e-4f,
                                &loss) != CRD_OK) {
                exit(1);
            }
        }
        if (crd_trainer_finish(trainer, 1e-6, 1e-3, &kl) != CRD_OK) exit(1);
    }
    memcpy(result, crd_trainer_state_of(trainer)->parameters, bytes);
    crd_trainer_free(&trainer);
    return result;
}

static void test_same_bytes_for_any_number_of_threads(void)
{
    static const crd_kind kinds[] = {CRD_BCNN, CRD_MCDN};
    for (int k = 0; k < 2; k++) {
        const reference_case *c = reference_load(kinds[k]);
        for (int estimator = CRD_FLIPOUT; estimator <= CRD_INDEPENDENT; estimator++) {
            float *one = train_a_little(c, (crd_estimator)estimator, 1);
            float *two = train_a_little(c, (crd_estimator)estimator, 2);
            float *five = train_a_little(c, (crd_estimator)estimator, 5);
            CHECK(memcmp(one, two, (size_t)c->net.model.total * sizeof(float)) == 0);
            CHECK(memcmp(one, five, (size_t)c->net.model.total * sizeof(float)) == 0);
            CHECK(memcmp(one, c->model, (size_t)c->net.model.total * sizeof(float)) != 0);
            free(one);
            free(two);
            free(five);
        }
    }
}

TEST_MAIN(TEST(test_bcnn_steps), TEST(test_mcdn_steps), TEST(test_same_bytes_for_any_number_of_threads))
