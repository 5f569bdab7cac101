/* Is the scan as hard for the network as those it learnt from? The share of voxels that the network itself expects to
 * get wrong, which is the mean of min(p, 1 - p) over them, is measured in the finished run and in the pieces of its
 * training scans that the model carries. Where a scan has more noise, less contrast, finer objects or another fraction
 * than those, the network is less sure of it: what it expects rises with what it gets wrong. It doesn't where the
 * network is sure and wrong, as with brightness that changes across the scan. */
#ifndef CRD_PREDICT_LIKENESS_H
#define CRD_PREDICT_LIKENESS_H

#include "predict/request.h"

typedef struct crd_predict_run crd_predict_run;

typedef struct crd_likeness {
    double expected_error;          /* in this run */
    double training_expected_error; /* in the model's pieces; NaN where norms aren't frozen at them */
    double histogram_distance;      /* of the grey values (training_match.h); NaN where the model has none */
} crd_likeness;

/* Fills training_expected_error; the norms' moments are known. */
crd_status crd_likeness_of_training(crd_predict_run *r, crd_likeness *out);
/* From sums of round(min(p, 1 - p) * 2^32) over so many voxels: fills expected_error, and warns of a scan that is much
 * harder. */
void crd_likeness_check(double doubt, int64_t voxels, const crd_monitor *monitor, crd_likeness *likeness);

#endif
