#include "net/norm.h"

#include "base/assert.h"

#include <math.h>
#include <stddef.h>

static const double EPSILON = 1e-5;

static crd_moments group_moments(const crd_norm *const *norms, int count, int group)
{
    const int width = norms[0]->channels / norms[0]->groups;
    CRD_ASSERT(width > 0 && width * norms[0]->groups == norms[0]->channels && norms[0]->voxels > 0);
    double sum = 0.0, square = 0.0, voxels = 0.0;
    for (int i = 0; i < count; i++) {
        for (int c = group * width; c < (group + 1) * width; c++) {
            sum += norms[i]->sum[c];
            square += norms[i]->square[c];
        }
        voxels += norms[i]->voxels;
    }
    return (crd_moments){sum / (voxels * width), square / (voxels * width)};
}

void crd_norm_moments(const crd_norm *const *norms, int count, crd_moments *moments)
{
    for (int group = 0; group < norms[0]->groups; group++) moments[group] = group_moments(norms, count, group);
}

void crd_norm_forward(crd_norm *norm, const crd_moments *moments, const float *gamma, const float *beta)
{
    const crd_norm *const self = norm;
    const int width = norm->channels / norm->groups;
    for (int group = 0; group < norm->groups; group++) {
        const crd_moments m = moments != NULL ? moments[group] : group_moments(&self, 1, group);
        const double mean = m.mean, variance = m.square - mean * mean;
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
