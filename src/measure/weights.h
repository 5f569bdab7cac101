/* What a cell of 2x2x2 voxels adds to surface, curvature and Euler number.
 *
 * A cell's code has bit 4 dz + 2 dy + dx for each of its corners that is of the phase. All that is measured on cells is
 * a sum over the histogram of their codes: whole numbers first, weighted by the spacing at the end, so that a mirrored
 * volume and a complement give the same bits.
 *
 * Surface and curvature are Crofton's formulas in 13 directions (Ohser & Muecklich 2000; Legland, Kieu & Devaux 2007).
 * Directions that are mirror images of each other form a class: three of edges, three of face diagonals, one of space
 * diagonals. Planes have the same classes by their normals: cell faces, an edge with a face diagonal, three face
 * diagonals. */
#ifndef CRD_MEASURE_WEIGHTS_H
#define CRD_MEASURE_WEIGHTS_H

#include <stdint.h>

enum { CRD_CELL_CODES = 256, CRD_CELL_CLASSES = 7 };

/* Sums over the codes of a histogram. */
typedef struct crd_cell_sums {
    int64_t cells;
    int64_t corners;                  /* of the phase, over all cells */
    int64_t unlike[CRD_CELL_CLASSES]; /* pairs along the class's directions with one end in the phase */
    int64_t tiles[CRD_CELL_CLASSES];  /* 4 or 6 times the planar Euler numbers of the tiles of the class's planes */
    int64_t euler[2];                 /* 8 times the Euler number, for 6- and 26-neighbours, */
    int64_t dual;                     /* and 8 times that of the complement for 6-neighbours */
    int64_t bare[3];                  /* faces normal to z, y, x without a voxel of the phase */
} crd_cell_sums;

/* What each code counts for, and pure functions of the spacing. */
typedef struct crd_cell_weights {
    struct crd_code_counts {
        int8_t corners, unlike[CRD_CELL_CLASSES], tiles[CRD_CELL_CLASSES], euler[2], dual, bare[3];
    } codes[CRD_CELL_CODES];
    double volume;                      /* of a voxel */
    double surface[CRD_CELL_CLASSES];   /* for each unlike pair of a cell */
    double curvature[CRD_CELL_CLASSES]; /* for each tile of a cell */
    double mesh[CRD_CELL_CODES];        /* area that marching cubes puts into a cell */
} crd_cell_weights;

void crd_cell_weights_make(const double spacing[3], crd_cell_weights *out);

void crd_cell_sum(const crd_cell_weights *weights, const int64_t histogram[CRD_CELL_CODES], crd_cell_sums *out);

/* Densities; NaN without cells. Per volume: area, integral of mean curvature; Euler number for 6- and 26-neighbours. */
double crd_surface_density(const crd_cell_weights *weights, const crd_cell_sums *sums);
double crd_curvature_density(const crd_cell_weights *weights, const crd_cell_sums *sums);
double crd_euler_density(const crd_cell_weights *weights, const crd_cell_sums *sums, int neighbours);
double crd_mesh_density(const crd_cell_weights *weights, const int64_t histogram[CRD_CELL_CODES]);

/* The share of the sphere that is nearer to each direction or its opposite than to the others. Lengths don't count;
 * three of them at least are at right angles. At most 13. */
void crd_sphere_shares(const double (*directions)[3], int count, double *shares);

/* The area of marching cubes in a cell of that code. */
double crd_mesh_area(int code, const double spacing[3]);

#endif
