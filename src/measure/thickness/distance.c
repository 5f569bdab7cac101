#include "measure/thickness/distance.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"

enum { COLUMNS = 16 }; /* that are worked on together */

void crd_distance_squares(const double spacing[3], int64_t squares[3])
{
    double least = spacing[0];
    for (int axis = 1; axis < 3; axis++) least = spacing[axis] < least ? spacing[axis] : least;
    for (int axis = 0; axis < 3; axis++) {
        const double ratio = spacing[axis] / least;
        squares[axis] = llround(ratio * ratio * (1 << CRD_DISTANCE_SHIFT));
    }
}

/* ---- along x ---- */

static void row_distances(const crd_bitmap *b, int64_t z, int64_t y, int64_t square, int64_t *out)
{
    const uint64_t *phase = crd_bitmap_row(b, b->phase, z, y);
    const uint64_t *inside = b->inside != NULL ? crd_bitmap_row(b, b->inside, z, y) : NULL;
    const int64_t width = b->shape[2];
    int64_t steps = CRD_FAR;
    for (int64_t x = 0; x < width; x++) {
        const bool wall = !crd_bit(phase, x) && (inside == NULL || crd_bit(inside, x));
        steps = wall ? 0 : steps < CRD_FAR ? steps + 1 : CRD_FAR;
        out[x] = steps;
    }
    steps = CRD_FAR;
    for (int64_t x = width - 1; x >= 0; x--) {
        steps = out[x] == 0 ? 0 : steps < CRD_FAR ? steps + 1 : CRD_FAR;
        const int64_t least = steps < out[x] ? steps : out[x];
        out[x] = least < CRD_FAR ? least * least * square : CRD_FAR;
    }
}

/* ---- across ---- */

/* Columns of `length` values, COLUMNS side by side: out = min over k of in[at + k] + k^2 square, for at from `first` to
 * before `end`. Looks as far as something nearer can be. */
static inline __attribute__((always_inline)) void across(const int64_t *in, int64_t length, int64_t square,
                                                         int64_t first, int64_t end, int64_t *out)
{
    for (int64_t at = first; at < end; at++) {
        int64_t best[COLUMNS], most = 0;
        memcpy(best, in + at * COLUMNS, sizeof best);
        for (int i = 0; i < COLUMNS; i++) most = best[i] > most ? best[i] : most;
        for (int64_t k = 1; (k <= at || k < length - at) && k * k * square < most; k++) {
            const int64_t far = k * k * square;
            for (int side = 0; side < 2; side++) {
                const int64_t there = side == 0 ? at - k : at + k;
                if (there < 0 || there >= length) continue;
                const int64_t *other = in + there * COLUMNS;
                for (int i = 0; i < COLUMNS; i++) {
                    const int64_t value = other[i] + far;
                    best[i] = value < best[i] ? value : best[i];
                }
            }
            if ((k & 3) == 3) {
                most = 0;
                for (int i = 0; i < COLUMNS; i++) most = best[i] > most ? best[i] : most;
            }
        }
        memcpy(out + at * COLUMNS, best, sizeof best);
    }
}

typedef void across_loop(const int64_t *in, int64_t length, int64_t square, int64_t first, int64_t end, int64_t *out);
#define PATH(name, target)                                                                                             \
    target static void across_##name(const int64_t *in, int64_t length, int64_t square, int64_t first, int64_t end,    \
                                     int64_t *out)                                                                     \
    {                                                                                                                  \
        across(in, length, square, first, end, out);                                                                   \
    }
CRD_CPU_PATHS(PATH)
#define ROW(name, target) across_##name,
static across_loop *const loops[] = {CRD_CPU_PATHS(ROW)};

typedef struct job {
    const crd_distance_slab *slab;
    int64_t **rooms; /* two columns a thread */
    atomic_bool inexact;
} job;

/* Lines of `length` values, `stride` apart, that begin at `values` side by side. */
static void work_lines(job *j, int64_t *values, int64_t stride, int64_t length, int64_t square, int64_t first,
                       int64_t end, int worker)
{
    const int64_t width = j->slab->bitmap->shape[2];
    int64_t *in = j->rooms[worker], *out = in + length * COLUMNS;
    for (int64_t x = 0; x < width; x += COLUMNS) {
        const int64_t some = width - x < COLUMNS ? width - x : COLUMNS;
        for (int64_t at = 0; at < length; at++) {
            memcpy(in + at * COLUMNS, values + at * stride + x, (size_t)some * sizeof *in);
            for (int64_t i = some; i < COLUMNS; i++) in[at * COLUMNS + i] = 0;
        }
        loops[crd_cpu_path()](in, length, square, first, end, out);
        for (int64_t at = first; at < end; at++) {
            memcpy(values + at * stride + x, out + at * COLUMNS, (size_t)some * sizeof *in);
        }
    }
}

