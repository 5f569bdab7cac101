/* What the page opens with: the middle slice, a sentence, and the numbers that matter. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "report/page.h"
#include "report/verdict.h"

/* A number in large print with its words, in which all is markup already. */
static void begin_box(crd_text *page)
{
    crd_text_add(page, "<div><b>");
}

static void end_box(crd_text *page, const char *words)
{
    crd_text_add(page, "</b><span>");
    crd_text_html(page, words);
}

static void close_box(crd_text *page)
{
    crd_text_add(page, "</span></div>");
}

static void add_percent(crd_text *page, double share)
{
    crd_text_fixed(page, 100.0 * share, 2, "n/a");
    if (isfinite(share)) crd_text_add(page, "\xc2\xa0%");
}

static void add_range(crd_text *page, const double range[2], double factor, int decimals, const char *unit)
{
    crd_text_fixed(page, factor * range[0], decimals, "n/a");
    crd_text_add(page, " to ");
    crd_text_fixed(page, factor * range[1], decimals, "n/a");
    crd_text_add(page, unit);
}

/* The label's shares are of what the figures are over, the run's of what lies inside its own mask. */
static bool label_is_beside(const crd_reported_run *s)
{
    return s->figures != NULL && (s->mask == NULL || s->mask_is_its);
}

static void fraction_box(crd_text *page, const crd_reported_run *s)
{
    double range[2];
    const char *percent;
    begin_box(page);
    add_percent(page, crd_verdict_interval_known(s) ? s->run.fraction.mean : crd_verdict_fraction(s));
    end_box(page, s->mask_is_its ? "of what lies inside the mask is foreground" : "of the volume is foreground");
    if (crd_verdict_interval_known(s)) {
        crd_text_add(page, "; 90 % interval ");
        add_range(page, s->run.fraction.interval90, 100.0, 2, "\xc2\xa0%");
    } else if (crd_verdict_samples_range(s, range, &percent)) {
        crd_text_add(page, "; samples\xe2\x80\x99 ");
        crd_text_html(page, percent);
        crd_text_add(page, " % range ");
        add_range(page, range, 100.0, 2, "\xc2\xa0%");
    }
    if (label_is_beside(s)) {
        crd_text_add(page, "; in the label ");
        add_percent(page, s->figures->label_fraction);
    }
    close_box(page);
}

static void class_boxes(crd_text *page, const crd_reported_run *s)
{
    for (int k = 0; k < s->class_count; k++) {
        const crd_run_class *c = &s->run.classes[k];
        begin_box(page);
        add_percent(page, c->mean);
        crd_text_add(page, "</b><span>");
        crd_page_class_name(page, s, k);
        if (isfinite(c->interval90[0]) && isfinite(c->interval90[1])) {
            crd_text_add(page, isfinite(c->systematic) ? "; 90 % interval " : "; samples\xe2\x80\x99 90 % range ");
            add_range(page, c->interval90, 100.0, 2, "\xc2\xa0%");
        }
        if (label_is_beside(s) && s->figures->classes.label_fraction.count == s->class_count) {
            crd_text_add(page, "; in the label ");
            add_percent(page, s->figures->classes.label_fraction.items[k]);
        }
        close_box(page);
    }
}

/* How well the model does where it never learnt, and how well this run does against a label. */
static void quality_boxes(crd_text *page, const crd_reported_run *s)
{
    const crd_model_info *model = crd_reported_model(s);
    const crd_heldout *h = model != NULL && model->heldout.blocks > 0 ? &model->heldout : NULL;
    const bool many = s->class_count > 2;
    if (h != NULL && isfinite(h->dice)) {
        begin_box(page);
        crd_text_fixed(page, h->dice, 3, "n/a");
        end_box(page, many ? "mean Dice of the classes in pieces of the training scans that were held back"
                           : "Dice in pieces of the training scans that were held back");
        if (isfinite(h->dice_interval[0])) {
            crd_text_add(page, "; 90 % interval ");
            add_range(page, h->dice_interval, 1.0, 3, "");
        }
        close_box(page);
    }
    if (s->figures == NULL || !isfinite(s->figures->dice)) return;
    begin_box(page);
    crd_text_fixed(page, s->figures->dice, 3, "n/a");
    end_box(page,
            many ? "mean Dice of the classes against the label of this scan" : "Dice against the label of this scan");
    if (s->figures->seen_in_training > 0) crd_text_add(page, ", parts of which the model learnt from");
    close_box(page);
}

