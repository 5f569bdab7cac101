#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/style.h"

const char *crd_page_unit(const crd_reported_run *s)
{
    return strcmp(s->unit, "um") == 0 ? "\xc2\xb5m" : s->unit;
}

static void add_warnings(crd_text *page, const crd_reported_run *runs, int count)
{
    int64_t all = 0;
    for (int i = 0; i < count; i++) all += runs[i].warnings.count;
    if (all == 0) return;
    crd_text_add(page, "<section class=\"warnings\" aria-label=\"Warnings\"><strong>Read this first</strong><ul>");
    for (int i = 0; i < count; i++) {
        for (int64_t k = 0; k < runs[i].warnings.count; k++) {
            crd_text_add(page, "<li>");
            if (count > 1) {
                crd_text_html(page, runs[i].name);
                crd_text_add(page, ": ");
            }
            crd_text_html(page, runs[i].warnings.items[k]);
            crd_text_add(page, "</li>");
        }
    }
    crd_text_add(page, "</ul></section>");
}

/* Above what is said of one of two runs. */
static void name_part(crd_text *page, const crd_reported_run *s)
{
    crd_text_add(page, "<p class=\"which\">");
    crd_text_html(page, s->name);
    crd_text_add(page, "</p>");
}

static void name_run(crd_text *page, const crd_reported_run *s, bool with_scan)
{
    const char *kind = s->run.model.kind, *scan = s->run.scan.path;
    const int64_t samples = s->run.plan.samples;
    crd_text_add(page, "<p class=\"sub\">");
    if (s->name[0] != '\0') {
        crd_text_add(page, "<strong>");
        crd_text_html(page, s->name);
        crd_text_add(page, "</strong> ");
    }
    crd_text_html(page, s->folder);
    crd_text_print(page, " \xc2\xb7 %lld \xc3\x97 %lld \xc3\x97 %lld voxels (z, y, x)", (long long)s->whole.size[0],
                   (long long)s->whole.size[1], (long long)s->whole.size[2]);
    if (s->spacing[0] > 0.0) {
        crd_text_add(page, " of ");
        for (int axis = 0; axis < 3; axis++) {
            if (axis > 0) crd_text_add(page, " \xc3\x97 ");
            crd_text_number(page, s->spacing[axis], 4, "");
        }
        crd_text_add(page, " ");
        crd_text_html(page, crd_page_unit(s));
    }
    if (kind[0] != '\0') {
        crd_text_add(page, strcmp(kind, "bcnn") == 0   ? " \xc2\xb7 Bayesian network (bcnn)"
                           : strcmp(kind, "mcdn") == 0 ? " \xc2\xb7 Monte Carlo dropout network (mcdn)"
                                                       : "");
    }
    if (samples > 0) crd_text_print(page, " \xc2\xb7 %lld samples", (long long)samples);
    if (scan != NULL && with_scan) {
        crd_text_add(page, "<br>scan ");
        crd_text_html(page, scan);
    }
    crd_text_add(page, "</p>");
}

void crd_page_begin(crd_text *page, const char *title, const crd_reported_run *runs, int count)
{
    crd_text_add(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                       "<meta name=\"generator\" content=\"credence ");
    crd_text_html(page, crd_version());
    crd_text_add(page, "\"><title>");
    crd_text_html(page, title);
    crd_text_add(page, "</title><style>" CRD_REPORT_STYLE "</style></head>\n<body><header><h1>");
    crd_text_html(page, title);
    crd_text_add(page, "</h1>");
    for (int i = 0; i < count; i++) {
        const char *scan = runs[i].run.scan.path;
        const char *next = i + 1 < count ? runs[i + 1].run.scan.path : NULL;
        name_run(page, &runs[i], scan == NULL || next == NULL || strcmp(scan, next) != 0);
    }
    crd_text_add(page, "<nav><a href=\"#short\">In short</a> <a href=\"#meaning\">What it means</a> "
                       "<a href=\"#slices\">Slices</a> <a href=\"#plots\">Plots</a> <a href=\"#regions\">Where to look "
                       "first</a> <a href=\"#made\">How it was made</a></nav></header><main>");
    add_warnings(page, runs, count);
}

