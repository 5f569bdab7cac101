/* Threads that work ahead or behind (base/queue.h): order, errors, stopping at any moment. */
#include "base/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "harness.h"

enum { SLOTS = 4, MOST_THREADS = 6, NEVER = -10 };

/* What the threads see; each item leaves its square in its slot. */
typedef struct scene {
    int64_t slots[SLOTS];
    int64_t fails_at[2]; /* items that do, with a sentence that names them */
    int slow;            /* microseconds that item 0 takes */
    bool refuses;        /* thread 1 can't begin */
    atomic_int begun;    /* threads */
    atomic_llong done;   /* items */
} scene;

static crd_status begin(void *context, int thread)
{
    scene *s = context;
    if (s->refuses && thread == 1) return crd_fail(CRD_ERR_FORMAT, "thread 1 doesn't like it");
    atomic_fetch_add(&s->begun, 1);
    return CRD_OK;
}

static crd_status work(void *context, int64_t item, int thread)
{
    scene *s = context;
    (void)thread;
    if (item == 0 && s->slow > 0) usleep((unsigned)s->slow);
    if (item == s->fails_at[0] || item == s->fails_at[1]) {
        /* The later one comes first. */
        if (item == s->fails_at[0]) usleep(2000);
        return crd_fail(CRD_ERR_NUMERIC, "item %lld is bad", (long long)item);
    }
    s->slots[item % SLOTS] = item * item;
    atomic_fetch_add(&s->done, 1);
    return CRD_OK;
}

static scene fresh(void)
{
    return (scene){.fails_at = {NEVER, NEVER}};
}

static crd_status open_queue(scene *s, int threads, crd_queue **out)
{
    const crd_queue_plan plan = {
        .what = "works for a test", .threads = threads, .context = s, .begin = begin, .work = work};
    return crd_queue_open(&plan, out);
}

/* Read ahead: as many as there are slots, one of which is the caller's own. Nothing is lost or overwritten. */
static void test_ahead(void)
{
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        scene s = fresh();
        crd_queue *queue = NULL;
        CHECK_OK(open_queue(&s, threads, &queue));
        CHECK(atomic_load(&s.begun) == threads);
        for (int64_t n = 0; n < 5000; n++) {
            crd_queue_allow(queue, n + SLOTS);
            CHECK_OK(crd_queue_wait(queue, n + 1));
            CHECK(s.slots[n % SLOTS] == n * n);
            if (harness_failed) break;
        }
        crd_queue_close(&queue);
        CHECK(queue == NULL && atomic_load(&s.done) >= 5000);
    }
}

/* Write behind: what was filled in before an item was allowed is what its thread sees. */
static crd_status add_up(void *context, int64_t item, int thread)
{
    int64_t *values = context;
    (void)thread;
    values[SLOTS] += values[item % SLOTS];
    return CRD_OK;
}

static void test_behind(void)
{
    enum { ITEMS = 5000 };
    int64_t values[SLOTS + 1] = {0};
    crd_queue *queue = NULL;
    const crd_queue_plan plan = {.what = "adds up", .threads = 1, .context = values, .work = add_up};
    CHECK_OK(crd_queue_open(&plan, &queue));
    for (int64_t n = 0; n < ITEMS; n++) {
        if (n >= SLOTS) CHECK_OK(crd_queue_wait(queue, n - SLOTS + 1));
        values[n % SLOTS] = n;
        crd_queue_allow(queue, n + 1);
    }
    CHECK_OK(crd_queue_wait(queue, ITEMS));
    CHECK(values[SLOTS] == (int64_t)ITEMS * (ITEMS - 1) / 2);
    crd_queue_close(&queue);
}

