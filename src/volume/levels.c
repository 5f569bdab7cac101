#include "volume/levels.h"

#include <math.h>

/* The share of voxels on either side that counts as outliers. */
static const double TAIL = 0.01;

static int64_t total_of(const int64_t *counts, int64_t bins)
{
    int64_t total = 0;
    for (int64_t i = 0; i < bins; i++) total += counts[i];
    return total;
}

/* The bins in which the 1st and the 99th percentile lie. */
static void tails(const int64_t *counts, int64_t bins, int64_t *low, int64_t *high)
{
    const double outside = TAIL * (double)total_of(counts, bins);
    int64_t below = counts[0], above = counts[bins - 1];
    for (*low = 0; *low < bins - 1 && (double)below <= outside;) below += counts[++*low];
    for (*high = bins - 1; *high > *low && (double)above <= outside;) above += counts[--*high];
}

/* The least value of a coarse bin, or an infinity of its sign. */
static double coarse_edge(int64_t bin)
{
    uint32_t bits = (uint32_t)bin << 16;
    float edge;
    bits = (bits & UINT32_C(0x80000000)) != 0 ? bits & UINT32_C(0x7fffffff) : ~bits;
    memcpy(&edge, &bits, sizeof edge);
    return edge == edge ? (double)edge : bin < CRD_LEVEL_BINS / 2 ? -HUGE_VAL : HUGE_VAL;
}

void crd_level_range(const int64_t coarse[CRD_LEVEL_BINS], double minimum, double maximum, double range[2])
{
    int64_t low, high;
    tails(coarse, CRD_LEVEL_BINS, &low, &high);
    const double a = fmax(coarse_edge(low), minimum);
    const double b = high + 1 < CRD_LEVEL_BINS ? fmin(coarse_edge(high + 1), maximum) : maximum;
    const double around = (b - a) / 2.0; /* the percentiles lie between a and b, so theirs is no larger */
    range[0] = fmax(a - around, minimum);
    range[1] = fmin(b + around, maximum);
}

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

void crd_level_find(const crd_level_counts *c, double levels[2])
{
    int64_t low, high, weight = 0;
    tails(c->counts, c->bins, &low, &high);
    const double p1 = c->first + (double)low * c->width, p99 = c->first + (double)high * c->width;
    levels[0] = c->minimum;
    levels[1] = c->maximum;
    if (!isfinite(c->width) || c->minimum == c->maximum) return;
    if (low == high) { /* one value, but for a few: it, and the one farthest from it */
        const double common = clamp(p1, c->minimum, c->maximum);
        levels[common - c->minimum < c->maximum - common ? 0 : 1] = common;
        return;
    }
    const double least = p1 - (p99 - p1) / 2.0, most = p99 + (p99 - p1) / 2.0;
    double sum = 0.0, all = 0.0, best = -1.0;
    for (int64_t i = 0; i < c->bins; i++) {
        all += (double)c->counts[i] * (clamp(c->first + (double)i * c->width, least, most) - p1);
    }
    const double total = (double)total_of(c->counts, c->bins);
    for (int64_t i = 0; i < c->bins; i++) {
        if (c->counts[i] == 0) continue;
        weight += c->counts[i];
        sum += (double)c->counts[i] * (clamp(c->first + (double)i * c->width, least, most) - p1);
        const double w = (double)weight, rest = total - w;
        if (rest <= 0.0) break;
        const double darker = sum / w, brighter = (all - sum) / rest, apart = brighter - darker;
        const double between = w * rest * apart * apart;
        if (between <= best) continue;
        best = between;
        levels[0] = p1 + darker;
        levels[1] = p1 + brighter;
    }
}
