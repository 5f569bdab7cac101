#include "measure/thickness/centres.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { LATTICE_MOST = 1 << 22, DIGIT = 1 << 11, OFFSETS = 7 };

/* ---- which ball holds which ---- */

typedef struct vector {
    int64_t norm;
    int16_t at[3];
} vector;

static int by_norm(const void *a, const void *b)
{
    const int64_t x = ((const vector *)a)->norm, y = ((const vector *)b)->norm;
    return (x > y) - (x < y);
}

void crd_ball_table_free(crd_ball_table *t)
{
    crd_free(&t->norms);
    for (int i = 0; i < OFFSETS; i++) crd_free(&t->least[i]);
    t->count = t->reach = 0;
}

static int64_t steps_within(int64_t radius, int64_t square)
{
    int64_t steps = (int64_t)sqrt((double)radius / (double)square);
    while (steps * steps * square > radius) steps--;
    while ((steps + 1) * (steps + 1) * square <= radius) steps++;
    return steps;
}

crd_status crd_ball_table_grow(crd_ball_table *t, int64_t radius)
{
    crd_status status = CRD_OK;
    vector *vectors = NULL;
    int64_t most[3], count = 0;
    if (radius <= t->reach) return CRD_OK;
    for (;; radius = radius / 4 * 3) { /* as far as is reasonable */
        for (int axis = 0; axis < 3; axis++) most[axis] = steps_within(radius, t->squares[axis]);
        if ((most[0] + 1) * (most[1] + 1) * (most[2] + 1) <= LATTICE_MOST) break;
    }
    if (radius <= t->reach) return CRD_OK;
    crd_ball_table_free(t);
    CRD_TRY(crd_alloc((most[0] + 1) * (most[1] + 1) * (most[2] + 1), sizeof *vectors, "balls", &vectors));
    for (int64_t z = 0; z <= most[0]; z++) {
        for (int64_t y = 0; y <= most[1]; y++) {
            for (int64_t x = 0; x <= most[2]; x++) {
                const int64_t norm = z * z * t->squares[0] + y * y * t->squares[1] + x * x * t->squares[2];
                if (norm > radius) continue;
                vectors[count++] = (vector){norm, {(int16_t)z, (int16_t)y, (int16_t)x}};
            }
        }
    }
    qsort(vectors, (size_t)count, sizeof *vectors, by_norm);
    CRD_TRY(crd_alloc(count, sizeof *t->norms, "balls", &t->norms));
    for (int i = 0; i < OFFSETS; i++) CRD_TRY(crd_alloc(count + 1, sizeof(int64_t), "balls", &t->least[i]));
    int64_t far[OFFSETS] = {0};
    for (int64_t k = 0; k < count; k++) {
        if (k == 0 || vectors[k].norm != vectors[k - 1].norm) {
            t->norms[t->count] = vectors[k].norm;
            for (int i = 0; i < OFFSETS; i++) t->least[i][t->count] = far[i] + 1;
            t->count++;
        }
        for (int i = 0; i < OFFSETS; i++) { /* the neighbour lies on the other side of the vector's */
            int64_t norm = 0;
            for (int axis = 0; axis < 3; axis++) {
                const int64_t d = vectors[k].at[axis] + ((i + 1) >> axis & 1);
                norm += d * d * t->squares[axis];
            }
            far[i] = norm > far[i] ? norm : far[i];
        }
    }
    for (int i = 0; i < OFFSETS; i++) t->least[i][t->count] = far[i] + 1;
    t->reach = radius;
done:
    crd_free(&vectors);
    if (status != CRD_OK) crd_ball_table_free(t);
    return status;
}

/* The squared radii that balls at the seven kinds of neighbours need to hold a ball of squared radius `radius`: the
 * lattice vectors in it are those before the first norm that isn't less. Beyond the table, the sum of radius and offset
 * does. */
static void needed(const crd_ball_table *t, int64_t radius, int64_t out[OFFSETS])
{
    if (radius > t->reach) {
        for (int i = 0; i < OFFSETS; i++) {
            int64_t offset = 0;
            for (int axis = 0; axis < 3; axis++) offset += ((i + 1) >> axis & 1) * t->squares[axis];
            const double length = sqrt((double)radius) + sqrt((double)offset);
            out[i] = (int64_t)ceil(length * length * (1.0 + 1e-12)) + 1;
        }
        return;
    }
    int64_t low = 0, high = t->count; /* the first norm >= radius; behind the last all vectors are in the ball */
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (t->norms[middle] < radius) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (int i = 0; i < OFFSETS; i++) out[i] = t->least[i][low];
}

/* ---- centres ---- */

typedef struct finding {
    const crd_ball_table *table;
    const crd_distance_slab *slab;
    int64_t first;
    crd_centres *slices; /* of each */
    crd_status *status;
    crd_error *errors;
} finding;

