#include "run/realisations.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/number.h"
#include "base/text.h"
#include "chunk/mask.h"
#include "run/own_mask.h"
#include "run/paths.h"
#include "run/read.h"
#include "run/realisation_sources.h"
#include "volume/box.h"
#include "volume/format.h"
#include "volume/types.h"
#include "volume/views/view.h"

enum { CACHE_BYTES = 16 << 20 }; /* of each volume: blocks are read whole, so that nothing is decoded twice */

#define SHAPE       "%lld,%lld,%lld"
#define SHAPE_OF(s) (long long)(s)[0], (long long)(s)[1], (long long)(s)[2]

static crd_status add_source(crd_realisations *r, const char *path, const crd_volume_options *reading,
                             const crd_monitor *monitor, crd_realisation_source **out)
{
    crd_realisation_source *source = &r->sources[r->source_count];
    crd_volume_options options = *reading;
    options.cache_bytes = CACHE_BYTES;
    CRD_PASS(crd_volume_open(path, &options, monitor, &source->volume));
    r->source_count++;
    source->volume->read_once = true;
    const crd_volume_info *info = crd_volume_describe(source->volume);
    if (r->source_count == 1) {
        memcpy(r->info.shape, info->shape, sizeof r->info.shape);
        memcpy(r->info.origin, info->origin, sizeof r->info.origin);
    } else if (memcmp(info->shape, r->info.shape, sizeof r->info.shape) != 0) {
        return crd_fail(CRD_ERR_MISMATCH,
                        "%s has shape " SHAPE " (z,y,x) and %s " SHAPE "; realisations are of one scan, so they must "
                        "be equal",
                        path, SHAPE_OF(info->shape), crd_volume_path(r->sources[0].volume), SHAPE_OF(r->info.shape));
    }
    if (r->info.spacing[0] == 0.0 && info->spacing[0] > 0.0) {
        memcpy(r->info.spacing, info->spacing, sizeof r->info.spacing);
        memcpy(r->info.unit, info->unit, sizeof r->info.unit);
    } else if (info->spacing[0] > 0.0 && memcmp(r->info.spacing, info->spacing, sizeof info->spacing) != 0) {
        crd_warn(monitor, "%s says another voxel size than the volumes before it, which is taken", path);
    }
    if (source->volume->layer > r->info.layer) r->info.layer = source->volume->layer;
    *out = source;
    return CRD_OK;
}

uint8_t crd_realisations_phase_of(const crd_realisations_info *info, double value)
{
    for (int64_t i = 0; i < info->phases; i++) {
        if (info->values[i] == value) return (uint8_t)i;
    }
    return CRD_PHASE_OUTSIDE;
}

/* The phases of bytes. */
static crd_status make_table(crd_realisations *r)
{
    CRD_PASS(crd_alloc(256, 1, "the phases", &r->table));
    for (int value = 0; value < 256; value++) r->table[value] = crd_realisations_phase_of(&r->info, value);
    return CRD_OK;
}

/* ---- a run ---- */

static crd_status add_map(crd_realisations *r, const char *folder, const crd_output *output, const crd_monitor *monitor,
                          crd_realisation_source **out)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_run_volume_path(folder, output->file, &path));
    if (!crd_run_volume_there(path)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "the %s %s of the run %s isn't there", crd_output_role_name(output->role),
                 output->file, folder);
    }
    CRD_TRY(add_source(r, path, &(crd_volume_options){0}, monitor, out));
    const double scale = crd_volume_describe((*out)->volume)->scale;
    (*out)->threshold = 0.5 / (scale > 0.0 ? scale : 1.0);
    (*out)->count = 1;
done:
    crd_free(&path);
    return status;
}

static crd_status no_samples(const char *folder, const crd_manifest *run)
{
    const char *draws = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run->settings, "draws"));
    if (draws != NULL && strcmp(draws, "per-chunk") == 0) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "the run %s was predicted with --draws per-chunk, where every chunk has draws of its own: it "
                        "has no realisations of the scan; predict without that option and with --save-samples bits",
                        folder);
    }
    return crd_fail(CRD_ERR_ARGUMENT,
                    "the run %s kept none of its samples; predict again with --save-samples bits (the same model, scan "
                    "and seed give the same samples), or name its segmentation alone",
                    folder);
}

