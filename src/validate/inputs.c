#include "validate/inputs.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "run/own_mask.h"
#include "run/paths.h"
#include "run/read.h"
#include "validate/seen.h"
#include "volume/format.h"

/* Raw maps have the shape that is given, and by their size the type that maps of that size have. */
static crd_status open_map(const char *path, const crd_inputs *inputs, const crd_monitor *monitor, crd_volume **out)
{
    static const char *const types[] = {[1] = "u8", [2] = "u16le", [4] = "f32le", [8] = "f64le"};
    crd_volume_options reading = {0};
    const int64_t bytes = inputs->raw_shape[0] > 0 ? crd_raw_voxel_bytes(path, inputs->raw_shape) : 0;
    if (bytes > 0 && bytes < (int64_t)(sizeof types / sizeof types[0]) && types[bytes] != NULL) {
        memcpy(reading.shape, inputs->raw_shape, sizeof reading.shape);
        reading.type = types[bytes];
    }
    return crd_volume_open(path, &reading, monitor, out);
}

/* One map's header: its shape must be that of the others; integers without a scale are taken for 255 or 65535 = 1. */
static crd_status look_at(const char *path, const char *what, const crd_monitor *monitor, crd_inputs *inputs,
                          double *scale)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    CRD_TRY(open_map(path, inputs, monitor, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    const int64_t *shape = inputs->shape;
    if (shape[0] == 0) {
        memcpy(inputs->shape, info->shape, sizeof inputs->shape);
        memcpy(inputs->own_origin, info->origin, sizeof inputs->own_origin);
    } else if (memcmp(shape, info->shape, sizeof inputs->shape) != 0) {
        CRD_FAIL(CRD_ERR_MISMATCH,
                 "the %s %s has shape %lld,%lld,%lld (z,y,x), the other maps %lld,%lld,%lld; they must be of one run",
                 what, path, (long long)info->shape[0], (long long)info->shape[1], (long long)info->shape[2],
                 (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    }
    if (scale == NULL) goto done;
    *scale = info->scale;
    if (info->scale == 1.0 && (info->type == CRD_U8 || info->type == CRD_U16)) {
        *scale = info->type == CRD_U8 ? 1.0 / 255.0 : 1.0 / 65535.0;
        crd_warn(monitor, "the %s %s holds %s values without a scale: %s is taken for 1", what, path,
                 crd_type_name(info->type), info->type == CRD_U8 ? "255" : "65535");
    }
    if (!(*scale > 0.0)) CRD_FAIL(CRD_ERR_FORMAT, "the %s %s has the scale %g, which can't be", what, path, *scale);
done:
    crd_volume_close(&volume);
    return status;
}

/* The label and the mask may be of the whole scan where the maps are of a box in it. */
static crd_status place(const char *what, const char *path, const int64_t own[3], crd_inputs *inputs)
{
    if (memcmp(own, inputs->shape, sizeof inputs->shape) == 0) {
        memset(inputs->origin, 0, sizeof inputs->origin);
        return CRD_OK;
    }
    const bool of_scan = inputs->boxed && memcmp(own, inputs->scan, sizeof inputs->scan) == 0;
    bool boxed = of_scan, fits = true;
    /* else it is of a volume that the scan is a part of, and the maps' own files say where */
    if (!of_scan) memcpy(inputs->origin, inputs->own_origin, sizeof inputs->origin);
    for (int axis = 0; axis < 3; axis++) {
        boxed |= inputs->origin[axis] != 0; /* the volume's own metadata say so */
        fits &= inputs->origin[axis] >= 0 && inputs->origin[axis] + inputs->shape[axis] <= own[axis];
    }
    if (boxed && fits) return CRD_OK;
    return crd_fail(CRD_ERR_MISMATCH,
                    "the %s %s has shape %lld,%lld,%lld (z,y,x) and the maps %lld,%lld,%lld; it must be that of the "
                    "same scan",
                    what, path, (long long)own[0], (long long)own[1], (long long)own[2], (long long)inputs->shape[0],
                    (long long)inputs->shape[1], (long long)inputs->shape[2]);
}

static crd_status open_label(const crd_validate_options *options, const crd_monitor *monitor, crd_inputs *inputs)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    crd_volume_options reading = {.offset = options->offset, .type = options->type};
    memcpy(reading.shape, options->shape, sizeof reading.shape);
    reading.type = crd_label_type(options->label, &reading);
    crd_label_options label = {.volume = &reading,
                               .foreground = options->foreground.items,
                               .foreground_count = options->foreground.count,
                               .ignore = options->ignore.items,
                               .ignore_count = options->ignore.count};
    double values[CRD_CLASSES_MAX];
    if (inputs->class_count > 2) {
        if (options->foreground.count > 0) {
            CRD_FAIL(CRD_ERR_ARGUMENT,
                     "foreground: the run tells %d classes apart, and each is validated against its own value of the "
                     "label; leave --foreground out",
                     inputs->class_count);
        }
        for (int k = 0; k < inputs->class_count; k++) values[k] = inputs->classes[k].value;
        label.classes = values;
        label.class_count = inputs->class_count;
    }
    CRD_TRY(crd_volume_open(options->label, &reading, NULL, &volume));
    int64_t own[3], counts[3];
    memcpy(own, crd_volume_describe(volume)->shape, sizeof own);
    CRD_TRY(place("label", options->label, own, inputs));
    memcpy(inputs->mask_shape, own, sizeof own);
    CRD_TRY(crd_label_open(options->label, own, &label, monitor, &inputs->label));
    crd_label_counts(inputs->label, counts);
    inputs->all_count = counts[2] == 0 && inputs->mask == NULL;
    if (counts[2] > 0) inputs->mean = (double)NAN; /* the manifest's mean is over them, too */
done:
    crd_volume_close(&volume);
    return status;
}

static crd_status find_volume(const char *folder, const crd_manifest *run, crd_output_role role, char **out)
{
    const crd_output *output = crd_manifest_output(run, role, 0);
    return output != NULL ? crd_run_volume_path(folder, output->file, out) : CRD_OK;
}

/* Uncertainty maps of further intervals. */
static crd_status find_maps(const char *folder, const crd_manifest *run, crd_inputs *inputs)
{
    const crd_output *map = NULL;
    for (int64_t i = 0; i < CRD_MAPS_MAX; i++) {
        char interval[CRD_INTERVAL_BYTES];
        if ((map = crd_manifest_output(run, CRD_OUTPUT_UNCERTAINTY, i + 1)) == NULL) break;
        inputs->map_count++;
        CRD_PASS(crd_run_volume_path(folder, map->file, &inputs->maps[i]));
        CRD_PASS(crd_strdup(crd_interval_text(map->percents, interval), &inputs->map_names[i]));
    }
    return CRD_OK;
}

/* Those that the manifest names, and the volumes of their probabilities; of two classes the foreground's. */
static crd_status find_classes(const char *folder, const crd_manifest *run, crd_inputs *inputs)
{
    if (run->class_count > CRD_CLASSES_MAX) {
        return crd_fail(CRD_ERR_FORMAT, "the manifest of %s names %lld classes; there are at most %d", folder,
                        (long long)run->class_count, (int)CRD_CLASSES_MAX);
    }
    const bool many = run->class_count > 2;
    for (int k = 0; run->class_count >= 2 && k < run->class_count; k++) {
        inputs->class_count = k + 1;
        inputs->classes[k].value = run->classes[k].value;
        CRD_PASS(crd_strdup(run->classes[k].name, &inputs->classes[k].name));
    }
    for (int k = 0; k < (many ? inputs->class_count : 1); k++) {
        const crd_output *output = crd_manifest_output(run, CRD_OUTPUT_PROBABILITY, k);
        if (output == NULL) break;
        CRD_PASS(crd_run_volume_path(folder, output->file, &inputs->probs[k]));
        inputs->prob_count = k + 1;
    }
    if (many && inputs->prob_count != inputs->class_count) {
        return crd_fail(CRD_ERR_FORMAT, "the run %s has %d classes and the probabilities of %d of them", folder,
                        inputs->class_count, inputs->prob_count);
    }
    if (many && crd_manifest_output(run, CRD_OUTPUT_SEGMENTATION, 0) == NULL) {
        return crd_fail(CRD_ERR_FORMAT, "the run %s has no segmentation", folder);
    }
    return CRD_OK;
}

static crd_status find_run(const crd_validate_options *options, const crd_monitor *monitor, crd_inputs *inputs)
{
    crd_status status = CRD_OK;
    crd_manifest run;
    const bool deviation = options->measure != NULL && strcmp(options->measure, "std") == 0;
    CRD_PASS(crd_run_read(options->run, &run));
    const char *interval = run.uncertainty.text[0] != '\0' ? run.uncertainty.text : "uncertainty";
    CRD_TRY(find_classes(options->run, &run, inputs));
    CRD_TRY(find_volume(options->run, &run, CRD_OUTPUT_SEGMENTATION, &inputs->seg));
    CRD_TRY(find_volume(options->run, &run, deviation ? CRD_OUTPUT_DEVIATION : CRD_OUTPUT_UNCERTAINTY, &inputs->unc));
    if (deviation && inputs->class_count > 2) {
        CRD_FAIL(CRD_ERR_ARGUMENT,
                 "measure: std is a map of each class; of %d classes together there is the width alone",
                 inputs->class_count);
    }
    if (deviation && inputs->unc == NULL) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "measure: the run %s has no map of the standard deviation; predict with --std",
                 options->run);
    }
    if (!deviation) CRD_TRY(find_maps(options->run, &run, inputs));
    CRD_TRY(crd_strdup(deviation ? "std" : interval, &inputs->unc_name));
    if (!deviation && options->unc == NULL && options->mask == NULL) inputs->mean = run.uncertainty.mean;
    inputs->boxed = crd_manifest_boxed(&run);
    memcpy(inputs->origin, run.plan.origin, sizeof inputs->origin);
    memcpy(inputs->scan, run.scan.shape, sizeof inputs->scan);
    if (options->mask == NULL) CRD_TRY(crd_run_own_mask(options->run, &run, monitor, &inputs->mask));
done:
    crd_manifest_free(&run);
    return status;
}

