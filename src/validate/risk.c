/* Risk over coverage, from the bins of the uncertainty. */
#include <math.h>

#include "base/portable_math.h"
#include "validate/figures.h"

/* 1/(c+1) + ... + 1/(c+m): by adding where that is short, else by the asymptotic series of the harmonic numbers. */
static double harmonic_difference(double c, double m)
{
    double sum = 0.0;
    while (m > 0.0 && (c < 64.0 || m < 64.0)) {
        c += 1.0;
        m -= 1.0;
        sum += 1.0 / c;
    }
    if (m <= 0.0) return sum;
    const double a = c, b = c + m, aa = a * a, bb = b * b;
    return sum + crd_log(b / a) + (1.0 / (2.0 * b) - 1.0 / (2.0 * a)) - (1.0 / (12.0 * bb) - 1.0 / (12.0 * aa)) +
           (1.0 / (120.0 * bb * bb) - 1.0 / (120.0 * aa * aa));
}

double crd_risk_area(int64_t (*bins)[2], int64_t count)
{
    double covered = 0.0, errors = 0.0, area = 0.0;
    for (int64_t i = 0; i < count; i++) {
        const double wrong = (double)bins[i][1], all = (double)bins[i][0] + wrong;
        if (all == 0.0) continue;
        /* Within a bin the errors come evenly: sum over j = 1 .. all of (errors + wrong * j / all) / (covered + j). */
        area += wrong + (errors - wrong * covered / all) * harmonic_difference(covered, all);
        covered += all;
        errors += wrong;
    }
    return covered > 0.0 ? area / covered : (double)NAN;
}
