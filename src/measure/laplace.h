/* Steady diffusion or conduction through a phase: div grad c = 0 by finite volumes on voxels, c = 1 and 0 on the
 * window's two faces normal to an axis, half a voxel from the outer centres, and no flux elsewhere. */
#ifndef CRD_MEASURE_LAPLACE_H
#define CRD_MEASURE_LAPLACE_H

#include "measure/bitmap.h"

typedef struct crd_transport {
    double relative;     /* effective / bulk diffusivity; 0 where nothing joins the two faces */
    int64_t percolating; /* voxels of the components that join them */
    double error;        /* what the last three iterations changed, relative to it */
    int iterations;
    bool converged;
} crd_transport;

/* Bytes that it takes beside the bitmap. */
int64_t crd_laplace_bytes(const int64_t shape[3]);
crd_status crd_laplace_solve(const crd_bitmap *bitmap, const double spacing[3], int axis, double tolerance,
                             crd_pool *pool, crd_transport *out);

#endif
