/* From sums to figures. */
#ifndef CRD_VALIDATE_FIGURES_H
#define CRD_VALIDATE_FIGURES_H

#include "validate/sweep.h"

/* `validation` is empty, and is the caller's to free whatever happens. */
crd_status crd_figures_make(const crd_sweep *sweep, const crd_tally *tally, crd_validation *validation);

/* A validation with every figure NaN and every list empty. */
crd_status crd_validation_create(crd_validation **out);

/* The mean of n values that sum up to `sum`, in `unit`s; NaN where n is 0. */
double crd_wide_mean(crd_wide sum, int64_t n, double unit);
/* a / b; NaN where b is 0. */
double crd_share(int64_t a, int64_t b);

/* The area under risk over coverage: mean over i of the error rate among the i most certain voxels, ties averaged. */
double crd_risk_area(int64_t (*bins)[2], int64_t count);

/* Whether two errors, what is missing from perfect, differ too little to call either the smaller one. */
bool crd_errors_level(double a, double b);

crd_status crd_list_make(int64_t count, crd_real_list *list);

#endif
