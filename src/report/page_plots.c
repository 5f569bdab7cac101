/* The plots of one run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "draw/plot.h"
#include "report/convergence.h"
#include "report/page.h"
#include "report/verdict.h"

enum { BARS = 64 };

/* The plot in a figure; `words` say what can be seen and how it is read. */
static void add_figure(crd_text *page, const crd_reported_run *s, const char *title, const char *words,
                       const crd_plot *plot)
{
    const bool two = s->name[0] != '\0'; /* side by side */
    crd_text_add(page, "<figure class=\"plot\"><figcaption>");
    if (two) {
        crd_text_add(page, "<small>");
        crd_text_html(page, s->name);
        crd_text_add(page, "</small> ");
    }
    crd_text_html(page, title);
    crd_text_add(page, "</figcaption>");
    crd_plot_svg(plot, two ? 310.0 : 380.0, two ? 240.0 : 260.0, title, page);
    crd_text_add(page, "<p class=\"note\">");
    crd_text_html(page, words);
    crd_text_add(page, "</p></figure>");
}

static void edges(double high, double low_edges[BARS], double high_edges[BARS])
{
    for (int i = 0; i < BARS; i++) {
        low_edges[i] = high * i / BARS;
        high_edges[i] = high * (i + 1) / BARS;
    }
}

/* The uncertainty of all voxels; right and wrong ones apart where there is a label. */
static crd_status plot_uncertainty(crd_text *page, const crd_reported_run *s)
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
    double middle[BARS];
    for (int i = 0; i < used; i++) middle[i] = 0.5 * (low[i] + high[i]);
    const crd_series series[] = {
        {.kind = CRD_SERIES_BARS, .x = low, .x_end = high, .y = right, .count = used, .name = known ? "right" : NULL},
        {.x = middle, .y = wrong, .count = used, .colour = 1, .name = "wrong"}};
    const crd_plot plot = {
        .x = {.label = "uncertainty", .high = high[used - 1]},
        .y = {.label = "share of voxels", .low = pow(10.0, floor(log10(least))), .high = 1.0, .log = true},
        .series = series,
        .count = known ? 2 : 1};
    add_figure(page, s, "How uncertain the voxels are",
               "Mind the logarithmic axis: most voxels are certain. Where wrong ones reach the right ones, the "
               "uncertainty says nothing.",
               &plot);
    return CRD_OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Shares of the realisations, their interval, and the share of the segmentation. */
typedef struct fractions {
    const crd_real_list *samples;
    const double *range;
    double segmented;
    const char *label, *title, *words;
} fractions;

static crd_status plot_shares(crd_text *page, const crd_reported_run *s, const fractions *f)
{
    enum { BINS = 16 };
    crd_status status = CRD_OK;
    const int64_t count = f->samples->count;
    const double *range = f->range, segmented = f->segmented;
    double *values = NULL, low[BINS], high[BINS], share[BINS] = {0}, most = 0.0;
    int64_t n = 0;
    if (count < 3) return CRD_OK;
    CRD_TRY(crd_alloc(count, sizeof *values, "the volume fractions", &values));
    for (int64_t i = 0; i < count; i++) { /* the manifest may be anybody's */
        const double value = f->samples->items[i];
        if (value >= 0.0 && value <= 1.0) values[n++] = value;
    }
    if (n < 3) goto done;
    qsort(values, (size_t)n, sizeof *values, by_size);
    const double from = values[0], to = values[n - 1] > from ? values[n - 1] : from + 1e-6;
    const double begin = fmin(from, range[0]), end = fmax(to, range[1]); /* fmin, fmax: a range may not be known */
    for (int i = 0; i < BINS; i++) {
        low[i] = from + (to - from) * i / BINS;
        high[i] = from + (to - from) * (i + 1) / BINS;
    }
    for (int64_t i = 0; i < n; i++) {
        const int at = (int)((values[i] - from) / (to - from) * BINS);
        share[at < BINS ? at : BINS - 1] += 1.0;
    }
    for (int i = 0; i < BINS; i++) most = fmax(most, share[i]);
    const double marked[2] = {segmented, segmented}, whole[2] = {0.0, 1.1 * most};
    const crd_series series[] = {{.kind = CRD_SERIES_BAND, .x = &range[0], .x_end = &range[1], .count = 1},
                                 {.kind = CRD_SERIES_BARS, .x = low, .x_end = high, .y = share, .count = BINS},
                                 {.kind = CRD_SERIES_DASHES, .x = marked, .y = whole, .count = 2}};
    const crd_plot plot = {
        .x = {.label = f->label, .low = begin - 0.08 * (end - begin), .high = end + 0.08 * (end - begin)},
        .y = {.label = "samples", .high = 1.1 * most, .whole = true},
        .series = series,
        .count = 3};
    add_figure(page, s, f->title, f->words, &plot);
done:
    crd_free(&values);
    return status;
}