static void number_box(crd_text *page, double value, int digits, const char *unit, const char *words)
{
    if (!isfinite(value)) return;
    crd_text_add(page, "<div><b>");
    crd_text_number(page, value, digits, "n/a");
    crd_text_add(page, unit);
    crd_text_add(page, "</b><span>");
    crd_text_html(page, words);
    crd_text_add(page, "</span></div>");
}

/* The range of the samples' volume fractions; false where the manifest has none. */
static bool fraction_range(const crd_reported_run *s, double range[2])
{
    memcpy(range, s->run.uncertainty.fractions, sizeof s->run.uncertainty.fractions);
    return isfinite(range[0]) && isfinite(range[1]);
}

static double fraction_of(const crd_reported_run *s)
{
    const double said = s->run.fraction.segmentation; /* inside the run's mask */
    return isfinite(said) ? said : s->survey.foreground;
}

/* Whether the manifest has an interval that holds what the network gets wrong as a whole. */
static bool interval_known(const crd_reported_run *s)
{
    return isfinite(s->run.fraction.systematic) && isfinite(s->run.fraction.mean);
}

static void fraction_box(crd_text *page, const crd_reported_run *s)
{
    double range[2];
    crd_text_add(page, "<div><b>");
    crd_text_fixed(page, 100.0 * (interval_known(s) ? s->run.fraction.mean : fraction_of(s)), 2, "n/a");
    crd_text_add(page, " %</b><span>of the volume is foreground");
    if (interval_known(s)) {
        crd_text_add(page, "; 90 % interval ");
        crd_text_fixed(page, 100.0 * s->run.fraction.interval90[0], 2, "n/a");
        crd_text_add(page, " to ");
        crd_text_fixed(page, 100.0 * s->run.fraction.interval90[1], 2, "n/a");
        crd_text_add(page, " %");
    } else if (fraction_range(s, range)) {
        crd_text_add(page, "; samples\xe2\x80\x99 ");
        crd_text_html(page, s->run.uncertainty.text);
        crd_text_add(page, " % range ");
        crd_text_fixed(page, 100.0 * range[0], 2, "");
        crd_text_add(page, " to ");
        crd_text_fixed(page, 100.0 * range[1], 2, "");
        crd_text_add(page, " %");
    }
    if (s->figures != NULL) {
        crd_text_add(page, "; in the label ");
        crd_text_fixed(page, 100.0 * s->figures->label_fraction, 2, "n/a");
        crd_text_add(page, " %");
    }
    crd_text_add(page, "</span></div>");
}

/* Why the segmentation's fraction can lie outside the samples' range. */
static void explain_fraction(crd_text *page, const crd_reported_run *s)
{
    double range[2];
    if (interval_known(s)) {
        crd_text_add(page,
                     "<p class=\"note\">The 90 % interval holds the spread of the samples and, with the larger weight, "
                     "what the network got wrong as a whole when its training scans were changed by noise, blur, "
                     "sharpening, bent contrast and drift that it hadn\xe2\x80\x99t learnt: so it is one for scans "
                     "that differ from those in such ways, and relative to the person who labelled them.</p>");
    }
    if (!fraction_range(s, range)) return;
    const double said = fraction_of(s);
    if (said >= range[0] && said <= range[1]) return;
    crd_text_add(page,
                 "<p class=\"note\">The segmentation\xe2\x80\x99s volume fraction lies outside the range of the "
                 "samples. That is no error: the segmentation cuts the <em>mean</em> of all samples at one half, "
                 "while each sample is cut by itself, and what only some samples see disappears in the mean. For a "
                 "quantity with its spread take the samples; for a picture of the whole take the segmentation.</p>");
}

typedef struct table_row {
    const char *name;
    size_t offset;
    int better;       /* 1: higher is, -1: lower, 0: neither */
    const char *many; /* what it is with more than two classes, where that is something else */
} table_row;

