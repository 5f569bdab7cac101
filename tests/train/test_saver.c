/* States that a thread saves: the newest of each kind, the best before a checkpoint that may speak of it, and what
 * can't be written is told to the next that asks. */
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "harness.h"
#include "train/saver.h"
#include "volume_tools.h"

typedef struct place {
    crd_model *model;
    crd_train_log *log;
    crd_trainer_state state;
    char best[600], checkpoint[600];
} place;

static const crd_train_identity identity = {
    .settings = "{}", .isa = "portable", .batches = 3, .data = 7, .init = "none"};

static void open_place(const char *name, place *p)
{
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 4, .groups = 4};
    const int64_t none = 0;
    double seconds;
    memset(p, 0, sizeof *p);
    snprintf(p->best, sizeof p->best, "%s-best.h5", scratch(name));
    snprintf(p->checkpoint, sizeof p->checkpoint, "%s-ckpt.h5", scratch(name));
    CHECK_OK(crd_model_create(&info, 3, &p->model));
    CHECK_OK(crd_log_open(scratch("log.jsonl"), 1, &none, NULL, NULL, &p->log, &seconds));
    p->state.count = p->model->net.model.total;
    float *values = malloc((size_t)(3 * p->state.count) * sizeof *values);
    CHECK(values != NULL);
    p->state.parameters = values;
    p->state.m = values + p->state.count;
    p->state.v = values + 2 * p->state.count;
}

static void close_place(place *p)
{
    crd_log_close(&p->log);
    crd_model_free(&p->model);
    free(p->state.parameters);
}

static crd_saver_plan plan_of(const place *p)
{
    return (crd_saver_plan){.model = p->model,
                            .best_path = p->best,
                            .checkpoint_path = p->checkpoint,
                            .identity = &identity,
                            .log = p->log};
}

/* All numbers of a state say which it is. */
static void fill(place *p, int64_t number)
{
    for (int64_t i = 0; i < 3 * p->state.count; i++) p->state.parameters[i] = (float)number;
    p->state.steps = number;
}

static crd_train_progress progress_of(int64_t steps, int64_t best)
{
    return (crd_train_progress){.steps = steps, .best_epoch = best, .best_valid_bce = 1.0 / (double)(best + 1)};
}

/* Which one a file holds, all of it; -1: none, or a mixture. */
static int64_t number_of(const float *values, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (values[i] != values[0]) return -1;
    return (int64_t)values[0];
}

static int64_t best_on_disk(const place *p)
{
    crd_model *model = NULL;
    if (crd_model_load(p->best, &model) != CRD_OK) return -1;
    const int64_t number = number_of(model->parameters, model->net.model.total);
    crd_model_free(&model);
    return number;
}

static int64_t checkpoint_on_disk(const place *p, crd_train_progress *progress)
{
    crd_trainer_state state = p->state;
    if (crd_checkpoint_load(p->checkpoint, &identity, p->model, &state, progress) != CRD_OK) return -1;
    const int64_t number = number_of(state.parameters, 3 * state.count);
    return state.steps == number ? number : -1;
}

static void test_newest_of_each(void)
{
    place p;
    crd_saver *saver = NULL;
    crd_train_progress progress;
    open_place("newest", &p);
    const crd_saver_plan plan = plan_of(&p);
    CHECK_OK(crd_saver_open(&plan, &saver));
    CHECK_OK(crd_saver_wait(saver)); /* nothing to wait for */
    for (int64_t i = 1; i <= 60; i++) {
        fill(&p, i);
        if (i % 3 == 0) CHECK_OK(crd_saver_best(saver, p.state.parameters));
        const crd_train_progress now = progress_of(i, i / 3 * 3);
        CHECK_OK(crd_saver_checkpoint(saver, &p.state, &now));
        if (i % 20 != 0) continue;
        CHECK_OK(crd_saver_wait(saver));
        CHECK(best_on_disk(&p) == i / 3 * 3);
        CHECK(checkpoint_on_disk(&p, &progress) == i && progress.steps == i && progress.best_epoch == i / 3 * 3);
    }
    fill(&p, 99);
    CHECK_OK(crd_saver_best(saver, p.state.parameters));
    crd_saver_close(&saver); /* writes what waits */
    CHECK(best_on_disk(&p) == 99);
    CHECK(saver == NULL);
    close_place(&p);
}

/* A kill at any moment: both files are whole, and the best state isn't older than the checkpoint says. */
static void test_killed(void)
{
    enum { KILLS = 12, PATIENCE = 2000 };
    for (int k = 0; k < KILLS && !harness_failed; k++) {
        place p;
        char name[32];
        crd_train_progress progress;
        snprintf(name, sizeof name, "killed%d", k);
        open_place(name, &p);
        fflush(stdout);
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            crd_saver *saver = NULL;
            const crd_saver_plan plan = plan_of(&p);
            if (crd_saver_open(&plan, &saver) != CRD_OK) _exit(1);
            for (int64_t i = 1;; i++) {
                fill(&p, i);
                const crd_train_progress now = progress_of(i, i);
                if (crd_saver_best(saver, p.state.parameters) != CRD_OK) _exit(1);
                if (crd_saver_checkpoint(saver, &p.state, &now) != CRD_OK) _exit(1);
                usleep((useconds_t)(i * 7 % 5) * 300);
            }
        }
        for (int i = 0; i < PATIENCE && access(p.checkpoint, F_OK) != 0; i++) usleep(10000);
        usleep(7000 * (useconds_t)k);
        int status;
        CHECK(kill(child, SIGKILL) == 0);
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        const int64_t number = checkpoint_on_disk(&p, &progress);
        CHECK(number > 0 && progress.best_epoch == number);
        CHECK(best_on_disk(&p) >= number);
        close_place(&p);
    }
}

static void test_failures(void)
{
    place p;
    crd_saver *saver = NULL;
    open_place("failures", &p);
    const crd_saver_plan plan = plan_of(&p);
    const crd_train_progress progress = progress_of(1, 1);
    CHECK_OK(crd_saver_open(&plan, &saver));
    fill(&p, 1);
    CHECK(mkdir(p.best, 0777) == 0); /* in the way of the file */
    CHECK_OK(crd_saver_best(saver, p.state.parameters));
    CHECK_FAILS(crd_saver_wait(saver), CRD_ERR_SYSTEM, "best.h5");
    CHECK_FAILS(crd_saver_look(saver), CRD_ERR_SYSTEM, "best.h5");
    CHECK_FAILS(crd_saver_checkpoint(saver, &p.state, &progress), CRD_ERR_SYSTEM, "best.h5");
    CHECK(access(p.checkpoint, F_OK) != 0); /* it would speak of a best state that isn't there */
    (void)crd_fail(CRD_ERR_CANCELLED, "another reason to end");
    crd_saver_close(&saver);
    CHECK(strstr(crd_last_error()->message, "another reason") != NULL);

    CHECK_OK(crd_saver_open(&plan, &saver)); /* numbers that aren't finite are never saved */
    CHECK(rmdir(p.best) == 0);
    p.state.parameters[5] = NAN;
    CHECK_OK(crd_saver_checkpoint(saver, &p.state, &progress));
    CHECK(crd_saver_wait(saver) != CRD_OK);
    CHECK(access(p.checkpoint, F_OK) != 0);
    crd_saver_close(&saver);
    close_place(&p);
}

TEST_MAIN(TEST(test_newest_of_each), TEST(test_killed), TEST(test_failures))