/* The volume fraction of each realisation, and the interval; of more than two classes that of each. */
static crd_status plot_fraction(crd_text *page, const crd_reported_run *s)
{
    static const char *const cut = "Every sample is cut at one half by itself. Dashed: the segmentation, which cuts "
                                   "the mean of all samples instead.";
    static const char *const most = "In every sample each voxel goes to its most probable class. Dashed: the "
                                    "segmentation, which goes by the mean of all samples.";
    const bool whole = isfinite(s->run.fraction.interval90[0]) && isfinite(s->run.fraction.interval90[1]);
    const char *band =
        crd_verdict_interval_known(s)
            ? "Band: the 90 % interval, wider than the samples as it holds what all of them may get wrong."
        : s->class_count > 2 || whole ? "Band: 90 % of the samples."
                                      : "Band: the samples between the percentiles of the uncertainty.";
    char words[320];
    snprintf(words, sizeof words, "%s %s", s->class_count == 2 ? cut : most, band);
    const fractions foreground = {.samples = &s->run.fraction.samples,
                                  .range = whole ? s->run.fraction.interval90 : s->run.uncertainty.fractions,
                                  .segmented = s->run.fraction.segmentation,
                                  .label = "volume fraction of the foreground",
                                  .title = "Volume fraction over the samples",
                                  .words = words};
    if (s->class_count == 2) return plot_shares(page, s, &foreground);
    for (int k = 0; k < s->class_count; k++) {
        const crd_run_class *c = &s->run.classes[k];
        char title[128];
        snprintf(title, sizeof title, "Volume fraction over the samples: %s%s", crd_verdict_class(c->name), c->name);
        const fractions one = {.samples = &c->samples,
                               .range = c->interval90,
                               .segmented = c->segmentation,
                               .label = "volume fraction",
                               .title = title,
                               .words = words};
        CRD_PASS(plot_shares(page, s, &one));
    }
    return CRD_OK;
}

/* "940", "12k", "3.4M" */
static void short_count(double count, char text[CRD_NUMBER_BYTES + 2])
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    int unit = 0;
    for (; count >= 999.5 && unit < 4; unit++) count /= 1000.0;
    crd_short_number(unit > 0 && count >= 99.5 ? rint(count) : count, unit > 0 ? (count >= 99.5 ? 3 : 2) : 3, text);
    strcat(text, units[unit]);
}

static crd_status plot_reliability(crd_text *page, const crd_reported_run *s)
{
    enum { BINS_MOST = 64 };
    const crd_validation *v = s->figures;
    const int64_t n = v != NULL ? v->reliability.accuracy.count : 0;
    if (n == 0 || n > BINS_MOST || v->reliability.confidence.count != n || v->reliability.low.count != n ||
        v->reliability.high.count != n) {
        return CRD_OK;
    }
    char counts[BINS_MOST][CRD_NUMBER_BYTES + 2];
    const char *words[BINS_MOST] = {0};
    for (int64_t i = 0; i < n && v->reliability.count.count == n; i++) {
        if (!(v->reliability.count.items[i] > 0.0)) continue;
        short_count(v->reliability.count.items[i], counts[i]);
        words[i] = counts[i];
    }
    const double least = v->reliability.low.items[0], diagonal[2] = {least, 1.0};
    const double *accuracy = v->reliability.accuracy.items;
    const crd_series series[] = {
        {.kind = CRD_SERIES_BARS,
         .x = v->reliability.low.items,
         .x_end = v->reliability.high.items,
         .y = accuracy,
         .count = n,
         .words = words},
        {.kind = CRD_SERIES_DASHES, .x = diagonal, .y = diagonal, .count = 2},
        {.kind = CRD_SERIES_DOTS, .x = v->reliability.confidence.items, .y = accuracy, .count = n, .colour = 1}};
    const crd_plot plot = {.x = {.label = "probability of the predicted class", .low = least, .high = 1.0},
                           .y = {.label = "share that is right", .high = 1.0},
                           .series = series,
                           .count = 3};
    add_figure(
        page, s, "Reliability: is a probability of 0.9 right nine times in ten?",
        "On the dashed diagonal a probability is an honest frequency; below it the network is too sure. In the bars: "
        "how many voxels each one is of; one of few voxels says little.",
        &plot);
    return CRD_OK;
}

