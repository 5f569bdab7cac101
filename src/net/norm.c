#include "net/norm.h"

#include "base/assert.h"

#include <math.h>

static const double EPSILON = 1e-5;

void crd_norm_forward(crd_norm *norm, const float *gamma, const float *beta)
{
    const int width = norm->channels / norm->groups;
    const double count = norm->voxels * width;
    CRD_ASSERT(width > 0 && width * norm->groups == norm->channels && norm->voxels > 0);
    for (int group = 0; group < norm->groups; group++) {
        double sum = 0.0, square = 0.0;
        for (int c = group * width; c < (group + 1) * width; c++) {
            sum += norm->sum[c];
            square += norm->square[c];
        }
        const double mean = sum / count;
        const double variance = square / count - mean * mean;
        norm->mean[group] = mean;
        /* 0 * variance: NaN where it isn't finite, which must become neither 0 nor a scale of 0 */
        norm->rstd[group] = 1.0 / sqrt((variance > 0.0 ? variance : 0.0) + 0.0 * variance + EPSILON);
        for (int c = group * width; c < (group + 1) * width; c++) {
            const double scale = gamma[c] * norm->rstd[group];
            norm->scale[c] = (float)scale;
            norm->shift[c] = (float)(beta[c] - mean * scale);
        }
    }
}

void crd_norm_backward(const crd_norm *norm, const float *gamma, const double *sum_g, const double *sum_gx,
                       float *dgamma, float *dbeta, double *a, double *b, double *c)
{
    const int width = norm->channels / norm->groups;
    const double count = norm->voxels * width;
    for (int group = 0; group < norm->groups; group++) {
        const double mean = norm->mean[group], rstd = norm->rstd[group];
        double mean_g = 0.0, mean_gn = 0.0; /* of gamma * g, and of gamma * g * (x - mean) * rstd, over the group */
        for (int i = group * width; i < (group + 1) * width; i++) {
            const double sum_gn = rstd * (sum_gx[i] - mean * sum_g[i]);
            dgamma[i] = (float)sum_gn;
            dbeta[i] = (float)sum_g[i];
            mean_g += gamma[i] * sum_g[i] / count;
            mean_gn += gamma[i] * sum_gn / count;
        }
        for (int i = group * width; i < (group + 1) * width; i++) {
            a[i] = rstd * gamma[i];
            b[i] = -rstd * rstd * mean_gn;
            c[i] = -rstd * mean_g + rstd * rstd * mean * mean_gn;
        }
    }
}
