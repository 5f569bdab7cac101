/* A measurement as JSON and as CSV. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "measure/results.h"

static void add_reals(crd_text *text, const double *values, int64_t count)
{
    crd_text_add(text, "[");
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) crd_text_add(text, ", ");
        crd_text_real(text, values[i]);
    }
    crd_text_add(text, "]");
}

static void add_axis(crd_text *text, char axis)
{
    if (axis == '\0') {
        crd_text_add(text, "null");
    } else {
        crd_text_print(text, "\"%c\"", axis);
    }
}

static void add_key_real(crd_text *text, const char *key, double value)
{
    crd_text_print(text, ", \"%s\": ", key);
    crd_text_real(text, value);
}

static void add_property(crd_text *text, const crd_measurement *m, const crd_property *p)
{
    crd_text_add(text, "    {\"name\": ");
    crd_text_json(text, p->name);
    add_key_real(text, "phase", p->phase);
    crd_text_add(text, ", \"axis\": ");
    add_axis(text, p->axis);
    crd_text_add(text, ", \"unit\": ");
    crd_text_json(text, p->unit);
    add_key_real(text, "segmentation", p->segmentation);
    add_key_real(text, "mean", p->mean);
    add_key_real(text, "std", p->std);
    add_key_real(text, "median", p->median);
    crd_text_add(text, ", \"interval\": ");
    add_reals(text, p->interval, 2);
    crd_text_add(text, ", \"percent\": ");
    add_reals(text, m->percent, 2);
    crd_text_print(text, ", \"coverage_shown\": %s, \"coverage\": ", p->shown ? "true" : "false");
    if (p->shown) {
        crd_text_print(text, "{\"held\": %d, \"phantoms\": %d}", p->coverage_held, p->coverage_phantoms);
    } else {
        crd_text_add(text, "null");
    }
    crd_text_print(text, ", \"defined\": %lld, \"values\": ", (long long)p->defined);
    add_reals(text, p->values.items, p->values.count);
    add_key_real(text, "size_error", p->size_error);
    crd_text_add(text, ", \"bounds\": ");
    add_reals(text, p->bounds, 2);
    crd_text_add(text, ", \"note\": ");
    crd_text_json(text, p->note);
    crd_text_add(text, ", \"label\": ");
    if (p->labelled) {
        crd_text_add(text, "{\"value\": ");
        crd_text_real(text, p->label.value);
        add_key_real(text, "segmentation", p->label.segmentation);
        add_key_real(text, "median", p->label.median);
        crd_text_add(text, ", \"interval\": ");
        add_reals(text, p->label.interval, 2);
        add_key_real(text, "difference", p->label.median - p->label.value);
        crd_text_print(text, ", \"inside\": %s}", p->label.inside ? "true" : "false");
    } else {
        crd_text_add(text, "null");
    }
    for (int64_t i = 0; i < p->detail_count; i++) {
        const crd_property_detail *d = &p->details[i];
        crd_text_print(text, ", \"%s\": {\"segmentation\": ", d->name);
        crd_text_real(text, d->segmentation);
        crd_text_add(text, ", \"values\": ");
        add_reals(text, d->values.items, d->values.count);
        crd_text_add(text, "}");
    }
    crd_text_add(text, "}");
}

static void add_distribution(crd_text *text, const crd_measurement *m, const crd_distribution *d)
{
    crd_text_print(text, "    \"%s", d->name);
    if (m->phase_count > 1) { /* names alone are those of one phase */
        crd_text_add(text, "_phase_");
        crd_text_real(text, d->phase);
    }
    crd_text_add(text, "\": {\"phase\": ");
    crd_text_real(text, d->phase);
    crd_text_add(text, ", \"axis\": ");
    add_axis(text, d->axis);
    crd_text_add(text, ", \"unit\": ");
    crd_text_json(text, d->unit);
    crd_text_print(text, ", \"%s\": ", d->points ? "points" : "edges");
    add_reals(text, d->edges.items, d->edges.count);
    const struct {
        const char *key;
        const crd_real_list *list;
    } rows[] = {{"segmentation", &d->segmentation}, {"median", &d->median}, {"low", &d->low}, {"high", &d->high}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        crd_text_print(text, ", \"%s\": ", rows[i].key);
        add_reals(text, rows[i].list->items, rows[i].list->count);
    }
    crd_text_add(text, "}");
}

