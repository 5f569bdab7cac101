/* What the surface looks like inside one cell: a block of 2 x 2 x 2 samples, of which each lies inside the phase or
 * outside it.
 *
 * Marching cubes with a table that is computed from rules, not copied, so that what it promises can be read off:
 * - On a face of a cell, two inside samples across a diagonal are apart. A face's segments depend on its own four
 *   samples alone, so cells that share a face fit together, and the surface has no gaps.
 * - In a cell, inside samples belong together where edges or whole faces of the phase join them, as for a phase of
 *   6-neighbours: the surface has the topology of the voxels, and twice the Euler number that 6-neighbours give. Two
 *   outside samples at opposite ends of a cell whose other six are inside are joined by a tunnel.
 * - Every crossed edge of the grid has one vertex, which in each cell around it belongs to one loop; no diagonal of a
 *   loop lies in a face, where the next cell could have it, too. So every edge of the mesh belongs to two triangles,
 * and the triangles around a vertex are one fan.
 *
 * Sample (dz, dy, dx) of a cell is number 4 dz + 2 dy + dx and that bit of the cell's code. Edge 4 a + k runs along
 * axis a (0: x, 1: y, 2: z); k counts the four by their places along the other two axes, the one that varies faster in
 * the order x, y, z first. */
#ifndef CRD_SURFACE_CASES_H
#define CRD_SURFACE_CASES_H

#include <stdint.h>

enum { CRD_CELL_CASES = 256, CRD_CELL_EDGES = 12, CRD_CASE_TRIANGLES = 6 };

typedef struct crd_cell_case {
    uint16_t crossed; /* bit e: the surface crosses edge e */
    uint8_t triangles;
    uint8_t corners[CRD_CASE_TRIANGLES][3]; /* edges; anticlockwise for who looks from outside the phase */
} crd_cell_case;

/* The table, by code. Any thread may ask at any time. */
const crd_cell_case *crd_cell_cases(void);

/* The sample at the lower end of an edge; the other end is 1 << axis further. */
int crd_cell_edge_start(int edge);

#endif
