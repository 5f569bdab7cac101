#include "phantom/objects.h"

#include <math.h>
#include <stddef.h>

#include "base/portable_math.h"
#include "base/random/philox.h"

/* Random words of one object, by what they decide. Those before WORD_NORMAL are enough to know whether it is wanted and
 * near, so the others are drawn only then. */
enum {
    WORD_PLACE, /* 3 words: z, y, x */
    WORD_SIZE = WORD_PLACE + 3,
    WORD_MISS,
    WORD_CHANCE,
    WORD_FLATNESS,
    WORD_GREY,
    WORD_NORMAL, /* 3 words: the flat axis */
    EARLY_WORDS = WORD_NORMAL,
    WORD_TURN = WORD_NORMAL + 3, /* 3 words: the second axis */
    WORD_ELONGATION = WORD_TURN + 3,
    WORD_BOXINESS,
    WORD_FACET,                  /* 2 * 3 words */
    WORD_DEPTH = WORD_FACET + 6, /* 2 words */
    WORDS = 24
};

typedef struct reach_limits {
    double stretch;   /* longest radius of an object over its size */
    double far_limit; /* distances are wanted this far out */
    double largest;   /* no object of the population matters beyond this */
} reach_limits;

static const double LIMIT = 2.0; /* sizes and shapes stay within two standard deviations */
static const double ELONGATION = 0.18;
static const double BOX_CORNER = 1.3161; /* 3^(1/4): how far a superellipsoid of power 4 reaches beyond the ellipsoid */

static double uniform(uint32_t word)
{
    return ((double)word + 0.5) * 0x1p-32;
}

static double limited_normal(uint32_t word)
{
    const double g = (double)crd_normal_from_u32(word);
    return g < -LIMIT ? -LIMIT : g > LIMIT ? LIMIT : g;
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* A vector of length 1; one that is too short to have a direction becomes the given axis. */
static void normalise(double v[3], int axis)
{
    const double length = sqrt(dot(v, v));
    if (length < 1e-9) {
        v[0] = v[1] = v[2] = 0.0;
        v[axis] = 1.0;
        return;
    }
    for (int i = 0; i < 3; i++) v[i] /= length;
}

static void random_direction(const uint32_t words[3], double v[3])
{
    for (int i = 0; i < 3; i++) v[i] = (double)crd_normal_from_u32(words[i]);
    normalise(v, 0);
}

static void turn_axes(const crd_population *p, const uint32_t words[WORDS], double axis[3][3])
{
    if (p->slope < 0.0) {
        random_direction(words + WORD_NORMAL, axis[0]);
    } else {
        axis[0][0] = 1.0;
        axis[0][1] = p->slope * limited_normal(words[WORD_NORMAL]);
        axis[0][2] = p->slope * limited_normal(words[WORD_NORMAL + 1]);
        normalise(axis[0], 0);
    }
    double turn[3];
    random_direction(words + WORD_TURN, turn);
    const double along = dot(turn, axis[0]);
    for (int i = 0; i < 3; i++) axis[1][i] = turn[i] - along * axis[0][i];
    normalise(axis[1], 1);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        axis[2][i] = axis[0][j] * axis[1][k] - axis[0][k] * axis[1][j];
    }
}

/* The largest radius of an object of size 1. */
static double longest(const crd_population *p)
{
    const double flatness = crd_exp((crd_log(p->flatness) + LIMIT * p->flatness_spread) / 3.0);
    return flatness * crd_exp(LIMIT * ELONGATION) * (1.0 + (BOX_CORNER - 1.0) * p->boxiness);
}

double crd_population_volume(const crd_population *p)
{
    /* The mean of exp(3 s g) over normal g; a superellipsoid of power 4 is 1.55 times the ellipsoid. */
    const double ball = 4.18879 * p->size * p->size * p->size;
    return ball * crd_exp(4.5 * p->spread * p->spread) * (1.0 + 0.55 * 0.5 * p->boxiness);
}

