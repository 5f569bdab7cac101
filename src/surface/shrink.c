#include <string.h>

#include "base/memory.h"
#include "surface/edge_queue.h"
#include "surface/window_mesh.h"

enum { AROUND_MOST = 96 }; /* neighbours of a vertex; one that would get more stays as it is */

/* A triangle may turn by what this cosine says, and not get thinner than this share of its longest edge's square. */
#define TURN_COSINE 0.3
#define LEAST_SHAPE 0.02

typedef struct around {
    uint32_t triangles[AROUND_MOST], vertices[AROUND_MOST];
    int triangle_count, vertex_count;
    bool too_many;
} around;

static bool stays(const crd_window_vertex *v)
{
    return v->fixed || v->waiting;
}

static void note(around *a, uint32_t vertex)
{
    for (int i = 0; i < a->vertex_count; i++) {
        if (a->vertices[i] == vertex) return;
    }
    a->too_many |= a->vertex_count == AROUND_MOST;
    if (!a->too_many) a->vertices[a->vertex_count++] = vertex;
}

static void look_around(const crd_window_mesh *m, uint32_t vertex, around *a)
{
    a->triangle_count = a->vertex_count = 0;
    a->too_many = false;
    for (uint32_t c = m->vertices[vertex].first; c != CRD_NO_CORNER; c = m->triangles[c / 3].next[c % 3]) {
        const crd_window_triangle *t = &m->triangles[c / 3];
        if (t->gone) continue;
        a->too_many |= a->triangle_count == AROUND_MOST;
        if (a->too_many) return;
        a->triangles[a->triangle_count++] = c / 3;
        note(a, t->vertices[(c % 3 + 1) % 3]);
        note(a, t->vertices[(c % 3 + 2) % 3]);
    }
}

static void to_double(const float *place, double out[3])
{
    for (int k = 0; k < 3; k++) out[k] = (double)place[k];
}

/* What becomes of an edge: the place of the one vertex that is left, and what it costs. */
typedef struct meeting {
    float place[3];
    double cost;
} meeting;

static void try_place(const crd_quadric *q, const double place[3], meeting *best)
{
    meeting next;
    double rounded[3];
    for (int k = 0; k < 3; k++) next.place[k] = (float)place[k];
    to_double(next.place, rounded);
    next.cost = crd_quadric_cost(q, rounded);
    if (next.cost < best->cost) *best = next;
}

static double square_between(const double a[3], const double b[3])
{
    double square = 0;
    for (int k = 0; k < 3; k++) square += (a[k] - b[k]) * (a[k] - b[k]);
    return square;
}

static meeting find_meeting(const crd_window_vertex *a, const crd_window_vertex *b)
{
    crd_quadric q = a->quadric;
    meeting best = {.cost = INFINITY};
    double first[3], second[3], middle[3], least[3];
    crd_quadric_add(&q, &b->quadric);
    to_double(a->place, first);
    to_double(b->place, second);
    for (int k = 0; k < 3; k++) middle[k] = (first[k] + second[k]) / 2;
    const double edge = square_between(first, second);
    if (stays(a)) {
        try_place(&q, first, &best);
    } else if (stays(b)) {
        try_place(&q, second, &best);
    } else {
        /* A place far from the edge comes from planes that are nearly the same. */
        if (crd_quadric_least(&q, least) && square_between(least, middle) <= 4 * edge) try_place(&q, least, &best);
        if (best.cost == INFINITY) {
            try_place(&q, middle, &best);
            try_place(&q, first, &best);
            try_place(&q, second, &best);
        }
    }
    best.cost += 1e-9 * edge * edge; /* of edges that cost nothing the short ones go first */
    return best;
}

static crd_status put_edge(const crd_window_mesh *m, crd_edge_queue *queue, uint32_t a, uint32_t b)
{
    const crd_window_vertex *first = &m->vertices[a], *second = &m->vertices[b];
    if (stays(first) && stays(second)) return CRD_OK;
    return crd_edge_queue_put(queue, (float)find_meeting(first, second).cost, a < b ? a : b, a < b ? b : a,
                              first->stamp + second->stamp);
}

