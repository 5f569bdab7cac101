/* Steady diffusion or conduction through a phase: div grad c = 0 by finite volumes on voxels, c = 1 and 0 on the
 * window's two faces normal to an axis, half a voxel from the outer centres, and no flux elsewhere. */
#ifndef CRD_MEASURE_TRANSPORT_LAPLACE_H
#define CRD_MEASURE_TRANSPORT_LAPLACE_H

#include "backend/backend.h"
#include "measure/bitmap.h"

typedef struct crd_conduction {
    double relative; /* effective / bulk diffusivity, or effective conductivity; 0 where nothing joins the two faces */
    int64_t percolating; /* voxels of the components that join them */
    double error;        /* what the last three iterations changed, relative to it */
    double uneven;       /* largest difference between the fluxes through two layers, relative to their mean */
    int iterations;
    bool converged;
} crd_conduction;

/* What is solved. */
typedef struct crd_laplace {
    const crd_bitmap *bitmap;
    double spacing[3];
    int axis;
    double tolerance;
    const double
        *conductivity; /* of CRD_PHASES_MAX phases, of a bitmap with their numbers; NULL: of all its voxels 1 */
    int cell; /* voxels along the edge of a cell: 1, or 2: aggregates, an eighth of the work, a few percent off */
    crd_pool *pool;
    const crd_monitor *monitor; /* is asked in every iteration; NULL: nobody is */
    /* What solves it where that suits (backend/conduction.h); NULL: the pool does. */
    const crd_backend *backend;
    const crd_device_settings *device;
} crd_laplace;

/* Bytes that it takes beside the bitmap. */
int64_t crd_laplace_bytes(const int64_t shape[3], int cell, bool conductivity);
crd_status crd_laplace_solve(const crd_laplace *problem, crd_conduction *out);

#endif