static void shape_object(const crd_population *p, const uint32_t words[WORDS], double size, crd_object *object)
{
    const double flatness =
        crd_exp((crd_log(p->flatness) + p->flatness_spread * limited_normal(words[WORD_FLATNESS])) / 3.0);
    const double elongation = crd_exp(ELONGATION * limited_normal(words[WORD_ELONGATION]));
    object->radius[0] = size / (flatness * flatness);
    object->radius[1] = size * flatness * elongation;
    object->radius[2] = size * flatness / elongation;
    object->boxiness = p->boxiness * uniform(words[WORD_BOXINESS]);
    object->grey = crd_normal_from_u32(words[WORD_GREY]);
    turn_axes(p, words, object->axis);
    for (int i = 0; i < 2; i++) {
        random_direction(words + WORD_FACET + 3 * i, object->facet[i]);
        object->facet_depth[i] = 1.0 - p->facets * uniform(words[WORD_DEPTH + i]);
    }
}

/* The object in the form the inner loop wants: everything in float, relative to a whole voxel near its centre, so that
 * a voxel's distance is computed from the same small numbers wherever the window lies. */
typedef struct brush {
    int64_t whole[3];
    float fraction[3];
    float a[3][3];    /* to the scaled frame: the rows are axis / radius */
    float inverse[3]; /* 1 / radius */
    float boxiness;
    float facet[2][3], facet_depth[2];
    float softest; /* 1 / the smallest radius */
    float grey;
    double span[3][3]; /* as a, with the radii grown by the far limit: outside it nothing changes */
    double extent[3];  /* half the edges of the box around that ellipsoid, along z, y, x */
} brush;

static void make_brush(const crd_object *o, float far_limit, brush *b)
{
    const double corner = 1.0 + (BOX_CORNER - 1.0) * o->boxiness;
    double smallest = o->radius[0];
    for (int i = 0; i < 3; i++) {
        b->whole[i] = (int64_t)floor(o->centre[i] + 0.5);
        b->fraction[i] = (float)(o->centre[i] - (double)b->whole[i]);
        b->inverse[i] = (float)(1.0 / o->radius[i]);
        if (o->radius[i] < smallest) smallest = o->radius[i];
        const double grown = o->radius[i] * corner + (double)far_limit;
        for (int k = 0; k < 3; k++) {
            b->a[i][k] = (float)(o->axis[i][k] / o->radius[i]);
            b->span[i][k] = o->axis[i][k] / grown;
        }
    }
    for (int k = 0; k < 3; k++) {
        double square = 0.0;
        for (int i = 0; i < 3; i++) {
            const double h = o->axis[i][k] * (o->radius[i] * corner + (double)far_limit);
            square += h * h;
        }
        b->extent[k] = sqrt(square);
    }
    for (int i = 0; i < 2; i++) {
        b->facet_depth[i] = (float)o->facet_depth[i];
        for (int k = 0; k < 3; k++) b->facet[i][k] = (float)o->facet[i][k];
    }
    b->softest = (float)(1.0 / smallest);
    b->boxiness = (float)o->boxiness;
    b->grey = o->grey;
}

/* Columns [first, last] of the row at (dz, dy) from the centre that lie in the grown ellipsoid. */
static bool row_span(const brush *b, double dz, double dy, int64_t *first, int64_t *last)
{
    double aa = 0.0, ab = 0.0, bb = -1.0;
    for (int i = 0; i < 3; i++) {
        const double p = b->span[i][0] * dz + b->span[i][1] * dy, q = b->span[i][2];
        aa += q * q;
        ab += p * q;
        bb += p * p;
    }
    const double under = ab * ab - aa * bb;
    if (under <= 0.0) return false;
    const double root = sqrt(under), middle = (double)b->fraction[2] - ab / aa;
    *first = b->whole[2] + (int64_t)ceil(middle - root / aa);
    *last = b->whole[2] + (int64_t)floor(middle + root / aa);
    return *first <= *last;
}