static bool has(const around *a, uint32_t vertex)
{
    for (int i = 0; i < a->vertex_count; i++) {
        if (a->vertices[i] == vertex) return true;
    }
    return false;
}

static int valence(const crd_window_mesh *m, uint32_t vertex)
{
    int count = 0;
    for (uint32_t c = m->vertices[vertex].first; c != CRD_NO_CORNER; c = m->triangles[c / 3].next[c % 3]) {
        count += !m->triangles[c / 3].gone;
    }
    return count;
}

/* The two vertices may become one where they have two common neighbours, those of the edge's own two triangles, and
 * neither of these is left with two triangles: the surface keeps its topology. */
static bool keeps_topology(const crd_window_mesh *m, const around *a, const around *b)
{
    int common = 0;
    for (int i = 0; i < a->vertex_count; i++) {
        if (!has(b, a->vertices[i])) continue;
        if (++common > 2 || valence(m, a->vertices[i]) <= 3) return false;
    }
    return common == 2 && a->vertex_count + b->vertex_count - 4 < AROUND_MOST / 2;
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* |normal| over the square of the longest edge: 0.87 at best, 0 for a line. */
static double shape_of(const float *const corners[3], double normal[3])
{
    double p[3][3], longest = 0;
    for (int k = 0; k < 3; k++) to_double(corners[k], p[k]);
    for (int k = 0; k < 3; k++) longest = fmax(longest, square_between(p[k], p[(k + 1) % 3]));
    crd_window_mesh_normal(corners[0], corners[1], corners[2], normal);
    return longest > 0 ? sqrt(dot(normal, normal)) / longest : 0;
}

/* No triangle around `vertex`, but those of `other`, turns over or becomes a sliver when it moves. Where a triangle is
 * a sliver already its normal says little, and that of all around the vertex counts. */
static bool keeps_shape(const crd_window_mesh *m, const around *a, uint32_t vertex, uint32_t other, const float *place)
{
    double all[3] = {0};
    for (int i = 0; i < a->triangle_count; i++) {
        const uint32_t *t = m->triangles[a->triangles[i]].vertices;
        double normal[3];
        crd_window_mesh_normal(m->vertices[t[0]].place, m->vertices[t[1]].place, m->vertices[t[2]].place, normal);
        for (int k = 0; k < 3; k++) all[k] += normal[k];
    }
    for (int i = 0; i < a->triangle_count; i++) {
        const uint32_t *t = m->triangles[a->triangles[i]].vertices;
        const float *before[3], *after[3];
        double old_normal[3], new_normal[3];
        if (t[0] == other || t[1] == other || t[2] == other) continue;
        for (int k = 0; k < 3; k++) {
            before[k] = m->vertices[t[k]].place;
            after[k] = t[k] == vertex ? place : before[k];
        }
        const double old_shape = shape_of(before, old_normal), new_shape = shape_of(after, new_normal);
        const double *guide = old_shape < LEAST_SHAPE ? all : old_normal;
        const double least = TURN_COSINE * sqrt(dot(guide, guide) * dot(new_normal, new_normal));
        if (!(new_shape >= fmin(LEAST_SHAPE, old_shape / 2))) return false;
        if (!(dot(guide, new_normal) > least)) return false;
    }
    return true;
}

/* b becomes a. */
static void join(crd_window_mesh *m, int data_count, uint32_t a, uint32_t b, const meeting *at, const around *of_b)
{
    crd_window_vertex *kept = &m->vertices[a], *lost = &m->vertices[b];
    double first[3], second[3], place[3], along = 0;
    to_double(kept->place, first);
    to_double(lost->place, second);
    to_double(at->place, place);
    const double square = square_between(first, second);
    for (int k = 0; k < 3; k++) along += (place[k] - first[k]) * (second[k] - first[k]);
    const double t = square > 0 ? fmin(fmax(along / square, 0), 1) : 0;
    for (int k = 0; k < data_count; k++) {
        kept->data[k] = (float)((double)kept->data[k] + t * ((double)lost->data[k] - (double)kept->data[k]));
    }
    memcpy(kept->place, at->place, sizeof kept->place);
    crd_quadric_add(&kept->quadric, &lost->quadric);
    for (int i = 0; i < of_b->triangle_count; i++) {
        crd_window_triangle *triangle = &m->triangles[of_b->triangles[i]];
        bool has_a = false;
        for (int k = 0; k < 3; k++) has_a |= triangle->vertices[k] == a;
        triangle->gone = has_a;
        m->alive -= has_a;
        for (int k = 0; k < 3; k++) {
            if (triangle->vertices[k] == b) triangle->vertices[k] = a;
        }
    }
    m->triangles[kept->last / 3].next[kept->last % 3] = lost->first;
    kept->last = lost->last;
    lost->gone = true;
    lost->first = lost->last = CRD_NO_CORNER;
}

/* Unlinks the corners of triangles that are gone, so that lists don't grow with every vertex that joins. */
static void clean_corners(crd_window_mesh *m, uint32_t vertex)
{
    crd_window_vertex *v = &m->vertices[vertex];
    uint32_t *link = &v->first;
    v->last = CRD_NO_CORNER;
    while (*link != CRD_NO_CORNER) {
        const uint32_t c = *link;
        if (m->triangles[c / 3].gone) {
            *link = m->triangles[c / 3].next[c % 3];
        } else {
            v->last = c;
            link = &m->triangles[c / 3].next[c % 3];
        }
    }
}

static crd_status take_edge(crd_window_mesh *m, int data_count, crd_edge_queue *queue, const crd_queued_edge *edge)
{
    uint32_t a = edge->a, b = edge->b;
    around of_a, of_b;
    if (stays(&m->vertices[b])) {
        a = edge->b;
        b = edge->a;
    }
    look_around(m, a, &of_a);
    look_around(m, b, &of_b);
    if (of_a.too_many || of_b.too_many || !keeps_topology(m, &of_a, &of_b)) return CRD_OK;
    const meeting at = find_meeting(&m->vertices[a], &m->vertices[b]);
    if (!keeps_shape(m, &of_a, a, b, at.place) || !keeps_shape(m, &of_b, b, a, at.place)) return CRD_OK;
    join(m, data_count, a, b, &at, &of_b);
    clean_corners(m, a);
    m->vertices[a].stamp++;
    look_around(m, a, &of_a);
    for (int i = 0; i < of_a.vertex_count; i++) CRD_PASS(put_edge(m, queue, a, of_a.vertices[i]));
    return CRD_OK;
}

/* A vertex on the rim of an open surface has one neighbour more than triangles. */
static void fix_rims(crd_window_mesh *m)
{
    around a;
    for (int64_t i = 0; i < m->vertex_count; i++) {
        crd_window_vertex *v = &m->vertices[i];
        if (v->gone || stays(v)) continue;
        look_around(m, (uint32_t)i, &a);
        v->fixed = a.too_many || a.vertex_count != a.triangle_count;
    }
}

crd_status crd_window_mesh_shrink(crd_window_mesh *m, int data_count, int64_t target)
{
    crd_status status = CRD_OK;
    crd_edge_queue queue = {0};
    fix_rims(m);
    for (int64_t i = 0; i < m->triangle_count; i++) {
        const crd_window_triangle *t = &m->triangles[i];
        for (int k = 0; k < 3 && !t->gone; k++) {
            /* Its other triangle passes the edge in the other direction. */
            const uint32_t a = t->vertices[k], b = t->vertices[(k + 1) % 3];
            if (a < b) CRD_TRY(put_edge(m, &queue, a, b));
        }
    }
    while (m->alive > target && queue.count > 0) {
        const crd_queued_edge edge = crd_edge_queue_take(&queue);
        const crd_window_vertex *a = &m->vertices[edge.a], *b = &m->vertices[edge.b];
        if (a->gone || b->gone || edge.stamp != a->stamp + b->stamp) continue;
        CRD_TRY(take_edge(m, data_count, &queue, &edge));
    }
done:
    crd_edge_queue_free(&queue);
    return status;
}