static crd_status copy_paths(const crd_validate_options *options, crd_inputs *inputs)
{
    if (options->prob != NULL && inputs->class_count > 2) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "prob: the run has the probabilities of %d classes; one map can't replace them",
                        inputs->class_count);
    }
    if (options->prob != NULL) {
        crd_free(&inputs->probs[0]);
        CRD_PASS(crd_strdup(options->prob, &inputs->probs[0]));
        inputs->prob_count = 1;
    }
    if (options->seg != NULL || inputs->seg == NULL) {
        crd_free(&inputs->seg);
        CRD_PASS(crd_strdup(options->seg, &inputs->seg));
    }
    if (options->unc != NULL || inputs->unc == NULL) {
        crd_free(&inputs->unc);
        CRD_PASS(crd_strdup(options->unc, &inputs->unc));
    }
    for (int64_t i = 0; i < options->intervals.count; i++) {
        if (inputs->map_count == CRD_MAPS_MAX) {
            return crd_fail(CRD_ERR_ARGUMENT, "intervals: at most %d maps beside the first", (int)CRD_MAPS_MAX);
        }
        const char *path = options->intervals.items[i], *slash = strrchr(path, '/');
        CRD_PASS(crd_strdup(path, &inputs->maps[inputs->map_count]));
        CRD_PASS(crd_strdup(slash != NULL ? slash + 1 : path, &inputs->map_names[inputs->map_count]));
        inputs->map_count++;
    }
    if (inputs->unc_name == NULL) CRD_PASS(crd_strdup("uncertainty", &inputs->unc_name));
    return inputs->mask != NULL ? CRD_OK : crd_strdup(options->mask, &inputs->mask);
}