/* Distance ~ (k - 1) * k / |gradient|, where k is the scaled radius: exact to first order near the surface. */
static void paint_row(const brush *b, float dz, float dy, int64_t offset, int64_t count, float far_limit,
                      float *restrict nearest, float *restrict second, float *restrict grey)
{
    const float p0 = b->a[0][0] * dz + b->a[0][1] * dy, p1 = b->a[1][0] * dz + b->a[1][1] * dy;
    const float p2 = b->a[2][0] * dz + b->a[2][1] * dy, s0 = b->a[0][2], s1 = b->a[1][2], s2 = b->a[2][2];
    const float i0 = b->inverse[0] * b->inverse[0], i1 = b->inverse[1] * b->inverse[1];
    const float i2 = b->inverse[2] * b->inverse[2], boxiness = b->boxiness, own = b->grey, soft = 1e-4f * b->softest;
    const float f0 = b->facet[0][0], f1 = b->facet[0][1], f2 = b->facet[0][2];
    const float g0 = b->facet[1][0], g1 = b->facet[1][1], g2 = b->facet[1][2];
    const float cut_f = 1.0f - b->facet_depth[0], cut_g = 1.0f - b->facet_depth[1];
    const float fraction = b->fraction[2];
    const int32_t start = (int32_t)offset;
    for (int32_t n = 0; n < (int32_t)count; n++) {
        const float dx = (float)(start + n) - fraction;
        const float q0 = p0 + s0 * dx, q1 = p1 + s1 * dx, q2 = p2 + s2 * dx;
        const float e0 = q0 * q0, e1 = q1 * q1, e2 = q2 * q2, round = e0 + e1 + e2;
        const float box = sqrtf(e0 * e0 + e1 * e1 + e2 * e2);
        float k = sqrtf(round + boxiness * (box - round));
        const float facet_f = f0 * q0 + f1 * q1 + f2 * q2 + cut_f, facet_g = g0 * q0 + g1 * q1 + g2 * q2 + cut_g;
        k = facet_f > k ? facet_f : k;
        k = facet_g > k ? facet_g : k;
        const float gradient = sqrtf(e0 * i0 + e1 * i1 + e2 * i2);
        const float exact = (k - 1.0f) * ((sqrtf(round) + 1e-4f) / (gradient + soft));
        const float d = exact < far_limit ? exact : far_limit;
        const float d1 = nearest[n], d2 = second[n], g = grey[n], larger = d < d1 ? d1 : d;
        const float chosen = d < d1 ? own : g;
        second[n] = larger < d2 ? larger : d2;
        grey[n] = chosen;
        nearest[n] = d < d1 ? d : d1;
    }
}

static void paint(const brush *b, const crd_window *w, float far_limit, const crd_distances *distances)
{
    const int64_t dz = w->z - b->whole[0];
    int64_t row0 = b->whole[1] + (int64_t)floor((double)b->fraction[1] - b->extent[1]);
    int64_t row1 = b->whole[1] + (int64_t)ceil((double)b->fraction[1] + b->extent[1]);
    if (row0 < w->y0) row0 = w->y0;
    if (row1 > w->y0 + w->rows - 1) row1 = w->y0 + w->rows - 1;
    for (int64_t y = row0; y <= row1; y++) {
        const int64_t dy = y - b->whole[1];
        int64_t first, last;
        if (!row_span(b, (double)dz - (double)b->fraction[0], (double)dy - (double)b->fraction[1], &first, &last)) {
            continue;
        }
        if (first < w->x0) first = w->x0;
        if (last > w->x0 + w->columns - 1) last = w->x0 + w->columns - 1;
        if (first > last) continue;
        const int64_t at = (y - w->y0) * w->columns + (first - w->x0);
        paint_row(b, (float)dz - b->fraction[0], (float)dy - b->fraction[1], first - b->whole[2], last - first + 1,
                  far_limit, distances->nearest + at, distances->second + at, distances->grey + at);
    }
}

void crd_distances_clear(const crd_distances *distances, int64_t count, float far_limit)
{
    for (int64_t i = 0; i < count; i++) {
        distances->nearest[i] = distances->second[i] = far_limit;
        distances->grey[i] = 0.0f;
    }
}

