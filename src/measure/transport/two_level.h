/* Inside src/measure: transport on cells of 2x2x2 voxels, an eighth of the work, and what corrects it.
 *
 * Coarse cells conduct a few percent too well, and by nearly the same factor everywhere in a material: the factor is
 * found where voxels can be solved for, in windows, or in another realisation. */
#ifndef CRD_MEASURE_TRANSPORT_TWO_LEVEL_H
#define CRD_MEASURE_TRANSPORT_TWO_LEVEL_H

#include "measure/transport/laplace.h"

/* The largest edge of windows that can be solved within so many bytes; 0: none can. */
int64_t crd_two_level_window(const int64_t shape[3], bool conductivity, int64_t memory_bytes);

/* What voxels conduct over what coarse cells do, sum over sum, in up to eight windows of that edge that are spread
 * evenly over the bitmap; 1 where nothing percolates in them. `problem` says the rest; its `cell` doesn't count. */
crd_status crd_two_level_ratio(const crd_laplace *problem, int64_t window, double *ratio);

#endif
