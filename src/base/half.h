/* Numbers of half precision (IEEE 754 binary16). */
#ifndef CRD_BASE_HALF_H
#define CRD_BASE_HALF_H

/* The nearest one: to even in the middle, the largest in place of larger ones. */
float crd_round_to_half(float value);

#endif
