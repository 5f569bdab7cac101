#include "surface/inputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/number.h"
#include "base/text.h"
#include "run/read.h"
#include "volume/box.h"
#include "volume/views/view.h"

crd_status crd_surface_level_parse(const char *name, const char *text, crd_surface_level *out)
{
    out->percentile = text[0] == 'p' || text[0] == 'P';
    const char *number = text + out->percentile;
    if (!crd_parse_real(number, strlen(number), &out->value)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s must be a value such as 0.5 or a percentile such as p5, not '%s'", name,
                        text);
    }
    if (!out->percentile || (out->value >= 0 && out->value <= 100)) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s: percentiles go from p0 to p100, so %s is none", name, text);
}

crd_status crd_surface_data_parse(const char *name, const char *text, bool wanted[CRD_DATUM_KINDS])
{
    const bool all = strcmp(text, "all") == 0;
    for (int i = 0; i < CRD_DATUM_KINDS; i++) wanted[i] = all;
    if (all || strcmp(text, "none") == 0) return CRD_OK;
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        int kind = 0;
        while (kind < CRD_DATUM_KINDS && (strlen(crd_datum_name((crd_datum)kind)) != length ||
                                          memcmp(crd_datum_name((crd_datum)kind), at, length) != 0)) {
            kind++;
        }
        if (kind == CRD_DATUM_KINDS) {
            return crd_fail(CRD_ERR_ARGUMENT,
                            "%s must be all, none, or some of probability, uncertainty and displacement with commas "
                            "between, not '%s'",
                            name, text);
        }
        wanted[kind] = true;
        at += length + (at[length] == ',');
    }
    return CRD_OK;
}

/* Sources are of one shape, spacing and origin: the first one's. */
static crd_status add_source(crd_surface_inputs *in, const char *path, const crd_slice_source *source,
                             const double spacing[3], const char *unit, const int64_t origin[3])
{
    if (in->count > 0 && memcmp(source->shape, in->shape, sizeof in->shape) != 0) {
        return crd_fail(CRD_ERR_MISMATCH, "%s has another shape than the volumes before it; they must be of one run",
                        path);
    }
    if (in->count == 0) {
        memcpy(in->shape, source->shape, sizeof in->shape);
        memcpy(in->spacing, spacing, sizeof in->spacing);
        for (int axis = 0; axis < 3; axis++) in->origin[axis] = (double)origin[axis];
        snprintf(in->unit, sizeof in->unit, "%s", unit);
    }
    if (source->volume != NULL) CRD_PASS(crd_strdup(path, &in->paths[in->count]));
    in->sources[in->count++] = *source;
    return CRD_OK;
}

static crd_status reading_options(const crd_surface_options *options, char unit[16], crd_volume_options *out)
{
    *out = (crd_volume_options){.type = options->type, .offset = options->offset};
    memcpy(out->shape, options->shape, sizeof out->shape);
    unit[0] = '\0';
    if (options->spacing != NULL) CRD_PASS(crd_spacing_parse(options->spacing, out->spacing, unit));
    if (unit[0] != '\0') out->unit = unit;
    return CRD_OK;
}

/* Opens the volume, or the box of it that is asked for; where it is open already, *source is that one. */
static crd_status open_volume(const crd_surface_options *options, const char *path, const crd_monitor *monitor,
                              crd_surface_inputs *in, int *source)
{
    crd_volume_options reading;
    crd_volume *volume = NULL;
    crd_box box;
    char unit[16];
    for (*source = 0; *source < in->count; (*source)++) {
        if (in->paths[*source] != NULL && strcmp(in->paths[*source], path) == 0) return CRD_OK;
    }
    CRD_PASS(reading_options(options, unit, &reading));
    CRD_PASS(crd_volume_open(path, &reading, monitor, &volume));
    in->opened[in->opened_count++] = volume;
    if (options->bbox != NULL) {
        CRD_PASS(crd_box_parse("bbox", options->bbox, crd_volume_describe(volume)->shape, &box));
        CRD_PASS(crd_view_box(volume, &box, &in->opened[in->opened_count]));
        volume = in->opened[in->opened_count++];
    }
    const crd_volume_info *info = crd_volume_describe(volume);
    const crd_slice_source made = {
        .shape = {info->shape[0], info->shape[1], info->shape[2]}, .volume = volume, .scale = info->scale};
    return add_source(in, path, &made, info->spacing, info->unit, info->origin);
}