static double figure_at(const crd_reported_run *s, size_t offset)
{
    double value = (double)NAN;
    if (s->figures != NULL) memcpy(&value, (const char *)s->figures + offset, sizeof value);
    return value;
}

/* As printed: what can't be told apart there is equal. */
static double rounded(double value)
{
    return rint(value * 1e4);
}

static void figure_row(crd_text *page, const table_row *row, const crd_reported_run *runs, int count)
{
    bool known = false; /* what only two classes have */
    for (int i = 0; i < count; i++) known |= runs[i].class_count == 2 || isfinite(figure_at(&runs[i], row->offset));
    if (!known) return;
    crd_text_add(page, "<tr><th scope=\"row\">");
    crd_text_html(page, runs[0].class_count > 2 && row->many != NULL ? row->many : row->name);
    crd_text_add(page, "</th>");
    for (int i = 0; i < count; i++) {
        const double value = figure_at(&runs[i], row->offset);
        const double other = count > 1 ? figure_at(&runs[1 - i], row->offset) : (double)NAN;
        crd_text_add(page, row->better * (rounded(value) - rounded(other)) > 0.0 ? "<td><strong>" : "<td>");
        crd_text_fixed(page, value, 4, "n/a");
        crd_text_add(page, row->better * (rounded(value) - rounded(other)) > 0.0 ? "</strong></td>" : "</td>");
    }
    crd_text_add(page, "</tr>");
}

static void figure_table(crd_text *page, const crd_reported_run *runs, int count)
{
#define AT(MEMBER) offsetof(crd_validation, MEMBER)
    static const table_row rows[] = {
        {"Accuracy", AT(accuracy), 1, NULL},
        {"Dice", AT(dice), 1, "Mean Dice of the classes"},
        {"Intersection over union", AT(iou), 1, "Mean intersection over union of the classes"},
        {"Volume fraction, segmentation", AT(volume_fraction), 0, NULL},
        {"Volume fraction, label", AT(label_fraction), 0, NULL},
        {"Mean uncertainty", AT(uncertainty.mean), 0, NULL},
        {"P(accurate | certain): right where it says it can be trusted", AT(pavpu.p_accurate_given_certain), 1, NULL},
        {"P(uncertain | inaccurate): warns where it is wrong", AT(pavpu.p_uncertain_given_inaccurate), 1, NULL},
        {"PAvPU3D: both together", AT(pavpu.pavpu3d), 1, NULL},
        {"Expected calibration error", AT(calibration.ece), -1, NULL},
        {"Brier score", AT(calibration.brier), -1, NULL},
        {"Negative log-likelihood", AT(calibration.nll), -1, NULL},
        {"Area under risk over coverage", AT(calibration.aurc), -1, NULL},
        {"Autocorrelation of neighbouring voxels", AT(geometry.autocorrelation), 0, NULL},
        {"Mean gradient / mean", AT(geometry.gradient_over_mean), 0, NULL}};
#undef AT
    crd_text_add(page, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Against the label</th>");
    for (int i = 0; i < count; i++) {
        crd_text_add(page, "<th scope=\"col\">");
        crd_text_html(page, runs[i].name);
        crd_text_add(page, "</th>");
    }
    crd_text_add(page, "</tr></thead><tbody>");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) figure_row(page, &rows[i], runs, count);
    crd_text_add(page, "</tbody></table></div>");
    if (count > 1) crd_text_add(page, "<p class=\"note\">Bold: the better of the two, where one can be.</p>");
}

/* The comparison in words, line by line. */
static crd_status compare_runs(crd_text *page, const crd_reported_run *runs)
{
    char *words = NULL;
    const crd_compared_run compared[2] = {{"Run A", runs[0].run.model.kind, runs[0].figures},
                                          {"Run B", runs[1].run.model.kind, runs[1].figures}};
    CRD_PASS(crd_compare_in_words(compared, 2, &words));
    crd_text_add(page, "<h3>The two runs in words</h3><ul>");
    for (char *line = words; *line != '\0';) {
        char *end = strchr(line, '\n');
        *end = '\0';
        crd_text_add(page, "<li>");
        crd_text_html(page, line);
        crd_text_add(page, "</li>");
        line = end + 1;
    }
    crd_text_add(page, "</ul>");
    crd_settings_free_text(&words);
    return CRD_OK;
}

