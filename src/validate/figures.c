#include "validate/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { COVERAGES = 100, HISTOGRAM = 64, CURVE = 64 };

/* A map whose variance is no more than what rounding the squares can make is constant. */
#define NO_VARIANCE 0x1p-48

double crd_share(int64_t a, int64_t b)
{
    return b > 0 ? (double)a / (double)b : (double)NAN;
}

double crd_wide_mean(crd_wide sum, int64_t n, double unit)
{
    return n > 0 ? (double)sum / (double)n * unit : (double)NAN;
}

static double variance_of(crd_wide sum, crd_wide square, int64_t n)
{
    const double mean = crd_wide_mean(sum, n, CRD_UNIT);
    const double variance = crd_wide_mean(square, n, CRD_PRODUCT_UNIT) - mean * mean;
    return variance <= NO_VARIANCE ? 0.0 : variance; /* NaN stays */
}

crd_status crd_list_make(int64_t count, crd_real_list *list)
{
    CRD_PASS(crd_alloc(count > 0 ? count : 1, sizeof *list->items, "the figures", &list->items));
    list->count = count;
    return CRD_OK;
}

static crd_status class_lists(const crd_inputs *inputs, crd_validation *v)
{
    const int64_t count = inputs->class_count;
    CRD_PASS(crd_alloc(count, sizeof *v->classes.name.items, "the figures", &v->classes.name.items));
    v->classes.name.count = count;
    CRD_PASS(crd_list_make(count, &v->classes.value));
    CRD_PASS(crd_list_make(count, &v->classes.dice));
    CRD_PASS(crd_list_make(count, &v->classes.iou));
    CRD_PASS(crd_list_make(count, &v->classes.volume_fraction));
    CRD_PASS(crd_list_make(count, &v->classes.label_fraction));
    CRD_PASS(crd_list_make(count * count, &v->classes.confusion));
    for (int64_t k = 0; k < count; k++) {
        v->classes.value.items[k] = inputs->classes[k].value;
        CRD_PASS(crd_strdup(inputs->classes[k].name, &v->classes.name.items[k]));
    }
    return CRD_OK;
}

/* The mean over those that have a value. */
static double mean_of(const crd_real_list *list)
{
    double sum = 0.0;
    int64_t count = 0;
    for (int64_t i = 0; i < list->count; i++) {
        if (isnan(list->items[i])) continue;
        sum += list->items[i];
        count++;
    }
    return count > 0 ? sum / (double)count : (double)NAN;
}

/* Of each class by the matrix. One that neither the label nor the segmentation has is n/a. */
static void each_class(const int64_t *matrix, int64_t count, crd_validation *v)
{
    for (int64_t k = 0; k < count; k++) {
        int64_t labelled = 0, predicted = 0;
        for (int64_t i = 0; i < count; i++) {
            labelled += matrix[k * count + i];
            predicted += matrix[i * count + k];
            v->classes.confusion.items[k * count + i] = (double)matrix[k * count + i];
        }
        const int64_t both = matrix[k * count + k];
        v->classes.dice.items[k] = crd_share(2 * both, labelled + predicted);
        v->classes.iou.items[k] = crd_share(both, labelled + predicted - both);
        v->classes.volume_fraction.items[k] = crd_share(predicted, v->voxels);
        v->classes.label_fraction.items[k] = crd_share(labelled, v->voxels);
    }
}

/* More than two: the figures of a class are its own, and those of all their means. */
static crd_status many_classes(const crd_inputs *inputs, const crd_tally *t, crd_validation *v)
{
    const int64_t count = inputs->class_count;
    int64_t matrix[CRD_CLASSES_MAX * CRD_CLASSES_MAX], right = 0;
    for (int64_t i = 0; i < count * count; i++) matrix[i] = t->confusion[i / count][i % count];
    for (int64_t k = 0; k < count; k++) right += matrix[k * count + k];
    v->voxels = t->counts.voxels;
    CRD_PASS(class_lists(inputs, v));
    each_class(matrix, count, v);
    v->tp = v->fp = v->fn = v->tn = -1;
    v->accuracy = crd_share(right, v->voxels);
    v->dice = mean_of(&v->classes.dice);
    v->iou = mean_of(&v->classes.iou);
    return CRD_OK;
}