/* The realisations that the run kept: one of them, or the share of them that has the phase. They come before all maps.
 */
static crd_status open_realisations(const crd_surface_options *options, const int64_t *number,
                                    const crd_monitor *monitor, crd_surface_inputs *in)
{
    const char *const paths[] = {options->input};
    crd_realisations_options wanted = {.paths = paths, .path_count = 1};
    char unit[16];
    CRD_PASS(reading_options(options, unit, &wanted.reading));
    if (number != NULL) {
        wanted.first_sample = *number;
        wanted.samples = 1;
    }
    CRD_PASS(crd_realisations_open(&wanted, monitor, &in->realisations));
    if (options->bbox != NULL) {
        CRD_PASS(crd_box_parse("bbox", options->bbox, crd_realisations_describe(in->realisations)->shape, &wanted.box));
        crd_realisations_close(&in->realisations);
        CRD_PASS(crd_realisations_open(&wanted, monitor, &in->realisations));
    }
    const crd_realisations_info *info = crd_realisations_describe(in->realisations);
    const crd_slice_source made = {.shape = {info->shape[0], info->shape[1], info->shape[2]},
                                   .realisations = in->realisations,
                                   .votes = number == NULL,
                                   .phase_index = info->phases - 1};
    in->field = in->count;
    return add_source(in, options->input, &made, info->spacing, info->unit, info->origin);
}

/* A map of a run; whole numbers without a scale are taken for 255 or 65535 = 1. */
static crd_status open_map(const crd_surface_options *options, const crd_output *output, const crd_monitor *monitor,
                           crd_surface_inputs *in, int *source)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_join_path(options->input, output->file, "", &path));
    CRD_TRY(open_volume(options, path, monitor, in, source));
    crd_slice_source *s = &in->sources[*source];
    const crd_type type = crd_volume_describe(s->volume)->type;
    if (s->scale == 1.0 && type == CRD_U8 && !crd_output_labels(output)) s->scale = 1.0 / 255.0;
    if (s->scale == 1.0 && type == CRD_U16) s->scale = 1.0 / 65535.0;
done:
    crd_free(&path);
    return status;
}

static const crd_output *find_percentile(const crd_manifest *run, double percent)
{
    const crd_output *output = NULL;
    for (int64_t i = 0; (output = crd_manifest_output(run, CRD_OUTPUT_PERCENTILE, i)) != NULL; i++) {
        if (output->percents[0] == percent) return output;
    }
    return NULL;
}

/* The percentiles that lie furthest apart, one below the median and one above; false where there are none. */
static bool find_outer_percentiles(const crd_manifest *run, const crd_output *outer[2])
{
    const crd_output *output = NULL;
    outer[0] = outer[1] = NULL;
    for (int64_t i = 0; (output = crd_manifest_output(run, CRD_OUTPUT_PERCENTILE, i)) != NULL; i++) {
        const double percent = output->percents[0];
        if (percent < 50 && (outer[0] == NULL || percent < outer[0]->percents[0])) outer[0] = output;
        if (percent > 50 && (outer[1] == NULL || percent > outer[1]->percents[0])) outer[1] = output;
    }
    return outer[0] != NULL && outer[1] != NULL;
}