static void certificate_box(crd_text *page, const crd_reported_run *s)
{
    const crd_manifest *m = &s->run;
    if (m->certificate.places < 1) return;
    begin_box(page);
    if (m->certificate.largest_probability < 0.001)
        crd_text_add(page, "&lt;\xc2\xa0"
                           "0.001");
    else
        crd_text_number(page, m->certificate.largest_probability, 2, "n/a");
    end_box(page, m->certificate.largest_probability > CRD_VERDICT_BORDER
                      ? "is the largest step of the probability at the borders of tiles: they can be seen"
                      : "is the largest step of the probability at the borders of tiles: they are invisible");
    close_box(page);
}

static void uncertainty_box(crd_text *page, const crd_reported_run *s)
{
    const double mean = isfinite(s->run.uncertainty.mean) ? s->run.uncertainty.mean : s->survey.mean;
    if (s->unc == NULL || !isfinite(mean)) return;
    begin_box(page);
    crd_text_number(page, mean, 3, "");
    end_box(page, "mean uncertainty of a voxel, on a scale of 0 to 1");
    close_box(page);
}

static void explain_interval(crd_text *page, const crd_reported_run *runs, int count)
{
    bool known = false;
    for (int i = 0; i < count; i++) known |= crd_verdict_interval_known(&runs[i]);
    if (!known) return;
    crd_text_add(page,
                 "<p class=\"note\">The 90 % interval of a share holds the spread of the samples and, with the larger "
                 "weight, what the network got wrong as a whole when its training scans were changed by noise, blur, "
                 "sharpening, bent contrast and drift that it hadn\xe2\x80\x99t learnt: so it is one for scans that "
                 "differ from those in such ways, and relative to the person who labelled them.</p>");
}

/* Why the segmentation's fraction can lie outside the samples' range. */
static void explain_fraction(crd_text *page, const crd_reported_run *s)
{
    double range[2];
    const char *percent;
    if (crd_verdict_interval_known(s)) return; /* the share that is shown is its middle */
    if (!crd_verdict_samples_range(s, range, &percent)) return;
    const double said = crd_verdict_fraction(s);
    if (said >= range[0] && said <= range[1]) return;
    crd_text_add(page,
                 "<p class=\"note\">The segmentation\xe2\x80\x99s volume fraction lies outside the range of the "
                 "samples. That is no error: the segmentation cuts the <em>mean</em> of all samples at one half, "
                 "while each sample is cut by itself, and what only some samples see disappears in the mean. For a "
                 "quantity with its spread take the samples; for a picture of the whole take the segmentation.</p>");
}

static bool has_warning(const crd_reported_run *s, const char *words)
{
    for (int64_t k = 0; k < s->warnings.count; k++) {
        if (strcmp(s->warnings.items[k], words) == 0) return true;
    }
    return false;
}

/* One of two runs' warnings; what both warn of is said once. */
static void add_warning(crd_text *page, const crd_reported_run *runs, int count, int number, const char *words)
{
    const bool both = count > 1 && has_warning(&runs[1 - number], words);
    if (both && number == 1) return;
    crd_text_add(page, "<li>");
    if (count > 1) {
        crd_text_html(page, both ? "Both runs" : runs[number].name);
        crd_text_add(page, ": ");
    }
    crd_text_names(page, words);
    crd_text_add(page, "</li>");
}

static void add_warnings(crd_text *page, const crd_reported_run *runs, int count)
{
    int64_t all = 0;
    for (int i = 0; i < count; i++) all += runs[i].warnings.count;
    if (all == 0) return;
    crd_text_add(page, "<section class=\"warnings\" aria-label=\"Warnings\"><strong>Read this first</strong><ul>");
    for (int i = 0; i < count; i++) {
        for (int64_t k = 0; k < runs[i].warnings.count; k++) {
            add_warning(page, runs, count, i, runs[i].warnings.items[k]);
        }
    }
    crd_text_add(page, "</ul></section>");
}

crd_status crd_page_opening(crd_page_pictures *pictures, crd_reported_run *runs, int count, const crd_stack *stack)
{
    crd_text *page = pictures->page;
    crd_text_add(page, "<section id=\"short\" class=\"opening\"><h2>In short</h2>");
    CRD_PASS(crd_page_middle(pictures, runs, count, stack));
    crd_text_add(page, "<p class=\"verdict\">");
    CRD_PASS(crd_verdict_say(page, runs, count));
    crd_text_add(page, "</p>");
    add_warnings(page, runs, count);
    for (int i = 0; i < count; i++) {
        const crd_reported_run *s = &runs[i];
        if (count > 1) crd_page_which(page, s);
        crd_text_add(page, "<div class=\"numbers\">");
        if (s->class_count == 2)
            fraction_box(page, s);
        else
            class_boxes(page, s);
        quality_boxes(page, s);
        certificate_box(page, s);
        uncertainty_box(page, s);
        crd_text_add(page, "</div>");
        if (s->class_count == 2) explain_fraction(page, s);
    }
    explain_interval(page, runs, count);
    crd_text_add(page, "</section>");
    return page->status;
}
