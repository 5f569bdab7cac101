/* What a training on the GPU asks of itself between steps: chunks to check on that stay on the device, samples of the
 * weights as they are, sums over the weights. Skipped where there is no GPU. */
#include "bayes/posterior.h"
#include "train_tools.h"

static const train_case cases[] = {{CRD_BCNN, 16, {16, 24, 16}, 3, CRD_FLIPOUT, "bf16", 0, {0}},
                                   {CRD_MCDN, 16, {16, 24, 16}, 3, CRD_FLIPOUT, "fp16", 0, {0}},
                                   {CRD_BCNN, 8, {16, 16, 16}, 3, CRD_INDEPENDENT, "f32", 3, {0}}};

static crd_status step(crd_trainer *trainer, const train_case *c, const material *m)
{
    crd_loss losses[MOST_BATCH];
    double kl;
    return take_step(trainer, c, m, 1.0 / (double)m->labelled, 1e-6, 1e-3, losses, &kl);
}

static bool same_loss(const crd_loss *a, const crd_loss *b)
{
    return a->bce_sum == b->bce_sum && a->labelled == b->labelled && a->correct == b->correct;
}

/* A kept chunk, one that comes again, and one that is evaluated alone: the same loss, of the weights as they are. */
static void test_checks(void)
{
    if (!have_gpu()) SKIP("no GPU");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0] && !harness_failed; k++) {
        const train_case *c = &cases[k];
        crd_model *model = NULL;
        crd_trainer *trainer = NULL;
        crd_loss before[MOST_BATCH];
        CHECK_OK(make_model(c, &model));
        material m = make_material(c, 1);
        CHECK_OK(make_trainer(c, model, "cuda", 0, &trainer));
        CHECK(!crd_trainer_keeps(trainer, 0));
        for (int round = 0; round < 3; round++) { /* 0: they come up; 1: they stay; 2: after two steps */
            crd_loss checked[MOST_BATCH], alone;
            if (round == 2) CHECK_OK(step(trainer, c, &m));
            if (round == 2) CHECK_OK(step(trainer, c, &m));
            for (int64_t i = 0; i < c->batch; i++) {
                const bool up = round == 0;
                CHECK_OK(crd_trainer_check(trainer, i, up ? m.input + i * m.voxels : NULL,
                                           up ? m.label + i * m.voxels : NULL, &checked[i]));
                CHECK(crd_trainer_keeps(trainer, i));
            }
            CHECK_OK(crd_trainer_checked(trainer));
            for (int64_t i = 0; i < c->batch; i++) {
                CHECK_OK(crd_trainer_evaluate(trainer, m.input + i * m.voxels, m.label + i * m.voxels, &alone));
                CHECK(same_loss(&checked[i], &alone) && checked[i].labelled > 0);
                if (round == 1) CHECK(same_loss(&checked[i], &before[i]));
                if (round == 2) CHECK(checked[i].bce_sum != before[i].bce_sum);
                before[i] = checked[i];
            }
        }
        crd_trainer_free(&trainer);
        drop_material(&m);
        crd_model_free(&model);
    }
}

enum { SAMPLES = 4 };

static float *samples_of(crd_trainer *trainer, const material *m)
{
    const int64_t values = m->voxels * crd_trainer_planes(trainer);
    float *all = malloc((size_t)(SAMPLES * values) * sizeof *all);
    must(crd_trainer_draw_samples(trainer, SAMPLES));
    for (int again = 0; again < 3; again++)
        must(crd_trainer_encode(trainer, m->input)); /* from the second on a graph */
    for (int64_t s = 0; s < SAMPLES; s++) crd_trainer_decode(trainer, s, all + s * values);
    return all;
}

/* Samples that are drawn again after a step are those of a trainer that begins with these weights. */
static void test_samples_follow_the_weights(void)
{
    if (!have_gpu()) SKIP("no GPU");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0] && !harness_failed; k++) {
        const train_case *c = &cases[k];
        crd_model *model = NULL;
        crd_trainer *trainer = NULL, *other = NULL;
        CHECK_OK(make_model(c, &model));
        material m = make_material(c, 1);
        CHECK_OK(make_trainer(c, model, "cuda", 0, &trainer));
        float *first = samples_of(trainer, &m);
        CHECK_OK(step(trainer, c, &m));
        float *later = samples_of(trainer, &m);
        CHECK_OK(crd_trainer_fetch(trainer, true));
        memcpy(model->parameters, crd_trainer_state_of(trainer)->parameters,
               (size_t)model->net.model.total * sizeof(float));
        CHECK_OK(make_trainer(c, model, "cuda", 0, &other));
        float *expected = samples_of(other, &m);
        const size_t bytes = (size_t)(SAMPLES * m.voxels * crd_trainer_planes(trainer)) * sizeof(float);
        CHECK(memcmp(later, expected, bytes) == 0);
        CHECK(memcmp(later, first, bytes) != 0);
        free(first);
        free(later);
        free(expected);
        crd_trainer_free(&trainer);
        crd_trainer_free(&other);
        drop_material(&m);
        crd_model_free(&model);
    }
}

/* The sums that the GPU makes, in another order than the CPU's. */
static void test_summary(void)
{
    if (!have_gpu()) SKIP("no GPU");
    const train_case *c = &cases[0];
    crd_model *model = NULL;
    crd_trainer *trainers[2] = {NULL, NULL};
    crd_posterior_summary s[2];
    CHECK_OK(make_model(c, &model));
    for (int64_t i = 0; i < model->net.model.total; i += 3) model->parameters[i] *= 1.5f;
    for (int k = 0; k < 2; k++) {
        CHECK_OK(make_trainer(c, model, k == 0 ? "portable" : "cuda", 0, &trainers[k]));
        CHECK_OK(crd_trainer_summarise(trainers[k], &s[k]));
    }
    CHECK_NEAR(s[1].mean_sigma, s[0].mean_sigma, 1e-9);
    CHECK_NEAR(s[1].certain_share, s[0].certain_share, 1e-12);
    CHECK(s[0].mean_sigma > 0);
    for (int k = 0; k < 2; k++) crd_trainer_free(&trainers[k]);
    crd_model_free(&model);
}

TEST_MAIN(TEST(test_checks), TEST(test_samples_follow_the_weights), TEST(test_summary))