/* Where the percentile is above one half is where more than the other samples are: realisations tell that, too. */
static crd_status open_percentile(const crd_surface_options *options, const crd_manifest *run, double percent,
                                  const crd_monitor *monitor, crd_surface_inputs *in)
{
    const crd_output *output = find_percentile(run, percent);
    char number[CRD_NUMBER_BYTES];
    crd_short_number(percent, 6, number);
    snprintf(in->description, sizeof in->description, "surface of percentile %s of the probability", number);
    if (output != NULL) return open_map(options, output, monitor, in, &in->field);
    if (crd_manifest_output(run, CRD_OUTPUT_SAMPLE_BITS, 0) == NULL &&
        crd_manifest_output(run, CRD_OUTPUT_SAMPLE, 0) == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "level: the run %s has neither a volume of percentile %s nor realisations; predict with "
                        "--percentiles %s or --save-samples bits writes them",
                        options->input, number, number);
    }
    in->level = 1.0 - percent / 100.0;
    return open_realisations(options, NULL, monitor, in);
}

/* The volume of that sample: "scan_sample_17.tif"; NULL where it has none of its own. */
static const crd_output *find_sample(const crd_manifest *run, int64_t number)
{
    const crd_output *output = NULL;
    char tag[64];
    snprintf(tag, sizeof tag, "%s_%lld", crd_output_role_tag(CRD_OUTPUT_SAMPLE), (long long)number);
    for (int64_t i = 0; (output = crd_manifest_output(run, CRD_OUTPUT_SAMPLE, i)) != NULL; i++) {
        for (const char *at = strstr(output->file, tag); at != NULL; at = strstr(at + 1, tag)) {
            const char behind = at[strlen(tag)];
            if (behind == '.' || behind == '\0') return output;
        }
    }
    return NULL;
}

/* Its own values where they are kept, for a smooth surface; else its voxels. */
static crd_status open_sample(const crd_surface_options *options, const crd_manifest *run, const crd_monitor *monitor,
                              crd_surface_inputs *in)
{
    int64_t number = 0;
    (void)crd_parse_int(options->sample, strlen(options->sample), &number);
    const crd_output *output = find_sample(run, number);
    snprintf(in->description, sizeof in->description, "surface of realisation %lld", (long long)number);
    if (output != NULL) return open_map(options, output, monitor, in, &in->field);
    if (in->level != 0.5) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "level: realisations kept as bits are cut at 0.5; leave out --level, or predict with "
                        "--save-samples u8");
    }
    return open_realisations(options, &number, monitor, in);
}

static crd_status open_run_field(const crd_surface_options *options, const crd_manifest *run,
                                 const crd_monitor *monitor, crd_surface_inputs *in)
{
    crd_surface_level level = {.value = 0.5};
    const crd_output *probability = crd_manifest_output(run, CRD_OUTPUT_PROBABILITY, 0);
    char number[CRD_NUMBER_BYTES];
    if (options->level != NULL) CRD_PASS(crd_surface_level_parse("level", options->level, &level));
    if (options->phase != NULL && run->class_count <= 2) {
        return crd_fail(CRD_ERR_ARGUMENT, "phase: is for label volumes; of the run %s give --level", options->input);
    }
    if (run->class_count > 2) {
        const crd_output *segmentation = crd_manifest_output(run, CRD_OUTPUT_SEGMENTATION, 0);
        return crd_fail(CRD_ERR_ARGUMENT,
                        "the run %s tells %lld classes apart, and a surface is of one: in place of the folder give the "
                        "probability of a class, %s/%s, or the segmentation with a class's value, %s/%s --phase %g",
                        options->input, (long long)run->class_count, options->input,
                        probability != NULL ? probability->file : "<name>_prob_<class>", options->input,
                        segmentation != NULL ? segmentation->file : "<name>_seg",
                        run->classes[run->class_count - 1].value);
    }
    in->level = level.percentile ? 0.5 : level.value;
    if (options->sample != NULL && level.percentile) {
        return crd_fail(CRD_ERR_ARGUMENT, "sample: a realisation has no percentiles; leave out --level %s",
                        options->level);
    }
    if (options->sample != NULL) return open_sample(options, run, monitor, in);
    if (level.percentile) return open_percentile(options, run, level.value, monitor, in);
    snprintf(in->description, sizeof in->description, "surface where the probability is %s",
             crd_short_number(in->level, 6, number));
    if (probability != NULL) return open_map(options, probability, monitor, in, &in->field);
    snprintf(in->description, sizeof in->description, "surface of the segmentation");
    crd_warn(monitor, "the run %s has no probability map: the surface is that of its segmentation, in steps of a voxel",
             options->input);
    return open_map(options, crd_manifest_output(run, CRD_OUTPUT_SEGMENTATION, 0), monitor, in, &in->field);
}

