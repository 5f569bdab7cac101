/* The plots of one run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/convergence.h"
#include "report/page.h"
#include "report/plot.h"

enum { BARS = 64 };

static double largest(const double *values, int64_t count)
{
    double most = 0.0;
    for (int64_t i = 0; i < count; i++) {
        if (isfinite(values[i])) most = fmax(most, values[i]);
    }
    return most;
}

static double smallest(const double *values, int64_t count)
{
    double least = (double)INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (isfinite(values[i])) least = fmin(least, values[i]);
    }
    return isfinite(least) ? least : 0.0;
}

static void edges(double high, double low_edges[BARS], double high_edges[BARS])
{
    for (int i = 0; i < BARS; i++) {
        low_edges[i] = high * i / BARS;
        high_edges[i] = high * (i + 1) / BARS;
    }
}

/* The uncertainty of all voxels; right and wrong ones apart where there is a label. */
static crd_status plot_uncertainty(crd_text *page, const crd_subject *s)
{
    const crd_validation *v = s->figures;
    if (s->unc == NULL) return CRD_OK;
    double low[BARS], high[BARS], right[BARS] = {0}, wrong[BARS] = {0}, all = 0.0;
    const bool known = v != NULL && v->histogram.right.count == BARS && v->histogram.wrong.count == BARS;
    double top = known ? v->histogram.high : 1.0;
    if (known) {
        for (int i = 0; i < BARS; i++) {
            right[i] = v->histogram.right.items[i];
            wrong[i] = v->histogram.wrong.items[i];
        }
    } else {
        while (top > 2.0 * BARS / CRD_SURVEY_BINS && s->survey.largest < top / 2.0) top /= 2.0;
        for (int64_t b = 0; b < CRD_SURVEY_BINS; b++) {
            const int at = (int)((double)b / CRD_SURVEY_BINS / top * BARS);
            right[at < BARS ? at : BARS - 1] += (double)s->survey.bins[b];
        }
    }
    edges(top, low, high);
    for (int i = 0; i < BARS; i++) all += right[i] + wrong[i];
    if (all == 0.0) return CRD_OK;
    for (int i = 0; i < BARS; i++) {
        right[i] /= all;
        wrong[i] /= all;
    }
    double least = 1.0;
    int used = 1;
    for (int i = 0; i < BARS; i++) {
        if (right[i] > 0.0) least = fmin(least, right[i]);
        if (wrong[i] > 0.0) least = fmin(least, wrong[i]);
        if (right[i] + wrong[i] > 0.0) used = i + 1;
        if (wrong[i] == 0.0) wrong[i] = (double)NAN; /* a logarithm has no place for it */
    }
    crd_plot plot = {.text = page,
                     .which = s->name,
                     .title = "How uncertain the voxels are",
                     .words = "Mind the logarithmic axis: most voxels are certain. Where wrong ones reach the right "
                              "ones, the uncertainty says nothing.",
                     .x_label = "uncertainty",
                     .y_label = "share of voxels",
                     .x_high = high[used - 1],
                     .y_low = pow(10.0, floor(log10(least))),
                     .y_high = 1.0,
                     .y_log = true};
    crd_plot_begin(&plot);
    crd_plot_bars(&plot, low, high, NULL, right, used, 0, known ? "right" : NULL);
    for (int i = 0; i < used; i++) low[i] = 0.5 * (low[i] + high[i]);
    if (known) crd_plot_line(&plot, low, wrong, used, 1, "wrong");
    crd_plot_end(&plot);
    return CRD_OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The volume fraction of each realisation, and the interval. */
static crd_status plot_fraction(crd_text *page, const crd_subject *s)
{
    enum { BINS = 16 };
    crd_status status = CRD_OK;
    const int64_t n = s->run.fraction.samples.count;
    const double *range = s->run.uncertainty.fractions, segmented = s->run.fraction.segmentation;
    double *values = NULL, low[BINS], high[BINS], share[BINS] = {0};
    if (n < 3) return CRD_OK;
    CRD_TRY(crd_alloc(n, sizeof *values, "the volume fractions", &values));
    memcpy(values, s->run.fraction.samples.items, (size_t)n * sizeof *values);
    qsort(values, (size_t)n, sizeof *values, by_size);
    const double from = values[0], to = values[n - 1] > from ? values[n - 1] : from + 1e-6;
    for (int i = 0; i < BINS; i++) {
        low[i] = from + (to - from) * i / BINS;
        high[i] = from + (to - from) * (i + 1) / BINS;
    }
    for (int64_t i = 0; i < n; i++) {
        const int at = (int)((values[i] - from) / (to - from) * BINS);
        share[at < BINS ? at : BINS - 1] += 1.0;
    }
    crd_plot plot = {.text = page,
                     .which = s->name,
                     .title = "Volume fraction over the samples",
                     .words =
                         "Every sample is cut at one half by itself. Band: their interval. Dashed: the segmentation, "
                         "which cuts the mean of all samples instead, and so may lie outside the band.",
                     .x_label = "volume fraction of the foreground",
                     .y_label = "samples",
                     .x_low = from - 0.08 * (to - from),
                     .x_high = to + 0.08 * (to - from),
                     .y_high = 1.25 * largest(share, BINS)};
    crd_plot_begin(&plot);
    if (isfinite(range[0]) && isfinite(range[1])) crd_plot_band(&plot, range[0], range[1]);
    crd_plot_bars(&plot, low, high, NULL, share, BINS, 0, NULL);
    if (isfinite(segmented)) crd_plot_mark(&plot, segmented, 0.0, segmented, plot.y_high);
    crd_plot_end(&plot);
done:
    crd_free(&values);
    return status;
}

static crd_status plot_reliability(crd_text *page, const crd_subject *s)
{
    const crd_validation *v = s->figures;
    const int64_t n = v != NULL ? v->reliability.accuracy.count : 0;
    if (n == 0 || v->reliability.confidence.count != n || v->reliability.low.count != n ||
        v->reliability.high.count != n) {
        return CRD_OK;
    }
    crd_plot plot = {
        .text = page,
        .which = s->name,
        .title = "Reliability: is a probability of 0.9 right nine times in ten?",
        .words = "On the dashed diagonal a probability is an honest frequency; below it the network is too sure.",
        .x_label = "probability of the predicted class",
        .y_label = "share that is right",
        .x_low = 0.5,
        .x_high = 1.0,
        .y_low = fmin(0.5, smallest(v->reliability.accuracy.items, n)),
        .y_high = 1.0};
    crd_plot_begin(&plot);
    crd_plot_bars(&plot, v->reliability.low.items, v->reliability.high.items, NULL, v->reliability.accuracy.items, n, 0,
                  NULL);
    crd_plot_mark(&plot, 0.5, 0.5, 1.0, 1.0);
    crd_plot_line(&plot, v->reliability.confidence.items, v->reliability.accuracy.items, n, 1, NULL);
    crd_plot_end(&plot);
    return CRD_OK;
}

static crd_status plot_risk(crd_text *page, const crd_subject *s)
{
    const crd_validation *v = s->figures;
    const int64_t n = v != NULL ? v->risk_coverage.risk.count : 0;
    if (n == 0 || v->risk_coverage.coverage.count != n) return CRD_OK;
    crd_plot plot = {
        .text = page,
        .which = s->name,
        .title = "Risk over coverage: errors left when the uncertain part is set aside",
        .words = "If only the most certain voxels are kept, how many of them are wrong? Dashed: all of them kept.",
        .x_label = "share of voxels kept, most certain first",
        .y_label = "error rate among them",
        .x_high = 1.0,
        .y_high = 1.1 * fmax(largest(v->risk_coverage.risk.items, n), 1e-6)};
    crd_plot_begin(&plot);
    crd_plot_line(&plot, v->risk_coverage.coverage.items, v->risk_coverage.risk.items, n, 0, NULL);
    crd_plot_mark(&plot, 0.0, 1.0 - v->accuracy, 1.0, 1.0 - v->accuracy);
    crd_plot_end(&plot);
    return CRD_OK;
}

static crd_status plot_pavpu(crd_text *page, const crd_subject *s)
{
    const crd_validation *v = s->figures;
    const int64_t n = v != NULL ? v->pavpu_curve.threshold.count : 0;
    if (n < 2 || v->pavpu_curve.pavpu3d.count != n || v->pavpu_curve.p_accurate_given_certain.count != n ||
        v->pavpu_curve.p_uncertain_given_inaccurate.count != n) {
        return CRD_OK;
    }
    crd_plot plot = {.text = page,
                     .which = s->name,
                     .title = "PAvPU3D over the threshold",
                     .words = "What the three shares become when another uncertainty counts as uncertain. Dashed: the "
                              "threshold in use.",
                     .x_label = "threshold of the uncertainty",
                     .y_label = "share of cubes",
                     .x_high = v->pavpu_curve.threshold.items[n - 1],
                     .y_high = 1.28,
                     .y_last = 1.0};
    const double *x = v->pavpu_curve.threshold.items, used = v->pavpu.uncertainty_threshold;
    crd_plot_begin(&plot);
    crd_plot_mark(&plot, used, 0.0, used, 1.0);
    crd_plot_line(&plot, x, v->pavpu_curve.p_accurate_given_certain.items, n, 0, "P(accurate | certain)");
    crd_plot_line(&plot, x, v->pavpu_curve.p_uncertain_given_inaccurate.items, n, 1, "P(uncertain | inaccurate)");
    crd_plot_line(&plot, x, v->pavpu_curve.pavpu3d.items, n, 2, "PAvPU3D");
    crd_plot_end(&plot);
    return CRD_OK;
}

static crd_status plot_distance(crd_text *page, const crd_subject *s)
{
    const crd_validation *v = s->figures;
    const int64_t n = v != NULL ? v->distance.uncertainty.count : 0;
    if (n == 0 || v->distance.error.count != n || v->distance.from.count != n) return CRD_OK;
    crd_plot plot = {.text = page,
                     .which = s->name,
                     .title = "Away from the predicted boundary",
                     .words = "A good map falls off as the errors do.",
                     .x_label = "voxels from the predicted boundary",
                     .y_label = "mean",
                     .x_low = 1.0,
                     .x_high = 17.0,
                     .y_high = 1.3 * fmax(1e-6, fmax(largest(v->distance.uncertainty.items, n),
                                                     largest(v->distance.error.items, n)))};
    crd_plot_begin(&plot);
    crd_plot_line(&plot, v->distance.from.items, v->distance.uncertainty.items, n, 0, "uncertainty");
    crd_plot_line(&plot, v->distance.from.items, v->distance.error.items, n, 1, "error rate");
    crd_plot_end(&plot);
    return CRD_OK;
}

static crd_status plot_slices(crd_text *page, const crd_subject *s)
{
    crd_status status = CRD_OK;
    double *z = NULL;
    const int64_t n = s->whole.size[0];
    const double *uncertainty = s->survey.uncertainty[0], *wrong = s->survey.wrong[0];
    if (uncertainty == NULL || n < 2) return CRD_OK;
    CRD_TRY(crd_alloc(n, sizeof *z, "the slices", &z));
    for (int64_t i = 0; i < n; i++) z[i] = (double)(i + s->in_scan.origin[0]);
    crd_plot plot = {
        .text = page,
        .which = s->name,
        .title = "Slice by slice",
        .words = "Mean uncertainty of every slice along z, and its share of wrong voxels where a label is known.",
        .x_label = "z",
        .y_label = "mean",
        .x_low = z[0],
        .x_high = z[n - 1],
        .y_high = 1.3 * fmax(1e-6, fmax(largest(uncertainty, n), wrong != NULL ? largest(wrong, n) : 0.0))};
    crd_plot_begin(&plot);
    crd_plot_line(&plot, z, uncertainty, n, 0, wrong != NULL ? "uncertainty" : NULL);
    if (wrong != NULL) crd_plot_line(&plot, z, wrong, n, 1, "wrong voxels");
    crd_plot_end(&plot);
done:
    crd_free(&z);
    return status;
}

static crd_status plot_convergence(crd_text *page, const crd_subject *s)
{
    crd_convergence c;
    double low = 33.0, high = 67.0;
    const char *dash = strchr(s->run.uncertainty.text, '-');
    if (dash != NULL) {
        low = strtod(s->run.uncertainty.text, NULL);
        high = strtod(dash + 1, NULL);
    }
    CRD_PASS(crd_convergence_read(s->folder, low, high, &c));
    if (c.samples > 2) {
        const int64_t n = c.samples - 1;
        crd_plot plot = {.text = page,
                         .which = s->name,
                         .title = "Were there enough samples?",
                         .words = "Mean width of the interval, and mean distance of the probability from its final "
                                  "value. Both should have settled at the right end.",
                         .x_label = "samples used",
                         .y_label = "mean over the probed voxels",
                         .x_low = 2.0,
                         .x_high = (double)c.samples,
                         .y_high = 1.35 * fmax(1e-6, fmax(largest(c.width, n), largest(c.change, n)))};
        crd_plot_begin(&plot);
        crd_plot_line(&plot, c.count, c.width, n, 0, "width of the interval");
        crd_plot_line(&plot, c.count, c.change, n, 1, "distance from the final probability");
        crd_plot_end(&plot);
    }
    crd_convergence_free(&c);
    return CRD_OK;
}

/* Grey values of this scan and of those the model was trained on. */
static crd_status plot_greys(crd_text *page, const crd_subject *s)
{
    const crd_training_record *t = &s->training;
    const crd_volume_statistics *h = &s->scan_statistics;
    double x[2][CRD_HISTOGRAM_BINS], y[2][CRD_HISTOGRAM_BINS], most = 0.0;
    if (t->voxels == 0 || h->count == 0) return CRD_OK;
    const double lows[2] = {h->histogram_low, t->histogram_low}, highs[2] = {h->histogram_high, t->histogram_high};
    const double counts[2] = {(double)h->count, (double)t->voxels};
    for (int k = 0; k < 2; k++) {
        const double width = (highs[k] - lows[k]) / CRD_HISTOGRAM_BINS;
        for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) {
            x[k][i] = lows[k] + width * (i + 0.5);
            y[k][i] = width > 0.0 ? (double)(k == 0 ? h->histogram : t->histogram)[i] / counts[k] / width : 0.0;
        }
        most = fmax(most, largest(y[k], CRD_HISTOGRAM_BINS));
    }
    crd_plot plot = {.text = page,
                     .which = s->name,
                     .title = "Grey values: this scan and the training scans",
                     .words =
                         "The less the two agree, the less the uncertainty can be relied on. Agreement is no proof.",
                     .x_label = "grey value",
                     .y_label = "density",
                     .x_low = fmin(lows[0], lows[1]),
                     .x_high = fmax(highs[0], highs[1]),
                     .y_high = 1.3 * fmax(most, 1e-12)};
    crd_plot_begin(&plot);
    crd_plot_line(&plot, x[0], y[0], CRD_HISTOGRAM_BINS, 0, "this scan");
    crd_plot_line(&plot, x[1], y[1], CRD_HISTOGRAM_BINS, 1, "training");
    crd_plot_end(&plot);
    return CRD_OK;
}

crd_status crd_page_plots(crd_text *page, const crd_subject *subjects, int count)
{
    static crd_status (*const plots[])(crd_text * page, const crd_subject *s) = {
        plot_uncertainty, plot_fraction, plot_convergence, plot_slices, plot_reliability,
        plot_risk,        plot_pavpu,    plot_distance,    plot_greys};
    crd_text_add(page, count > 1 ? "<div class=\"plots two\">" : "<div class=\"plots\">");
    for (size_t k = 0; k < sizeof plots / sizeof plots[0]; k++) {
        const int64_t before = page->length;
        if (count > 1) crd_text_add(page, "<div class=\"pair\">");
        const int64_t opened = page->length;
        for (int i = 0; i < count; i++) CRD_PASS(plots[k](page, &subjects[i]));
        if (page->length == opened) page->length = before; /* neither run has it */
        if (page->length > before && count > 1) crd_text_add(page, "</div>");
    }
    crd_text_add(page, "</div>");
    return page->status;
}
