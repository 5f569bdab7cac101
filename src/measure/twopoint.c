#include "measure/twopoint.h"

#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"

enum { LANES = 8, PLANES = 10, BAND = 16, ROUND = 1000 }; /* words of a vector; counters; rows of a task */

/* ---- counting bits of many words ---- */

typedef uint64_t lanes __attribute__((vector_size(LANES * sizeof(uint64_t))));

/* Vectors go by pointers: as arguments they would depend on the instruction set. */
static inline __attribute__((always_inline)) void both_of(const uint64_t *a, const uint64_t *b, lanes *out)
{
    lanes one, other;
    memcpy(&one, a, sizeof one);
    memcpy(&other, b, sizeof other);
    *out = one & other;
}

/* A full adder for every bit: *low stays at its weight, the carry has twice that. */
static inline __attribute__((always_inline)) void add(lanes *low, const lanes *a, const lanes *b, lanes *carry)
{
    const lanes l = *low, half = l ^ *a;
    *low = half ^ *b;
    *carry = (l & *a) | (half & *b);
}

static inline __attribute__((always_inline)) void ripple(lanes planes[], int first, lanes *carry)
{
    for (int p = first; p < PLANES; p++) {
        const lanes next = planes[p] & *carry;
        planes[p] ^= *carry;
        *carry = next;
    }
}

/* counts[b] += the number that bit b of the planes of all lanes stands for. */
static inline __attribute__((always_inline)) void expand(const lanes planes[PLANES], int64_t counts[64])
{
    uint32_t sums[64] = {0};
    for (int p = 0; p < PLANES; p++) {
        for (int l = 0; l < LANES; l++) {
            const uint64_t word = planes[p][l];
            for (int b = 0; b < 64; b++) sums[b] += (uint32_t)(word >> b & 1) << p;
        }
    }
    for (int b = 0; b < 64; b++) counts[b] += sums[b];
}

/* At most ROUND vectors, so that the planes don't run over. */
static inline __attribute__((always_inline)) void count_round(const uint64_t *a, const uint64_t *b, int64_t n,
                                                              int64_t counts[64])
{
    lanes planes[PLANES];
    int64_t i = 0;
    memset(planes, 0, sizeof planes);
    for (; i + 8 * LANES <= n; i += 8 * LANES) {
        lanes one[8], two[4], four[2], carry;
        for (int k = 0; k < 8; k++) both_of(a + i + k * LANES, b + i + k * LANES, &one[k]);
        for (int k = 0; k < 4; k++) add(&planes[0], &one[2 * k], &one[2 * k + 1], &two[k]);
        for (int k = 0; k < 2; k++) add(&planes[1], &two[2 * k], &two[2 * k + 1], &four[k]);
        add(&planes[2], &four[0], &four[1], &carry);
        ripple(planes, 3, &carry);
    }
    for (; i < n; i += LANES) {
        uint64_t rest[LANES] = {0};
        lanes carry;
        for (int64_t k = 0; k < LANES && i + k < n; k++) rest[k] = a[i + k];
        uint64_t other[LANES] = {0};
        for (int64_t k = 0; k < LANES && i + k < n; k++) other[k] = b[i + k];
        both_of(rest, other, &carry);
        ripple(planes, 0, &carry);
    }
    expand(planes, counts);
}

#define PATH(name, target)                                                                                             \
    target static void count_##name(const uint64_t *a, const uint64_t *b, int64_t n, int64_t counts[64])               \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i += ROUND * LANES) {                                                               \
            count_round(a + i, b + i, n - i < ROUND * LANES ? n - i : ROUND * LANES, counts);                          \
        }                                                                                                              \
    }
CRD_CPU_PATHS(PATH)

#define ROW(name, target) count_##name,
crd_pairs_loop *const crd_pairs_loops[] = {CRD_CPU_PATHS(ROW)};

/* ---- all pairs ---- */

typedef struct crd_pair_room {
    int64_t (*both)[64];
    int64_t (*ends)[64];
    int64_t *pairs;
    uint64_t *marks[2]; /* rows of the window as words */
} crd_pair_room;

int64_t crd_twopoint_bytes(int64_t lag_count, int64_t width, int threads)
{
    const int64_t counts = (3 * lag_count + 3) * 64 * 8 + 3 * lag_count * 8;
    return counts + threads * (counts + 2 * width * 8 + (int64_t)sizeof(crd_pair_room));
}

crd_status crd_twopoint_begin(crd_twopoint *t, const crd_field *field, const int64_t *lags, int64_t lag_count,
                              int threads)
{
    static const char what[] = "counts of pairs";
    memset(t, 0, sizeof *t);
    t->field = field;
    t->lags = lags;
    t->lag_count = lag_count;
    CRD_PASS(crd_alloc(3 * lag_count, sizeof *t->pairs, what, &t->pairs));
    CRD_PASS(crd_alloc(3 * lag_count, sizeof *t->both, what, &t->both));
    CRD_PASS(crd_alloc(3, sizeof *t->ends, what, &t->ends));
    CRD_PASS(crd_alloc(threads, sizeof *t->rooms, what, &t->rooms));
    t->threads = threads;
    for (int i = 0; i < threads; i++) {
        crd_pair_room *room = &t->rooms[i];
        CRD_PASS(crd_alloc(3 * lag_count, sizeof *room->pairs, what, &room->pairs));
        CRD_PASS(crd_alloc(3 * lag_count, sizeof *room->both, what, &room->both));
        CRD_PASS(crd_alloc(3, sizeof *room->ends, what, &room->ends));
        for (int k = 0; k < 2; k++) {
            CRD_PASS(crd_alloc(field->window->shape[2], sizeof(uint64_t), what, &room->marks[k]));
        }
    }
    return CRD_OK;
}