static void add_datum(crd_surface_inputs *in, crd_datum kind)
{
    in->data.kinds[in->data.count++] = kind;
}

/* What the run knows at a vertex. The displacement is that between the outermost percentiles that were written, or, by
 * the widest uncertainty map, between percentiles that lie evenly around the probability. */
static crd_status open_run_data(const crd_surface_options *options, const crd_manifest *run, const crd_monitor *monitor,
                                crd_surface_inputs *in)
{
    bool wanted[CRD_DATUM_KINDS];
    const crd_output *outer[2], *widest = NULL, *map = NULL;
    const crd_output *probability = crd_manifest_output(run, CRD_OUTPUT_PROBABILITY, 0);
    const crd_output *uncertainty = crd_manifest_output(run, CRD_OUTPUT_UNCERTAINTY, 0);
    crd_vertex_data *data = &in->data;
    CRD_PASS(crd_surface_data_parse("data", options->data != NULL ? options->data : "all", wanted));
    if (wanted[CRD_DATUM_PROBABILITY] && probability != NULL) {
        CRD_PASS(open_map(options, probability, monitor, in, &data->probability));
        add_datum(in, CRD_DATUM_PROBABILITY);
    }
    if (wanted[CRD_DATUM_UNCERTAINTY] && uncertainty != NULL) {
        CRD_PASS(open_map(options, uncertainty, monitor, in, &data->uncertainty));
        add_datum(in, CRD_DATUM_UNCERTAINTY);
    }
    if (!wanted[CRD_DATUM_DISPLACEMENT] || probability == NULL) return CRD_OK;
    for (int64_t i = 0; (map = crd_manifest_output(run, CRD_OUTPUT_UNCERTAINTY, i)) != NULL; i++) widest = map;
    if (find_outer_percentiles(run, outer)) {
        CRD_PASS(open_map(options, outer[0], monitor, in, &data->low));
        CRD_PASS(open_map(options, outer[1], monitor, in, &data->high));
    } else if (widest != NULL) {
        CRD_PASS(open_map(options, widest, monitor, in, &data->width));
    } else {
        return CRD_OK;
    }
    CRD_PASS(open_map(options, probability, monitor, in, &data->probability));
    add_datum(in, CRD_DATUM_DISPLACEMENT);
    return CRD_OK;
}

/* Of a label with two values the larger is the phase. */
static crd_status find_phase(const char *path, crd_volume *volume, const crd_monitor *monitor, double *phase)
{
    crd_volume_statistics about;
    int64_t values = 0;
    CRD_PASS(crd_volume_measure(volume, monitor, &about));
    for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) values += about.histogram[i] > 0;
    if (values > 2 || about.maximum - about.minimum >= CRD_HISTOGRAM_BINS) {
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "%s holds %s values, from %g to %g: give --phase V for the surface of one of them, or --level V "
            "for that of all above V",
            path, values > 2 ? "more than two" : "whole", about.minimum, about.maximum);
    }
    *phase = about.maximum;
    return CRD_OK;
}

