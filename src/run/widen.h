/* The 90 % interval of a volume fraction: that of the samples, and what the network gets wrong as a whole, which no
 * sample shows. The second is what the model's tries on made-up changes of its training scans found (crd_systematic),
 * carried over to this scan by how doubtful the network is in it. */
#ifndef CRD_RUN_WIDEN_H
#define CRD_RUN_WIDEN_H

#include "credence/model.h"

/* The systematic standard deviation of a class's volume fraction, where `spread` is the mean of p (1 - p) over the
 * voxels; NaN where the model knows of none. */
double crd_systematic_term(const crd_systematic *systematic, int class, double spread);

/* Where the probability is cut by an offset of the logit, 90 % down (low) and up, that `term` stands for. */
void crd_systematic_cuts(double term, double spread, double cuts[2]);

/* Adds what a property changes by from the segmentation to both cuts, in squares, to both sides of its interval around
 * the median. Never narrower. */
void crd_interval_widen_by_cuts(double median, double segmentation, const double cuts[2], double interval[2]);

/* Adds the term, in squares, to both halves of the samples' interval around `mean`. Never narrower, and within 0 .. 1.
 * Does nothing where the term is NaN. */
void crd_interval_widen(double mean, double term, double interval[2]);

#endif