/* Where no manifest says it. */
static crd_status name_two_classes(crd_inputs *inputs)
{
    static const char *const names[2] = {"background", "foreground"};
    for (; inputs->class_count < 2; inputs->class_count++) {
        inputs->classes[inputs->class_count].value = inputs->class_count;
        CRD_PASS(crd_strdup(names[inputs->class_count], &inputs->classes[inputs->class_count].name));
    }
    return CRD_OK;
}

crd_status crd_inputs_open(const crd_validate_options *options, const crd_monitor *monitor, crd_inputs *inputs)
{
    inputs->mean = (double)NAN;
    memcpy(inputs->raw_shape, options->shape, sizeof inputs->raw_shape);
    if (options->run != NULL) CRD_PASS(find_run(options, monitor, inputs));
    CRD_PASS(copy_paths(options, inputs));
    CRD_PASS(name_two_classes(inputs));
    if (inputs->prob_count == 0 && inputs->seg == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "there is nothing to validate: give a run folder, or --prob, --seg and --unc");
    }
    if (options->label == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "label: without a label there is nothing to validate against; give --label");
    }
    for (int k = 0; k < inputs->prob_count; k++) {
        CRD_PASS(look_at(inputs->probs[k], "probability", monitor, inputs, &inputs->prob_scales[k]));
    }
    if (inputs->seg != NULL) CRD_PASS(look_at(inputs->seg, "segmentation", monitor, inputs, NULL));
    if (inputs->unc != NULL) {
        CRD_PASS(look_at(inputs->unc, "uncertainty map", monitor, inputs, &inputs->unc_scale));
    } else {
        inputs->map_count = 0;
    }
    for (int64_t i = 0; i < inputs->map_count; i++) {
        CRD_PASS(look_at(inputs->maps[i], "uncertainty map", monitor, inputs, &inputs->map_scales[i]));
    }
    return open_label(options, monitor, inputs);
}