void crd_twopoint_end(crd_twopoint *t)
{
    for (int i = 0; t->rooms != NULL && i < t->threads; i++) {
        crd_free(&t->rooms[i].pairs);
        crd_free(&t->rooms[i].both);
        crd_free(&t->rooms[i].ends);
        for (int k = 0; k < 2; k++) crd_free(&t->rooms[i].marks[k]);
    }
    crd_free(&t->rooms);
    crd_free(&t->pairs);
    crd_free(&t->both);
    crd_free(&t->ends);
}

/* Which voxels of a row count, as words of one bit each for all realisations. */
static void mark(const crd_window *w, int64_t z, int64_t y, uint64_t *marks)
{
    const uint8_t *inside = w->inside != NULL ? crd_window_row(w, z, y) : NULL;
    for (int64_t x = 0; x < w->shape[2]; x++) marks[x] = inside == NULL || inside[x] != 0 ? ~UINT64_C(0) : 0;
}

/* Pairs of voxels x of row (z, y) with voxels x + dx of row (z - dz, y - dy), which lies before it. */
static void count_pairs(const crd_twopoint *t, int64_t z, int64_t y, const int64_t back[3], int64_t index,
                        bool neighbours, crd_pair_room *room)
{
    const crd_window *w = t->field->window;
    crd_pairs_loop *loop = crd_pairs_loops[crd_cpu_path()];
    const int64_t n = w->shape[2] - back[2], axis = index / t->lag_count;
    const uint64_t *far = crd_field_row(t->field, z, y) + back[2];
    const uint64_t *near = crd_field_row(t->field, z - back[0], y - back[1]);
    loop(far, near, n, room->both[index]);
    if (w->inside == NULL) {
        room->pairs[index] += n;
    } else {
        const uint8_t *in = crd_window_row(w, z, y) + back[2], *there = crd_window_row(w, z - back[0], y - back[1]);
        int64_t pairs = 0;
        for (int64_t x = 0; x < n; x++) pairs += in[x] & there[x];
        room->pairs[index] += pairs;
    }
    if (!neighbours) return;
    mark(w, z, y, room->marks[0]);
    mark(w, z - back[0], y - back[1], room->marks[1]);
    loop(far, room->marks[1], n, room->ends[axis]);
    loop(room->marks[0] + back[2], near, n, room->ends[axis]);
}

static void count_row(const crd_twopoint *t, int64_t z, int64_t y, crd_pair_room *room)
{
    const int64_t *shape = t->field->window->shape, here[3] = {z, y, shape[2] - 1};
    for (int axis = 0; axis < 3; axis++) {
        for (int64_t l = 0; l < t->lag_count && t->lags[l] <= here[axis]; l++) {
            int64_t back[3] = {0};
            back[axis] = t->lags[l];
            count_pairs(t, z, y, back, axis * t->lag_count + l, t->lags[l] == 1, room);
        }
    }
}

typedef struct task {
    const crd_twopoint *t;
    int64_t first, end, bands;
} task;

static void count_band(void *context, int64_t item, int worker)
{
    const task *k = context;
    const int64_t z = k->first + item / k->bands, y0 = item % k->bands * BAND;
    const int64_t height = k->t->field->window->shape[1], y1 = y0 + BAND < height ? y0 + BAND : height;
    for (int64_t y = y0; y < y1; y++) count_row(k->t, z, y, &k->t->rooms[worker]);
}

/* Integers, so that it doesn't matter which thread counted what. */
static void empty_room(crd_twopoint *t, crd_pair_room *room)
{
    for (int64_t i = 0; i < 3 * t->lag_count; i++) {
        t->pairs[i] += room->pairs[i];
        for (int b = 0; b < 64; b++) t->both[i][b] += room->both[i][b];
    }
    for (int axis = 0; axis < 3; axis++) {
        for (int b = 0; b < 64; b++) t->ends[axis][b] += room->ends[axis][b];
    }
    memset(room->pairs, 0, (size_t)(3 * t->lag_count) * sizeof *room->pairs);
    memset(room->both, 0, (size_t)(3 * t->lag_count) * sizeof *room->both);
    memset(room->ends, 0, 3 * sizeof *room->ends);
}

void crd_twopoint_slices(crd_twopoint *t, crd_pool *pool, int64_t first, int64_t end)
{
    task k = {.t = t, .first = first, .end = end, .bands = (t->field->window->shape[1] + BAND - 1) / BAND};
    crd_pool_run(pool, (end - first) * k.bands, count_band, &k);
    for (int i = 0; i < t->threads; i++) empty_room(t, &t->rooms[i]);
}
