/* What training says when it goes wrong: each diagnosis where it is due, and none where it isn't. */
#include "harness.h"
#include "train/diagnosis.h"

static char said[2048];
static void listen(void *context, crd_level level, const char *text)
{
    (void)context;
    if (level != CRD_LEVEL_WARNING) return;
    const size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%s\n", text);
}
static const crd_monitor monitor = {.message = listen};
static const int64_t halves[CRD_CLASSES_MAX] = {500, 500};

static void test_labels(void)
{
    CHECK_OK(crd_diagnose_labels(halves, 3));
    CHECK_FAILS(crd_diagnose_labels(halves, 0), CRD_ERR_ARGUMENT, "no chunk of the scans holds a labelled voxel");
    CHECK_FAILS(crd_diagnose_labels((const int64_t[CRD_CLASSES_MAX]){0, 9}, 3), CRD_ERR_ARGUMENT,
                "all labelled voxels are foreground");
    CHECK_FAILS(crd_diagnose_labels((const int64_t[CRD_CLASSES_MAX]){9, 0}, 3), CRD_ERR_ARGUMENT,
                "all labelled voxels are background");
}

static void test_not_a_number(void)
{
    crd_train_progress progress = {.steps = 41};
    CHECK_OK(crd_diagnose_step(&progress, 42, 0.3, 1e6, false, "m.ckpt.h5"));
    CHECK_FAILS(crd_diagnose_step(&progress, 42, (double)NAN, 1e6, false, "m.ckpt.h5"), CRD_ERR_NUMERIC, "at step 42");
    CHECK(strstr(crd_last_error()->message, "m.ckpt.h5 is from before and intact") != NULL);
    CHECK_FAILS(crd_diagnose_step(&progress, 42, 0.3, (double)INFINITY, false, "m.ckpt.h5"), CRD_ERR_NUMERIC, "--lr");
    progress.steps = 0; /* there is no checkpoint yet */
    CHECK_FAILS(crd_diagnose_step(&progress, 1, (double)NAN, 1e6, false, "m.ckpt.h5"), CRD_ERR_NUMERIC, "at step 1;");
    CHECK(strstr(crd_last_error()->message, "ckpt") == NULL);
}

/* Dropout may silence the head for a step: ten in a row it takes. */
static void test_dead_head(void)
{
    crd_train_progress progress = {0};
    for (int step = 1; step <= 9; step++) CHECK_OK(crd_diagnose_step(&progress, step, 0.7, 0, true, "c"));
    CHECK_OK(crd_diagnose_step(&progress, 10, 0.7, 0, false, "c"));
    for (int step = 11; step <= 19; step++) CHECK_OK(crd_diagnose_step(&progress, step, 0.7, 0, true, "c"));
    CHECK(!crd_head_is_dead(&progress));
    CHECK_OK(crd_diagnose_step(&progress, 20, 0.7, 0, true, "c"));
    CHECK(crd_head_is_dead(&progress));
    said[0] = '\0';
    crd_diagnose_redraw(20, &monitor);
    CHECK(strstr(said, "dead at step 20: for 10 steps") != NULL && strstr(said, "new random weights") != NULL);
    progress = (crd_train_progress){.dead = 9, .redrawn = 5}; /* and no more often */
    CHECK_FAILS(crd_diagnose_step(&progress, 81, 0.7, 0, true, "c"), CRD_ERR_NUMERIC, "dead at step 81");
    CHECK(strstr(crd_last_error()->message, "new weights 5 times before") != NULL);
}

/* The end of an epoch of `steps` steps, with a validation. */
static void epoch(crd_train_progress *p, int64_t number, int64_t steps, double valid, double sigma)
{
    const crd_log_epoch line = {.valid_bce = valid, .mean_sigma = sigma};
    said[0] = '\0';
    p->steps += steps;
    p->epoch_steps = steps;
    crd_diagnose_epoch(p, number, 0.69, &line, halves, &monitor);
    p->last_valid_bce = valid;
}

