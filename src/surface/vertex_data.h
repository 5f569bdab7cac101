/* What is known at a vertex beside its place. */
#ifndef CRD_SURFACE_VERTEX_DATA_H
#define CRD_SURFACE_VERTEX_DATA_H

#include "surface/mesh_part.h"
#include "surface/slices.h"

/* A vertex as the grid has it: on the edge between two neighbouring samples. z, y, x throughout. */
typedef struct crd_edge_point {
    int64_t ends[2][3]; /* the samples; the nearest ones where an end is beyond the volume */
    double t;           /* how far it is from the first to the second */
    double place[3];    /* in voxels: whole numbers are middles of voxels */
    int axis;
    int outwards; /* 1 where the phase is at the first end, else -1 */
} crd_edge_point;

typedef enum crd_datum {
    CRD_DATUM_PROBABILITY,
    CRD_DATUM_UNCERTAINTY,
    CRD_DATUM_DISPLACEMENT, /* distance between the surfaces of two percentiles, across the surface */
    CRD_DATUM_KINDS
} crd_datum;

const char *crd_datum_name(crd_datum kind);

/* How far from a vertex the percentiles' surfaces are looked for, in smallest voxel edges to either side. */
enum { CRD_DISPLACEMENT_REACH = 8 };

enum { CRD_NO_SOURCE = -1 };

typedef struct crd_vertex_data {
    int count;
    crd_datum kinds[CRD_VERTEX_DATA];
    const crd_slices *slices;
    int64_t shape[3];
    double spacing[3];
    double level;
    /* Which of the slices' sources they are, or CRD_NO_SOURCE. Two percentiles, or the distance between two: these are
     * taken to lie half of it below and above the probability. */
    int probability, uncertainty, low, high, width;
} crd_vertex_data;

/* How many slices before and behind those of a vertex are needed. */
int64_t crd_vertex_data_reach(const crd_vertex_data *data);

void crd_vertex_data_at(const crd_vertex_data *data, const crd_edge_point *at, float *out);

#endif