/* The numbers behind a role's tag in a file's name: "scan_sample_17.tif" is of realisation 17, "scan_samples_64_b1.tif"
 * of those from 64 on, bit 1 of their class numbers. */
static int64_t number_in(const char *file, crd_output_role role, int64_t *plane)
{
    const char *tag = crd_output_role_tag(role), *last = NULL;
    int64_t number = 0;
    *plane = 0;
    for (const char *at = strstr(file, tag); at != NULL; at = strstr(at + 1, tag)) last = at;
    for (last = last != NULL ? last + strlen(tag) : ""; *last == '_';) {
        const bool bit = *++last == 'b';
        const size_t digits = strspn(last += bit, "0123456789");
        (void)crd_parse_int(last, digits, bit ? plane : &number);
        last += digits;
    }
    return number;
}

static int64_t count_outputs(const crd_manifest *run, crd_output_role role)
{
    int64_t count = 0;
    while (crd_manifest_output(run, role, count) != NULL) count++;
    return count;
}

/* Which of a run's samples, first to first + count - 1, are wanted. */
static crd_status choose_samples(const crd_realisations_options *options, const char *folder, int64_t first,
                                 int64_t count, crd_realisations_info *info)
{
    info->first_sample = options->samples > 0 && !options->from_start ? options->first_sample : first;
    info->samples = options->samples > 0 ? options->samples : count;
    if (info->first_sample < first || info->first_sample + info->samples > first + count) {
        return crd_fail(CRD_ERR_ARGUMENT, "samples: %lld to %lld are asked for, and the run %s has %lld to %lld",
                        (long long)info->first_sample, (long long)(info->first_sample + info->samples - 1), folder,
                        (long long)first, (long long)(first + count - 1));
    }
    return CRD_OK;
}

/* Volumes of one sample each: of its phases, or of more than two classes one for the probability of each. */
static crd_status open_samples(crd_realisations *r, const crd_realisations_options *options, const char *folder,
                               const crd_manifest *run, const crd_monitor *monitor)
{
    const bool by_class = crd_manifest_output(run, CRD_OUTPUT_SAMPLE, 0)->class_name != NULL;
    const int64_t classes = by_class ? r->info.phases : 1;
    const int64_t volumes = count_outputs(run, CRD_OUTPUT_SAMPLE), count = volumes / classes;
    int64_t plane;
    const int64_t first = number_in(crd_manifest_output(run, CRD_OUTPUT_SAMPLE, 0)->file, CRD_OUTPUT_SAMPLE, &plane);
    if (volumes % classes != 0 || (run->plan.samples > 0 && run->plan.samples != count)) {
        return crd_fail(CRD_ERR_MISMATCH, "the run %s has %lld samples, and its manifest lists volumes of %lld", folder,
                        (long long)run->plan.samples, (long long)count);
    }
    CRD_PASS(choose_samples(options, folder, first, count, &r->info));
    for (int64_t i = 0; i < r->info.samples * classes; i++) {
        crd_realisation_source *source;
        const int64_t number = (r->info.first_sample - first) * classes + i;
        CRD_PASS(add_map(r, folder, crd_manifest_output(run, CRD_OUTPUT_SAMPLE, number), monitor, &source));
        source->valued = r->info.phases > 2;
        source->bit = i / classes;
        source->count = i % classes == 0;
        source->classes = by_class && source->count > 0 ? classes : 0;
    }
    return CRD_OK;
}

/* The volume of 64 samples from `begin` on, of one plane of their class numbers; NULL where there is none. */
static const crd_output *packed_output(const crd_manifest *run, int64_t begin, int64_t plane)
{
    int64_t own;
    for (int64_t i = 0; i < count_outputs(run, CRD_OUTPUT_SAMPLE_BITS); i++) {
        const crd_output *output = crd_manifest_output(run, CRD_OUTPUT_SAMPLE_BITS, i);
        if (number_in(output->file, CRD_OUTPUT_SAMPLE_BITS, &own) == begin && own == plane) return output;
    }
    return NULL;
}

