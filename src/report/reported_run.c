#include "report/reported_run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "chunk/mask.h"
#include "report/names.h"
#include "run/own_mask.h"
#include "run/paths.h"

static crd_status add_warning(crd_reported_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static crd_status add_warning(crd_reported_run *run, const char *format, ...)
{
    crd_text_list *list = &run->warnings;
    char text[1200], **items = NULL;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    CRD_PASS(crd_alloc(list->count + 1, sizeof *items, "the warnings", &items));
    for (int64_t i = 0; i < list->count; i++) items[i] = list->items[i];
    crd_free(&list->items);
    list->items = items;
    CRD_PASS(crd_strdup(text, &items[list->count]));
    list->count++;
    return CRD_OK;
}

static crd_status take_warnings(crd_reported_run *s)
{
    if (s->run.document == NULL) {
        return add_warning(s, "The folder has no manifest.json: model, seed and settings of the run aren't known.");
    }
    for (int64_t i = 0; i < s->run.warnings.count; i++) CRD_PASS(add_warning(s, "%s", s->run.warnings.items[i]));
    return CRD_OK;
}

static crd_status open_map(crd_reported_run *s, const crd_output *output, crd_volume **volume, double *scale)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    if (output == NULL) return CRD_OK;
    CRD_TRY(crd_run_volume_path(s->folder, output->file, &path));
    CRD_TRY(crd_volume_open(path, NULL, NULL, volume));
    const crd_volume_info *info = crd_volume_describe(*volume);
    if (s->whole.size[0] == 0) {
        s->placed = crd_manifest_place(&s->run, s->in_scan.origin);
        if (!s->placed) memcpy(s->in_scan.origin, info->origin, sizeof s->in_scan.origin);
        memcpy(s->origin, info->origin, sizeof s->origin);
        memcpy(s->whole.size, info->shape, sizeof s->whole.size);
        memcpy(s->spacing, info->spacing, sizeof s->spacing);
        snprintf(s->unit, sizeof s->unit, "%s", info->unit);
        memcpy(s->in_scan.size, info->shape, sizeof s->in_scan.size);
    } else if (memcmp(s->whole.size, info->shape, sizeof s->whole.size) != 0) {
        CRD_FAIL(CRD_ERR_MISMATCH, "%s has another shape than the other volumes of the run", path);
    }
    const bool narrow = info->type == CRD_U8 || info->type == CRD_U16;
    if (scale != NULL) {
        *scale = narrow && info->scale == 1.0 ? (info->type == CRD_U8 ? 1.0 / 255.0 : 1.0 / 65535.0) : info->scale;
    }
done:
    crd_free(&path);
    return status;
}

static crd_status count_classes(crd_reported_run *s)
{
    s->class_count = s->run.class_count > 2 ? (int)s->run.class_count : 2;
    if (s->run.class_count > CRD_CLASSES_MAX) {
        return crd_fail(CRD_ERR_FORMAT, "the manifest of %s names %lld classes; there are at most %d", s->folder,
                        (long long)s->run.class_count, (int)CRD_CLASSES_MAX);
    }
    if (s->class_count > 2 && s->seg == NULL) {
        return crd_fail(CRD_ERR_FORMAT, "the run %s has no segmentation", s->folder);
    }
    return CRD_OK;
}

int crd_reported_class(const crd_reported_run *s, float value)
{
    for (int k = 0; k < s->class_count; k++) {
        if ((float)s->run.classes[k].value == value) return k;
    }
    return -1;
}

static crd_status open_maps(crd_reported_run *s)
{
    const crd_manifest *run = &s->run;
    const crd_output *map = NULL;
    CRD_PASS(open_map(s, crd_manifest_output(run, CRD_OUTPUT_PROBABILITY, 0), &s->prob, &s->prob_scale));
    CRD_PASS(open_map(s, crd_manifest_output(run, CRD_OUTPUT_SEGMENTATION, 0), &s->seg, NULL));
    CRD_PASS(open_map(s, crd_manifest_output(run, CRD_OUTPUT_UNCERTAINTY, 0), &s->unc, &s->unc_scale));
    while (s->map_count < 4 && (map = crd_manifest_output(run, CRD_OUTPUT_UNCERTAINTY, s->map_count + 1)) != NULL) {
        CRD_PASS(open_map(s, map, &s->maps[s->map_count], &s->map_scales[s->map_count]));
        crd_interval_text(map->percents, s->map_names[s->map_count++]);
    }
    CRD_PASS(count_classes(s));
    if (s->unc == NULL) return add_warning(s, "The run has no uncertainty map.");
    return CRD_OK;
}

