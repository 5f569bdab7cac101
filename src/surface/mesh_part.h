/* A mesh on its way from who makes it to who writes it: part by part, each with vertices of its own and triangles over
 * them and over some that came before. */
#ifndef CRD_SURFACE_MESH_PART_H
#define CRD_SURFACE_MESH_PART_H

#include <stddef.h>
#include <stdint.h>

enum { CRD_VERTEX_DATA = 4 }; /* numbers that a vertex has beside its place, at most */

/* Borrowed from who makes it, until the next part is asked for. */
typedef struct crd_mesh_part {
    int64_t before;         /* vertices that earlier parts brought; the number of this part's first new one */
    int64_t kept;           /* vertices at the beginning that came with earlier parts */
    int64_t first_kept;     /* the number of the first of them in the whole mesh; the others follow it, */
    const int64_t *numbers; /* unless this has the number of each */
    int64_t vertices;       /* with those */
    const float *places;    /* x, y, z of each */
    int data_count;         /* numbers of a vertex, */
    const float *data;      /* of one vertex after the other */
    int64_t open_from;      /* vertices from here on may have triangles in later parts, too */
    int64_t triangles;
    const uint32_t *corners; /* three vertices of this part each, anticlockwise for who looks from outside */
} crd_mesh_part;

/* The number of a part's vertex in the whole mesh. */
static inline int64_t crd_mesh_number(const crd_mesh_part *part, int64_t vertex)
{
    if (vertex >= part->kept) return part->before + vertex - part->kept;
    return part->numbers != NULL ? part->numbers[vertex] : part->first_kept + vertex;
}

#endif
