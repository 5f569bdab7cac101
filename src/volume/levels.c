#include "volume/levels.h"

#include <math.h>
#include <stdbool.h>

#include "base/portable_math.h"

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

/* --- two phases -------------------------------------------------------------------------------------------------- */

enum { PHASE_BINS = 1024, PHASE_TURNS = 500 };
/* How far from Otsu's levels those of the phases may lie, in units of half of the distance between Otsu's: the middle
 * of the two, and half of their distance. Counts of one peak, which any narrow pair would fit, give no more than that.
 */
static const double FARTHEST_MIDDLE = 1.0, LEAST_HALF = 0.6, MOST_HALF = 1.25;
/* Of the variance and of a phase's share; and how little the means must move for the search to end. */
static const double LEAST_VARIANCE = 1e-6, LEAST_SHARE = 1e-3, SETTLED = 1e-6;

/* Counts in few bins; a bin's value is the mean of what it counts. Otsu's levels lie at -1 and 1. */
typedef struct phase_counts {
    double count[PHASE_BINS], value[PHASE_BINS];
    double total, sum, squares;
} phase_counts;

static void gather(const crd_level_counts *c, const double levels[2], phase_counts *out)
{
    int64_t low, high;
    tails(c->counts, c->bins, &low, &high);
    const double middle = levels[0] / 2.0 + levels[1] / 2.0, half = levels[1] / 2.0 - levels[0] / 2.0;
    const double p1 = c->first + (double)low * c->width, p99 = c->first + (double)high * c->width;
    const double least = p1 - (p99 - p1) / 2.0, range = 2.0 * (p99 - p1);
    *out = (phase_counts){.total = 0.0};
    for (int64_t i = 0; i < c->bins; i++) {
        const double value = clamp(c->first + (double)i * c->width, least, least + range);
        const double bin = fmin((value - least) / range * PHASE_BINS, PHASE_BINS - 1);
        out->count[(int)bin] += (double)c->counts[i];
        out->value[(int)bin] += (double)c->counts[i] * ((value - middle) / half);
    }
    for (int i = 0; i < PHASE_BINS; i++) {
        if (!(out->count[i] > 0.0)) continue;
        out->value[i] /= out->count[i];
        out->total += out->count[i];
        out->sum += out->count[i] * out->value[i];
        out->squares += out->count[i] * out->value[i] * out->value[i];
    }
}

/* The share and the means of two normal distributions, and their common variance. */
typedef struct phases {
    double bright, mean[2], variance;
} phases;

static phases phases_of(const phase_counts *c, double bright_count, double bright_sum)
{
    const double dark_count = c->total - bright_count;
    phases out = {.bright = bright_count / c->total,
                  .mean = {(c->sum - bright_sum) / dark_count, bright_sum / bright_count}};
    const double between = dark_count * out.mean[0] * out.mean[0] + bright_count * out.mean[1] * out.mean[1];
    out.variance = fmax((c->squares - between) / c->total, LEAST_VARIANCE);
    return out;
}

/* Expectation and maximisation by turns; false where nothing is left of one of the two. */
static bool next_phases(const phase_counts *c, phases *p)
{
    const double slope = (p->mean[1] - p->mean[0]) / p->variance;
    const double offset = crd_log(p->bright / (1.0 - p->bright)) - slope * (p->mean[0] + p->mean[1]) / 2.0;
    double count = 0.0, sum = 0.0;
    for (int i = 0; i < PHASE_BINS; i++) {
        if (!(c->count[i] > 0.0)) continue;
        const double part = c->count[i] * crd_sigmoid(slope * c->value[i] + offset);
        count += part;
        sum += part * c->value[i];
    }
    if (!(count > LEAST_SHARE * c->total && count < (1.0 - LEAST_SHARE) * c->total)) return false;
    *p = phases_of(c, count, sum);
    return true;
}

void crd_level_phases(const crd_level_counts *c, double levels[2])
{
    phase_counts counts;
    double bright = 0.0, sum = 0.0;
    int64_t low, high;
    crd_level_find(c, levels);
    tails(c->counts, c->bins, &low, &high);
    if (low == high || !isfinite(c->width) || !(levels[1] > levels[0])) return;
    gather(c, levels, &counts);
    for (int i = 0; i < PHASE_BINS; i++) {
        if (!(counts.value[i] > 0.0)) continue;
        bright += counts.count[i];
        sum += counts.count[i] * counts.value[i];
    }
    phases p = phases_of(&counts, bright, sum);
    for (int turn = 0; turn < PHASE_TURNS; turn++) {
        const phases before = p;
        if (!next_phases(&counts, &p)) return;
        if (fabs(p.mean[0] - before.mean[0]) + fabs(p.mean[1] - before.mean[1]) < SETTLED) break;
    }
    const double unit = levels[1] / 2.0 - levels[0] / 2.0;
    const double middle = clamp((p.mean[0] + p.mean[1]) / 2.0, -FARTHEST_MIDDLE, FARTHEST_MIDDLE);
    const double half = clamp((p.mean[1] - p.mean[0]) / 2.0, LEAST_HALF, MOST_HALF);
    const double centre = levels[0] / 2.0 + levels[1] / 2.0 + middle * unit;
    levels[0] = centre - half * unit;
    levels[1] = centre + half * unit;
}
