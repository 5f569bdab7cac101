#include "surface/decimate.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "surface/window_mesh.h"

/* The share of the window's height, at its upper end, that isn't handed out yet. */
#define HELD_BACK 0.25

struct crd_decimator {
    double share;
    int64_t window;
    int data_count;
    crd_take_part *take;
    void *context;
    crd_window_mesh mesh;
    uint32_t *open; /* the last part's vertices that the next one begins with */
    int64_t open_count, open_room;
    uint32_t *places; /* of the part's vertices in the window, and other lists of vertices */
    int64_t place_room;
    int64_t fresh;                 /* triangles since the last window */
    int64_t came, vertices, given; /* triangles in; vertices and triangles out */
    struct {
        float *places, *data;
        int64_t *numbers;
        uint32_t *corners;
        int64_t vertex_room, triangle_room;
    } out;
};

crd_status crd_decimator_open(double share, int64_t window, int data_count, crd_take_part *take, void *context,
                              crd_decimator **out)
{
    CRD_PASS(crd_alloc(1, sizeof **out, "the decimation", out));
    (*out)->share = share;
    (*out)->window = window;
    (*out)->data_count = data_count;
    (*out)->take = take;
    (*out)->context = context;
    return CRD_OK;
}

void crd_decimator_close(crd_decimator **decimator)
{
    crd_decimator *d = *decimator;
    if (d == NULL) return;
    crd_window_mesh_free(&d->mesh);
    crd_free(&d->open);
    crd_free(&d->places);
    crd_free(&d->out.places);
    crd_free(&d->out.data);
    crd_free(&d->out.numbers);
    crd_free(&d->out.corners);
    crd_free(decimator);
}

int64_t crd_decimator_vertices(const crd_decimator *d)
{
    return d->vertices;
}

int64_t crd_decimator_triangles(const crd_decimator *d)
{
    return d->given;
}

static crd_status room_for(uint32_t **list, int64_t *room, int64_t count)
{
    if (count <= *room) return CRD_OK;
    crd_free(list);
    *room = 0;
    CRD_PASS(crd_alloc(count + count / 2, sizeof **list, "a list of vertices", list));
    *room = count + count / 2;
    return CRD_OK;
}

static crd_status take_in(crd_decimator *d, const crd_mesh_part *part)
{
    const int64_t open_count = part->vertices - part->open_from;
    CRD_PASS(room_for(&d->places, &d->place_room, part->vertices));
    if (part->kept > 0) memcpy(d->places, d->open, (size_t)part->kept * sizeof *d->places);
    for (int64_t i = 0; i < part->kept; i++) d->mesh.vertices[d->open[i]].waiting = false;
    for (int64_t i = part->kept; i < part->vertices; i++) {
        CRD_PASS(crd_window_mesh_add_vertex(&d->mesh, part->places + 3 * i, part->data + i * d->data_count,
                                            d->data_count, &d->places[i]));
    }
    for (int64_t i = 0; i < part->triangles; i++) {
        const uint32_t *corners = part->corners + 3 * i;
        const uint32_t vertices[3] = {d->places[corners[0]], d->places[corners[1]], d->places[corners[2]]};
        CRD_PASS(crd_window_mesh_add_triangle(&d->mesh, vertices));
    }
    CRD_PASS(room_for(&d->open, &d->open_room, open_count));
    for (int64_t i = 0; i < open_count; i++) {
        d->open[i] = d->places[part->open_from + i];
        d->mesh.vertices[d->open[i]].waiting = true;
    }
    d->open_count = open_count;
    d->fresh += part->triangles;
    d->came += part->triangles;
    return CRD_OK;
}

/* How many triangles may be left in the window. Those at its upper end can't go yet and don't count. */
static int64_t target_of(const crd_decimator *d)
{
    const crd_window_mesh *m = &d->mesh;
    int64_t waiting = 0;
    for (int64_t i = 0; i < m->triangle_count; i++) {
        const crd_window_triangle *t = &m->triangles[i];
        bool waits = false;
        for (int k = 0; k < 3 && !t->gone && !t->written; k++) waits |= m->vertices[t->vertices[k]].waiting;
        waiting += waits;
    }
    const int64_t target = llround(d->share * (double)(d->came - waiting)) - d->given + waiting;
    return target > 0 ? target : 0;
}

/* Triangles wholly below are handed out. */
static float height_to_give(const crd_decimator *d, bool all)
{
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < d->mesh.vertex_count && !all; i++) {
        const crd_window_vertex *v = &d->mesh.vertices[i];
        if (v->gone || v->number != CRD_NOT_WRITTEN) continue;
        low = fminf(low, v->place[2]);
        high = fmaxf(high, v->place[2]);
    }
    return all ? INFINITY : (float)((double)high - HELD_BACK * ((double)high - (double)low));
}