static crd_status open_file(const crd_surface_options *options, const crd_monitor *monitor, crd_surface_inputs *in)
{
    crd_surface_level level = {.value = 0.5};
    char number[CRD_NUMBER_BYTES];
    if (options->sample != NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "sample: %s is no run folder, so it has no realisations", options->input);
    }
    if (options->level != NULL) CRD_PASS(crd_surface_level_parse("level", options->level, &level));
    if (level.percentile) {
        return crd_fail(CRD_ERR_ARGUMENT, "level: %s is no run folder, so it has no percentiles", options->input);
    }
    if (options->level != NULL && options->phase != NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "phase and level are two ways to say what is inside: give one of them");
    }
    in->level = level.value;
    CRD_PASS(open_volume(options, options->input, monitor, in, &in->field));
    crd_slice_source *s = &in->sources[in->field];
    const crd_type type = crd_volume_describe(s->volume)->type;
    const bool labels = type != CRD_F32 && type != CRD_F64 && s->scale == 1.0;
    if (options->phase != NULL) {
        s->is_phase = crd_parse_real(options->phase, strlen(options->phase), &s->phase);
    } else if (options->level == NULL && labels) {
        s->is_phase = true;
        CRD_PASS(find_phase(options->input, s->volume, monitor, &s->phase));
    }
    crd_short_number(s->is_phase ? s->phase : in->level, 6, number);
    snprintf(in->description, sizeof in->description,
             s->is_phase ? "surface of the voxels of value %s" : "surface at %s", number);
    return CRD_OK;
}

/* From what the volumes say to physical coordinates. */
static void place(const crd_monitor *monitor, crd_surface_inputs *in)
{
    const bool known = in->spacing[0] > 0 && in->spacing[1] > 0 && in->spacing[2] > 0;
    for (int axis = 0; axis < 3; axis++) {
        if (!known) in->spacing[axis] = 1.0;
        in->origin[axis] *= in->spacing[axis];
    }
    if (known) return;
    snprintf(in->unit, sizeof in->unit, "voxels");
    crd_info(monitor, "the size of a voxel isn't known: coordinates are in voxels; --spacing gives it");
}

/* A folder may also be a volume: of slices, or OME-Zarr. */
static crd_status read_run(const char *path, crd_manifest *run, bool *is_run)
{
    struct stat about;
    *is_run = false;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) return CRD_OK;
    crd_volume *volume = NULL;
    if (crd_run_read(path, run) == CRD_OK) {
        *is_run = true;
        return CRD_OK;
    }
    const crd_error no_run = *crd_last_error();
    const bool is_volume = crd_volume_open(path, NULL, NULL, &volume) == CRD_OK;
    crd_volume_close(&volume);
    return is_volume ? CRD_OK : crd_error_adopt(&no_run);
}

crd_status crd_surface_inputs_open(const crd_surface_options *options, const crd_monitor *monitor,
                                   crd_surface_inputs *in)
{
    crd_status status = CRD_OK;
    crd_manifest run = {0};
    bool is_run = false;
    memset(in, 0, sizeof *in);
    in->data.probability = in->data.uncertainty = in->data.width = in->data.low = in->data.high = CRD_NO_SOURCE;
    CRD_TRY(read_run(options->input, &run, &is_run));
    if (is_run) {
        CRD_TRY(open_run_field(options, &run, monitor, in));
        CRD_TRY(open_run_data(options, &run, monitor, in));
    } else {
        CRD_TRY(open_file(options, monitor, in));
    }
    place(monitor, in);
    memcpy(in->data.shape, in->shape, sizeof in->shape);
    memcpy(in->data.spacing, in->spacing, sizeof in->spacing);
    in->data.level = in->level;
done:
    if (is_run) crd_manifest_free(&run);
    if (status != CRD_OK) crd_surface_inputs_close(in);
    return status;
}

void crd_surface_inputs_close(crd_surface_inputs *in)
{
    while (in->opened_count > 0) crd_volume_close(&in->opened[--in->opened_count]); /* views before what they view */
    crd_realisations_close(&in->realisations);
    for (int i = 0; i < in->count; i++) crd_free(&in->paths[i]);
    in->count = 0;
}