static bool fits(const crd_box *box, const int64_t shape[3])
{
    for (int axis = 0; axis < 3; axis++) {
        if (box->origin[axis] < 0 || box->origin[axis] + box->size[axis] > shape[axis]) return false;
    }
    return true;
}

/* Half a percent of the voxels are darker than black, and half a percent lighter than white. */
static void choose_greys(crd_reported_run *s)
{
    const crd_volume_statistics *h = &s->scan_statistics;
    const double width = (h->histogram_high - h->histogram_low) / CRD_HISTOGRAM_BINS;
    int64_t below = 0;
    s->scan_low = h->histogram_low;
    s->scan_high = h->histogram_high;
    for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) {
        const double before = (double)below, after = (double)(below + h->histogram[i]), all = (double)h->count;
        if (before <= 0.005 * all && after > 0.005 * all) s->scan_low = h->histogram_low + width * i;
        if (before < 0.995 * all && after >= 0.995 * all) s->scan_high = h->histogram_low + width * (i + 1);
        below += h->histogram[i];
    }
}

/* A scan that has moved away isn't the end of a report. */
static crd_status open_scan(crd_reported_run *s, const char *named, const crd_monitor *monitor)
{
    const char *path = named != NULL ? named : s->run.scan.path;
    if (path == NULL)
        return add_warning(s, "The manifest doesn't name the scan: the probability is drawn in its place.");
    const crd_volume_options options = crd_manifest_reading(&s->run);
    if (crd_volume_open(path, &options, NULL, &s->scan) != CRD_OK) {
        if (named != NULL) return crd_last_error()->status;
        return add_warning(
            s, "The scan can't be opened (%s): the probability is drawn in its place; --scan says where it is.",
            crd_last_error()->message);
    }
    const crd_volume_info *info = crd_volume_describe(s->scan);
    for (int axis = 0; axis < 3 && !s->placed; axis++) s->in_scan.origin[axis] -= info->origin[axis];
    if (!fits(&s->in_scan, info->shape)) {
        crd_volume_close(&s->scan);
        if (named != NULL) {
            return crd_fail(CRD_ERR_MISMATCH, "%s isn't the scan of the run %s: its shape is another one", path,
                            s->folder);
        }
        return add_warning(s, "%s isn't the scan of this run: its shape is another one.", path);
    }
    CRD_PASS(crd_volume_measure(s->scan, monitor, &s->scan_statistics));
    choose_greys(s);
    return CRD_OK;
}

/* What the run left out is drawn, and doesn't count: the run's own mask, unless the figures are of another one. */
static crd_status open_mask(crd_reported_run *s, const char *named)
{
    const char *text = named != NULL ? named : crd_manifest_mask(&s->run);
    const int64_t *shape = s->run.scan.shape[0] > 0 ? s->run.scan.shape : s->whole.size;
    if (text == NULL) return CRD_OK;
    s->mask_is_its = crd_manifest_mask(&s->run) != NULL && strcmp(text, crd_manifest_mask(&s->run)) == 0;
    CRD_PASS(strcmp(text, "cylinder") == 0 ? crd_strdup("the circle inscribed in y and x", &s->mask_name)
                                           : crd_name_of(text, &s->mask_name));
    char *own = NULL;
    const crd_status status = named == NULL ? crd_run_own_mask(s->folder, &s->run, NULL, &own) : CRD_OK;
    crd_free(&own);
    if (status == CRD_ERR_MISMATCH) {
        return add_warning(s,
                           "The mask %s has changed since the run was made in it, so it isn't drawn, and what lies "
                           "outside counts as certain.",
                           s->mask_name);
    }
    if (fits(&s->in_scan, shape) && crd_mask_open(text, shape, &s->mask) == CRD_OK) return CRD_OK;
    return add_warning(s, "The mask %s can't be opened, so it isn't drawn, and what lies outside counts as certain.",
                       s->mask_name);
}

