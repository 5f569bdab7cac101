/* For tests of the engine: an engine on every instruction path of this CPU, and the weights of the reference batch. */
#ifndef CRD_TESTS_ENGINE_TOOLS_H
#define CRD_TESTS_ENGINE_TOOLS_H

#include "bayes/reference_bayes.h"
#include "harness.h"
#include "net/engine.h"
#include "reference_data.h"

static const char *const paths[] = {"portable", "avx2", "avx512"};
enum { PATHS = sizeof paths / sizeof paths[0] };

/* Sanitizers and valgrind slow the textbook down a hundred times: there the fastest path and small networks must do. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static inline bool slow(void)
{
    return SANITIZED || emulated();
}

static inline bool tried_here(int path)
{
    const crd_ops *ops, *best;
    if (!have_path(paths[path], crd_ops_select(paths[path], &ops) == CRD_OK)) return false;
    if (!slow() || (crd_ops_select(NULL, &best) == CRD_OK && ops == best)) return true;
    skip_part(paths[path], "too slow with sanitizers and valgrind");
    return false;
}

typedef struct bench { /* an engine and what it stands on */
    crd_pool *pool;
    crd_engine *engine;
} bench;

static inline crd_status set_up(bench *b, const crd_net *net, const int64_t chunk[3], bool training, const char *path,
                                int threads)
{
    crd_engine_plan plan = {.net = net, .chunk = {chunk[0], chunk[1], chunk[2]}, .training = training};
    memset(b, 0, sizeof *b);
    CRD_PASS(crd_ops_select(path, &plan.ops));
    CRD_PASS(crd_pool_create(threads, &b->pool));
    plan.pool = b->pool;
    return crd_engine_create(&plan, &b->engine);
}

static inline void tear_down(bench *b)
{
    crd_engine_free(&b->engine);
    crd_pool_free(&b->pool);
}

static inline void *room(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    if (memory == NULL) exit(1);
    return memory;
}

static inline double *widen(const float *from, int64_t count)
{
    double *to = room(count, sizeof *to);
    for (int64_t i = 0; i < count; i++) to[i] = from[i];
    return to;
}

/* Point weights of example b of the reference batch, drawn by the textbook. */
static inline void draw(const reference_case *c, const double *model, int b, bool noisy, float *point)
{
    double *exact = room(c->net.point.total, sizeof *exact);
    crd_ref_draw(&c->net, model, noisy ? &c->noise[b] : NULL, exact);
    for (int64_t i = 0; i < c->net.point.total; i++) point[i] = (float)exact[i];
    free(exact);
}

#endif