static void do_slice(void *context, int64_t item, int worker)
{
    job *j = context;
    const crd_distance_slab *s = j->slab;
    const int64_t *shape = s->bitmap->shape, width = shape[2];
    int64_t *values = s->distances + item * shape[1] * width;
    for (int64_t y = 0; y < shape[1]; y++) {
        row_distances(s->bitmap, s->low + item, y, s->squares[2], values + y * width);
    }
    work_lines(j, values, width, shape[1], s->squares[1], 0, shape[1], worker);
}

static void do_rows(void *context, int64_t item, int worker)
{
    job *j = context;
    const crd_distance_slab *s = j->slab;
    const int64_t *shape = s->bitmap->shape;
    work_lines(j, s->distances + item * shape[2], shape[1] * shape[2], s->high - s->low, s->squares[0],
               s->first - s->low, s->end - s->low, worker);
}

/* What is outside the window has no distance. */
static void clear_slice(void *context, int64_t item, int worker)
{
    const job *j = context;
    const crd_distance_slab *s = j->slab;
    const int64_t *shape = s->bitmap->shape, z = s->first + item;
    (void)worker;
    for (int64_t y = 0; y < shape[1]; y++) {
        const uint64_t *inside = crd_bitmap_row(s->bitmap, s->bitmap->inside, z, y);
        int64_t *values = s->distances + ((z - s->low) * shape[1] + y) * shape[2];
        for (int64_t x = 0; x < shape[2]; x++) values[x] = crd_bit(inside, x) ? values[x] : CRD_FAR;
    }
}

crd_status crd_distance_compute(const crd_distance_slab *slab, crd_pool *pool)
{
    crd_status status = CRD_OK;
    const int64_t *shape = slab->bitmap->shape, depth = slab->high - slab->low;
    const int threads = crd_pool_threads(pool);
    job j = {.slab = slab};
    CRD_TRY(crd_alloc(threads, sizeof *j.rooms, "distances", &j.rooms));
    for (int t = 0; t < threads; t++) {
        const int64_t longest = depth > shape[1] ? depth : shape[1];
        CRD_TRY(crd_alloc(2 * longest * COLUMNS, sizeof **j.rooms, "distances", &j.rooms[t]));
    }
    crd_pool_run(pool, depth, do_slice, &j);
    crd_pool_run(pool, shape[1], do_rows, &j);
    if (slab->bitmap->inside != NULL) crd_pool_run(pool, slab->end - slab->first, clear_slice, &j);
done:
    for (int t = 0; j.rooms != NULL && t < threads; t++) crd_free(&j.rooms[t]);
    crd_free(&j.rooms);
    return status;
}

static void check_slice(void *context, int64_t item, int worker)
{
    job *j = context;
    const crd_distance_slab *s = j->slab;
    const int64_t *shape = s->bitmap->shape, slice = shape[1] * shape[2], z = s->first + item;
    const int64_t below = s->low > 0 ? z - s->low + 1 : INT32_MAX, above = s->high < shape[0] ? s->high - z : INT32_MAX;
    const int64_t steps = below < above ? below : above, least = steps * steps;
    const int64_t *values = s->distances + (z - s->low) * slice;
    int64_t most = 0;
    (void)worker;
    if (steps == INT32_MAX) return;
    for (int64_t y = 0; y < shape[1]; y++) {
        const uint64_t *phase = crd_bitmap_row(s->bitmap, s->bitmap->phase, z, y);
        for (int64_t x = 0; x < shape[2]; x++) {
            const int64_t value = crd_bit(phase, x) ? values[y * shape[2] + x] : 0;
            most = value > most ? value : most;
        }
    }
    if (most > least * s->squares[0]) atomic_store(&j->inexact, true);
}

bool crd_distance_exact(const crd_distance_slab *slab, crd_pool *pool)
{
    job j = {.slab = slab};
    crd_pool_run(pool, slab->end - slab->first, check_slice, &j);
    return !atomic_load(&j.inexact);
}