static crd_status two_classes(const crd_inputs *inputs, const crd_class_counts *counts, crd_validation *v)
{
    v->voxels = counts->voxels;
    v->tp = counts->both;
    v->fp = counts->predicted - counts->both;
    v->fn = counts->labelled - counts->both;
    v->tn = counts->voxels - counts->predicted - counts->labelled + counts->both;
    v->accuracy = crd_share(v->tp + v->tn, v->voxels);
    v->dice = crd_share(2 * v->tp, 2 * v->tp + v->fp + v->fn);
    v->iou = crd_share(v->tp, v->tp + v->fp + v->fn);
    v->volume_fraction = crd_share(counts->predicted, counts->voxels);
    v->label_fraction = crd_share(counts->labelled, counts->voxels);
    const int64_t matrix[4] = {v->tn, v->fp, v->fn, v->tp};
    CRD_PASS(class_lists(inputs, v));
    each_class(matrix, 2, v);
    return CRD_OK;
}

static double stored_value(uint32_t bits, double scale)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value * scale;
}

static void uncertainty_figures(const crd_sweep *sweep, const crd_tally *t, crd_validation *v)
{
    const int64_t n = t->counts.voxels;
    v->uncertainty.mean = crd_wide_mean(t->sum, n, CRD_UNIT);
    v->uncertainty.variance = variance_of(t->sum, t->square, n);
    if (n == 0) return;
    v->uncertainty.min = stored_value(t->least, sweep->inputs->unc_scale);
    v->uncertainty.max = stored_value(t->most, sweep->inputs->unc_scale);
}

static void cube_figures(const int64_t counts[4], crd_pavpu *p)
{
    p->n_ac = counts[2];
    p->n_au = counts[3];
    p->n_ic = counts[0];
    p->n_iu = counts[1];
    p->p_accurate_given_certain = crd_share(p->n_ac, p->n_ac + p->n_ic);
    p->p_uncertain_given_inaccurate = crd_share(p->n_iu, p->n_iu + p->n_ic);
    p->pavpu3d = crd_share(p->n_ac + p->n_iu, p->n_ac + p->n_au + p->n_ic + p->n_iu);
}

static crd_status curve_lists(crd_validation *v, int64_t count)
{
    CRD_PASS(crd_list_make(count, &v->pavpu_curve.threshold));
    CRD_PASS(crd_list_make(count, &v->pavpu_curve.n_ac));
    CRD_PASS(crd_list_make(count, &v->pavpu_curve.n_au));
    CRD_PASS(crd_list_make(count, &v->pavpu_curve.n_ic));
    CRD_PASS(crd_list_make(count, &v->pavpu_curve.n_iu));
    CRD_PASS(crd_list_make(count, &v->pavpu_curve.p_accurate_given_certain));
    CRD_PASS(crd_list_make(count, &v->pavpu_curve.p_uncertain_given_inaccurate));
    return crd_list_make(count, &v->pavpu_curve.pavpu3d);
}

static void curve_point(crd_validation *v, int64_t at, double threshold, const int64_t counts[4])
{
    crd_pavpu p = {0};
    cube_figures(counts, &p);
    v->pavpu_curve.threshold.items[at] = threshold;
    v->pavpu_curve.n_ac.items[at] = (double)p.n_ac;
    v->pavpu_curve.n_au.items[at] = (double)p.n_au;
    v->pavpu_curve.n_ic.items[at] = (double)p.n_ic;
    v->pavpu_curve.n_iu.items[at] = (double)p.n_iu;
    v->pavpu_curve.p_accurate_given_certain.items[at] = p.p_accurate_given_certain;
    v->pavpu_curve.p_uncertain_given_inaccurate.items[at] = p.p_uncertain_given_inaccurate;
    v->pavpu_curve.pavpu3d.items[at] = p.pavpu3d;
}

