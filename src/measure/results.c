#include "measure/results.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "measure/coverage.h"
#include "run/widen.h"

enum { FEW_SAMPLES = 20 }; /* too few for the percentiles 5 and 95 */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between order statistics of a sorted list; infinite where one of the two is. */
static double quantile(const double *sorted, int64_t count, double percent)
{
    const double at = percent / 100.0 * (double)(count - 1);
    const int64_t low = (int64_t)floor(at), high = low + 1 < count ? low + 1 : low;
    const double part = at - (double)low;
    if (part == 0.0 || sorted[low] == sorted[high]) return sorted[low];
    return sorted[low] + part * (sorted[high] - sorted[low]);
}

crd_status crd_summarise(const double *values, int64_t count, const double percent[2], crd_summary *out)
{
    crd_status status = CRD_OK;
    double *sorted = NULL, sum = 0.0, square = 0.0;
    int64_t met = 0;
    *out = (crd_summary){(double)NAN, (double)NAN, (double)NAN, {(double)NAN, (double)NAN}, 0};
    if (count == 0) return CRD_OK;
    CRD_TRY(crd_alloc(count, sizeof *sorted, "values", &sorted));
    for (int64_t i = 0; i < count; i++) {
        if (isnan(values[i])) continue;
        sorted[met++] = values[i];
        if (!isfinite(values[i])) continue;
        sum += values[i];
        out->defined++;
    }
    if (met == 0) goto done;
    qsort(sorted, (size_t)met, sizeof *sorted, by_size);
    out->median = quantile(sorted, met, 50.0);
    if (out->defined > 0) out->mean = sum / (double)out->defined;
    if (met < 2) goto done;
    for (int k = 0; k < 2; k++) out->interval[k] = quantile(sorted, met, percent[k]);
    if (out->defined < 2) goto done;
    for (int64_t i = 0; i < met; i++) {
        if (isfinite(sorted[i])) square += (sorted[i] - out->mean) * (sorted[i] - out->mean);
    }
    out->std = sqrt(square / (double)(out->defined - 1));
done:
    crd_free(&sorted);
    return status;
}

/* "1/length^2" -> "1/um^2" */
static void write_unit(const char *unit, const char *length, char out[24])
{
    static const char word[] = "length";
    const char *at = strstr(unit, word);
    if (at == NULL) {
        snprintf(out, 24, "%s", unit);
    } else {
        snprintf(out, 24, "%.*s%.12s%s", (int)(at - unit), unit, length, at + sizeof word - 1);
    }
}

static crd_status take_names(crd_measurement *m, const crd_realisations_info *info)
{
    if (info->names[0][0] == '\0') return CRD_OK;
    CRD_PASS(crd_alloc(info->phases, sizeof *m->class_values.items, "a measurement", &m->class_values.items));
    CRD_PASS(crd_alloc(info->phases, sizeof *m->class_names.items, "a measurement", &m->class_names.items));
    for (int64_t i = 0; i < info->phases; i++) {
        CRD_PASS(crd_strdup(info->names[i], &m->class_names.items[i]));
        m->class_values.items[i] = info->values[i];
        m->class_values.count = m->class_names.count = i + 1;
    }
    return CRD_OK;
}

const char *crd_measurement_phase_name(const crd_measurement *m, double phase)
{
    for (int64_t i = 0; i < m->class_values.count; i++) {
        if (m->class_values.items[i] == phase) return m->class_names.items[i];
    }
    return NULL;
}

crd_status crd_measurement_create(const crd_realisations_info *info, const double percent[2], crd_measurement **out)
{
    crd_status status = CRD_OK;
    crd_measurement *m = NULL;
    CRD_TRY(crd_alloc(1, sizeof *m, "a measurement", &m));
    CRD_TRY(crd_strdup(info->name, &m->source));
    memcpy(m->shape, info->shape, sizeof m->shape);
    m->spacing_known = info->spacing[0] > 0.0;
    for (int axis = 0; axis < 3; axis++) m->spacing[axis] = m->spacing_known ? info->spacing[axis] : 1.0;
    snprintf(m->unit, sizeof m->unit, "%s",
             !m->spacing_known       ? "voxel"
             : info->unit[0] != '\0' ? info->unit
                                     : "length");
    m->samples = info->samples;
    m->first_sample = info->first_sample;
    memcpy(m->percent, percent, sizeof m->percent);
    CRD_TRY(take_names(m, info));
    *out = m;
    m = NULL;
done:
    crd_measurement_free(&m);
    return status;
}

static void free_list(crd_real_list *list)
{
    crd_free(&list->items);
    list->count = 0;
}

