#include "report/verdict.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "report/page.h"

double crd_verdict_fraction(const crd_reported_run *s)
{
    const double said = s->run.fraction.segmentation; /* inside the run's mask */
    return isfinite(said) ? said : s->survey.foreground;
}

bool crd_verdict_interval_known(const crd_reported_run *s)
{
    if (s->class_count > 2) return isfinite(s->run.classes[0].systematic) && isfinite(s->run.classes[0].mean);
    return isfinite(s->run.fraction.systematic) && isfinite(s->run.fraction.mean);
}

static bool is_known(const double range[2])
{
    return isfinite(range[0]) && isfinite(range[1]);
}

bool crd_verdict_samples_range(const crd_reported_run *s, double range[2], const char **percent)
{
    const bool whole = is_known(s->run.fraction.interval90);
    memcpy(range, whole ? s->run.fraction.interval90 : s->run.uncertainty.fractions, 2 * sizeof *range);
    *percent = whole ? "90" : s->run.uncertainty.text;
    return is_known(range);
}

static void percent(crd_text *page, double share)
{
    crd_text_fixed(page, 100.0 * share, 1, "n/a");
    crd_text_add(page, "\xc2\xa0%");
}

static void say_interval(crd_text *page, const char *words, const double interval[2])
{
    if (!is_known(interval)) return;
    crd_text_add(page, words);
    crd_text_fixed(page, 100.0 * interval[0], 1, "n/a");
    crd_text_add(page, " to ");
    crd_text_fixed(page, 100.0 * interval[1], 1, "n/a");
    crd_text_add(page, ")");
}

const char *crd_verdict_class(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "0123456789.-")] == '\0' ? "class " : "";
}

static void say_shares(crd_text *page, const crd_reported_run *s)
{
    if (s->class_count == 2) {
        const bool known = crd_verdict_interval_known(s);
        percent(page, known ? s->run.fraction.mean : crd_verdict_fraction(s));
        crd_text_add(page, s->mask_is_its ? " of what the mask holds is foreground" : " of the volume is foreground");
        if (known) say_interval(page, " (90 % interval ", s->run.fraction.interval90);
        if (!known) say_interval(page, " (in 90 % of the samples ", s->run.fraction.interval90);
        return;
    }
    for (int k = 0; k < s->class_count; k++) {
        const crd_run_class *c = &s->run.classes[k];
        crd_text_add(page, k == 0 ? "" : k + 1 < s->class_count ? ", " : " and ");
        percent(page, isfinite(c->mean) ? c->mean : c->segmentation);
        if (k == 0) crd_text_add(page, s->mask_is_its ? " of what the mask holds is" : " of the volume is");
        crd_text_add(page, " ");
        crd_text_add(page, crd_verdict_class(c->name));
        crd_text_html(page, c->name);
    }
}

/* The scan isn't like those of the training. */
static bool is_strange(const crd_manifest *m)
{
    return m->match.expected_error > CRD_VERDICT_ERRORS * m->match.training_expected_error ||
           m->match.histogram_distance > CRD_VERDICT_GREYS;
}

/* What speaks for it: the label of this scan, else that of the training scans where the model didn't learn. */
static void say_quality(crd_text *page, const crd_reported_run *s)
{
    const crd_validation *v = s->figures;
    const crd_model_info *model = crd_reported_model(s);
    if (v != NULL && v->seen_in_training <= 0 && isfinite(v->accuracy)) {
        crd_text_add(page, "; held against the label, ");
        percent(page, v->accuracy);
        crd_text_add(page, " of the voxels are right");
    } else if (v != NULL && v->unseen.voxels > 0 && isfinite(v->unseen.accuracy)) {
        crd_text_add(page, "; held against those parts of the label that the model never saw, ");
        percent(page, v->unseen.accuracy);
        crd_text_add(page, " of the voxels are right");
    } else if (model != NULL && model->heldout.blocks > 0 && isfinite(model->heldout.accuracy)) {
        crd_text_add(page, "; in pieces of the training scans that it never saw, the model had ");
        percent(page, model->heldout.accuracy);
        crd_text_add(page, " of the voxels right");
    } else {
        crd_text_add(page, "; how good the model is where it didn\xe2\x80\x99t learn isn\xe2\x80\x99t known");
    }
}

static bool has_borders(const crd_manifest *m)
{
    return m->certificate.places > 0 && m->certificate.largest_probability > CRD_VERDICT_BORDER;
}

/* In its exam a threshold did as well. */
static bool is_beaten(const crd_model_info *model)
{
    return model != NULL && model->heldout.blocks > 0 && model->heldout.dice <= model->heldout.threshold_dice;
}