/* Thresholds at edges of the bins, where another 64th of the cubes becomes certain: exact, and spread as the map is. */
static crd_status automatic_curve(const crd_tally *t, crd_validation *v)
{
    int64_t certain[2] = {0}, all[2] = {0}, count = 0; /* by accurate */
    for (int64_t b = 0; b < CRD_CUBE_BINS; b++) {
        for (int k = 0; k < 4; k++) all[k >> 1] += t->cubes[b][k];
    }
    const int64_t cubes = all[0] + all[1];
    if (cubes == 0) return CRD_OK;
    CRD_PASS(curve_lists(v, CURVE + 2));
    double next = 0.0;
    for (int64_t b = 0; b <= CRD_CUBE_BINS && count < CURVE + 2; b++) {
        const double share = (double)(certain[0] + certain[1]) / (double)cubes;
        if (share >= next) {
            const int64_t counts[4] = {certain[0], all[0] - certain[0], certain[1], all[1] - certain[1]};
            curve_point(v, count++, (double)b / (double)CRD_CUBE_BINS, counts);
            if (share >= 1.0) break;
            next = (floor(share * CURVE) + 1.0) / CURVE;
        }
        if (b == CRD_CUBE_BINS) break;
        for (int k = 0; k < 4; k++) certain[k >> 1] += t->cubes[b][k];
    }
    crd_real_list *lists[] = {&v->pavpu_curve.threshold,
                              &v->pavpu_curve.n_ac,
                              &v->pavpu_curve.n_au,
                              &v->pavpu_curve.n_ic,
                              &v->pavpu_curve.n_iu,
                              &v->pavpu_curve.p_accurate_given_certain,
                              &v->pavpu_curve.p_uncertain_given_inaccurate,
                              &v->pavpu_curve.pavpu3d};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) lists[i]->count = count;
    return CRD_OK;
}

static crd_status pavpu_figures(const crd_sweep *sweep, const crd_tally *t, crd_validation *v)
{
    int64_t counts[4] = {0};
    for (int64_t b = 0; b < CRD_CUBE_BINS; b++) {
        for (int k = 0; k < 4; k++) counts[k] += t->cubes[b][k];
    }
    cube_figures(counts, &v->pavpu);
    v->pavpu.uncertainty_threshold = sweep->threshold;
    if (sweep->threshold_count == 0) return automatic_curve(t, v);
    CRD_PASS(curve_lists(v, sweep->threshold_count));
    for (int64_t i = 0; i < sweep->threshold_count; i++) curve_point(v, i, sweep->thresholds[i], t->thresholds[i]);
    return CRD_OK;
}

static crd_status calibration_figures(const crd_inputs *inputs, const crd_tally *t, crd_validation *v)
{
    const int64_t n = t->counts.voxels;
    const double floor = 1.0 / inputs->class_count, range = 1.0 - floor;
    double ece = 0.0;
    CRD_PASS(crd_list_make(CRD_RELIABILITY_BINS, &v->reliability.low));
    CRD_PASS(crd_list_make(CRD_RELIABILITY_BINS, &v->reliability.high));
    CRD_PASS(crd_list_make(CRD_RELIABILITY_BINS, &v->reliability.count));
    CRD_PASS(crd_list_make(CRD_RELIABILITY_BINS, &v->reliability.confidence));
    CRD_PASS(crd_list_make(CRD_RELIABILITY_BINS, &v->reliability.accuracy));
    for (int b = 0; b < CRD_RELIABILITY_BINS; b++) {
        int64_t count = 0;
        crd_wide excess = 0;
        for (int k = 0; k < 4; k++) {
            count += t->reliability[k][b].count;
            excess += t->reliability[k][b].excess;
        }
        const double confidence = floor + crd_wide_mean(excess, count, CRD_UNIT);
        const double accuracy = crd_share(t->reliability[0][b].count + t->reliability[3][b].count, count);
        v->reliability.low.items[b] = floor + range * b / CRD_RELIABILITY_BINS;
        v->reliability.high.items[b] = floor + range * (b + 1) / CRD_RELIABILITY_BINS;
        v->reliability.count.items[b] = (double)count;
        v->reliability.confidence.items[b] = confidence;
        v->reliability.accuracy.items[b] = accuracy;
        if (count > 0) ece += fabs(accuracy - confidence) * (double)count / (double)n;
    }
    v->calibration.ece = n > 0 ? ece : (double)NAN;
    v->calibration.brier = crd_wide_mean(t->brier, n, CRD_PRODUCT_UNIT);
    v->calibration.nll = crd_wide_mean(t->nll, n, CRD_UNIT);
    return CRD_OK;
}

static crd_status risk_figures(const crd_tally *t, crd_validation *v)
{
    v->calibration.aurc = crd_risk_area(t->bins, CRD_MEASURE_BINS);
    const double n = (double)t->counts.voxels;
    if (n == 0.0) return CRD_OK;
    CRD_PASS(crd_list_make(COVERAGES, &v->risk_coverage.coverage));
    CRD_PASS(crd_list_make(COVERAGES, &v->risk_coverage.risk));
    double covered = 0.0, errors = 0.0;
    for (int64_t b = 0, k = 1; b < CRD_MEASURE_BINS; b++) {
        const double wrong = (double)t->bins[b][1], all = (double)t->bins[b][0] + wrong;
        for (; all > 0.0 && k <= COVERAGES && n * (double)k / COVERAGES <= covered + all; k++) {
            const double wanted = n * (double)k / COVERAGES;
            v->risk_coverage.coverage.items[k - 1] = (double)k / COVERAGES;
            v->risk_coverage.risk.items[k - 1] = (errors + wrong * (wanted - covered) / all) / wanted;
        }
        covered += all;
        errors += wrong;
    }
    return CRD_OK;
}

