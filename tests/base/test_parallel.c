#include "base/memory.h"
#include "base/parallel.h"
#include "harness.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

typedef struct tally {
    int threads;
    atomic_int *calls;       /* per item */
    atomic_int wrong_worker; /* worker outside [0, threads), or used twice at once */
    atomic_int *inside;      /* per worker */
    int64_t *plain;          /* written without atomics: TSan sees a missing happens-before */
} tally;

static void count_item(void *context, int64_t item, int worker)
{
    tally *self = context;
    if (worker < 0 || worker >= self->threads) {
        atomic_fetch_add(&self->wrong_worker, 1);
        return;
    }
    if (atomic_fetch_add(&self->inside[worker], 1) != 0) atomic_fetch_add(&self->wrong_worker, 1);
    atomic_fetch_add(&self->calls[item], 1);
    self->plain[item] += item + 1;
    atomic_fetch_sub(&self->inside[worker], 1);
}

enum { MOST = 1000, REPEATS = 300 };

static void test_every_item_runs_once(void)
{
    static const int thread_counts[] = {1, 2, 3, 7, 16};
    static const int64_t item_counts[] = {0, 1, 2, 3, 15, 16, 17, MOST};
    for (size_t t = 0; t < sizeof thread_counts / sizeof thread_counts[0]; t++) {
        crd_pool *pool = NULL;
        CHECK_OK(crd_pool_create(thread_counts[t], &pool));
        CHECK(crd_pool_threads(pool) == thread_counts[t]);
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            static atomic_int calls[MOST], inside[16];
            static int64_t plain[MOST];
            tally self = {.threads = thread_counts[t], .calls = calls, .inside = inside, .plain = plain};
            const int64_t count = item_counts[(size_t)repeat % (sizeof item_counts / sizeof item_counts[0])];
            for (int64_t i = 0; i < MOST; i++) atomic_store(&calls[i], 0);
            memset(plain, 0, sizeof plain);
            crd_pool_run(pool, count, count_item, &self);
            crd_pool_run(pool, count, count_item, &self);
            CHECK(atomic_load(&self.wrong_worker) == 0);
            for (int64_t i = 0; i < MOST; i++) {
                CHECK(atomic_load(&calls[i]) == (i < count ? 2 : 0));
                CHECK(plain[i] == (i < count ? 2 * (i + 1) : 0));
            }
        }
        crd_pool_free(&pool);
        CHECK(pool == NULL);
    }
}

static void note_order(void *context, int64_t item, int worker)
{
    int64_t *last = context; /* one per worker */
    last[worker] = item > last[worker] ? item : INT64_MAX;
}

static void test_items_rise_on_each_worker(void)
{
    crd_pool *pool = NULL;
    int64_t last[3] = {-1, -1, -1};
    CHECK_OK(crd_pool_create(3, &pool));
    crd_pool_run(pool, 5000, note_order, last);
    for (int i = 0; i < 3; i++) CHECK(last[i] < 5000);
    crd_pool_free(&pool);
}

static void sleep_a_little(void *context, int64_t item, int worker)
{
    const struct timespec pause = {.tv_nsec = 3000000};
    (void)item;
    (void)worker;
    nanosleep(&pause, NULL);
    atomic_fetch_add((atomic_int *)context, 1);
}

/* Items longer than the spinning, and pauses longer than it between the jobs: both sides really sleep. */
static void test_sleeping_workers_wake(void)
{
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(4, &pool));
    for (int repeat = 0; repeat < 10; repeat++) {
        atomic_int finished = 0;
        const struct timespec pause = {.tv_nsec = 5000000};
        crd_pool_run(pool, 7, sleep_a_little, &finished);
        CHECK(atomic_load(&finished) == 7);
        nanosleep(&pause, NULL);
    }
    crd_pool_free(&pool);
}

