/* Is this scan like those the model was trained on? */
#ifndef CRD_PREDICT_TRAINING_MATCH_H
#define CRD_PREDICT_TRAINING_MATCH_H

#include "predict/request.h"

/* How this scan compares with those; the manifest calls it "likeness". */
typedef struct crd_training_match {
    double expected_error;          /* in this run: predict/expected_error.h */
    double training_expected_error; /* in the model's pieces; NaN where norms aren't frozen at them */
    double histogram_distance;      /* of the grey values; NaN where the model has none */
} crd_training_match;

/* Warns where grey values or voxel size differ; returns the distance of the grey values, NaN where the model knows of
 * none. */
double crd_training_match_check(const crd_request *request, const crd_scan *scan, const crd_monitor *monitor);

/* Largest difference of the two cumulative distributions, 0 .. 1 (Kolmogorov-Smirnov); values are compared after
 * (value - mean) / std of each where `normalised`. */
double crd_training_match_distance(const crd_training_record *training, const crd_volume_statistics *scan,
                                   bool normalised);

#endif