/* Figures over voxels that the model learnt from aren't what they look like, so that comes first. */
static void say_seen(crd_text *page, const crd_validation *v)
{
    if (v->seen_in_training <= 0) return;
    crd_text_print(page,
                   "<p><strong>The model learnt from %lld of the %lld labelled voxels here: figures over all of them "
                   "flatter.</strong>",
                   (long long)(v->voxels - v->unseen.voxels), (long long)v->voxels);
    if (v->unseen.voxels > 0) {
        crd_text_print(page, " Over the %lld others: accuracy ", (long long)v->unseen.voxels);
        crd_text_fixed(page, v->unseen.accuracy, 4, "n/a");
        crd_text_add(page, ", Dice ");
        crd_text_fixed(page, v->unseen.dice, 4, "n/a");
        crd_text_add(page, ", negative log-likelihood ");
        crd_text_fixed(page, v->unseen.nll, 4, "n/a");
        crd_text_add(page, ".");
    }
    crd_text_add(page, "</p>");
}

crd_status crd_page_summary(crd_text *page, const crd_reported_run *runs, int count)
{
    int validated = 0;
    crd_text_add(page, "<section id=\"short\"><h2>In short</h2>");
    for (int i = 0; i < count; i++) {
        const crd_reported_run *s = &runs[i];
        const crd_validation *v = s->figures;
        if (count > 1) name_part(page, s);
        if (v != NULL) say_seen(page, v);
        crd_text_add(page, "<div class=\"numbers\">");
        if (s->class_count == 2) fraction_box(page, s);
        if (s->unc != NULL) {
            const double mean = isfinite(s->run.uncertainty.mean) ? s->run.uncertainty.mean : s->survey.mean;
            number_box(page, mean, 3, "", "mean uncertainty of a voxel, on a scale of 0 to 1");
        }
        if (v != NULL) {
            number_box(page, 100.0 * v->accuracy, 4, " %", "of the labelled voxels are right");
            number_box(page, 100.0 * v->pavpu.p_accurate_given_certain, 4, " %", "right where the map says certain");
            number_box(page, 100.0 * v->pavpu.p_uncertain_given_inaccurate, 4, " %",
                       "of what is wrong is marked uncertain");
            validated++;
        }
        crd_text_add(page, "</div>");
        if (s->class_count > 2)
            crd_page_class_table(page, s);
        else
            explain_fraction(page, s);
    }
    if (validated > 0) figure_table(page, runs, count);
    crd_page_confusion(page, runs, count);
    if (validated > 1) CRD_PASS(compare_runs(page, runs));
    crd_text_add(page, "</section>");
    return CRD_OK;
}

void crd_page_words(crd_text *page, const crd_reported_run *s)
{
    const char *interval = s->run.uncertainty.text[0] != '\0' ? s->run.uncertainty.text : "33-67";
    char low[sizeof s->run.uncertainty.text];
    snprintf(low, sizeof low, "%.*s", (int)strcspn(interval, "-"), interval);
    crd_text_add(
        page,
        "<section id=\"meaning\"><h2>What the uncertainty says</h2><p>The network was asked many times, each time with "
        "other weights drawn from what training left open. Every voxel so has many probabilities");
    crd_text_add(page, s->class_count == 2
                           ? ". The segmentation is where their mean is above one half. The "
                             "<strong>uncertainty</strong> of a voxel is how far apart they lie: from percentile "
                           : " of each class. The segmentation is the class whose mean probability is the largest. The "
                             "<strong>uncertainty</strong> of a voxel is how far apart the probabilities of that class "
                             "lie: from percentile ");
    crd_text_html(page, low);
    crd_text_add(page, " to percentile ");
    crd_text_html(page, strchr(interval, '-') + 1);
    crd_text_add(
        page,
        ". 0 means that all agree, 1 that they disagree completely.</p><ul>"
        "<li>It shows <strong>where</strong> the segmentation should be looked at before anything depends on it: edges "
        "without contrast, artefacts, material that training never showed.</li>"
        "<li>It is <strong>not</strong> an error bar that holds the truth with a stated probability. It covers what "
        "the "
        "model doesn\xe2\x80\x99t know about its weights, not a wrong label, not a scan of another kind, and not what "
        "every "
        "sample gets wrong in the same way.</li>"
        "<li>Its size depends on how the model was trained. Compare places within one map, and maps of one model; "
        "between "
        "models compare the figures against a label.</li>"
        "<li>The range of the volume fraction comes from whole realisations, each of which is one function applied to "
        "the "
        "whole scan. It is the spread of this model\xe2\x80\x99s opinions, and narrower than the real error where the "
        "model "
        "is biased.</li></ul></section>");
}

