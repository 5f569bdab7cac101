#include "base/parallel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/thread.h"

/* One job at a time. The caller publishes it by opening the gate and bumping `sequence`; a worker that passes the open
 * gate works on the job until no item is left, then goes out again. When the items are used up the caller shuts the
 * gate and waits for those inside only: a worker that is still asleep is never waited for.
 *
 * Both sides spin for a moment before they sleep, because layers of a network follow each other within microseconds
 * and a wake-up through the kernel costs as much as a small layer. */
enum { MAX_THREADS = 4096, SPIN_ROUNDS = 2000, CACHE_LINE = 64 };
#define GATE_SHUT 0x40000000

typedef struct worker {
    crd_pool *pool;
    pthread_t thread;
    int index;
} worker;

struct crd_pool {
    int threads;
    int started; /* workers that run and must be joined */
    int spin_rounds;
    worker *workers;

    pthread_mutex_t turn; /* held by the caller whose job is running */
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* a new job, or the end */
    pthread_cond_t idle; /* the last worker left the job */

    crd_work *work;
    void *context;
    int64_t count;

    _Alignas(CACHE_LINE) atomic_int_fast64_t next; /* the item to hand out */
    _Alignas(CACHE_LINE) atomic_int gate;          /* workers inside, plus GATE_SHUT */
    _Alignas(CACHE_LINE) atomic_uint sequence;     /* counts jobs */
    _Alignas(CACHE_LINE) atomic_int sleepers;
    atomic_bool stop;
};

