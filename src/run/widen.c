#include "run/widen.h"

#include <math.h>

/* Of a normal distribution: the median of |x|, and what 90 % of all lie within, in standard deviations. */
static const double MEDIAN_SIZE = 0.6744897501960817, NINETY = 1.6448536269514722;

double crd_systematic_term(const crd_systematic *systematic, int class, double spread)
{
    return systematic->shifts > 0 ? systematic->median[class] / MEDIAN_SIZE * spread : (double)NAN;
}

void crd_interval_widen(double mean, double term, double interval[2])
{
    if (isnan(term)) return;
    const double low = mean - hypot(mean - interval[0], NINETY * term);
    const double high = mean + hypot(interval[1] - mean, NINETY * term);
    interval[0] = fmax(fmin(low, interval[0]), 0.0);
    interval[1] = fmin(fmax(high, interval[1]), 1.0);
}

void crd_systematic_cuts(double term, double spread, double cuts[2])
{
    const double offset = NINETY * term / spread;
    cuts[0] = 1.0 / (1.0 + exp(-offset)); /* fewer voxels lie above */
    cuts[1] = 1.0 / (1.0 + exp(offset));
}

void crd_interval_widen_by_cuts(double median, double segmentation, const double cuts[2], double interval[2])
{
    const double below = fmax(segmentation - fmin(cuts[0], cuts[1]), 0.0);
    const double above = fmax(fmax(cuts[0], cuts[1]) - segmentation, 0.0);
    interval[0] = median - hypot(median - interval[0], below);
    interval[1] = median + hypot(interval[1] - median, above);
}
