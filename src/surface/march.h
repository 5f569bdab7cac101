/* From samples to triangles, a few slices at a time.
 *
 * The grid is a row of bits per row of samples, 1 inside the phase. Bits of neighbouring rows that differ are edges
 * that the surface crosses, and counting them numbers the vertices: no table from edges to vertices is kept. Rows are
 * shared out among threads twice, to count and to fill in, so the mesh is the same for any number of threads. */
#ifndef CRD_SURFACE_MARCH_H
#define CRD_SURFACE_MARCH_H

#include <stdbool.h>

#include "base/parallel.h"
#include "surface/mesh_part.h"
#include "surface/slices.h"
#include "surface/vertex_data.h"

typedef struct crd_march_plan {
    int64_t shape[3];
    crd_slices *slices;           /* with room for crd_march_depth slices */
    int field;                    /* the source that the surface is of */
    float level;                  /* inside is what lies above; NaN is outside */
    bool closed;                  /* by a lid half a voxel beyond the outer samples, where the phase reaches them */
    double spacing[3], origin[3]; /* a voxel's edges, and the middle of voxel 0, z, y, x */
    const crd_vertex_data *data;
    crd_pool *pool;
} crd_march_plan;

typedef struct crd_march_totals {
    int64_t vertices, triangles;
    double area, volume; /* the volume of a surface that isn't closed means nothing */
} crd_march_totals;

typedef struct crd_march crd_march;

/* Slices that are worked on together, and how many must be kept for that, `reach` to either side. */
int64_t crd_march_group(const int64_t shape[3]);
int64_t crd_march_depth(const int64_t shape[3], int64_t reach);

crd_status crd_march_open(const crd_march_plan *plan, crd_march **out);
void crd_march_close(crd_march **march);

/* The next part of the mesh; *more is false, and the part empty, where there is none. */
crd_status crd_march_next(crd_march *march, crd_mesh_part *part, bool *more);
/* Of shape[0]. */
int64_t crd_march_slices_done(const crd_march *march);
crd_march_totals crd_march_sum(const crd_march *march);

#endif
