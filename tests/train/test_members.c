/* Members of an ensemble side by side, on the CPU: the same weights as one after the other, messages in the caller's
 * thread alone, and one end for all. */
#include <pthread.h>
#include <unistd.h>

#include "members_tools.h"

static void test_side_by_side(void)
{
    static const char *const kinds[] = {"bcnn", "mcdn"};
    for (int kind = 0; kind < 2; kind += sparse(2, "dropout")) {
        float *in_turn = NULL, *together = NULL;
        int64_t count, other;
        pool_case c = {.output = "turn.h5",
                       .kind = kinds[kind],
                       .device = "cpu",
                       .precision = "f32",
                       .filters = "4",
                       .at_once = 1};
        CHECK_OK(save_scan());
        CHECK_OK(train_pool(&c, &in_turn, &count));
        c.output = "together.h5";
        c.at_once = 2; /* the third begins where one ends */
        CHECK_OK(train_pool(&c, &together, &other));
        CHECK(count == other && memcmp(in_turn, together, (size_t)count * sizeof *in_turn) == 0);
        CHECK(memcmp(in_turn, in_turn + count / MEMBERS, (size_t)(count / MEMBERS) * sizeof *in_turn) != 0);
        free(in_turn);
        free(together);
    }
}

/* What a caller hears. */
typedef struct hearing {
    pthread_t caller;
    bool elsewhere; /* something was said in another thread */
    int64_t last, total, members, steps;
    int64_t stop_at; /* 0: never */
} hearing;

static void hear(void *context, crd_level level, const char *text)
{
    hearing *h = context;
    (void)level;
    h->elsewhere |= !pthread_equal(h->caller, pthread_self());
    if (strncmp(text, "member ", 7) == 0 && strstr(text, " of 3: epoch") != NULL) h->members++;
}

static bool watch_progress(void *context, const crd_progress *progress)
{
    hearing *h = context;
    h->elsewhere |= !pthread_equal(h->caller, pthread_self());
    if (strcmp(progress->stage, "training") != 0) return true;
    h->total = progress->total;
    h->last = progress->done;
    return h->stop_at == 0 || progress->done < h->stop_at;
}

static void test_monitor(void)
{
    hearing h = {.caller = pthread_self()};
    const crd_monitor monitor = {.context = &h, .message = hear, .progress = watch_progress};
    const pool_case c = {.output = "heard.h5",
                         .kind = "bcnn",
                         .device = "cpu",
                         .precision = "f32",
                         .filters = "4",
                         .at_once = MEMBERS,
                         .monitor = &monitor};
    float *parameters = NULL;
    int64_t count;
    CHECK_OK(save_scan());
    CHECK_OK(train_pool(&c, &parameters, &count));
    CHECK(!h.elsewhere && h.total == MEMBERS * STEPS && h.last == h.total && h.members >= MEMBERS);
    free(parameters);
}

/* What is done with all members, when they are trained, counts no steps of theirs. */
static bool watch_whole(void *context, const crd_progress *progress)
{
    bool *const seen = context; /* the calibration; more done than there is */
    seen[0] |= strcmp(progress->stage, "calibrating") == 0;
    seen[1] |= progress->total > 0 && progress->done > progress->total;
    return true;
}

static void test_progress_of_the_whole(void)
{
    bool seen[2] = {false, false};
    const crd_monitor monitor = {.context = seen, .progress = watch_whole};
    const pool_case c = {
        .output = "whole.h5", .kind = "bcnn", .device = "cpu", .precision = "f32", .filters = "4", .at_once = 1};
    crd_train_options options;
    CHECK_OK(save_scan());
    CHECK_OK(set_pool(&c, &options));
    CHECK_OK(crd_train(&options, &monitor, NULL));
    CHECK(seen[0] && !seen[1]);
    crd_settings_clear(&crd_train_settings, &options);
}

/* A request to stop ends all of them; what is resumed, any number at a time, ends with the same weights. */
static void test_stop(void)
{
    hearing h = {.caller = pthread_self(), .stop_at = STEPS + 1};
    const crd_monitor monitor = {.context = &h, .message = hear, .progress = watch_progress};
    pool_case c = {
        .output = "whole.h5", .kind = "bcnn", .device = "cpu", .precision = "f32", .filters = "4", .at_once = 1};
    float *whole = NULL, *resumed = NULL;
    int64_t count, other;
    CHECK_OK(save_scan());
    CHECK_OK(train_pool(&c, &whole, &count));
    c.output = "stopped.h5";
    c.at_once = MEMBERS;
    c.monitor = &monitor;
    CHECK_FAILS(train_pool(&c, &resumed, &other), CRD_ERR_CANCELLED, "--resume goes on");
    CHECK(!h.elsewhere && access(scratch("stopped.0.ckpt.h5"), R_OK) == 0);
    c.monitor = NULL;
    c.resume = true;
    c.at_once = 2;
    CHECK_OK(train_pool(&c, &resumed, &other));
    CHECK(count == other && memcmp(whole, resumed, (size_t)count * sizeof *whole) == 0);
    free(whole);
    free(resumed);
}

/* One that fails ends the others, and its sentence is the one that comes out. */
static void test_failure(void)
{
    pool_case c = {
        .output = "broken.h5", .kind = "bcnn", .device = "cpu", .precision = "f32", .filters = "4", .at_once = MEMBERS};
    float *parameters = NULL;
    int64_t count;
    CHECK_OK(save_scan());
    CHECK_OK(train_pool(&c, &parameters, &count));
    free(parameters);
    CHECK(truncate(scratch("broken.2.ckpt.h5"), 3000) == 0);
    c.resume = true;
    CHECK_FAILS(train_pool(&c, &parameters, &count), CRD_ERR_FORMAT, "broken.2.ckpt.h5");
}

TEST_MAIN(TEST(test_side_by_side), TEST(test_monitor), TEST(test_progress_of_the_whole), TEST(test_stop),
          TEST(test_failure))