static crd_status histogram_figures(const crd_tally *t, crd_validation *v)
{
    int64_t fine = CRD_MEASURE_BINS / HISTOGRAM; /* bins in one of ours */
    CRD_PASS(crd_list_make(HISTOGRAM, &v->histogram.right));
    CRD_PASS(crd_list_make(HISTOGRAM, &v->histogram.wrong));
    while (fine > 1 && v->uncertainty.max * CRD_MEASURE_BINS < (double)(fine / 2 * HISTOGRAM)) fine /= 2;
    v->histogram.high = (double)(fine * HISTOGRAM) / CRD_MEASURE_BINS;
    for (int64_t b = 0; b < CRD_MEASURE_BINS; b++) {
        const int64_t at = b / fine < HISTOGRAM ? b / fine : HISTOGRAM - 1;
        v->histogram.right.items[at] += (double)t->bins[b][0];
        v->histogram.wrong.items[at] += (double)t->bins[b][1];
    }
    return CRD_OK;
}

static void geometry_figures(const crd_tally *t, crd_validation *v)
{
    const double mean = v->uncertainty.mean, variance = v->uncertainty.variance;
    double *along[3] = {&v->geometry.along_z, &v->geometry.along_y, &v->geometry.along_x}, covariance = 0.0,
           pairs = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        const double n = (double)t->neighbours[axis].pairs;
        const double of_axis = (double)t->neighbours[axis].product * CRD_PRODUCT_UNIT -
                               mean * ((double)t->neighbours[axis].sum * CRD_UNIT) + n * mean * mean;
        *along[axis] = n > 0.0 && variance > 0.0 ? of_axis / n / variance : (double)NAN;
        covariance += of_axis;
        pairs += n;
    }
    v->geometry.autocorrelation = pairs > 0.0 && variance > 0.0 ? covariance / pairs / variance : (double)NAN;
    v->geometry.gradient = crd_wide_mean(t->gradient, t->gradients, CRD_UNIT);
    v->geometry.gradient_over_mean = mean > 0.0 ? v->geometry.gradient / mean : (double)NAN;
}

static crd_status growth_figures(const crd_sweep *sweep, const crd_tally *t, crd_validation *v)
{
    const crd_inputs *inputs = sweep->inputs;
    const int64_t maps = inputs->map_count, n = t->counts.voxels;
    if (maps == 0) return CRD_OK;
    v->growth.threshold = sweep->threshold;
    CRD_PASS(crd_list_make(maps + 1, &v->growth.mean));
    CRD_PASS(crd_list_make(maps + 1, &v->growth.share_above));
    CRD_PASS(crd_list_make(maps + 1, &v->growth.correlation));
    CRD_PASS(crd_alloc(maps + 1, sizeof *v->growth.map.items, "the figures", &v->growth.map.items));
    v->growth.map.count = maps + 1;
    CRD_PASS(crd_strdup(inputs->unc_name, &v->growth.map.items[0]));
    v->growth.mean.items[0] = v->uncertainty.mean;
    v->growth.share_above.items[0] = crd_share(t->above, n);
    v->growth.correlation.items[0] = v->uncertainty.variance > 0.0 ? 1.0 : (double)NAN;
    for (int64_t i = 0; i < maps; i++) {
        const double mean = crd_wide_mean(t->maps[i].sum, n, CRD_UNIT);
        const double variance = variance_of(t->maps[i].sum, t->maps[i].square, n) * v->uncertainty.variance;
        const double covariance = crd_wide_mean(t->maps[i].cross, n, CRD_PRODUCT_UNIT) - mean * v->uncertainty.mean;
        CRD_PASS(crd_strdup(inputs->map_names[i], &v->growth.map.items[i + 1]));
        v->growth.mean.items[i + 1] = mean;
        v->growth.share_above.items[i + 1] = crd_share(t->maps[i].above, n);
        v->growth.correlation.items[i + 1] = variance > 0.0 ? covariance / sqrt(variance) : (double)NAN;
    }
    return CRD_OK;
}

