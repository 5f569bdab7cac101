#include "report/page.h"

#include <stdio.h>
#include <string.h>

#include "report/measured.h"
#include "report/style.h"
#include "report/verdict.h"

const char *const crd_page_run_names[2] = {"Run A: ", "Run B: "};

const char *crd_page_unit(const crd_reported_run *s)
{
    return strcmp(s->unit, "um") == 0 ? "\xc2\xb5m" : s->unit;
}

void crd_page_count(crd_text *page, int64_t count)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-' && length > 4) crd_text_add(page, "\xe2\x80\xaf");
        crd_text_add_bytes(page, &digits[i], 1);
    }
}

/* Above what is said of one of two runs. */
void crd_page_which(crd_text *page, const crd_reported_run *s)
{
    crd_text_add(page, "<p class=\"which\">");
    crd_text_html(page, s->name);
    crd_text_add(page, "</p>");
}

/* "24 x 80 x 112 voxels of 1.3 x 0.65 x 0.65 um, 52 x 52 x 72.8 um in all" */
static void say_size(crd_text *page, const crd_reported_run *s)
{
    static const char times[] = " \xc3\x97 ";
    const char *unit = crd_page_unit(s);
    for (int axis = 0; axis < 3; axis++) {
        crd_text_print(page, "%s%lld", axis > 0 ? times : "", (long long)s->whole.size[axis]);
    }
    crd_text_add(page, " voxels (z, y, x)");
    if (!(s->spacing[0] > 0.0)) return;
    crd_text_add(page, " of ");
    const bool cubes = s->spacing[0] == s->spacing[1] && s->spacing[1] == s->spacing[2];
    for (int axis = cubes ? 2 : 0; axis < 3; axis++) {
        if (axis > 0 && !cubes) crd_text_add(page, times);
        crd_text_number(page, s->spacing[axis], 4, "");
    }
    crd_text_add(page, " ");
    crd_text_html(page, unit);
    crd_text_add(page, ", in all ");
    for (int axis = 0; axis < 3; axis++) {
        if (axis > 0) crd_text_add(page, times);
        crd_text_number(page, s->spacing[axis] * (double)s->whole.size[axis], 4, "");
    }
    crd_text_add(page, " ");
    crd_text_html(page, unit);
}

/* File names only: whose folders they lie in is nobody's business, and the manifest in the run folder has them. */
static void name_run(crd_text *page, const crd_reported_run *s)
{
    const char *kind = s->run.model.kind;
    const int64_t samples = s->run.plan.samples;
    crd_text_add(page, "<p class=\"sub\">");
    if (s->name[0] != '\0') {
        crd_text_add(page, "<strong>");
        crd_text_html(page, s->name);
        crd_text_add(page, "</strong> \xc2\xb7 ");
    }
    if (s->run.scan.path != NULL) {
        crd_text_add(page, "scan ");
        crd_text_name(page, s->run.scan.path);
        crd_text_add(page, " \xc2\xb7 ");
    }
    say_size(page, s);
    crd_text_add(page, "<br>run ");
    crd_text_html(page, s->folder_name);
    if (s->run.model.path != NULL) {
        crd_text_add(page, " \xc2\xb7 model ");
        crd_text_name(page, s->run.model.path);
    }
    if (kind[0] != '\0') {
        crd_text_add(page, strcmp(kind, "bcnn") == 0   ? " \xc2\xb7 Bayesian network (bcnn)"
                           : strcmp(kind, "mcdn") == 0 ? " \xc2\xb7 Monte Carlo dropout network (mcdn)"
                                                       : "");
    }
    if (samples > 0) crd_text_print(page, " \xc2\xb7 %lld samples", (long long)samples);
    if (s->run.finished != NULL && s->run.finished[0] != '\0') {
        char day[11];
        snprintf(day, sizeof day, "%s", s->run.finished); /* without the hour */
        crd_text_add(page, " \xc2\xb7 ");
        crd_text_html(page, day);
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
    crd_text_add(page, "</title><style>");
    crd_report_style(page);
    crd_text_add(page, "</style></head>\n<body><header><h1>");
    crd_text_html(page, title);
    crd_text_add(page, "</h1>");
    for (int i = 0; i < count; i++) name_run(page, &runs[i]);
    bool measured = false;
    for (int i = 0; i < count; i++) measured |= crd_page_is_measured(&runs[i]);
    crd_text_add(page, "<nav><a href=\"#short\">In short</a> <a href=\"#trust\">How good it is</a> <a "
                       "href=\"#regions\">Where to look first</a> ");
    if (measured) crd_text_add(page, "<a href=\"#measured\">Properties</a> ");
    crd_text_add(page, "<a href=\"#slices\">Slices</a> <a href=\"#plots\">Plots</a> <a href=\"#meaning\">What it "
                       "means</a> <a href=\"#made\">How it was made</a></nav></header><main>");
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
        "models compare the figures against a label.</li>");
    crd_text_add(page,
                 crd_verdict_interval_known(s)
                     ? "<li>The interval of the volume fraction is wider than the spread of the samples: it also holds "
                       "what the network got wrong as a whole on changed scans of the training. What else comes from "
                       "whole realisations has the spread of this model\xe2\x80\x99s opinions alone, which is narrower "
                       "than the real error where the model is biased.</li></ul></section>"
                     : "<li>The range of the volume fraction comes from whole realisations, each of which is one "
                       "function applied to the whole scan. It is the spread of this model\xe2\x80\x99s opinions, and "
                       "narrower than the real error where the model is biased.</li></ul></section>");
}

void crd_page_end(crd_text *page, const crd_stack *stack)
{
    crd_text_add(page, "</main><footer>Made by credence ");
    crd_text_html(page, crd_version());
    crd_text_add(page, ". This page needs no network; its pictures also lie beside it.</footer>\n");
    crd_stack_data(page, stack);
    crd_text_add(page, "<script>");
    crd_report_add_file(page, "look.js");
    crd_text_add(page, "</script></body></html>\n");
}