static crd_status plot_risk(crd_text *page, const crd_reported_run *s)
{
    const crd_validation *v = s->figures;
    const int64_t n = v != NULL ? v->risk_coverage.risk.count : 0;
    if (n == 0 || v->risk_coverage.coverage.count != n) return CRD_OK;
    const double ends[2] = {0.0, 1.0}, all[2] = {1.0 - v->accuracy, 1.0 - v->accuracy};
    const crd_series series[] = {{.x = v->risk_coverage.coverage.items, .y = v->risk_coverage.risk.items, .count = n},
                                 {.kind = CRD_SERIES_DASHES, .x = ends, .y = all, .count = 2}};
    const crd_plot plot = {.x = {.label = "share of voxels kept, most certain first", .high = 1.0},
                           .y = {.label = "error rate among them", .zero = true},
                           .series = series,
                           .count = 2};
    add_figure(
        page, s, "Risk over coverage: errors left when the uncertain part is set aside",
        "If only the most certain voxels are kept, how many of them are wrong? Dashed: all of them kept. Straight "
        "pieces are voxels of equal uncertainty, mostly 0 where all samples agree: they can\xe2\x80\x99t be "
        "ranked among each other.",
        &plot);
    return CRD_OK;
}

static crd_status plot_pavpu(crd_text *page, const crd_reported_run *s)
{
    const crd_validation *v = s->figures;
    const int64_t n = v != NULL ? v->pavpu_curve.threshold.count : 0;
    if (n < 2 || v->pavpu_curve.pavpu3d.count != n || v->pavpu_curve.p_accurate_given_certain.count != n ||
        v->pavpu_curve.p_uncertain_given_inaccurate.count != n) {
        return CRD_OK;
    }
    const double *x = v->pavpu_curve.threshold.items, used = v->pavpu.uncertainty_threshold;
    const double marked[2] = {used, used}, whole[2] = {0.0, 1.0};
    const crd_series series[] = {
        {.kind = CRD_SERIES_DASHES, .x = marked, .y = whole, .count = 2},
        {.x = x, .y = v->pavpu_curve.p_accurate_given_certain.items, .count = n, .name = "P(accurate | certain)"},
        {.x = x,
         .y = v->pavpu_curve.p_uncertain_given_inaccurate.items,
         .count = n,
         .colour = 1,
         .name = "P(uncertain | inaccurate)"},
        {.x = x, .y = v->pavpu_curve.pavpu3d.items, .count = n, .colour = 2, .name = "PAvPU3D"}};
    const crd_plot plot = {.x = {.label = "threshold of the uncertainty", .high = x[n - 1]},
                           .y = {.label = "share of cubes", .high = 1.0},
                           .series = series,
                           .count = 4};
    add_figure(page, s, "PAvPU3D over the threshold",
               "What the three shares become when another uncertainty counts as uncertain. Dashed: the threshold in "
               "use. Where the lines are flat, no cube has a mean uncertainty between the thresholds.",
               &plot);
    return CRD_OK;
}

static crd_status plot_distance(crd_text *page, const crd_reported_run *s)
{
    const crd_validation *v = s->figures;
    const int64_t n = v != NULL ? v->distance.uncertainty.count : 0;
    if (n == 0 || v->distance.error.count != n || v->distance.from.count != n) return CRD_OK;
    const crd_series series[] = {{.kind = CRD_SERIES_DOTS,
                                  .x = v->distance.from.items,
                                  .y = v->distance.uncertainty.items,
                                  .count = n,
                                  .name = "uncertainty"},
                                 {.kind = CRD_SERIES_DOTS,
                                  .x = v->distance.from.items,
                                  .y = v->distance.error.items,
                                  .count = n,
                                  .colour = 1,
                                  .name = "error rate"}};
    const crd_plot plot = {
        .x = {.label = "voxels from the predicted boundary", .whole = true, .low = 1.0, .high = 17.0},
        .y = {.label = "mean", .zero = true},
        .series = series,
        .count = 2};
    add_figure(page, s, "Away from the predicted boundary",
               "A good map falls off as the errors do. The last point is of all voxels that lie farther away.", &plot);
    return CRD_OK;
}

