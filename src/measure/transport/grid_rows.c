#include "measure/transport/grid_rows.h"

#include <string.h>

#include "base/cpu.h"
#include "base/sanitizers.h"

enum { ROWS = 7, EDGE = 16, LANES = 16 }; /* rows of a room; floats before and behind each; of a sum */

static inline __attribute__((always_inline)) void apply(const crd_grid_row *r, const crd_grid_cells *cells,
                                                        const float *restrict x, float *restrict out)
{
    const float *restrict zl = r->before[0], *restrict zh = r->behind[0], *restrict yl = r->before[1];
    const float *restrict yh = r->behind[1], *restrict xs = r->x, *restrict own = r->own;
    const float *restrict up = x - cells->slice, *restrict down = x + cells->slice;
    const float *restrict left = x - cells->row, *restrict right = x + cells->row;
    for (int64_t k = 0; k < cells->count; k++) {
        out[k] = own[k] * x[k] + xs[k] * (x[k] - x[k + 1]) + xs[k - 1] * (x[k] - x[k - 1]) + yh[k] * (x[k] - right[k]) +
                 yl[k] * (x[k] - left[k]) + zh[k] * (x[k] - down[k]) + zl[k] * (x[k] - up[k]);
    }
}

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t bits __attribute__((vector_size(LANES * sizeof(float))));

/* Vectors go by pointers: as arguments they would depend on the instruction set. */
static inline __attribute__((always_inline)) void load(const float *from, vector *to)
{
    memcpy(to, from, sizeof *to);
}

/* sum += a * b */
static inline __attribute__((always_inline)) void add_product(const float *a, const float *b, vector *sum)
{
    vector one, other;
    load(a, &one);
    load(b, &other);
    *sum += one * other;
}

/* What is computed for cells of the other colour is dropped, and they are stored as they were, while another thread may
 * read them: the same bytes before and after, but a race to the thread sanitizer. It checks the plain loop, which
 * touches the same cells of its own colour and looks at the same neighbours. */
#ifdef __SANITIZE_THREAD__
enum { IN_VECTORS = 0 };
#else
enum { IN_VECTORS = 1 };
#endif

/* All cells of a row are computed, because neighbours in memory are quick, and every second keeps its value. Cells of
 * one colour look at those of the other alone, so the order doesn't count. */
static inline __attribute__((always_inline)) void sweep(const crd_grid_row *r, const crd_grid_cells *cells,
                                                        const float *b, int first, float *x)
{
    const int64_t row = cells->row, slice = cells->slice;
    int64_t k = 0;
    bits taken;
    for (int l = 0; l < LANES; l++) taken[l] = (l & 1) == (first & 1) ? -1 : 0;
    for (; IN_VECTORS && k + LANES <= cells->count; k += LANES) {
        vector value, old, inverse;
        bits one, other;
        load(b + k, &value);
        load(r->inverse + k, &inverse);
        load(x + k, &old);
        add_product(r->x + k, x + k + 1, &value);
        add_product(r->x + k - 1, x + k - 1, &value);
        add_product(r->behind[1] + k, x + k + row, &value);
        add_product(r->before[1] + k, x + k - row, &value);
        add_product(r->behind[0] + k, x + k + slice, &value);
        add_product(r->before[0] + k, x + k - slice, &value);
        value *= inverse;
        memcpy(&one, &value, sizeof one);
        memcpy(&other, &old, sizeof other);
        one = (one & taken) | (other & ~taken);
        memcpy(x + k, &one, sizeof one);
    }
    for (k += (k + first) & 1; k < cells->count; k += 2) {
        x[k] = (b[k] + r->x[k] * x[k + 1] + r->x[k - 1] * x[k - 1] + r->behind[1][k] * x[k + row] +
                r->before[1][k] * x[k - row] + r->behind[0][k] * x[k + slice] + r->before[0][k] * x[k - slice]) *
               r->inverse[k];
    }
}

static inline __attribute__((always_inline)) void begin(const crd_grid_row *r, int64_t count, const float *restrict b,
                                                        int first, float *restrict x)
{
    const float *restrict inverse = r->inverse;
    for (int64_t k = 0; k < count; k++) x[k] = inverse[k] * b[k];
    for (int64_t k = 1 - (first & 1); k < count; k += 2) x[k] = 0.0f;
}

static inline __attribute__((always_inline)) double dot(const float *restrict a, const float *restrict b, int64_t count)
{
    float lanes[LANES] = {0};
    double sum = 0.0;
    int64_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        for (int l = 0; l < LANES; l++) lanes[l] += a[k + l] * b[k + l];
    }
    for (int l = 0; k < count; k++, l++) lanes[l] += a[k] * b[k];
    for (int l = 0; l < LANES; l++) sum += (double)lanes[l];
    return sum;
}

/* Bytes of the finest grid to floats. */
typedef struct expansion {
    const uint8_t *faces[3], *before[2];
    float unit[3];
    int64_t count;
    float *rows[ROWS];
} expansion;

static inline __attribute__((always_inline)) void scale(const uint8_t *restrict faces, float unit, int64_t count,
                                                        float *restrict out)
{
    for (int64_t k = 0; k < count; k++) out[k] = unit * (float)faces[k];
}

