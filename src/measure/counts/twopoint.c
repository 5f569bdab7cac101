#include "measure/counts/twopoint.h"

#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"

/* words of a vector, and of a step; bits of a counter, and steps that it holds; rows of a task */
enum { LANES = 8, STEP = 8 * LANES, PLANES = 11, STEPS = ((1 << PLANES) - 1) / 8, BAND = 32 };

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

/* STEP words more. */
static inline __attribute__((always_inline)) void take_step(lanes planes[], const uint64_t *a, const uint64_t *b)
{
    lanes one[8], two[4], four[2], carry;
    for (int k = 0; k < 8; k++) both_of(a + k * LANES, b + k * LANES, &one[k]);
    for (int k = 0; k < 4; k++) add(&planes[0], &one[2 * k], &one[2 * k + 1], &two[k]);
    for (int k = 0; k < 2; k++) add(&planes[1], &two[2 * k], &two[2 * k + 1], &four[k]);
    add(&planes[2], &four[0], &four[1], &carry);
    for (int p = 3; p < PLANES; p++) {
        const lanes next = planes[p] & carry;
        planes[p] ^= carry;
        carry = next;
    }
}

/* counts[b] += the number that bit b of the planes of all lanes stands for; the planes are empty then. */
static inline __attribute__((always_inline)) void expand(lanes planes[PLANES], int64_t counts[64])
{
    uint32_t sums[64] = {0};
    for (int p = 0; p < PLANES; p++) {
        for (int l = 0; l < LANES; l++) {
            const uint64_t word = planes[p][l];
            const uint32_t half[2] = {(uint32_t)word, (uint32_t)(word >> 32)};
            for (int h = 0; h < 2; h++) {
                for (int b = 0; b < 32; b++) sums[32 * h + b] += (half[h] >> b & 1) << p;
            }
        }
    }
    for (int b = 0; b < 64; b++) counts[b] += sums[b];
    memset(planes, 0, PLANES * sizeof *planes);
}

static inline __attribute__((always_inline)) void count_rows(const crd_pair_rows *rows, int64_t counts[64])
{
    lanes planes[PLANES];
    int steps = 0;
    memset(planes, 0, sizeof planes);
    for (int r = 0; r < rows->count; r++) {
        const uint64_t *a = rows->a[r], *b = rows->b[r];
        int64_t i = 0;
        for (; i + STEP <= rows->length; i += STEP) {
            take_step(planes, a + i, b + i);
            if (++steps == STEPS) {
                expand(planes, counts);
                steps = 0;
            }
        }
        if (i < rows->length) {
            uint64_t rest[2][STEP] = {{0}};
            const size_t bytes = (size_t)(rows->length - i) * sizeof *a;
            memcpy(rest[0], a + i, bytes);
            memcpy(rest[1], b + i, bytes);
            take_step(planes, rest[0], rest[1]);
            if (++steps == STEPS) {
                expand(planes, counts);
                steps = 0;
            }
        }
    }
    expand(planes, counts);
}

#define PATH(name, target)                                                                                             \
    target static void count_##name(const crd_pair_rows *rows, int64_t counts[64])                                     \
    {                                                                                                                  \
        count_rows(rows, counts);                                                                                      \
    }
CRD_CPU_PATHS(PATH)

#define ROW(name, target) count_##name,
crd_pairs_loop *const crd_pairs_loops[] = {CRD_CPU_PATHS(ROW)};

/* ---- all pairs ---- */

typedef struct crd_pair_room {
    int64_t (*both)[64];
    int64_t (*ends)[64];
    int64_t *pairs;
    uint64_t *marks[2]; /* rows of the window as words: [row of a task][x] */
} crd_pair_room;

int64_t crd_twopoint_bytes(int64_t lag_count, int64_t width, int threads)
{
    const int64_t counts = (3 * lag_count + 3) * 64 * 8 + 3 * lag_count * 8;
    return counts + threads * (counts + 2 * BAND * width * 8 + (int64_t)sizeof(crd_pair_room));
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
            CRD_PASS(crd_alloc(BAND * field->window->shape[2], sizeof(uint64_t), what, &room->marks[k]));
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
static void mark(const crd_frame *w, int64_t z, int64_t y, uint64_t *marks)
{
    const uint8_t *inside = w->inside != NULL ? crd_frame_row(w, z, y) : NULL;
    for (int64_t x = 0; x < w->shape[2]; x++) marks[x] = inside == NULL || inside[x] != 0 ? ~UINT64_C(0) : 0;
}

/* Pairs of voxels of rows y0 to before y1 of slice z with those that lie `lag` before them along an axis. */
static void count_pairs(const crd_twopoint *t, int64_t z, int64_t y0, int64_t y1, int axis, int64_t l,
                        crd_pair_room *room)
{
    const crd_frame *w = t->field->window;
    crd_pairs_loop *loop = crd_pairs_loops[crd_cpu_path()];
    const int64_t lag = t->lags[l], index = axis * t->lag_count + l, width = w->shape[2];
    const int64_t dz = axis == 0 ? lag : 0, dy = axis == 1 ? lag : 0, dx = axis == 2 ? lag : 0;
    const uint64_t *far[BAND], *near[BAND], *far_marks[BAND], *near_marks[BAND];
    crd_pair_rows rows = {.length = width - dx};
    for (int64_t y = y0 > dy ? y0 : dy; y < y1; y++) {
        const int k = rows.count++;
        far[k] = crd_field_row(t->field, z, y) + dx;
        near[k] = crd_field_row(t->field, z - dz, y - dy);
        far_marks[k] = room->marks[0] + k * width + dx;
        near_marks[k] = room->marks[1] + k * width;
        if (lag == 1) {
            mark(w, z, y, room->marks[0] + k * width);
            mark(w, z - dz, y - dy, room->marks[1] + k * width);
        }
        if (w->inside == NULL) {
            room->pairs[index] += rows.length;
        } else {
            const uint8_t *in = crd_frame_row(w, z, y) + dx, *there = crd_frame_row(w, z - dz, y - dy);
            int64_t pairs = 0;
            for (int64_t x = 0; x < rows.length; x++) pairs += in[x] & there[x];
            room->pairs[index] += pairs;
        }
    }
    rows.a = far;
    rows.b = near;
    loop(&rows, room->both[index]);
    if (lag != 1) return;
    rows.b = near_marks;
    loop(&rows, room->ends[axis]);
    rows.a = far_marks;
    rows.b = near;
    loop(&rows, room->ends[axis]);
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
    const int64_t room_for[3] = {z, y1 - 1, k->t->field->window->shape[2] - 1};
    for (int axis = 0; axis < 3; axis++) {
        for (int64_t l = 0; l < k->t->lag_count && k->t->lags[l] <= room_for[axis]; l++) {
            count_pairs(k->t, z, y0, y1, axis, l, &k->t->rooms[worker]);
        }
    }
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
