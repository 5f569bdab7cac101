#include "train/heldout/jackknife.h"

#include <math.h>

#include "base/portable_math.h"

/* The 95th percentile of Student's t for 1, 2, ... degrees of freedom. */
static const double student[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782,
                                 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714};

static double stretched(double value, bool share, double voxels)
{
    const double least = 0.5 / voxels;
    value = value < least ? least : value;
    if (!share) return crd_log(value);
    value = value > 1.0 - least ? 1.0 - least : value;
    return crd_log(value / (1.0 - value));
}

static double back(double value, bool share)
{
    return share ? crd_sigmoid(value) : crd_exp(value);
}

void crd_jackknife_begin(crd_jackknife *j, double figure, int64_t parts, double voxels, bool share)
{
    *j = (crd_jackknife){.figure = figure, .voxels = voxels, .parts = parts, .share = share};
    j->failed = parts < 2 || !isfinite(figure);
    if (!j->failed) j->all = stretched(figure, share, voxels);
}

void crd_jackknife_without(crd_jackknife *j, double figure)
{
    if (j->failed) return;
    const double rest = stretched(figure, j->share, j->voxels);
    j->failed = !isfinite(rest);
    const double value = (double)j->parts * j->all - (double)(j->parts - 1) * rest;
    j->sum += value;
    j->squares += value * value;
    j->left_out++;
}

void crd_jackknife_interval(const crd_jackknife *j, double out[2])
{
    enum { TABLE = sizeof student / sizeof student[0] };
    out[0] = out[1] = (double)NAN;
    if (j->failed || j->left_out != j->parts) return;
    const double mean = j->sum / (double)j->parts;
    const double variance = fmax(0.0, j->squares / (double)j->parts - mean * mean) / (double)(j->parts - 1);
    const double half = student[j->parts - 2 < TABLE ? j->parts - 2 : TABLE - 1] * sqrt(variance);
    out[0] = back(j->all - half, j->share);
    out[1] = back(j->all + half, j->share);
    if (!j->share) return;
    /* Stretched, a share of 0 or 1 is half a voxel off; the interval holds the figure itself all the same. */
    out[0] = fmin(out[0], j->figure);
    out[1] = fmax(out[1], j->figure);
}