/* Volumes of 64 samples each, bit by bit, for every plane of their class numbers. */
static crd_status open_packed(crd_realisations *r, const crd_realisations_options *options, const char *folder,
                              const crd_manifest *run, const crd_monitor *monitor)
{
    const int64_t first = crd_manifest_first_sample(run), count = run->plan.samples, planes = r->info.planes;
    const int64_t volumes = count_outputs(run, CRD_OUTPUT_SAMPLE_BITS);
    if (volumes != planes * ((count + CRD_WORD_BITS - 1) / CRD_WORD_BITS)) {
        return crd_fail(CRD_ERR_MISMATCH,
                        "the run %s has %lld samples of %lld classes, and its manifest lists %lld volumes of bits",
                        folder, (long long)count, (long long)r->info.phases, (long long)volumes);
    }
    CRD_PASS(choose_samples(options, folder, first, count, &r->info));
    const int64_t begin = r->info.first_sample - first, end = begin + r->info.samples;
    for (int64_t v = begin / CRD_WORD_BITS; v * CRD_WORD_BITS < end; v++) {
        const int64_t low = v * CRD_WORD_BITS > begin ? v * CRD_WORD_BITS : begin;
        const int64_t high = (v + 1) * CRD_WORD_BITS < end ? (v + 1) * CRD_WORD_BITS : end;
        for (int64_t plane = 0; plane < planes; plane++) {
            crd_realisation_source *source;
            const crd_output *output = packed_output(run, v * CRD_WORD_BITS, plane);
            if (output == NULL) {
                return crd_fail(CRD_ERR_MISMATCH, "the manifest of %s lists no bits %lld of its samples from %lld on",
                                folder, (long long)plane, (long long)(first + v * CRD_WORD_BITS));
            }
            CRD_PASS(add_map(r, folder, output, monitor, &source));
            if (crd_volume_describe(source->volume)->type != CRD_U64) {
                return crd_fail(CRD_ERR_FORMAT, "%s holds %s, and bits of samples are u64",
                                crd_volume_path(source->volume),
                                crd_type_name(crd_volume_describe(source->volume)->type));
            }
            source->packed = true;
            source->plane = plane;
            source->shift = low - v * CRD_WORD_BITS;
            source->bit = low - begin;
            source->count = high - low;
        }
    }
    return CRD_OK;
}

static void count_planes(crd_realisations_info *info)
{
    for (info->planes = 1; (INT64_C(1) << info->planes) < info->phases;) info->planes++;
}

/* The run's classes are its phases: two, 0 and 1, or those that its manifest lists. */
static crd_status learn_classes(crd_realisations *r, const crd_realisations_options *options, const char *folder,
                                const crd_manifest *run)
{
    crd_realisations_info *info = &r->info;
    const bool whole = options->box.size[0] == 0 && options->mask == NULL && options->label == NULL;
    info->run = true;
    info->phases = 2;
    info->values[1] = 1.0;
    if (run->class_count > CRD_PHASES_MAX) {
        return crd_fail(CRD_ERR_FORMAT, "the manifest of %s lists %lld classes, and there are at most %d", folder,
                        (long long)run->class_count, CRD_PHASES_MAX);
    }
    if (run->class_count > 2) {
        info->phases = run->class_count;
        for (int64_t i = 0; i < info->phases; i++) info->values[i] = run->classes[i].value;
    }
    for (int64_t i = 0; i < run->class_count && run->class_count == info->phases; i++) {
        snprintf(info->names[i], sizeof info->names[i], "%s", run->classes[i].name != NULL ? run->classes[i].name : "");
    }
    for (int64_t i = 0; i < run->class_count && whole; i++) info->systematic[i] = run->classes[i].systematic;
    count_planes(info);
    return make_table(r);
}