void crd_measurement_free(crd_measurement **measurement)
{
    crd_measurement *m = *measurement;
    if (m == NULL) return;
    for (int64_t i = 0; i < m->property_count; i++) {
        free_list(&m->properties[i].values);
        for (int d = 0; d < CRD_PROPERTY_DETAILS; d++) free_list(&m->properties[i].details[d].values);
        crd_free(&m->properties[i].note);
    }
    for (int64_t i = 0; i < m->distribution_count; i++) {
        crd_distribution *d = &m->distributions[i];
        free_list(&d->edges);
        free_list(&d->segmentation);
        free_list(&d->median);
        free_list(&d->low);
        free_list(&d->high);
    }
    for (int64_t i = 0; i < m->notes.count; i++) crd_free(&m->notes.items[i]);
    for (int64_t i = 0; i < m->class_names.count; i++) crd_free(&m->class_names.items[i]);
    crd_free(&m->class_names.items);
    free_list(&m->class_values);
    crd_free(&m->notes.items);
    crd_free(&m->properties);
    crd_free(&m->distributions);
    crd_free(&m->rev);
    crd_free(&m->phases);
    crd_free(&m->source);
    crd_free(measurement);
}

/* One more place in a list, of which the pointer is `list`. */
static crd_status lengthen(void *list, int64_t count, size_t size)
{
    void *longer = NULL, *old;
    memcpy(&old, list, sizeof old);
    CRD_PASS(crd_alloc(count + 1, size, "a measurement", &longer));
    if (count > 0) memcpy(longer, old, (size_t)count * size);
    crd_free(&old);
    memcpy(list, &longer, sizeof longer);
    return CRD_OK;
}

static crd_status copy_list(const double *values, int64_t count, crd_real_list *out)
{
    if (count == 0) return CRD_OK;
    CRD_PASS(crd_alloc(count, sizeof *values, "values", &out->items));
    memcpy(out->items, values, (size_t)count * sizeof *values);
    out->count = count;
    return CRD_OK;
}

static double value_at(const double *bits, int64_t bit)
{
    return bit >= 0 ? bits[bit] : (double)NAN;
}

static void note_coverage(crd_property *p)
{
    const crd_coverage *coverage = crd_coverage_of(p->name);
    p->shown = coverage != NULL;
    p->coverage_held = coverage != NULL ? coverage->held : 0;
    p->coverage_phantoms = coverage != NULL ? coverage->phantoms : 0;
}

/* On phantoms unlike the training scan the samples' own interval held the truth half of the time, the wider one as
 * often as it says (docs/RESULTS.md). It is one of 90 %. */
static void widen(const crd_measurement *m, const double *systematic, crd_property *p)
{
    const bool ninety = m->percent[0] == 5.0 && m->percent[1] == 95.0;
    if (systematic == NULL || isnan(*systematic) || !ninety || p->defined == 0) return;
    crd_interval_widen(p->mean, *systematic, p->interval);
    note_coverage(p);
}

/* The same for what no formula carries an offset over to: the property of the probability cut at both ends of it. */
static void widen_by_cuts(const crd_measurement *m, const crd_realisations_info *info, const double *bits,
                          crd_property *p)
{
    const bool ninety = m->percent[0] == 5.0 && m->percent[1] == 95.0;
    if (info->cuts[0] < 0 || !ninety || info->samples < FEW_SAMPLES || p->defined < info->samples) return;
    const double cuts[2] = {bits[info->cuts[0]], bits[info->cuts[1]]};
    if (!isfinite(cuts[0]) || !isfinite(cuts[1]) || !isfinite(p->segmentation)) return;
    crd_interval_widen_by_cuts(p->median, p->segmentation, cuts, p->interval);
    p->interval[0] = fmax(p->interval[0], 0.0); /* no property that is shown so is negative */
    note_coverage(p);
}

/* The note, and why values are missing, where some are. */
static crd_status write_note(const crd_property_plan *plan, const crd_realisations_info *info, crd_property *p)
{
    char text[320] = "";
    const long long missing = (long long)(info->samples - p->defined), samples = (long long)info->samples;
    const char *note = plan->note != NULL ? plan->note : "", *between = note[0] != '\0' ? ", " : "";
    const bool own = info->segmentation >= 0 && !isfinite(p->segmentation);
    if (plan->why == NULL || (missing == 0 && !own)) return crd_strdup(plan->note, &p->note);
    if (missing == samples) {
        snprintf(text, sizeof text, "%s%s%s", note, between, plan->why);
    } else if (missing > 0) {
        snprintf(text, sizeof text, "%s%sn/a in %lld of %lld: %s", note, between, missing, samples, plan->why);
    } else {
        snprintf(text, sizeof text, "%s%sn/a in the segmentation: %s", note, between, plan->why);
    }
    return crd_strdup(text, &p->note);
}

