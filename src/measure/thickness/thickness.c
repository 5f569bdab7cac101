#include "measure/thickness/thickness.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "measure/thickness/centres.h"

enum { SLAB = 32, HALO = 16 };

int64_t crd_thickness_bytes(const int64_t shape[3], int64_t slices)
{
    return slices * shape[1] * shape[2] * (int64_t)sizeof(int64_t);
}

void crd_thickness_free(crd_thickness *t)
{
    crd_free(&t->radii);
    crd_free(&t->voxels);
    t->count = 0;
}

/* ---- distances and centres, slab by slab ---- */

static int64_t largest_in(const crd_distance_slab *s)
{
    const int64_t slice = s->bitmap->shape[1] * s->bitmap->shape[2];
    int64_t most = 0;
    for (int64_t i = (s->first - s->low) * slice; i < (s->end - s->low) * slice; i++) {
        if (s->distances[i] != CRD_FAR && s->distances[i] > most) most = s->distances[i];
    }
    return most;
}

static crd_status no_memory(const int64_t shape[3], int64_t slices, int64_t memory_bytes)
{
    return crd_fail(CRD_ERR_MEMORY,
                    "max-memory: local thickness needs distances of %lld slices at once here, which are %.0f MiB, and "
                    "%.0f may be used",
                    (long long)slices, ceil((double)crd_thickness_bytes(shape, slices) / 0x1p20),
                    floor((double)memory_bytes / 0x1p20));
}

/* Slices z0 to before z1, with one beyond on both sides, looking as far as it takes. */
static crd_status find_slab(const crd_bitmap *bitmap, const int64_t squares[3], int64_t z0, int64_t z1,
                            int64_t memory_bytes, crd_pool *pool, crd_ball_table *table, crd_centres *centres)
{
    crd_status status = CRD_OK;
    const int64_t *shape = bitmap->shape, depth = shape[0];
    int64_t halo = HALO;
    crd_distance_slab s = {.bitmap = bitmap, .squares = {squares[0], squares[1], squares[2]}};
    s.first = z0 > 0 ? z0 - 1 : 0;
    s.end = z1 < depth ? z1 + 1 : depth;
    for (;; halo *= 2) {
        s.low = s.first > halo ? s.first - halo : 0;
        s.high = s.end + halo < depth ? s.end + halo : depth;
        if (crd_thickness_bytes(shape, s.high - s.low) > memory_bytes) {
            CRD_TRY(no_memory(shape, s.high - s.low, memory_bytes));
        }
        CRD_TRY(crd_alloc((s.high - s.low) * shape[1] * shape[2], sizeof *s.distances, "distances", &s.distances));
        CRD_TRY(crd_distance_compute(&s, pool));
        if (crd_distance_exact(&s, pool)) break;
        crd_free(&s.distances);
    }
    CRD_TRY(crd_ball_table_grow(table, largest_in(&s)));
    CRD_TRY(crd_centres_find(centres, table, &s, z0, z1, pool));
done:
    crd_free(&s.distances);
    return status;
}

/* ---- painting ---- */

typedef struct painting {
    const crd_bitmap *bitmap;
    const crd_centres *centres;
    int64_t squares[3];
    uint64_t *left;   /* voxels that no ball has reached */
    int64_t bands;    /* of slices, one a task */
    int64_t radii;    /* different ones */
    int64_t *radius;  /* of each */
    int64_t *begin;   /* its first centre; one more for the end */
    int64_t *painted; /* [band][radius] */
    int64_t **rows;   /* room for each thread: half a row's length, for all rows of a ball */
} painting;

/* The largest whole d >= 0 with d^2 square < left; -1: none. */
static int64_t half_width(int64_t left, int64_t square)
{
    if (left <= 0) return -1;
    int64_t d = (int64_t)sqrt((double)(left - 1) / (double)square);
    while (d * d * square >= left) d--;
    while ((d + 1) * (d + 1) * square < left) d++;
    return d;
}

/* Takes the bits from x0 to x1 of a row that are still there. */
static int64_t take_bits(uint64_t *row, int64_t x0, int64_t x1)
{
    const int64_t first = x0 / 64, last = x1 / 64;
    int64_t taken = 0;
    for (int64_t w = first; w <= last; w++) {
        uint64_t mask = ~UINT64_C(0);
        if (w == first) mask &= ~UINT64_C(0) << x0 % 64;
        if (w == last) mask &= ~UINT64_C(0) >> (63 - x1 % 64);
        const uint64_t bits = row[w] & mask;
        if (bits == 0) continue;
        taken += __builtin_popcountll(bits);
        row[w] ^= bits;
    }
    return taken;
}

static int64_t paint_ball(const painting *p, int64_t voxel, const int64_t *rows, const int64_t reach[2], int64_t z0,
                          int64_t z1)
{
    const int64_t *shape = p->bitmap->shape;
    const int64_t x = voxel % shape[2], y = voxel / shape[2] % shape[1], z = voxel / shape[2] / shape[1];
    int64_t taken = 0;
    for (int64_t dz = z - reach[0] > z0 ? -reach[0] : z0 - z; dz <= reach[0] && z + dz < z1; dz++) {
        for (int64_t dy = y > reach[1] ? -reach[1] : -y; dy <= reach[1] && y + dy < shape[1]; dy++) {
            const int64_t half = rows[(dz < 0 ? -dz : dz) * (reach[1] + 1) + (dy < 0 ? -dy : dy)];
            if (half < 0) continue;
            taken += take_bits(p->left + ((z + dz) * shape[1] + y + dy) * p->bitmap->words, x > half ? x - half : 0,
                               x + half < shape[2] ? x + half : shape[2] - 1);
        }
    }
    return taken;
}