/* Of two that fail the first counts, whichever comes first; what lies before it is good, and so is asking again. */
static void test_errors_come_in_order(void)
{
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        scene s = fresh();
        crd_queue *queue = NULL;
        s.fails_at[0] = 6;
        s.fails_at[1] = 7;
        CHECK_OK(open_queue(&s, threads, &queue));
        crd_queue_allow(queue, 4);
        CHECK_OK(crd_queue_wait(queue, 4));
        crd_queue_allow(queue, 8);
        for (int i = 0; i < 2; i++) CHECK_FAILS(crd_queue_wait(queue, 8), CRD_ERR_NUMERIC, "item 6 is bad");
        CHECK_OK(crd_queue_wait(queue, 6));
        CHECK(s.slots[5 % SLOTS] == 25);
        crd_queue_allow(queue, 100);
        CHECK_FAILS(crd_queue_wait(queue, 100), CRD_ERR_NUMERIC, "item 6 is bad");
        crd_queue_close(&queue);
        CHECK(atomic_load(&s.done) == 6);
    }
}

static void test_a_thread_that_cannot_begin(void)
{
    scene s = fresh();
    crd_queue *queue = NULL;
    s.refuses = true;
    CHECK_FAILS(open_queue(&s, 3, &queue), CRD_ERR_FORMAT, "thread 1 doesn't like it");
    CHECK(queue == NULL);
}

/* Closed while threads wait, while they work, and before they were allowed anything. */
static void test_stopping(void)
{
    for (int round = 0; round < 60; round++) {
        scene s = fresh();
        crd_queue *queue = NULL;
        s.slow = round % 3 == 0 ? 300 : 0;
        CHECK_OK(open_queue(&s, 1 + round % MOST_THREADS, &queue));
        if (round > 0) crd_queue_allow(queue, round % 5);
        if (round % 4 == 0) usleep(200);
        crd_queue_close(&queue);
        CHECK(atomic_load(&s.done) <= round % 5);
    }
    crd_queue *none = NULL;
    crd_queue_close(&none);
}

static void test_waiting_a_while(void)
{
    scene s = fresh();
    crd_queue *queue = NULL;
    s.slow = 200000;
    CHECK_OK(open_queue(&s, 1, &queue));
    crd_queue_allow(queue, 1);
    CHECK(!crd_queue_wait_a_while(queue, 1, 1));
    CHECK(crd_queue_wait_a_while(queue, 1, 600000));
    CHECK(atomic_load(&s.done) == 1);
    crd_queue_close(&queue);
}

/* No machine has room for such a stack. */
static void set_stack(size_t bytes)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (bytes > 0) pthread_attr_setstacksize(&attributes, bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

static crd_status forbid_more(void *context, int thread)
{
    if (thread == 0) set_stack((size_t)1 << 46);
    return begin(context, thread);
}

static void test_threads_that_cannot_be_started(void)
{
    scene s = fresh();
    crd_queue *queue = NULL;
    pthread_attr_t usual;
    size_t bytes = 0;
    CHECK(pthread_getattr_default_np(&usual) == 0 && pthread_attr_getstacksize(&usual, &bytes) == 0);
    pthread_attr_destroy(&usual);
    set_stack((size_t)1 << 46);
    CHECK_FAILS(open_queue(&s, 2, &queue), CRD_ERR_SYSTEM, "can't start a thread that works for a test");
    CHECK(queue == NULL);
    set_stack(bytes);

    /* In the midst of starting them, as a rule. */
    const crd_queue_plan plan = {
        .what = "works for a test", .threads = 64, .context = &s, .begin = forbid_more, .work = work};
    if (crd_queue_open(&plan, &queue) != CRD_OK) CHECK(queue == NULL);
    set_stack(bytes);
    crd_queue_close(&queue);
    CHECK_OK(open_queue(&s, 2, &queue));
    crd_queue_close(&queue);
}

TEST_MAIN(TEST(test_ahead), TEST(test_behind), TEST(test_errors_come_in_order), TEST(test_a_thread_that_cannot_begin),
          TEST(test_stopping), TEST(test_waiting_a_while), TEST(test_threads_that_cannot_be_started))
