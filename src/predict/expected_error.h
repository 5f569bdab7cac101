/* Is the scan as hard for the network as those it learnt from? The share of voxels that the network itself expects to
 * get wrong, which is the mean of min(p, 1 - p) over them, is measured in the finished run and in the pieces of its
 * training scans that the model carries. Where a scan has more noise, less contrast, finer objects or another fraction
 * than those, the network is less sure of it: what it expects rises with what it gets wrong. It doesn't where the
 * network is sure and wrong, as with brightness that changes across the scan. */
#ifndef CRD_PREDICT_EXPECTED_ERROR_H
#define CRD_PREDICT_EXPECTED_ERROR_H

#include "predict/training_match.h"

typedef struct crd_predict_run crd_predict_run;

/* Fills training_expected_error; the norms' moments are known. */
crd_status crd_expected_error_of_training(crd_predict_run *r, crd_training_match *out);
/* From sums of round(min(p, 1 - p) * 2^32) over so many voxels: fills expected_error, and warns of a scan that is much
 * harder. */
void crd_expected_error_check(double doubt, int64_t voxels, const crd_monitor *monitor, crd_training_match *match);

#endif