static crd_status open_run(crd_realisations *r, const crd_realisations_options *options, const char *folder,
                           const crd_monitor *monitor, char **mask, int64_t mask_shape[3])
{
    crd_status status = CRD_OK;
    crd_manifest run;
    static const crd_output_role roles[] = {CRD_OUTPUT_SEGMENTATION, CRD_OUTPUT_LOWER_BOUND, CRD_OUTPUT_UPPER_BOUND};
    static const int64_t nowhere[3] = {0, 0, 0};
    int64_t *const bits[] = {&r->info.segmentation, &r->info.lower, &r->info.upper};
    CRD_PASS(crd_run_read(folder, &run));
    crd_manifest_free(&run); /* that one leaves out what isn't there; of samples none may be missing */
    CRD_PASS(crd_run_read_manifest(folder, &run));
    CRD_TRY(learn_classes(r, options, folder, &run));
    const bool packed = count_outputs(&run, CRD_OUTPUT_SAMPLE_BITS) > 0;
    CRD_TRY(crd_alloc(count_outputs(&run, packed ? CRD_OUTPUT_SAMPLE_BITS : CRD_OUTPUT_SAMPLE) + 6, sizeof *r->sources,
                      "the list of volumes", &r->sources));
    if (packed) {
        CRD_TRY(open_packed(r, options, folder, &run, monitor));
    } else if (count_outputs(&run, CRD_OUTPUT_SAMPLE) > 0) {
        CRD_TRY(open_samples(r, options, folder, &run, monitor));
    } else {
        CRD_TRY(no_samples(folder, &run));
    }
    r->info.bits = r->info.samples;
    for (int i = 0; i < 3; i++) {
        crd_realisation_source *source;
        const crd_output *output = crd_manifest_output(&run, roles[i], 0);
        if (output == NULL || output->class_name != NULL) continue; /* bounds of one class aren't of all phases */
        CRD_TRY(add_map(r, folder, output, monitor, &source));
        source->valued = r->info.phases > 2;
        source->bit = *bits[i] = r->info.bits++;
    }
    if (options->cuts && r->info.phases == 2 && crd_manifest_output(&run, CRD_OUTPUT_PROBABILITY, 0) != NULL &&
        isfinite(r->info.systematic[1]) && r->info.systematic[1] > 0.0) {
        for (int i = 0; i < 2; i++) {
            crd_realisation_source *source;
            CRD_TRY(add_map(r, folder, crd_manifest_output(&run, CRD_OUTPUT_PROBABILITY, 0), monitor, &source));
            source->bit = r->info.cuts[i] = r->info.bits++;
        }
    }
    if (r->info.spacing[0] == 0.0 && run.scan.spacing[0] > 0.0) {
        memcpy(r->info.spacing, run.scan.spacing, sizeof r->info.spacing);
        snprintf(r->info.unit, sizeof r->info.unit, "%s", run.scan.unit != NULL ? run.scan.unit : "");
    }
    if (!crd_manifest_place(&run, r->scan_origin)) memcpy(r->scan_origin, r->info.origin, sizeof r->scan_origin);
    if (memcmp(r->info.origin, nowhere, sizeof nowhere) == 0) { /* the file can't say it */
        memcpy(r->info.origin, r->scan_origin, sizeof r->info.origin);
    }
    memcpy(mask_shape, run.scan.shape, 3 * sizeof *mask_shape);
    if (options->mask == NULL) CRD_TRY(crd_run_own_mask(folder, &run, monitor, mask));
done:
    crd_manifest_free(&run);
    return status;
}

/* ---- label volumes ---- */

static crd_status add_value(crd_realisations_info *info, double value, const char *path)
{
    int64_t at = info->phases;
    if (crd_realisations_phase_of(info, value) != CRD_PHASE_OUTSIDE) return CRD_OK;
    if (!(fabs(value) < 0x1p53) || value != floor(value)) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s holds %g, which is no phase's number: it looks like %s, not like a segmentation; cut it "
                        "first, or name the segmentation",
                        path, value, value > 0.0 && value < 1.0 ? "a map of probabilities" : "a scan");
    }
    if (info->phases == CRD_PHASES_MAX) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s has more than %d different values: it looks like a scan, not like a segmentation", path,
                        CRD_PHASES_MAX);
    }
    for (; at > 0 && info->values[at - 1] > value; at--) info->values[at] = info->values[at - 1];
    info->values[at] = value;
    info->phases++;
    return CRD_OK;
}