void crd_inputs_close(crd_inputs *inputs)
{
    for (int k = 0; k < CRD_CLASSES_MAX; k++) {
        crd_free(&inputs->classes[k].name);
        crd_free(&inputs->probs[k]);
    }
    crd_free(&inputs->seg);
    crd_free(&inputs->unc);
    crd_free(&inputs->unc_name);
    crd_free(&inputs->mask);
    for (int64_t i = 0; i < CRD_MAPS_MAX; i++) {
        crd_free(&inputs->maps[i]);
        crd_free(&inputs->map_names[i]);
    }
    crd_label_close(&inputs->label);
}

crd_status crd_input_reader_open(const crd_inputs *inputs, crd_input_reader *reader)
{
    memset(reader, 0, sizeof *reader);
    reader->inputs = inputs;
    for (int k = 0; k < inputs->prob_count; k++) {
        CRD_PASS(open_map(inputs->probs[k], inputs, NULL, &reader->probs[k]));
    }
    if (inputs->seg != NULL) CRD_PASS(open_map(inputs->seg, inputs, NULL, &reader->seg));
    if (inputs->unc != NULL) CRD_PASS(open_map(inputs->unc, inputs, NULL, &reader->unc));
    for (int64_t i = 0; i < inputs->map_count; i++) {
        CRD_PASS(open_map(inputs->maps[i], inputs, NULL, &reader->maps[i]));
    }
    CRD_PASS(crd_label_reopen(inputs->label, &reader->label));
    if (inputs->mask != NULL) CRD_PASS(crd_mask_open(inputs->mask, inputs->mask_shape, &reader->mask));
    return CRD_OK;
}

void crd_input_reader_close(crd_input_reader *reader)
{
    for (int k = 0; k < CRD_CLASSES_MAX; k++) crd_volume_close(&reader->probs[k]);
    crd_volume_close(&reader->seg);
    crd_volume_close(&reader->unc);
    for (int64_t i = 0; i < CRD_MAPS_MAX; i++) crd_volume_close(&reader->maps[i]);
    crd_label_close(&reader->label);
    crd_volume_close(&reader->mask);
    crd_free(&reader->spare);
}

