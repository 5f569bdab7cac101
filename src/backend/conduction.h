/* Steady diffusion through voxels (measure/transport/laplace.h) as a device is asked for it: what is solved, what comes
 * back, and what every solver has in common, so that all of them take the same steps. */
#ifndef CRD_BACKEND_CONDUCTION_H
#define CRD_BACKEND_CONDUCTION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CRD_CONDUCTION_LEVELS = 16,      /* grids at most, */
    CRD_CONDUCTION_FEW_CELLS = 400,  /* of which the coarsest has so few cells */
    CRD_CONDUCTION_SWEEPS = 40,      /* and gets so many sweeps of either order */
    CRD_CONDUCTION_COARSEST = 1024,  /* cells that it may have on a device, */
    CRD_CONDUCTION_SLICES = 65535,   /* where the finest has so many slices at most, and eight times as many rows */
    CRD_CONDUCTION_ITERATIONS = 300, /* of conjugate gradients, */
    CRD_CONDUCTION_LAST = 3          /* of which so many must change little before they stop */
};
/* What a coarser grid says is taken so many times. */
#define CRD_CONDUCTION_OVERCORRECTION 1.8f

/* The shapes of the grids of `cells`, each an aggregate of 2x2x2 of the one before; gives how many they are. */
static inline int crd_conduction_shapes(const int64_t cells[3], int64_t shapes[CRD_CONDUCTION_LEVELS][3])
{
    for (int axis = 0; axis < 3; axis++) shapes[0][axis] = cells[axis];
    for (int level = 0;; level++) {
        const int64_t *s = shapes[level];
        if (s[0] * s[1] * s[2] <= CRD_CONDUCTION_FEW_CELLS || level + 1 == CRD_CONDUCTION_LEVELS) return level + 1;
        for (int axis = 0; axis < 3; axis++) shapes[level + 1][axis] = (s[axis] + 1) / 2;
    }
}

/* Is it anything for a device? What the coarsest grid alone solves, and rows of millions, are the CPU's. */
static inline bool crd_conduction_suits_device(const int64_t cells[3])
{
    int64_t shapes[CRD_CONDUCTION_LEVELS][3];
    const int levels = crd_conduction_shapes(cells, shapes);
    const int64_t *last = shapes[levels - 1];
    if (cells[0] > CRD_CONDUCTION_SLICES || cells[1] > 8 * CRD_CONDUCTION_SLICES) return false;
    return levels > 1 && last[0] * last[1] * last[2] <= CRD_CONDUCTION_COARSEST;
}

typedef struct crd_conduction_plan {
    int64_t shape[3];
    int64_t words;              /* of 64 voxels in a row */
    const uint64_t *voxels;     /* [z][y][word]: those that join the two faces */
    const uint8_t *numbers;     /* [z][y][x]: of phases; NULL where all voxels conduct alike */
    const double *conductivity; /* by their numbers, */
    int64_t conductivities;     /* so many; NULL and 0 with them */
    float unit[3]; /* the conductance of a voxel face between two cells; to a face with a value twice that */
    int axis;
    int cell; /* voxels along the edge of a cell: 1 or 2 */
    double tolerance;
    double scale; /* what dissipation is multiplied by */
} crd_conduction_plan;

typedef struct crd_conduction_result {
    double relative; /* dissipation x scale */
    double error;    /* what the last iterations changed, relative to it */
    double uneven;   /* largest difference between the fluxes through two layers, relative to their mean */
    double fallen[CRD_CONDUCTION_LAST]; /* by the last iterations */
    int iterations;
    bool converged;
} crd_conduction_result;

/* Must there be another iteration? */
static inline bool crd_conduction_goes_on(const crd_conduction_result *t)
{
    return t->iterations < CRD_CONDUCTION_ITERATIONS && !t->converged;
}

/* An iteration has found r.z and p.Ap: the dissipation falls by alpha r.z, and never below its limit. False: nothing is
 * left to improve, and no step is taken. */
static inline bool crd_conduction_fall(crd_conduction_result *t, double rz, double curvature, double scale,
                                       double tolerance)
{
    if (!(rz > 0.0) || !(curvature > 0.0)) {
        t->converged = true;
        return false;
    }
    const double fall = rz / curvature * rz * scale;
    double sum = 0.0;
    t->fallen[t->iterations++ % CRD_CONDUCTION_LAST] = fall;
    t->relative -= fall;
    for (int i = 0; i < CRD_CONDUCTION_LAST; i++) sum += t->fallen[i];
    t->error = sum / t->relative;
    t->converged = t->iterations >= CRD_CONDUCTION_LAST && t->error < tolerance;
    return true;
}

#endif