/* Reads the box once to see which values it holds where it counts. */
static crd_status learn_values(crd_realisations *r, crd_volume *volume)
{
    enum { IN_CACHE = 1 << 17 };
    crd_status status = CRD_OK;
    double *values = NULL;
    uint8_t *inside = NULL;
    const int64_t *shape = r->info.shape;
    const int64_t rows = shape[2] >= IN_CACHE ? 1 : IN_CACHE / shape[2] < shape[1] ? IN_CACHE / shape[2] : shape[1];
    const char *path = crd_volume_path(volume);
    volume->read_once = false;
    CRD_TRY(crd_alloc(rows * shape[2], sizeof *values, "a part of a slice", &values));
    if (r->mask != NULL) CRD_TRY(crd_alloc(rows * shape[2], 1, "a part of a slice", &inside));
    for (int64_t z = 0; z < shape[0]; z++) {
        for (int64_t y = 0; y < shape[1]; y += rows) {
            const int64_t some = shape[1] - y < rows ? shape[1] - y : rows;
            const crd_box box = {{r->box_origin[0] + z, r->box_origin[1] + y, r->box_origin[2]}, {1, some, shape[2]}};
            double last = (double)NAN;
            CRD_TRY(crd_volume_read(volume, &box, CRD_F64, values));
            if (r->mask != NULL) {
                const crd_box there = {{r->mask_origin[0] + z, r->mask_origin[1] + y, r->mask_origin[2]},
                                       {1, some, shape[2]}};
                CRD_TRY(crd_volume_read(r->mask, &there, CRD_U8, inside));
            }
            for (int64_t i = 0; i < some * shape[2]; i++) {
                if (values[i] == last || (inside != NULL && inside[i] == 0)) continue;
                last = values[i];
                CRD_TRY(add_value(&r->info, last, path));
            }
        }
    }
done:
    volume->read_once = true;
    crd_free(&values);
    crd_free(&inside);
    return status;
}

static crd_status open_labels(crd_realisations *r, const crd_realisations_options *options, const crd_monitor *monitor)
{
    CRD_PASS(crd_alloc(options->path_count + 1, sizeof *r->sources, "the list of volumes", &r->sources));
    for (int64_t i = 0; i < options->path_count; i++) {
        crd_realisation_source *source;
        CRD_PASS(add_source(r, options->paths[i], &options->reading, monitor, &source));
        source->bit = i;
        source->count = 1;
        source->valued = true;
    }
    r->info.bits = options->path_count;
    r->info.samples = options->path_count > 1 ? options->path_count : 0;
    if (options->path_count == 1) r->info.segmentation = 0;
    return CRD_OK;
}