/* 8 items of 3 ms that only sleep take 6 ms on four workers and 24 ms on one, on any number of cores. */
static void test_items_run_at_the_same_time(void)
{
    crd_pool *pool = NULL;
    double best = 1;
    CHECK_OK(crd_pool_create(4, &pool));
    for (int repeat = 0; repeat < 20 && best > 0.018; repeat++) {
        atomic_int finished = 0;
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        crd_pool_run(pool, 8, sleep_a_little, &finished);
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
        if (seconds < best) best = seconds;
    }
    CHECK(best <= 0.018);
    crd_pool_free(&pool);
}

typedef struct caller {
    crd_pool *pool;
    int64_t sum; /* one plain variable per caller: a job of another caller must not touch it */
    int64_t parts[64];
} caller;

static void add_part(void *context, int64_t item, int worker)
{
    caller *self = context;
    (void)worker;
    self->parts[item] = item + 1;
}

static void *call_often(void *argument)
{
    caller *self = argument;
    for (int repeat = 0; repeat < 200; repeat++) {
        memset(self->parts, 0, sizeof self->parts);
        crd_pool_run(self->pool, 64, add_part, self);
        for (int i = 0; i < 64; i++) self->sum += self->parts[i];
    }
    return NULL;
}

static void test_several_callers_take_turns(void)
{
    crd_pool *pool = NULL;
    caller callers[3];
    pthread_t threads[3];
    CHECK_OK(crd_pool_create(3, &pool));
    for (int i = 0; i < 3; i++) {
        callers[i] = (caller){.pool = pool};
        CHECK(pthread_create(&threads[i], NULL, call_often, &callers[i]) == 0);
    }
    for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 3; i++) CHECK(callers[i].sum == 200 * (64 * 65 / 2));
    crd_pool_free(&pool);
}

static void test_default_follows_the_affinity_mask(void)
{
    cpu_set_t before, one;
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(0, &pool));
    CHECK(crd_pool_threads(pool) == CPU_COUNT(&before));
    crd_pool_free(&pool);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &before)) continue;
        CPU_SET(i, &one);
        break;
    }
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    const crd_status status = crd_pool_create(0, &pool);
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
    CHECK(status == CRD_OK);
    CHECK(crd_pool_threads(pool) == 1);
    crd_pool_free(&pool);
}

static void note_signal_mask(void *context, int64_t item, int worker)
{
    atomic_int *open = context;
    atomic_int ignored = 0;
    sigset_t mask;
    (void)item;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    /* ... but not those of its own faults, which a debugger or a sanitizer waits for. */
    if (worker > 0 && (!sigismember(&mask, SIGINT) || sigismember(&mask, SIGSEGV))) atomic_fetch_add(open, 1);
    sleep_a_little(&ignored, 0, 0);
}

static void test_workers_leave_signals_to_the_program(void)
{
    crd_pool *pool = NULL;
    atomic_int open = 0;
    sigset_t mask;
    CHECK_OK(crd_pool_create(4, &pool));
    crd_pool_run(pool, 16, note_signal_mask, &open);
    CHECK(atomic_load(&open) == 0);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK(!sigismember(&mask, SIGINT));
    crd_pool_free(&pool);
}

static void test_wrong_counts_are_refused(void)
{
    crd_pool *pool = NULL;
    CHECK_FAILS(crd_pool_create(-1, &pool), CRD_ERR_ARGUMENT, "between 0 and");
    CHECK_FAILS(crd_pool_create(1 << 20, &pool), CRD_ERR_ARGUMENT, "not 1048576");
    CHECK(pool == NULL);
    crd_pool_free(&pool);
}

TEST_MAIN(TEST(test_every_item_runs_once), TEST(test_items_rise_on_each_worker), TEST(test_sleeping_workers_wake),
          TEST(test_items_run_at_the_same_time), TEST(test_several_callers_take_turns),
          TEST(test_default_follows_the_affinity_mask), TEST(test_workers_leave_signals_to_the_program),
          TEST(test_wrong_counts_are_refused))
