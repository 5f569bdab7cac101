/* Inside src/measure: the centres of balls that may be the largest somewhere. */
#ifndef CRD_MEASURE_THICKNESS_CENTRES_H
#define CRD_MEASURE_THICKNESS_CENTRES_H

#include "measure/thickness/distance.h"

typedef struct crd_centre {
    int64_t radius; /* squared */
    int64_t voxel;  /* (z * height + y) * width + x */
} crd_centre;

/* What it takes for a ball to hold another. */
typedef struct crd_ball_table {
    int64_t squares[3];
    int64_t *norms;    /* of all lattice vectors up to a length, rising, each once */
    int64_t *least[7]; /* [offset][i]: a ball of that squared radius, at a neighbour at `offset`, holds all vectors
                          before norms[i] */
    int64_t count;
    int64_t reach; /* the squared radius up to which the table goes */
} crd_ball_table;

/* Goes up to that squared radius, or as far as is reasonable. */
crd_status crd_ball_table_grow(crd_ball_table *table, int64_t radius);
void crd_ball_table_free(crd_ball_table *table);

/* Appends the centres of a slab's slices that no neighbour's ball makes needless; distances are there for one slice
 * beyond them, where the volume goes on. */
typedef struct crd_centres {
    crd_centre *items;
    int64_t count, room;
} crd_centres;
crd_status crd_centres_find(crd_centres *centres, const crd_ball_table *table, const crd_distance_slab *slab,
                            int64_t first, int64_t end, crd_pool *pool);
/* Largest radius first. */
crd_status crd_centres_sort(crd_centres *centres);
void crd_centres_free(crd_centres *centres);

#endif