crd_status crd_measurement_add(crd_measurement *m, const crd_realisations_info *info, const crd_property_plan *plan)
{
    crd_summary summary;
    CRD_PASS(lengthen(&m->properties, m->property_count, sizeof *m->properties));
    crd_property *p = &m->properties[m->property_count++];
    snprintf(p->name, sizeof p->name, "%s", plan->name);
    p->phase = plan->phase;
    p->axis = plan->axis;
    write_unit(plan->unit, m->unit, p->unit);
    p->segmentation = value_at(plan->bits, info->segmentation);
    p->bounds[0] = value_at(plan->bits, info->lower);
    p->bounds[1] = value_at(plan->bits, info->upper);
    p->size_error = plan->size_error;
    p->label.value = value_at(plan->bits, info->label);
    CRD_PASS(copy_list(plan->bits, info->samples, &p->values));
    CRD_PASS(crd_summarise(plan->bits, info->samples, m->percent, &summary));
    p->mean = summary.mean;
    p->std = summary.std;
    p->median = summary.median;
    memcpy(p->interval, summary.interval, sizeof p->interval);
    p->defined = summary.defined;
    CRD_PASS(write_note(plan, info, p));
    widen(m, plan->systematic, p);
    if (plan->by_cuts) widen_by_cuts(m, info, plan->bits, p);
    for (int d = 0; d < CRD_PROPERTY_DETAILS && plan->details[d].name != NULL; d++) {
        crd_property_detail *detail = &p->details[p->detail_count++];
        snprintf(detail->name, sizeof detail->name, "%s", plan->details[d].name);
        detail->segmentation = value_at(plan->details[d].bits, info->segmentation);
        CRD_PASS(copy_list(plan->details[d].bits, info->samples, &detail->values));
    }
    return CRD_OK;
}

crd_status crd_measurement_add_distribution(crd_measurement *m, const crd_realisations_info *info,
                                            const crd_distribution_plan *plan)
{
    crd_status status = CRD_OK;
    double *column = NULL;
    const int64_t n = plan->count;
    CRD_PASS(lengthen(&m->distributions, m->distribution_count, sizeof *m->distributions));
    crd_distribution *d = &m->distributions[m->distribution_count++];
    snprintf(d->name, sizeof d->name, "%s", plan->name);
    d->phase = plan->phase;
    d->axis = plan->axis;
    d->points = plan->points;
    write_unit(plan->unit, m->unit, d->unit);
    CRD_TRY(copy_list(plan->edges, n + !plan->points, &d->edges));
    if (info->segmentation >= 0) CRD_TRY(copy_list(plan->rows + info->segmentation * n, n, &d->segmentation));
    if (info->samples == 0) goto done;
    CRD_TRY(crd_alloc(info->samples, sizeof *column, "values", &column));
    CRD_TRY(copy_list(plan->rows, n, &d->median));
    CRD_TRY(copy_list(plan->rows, n, &d->low));
    CRD_TRY(copy_list(plan->rows, n, &d->high));
    for (int64_t i = 0; i < n; i++) {
        crd_summary summary;
        for (int64_t s = 0; s < info->samples; s++) column[s] = plan->rows[s * n + i];
        CRD_TRY(crd_summarise(column, info->samples, m->percent, &summary));
        d->median.items[i] = summary.median;
        d->low.items[i] = summary.interval[0];
        d->high.items[i] = summary.interval[1];
    }
done:
    crd_free(&column);
    return status;
}

crd_status crd_measurement_add_rev(crd_measurement *m, const crd_rev_row *row)
{
    CRD_PASS(lengthen(&m->rev, m->rev_count, sizeof *m->rev));
    m->rev[m->rev_count++] = *row;
    return CRD_OK;
}

crd_status crd_measurement_add_label(crd_measurement *m, const crd_measurement *labelled)
{
    crd_text outside = {0};
    char *names = NULL;
    m->labelled_voxels = labelled->window_voxels;
    for (int64_t i = 0; i < m->property_count; i++) {
        crd_property *p = &m->properties[i];
        const crd_property *own = crd_measurement_find(labelled, p->name, p->phase);
        if (own == NULL || isnan(own->label.value)) continue;
        p->labelled = true;
        p->label.value = own->label.value;
        p->label.segmentation = own->segmentation;
        p->label.median = own->median;
        memcpy(p->label.interval, own->interval, sizeof p->label.interval);
        p->label.inside = own->interval[0] <= own->label.value && own->label.value <= own->interval[1];
        if (p->label.inside || m->samples < 2) continue;
        crd_text_print(&outside, "%s%s", outside.length > 0 ? ", " : "", p->name);
    }
    const bool some = outside.length > 0;
    CRD_PASS(crd_text_finish(&outside, &names));
    const crd_status status =
        some ? crd_measurement_note(m, "the label lies outside the interval of: %s", names) : CRD_OK;
    crd_free(&names);
    return status;
}

crd_status crd_measurement_note(crd_measurement *m, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    CRD_PASS(lengthen(&m->notes.items, m->notes.count, sizeof *m->notes.items));
    CRD_PASS(crd_strdup(text, &m->notes.items[m->notes.count]));
    m->notes.count++;
    return CRD_OK;
}

const crd_property *crd_measurement_find(const crd_measurement *m, const char *name, double phase)
{
    for (int64_t i = 0; i < m->property_count; i++) {
        const crd_property *p = &m->properties[i];
        if (strcmp(p->name, name) == 0 && (p->phase == phase || (isnan(p->phase) && isnan(phase)))) return p;
    }
    return NULL;
}