/* Where in cell `index` of that edge the centre lies. */
static double place(int64_t index, double edge, double scatter, uint32_t word)
{
    return ((double)index + 0.5 + scatter * (uniform(word) - 0.5)) * edge;
}

static double beyond(double v, double low, double high)
{
    return v < low ? low - v : v > high ? v - high : 0.0;
}

/* How far a point lies from the window, along the axis where it is farthest. */
static double distance_to(const crd_window *w, const double point[3])
{
    const double z = fabs(point[0] - (double)w->z);
    const double y = beyond(point[1], (double)w->y0, (double)(w->y0 + w->rows - 1));
    const double x = beyond(point[2], (double)w->x0, (double)(w->x0 + w->columns - 1));
    const double yx = y > x ? y : x;
    return z > yx ? z : yx;
}

/* The cell's object, unless it is out of reach of the window or of the other sort (missed or not). Most cells drop out
 * at the first test, so what costs time comes after it. */
static bool draw_object(const crd_population *p, const crd_stream *stream, const int64_t cell[3],
                        const crd_window *window, bool missed, const reach_limits *reach, crd_object *object)
{
    uint32_t words[WORDS];
    const uint64_t element = (uint64_t)(cell[2] + CRD_PHANTOM_BIAS) * WORDS;
    crd_random_fill_u32(stream, element, EARLY_WORDS, words);
    for (int i = 0; i < 3; i++) object->centre[i] = place(cell[i], p->cell[i], p->scatter, words[WORD_PLACE + i]);
    const double away = distance_to(window, object->centre);
    if (away > reach->largest) return false;
    const double size = p->size * crd_exp(p->spread * limited_normal(words[WORD_SIZE]));
    if (away > size * reach->stretch + reach->far_limit) return false;
    const bool is_missed = size < p->small && uniform(words[WORD_MISS]) < p->miss;
    if (is_missed != missed) return false;
    crd_random_fill_u32(stream, element + EARLY_WORDS, WORDS - EARLY_WORDS, words + EARLY_WORDS);
    shape_object(p, words, size, object);
    return p->accept == NULL || p->accept(p->scene, object, uniform(words[WORD_CHANCE]));
}

void crd_population_draw(const crd_population *p, const crd_window *window, bool missed, float far_limit,
                         const crd_distances *distances)
{
    if (missed && !(p->miss > 0.0)) return;
    reach_limits limits = {.stretch = longest(p), .far_limit = (double)far_limit};
    limits.largest = p->size * crd_exp(LIMIT * p->spread) * limits.stretch + limits.far_limit;
    const double reach = limits.largest;
    const double low[3] = {(double)window->z - reach, (double)window->y0 - reach, (double)window->x0 - reach};
    const double high[3] = {(double)window->z + reach, (double)(window->y0 + window->rows - 1) + reach,
                            (double)(window->x0 + window->columns - 1) + reach};
    int64_t first[3], last[3], cell[3];
    for (int i = 0; i < 3; i++) {
        first[i] = (int64_t)floor(low[i] / p->cell[i]);
        last[i] = (int64_t)floor(high[i] / p->cell[i]);
    }
    for (cell[0] = first[0]; cell[0] <= last[0]; cell[0]++) {
        for (cell[1] = first[1]; cell[1] <= last[1]; cell[1]++) {
            const crd_stream stream = {.seed = p->seed,
                                       .layer = p->layer,
                                       .purpose = CRD_PURPOSE_PHANTOM,
                                       .step = (uint32_t)(cell[0] + CRD_PHANTOM_BIAS),
                                       .example = (uint32_t)(cell[1] + CRD_PHANTOM_BIAS)};
            for (cell[2] = first[2]; cell[2] <= last[2]; cell[2]++) {
                crd_object object;
                brush b;
                if (!draw_object(p, &stream, cell, window, missed, &limits, &object)) continue;
                make_brush(&object, far_limit, &b);
                if (fabs(object.centre[0] - (double)window->z) > b.extent[0]) continue;
                paint(&b, window, far_limit, distances);
            }
        }
    }
}