static bool is_below(const crd_window_mesh *m, const crd_window_triangle *t, float height)
{
    for (int k = 0; k < 3; k++) {
        const crd_window_vertex *v = &m->vertices[t->vertices[k]];
        if (v->waiting || !(v->place[2] < height)) return false;
    }
    return true;
}

static crd_status make_room(crd_decimator *d, int64_t vertices, int64_t triangles)
{
    if (vertices > d->out.vertex_room) {
        crd_free(&d->out.places);
        crd_free(&d->out.data);
        crd_free(&d->out.numbers);
        d->out.vertex_room = 0;
        CRD_PASS(crd_alloc(3 * vertices, sizeof *d->out.places, "vertices", &d->out.places));
        CRD_PASS(crd_alloc(CRD_VERTEX_DATA * vertices, sizeof *d->out.data, "vertices", &d->out.data));
        CRD_PASS(crd_alloc(vertices, sizeof *d->out.numbers, "vertices", &d->out.numbers));
        d->out.vertex_room = vertices;
    }
    if (triangles > d->out.triangle_room) {
        crd_free(&d->out.corners);
        d->out.triangle_room = 0;
        CRD_PASS(crd_alloc(3 * triangles, sizeof *d->out.corners, "triangles", &d->out.corners));
        d->out.triangle_room = triangles;
    }
    return CRD_OK;
}

/* The vertices of what is handed out: first those that are written already, then new ones, which get their numbers.
 * places[v] becomes a vertex's place in the part. */
static void collect_vertices(crd_decimator *d, float height, crd_mesh_part *part)
{
    crd_window_mesh *m = &d->mesh;
    for (int64_t i = 0; i < m->vertex_count; i++) d->places[i] = CRD_NO_CORNER;
    for (int written = 1; written >= 0; written--) {
        for (int64_t i = 0; i < m->triangle_count; i++) {
            const crd_window_triangle *t = &m->triangles[i];
            if (t->gone || t->written || !is_below(m, t, height)) continue;
            for (int k = 0; k < 3; k++) {
                crd_window_vertex *v = &m->vertices[t->vertices[k]];
                uint32_t *place = &d->places[t->vertices[k]];
                if (*place != CRD_NO_CORNER || (written == 1) != (v->number != CRD_NOT_WRITTEN)) continue;
                const int64_t at = part->vertices++;
                *place = (uint32_t)at;
                if (written == 0) v->number = part->before + at - part->kept;
                v->fixed = true;
                d->out.numbers[at] = v->number;
                memcpy(d->out.places + 3 * at, v->place, sizeof v->place);
                memcpy(d->out.data + at * d->data_count, v->data, (size_t)d->data_count * sizeof v->data[0]);
            }
        }
        if (written == 1) part->kept = part->vertices;
    }
}

static crd_status give_out(crd_decimator *d, float height)
{
    crd_window_mesh *m = &d->mesh;
    crd_mesh_part part = {.before = d->vertices, .data_count = d->data_count};
    CRD_PASS(room_for(&d->places, &d->place_room, m->vertex_count));
    CRD_PASS(make_room(d, m->vertex_count, m->alive));
    collect_vertices(d, height, &part);
    for (int64_t i = 0; i < m->triangle_count; i++) {
        crd_window_triangle *t = &m->triangles[i];
        if (t->gone || t->written || !is_below(m, t, height)) continue;
        for (int k = 0; k < 3; k++) d->out.corners[3 * part.triangles + k] = d->places[t->vertices[k]];
        part.triangles++;
        t->written = true;
    }
    part.places = d->out.places;
    part.data = d->out.data;
    part.numbers = d->out.numbers;
    part.corners = d->out.corners;
    part.open_from = part.vertices;
    m->alive -= part.triangles;
    d->given += part.triangles;
    d->vertices += part.vertices - part.kept;
    return part.triangles > 0 ? d->take(d->context, &part) : CRD_OK;
}

static crd_status work_window(crd_decimator *d, bool last)
{
    CRD_PASS(crd_window_mesh_shrink(&d->mesh, d->data_count, target_of(d)));
    CRD_PASS(give_out(d, height_to_give(d, last)));
    crd_window_mesh_tidy(&d->mesh, d->places);
    for (int64_t i = 0; i < d->open_count; i++) d->open[i] = d->places[d->open[i]];
    d->fresh = 0;
    return CRD_OK;
}

crd_status crd_decimator_add(crd_decimator *d, const crd_mesh_part *part)
{
    CRD_PASS(take_in(d, part));
    return d->fresh >= d->window ? work_window(d, false) : CRD_OK;
}

crd_status crd_decimator_finish(crd_decimator *d)
{
    return work_window(d, true);
}
