/* How the run was made: in words to read, in words to paste, and as settings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/names.h"
#include "report/page.h"
#include "report/verdict.h"

/* Whether the borders of tiles can be seen, by what twice the halo changes there. */
static void tell_borders(crd_text *page, const crd_manifest *m)
{
    if (m->certificate.places < 0) return;
    if (m->certificate.places == 0) {
        crd_text_add(page, " The result is one tile, without a border.");
        return;
    }
    const double largest = m->certificate.largest_probability;
    crd_text_add(page, largest > CRD_VERDICT_BORDER ? " <strong>Tiles can be seen</strong>: at "
                                                    : " Tiles are invisible: at ");
    crd_text_print(page, "%lld place%s on their borders the probability differs by ", (long long)m->certificate.places,
                   m->certificate.places == 1 ? "" : "s");
    crd_text_add(page, largest > CRD_VERDICT_BORDER ? "up to " : "at most ");
    crd_text_number(page, largest, 2, "n/a");
    crd_text_add(page, " from what the network says when it sees twice as far.");
    if (largest > CRD_VERDICT_BORDER) crd_text_add(page, " A larger <code>--halo</code> mends it.");
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

/* ---- the paragraph for a paper ---- */

/* A setting of the training as a number; NaN where it isn't known. */
static double trained_with(const crd_model_info *model, const char *name)
{
    double value = (double)NAN;
    cJSON *config = model != NULL && model->config != NULL ? cJSON_Parse(model->config) : NULL;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    if (cJSON_IsNumber(item)) value = item->valuedouble;
    cJSON_Delete(config);
    return value;
}

static void write_network(crd_text *words, const crd_reported_run *s)
{
    const crd_manifest *m = &s->run;
    const crd_model_info *model = crd_reported_model(s);
    const bool dropout = strcmp(m->model.kind, "mcdn") == 0;
    crd_text_add(words, dropout ? " with a three-dimensional Monte Carlo dropout network"
                                : " with a three-dimensional Bayesian convolutional network");
    crd_text_add(words, " (LaBonte, Martinez & Roberts, arXiv:1910.10793, 2019) as implemented in credence ");
    crd_text_add(words, m->program != NULL ? m->program : crd_version());
    if (m->model.filters > 0) crd_text_print(words, ", with %lld base filters", (long long)m->model.filters);
    if (model != NULL) {
        const double steps = trained_with(model, "max-steps"), seed = trained_with(model, "seed");
        if (steps > 0.0) crd_text_print(words, ", trained for %.0f steps", steps);
        if (isfinite(seed)) crd_text_print(words, " (seed %.0f)", seed);
        if (model->training.voxels > 0) {
            crd_text_print(words, " on hand-labelled scans of %lld voxels", (long long)model->training.voxels);
        }
    }
    crd_text_add(words, ". ");
    if (model == NULL || model->heldout.blocks == 0 || !isfinite(model->heldout.dice)) return;
    const crd_heldout *h = &model->heldout;
    crd_text_print(words, "In %lld blocks of labels that were held back from the training, %s was ",
                   (long long)h->exam_blocks,
                   model->classes > 2 ? "the mean Dice coefficient of the classes" : "the Dice coefficient");
    crd_text_fixed(words, h->dice, 3, "n/a");
    if (isfinite(h->dice_interval[0])) {
        crd_text_add(words, " (90\xc2\xa0% interval ");
        crd_text_fixed(words, h->dice_interval[0], 3, "n/a");
        crd_text_add(words, " to ");
        crd_text_fixed(words, h->dice_interval[1], 3, "n/a");
        crd_text_add(words, ")");
    }
    crd_text_add(words, ". ");
}

static void write_share(crd_text *words, const char *name, double mean, const double interval[2], bool systematic)
{
    crd_text_add(words, crd_verdict_class(name));
    crd_text_add(words, name);
    crd_text_add(words, " ");
    crd_text_fixed(words, 100.0 * mean, 1, "n/a");
    crd_text_add(words, "\xc2\xa0%");
    if (isfinite(interval[0]) && isfinite(interval[1])) {
        crd_text_add(words, systematic ? " (90\xc2\xa0% interval " : " (5th to 95th percentile of the samples ");
        crd_text_fixed(words, 100.0 * interval[0], 1, "n/a");
        crd_text_add(words, " to ");
        crd_text_fixed(words, 100.0 * interval[1], 1, "n/a");
        crd_text_add(words, ")");
    }
}

static void write_shares(crd_text *words, const crd_reported_run *s)
{
    crd_text_add(words, s->class_count == 2 ? "The volume fraction of the " : "The volume fractions are: ");
    if (s->class_count == 2) {
        const bool known = crd_verdict_interval_known(s);
        write_share(words, "foreground is", known ? s->run.fraction.mean : crd_verdict_fraction(s),
                    s->run.fraction.interval90, known);
    }
    for (int k = 0; s->class_count > 2 && k < s->class_count; k++) {
        const crd_run_class *c = &s->run.classes[k];
        if (k > 0) crd_text_add(words, ", ");
        write_share(words, c->name, c->mean, c->interval90, isfinite(c->systematic));
    }
    crd_text_add(words, ".");
}

static void write_method(crd_text *words, const crd_reported_run *s)
{
    const crd_manifest *m = &s->run;
    crd_text_print(words, "The scan (%lld x %lld x %lld voxels", (long long)s->whole.size[0],
                   (long long)s->whole.size[1], (long long)s->whole.size[2]);
    if (s->spacing[0] > 0.0) {
        crd_text_add(words, " of ");
        for (int axis = 0; axis < 3; axis++) {
            if (axis > 0) crd_text_add(words, " x ");
            crd_text_number(words, s->spacing[axis], 4, "");
        }
        crd_text_add(words, " ");
        crd_text_add(words, crd_page_unit(s));
    }
    crd_text_add(words, "; z, y, x) was segmented");
    write_network(words, s);
    if (m->plan.samples > 0) {
        crd_text_print(words, "%lld samples of its weights were drawn (seed %.0f); ", (long long)m->plan.samples,
                       m->seed);
    }
    if (s->mask_is_its) {
        crd_text_add(words, "only voxels inside the mask (");
        crd_text_add(words, s->mask_name);
        crd_text_add(words, ") count; ");
    }
    crd_text_add(words, s->class_count == 2
                            ? "a voxel is foreground where their mean probability is above one half, and "
                            : "a voxel belongs to the class of the largest mean probability, and ");
    crd_text_add(words, "its uncertainty is the distance between percentiles ");
    crd_text_add(words, m->uncertainty.text[0] != '\0' ? m->uncertainty.text : "33-67");
    crd_text_add(words, " of the samples\xe2\x80\x99 probabilities. ");
    if (m->mode != NULL && strcmp(m->mode, "seamless") == 0) {
        crd_text_add(words, "Every voxel was computed once, with the statistics of the norms frozen at pieces of ");
        crd_text_add(words,
                     m->norms != NULL && strcmp(m->norms, "training") == 0 ? "the training scans. " : "this scan. ");
    } else if (m->plan.max_coverage > 1) {
        crd_text_print(words, "Every voxel is the mean of up to %lld overlapping chunks. ",
                       (long long)m->plan.max_coverage);
    }
    write_shares(words, s);
}

static crd_status add_method(crd_text *page, const crd_reported_run *s)
{
    crd_status status = CRD_OK;
    crd_text words = {0};
    char *text = NULL;
    write_method(&words, s);
    CRD_TRY(crd_text_finish(&words, &text));
    crd_text_add(page, "<blockquote class=\"method\">");
    crd_text_html(page, text);
    crd_text_add(page, "</blockquote><p><button type=\"button\" class=\"copy\" hidden>Copy the paragraph</button></p>");
done:
    crd_text_free(&words);
    crd_free(&text);
    return status;
}

/* ---- */

static crd_status add_manifest(crd_text *page, const crd_reported_run *s)
{
    crd_status status = CRD_OK;
    cJSON *copy = NULL;
    char *text = NULL;
    if (s->run.document == NULL) {
        crd_text_add(page, "<p>There is no manifest.</p>");
        return CRD_OK;
    }
    copy = cJSON_Duplicate(s->run.document, true);
    if (copy == NULL) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the manifest");
    CRD_TRY(crd_names_in_json(copy));
    CRD_TRY(crd_json_print(copy, false, &text));
    tell_mode(page, &s->run);
    crd_text_add(page,
                 "<p>The manifest is enough to repeat the run: <code>credence predict --config manifest.json -o "
                 "NEW</code> gives the same bytes. It lies in the run folder; here names stand in place of absolute "
                 "paths.</p><details><summary>manifest.json</summary><pre>");
    crd_text_html(page, text);
    crd_text_add(page, "</pre></details>");
done:
    cJSON_Delete(copy);
    crd_free(&text);
    return status;
}

crd_status crd_page_made(crd_text *page, const crd_reported_run *runs, int count)
{
    crd_text_add(page, "<section id=\"made\"><h2>How the run was made</h2>");
    for (int i = 0; i < count; i++) {
        if (count > 1) crd_page_which(page, &runs[i]);
        crd_text_add(page, "<h3>A paragraph to paste</h3>");
        CRD_PASS(add_method(page, &runs[i]));
        crd_text_add(page, "<h3>Settings</h3>");
        CRD_PASS(add_manifest(page, &runs[i]));
    }
    crd_text_add(page, "</section>");
    return page->status;
}
