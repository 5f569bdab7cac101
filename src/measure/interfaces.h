/* Inside src/measure: what lies between phases, from the cells of the first pass.
 *
 * Interfaces: a pair of voxels that holds one of A and one of B is unlike for A and for B and not for A and B taken as
 * one, so (A + B - AB) / 2 counts these pairs, and the interfaces of a phase add up to its surface.
 * Triple lines: a face of a cell, four voxels around a voxel edge, that holds all of A, B and C is crossed by the line.
 * Faces that hold all of three phases come from those that hold none of one, two or three of them. */
#ifndef CRD_MEASURE_INTERFACES_H
#define CRD_MEASURE_INTERFACES_H

#include "measure/pass.h"
#include "measure/results.h"

/* Adds `interface_area_A-B` and `triple_line_A-B-C` of all phases; the pass counted sets. */
crd_status crd_interfaces_add(const crd_pass *pass, crd_measurement *m);

#endif