static int64_t box_voxels(const crd_box *box)
{
    return box->size[0] * box->size[1] * box->size[2];
}

static crd_status need_spare(crd_input_reader *reader, int64_t count)
{
    if (reader->spare_count >= count) return CRD_OK;
    crd_free(&reader->spare);
    reader->spare_count = 0;
    CRD_PASS(crd_alloc(count, sizeof *reader->spare, "a slice of the segmentation", &reader->spare));
    reader->spare_count = count;
    return CRD_OK;
}

/* Numbers of classes from values in the segmentation. Any other becomes NO_CLASS, which is fine where a voxel doesn't
 * count. */
enum { NO_CLASS = CRD_CLASSES_MAX };

static crd_status read_classes(crd_input_reader *reader, const crd_box *box, uint8_t *seg)
{
    const crd_inputs *inputs = reader->inputs;
    const int64_t count = box_voxels(box);
    uint8_t class_of[256];
    if (crd_volume_describe(reader->seg)->type == CRD_U8) {
        memset(class_of, NO_CLASS, sizeof class_of);
        for (int k = 0; k < inputs->class_count; k++) {
            const double value = inputs->classes[k].value;
            if (value >= 0.0 && value <= 255.0 && value == floor(value)) class_of[(int)value] = (uint8_t)k;
        }
        CRD_PASS(crd_volume_read(reader->seg, box, CRD_U8, seg));
        for (int64_t i = 0; i < count; i++) seg[i] = class_of[seg[i]];
        return CRD_OK;
    }
    CRD_PASS(need_spare(reader, count));
    CRD_PASS(crd_volume_read(reader->seg, box, CRD_F32, reader->spare));
    memset(seg, NO_CLASS, (size_t)count);
    for (int k = 0; k < inputs->class_count; k++) {
        const float value = (float)inputs->classes[k].value;
        for (int64_t i = 0; i < count; i++) seg[i] = reader->spare[i] == value ? (uint8_t)k : seg[i];
    }
    return CRD_OK;
}

crd_status crd_input_reader_segmentation(crd_input_reader *reader, const crd_box *box, const float *prob, uint8_t *seg)
{
    const int64_t count = box_voxels(box);
    if (reader->inputs->class_count > 2) return read_classes(reader, box, seg);
    if (reader->seg == NULL) {
        const double scale = reader->inputs->prob_scales[0];
        for (int64_t i = 0; i < count; i++) seg[i] = (double)prob[i] * scale > 0.5;
        return CRD_OK;
    }
    if (crd_volume_describe(reader->seg)->type == CRD_U8) return crd_volume_read(reader->seg, box, CRD_U8, seg);
    CRD_PASS(need_spare(reader, count));
    CRD_PASS(crd_volume_read(reader->seg, box, CRD_F32, reader->spare));
    for (int64_t i = 0; i < count; i++) seg[i] = reader->spare[i] != 0.0f;
    return CRD_OK;
}

static crd_box moved(const crd_input_reader *reader, const crd_box *box)
{
    crd_box result = *box;
    for (int axis = 0; axis < 3; axis++) result.origin[axis] += reader->inputs->origin[axis];
    return result;
}

crd_status crd_input_reader_label(crd_input_reader *reader, const crd_box *box, uint8_t *classes)
{
    const crd_box there = moved(reader, box);
    CRD_PASS(crd_label_read(reader->label, &there, classes));
    if (reader->inputs->learnt != NULL) crd_seen_hide(reader->inputs, box, classes);
    return CRD_OK;
}

crd_status crd_input_reader_mask(crd_input_reader *reader, const crd_box *box, uint8_t *inside)
{
    const crd_box there = moved(reader, box);
    return crd_volume_read(reader->mask, &there, CRD_U8, inside);
}