static inline void spin_once(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int crd_available_cores(void)
{
    /* The kernel refuses a mask that is too small for the machine, hence the growing size. */
    for (int cores = 1024; cores <= 1 << 20; cores *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cores);
        if (set == NULL) break;
        const size_t bytes = CPU_ALLOC_SIZE((size_t)cores);
        const int result = sched_getaffinity(0, bytes, set);
        const int count = result == 0 ? CPU_COUNT_S(bytes, set) : 0;
        const bool too_small = result != 0 && errno == EINVAL;
        CPU_FREE(set);
        if (count > 0) return count;
        if (!too_small) break;
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < MAX_THREADS ? (int)online : 1;
}

static void work_on_items(crd_pool *pool, int index)
{
    for (;;) {
        const int64_t item = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (item >= pool->count) return;
        pool->work(pool->context, item, index);
    }
}

static bool enter_gate(crd_pool *pool)
{
    int inside = atomic_load_explicit(&pool->gate, memory_order_relaxed);
    while ((inside & GATE_SHUT) == 0) {
        if (atomic_compare_exchange_weak_explicit(&pool->gate, &inside, inside + 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static void leave_gate(crd_pool *pool)
{
    if (atomic_fetch_sub_explicit(&pool->gate, 1, memory_order_acq_rel) - 1 != GATE_SHUT) return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_signal(&pool->idle);
    pthread_mutex_unlock(&pool->mutex);
}

/* Returns when there is a job that `seen` doesn't count, or the pool ends. */
static unsigned wait_for_job(crd_pool *pool, unsigned seen)
{
    for (int i = 0; i < pool->spin_rounds; i++) {
        if (atomic_load_explicit(&pool->sequence, memory_order_acquire) != seen) break;
        spin_once();
    }
    if (atomic_load(&pool->sequence) == seen) {
        pthread_mutex_lock(&pool->mutex);
        atomic_fetch_add(&pool->sleepers, 1);
        while (atomic_load(&pool->sequence) == seen) pthread_cond_wait(&pool->wake, &pool->mutex);
        atomic_fetch_sub(&pool->sleepers, 1);
        pthread_mutex_unlock(&pool->mutex);
    }
    return atomic_load(&pool->sequence);
}

static void *worker_main(void *argument)
{
    const worker *self = argument;
    crd_pool *pool = self->pool;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_job(pool, seen);
        if (atomic_load(&pool->stop)) return NULL;
        if (!enter_gate(pool)) continue;
        work_on_items(pool, self->index);
        leave_gate(pool);
    }
}

/* Bumps the sequence. A worker counts itself as a sleeper before it looks at the sequence for the last time, and here
 * the sequence changes before the sleepers are counted: one of the two always notices the other. */
static void announce(crd_pool *pool, int64_t wanted)
{
    atomic_fetch_add(&pool->sequence, 1);
    const int sleepers = atomic_load(&pool->sleepers);
    if (sleepers == 0) return;
    pthread_mutex_lock(&pool->mutex);
    if (wanted >= sleepers) {
        pthread_cond_broadcast(&pool->wake);
    } else {
        for (int64_t i = 0; i < wanted; i++) pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_until_empty(crd_pool *pool)
{
    for (int i = 0; i < pool->spin_rounds; i++) {
        if (atomic_load_explicit(&pool->gate, memory_order_acquire) == GATE_SHUT) return;
        spin_once();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->gate) != GATE_SHUT) pthread_cond_wait(&pool->idle, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void crd_pool_run(crd_pool *pool, int64_t count, crd_work *work, void *context)
{
    if (count <= 0) return;
    pthread_mutex_lock(&pool->turn);
    CRD_ASSERT(work != NULL);
    pool->work = work;
    pool->context = context;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    if (count == 1 || pool->threads == 1) {
        work_on_items(pool, 0);
    } else {
        atomic_store_explicit(&pool->gate, 0, memory_order_release);
        announce(pool, count - 1);
        work_on_items(pool, 0);
        atomic_fetch_or_explicit(&pool->gate, GATE_SHUT, memory_order_acq_rel);
        wait_until_empty(pool);
    }
    pthread_mutex_unlock(&pool->turn);
}

static crd_status start_workers(crd_pool *pool)
{
    int cause = 0;
    for (int i = 1; i < pool->threads && cause == 0; i++) {
        worker *self = &pool->workers[i];
        self->pool = pool;
        self->index = i;
        cause = crd_thread_start(&self->thread, worker_main, self);
        if (cause == 0) pool->started++;
    }
    if (cause != 0) {
        return crd_fail(CRD_ERR_SYSTEM, "can't start thread %d of %d: %s; ask for fewer threads", pool->started + 2,
                        pool->threads, strerror(cause));
    }
    return CRD_OK;
}

crd_status crd_pool_create(int threads, crd_pool **out)
{
    crd_status status = CRD_OK;
    crd_pool *pool = NULL;
    *out = NULL;
    if (threads < 0 || threads > MAX_THREADS) {
        return crd_fail(CRD_ERR_ARGUMENT, "the number of threads must lie between 0 and %d, not %d", MAX_THREADS,
                        threads);
    }
    const int cores = crd_available_cores();
    CRD_PASS(crd_alloc(1, sizeof *pool, "the thread pool", &pool));
    pool->threads = threads > 0 ? threads : cores;
    /* With more threads than cores a spinning one keeps a working one off its core. */
    pool->spin_rounds = pool->threads <= cores ? SPIN_ROUNDS : 0;
    atomic_init(&pool->next, 0);
    atomic_init(&pool->gate, GATE_SHUT);
    atomic_init(&pool->sequence, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->stop, false);
    pthread_mutex_init(&pool->turn, NULL);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->idle, NULL);
    CRD_TRY(crd_alloc(pool->threads, sizeof *pool->workers, "the thread pool", &pool->workers));
    CRD_TRY(start_workers(pool));
    *out = pool;
    pool = NULL;
done:
    crd_pool_free(&pool);
    return status;
}

void crd_pool_free(crd_pool **pool)
{
    crd_pool *self = *pool;
    if (self == NULL) return;
    atomic_store(&self->stop, true);
    announce(self, self->threads);
    for (int i = 1; i <= self->started; i++) pthread_join(self->workers[i].thread, NULL);
    pthread_cond_destroy(&self->idle);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->mutex);
    pthread_mutex_destroy(&self->turn);
    crd_free(&self->workers);
    crd_free(pool);
}

int crd_pool_threads(const crd_pool *pool)
{
    return pool->threads;
}
