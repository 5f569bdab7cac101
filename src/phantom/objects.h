/* Objects of a phantom (grains, voids): how they are drawn from the seed, and their distance to every voxel.
 *
 * Space is divided into cells; every cell holds at most one object of a population, somewhere inside it. An object is
 * a function of the seed and its cell's number alone, so nothing is stored: a window asks the cells within reach. */
#ifndef CRD_PHANTOM_OBJECTS_H
#define CRD_PHANTOM_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "phantom/field.h"

/* A rounded box turned in space: between an ellipsoid (boxiness 0) and a superellipsoid of power 4 (boxiness 1), cut
 * by two flat faces. */
typedef struct crd_object {
    double centre[3];  /* z, y, x, in voxels */
    double radius[3];  /* semi-axes, in voxels: the object's own axes, flat one first */
    double axis[3][3]; /* unit vectors of those axes, in z, y, x */
    double boxiness;
    double facet[2][3];    /* unit vectors in the scaled frame (where the ellipsoid is a ball of radius 1) */
    double facet_depth[2]; /* 1: touches the ball, does not cut it; 0.7: takes a slice off */
    float grey;            /* offset of its grey value, standard normal */
} crd_object;

typedef struct crd_population {
    uint64_t seed;
    uint32_t layer;
    double cell[3];         /* edges, z, y, x; the number of objects follows from them */
    double scatter;         /* share of its cell that an object's centre may lie in: 1 is random, 0 a lattice */
    double size;            /* typical radius (geometric mean of the three) */
    double spread;          /* standard deviation of the logarithm of the size */
    double flatness;        /* long radius over short radius */
    double flatness_spread; /* standard deviation of its logarithm */
    double slope;           /* tangent of the typical angle between the flat axis and z; < 0: any direction */
    double boxiness;        /* upper limit; each object has its own */
    double facets;          /* how deep the flat faces may cut, 0 .. 0.6 */
    double small;           /* objects below this size may be missed by who labels */
    double miss;            /* ... with this probability */
    /* May this object exist? `chance` is its own random number in (0, 1). NULL: always. */
    bool (*accept)(const void *scene, const crd_object *object, double chance);
    const void *scene;
} crd_population;

/* The two smallest distances to any object, in voxels, negative inside, cut off at the far limit; and the grey offset
 * of the nearest object. */
typedef struct crd_distances {
    float *nearest, *second, *grey;
} crd_distances;

void crd_distances_clear(const crd_distances *distances, int64_t count, float far_limit);

/* Lowers the distances by all objects of the population that are missed (or by all that are not). Each voxel's result
 * does not depend on the window. */
void crd_population_draw(const crd_population *population, const crd_window *window, bool missed, float far_limit,
                         const crd_distances *distances);

/* The mean volume of its objects, without facets. */
double crd_population_volume(const crd_population *population);

#endif
