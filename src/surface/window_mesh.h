/* The part of a mesh that is being decimated: triangles that know their vertices, and vertices that know their
 * triangles. It grows at one end, and is handed out at the other. */
#ifndef CRD_SURFACE_WINDOW_MESH_H
#define CRD_SURFACE_WINDOW_MESH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "surface/mesh_part.h"
#include "surface/quadric.h"

enum { CRD_NO_CORNER = UINT32_MAX, CRD_NOT_WRITTEN = -1 };

typedef struct crd_window_vertex {
    float place[3];
    float data[CRD_VERTEX_DATA];
    crd_quadric quadric;
    int64_t number;       /* in the whole mesh, once it is written */
    uint32_t first, last; /* of its corners; a corner is triangle * 3 + which */
    uint32_t stamp;       /* rises with every change around it */
    bool gone;
    bool fixed;   /* it is written, or on a rim: it neither moves nor goes */
    bool waiting; /* triangles that have it are still to come: as `fixed`, for now */
} crd_window_vertex;

typedef struct crd_window_triangle {
    uint32_t vertices[3];
    uint32_t next[3]; /* the next corner of the same vertex */
    bool gone;
    bool written; /* it stays while a neighbour isn't, and is all fixed */
} crd_window_triangle;

typedef struct crd_window_mesh {
    crd_window_vertex *vertices;
    crd_window_triangle *triangles;
    int64_t vertex_count, vertex_room, triangle_count, triangle_room;
    int64_t alive; /* triangles neither gone nor written */
} crd_window_mesh;

crd_status crd_window_mesh_add_vertex(crd_window_mesh *mesh, const float *place, const float *data, int data_count,
                                      uint32_t *out);
/* Adds it to its vertices, with its plane. */
crd_status crd_window_mesh_add_triangle(crd_window_mesh *mesh, const uint32_t vertices[3]);
/* Drops what is gone, and what is written and has no neighbour that isn't. renumbered[old] is a vertex's new place, or
 * CRD_NO_CORNER; room for vertex_count of them. */
void crd_window_mesh_tidy(crd_window_mesh *mesh, uint32_t *renumbered);
void crd_window_mesh_free(crd_window_mesh *mesh);

/* Its length is twice the triangle's area. */
void crd_window_mesh_normal(const float *a, const float *b, const float *c, double normal[3]);

/* Removes edges, the cheapest first, until no more than `target` triangles are alive or none can go. The mesh stays a
 * closed surface of the same topology, and no triangle turns over. */
crd_status crd_window_mesh_shrink(crd_window_mesh *mesh, int data_count, int64_t target);

#endif
