/* A head that dies gets new weights: once, with the same bytes whatever the training is interrupted at, and never
 * without need. */
#include "base/file.h"
#include "members_tools.h"
#include "predict_tools.h"

enum { LONG = 16, DEAD_STEPS = 10 }; /* the head is dead from the first step on */

typedef struct course {
    int64_t stop_after; /* steps; 0: never */
    int warnings;       /* of a dead head */
} course;

static void hear(void *context, crd_level level, const char *text)
{
    course *c = context;
    c->warnings += level == CRD_LEVEL_WARNING && strstr(text, "dead at step 10") != NULL;
}

static bool go_on(void *context, const crd_progress *progress)
{
    const course *c = context;
    return c->stop_after == 0 || strcmp(progress->stage, "training") != 0 || progress->done != c->stop_after;
}

/* `init` NULL: the training's own weights. */
static crd_status train(const char *output, const char *kind, const char *members, const char *init, bool resume,
                        course *c)
{
    const crd_monitor monitor = {.context = c, .message = hear, .progress = go_on};
    const pool_case base = {
        .output = output, .kind = kind, .device = "cpu", .precision = "f32", .filters = "4", .resume = resume};
    crd_train_options options;
    char steps[16];
    snprintf(steps, sizeof steps, "%d", LONG);
    crd_status status = set_pool(&base, &options);
    if (status == CRD_OK) status = crd_settings_set(&crd_train_settings, &options, "members", members);
    if (status == CRD_OK) status = crd_settings_set(&crd_train_settings, &options, "max-steps", steps);
    if (status == CRD_OK) status = crd_settings_set(&crd_train_settings, &options, "keep", "last");
    if (status == CRD_OK && init != NULL)
        status = crd_settings_set(&crd_train_settings, &options, "init", scratch(init));
    if (status == CRD_OK) status = crd_train(&options, &monitor, NULL);
    crd_settings_clear(&crd_train_settings, &options);
    return status;
}

static void make_dead(const char *name, crd_kind kind)
{
    const crd_model_info info = {.kind = kind, .filters = 4};
    CHECK_OK(save_scan());
    CHECK_OK(tools_save_prepared(scratch(name), &info, 3, tools_kill_head));
}

/* Steps in the log after which a head was drawn anew, as text. */
static void redrawn_in(const char *log, char steps[64])
{
    char *text = NULL;
    size_t length = 0;
    steps[0] = '\0';
    CHECK_OK(crd_read_file(scratch(log), 1 << 20, &text, &length));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *step = strstr(line, "\"step\":");
        if (strstr(line, "\"head_redrawn\":true") == NULL || step == NULL) continue;
        const size_t used = strlen(steps);
        snprintf(steps + used, 64 - used, "%d ", atoi(step + 7));
    }
    free(text);
}

static void check_same_files(const char *a, const char *b)
{
    char *text[2] = {NULL, NULL}, name[64];
    size_t length[2];
    snprintf(name, sizeof name, "%s", scratch(a));
    CHECK_OK(crd_read_file(name, 1 << 26, &text[0], &length[0]));
    CHECK_OK(crd_read_file(scratch(b), 1 << 26, &text[1], &length[1]));
    CHECK(length[0] == length[1] && memcmp(text[0], text[1], length[0]) == 0);
    free(text[0]), free(text[1]);
}

static int64_t heads_of(const char *name)
{
    crd_model *model = NULL;
    if (crd_model_load(scratch(name), &model) != CRD_OK) return -1;
    const int64_t heads = crd_model_describe(model)->heads_redrawn;
    crd_model_free(&model);
    return heads;
}

/* Stopped before, at and after the step, and in between its epochs. */
static void test_any_interruption(void)
{
    static const int64_t stops[] = {DEAD_STEPS - 3, DEAD_STEPS - 1, DEAD_STEPS, DEAD_STEPS + 1};
    char steps[64];
    course whole = {0};
    make_dead("dead.h5", CRD_BCNN);
    CHECK_OK(train("whole.h5", "bcnn", "1", "dead.h5", false, &whole));
    redrawn_in("whole.log.jsonl", steps);
    CHECK(strcmp(steps, "10 ") == 0 && whole.warnings == 1);
    CHECK(heads_of("whole.h5") == 1);
    for (int i = 0; i < 4 && !harness_failed; i += sparse(2, "stops")) {
        course first = {.stop_after = stops[i]}, second = {0};
        CHECK_FAILS(train("stopped.h5", "bcnn", "1", "dead.h5", false, &first), CRD_ERR_CANCELLED, "--resume goes on");
        CHECK_OK(train("stopped.h5", "bcnn", "1", "dead.h5", true, &second));
        check_same_files("whole.h5", "stopped.h5");
        redrawn_in("stopped.log.jsonl", steps);
        CHECK(strcmp(steps, "10 ") == 0 && first.warnings + second.warnings == 1);
    }
}

/* The new head is alive and learns, and what it is drawn from differs from member to member. */
static void test_members_and_dropout(void)
{
    char steps[64];
    course c = {0};
    crd_model *model = NULL;
    make_dead("dead.h5", CRD_MCDN);
    CHECK_OK(train("pool.h5", "mcdn", "2", "dead.h5", false, &c));
    redrawn_in("pool.log.jsonl", steps);
    CHECK(strcmp(steps, "10 10 ") == 0 && c.warnings == 2);
    CHECK_OK(crd_model_load(scratch("pool.h5"), &model));
    const crd_net *net = &model->net;
    const int64_t head = net->model.kernel[net->head], bias = net->model.bias[net->head];
    const float *first = crd_model_member(model, 0), *second = crd_model_member(model, 1);
    CHECK(crd_model_describe(model)->heads_redrawn == 2);
    CHECK(memcmp(first + head, second + head, 27 * 4 * sizeof *first) != 0);
    CHECK(first[bias] > -1 && first[bias] != 0); /* from 0, six steps of Adam */
    CHECK(first[net->model.kernel[net->last]] < 0 && second[net->model.kernel[net->last]] < 0); /* few are foreground */
    crd_model_free(&model);
}

static void test_living_head_stays(void)
{
    char steps[64];
    course c = {0};
    CHECK_OK(save_scan());
    CHECK_OK(train("alive.h5", "bcnn", "1", NULL, false, &c));
    redrawn_in("alive.log.jsonl", steps);
    CHECK(steps[0] == '\0' && c.warnings == 0 && heads_of("alive.h5") == 0);
}

TEST_MAIN(TEST(test_any_interruption), TEST(test_members_and_dropout), TEST(test_living_head_stays))
