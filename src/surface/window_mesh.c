#include "surface/window_mesh.h"

#include <string.h>

#include "base/memory.h"

static crd_status grow(void *array, int64_t count, int64_t *room, size_t size, const char *what)
{
    void **block = array, *larger = NULL;
    const int64_t wanted = *room > 0 ? 2 * *room : 1 << 12;
    if (wanted > UINT32_MAX / 3) return crd_fail(CRD_ERR_MEMORY, "a few slices' surface is too large to decimate");
    CRD_PASS(crd_alloc(wanted, size, what, &larger));
    if (count > 0) memcpy(larger, *block, (size_t)count * size);
    crd_free_untyped(block);
    *block = larger;
    *room = wanted;
    return CRD_OK;
}

crd_status crd_window_mesh_add_vertex(crd_window_mesh *m, const float *place, const float *data, int data_count,
                                      uint32_t *out)
{
    if (m->vertex_count == m->vertex_room) {
        CRD_PASS(grow(&m->vertices, m->vertex_count, &m->vertex_room, sizeof *m->vertices, "vertices to decimate"));
    }
    crd_window_vertex *v = &m->vertices[m->vertex_count];
    *v = (crd_window_vertex){.number = CRD_NOT_WRITTEN, .first = CRD_NO_CORNER, .last = CRD_NO_CORNER};
    memcpy(v->place, place, sizeof v->place);
    for (int k = 0; k < data_count; k++) v->data[k] = data[k];
    *out = (uint32_t)m->vertex_count++;
    return CRD_OK;
}

void crd_window_mesh_normal(const float *a, const float *b, const float *c, double normal[3])
{
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        normal[k] = ((double)b[i] - (double)a[i]) * ((double)c[j] - (double)a[j]) -
                    ((double)b[j] - (double)a[j]) * ((double)c[i] - (double)a[i]);
    }
}

static void join_corner(crd_window_mesh *m, uint32_t vertex, uint32_t corner)
{
    crd_window_vertex *v = &m->vertices[vertex];
    m->triangles[corner / 3].next[corner % 3] = CRD_NO_CORNER;
    if (v->first == CRD_NO_CORNER) {
        v->first = corner;
    } else {
        m->triangles[v->last / 3].next[v->last % 3] = corner;
    }
    v->last = corner;
}

static void link_triangle(crd_window_mesh *m, int64_t triangle)
{
    for (uint32_t k = 0; k < 3; k++) {
        join_corner(m, m->triangles[triangle].vertices[k], (uint32_t)(3 * triangle) + k);
    }
}

crd_status crd_window_mesh_add_triangle(crd_window_mesh *m, const uint32_t vertices[3])
{
    if (m->triangle_count == m->triangle_room) {
        CRD_PASS(
            grow(&m->triangles, m->triangle_count, &m->triangle_room, sizeof *m->triangles, "triangles to decimate"));
    }
    crd_window_triangle *t = &m->triangles[m->triangle_count];
    *t = (crd_window_triangle){.vertices = {vertices[0], vertices[1], vertices[2]}};
    link_triangle(m, m->triangle_count++);
    m->alive++;
    const float *at = m->vertices[vertices[0]].place;
    const double place[3] = {(double)at[0], (double)at[1], (double)at[2]};
    double normal[3];
    crd_window_mesh_normal(at, m->vertices[vertices[1]].place, m->vertices[vertices[2]].place, normal);
    const double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    if (!(length > 0)) return CRD_OK;
    for (int k = 0; k < 3; k++) normal[k] /= length;
    const crd_quadric plane = crd_quadric_plane(normal, place, length / 2);
    for (int k = 0; k < 3; k++) crd_quadric_add(&m->vertices[vertices[k]].quadric, &plane);
    return CRD_OK;
}

/* A vertex stays where it still has a triangle that isn't written, or may get one; a written triangle stays while it
 * has such a vertex; and a vertex stays while a triangle does. renumbered: 0 goes, 1 stays, 2 holds triangles. */
void crd_window_mesh_tidy(crd_window_mesh *m, uint32_t *renumbered)
{
    int64_t vertices = 0, triangles = 0;
    for (int64_t i = 0; i < m->vertex_count; i++) renumbered[i] = m->vertices[i].waiting ? 2 : 0;
    for (int64_t i = 0; i < m->triangle_count; i++) {
        const crd_window_triangle *t = &m->triangles[i];
        for (int k = 0; k < 3 && !t->gone && !t->written; k++) renumbered[t->vertices[k]] = 2;
    }
    for (int64_t i = 0; i < m->triangle_count; i++) {
        crd_window_triangle *t = &m->triangles[i];
        bool stays = false;
        for (int k = 0; k < 3 && !t->gone; k++) stays |= renumbered[t->vertices[k]] == 2;
        t->gone |= !stays;
        for (int k = 0; k < 3 && stays; k++) {
            if (renumbered[t->vertices[k]] == 0) renumbered[t->vertices[k]] = 1;
        }
    }
    for (int64_t i = 0; i < m->vertex_count; i++) {
        const bool stays = renumbered[i] > 0;
        renumbered[i] = CRD_NO_CORNER;
        if (!stays) continue;
        m->vertices[vertices] = m->vertices[i];
        m->vertices[vertices].first = m->vertices[vertices].last = CRD_NO_CORNER;
        renumbered[i] = (uint32_t)vertices++;
    }
    m->vertex_count = vertices;
    for (int64_t i = 0; i < m->triangle_count; i++) {
        if (m->triangles[i].gone) continue;
        crd_window_triangle *t = &m->triangles[triangles];
        *t = m->triangles[i];
        for (int k = 0; k < 3; k++) t->vertices[k] = renumbered[t->vertices[k]];
        link_triangle(m, triangles++);
    }
    m->triangle_count = triangles;
}

void crd_window_mesh_free(crd_window_mesh *m)
{
    crd_free(&m->vertices);
    crd_free(&m->triangles);
    memset(m, 0, sizeof *m);
}