static void paint_band(void *context, int64_t item, int worker)
{
    const painting *p = context;
    const int64_t depth = p->bitmap->shape[0];
    const int64_t z0 = item * depth / p->bands, z1 = (item + 1) * depth / p->bands;
    int64_t *rows = p->rows[worker];
    for (int64_t r = 0; r < p->radii; r++) {
        const int64_t radius = p->radius[r];
        const int64_t reach[2] = {half_width(radius, p->squares[0]), half_width(radius, p->squares[1])};
        for (int64_t dz = 0; dz <= reach[0]; dz++) {
            for (int64_t dy = 0; dy <= reach[1]; dy++) {
                rows[dz * (reach[1] + 1) + dy] =
                    half_width(radius - dz * dz * p->squares[0] - dy * dy * p->squares[1], p->squares[2]);
            }
        }
        for (int64_t k = p->begin[r]; k < p->begin[r + 1]; k++) {
            p->painted[item * p->radii + r] += paint_ball(p, p->centres->items[k].voxel, rows, reach, z0, z1);
        }
    }
}

static crd_status list_radii(painting *p)
{
    const crd_centres *c = p->centres;
    for (int64_t i = 0; i < c->count; i++) p->radii += i == 0 || c->items[i].radius != c->items[i - 1].radius;
    CRD_PASS(crd_alloc(p->radii + 1, sizeof *p->radius, "radii", &p->radius));
    CRD_PASS(crd_alloc(p->radii + 1, sizeof *p->begin, "radii", &p->begin));
    int64_t r = 0;
    for (int64_t i = 0; i < c->count; i++) {
        if (i > 0 && c->items[i].radius == c->items[i - 1].radius) continue;
        p->radius[r] = c->items[i].radius;
        p->begin[r++] = i;
    }
    p->begin[r] = c->count;
    return CRD_OK;
}

static crd_status paint(const crd_bitmap *bitmap, const int64_t squares[3], const crd_centres *centres, crd_pool *pool,
                        crd_thickness *out)
{
    crd_status status = CRD_OK;
    const int threads = crd_pool_threads(pool);
    const int64_t words = bitmap->shape[0] * bitmap->shape[1] * bitmap->words;
    painting p = {.bitmap = bitmap, .centres = centres, .squares = {squares[0], squares[1], squares[2]}};
    p.bands = 2 * threads < bitmap->shape[0] ? 2 * threads : bitmap->shape[0];
    CRD_TRY(list_radii(&p));
    if (p.radii == 0) goto done;
    CRD_TRY(crd_alloc(words, sizeof *p.left, "voxels", &p.left));
    memcpy(p.left, bitmap->phase, (size_t)words * sizeof *p.left);
    CRD_TRY(crd_alloc(p.bands * p.radii, sizeof *p.painted, "radii", &p.painted));
    CRD_TRY(crd_alloc(threads, sizeof *p.rows, "balls", &p.rows));
    const int64_t room = (half_width(p.radius[0], squares[0]) + 1) * (half_width(p.radius[0], squares[1]) + 1);
    for (int t = 0; t < threads; t++) CRD_TRY(crd_alloc(room, sizeof **p.rows, "balls", &p.rows[t]));
    crd_pool_run(pool, p.bands, paint_band, &p);
    CRD_TRY(crd_alloc(p.radii, sizeof *out->voxels, "radii", &out->voxels));
    for (int64_t i = 0; i < p.bands * p.radii; i++) out->voxels[i % p.radii] += p.painted[i];
    out->radii = p.radius;
    out->count = p.radii;
    p.radius = NULL;
done:
    for (int t = 0; p.rows != NULL && t < threads; t++) crd_free(&p.rows[t]);
    crd_free(&p.rows);
    crd_free(&p.left);
    crd_free(&p.painted);
    crd_free(&p.radius);
    crd_free(&p.begin);
    return status;
}

int64_t crd_thickness_needs(const int64_t shape[3], int64_t memory_bytes)
{
    const int64_t centres = shape[0] * shape[1] * shape[2] / 12 * 2 * (int64_t)sizeof(crd_centre);
    const int64_t slab = SLAB + 2 * HALO + 2 < shape[0] ? SLAB + 2 * HALO + 2 : shape[0];
    const bool whole = crd_thickness_bytes(shape, shape[0]) <= memory_bytes / 2;
    return centres + crd_thickness_bytes(shape, whole ? shape[0] : slab);
}

crd_status crd_thickness_compute(const crd_bitmap *bitmap, const double spacing[3], int64_t memory_bytes,
                                 crd_pool *pool, crd_thickness *out)
{
    crd_status status = CRD_OK;
    crd_centres centres = {0};
    crd_ball_table table = {0};
    const int64_t depth = bitmap->shape[0];
    const bool whole = crd_thickness_bytes(bitmap->shape, depth) <= memory_bytes / 2;
    memset(out, 0, sizeof *out);
    crd_distance_squares(spacing, table.squares);
    for (int64_t z = 0, end; z < depth; z = end) {
        end = whole || depth - z < SLAB ? depth : z + SLAB;
        CRD_TRY(find_slab(bitmap, table.squares, z, end, memory_bytes, pool, &table, &centres));
    }
    CRD_TRY(crd_centres_sort(&centres));
    CRD_TRY(paint(bitmap, table.squares, &centres, pool, out));
done:
    crd_centres_free(&centres);
    crd_ball_table_free(&table);
    return status;
}