/* Whether the borders of tiles can be seen, by what twice the halo changes there. */
static void tell_borders(crd_text *page, const crd_manifest *m)
{
    static const double seen = 0.01;
    if (m->certificate.places < 0) return;
    if (m->certificate.places == 0) {
        crd_text_add(page, " The result is one tile, without a border.");
        return;
    }
    const double largest = m->certificate.largest_probability;
    crd_text_add(page, largest > seen ? " <strong>Tiles can be seen</strong>: at " : " Tiles are invisible: at ");
    crd_text_print(page, "%lld place%s on their borders the probability differs by ", (long long)m->certificate.places,
                   m->certificate.places == 1 ? "" : "s");
    crd_text_add(page, largest > seen ? "up to " : "at most ");
    crd_text_number(page, largest, 2, "n/a");
    crd_text_add(page, " from what the network says when it sees twice as far.");
    if (largest > seen) crd_text_add(page, " A larger <code>--halo</code> mends it.");
}

/* How the scan was covered, in words. */
static void tell_mode(crd_text *page, const crd_manifest *m)
{
    if (m->mode != NULL && strcmp(m->mode, "seamless") == 0) {
        const bool training = m->norms != NULL && strcmp(m->norms, "training") == 0;
        crd_text_add(page,
                     "<p>Every voxel was computed once, in tiles: a sample is one function of the whole scan, with the "
                     "norms\xe2\x80\x99 statistics of pieces of ");
        crd_text_add(page, training ? "the training scans." : "this scan.");
        tell_borders(page, m);
        crd_text_add(page, "</p>");
        return;
    }
    if (m->plan.max_coverage < 1) return;
    crd_text_print(page,
                   "<p>Every voxel is the mean of %lld to %lld overlapping chunks of %lld \xc3\x97 %lld \xc3\x97 %lld "
                   "voxels (z, y, x), each with norms of its own.</p>",
                   (long long)m->plan.min_coverage, (long long)m->plan.max_coverage, (long long)m->plan.chunk[0],
                   (long long)m->plan.chunk[1], (long long)m->plan.chunk[2]);
}

void crd_page_manifest(crd_text *page, const crd_reported_run *runs, int count)
{
    crd_text_add(page, "<section id=\"made\"><h2>How the run was made</h2>");
    for (int i = 0; i < count; i++) {
        const crd_reported_run *s = &runs[i];
        char *text = NULL;
        if (count > 1) name_part(page, s);
        if (s->run.document == NULL || crd_json_print(s->run.document, false, &text) != CRD_OK) {
            crd_text_add(page, "<p>There is no manifest.</p>");
            continue;
        }
        tell_mode(page, &s->run);
        crd_text_add(page,
                     "<p>The manifest is enough to repeat the run: <code>credence predict --config "
                     "manifest.json -o NEW</code> gives the same bytes.</p><details><summary>manifest.json</summary>"
                     "<pre>");
        crd_text_html(page, text);
        crd_text_add(page, "</pre></details>");
        crd_free(&text);
    }
    crd_text_add(page, "</section>");
}

void crd_page_end(crd_text *page)
{
    crd_text_add(page, "</main><footer>Made by credence ");
    crd_text_html(page, crd_version());
    crd_text_add(page, ". This page needs no network; its pictures also lie beside it.</footer></body></html>\n");
}