static crd_status append(crd_centres *list, crd_centre centre)
{
    if (list->count == list->room) {
        crd_centre *longer = NULL;
        const int64_t room = list->room > 0 ? 2 * list->room : 4096;
        CRD_PASS(crd_alloc(room, sizeof *longer, "centres of balls", &longer));
        if (list->count > 0) memcpy(longer, list->items, (size_t)list->count * sizeof *longer);
        crd_free(&list->items);
        list->items = longer;
        list->room = room;
    }
    list->items[list->count++] = centre;
    return CRD_OK;
}

static bool needless(const finding *f, const int64_t at[3], int64_t radius)
{
    const crd_distance_slab *s = f->slab;
    const int64_t *shape = s->bitmap->shape;
    int64_t least[OFFSETS];
    needed(f->table, radius, least);
    for (int64_t dz = -1; dz <= 1; dz++) {
        if (at[0] + dz < s->first || at[0] + dz >= s->end) continue;
        for (int64_t dy = -1; dy <= 1; dy++) {
            if (at[1] + dy < 0 || at[1] + dy >= shape[1]) continue;
            const int64_t *row = s->distances + ((at[0] + dz - s->low) * shape[1] + at[1] + dy) * shape[2];
            for (int64_t dx = -1; dx <= 1; dx++) {
                const int64_t x = at[2] + dx;
                if (x < 0 || x >= shape[2] || (dz == 0 && dy == 0 && dx == 0)) continue;
                const int kind = (dz != 0) | (dy != 0) << 1 | (dx != 0) << 2;
                if (row[x] != CRD_FAR && row[x] > radius && row[x] >= least[kind - 1]) return true;
            }
        }
    }
    return false;
}

static crd_status find_in_slice(const finding *f, int64_t item)
{
    const crd_distance_slab *s = f->slab;
    const int64_t *shape = s->bitmap->shape, z = f->first + item;
    for (int64_t y = 0; y < shape[1]; y++) {
        const int64_t *row = s->distances + ((z - s->low) * shape[1] + y) * shape[2];
        for (int64_t x = 0; x < shape[2]; x++) {
            if (row[x] == 0 || row[x] == CRD_FAR || needless(f, (const int64_t[3]){z, y, x}, row[x])) continue;
            CRD_PASS(append(&f->slices[item], (crd_centre){row[x], (z * shape[1] + y) * shape[2] + x}));
        }
    }
    return CRD_OK;
}

static void do_slice(void *context, int64_t item, int worker)
{
    finding *f = context;
    (void)worker;
    f->status[item] = find_in_slice(f, item);
    if (f->status[item] != CRD_OK) f->errors[item] = *crd_last_error();
}

crd_status crd_centres_find(crd_centres *centres, const crd_ball_table *table, const crd_distance_slab *slab,
                            int64_t first, int64_t end, crd_pool *pool)
{
    crd_status status = CRD_OK;
    finding f = {.table = table, .slab = slab, .first = first};
    CRD_TRY(crd_alloc(end - first, sizeof *f.slices, "centres of balls", &f.slices));
    CRD_TRY(crd_alloc(end - first, sizeof *f.status, "centres of balls", &f.status));
    CRD_TRY(crd_alloc(end - first, sizeof *f.errors, "centres of balls", &f.errors));
    crd_pool_run(pool, end - first, do_slice, &f);
    for (int64_t i = 0; i < end - first; i++) {
        if (f.status[i] != CRD_OK) CRD_TRY(crd_error_adopt(&f.errors[i]));
        for (int64_t k = 0; k < f.slices[i].count; k++) CRD_TRY(append(centres, f.slices[i].items[k]));
    }
done:
    for (int64_t i = 0; f.slices != NULL && i < end - first; i++) crd_free(&f.slices[i].items);
    crd_free(&f.slices);
    crd_free(&f.status);
    crd_free(&f.errors);
    return status;
}

/* By digits, from the last on; those that are alike everywhere take one look. */
crd_status crd_centres_sort(crd_centres *centres)
{
    crd_status status = CRD_OK;
    crd_centre *other = NULL;
    const int64_t n = centres->count;
    CRD_TRY(crd_alloc(n > 0 ? n : 1, sizeof *other, "centres of balls", &other));
    for (int shift = 0; shift < 63; shift += 11) {
        int64_t places[DIGIT] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) places[centres->items[i].radius >> shift & (DIGIT - 1)]++;
        if (n == 0 || places[centres->items[0].radius >> shift & (DIGIT - 1)] == n) continue;
        for (int d = DIGIT - 1; d >= 0; d--) {
            const int64_t count = places[d];
            places[d] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) {
            other[places[centres->items[i].radius >> shift & (DIGIT - 1)]++] = centres->items[i];
        }
        crd_centre *spare = centres->items;
        centres->items = other;
        other = spare;
    }
done:
    crd_free(&other);
    return status;
}

void crd_centres_free(crd_centres *centres)
{
    crd_free(&centres->items);
    centres->count = centres->room = 0;
}