static void test_nothing_learnt(void)
{
    crd_train_progress progress = {.last_valid_bce = (double)NAN};
    epoch(&progress, 1, 60, 0.692, (double)NAN);
    CHECK(said[0] == '\0'); /* too early to say */
    epoch(&progress, 2, 60, 0.691, (double)NAN);
    CHECK(strstr(said, "nothing learnt after 120 steps: the cross entropy on what is held back is 0.691") != NULL);
    CHECK(strstr(said, "gives 0.693") != NULL);
    epoch(&progress, 3, 60, 0.690, (double)NAN);
    CHECK(said[0] == '\0'); /* once */
    progress = (crd_train_progress){.last_valid_bce = (double)NAN};
    epoch(&progress, 1, 120, 0.4, (double)NAN);
    CHECK(said[0] == '\0');
    /* Without a validation the training's own loss counts. */
    progress = (crd_train_progress){0};
    epoch(&progress, 1, 120, (double)NAN, (double)NAN);
    CHECK(strstr(said, "the cross entropy in training is 0.690") != NULL);
}

static void test_rising_validation(void)
{
    crd_train_progress progress = {.last_valid_bce = (double)NAN};
    int64_t number = 1;
    epoch(&progress, number++, 500, 0.20, 0.1);
    for (int i = 0; i < 20; i++) { /* up and down by chance */
        epoch(&progress, number++, 500, i % 4 == 3 ? 0.21 : 0.23, 0.6);
        CHECK(said[0] == '\0');
    }
    for (int i = 0; i < 5; i++) {
        CHECK(said[0] == '\0');
        epoch(&progress, number++, 500, 0.23 + 0.01 * i, 0.6);
    }
    CHECK(strstr(said, "cross entropy there is 0.2700") != NULL);
    CHECK(strstr(said, "above that of epoch 1 (0.2000) for 5 epochs, while the weights drift to their prior (mean "
                       "sigma 0.60)") != NULL);
    CHECK(strstr(said, "--kl-temperature") != NULL);
    for (int i = 0; i < 10; i++) {
        epoch(&progress, number++, 500, 0.3, 0.7);
        CHECK(said[0] == '\0'); /* once */
    }
    epoch(&progress, number++, 500, 0.19, 0.7);
    /* With small sigmas, or none, it is no drift. */
    for (int i = 0; i < 5; i++) epoch(&progress, number++, 500, 0.25, (double)NAN);
    CHECK(strstr(said, "above that of epoch 37 (0.1900) for 5 epochs") != NULL);
    CHECK(strstr(said, "drift") == NULL);
}

static void test_calibration_at_its_end(void)
{
    said[0] = '\0';
    crd_diagnose_calibration(0.2, &monitor);
    crd_diagnose_calibration(4.0, &monitor);
    CHECK(said[0] == '\0');
    crd_diagnose_calibration(0.1000001, &monitor);
    CHECK(strstr(said, "far too timid") != NULL);
    crd_diagnose_calibration(9.9999, &monitor);
    CHECK(strstr(said, "far too sure of itself") != NULL);
}

/* A class that the mean over all of them hides. */
static void test_class_that_is_never_found(void)
{
    static crd_exam exam;
    crd_model_info info = {.classes = 3, .class_names = "pore,particle,binder"};
    exam.count = 2;
    exam.blocks[0].network[0][0] = exam.blocks[1].network[1][1] = 900;
    exam.blocks[0].network[2][0] = 63; /* too few to judge by */
    said[0] = '\0';
    crd_diagnose_classes(&exam, &info, &monitor);
    CHECK(said[0] == '\0');
    exam.blocks[1].network[2][1] = 60;
    exam.blocks[1].network[2][2] = 13; /* 13 of 136: below a tenth */
    crd_diagnose_classes(&exam, &info, &monitor);
    CHECK(strncmp(said, "class binder is hardly ever found: of its 136 voxels in the exam 9.6 % are; ", 76) == 0);
    exam.blocks[1].network[2][2] = 14;
    said[0] = '\0';
    crd_diagnose_classes(&exam, &info, &monitor);
    CHECK(said[0] == '\0');
    info.classes = 2; /* whose Dice hides nothing */
    exam.blocks[1].network[1][1] = 0;
    exam.blocks[1].network[1][0] = 900;
    crd_diagnose_classes(&exam, &info, &monitor);
    CHECK(said[0] == '\0');
}

TEST_MAIN(TEST(test_labels), TEST(test_not_a_number), TEST(test_dead_head), TEST(test_nothing_learnt),
          TEST(test_rising_validation), TEST(test_calibration_at_its_end), TEST(test_class_that_is_never_found))