static crd_status slice_classes(const crd_inputs *inputs, const crd_tally *t, crd_validation *v)
{
    const int64_t count = inputs->class_count;
    CRD_PASS(crd_list_make(t->slices * count, &v->classes.slice_volume_fraction));
    CRD_PASS(crd_list_make(t->slices * count, &v->classes.slice_label_fraction));
    for (int64_t i = 0; i < t->slices * count; i++) {
        const int64_t z = i / count, k = i % count, voxels = t->slice[z].counts.voxels;
        v->classes.slice_label_fraction.items[i] = crd_share(t->slice_classes[z][0][k], voxels);
        v->classes.slice_volume_fraction.items[i] = crd_share(t->slice_classes[z][1][k], voxels);
    }
    return CRD_OK;
}

static crd_status slice_figures(const crd_sweep *sweep, const crd_tally *t, crd_validation *v)
{
    const int64_t fractions = crd_sweep_many(sweep) ? 0 : t->slices;
    CRD_PASS(crd_list_make(t->slices, &v->slices.accuracy));
    CRD_PASS(crd_list_make(t->slices, &v->slices.uncertainty));
    CRD_PASS(crd_list_make(fractions, &v->slices.volume_fraction));
    CRD_PASS(crd_list_make(fractions, &v->slices.label_fraction));
    if (crd_sweep_many(sweep)) CRD_PASS(slice_classes(sweep->inputs, t, v));
    for (int64_t z = 0; z < t->slices; z++) {
        const crd_class_counts *c = &t->slice[z].counts;
        v->slices.accuracy.items[z] = crd_share(c->voxels - c->predicted - c->labelled + 2 * c->both, c->voxels);
        v->slices.uncertainty.items[z] =
            sweep->inputs->unc != NULL ? crd_wide_mean(t->slice[z].sum, c->voxels, CRD_UNIT) : (double)NAN;
        if (fractions == 0) continue;
        v->slices.volume_fraction.items[z] = crd_share(c->predicted, c->voxels);
        v->slices.label_fraction.items[z] = crd_share(c->labelled, c->voxels);
    }
    return CRD_OK;
}

static crd_status distance_figures(const crd_sweep *sweep, const crd_tally *t, crd_validation *v)
{
    CRD_PASS(crd_list_make(CRD_DISTANCES, &v->distance.from));
    CRD_PASS(crd_list_make(CRD_DISTANCES, &v->distance.count));
    CRD_PASS(crd_list_make(CRD_DISTANCES, &v->distance.uncertainty));
    CRD_PASS(crd_list_make(CRD_DISTANCES, &v->distance.error));
    for (int d = 0; d < CRD_DISTANCES; d++) {
        v->distance.from.items[d] = d + 1;
        v->distance.count.items[d] = (double)t->distance[d].count;
        v->distance.uncertainty.items[d] = sweep->inputs->unc != NULL
                                               ? crd_wide_mean(t->distance[d].sum, t->distance[d].count, CRD_UNIT)
                                               : (double)NAN;
        v->distance.error.items[d] = crd_share(t->distance[d].wrong, t->distance[d].count);
    }
    return CRD_OK;
}

crd_status crd_figures_make(const crd_sweep *sweep, const crd_tally *tally, crd_validation *v)
{
    const crd_inputs *inputs = sweep->inputs;
    memcpy(v->shape, inputs->shape, sizeof v->shape);
    CRD_PASS(crd_sweep_many(sweep) ? many_classes(inputs, tally, v) : two_classes(inputs, &tally->counts, v));
    v->ignored = v->shape[0] * v->shape[1] * v->shape[2] - v->voxels;
    if (inputs->unc != NULL) {
        uncertainty_figures(sweep, tally, v);
        CRD_PASS(pavpu_figures(sweep, tally, v));
        CRD_PASS(risk_figures(tally, v));
        CRD_PASS(histogram_figures(tally, v));
    }
    if (inputs->prob_count > 0) CRD_PASS(calibration_figures(inputs, tally, v));
    if (sweep->core) return CRD_OK;
    if (inputs->unc != NULL) {
        geometry_figures(tally, v);
        CRD_PASS(growth_figures(sweep, tally, v));
    }
    CRD_PASS(slice_figures(sweep, tally, v));
    return distance_figures(sweep, tally, v);
}