static void add_rev(crd_text *text, const crd_rev_row *row)
{
    crd_text_print(text, "    {\"property\": \"%s\", \"phase\": ", row->property);
    crd_text_real(text, row->phase);
    crd_text_print(text, ", \"voxels\": %lld, \"blocks\": %lld", (long long)row->voxels, (long long)row->blocks);
    add_key_real(text, "mean", row->mean);
    add_key_real(text, "std", row->std);
    crd_text_add(text, ", \"interval\": ");
    add_reals(text, row->interval, 2);
    crd_text_print(text, ", \"representative\": %s}", row->representative ? "true" : "false");
}

/* By value, as phases are said everywhere else. */
static void add_names(crd_text *text, const crd_measurement *m)
{
    if (m->class_names.count == 0) return;
    crd_text_add(text, ",\n  \"phase_names\": {");
    for (int64_t i = 0; i < m->class_names.count; i++) {
        crd_text_add(text, i > 0 ? ", \"" : "\"");
        crd_text_real(text, m->class_values.items[i]);
        crd_text_add(text, "\": ");
        crd_text_json(text, m->class_names.items[i]);
    }
    crd_text_add(text, "}");
}

crd_status crd_measurement_to_json(const crd_measurement *m, char **json)
{
    crd_text text = {0};
    crd_text_print(&text, "{\n  \"shape\": [%lld, %lld, %lld],\n  \"spacing\": ", (long long)m->shape[0],
                   (long long)m->shape[1], (long long)m->shape[2]);
    if (m->spacing_known) {
        add_reals(&text, m->spacing, 3);
    } else {
        crd_text_add(&text, "null");
    }
    crd_text_add(&text, ",\n  \"unit\": ");
    crd_text_json(&text, m->unit);
    crd_text_add(&text, ",\n  \"phase\": ");
    if (m->phase_count == 1) {
        crd_text_real(&text, m->phases[0]);
    } else {
        add_reals(&text, m->phases, m->phase_count);
    }
    add_names(&text, m);
    crd_text_print(&text, ",\n  \"samples\": %lld,\n  \"first_sample\": %lld,\n  \"window_voxels\": %lld,\n",
                   (long long)m->samples, (long long)m->first_sample, (long long)m->window_voxels);
    if (m->labelled_voxels > 0) {
        crd_text_print(&text, "  \"labelled_voxels\": %lld,\n", (long long)m->labelled_voxels);
    }
    crd_text_add(&text, "  \"properties\": [");
    for (int64_t i = 0; i < m->property_count; i++) {
        crd_text_add(&text, i > 0 ? ",\n" : "\n");
        add_property(&text, m, &m->properties[i]);
    }
    crd_text_add(&text, "\n  ],\n  \"distributions\": {");
    for (int64_t i = 0; i < m->distribution_count; i++) {
        crd_text_add(&text, i > 0 ? ",\n" : "\n");
        add_distribution(&text, m, &m->distributions[i]);
    }
    crd_text_add(&text, "\n  },\n  \"rev\": [");
    for (int64_t i = 0; i < m->rev_count; i++) {
        crd_text_add(&text, i > 0 ? ",\n" : "\n");
        add_rev(&text, &m->rev[i]);
    }
    crd_text_add(&text, "],\n  \"notes\": [");
    for (int64_t i = 0; i < m->notes.count; i++) {
        if (i > 0) crd_text_add(&text, ", ");
        crd_text_json(&text, m->notes.items[i]);
    }
    crd_text_add(&text, "],\n");
    if (m->transport_device[0] != '\0') {
        crd_text_add(&text, "  \"transport_device\": ");
        crd_text_json(&text, m->transport_device);
        crd_text_add(&text, ",\n");
    }
    crd_text_add(&text, "  \"times\": {\"seconds\": ");
    crd_text_fixed(&text, m->seconds, 3, "null");
    crd_text_add(&text, "}\n}\n");
    return crd_text_finish(&text, json);
}

static void add_line(crd_text *text, const crd_property *p, int64_t sample, double value)
{
    if (isnan(value) && sample < 0) return;
    const char axis[2] = {p->axis, '\0'};
    crd_text_print(text, "%s,%s,", p->name, axis);
    if (!isnan(p->phase)) crd_text_real(text, p->phase);
    crd_text_print(text, ",%lld,", (long long)sample);
    if (isfinite(value)) crd_text_real(text, value);
    crd_text_print(text, ",%s\n", p->unit);
}

crd_status crd_measurement_to_csv(const crd_measurement *m, char **csv)
{
    crd_text text = {0};
    crd_text_add(&text, "property,axis,phase,sample,value,unit\n");
    for (int64_t i = 0; i < m->property_count; i++) {
        const crd_property *p = &m->properties[i];
        add_line(&text, p, -1, p->segmentation);
        for (int64_t s = 0; s < p->values.count; s++) add_line(&text, p, m->first_sample + s, p->values.items[s]);
    }
    return crd_text_finish(&text, csv);
}