/* What speaks against all of them, or that nothing does. */
static void say_doubts(crd_text *page, const crd_reported_run *runs, int count)
{
    bool strange = false, borders = false, looked = true, beaten = false;
    int64_t warnings = 0;
    for (int i = 0; i < count; i++) {
        const crd_manifest *m = &runs[i].run;
        strange |= is_strange(m);
        borders |= has_borders(m);
        looked &= isfinite(m->match.histogram_distance) || isfinite(m->match.expected_error);
        warnings += runs[i].warnings.count;
        beaten |= is_beaten(crd_reported_model(&runs[i]));
    }
    if (strange) {
        crd_text_add(page, ", but <em>this scan is unlike those of the training</em>: look before you rely on it");
    } else if (warnings > 0) {
        crd_text_add(page, warnings == 1 ? ", but there is <em>a warning</em> to read first"
                                         : ", but there are <em>warnings</em> to read first");
    } else if (looked) {
        crd_text_add(page, ", and nothing shows that this scan is unlike those of the training");
    }
    if (beaten) {
        crd_text_add(page, "; where the model didn\xe2\x80\x99t learn, <em>the grey value alone does as well</em>");
    }
    if (borders) crd_text_add(page, "; borders of tiles can be seen");
    crd_text_add(page, ".");
}

/* Leaves what is inside the masks of both runs. */
static crd_status read_inside(crd_reported_run *runs, crd_box slice, uint8_t *room, uint8_t *inside)
{
    const int64_t area = slice.size[1] * slice.size[2];
    for (int axis = 0; axis < 3; axis++) slice.origin[axis] += runs[0].in_scan.origin[axis];
    memset(inside, 1, (size_t)area);
    for (int k = 0; k < 2; k++) {
        if (runs[k].mask == NULL) continue;
        CRD_PASS(crd_volume_read(runs[k].mask, &slice, CRD_U8, room));
        for (int64_t i = 0; i < area; i++) inside[i] &= room[i] != 0;
    }
    return CRD_OK;
}

/* The share of the voxels in which two runs have the same class; NaN where they can't be compared. */
static crd_status find_agreement(crd_reported_run *runs, double *share)
{
    crd_status status = CRD_OK;
    float *values[2] = {NULL, NULL};
    uint8_t *inside = NULL, *room = NULL;
    const int64_t *shape = runs[0].whole.size, area = shape[1] * shape[2];
    double same = 0.0, all = 0.0;
    *share = (double)NAN;
    if (runs[0].seg == NULL || runs[1].seg == NULL || !crd_page_same_classes(runs)) return CRD_OK;
    if (memcmp(shape, runs[1].whole.size, sizeof runs[1].whole.size) != 0 ||
        memcmp(runs[0].in_scan.origin, runs[1].in_scan.origin, sizeof runs[0].in_scan.origin) != 0) {
        return CRD_OK;
    }
    for (int i = 0; i < 2; i++) CRD_TRY(crd_alloc(area, sizeof *values[i], "a comparison", &values[i]));
    CRD_TRY(crd_alloc(area, 1, "a comparison", &inside));
    CRD_TRY(crd_alloc(area, 1, "a comparison", &room));
    for (int64_t z = 0; z < shape[0]; z++) {
        const crd_box slice = {{z, 0, 0}, {1, shape[1], shape[2]}};
        for (int i = 0; i < 2; i++) CRD_TRY(crd_volume_read(runs[i].seg, &slice, CRD_F32, values[i]));
        CRD_TRY(read_inside(runs, slice, room, inside));
        for (int64_t i = 0; i < area; i++) {
            all += inside[i];
            same += inside[i] && values[0][i] == values[1][i];
        }
    }
    *share = all > 0.0 ? same / all : (double)NAN;
done:
    for (int i = 0; i < 2; i++) crd_free(&values[i]);
    crd_free(&inside);
    crd_free(&room);
    return status;
}

crd_status crd_verdict_say(crd_text *page, crd_reported_run *runs, int count)
{
    double agreement = (double)NAN;
    if (count > 1) CRD_PASS(find_agreement(runs, &agreement));
    for (int i = 0; i < count; i++) {
        if (count > 1) {
            crd_text_html(page, runs[i].name);
            crd_text_add(page, ": ");
        }
        say_shares(page, &runs[i]);
        say_quality(page, &runs[i]);
        if (i + 1 < count || isfinite(agreement)) crd_text_add(page, ".<br>");
    }
    if (isfinite(agreement)) {
        crd_text_add(page, "They agree in ");
        percent(page, agreement);
        crd_text_add(page, " of the voxels");
    }
    say_doubts(page, runs, count);
    return page->status;
}