static inline __attribute__((always_inline)) void invert(const expansion *e)
{
    static const float tiny = 1e-30f;
    const float *restrict a = e->rows[0], *restrict b = e->rows[1], *restrict c = e->rows[2], *restrict d = e->rows[3];
    const float *restrict x = e->rows[4], *restrict own = e->rows[5];
    float *restrict out = e->rows[6];
    for (int64_t k = 0; k < e->count; k++) {
        const float sum = own[k] + a[k] + b[k] + c[k] + d[k] + x[k] + x[k - 1];
        const float inverse = 1.0f / (sum > tiny ? sum : tiny);
        out[k] = sum > tiny ? inverse : 0.0f;
    }
}

static inline __attribute__((always_inline)) void expand(const expansion *e, bool inverse)
{
    scale(e->before[0], e->unit[0], e->count, e->rows[0]);
    scale(e->before[1], e->unit[1], e->count, e->rows[1]);
    scale(e->faces[0], e->unit[0], e->count, e->rows[2]);
    scale(e->faces[1], e->unit[1], e->count, e->rows[3]);
    scale(e->faces[2], e->unit[2], e->count, e->rows[4]);
    e->rows[4][-1] = 0.0f;
    if (inverse) invert(e);
}

typedef void expand_loop(const expansion *e, bool inverse);

#define PATH(name, target)                                                                                             \
    target static void apply_##name(const crd_grid_row *r, const crd_grid_cells *c, const float *x, float *out)        \
    {                                                                                                                  \
        apply(r, c, x, out);                                                                                           \
    }                                                                                                                  \
    target static void sweep_##name(const crd_grid_row *r, const crd_grid_cells *c, const float *b, int first,         \
                                    float *x)                                                                          \
    {                                                                                                                  \
        sweep(r, c, b, first, x);                                                                                      \
    }                                                                                                                  \
    target static void begin_##name(const crd_grid_row *r, int64_t count, const float *b, int first, float *x)         \
    {                                                                                                                  \
        begin(r, count, b, first, x);                                                                                  \
    }                                                                                                                  \
    target static double dot_##name(const float *a, const float *b, int64_t count)                                     \
    {                                                                                                                  \
        return dot(a, b, count);                                                                                       \
    }                                                                                                                  \
    target static void expand_##name(const expansion *e, bool inverse)                                                 \
    {                                                                                                                  \
        expand(e, inverse);                                                                                            \
    }
CRD_CPU_PATHS(PATH)

#define ROW(name, target) {apply_##name, sweep_##name, begin_##name, dot_##name},
const crd_grid_loops crd_grid_paths[] = {CRD_CPU_PATHS(ROW)};
#define EXPAND(name, target) expand_##name,
static expand_loop *const expansions[] = {CRD_CPU_PATHS(EXPAND)};

const crd_grid_loops *crd_grid_fastest(void)
{
    return &crd_grid_paths[crd_cpu_path()];
}

int64_t crd_grid_room(int64_t width)
{
    return ROWS * (width + 2 * EDGE);
}

void crd_grid_fill_own(const crd_grid *g, int64_t z, int64_t y, float *own)
{
    const int64_t at[3] = {z, y, 0}, *shape = g->shape;
    const float unit = 2.0f * g->unit[g->axis];
    memset(own, 0, (size_t)shape[2] * sizeof *own);
    for (int side = 0; side < 2; side++) {
        const int64_t place = side == 0 ? 0 : shape[g->axis] - 1;
        const float *end = g->ends[side];
        if (g->axis == 2) {
            own[place] += unit * end[crd_grid_end_at(g, z, y, 0)];
        } else if (at[g->axis] == place) {
            end += crd_grid_end_at(g, z, y, 0);
            for (int64_t x = 0; x < shape[2]; x++) own[x] += unit * end[x];
        }
    }
}

crd_grid_row crd_grid_row_at(const crd_grid *g, int64_t z, int64_t y, bool inverse, float *room)
{
    const int64_t o = crd_grid_at(g, z, y, 0);
    if (g->to[0] != NULL) {
        return (crd_grid_row){.before = {g->to[0] + o - g->slice, g->to[1] + o - g->row},
                              .behind = {g->to[0] + o, g->to[1] + o},
                              .x = g->to[2] + o,
                              .own = g->own + o,
                              .inverse = g->inverse + o};
    }
    expansion e = {.faces = {g->faces[0] + o, g->faces[1] + o, g->faces[2] + o},
                   .before = {g->faces[0] + o - g->slice, g->faces[1] + o - g->row},
                   .unit = {g->unit[0], g->unit[1], g->unit[2]},
                   .count = g->shape[2]};
    for (int i = 0; i < ROWS; i++) e.rows[i] = room + i * (g->shape[2] + 2 * EDGE) + EDGE;
    crd_grid_fill_own(g, z, y, e.rows[5]);
    expansions[crd_cpu_path()](&e, inverse);
    return (crd_grid_row){.before = {e.rows[0], e.rows[1]},
                          .behind = {e.rows[2], e.rows[3]},
                          .x = e.rows[4],
                          .own = e.rows[5],
                          .inverse = e.rows[6]};
}
