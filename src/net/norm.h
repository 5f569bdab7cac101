/* Group norm as arithmetic on per-channel sums: from sums to scale and shift, and from gradient sums to the
 * coefficients of the gradient. No voxel is touched here. */
#ifndef CRD_NET_NORM_H
#define CRD_NET_NORM_H

#include <stdint.h>

/* A normalised set of channels: value = gamma * (x - mean) * rstd + beta = scale * x + shift. */
typedef struct crd_norm {
    int channels, groups;
    double voxels;
    double *sum, *square; /* of x per channel */
    double *mean, *rstd;  /* per group */
    float *scale, *shift; /* per channel */
} crd_norm;

/* What a group's values are on average: of one chunk, or of all that stands for the scans a network was made for. */
typedef struct crd_moments {
    double mean, square; /* of the values, and of their squares */
} crd_moments;

/* The moments of every group, from the sums of several equal sets of channels together. */
void crd_norm_moments(const crd_norm *const *norms, int count, crd_moments *moments);
/* Fills mean, rstd, scale and shift: from `moments`, or, where that is NULL, from sum and square. */
void crd_norm_forward(crd_norm *norm, const crd_moments *moments, const float *gamma, const float *beta);

/* Per channel: the sums of g and g * x, where g is the gradient of the normalised value. Fills dgamma and dbeta, and
 * the coefficients of dx = a * g + b * x + c. */
void crd_norm_backward(const crd_norm *norm, const float *gamma, const double *sum_g, const double *sum_gx,
                       float *dgamma, float *dbeta, double *a, double *b, double *c);

#endif