/* For the pictures. What it is understood as has been said by the validation. */
static crd_status open_label(crd_reported_run *s, const crd_report_options *options)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    int64_t shape[3];
    if (options->label == NULL) return CRD_OK;
    crd_label_options label = {.foreground = options->foreground.items,
                               .foreground_count = options->foreground.count,
                               .ignore = options->ignore.items,
                               .ignore_count = options->ignore.count};
    double values[CRD_CLASSES_MAX];
    if (s->class_count > 2) {
        for (int k = 0; k < s->class_count; k++) values[k] = s->run.classes[k].value;
        label.classes = values;
        label.class_count = s->class_count;
    }
    CRD_TRY(crd_volume_open(options->label, NULL, NULL, &volume));
    memcpy(shape, crd_volume_describe(volume)->shape, sizeof shape);
    s->in_label = memcmp(shape, s->whole.size, sizeof shape) == 0 ? s->whole : s->in_scan;
    if (s->placed && memcmp(shape, s->whole.size, sizeof shape) != 0 &&
        memcmp(shape, s->run.scan.shape, sizeof shape) != 0) { /* of what the scan is a part of */
        memcpy(s->in_label.origin, s->origin, sizeof s->origin);
    }
    if (!fits(&s->in_label, shape)) {
        CRD_FAIL(CRD_ERR_MISMATCH, "the label %s hasn't the shape of the run %s", options->label, s->folder);
    }
    CRD_TRY(crd_label_open(options->label, shape, &label, NULL, &s->label));
done:
    crd_volume_close(&volume);
    return status;
}

static crd_status find_figures(crd_reported_run *s, const crd_report_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_validate_options validate;
    if (options->label == NULL) return crd_validation_load(s->folder, &s->figures);
    /* Anew, even where there are figures: those may be against another label. */
    CRD_PASS(crd_settings_default(&crd_validate_settings, &validate));
    CRD_TRY(crd_settings_set(&crd_validate_settings, &validate, "run", s->folder));
    CRD_TRY(crd_settings_set(&crd_validate_settings, &validate, "label", options->label));
    if (options->mask != NULL) CRD_TRY(crd_settings_set(&crd_validate_settings, &validate, "mask", options->mask));
    validate.foreground = options->foreground; /* lent */
    validate.ignore = options->ignore;
    validate.threads = options->threads;
    CRD_TRY(crd_validate(&validate, monitor, &s->figures));
done:
    validate.foreground = validate.ignore = (crd_real_list){0};
    crd_settings_clear(&crd_validate_settings, &validate);
    return status;
}

/* What the model was trained on, where its file is still there. */
static void find_model(crd_reported_run *s)
{
    if (s->run.model.path != NULL && crd_model_load(s->run.model.path, &s->model) != CRD_OK) s->model = NULL;
}

const crd_model_info *crd_reported_model(const crd_reported_run *s)
{
    return s->model != NULL ? crd_model_describe(s->model) : NULL;
}

crd_status crd_reported_run_open(const char *folder, const crd_report_options *options, const crd_monitor *monitor,
                                 crd_reported_run *s)
{
    s->folder = folder;
    CRD_PASS(crd_name_of(folder, &s->folder_name));
    CRD_PASS(crd_run_read(folder, &s->run));
    CRD_PASS(take_warnings(s));
    CRD_PASS(open_maps(s));
    CRD_PASS(open_scan(s, options->scan, monitor));
    CRD_PASS(find_figures(s, options, monitor));
    CRD_PASS(open_label(s, options));
    CRD_PASS(open_mask(s, options->mask));
    find_model(s);
    return crd_survey_make(s, monitor);
}

void crd_reported_run_close(crd_reported_run *s)
{
    crd_manifest_free(&s->run);
    crd_validation_free(&s->figures);
    crd_volume_close(&s->prob);
    crd_volume_close(&s->seg);
    crd_volume_close(&s->unc);
    crd_volume_close(&s->scan);
    for (int i = 0; i < 4; i++) crd_volume_close(&s->maps[i]);
    crd_label_close(&s->label);
    crd_volume_close(&s->mask);
    crd_model_free(&s->model);
    crd_free(&s->mask_name);
    crd_free(&s->folder_name);
    for (int64_t i = 0; i < s->warnings.count; i++) crd_free(&s->warnings.items[i]);
    crd_free(&s->warnings.items);
    crd_survey_free(&s->survey);
}