static crd_status plot_slices(crd_text *page, const crd_reported_run *s)
{
    crd_status status = CRD_OK;
    double *z = NULL;
    const int64_t n = s->whole.size[0];
    const double *uncertainty = s->survey.uncertainty[0], *wrong = s->survey.wrong[0];
    if (uncertainty == NULL || n < 2) return CRD_OK;
    CRD_TRY(crd_alloc(n, sizeof *z, "the slices", &z));
    for (int64_t i = 0; i < n; i++) z[i] = (double)(i + s->in_scan.origin[0]);
    const crd_series series[] = {{.x = z, .y = uncertainty, .count = n, .name = wrong != NULL ? "uncertainty" : NULL},
                                 {.x = z, .y = wrong, .count = n, .colour = 1, .name = "wrong voxels"}};
    const crd_plot plot = {.x = {.label = "z", .whole = true},
                           .y = {.label = "mean", .zero = true},
                           .series = series,
                           .count = wrong != NULL ? 2 : 1};
    add_figure(page, s, "Slice by slice",
               "Mean uncertainty of every slice along z, and its share of wrong voxels where a label is known.", &plot);
done:
    crd_free(&z);
    return status;
}

static crd_status plot_convergence(crd_text *page, const crd_reported_run *s)
{
    crd_convergence c;
    double low = 33.0, high = 67.0;
    const char *dash = strchr(s->run.uncertainty.text, '-');
    if (dash != NULL) {
        low = strtod(s->run.uncertainty.text, NULL);
        high = strtod(dash + 1, NULL);
    }
    CRD_PASS(crd_convergence_read(s->folder, s->class_count > 2 ? s->class_count : 1, low, high, &c));
    if (c.samples > 2) {
        const int64_t n = c.samples - 1;
        const crd_series series[] = {
            {.x = c.count, .y = c.width, .count = n, .name = "width of the interval"},
            {.x = c.count, .y = c.change, .count = n, .colour = 1, .name = "distance from the final probability"}};
        const crd_plot plot = {.x = {.label = "samples used", .whole = true},
                               .y = {.label = "mean over the probed voxels", .zero = true},
                               .series = series,
                               .count = 2};
        add_figure(page, s, "Were there enough samples?",
                   "Mean width of the interval, and mean distance of the probability from its final value. Both should "
                   "have settled at the right end.",
                   &plot);
    }
    crd_convergence_free(&c);
    return CRD_OK;
}

/* Grey values of this scan and of those the model was trained on. */
static crd_status plot_greys(crd_text *page, const crd_reported_run *s)
{
    const crd_model_info *model = crd_reported_model(s);
    const crd_training_record *t = model != NULL ? &model->training : NULL;
    const crd_volume_statistics *h = &s->scan_statistics;
    double x[2][CRD_HISTOGRAM_BINS], y[2][CRD_HISTOGRAM_BINS];
    if (t == NULL || t->voxels == 0 || h->count == 0) return CRD_OK;
    const double lows[2] = {h->histogram_low, t->histogram_low}, highs[2] = {h->histogram_high, t->histogram_high};
    const double counts[2] = {(double)h->count, (double)t->voxels};
    for (int k = 0; k < 2; k++) {
        const double width = (highs[k] - lows[k]) / CRD_HISTOGRAM_BINS;
        for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) {
            x[k][i] = lows[k] + width * (i + 0.5);
            y[k][i] = width > 0.0 ? (double)(k == 0 ? h->histogram : t->histogram)[i] / counts[k] / width : 0.0;
        }
    }
    const crd_series series[] = {{.x = x[0], .y = y[0], .count = CRD_HISTOGRAM_BINS, .name = "this scan"},
                                 {.x = x[1], .y = y[1], .count = CRD_HISTOGRAM_BINS, .colour = 1, .name = "training"}};
    const crd_plot plot = {
        .x = {.label = "grey value"}, .y = {.label = "density", .zero = true}, .series = series, .count = 2};
    add_figure(page, s, "Grey values: this scan and the training scans",
               "The less the two agree, the less the uncertainty can be relied on. Agreement is no proof.", &plot);
    return CRD_OK;
}

crd_status crd_page_plots(crd_text *page, const crd_reported_run *runs, int count)
{
    static crd_status (*const plots[])(crd_text * page, const crd_reported_run *s) = {
        plot_uncertainty, plot_fraction, plot_convergence, plot_slices, plot_reliability,
        plot_risk,        plot_pavpu,    plot_distance,    plot_greys};
    crd_text_add(page, "<section id=\"plots\"><h2>Plots</h2>");
    crd_text_add(page, count > 1 ? "<div class=\"plots two\">" : "<div class=\"plots\">");
    for (size_t k = 0; k < sizeof plots / sizeof plots[0]; k++) {
        const int64_t before = page->length;
        if (count > 1) crd_text_add(page, "<div class=\"pair\">");
        const int64_t opened = page->length;
        for (int i = 0; i < count; i++) CRD_PASS(plots[k](page, &runs[i]));
        if (page->length == opened) page->length = before; /* neither run has it */
        if (page->length > before && count > 1) crd_text_add(page, "</div>");
    }
    crd_text_add(page, "</div></section>");
    return page->status;
}
