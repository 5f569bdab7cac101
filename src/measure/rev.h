/* Inside src/measure: how properties of the segmentation differ from block to block, for blocks of several sizes: which
 * size stands for the whole. */
#ifndef CRD_MEASURE_REV_H
#define CRD_MEASURE_REV_H

#include "measure/slow.h"

/* Adds rows for the densities of a phase, and with `transport` for its diffusivity along the axes of the plan, in up to
 * 27 windows of each size. Of the segmentation, or of the first realisation where there is none. */
crd_status crd_rev_add(const crd_slow_plan *plan, bool transport, crd_measurement *m);

#endif