static crd_status learn_labels(crd_realisations *r, const crd_realisations_options *options, const crd_monitor *monitor)
{
    for (int64_t i = 0; i < options->wanted_count; i++) {
        CRD_PASS(add_value(&r->info, options->wanted[i], "the list of phases"));
    }
    const int64_t before = r->info.phases;
    for (int64_t i = 0; i < r->source_count; i++) CRD_PASS(learn_values(r, r->sources[i].volume));
    if (r->info.phases == 0) {
        const int64_t *shape = r->info.shape;
        return crd_fail(CRD_ERR_ARGUMENT, "mask: no voxel of %s (%lld,%lld,%lld) lies inside it", r->name,
                        (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    }
    if (r->info.phases == 1 && before == 0) {
        crd_warn(monitor, "all voxels of %s are %g: there is one phase, and no boundary", r->name, r->info.values[0]);
    }
    count_planes(&r->info);
    return make_table(r);
}

/* ---- both ---- */

static crd_status place_box(crd_realisations *r, const crd_box *box)
{
    if (box->size[0] == 0) return CRD_OK;
    CRD_PASS(crd_box_check("bbox", box, r->info.shape));
    for (int axis = 0; axis < 3; axis++) {
        r->box_origin[axis] = box->origin[axis];
        r->info.origin[axis] += box->origin[axis];
        r->info.shape[axis] = box->size[axis];
    }
    return CRD_OK;
}

/* A mask is of the scan's shape, or of that of the volumes. */
static crd_status open_mask(crd_realisations *r, const char *text, const int64_t volumes[3], const int64_t scan[3])
{
    const bool of_scan = scan[0] > 0 && crd_mask_open(text, scan, &r->mask) == CRD_OK;
    if (!of_scan) CRD_PASS(crd_mask_open(text, volumes, &r->mask));
    for (int axis = 0; axis < 3; axis++) {
        r->mask_origin[axis] = r->box_origin[axis] + (of_scan ? r->scan_origin[axis] : 0);
    }
    r->info.masked = true;
    return CRD_OK;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* A folder with a manifest, or the remains of a run, or volumes that are named like a run's. */
static bool is_run(const char *path)
{
    crd_manifest run;
    if (!is_folder(path)) return false;
    if (crd_run_interrupted(path)) return true;
    if (crd_run_read_manifest(path, &run) != CRD_OK) return true;
    const bool described = run.document != NULL;
    crd_manifest_free(&run);
    if (described) return true;
    if (crd_run_read(path, &run) != CRD_OK) return false;
    crd_manifest_free(&run);
    return true;
}

static crd_status settle(crd_realisations *r, const crd_realisations_options *options, const int64_t volumes[3],
                         const int64_t scan[3], const crd_monitor *monitor)
{
    crd_realisations_info *info = &r->info;
    if (!info->run) CRD_PASS(learn_labels(r, options, monitor));
    if (options->label != NULL) CRD_PASS(crd_realisations_add_label(r, options, volumes, scan, monitor));
    CRD_PASS(crd_realisations_settle_cuts(r));
    if (options->reading.spacing[0] > 0.0) {
        memcpy(info->spacing, options->reading.spacing, sizeof info->spacing);
        snprintf(info->unit, sizeof info->unit, "%s", options->reading.unit != NULL ? options->reading.unit : "");
    }
    info->words = (info->bits + CRD_WORD_BITS - 1) / CRD_WORD_BITS;
    if (info->layer < 1) info->layer = 1;
    return CRD_OK;
}

crd_status crd_realisations_open(const crd_realisations_options *options, const crd_monitor *monitor,
                                 crd_realisations **out)
{
    crd_status status = CRD_OK;
    crd_realisations *r = NULL;
    char *mask = NULL;
    int64_t scan[3] = {0}, volumes[3];
    *out = NULL;
    if (options->path_count < 1) return crd_fail(CRD_ERR_ARGUMENT, "there is no run and no segmentation to read");
    CRD_TRY(crd_alloc(1, sizeof *r, "the realisations", &r));
    CRD_TRY(crd_strdup(options->paths[0], &r->name));
    r->info.name = r->name;
    r->info.segmentation = r->info.lower = r->info.upper = r->info.label = r->info.cuts[0] = r->info.cuts[1] = -1;
    for (int i = 0; i < CRD_PHASES_MAX; i++) r->info.systematic[i] = (double)NAN;
    for (int64_t i = 0; options->path_count > 1 && i < options->path_count; i++) {
        if (!is_run(options->paths[i])) continue;
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is a run folder: give one alone, or several segmentations", options->paths[i]);
    }
    if (is_run(options->paths[0])) {
        CRD_TRY(open_run(r, options, options->paths[0], monitor, &mask, scan));
    } else {
        CRD_TRY(open_labels(r, options, monitor));
    }
    memcpy(volumes, r->info.shape, sizeof volumes);
    CRD_TRY(place_box(r, &options->box));
    if (options->mask != NULL && strcmp(options->mask, "none") != 0) CRD_TRY(crd_strdup(options->mask, &mask));
    if (mask != NULL) CRD_TRY(open_mask(r, mask, volumes, scan));
    CRD_TRY(settle(r, options, volumes, scan, monitor));
    *out = r;
    r = NULL;
done:
    crd_free(&mask);
    crd_realisations_close(&r);
    return status;
}

void crd_realisations_close(crd_realisations **realisations)
{
    crd_realisations *r = *realisations;
    if (r == NULL) return;
    for (int64_t i = 0; r->handles != NULL && i < r->source_count * r->handle_threads; i++) {
        crd_volume_close(&r->handles[i]);
    }
    crd_free(&r->handles);
    for (int64_t i = 0; i < r->source_count; i++) crd_volume_close(&r->sources[i].volume);
    crd_free(&r->sources);
    crd_volume_close(&r->mask);
    crd_free(&r->table);
    crd_label_close(&r->label);
    crd_free(&r->name);
    crd_free(realisations);
}

const crd_realisations_info *crd_realisations_describe(const crd_realisations *realisations)
{
    return &realisations->info;
}

static void add_fingerprint(crd_text *text, const crd_volume *volume)
{
    struct stat about = {0};
    const char *path = crd_volume_path(volume);
    if (stat(path, &about) != 0) about = (struct stat){0}; /* a dataset in a file: its name must do */
    crd_text_print(text, "%s %lld %lld.%09ld\n", path, (long long)about.st_size, (long long)about.st_mtim.tv_sec,
                   about.st_mtim.tv_nsec);
}

crd_status crd_realisations_fingerprint(const crd_realisations *r, char **out)
{
    crd_text text = {0};
    for (int64_t i = 0; i < r->source_count; i++) {
        if (r->sources[i].volume == NULL) continue; /* the label, which nothing that is kept depends on */
        add_fingerprint(&text, r->sources[i].volume);
    }
    if (r->mask != NULL) add_fingerprint(&text, r->mask);
    return crd_text_finish(&text, out);
}
