/* Is this scan like those the model was trained on? */
#ifndef CRD_PREDICT_TRAINING_MATCH_H
#define CRD_PREDICT_TRAINING_MATCH_H

#include "predict/request.h"

/* Warns where grey values or voxel size differ; returns the distance of the grey values, NaN where the model knows of
 * none. */
double crd_training_match_check(const crd_request *request, const crd_scan *scan, const crd_monitor *monitor);

/* Largest difference of the two cumulative distributions, 0 .. 1 (Kolmogorov-Smirnov); values are compared after
 * (value - mean) / std of each where `normalised`. */
double crd_training_match_distance(const crd_training_record *training, const crd_volume_statistics *scan,
                                   bool normalised);

#endif
