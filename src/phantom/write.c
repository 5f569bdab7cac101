/* A phantom as files: three volumes and what is known about them. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/settings/whole.h"
#include "credence/number.h"
#include "phantom/check.h"
#include "phantom/generator.h"
#include "phantom/image.h"
#include "phantom/score.h"
#include "volume/format.h"
#include "volume/setting_checks.h"

enum { SCAN, LABEL, TRUTH, FILES };
enum { ABOUT_LIMIT = 1 << 20 };
enum { EARLIER_MOST = 2 };                         /* a phantom, and the one it was about to replace */
enum { FILE_SUFFIX_BYTES = CRD_SUFFIX_BYTES + 8 }; /* ".npy.json" */
static const char *const names[FILES] = {"scan", "label", "truth"};

typedef struct writer {
    crd_phantom_kind kind;
    crd_phantom_options options; /* borrows the caller's strings; of an image the shape is its truth's */
    double spacing[3];           /* of an image's truth; 0, 0, 0: not said */
    char unit[16];
    const crd_monitor *monitor;
    char *paths[FILES], *about; /* about: phantom.json */
    char suffix[CRD_SUFFIX_BYTES];
    char earlier[EARLIER_MOST][CRD_SUFFIX_BYTES]; /* those of the phantom that is there already */
    int earlier_count;
    bool unfinished; /* that phantom was interrupted: some of its volumes are there */
    crd_volume *volumes[FILES];
    void *voxels[FILES]; /* one slab */
    crd_type types[FILES];
    crd_pool *pool;
    crd_generator *generator;
    crd_score *score;
    int64_t phases;
    double values[CRD_PHANTOM_PHASES]; /* in the files */
} writer;

static void add_earlier(writer *w, const char *format)
{
    if (format == NULL || w->earlier_count == EARLIER_MOST || crd_check_format("format", format) != CRD_OK) return;
    (void)crd_format_meant(format, w->earlier[w->earlier_count++]);
}

/* Which volumes the phantom.json in the folder speaks of. */
static crd_status find_earlier(writer *w)
{
    crd_status status = CRD_OK;
    struct stat about;
    char *text = NULL;
    cJSON *json = NULL;
    const cJSON *item = NULL;
    if (stat(w->about, &about) != 0) return CRD_OK;
    CRD_TRY(crd_read_file(w->about, ABOUT_LIMIT, &text, NULL));
    json = cJSON_Parse(text);
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "format"));
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(json, "settings");
    const cJSON *unfinished = cJSON_GetObjectItemCaseSensitive(json, "unfinished");
    if (kind == NULL || strcmp(kind, "credence-phantom") != 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is there already and describes no phantom; choose another folder", w->about);
    }
    w->unfinished = cJSON_IsArray(unfinished);
    cJSON_ArrayForEach(item, unfinished) add_earlier(w, cJSON_GetStringValue(item));
    if (!w->unfinished) {
        add_earlier(w, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(settings, "format")));
    }
done:
    cJSON_Delete(json);
    crd_free(&text);
    return status;
}

/* The suffix of the file that may lie beside a volume: the voxels of a header, or a description; "": there is none. */
static void suffix_beside(const char *suffix, char beside[FILE_SUFFIX_BYTES])
{
    char path[FILE_SUFFIX_BYTES];
    beside[0] = '\0';
    snprintf(path, sizeof path, "x%s", suffix);
    if (strcmp(suffix, ".mhd") == 0 || strcmp(suffix, ".nhdr") == 0) {
        snprintf(beside, FILE_SUFFIX_BYTES, ".raw");
    } else if (crd_format_has_suffix(&crd_format_npy, path) || crd_format_has_suffix(&crd_format_raw, path)) {
        snprintf(beside, FILE_SUFFIX_BYTES, "%s.json", suffix);
    }
}

/* Is a file of this suffix one of the earlier phantom's? scan.raw is one of scan.raw and of scan.mhd. */
static bool is_earlier(const writer *w, const char *suffix)
{
    char beside[FILE_SUFFIX_BYTES];
    for (int k = 0; k < w->earlier_count; k++) {
        suffix_beside(w->earlier[k], beside);
        if (strcmp(suffix, w->earlier[k]) == 0 || strcmp(suffix, beside) == 0) return true;
    }
    return false;
}

static crd_status protect_file(const writer *w, const char *name, const char *suffix)
{
    crd_status status = CRD_OK;
    struct stat about;
    char *path = NULL;
    if (suffix[0] == '\0' || is_earlier(w, suffix)) return CRD_OK;
    CRD_TRY(crd_join_path(w->options.output, name, suffix, &path));
    if (lstat(path, &about) == 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is there already and is no file of an earlier phantom; choose another folder",
                 path);
    }
done:
    crd_free(&path);
    return status;
}

/* A phantom may replace an earlier phantom, never somebody's own scan. */
static crd_status protect_others(const writer *w)
{
    char beside[FILE_SUFFIX_BYTES];
    suffix_beside(w->suffix, beside);
    for (int i = 0; i < FILES; i++) {
        CRD_PASS(protect_file(w, names[i], w->suffix));
        CRD_PASS(protect_file(w, names[i], beside));
    }
    return CRD_OK;
}

static crd_status remove_volume(const writer *w, const char *name, const char *suffix)
{
    char *path = NULL;
    CRD_PASS(crd_join_path(w->options.output, name, suffix, &path));
    const crd_status status = crd_volume_remove(path);
    crd_free(&path);
    return status;
}

/* The volumes of an earlier phantom in another format: beside the new ones, and the new description, they would be
 * taken for those. Of an interrupted one all go: nothing says which of them belong together. */
static crd_status remove_earlier(const writer *w)
{
    for (int k = 0; k < w->earlier_count; k++) {
        if (!w->unfinished && strcmp(w->suffix, w->earlier[k]) == 0) continue;
        for (int i = 0; i < FILES; i++) CRD_PASS(remove_volume(w, names[i], w->earlier[k]));
    }
    return CRD_OK;
}

/* At once, so that what is left over is in nobody's way. */
static crd_status remove_unfinished(writer *w)
{
    if (!w->unfinished) return CRD_OK;
    CRD_PASS(remove_earlier(w));
    w->earlier_count = 0;
    return CRD_OK;
}

static crd_status open_volumes(writer *w)
{
    const crd_phantom_options *o = &w->options;
    crd_volume_info info = {.scale = 1.0};
    memcpy(info.shape, o->shape, sizeof info.shape);
    memcpy(info.spacing, w->spacing, sizeof info.spacing);
    snprintf(info.unit, sizeof info.unit, "%s", w->unit);
    if (o->spacing != NULL) CRD_PASS(crd_spacing_parse(o->spacing, info.spacing, info.unit));
    const crd_volume_options options = {.format = o->format};
    for (int i = 0; i < FILES; i++) {
        info.type = w->types[i];
        CRD_PASS(crd_volume_create_over(w->paths[i], &info, &options, &w->volumes[i]));
    }
    return CRD_OK;
}

/* From numbers of phases to their values, in place. */
static void give_values(const writer *w, uint8_t *voxels, int64_t count)
{
    uint8_t value_of[CRD_PHANTOM_PHASES] = {0};
    bool same = true;
    for (int64_t k = 0; k < w->phases; k++) {
        value_of[k] = (uint8_t)w->values[k];
        same &= value_of[k] == k;
    }
    for (int64_t i = 0; !same && i < count; i++) voxels[i] = value_of[voxels[i]];
}

static crd_status write_slabs(writer *w)
{
    const int64_t *shape = w->options.shape;
    const int64_t most = crd_generator_slices(w->generator);
    for (int i = 0; i < FILES; i++) {
        int64_t count = 0;
        CRD_PASS(crd_product(most, shape[1], shape[2], &count));
        CRD_PASS(crd_alloc(count, crd_type_size(w->types[i]), "a slab of the phantom", &w->voxels[i]));
    }
    for (int64_t z = 0; z < shape[0]; z += most) {
        const int64_t count = shape[0] - z < most ? shape[0] - z : most;
        const crd_box box = {.origin = {z, 0, 0}, .size = {count, shape[1], shape[2]}};
        CRD_PASS(crd_advance(w->monitor, "making the phantom", "slices", z, shape[0], NULL));
        CRD_PASS(crd_generator_slab(w->generator, z, count, w->voxels[SCAN], w->voxels[LABEL], w->voxels[TRUTH]));
        crd_score_add(w->score, w->types[SCAN], w->voxels[SCAN], w->voxels[LABEL], w->voxels[TRUTH],
                      count * shape[1] * shape[2]);
        give_values(w, w->voxels[LABEL], count * shape[1] * shape[2]);
        give_values(w, w->voxels[TRUTH], count * shape[1] * shape[2]);
        for (int i = 0; i < FILES; i++) CRD_PASS(crd_volume_write(w->volumes[i], &box, w->voxels[i]));
    }
    return crd_advance(w->monitor, "making the phantom", "slices", shape[0], shape[0], NULL);
}

static double share(int64_t part, int64_t whole)
{
    return (double)part / (double)whole;
}

/* "unfinished": the suffixes of all volumes that may be there until the last of the new ones is. */
static void list_unfinished(const writer *w, char *out, size_t room)
{
    int used = snprintf(out, room, "\"unfinished\": [\"%s\"", w->suffix);
    for (int k = 0; k < w->earlier_count; k++) {
        if (strcmp(w->suffix, w->earlier[k]) == 0) continue;
        used += snprintf(out + used, room - (size_t)used, ", \"%s\"", w->earlier[k]);
    }
    snprintf(out + used, room - (size_t)used, "],\n");
}

/* What more there is to say of three phases: "classes" and both thresholds. */
static void list_phases(const writer *w, const crd_phantom_result *r, char *out, size_t room)
{
    char number[CRD_NUMBER_BYTES];
    int used = 0;
    if (r->phases == 2 && w->kind != CRD_PHANTOM_IMAGE) return;
    used += snprintf(out, room, "\"classes\": [");
    for (int64_t k = 0; k < r->phases; k++) {
        used += snprintf(out + used, room - (size_t)used,
                         "%s{\"name\": \"%s\", \"value\": %lld, \"voxels\": %lld, \"fraction\": %s}", k > 0 ? ", " : "",
                         crd_phantom_phase_name(w->kind, k), (long long)r->phase_values[k],
                         (long long)r->phase_voxels[k], crd_format_real(share(r->phase_voxels[k], r->voxels), number));
    }
    used += snprintf(out + used, room - (size_t)used, "],\n\"best_thresholds\": {\"values\": [");
    for (int64_t k = 0; k + 1 < r->phases; k++) {
        used += snprintf(out + used, room - (size_t)used, "%s%s", k > 0 ? ", " : "",
                         crd_format_real(r->thresholds[k], number));
    }
    snprintf(out + used, room - (size_t)used, "], \"errors\": %lld, \"error\": %s},\n", (long long)r->threshold_errors,
             crd_format_real(share(r->threshold_errors, r->voxels), number));
}

/* What there is to say of two phases: the threshold between them. */
static void say_threshold(const writer *w, const crd_phantom_result *r, char *out, size_t room)
{
    char number[2][CRD_NUMBER_BYTES];
    if (r->phases != 2 || w->kind == CRD_PHANTOM_IMAGE) return;
    snprintf(
        out, room,
        "\"best_threshold\": {\"value\": %s, \"foreground\": \"scan %s value\", \"errors\": %lld, \"error\": %s},\n",
        crd_format_real(r->threshold, number[0]),
        w->kind == CRD_PHANTOM_GRAPHITE ? "<" : ">=", (long long)r->threshold_errors,
        crd_format_real(share(r->threshold_errors, r->voxels), number[1]));
}

static crd_status write_about(const writer *w, const crd_phantom_result *r, bool finished)
{
    crd_status status = CRD_OK;
    char *settings = NULL, *text = NULL;
    char number[3][CRD_NUMBER_BYTES], unfinished[128] = "", thresholds[4096] = "";
    if (!finished) list_unfinished(w, unfinished, sizeof unfinished);
    list_phases(w, r, thresholds, sizeof thresholds);
    say_threshold(w, r, thresholds, sizeof thresholds);
    CRD_TRY(crd_settings_to_json(crd_phantom_settings(w->kind), &w->options, CRD_SCOPE_RESULT, &settings));
    const size_t bytes = strlen(settings) + sizeof thresholds + 2048;
    CRD_TRY(crd_alloc((int64_t)bytes, 1, "phantom.json", &text));
    snprintf(text, bytes,
             "{\n\"format\": \"credence-phantom\",\n\"version\": 1,\n\"program\": \"credence %s\",\n\"kind\": \"%s\",\n"
             "%s\"voxels\": %lld,\n\"foreground\": %lld,\n\"volume_fraction\": %s,\n%s"
             "\"majority\": {\"errors\": %lld, \"error\": %s},\n"
             "\"label\": {\"foreground\": %lld, \"errors\": %lld, \"error\": %s},\n\"settings\": %s\n}\n",
             crd_version(), crd_phantom_kind_name(w->kind), unfinished, (long long)r->voxels, (long long)r->foreground,
             crd_format_real(share(r->foreground, r->voxels), number[0]), thresholds, (long long)r->majority_errors,
             crd_format_real(share(r->majority_errors, r->voxels), number[1]), (long long)r->label_foreground,
             (long long)r->label_errors, crd_format_real(share(r->label_errors, r->voxels), number[2]), settings);
    CRD_TRY(crd_write_file(w->about, text, strlen(text)));
done:
    crd_free(&text);
    crd_settings_free_text(&settings);
    return status;
}

static void check_share(const crd_monitor *monitor, const char *what, double found, double asked)
{
    if (found >= asked - 0.02 && found <= asked + 0.02) return;
    crd_warn(monitor, "the share of %s voxels is %.3f, not %.3f: objects of this size and shape don't fill more", what,
             found, asked);
}

static crd_status prepare(writer *w)
{
    const crd_format *format = NULL;
    const char *folder = w->options.output;
    if (w->kind == CRD_PHANTOM_IMAGE) {
        if (w->options.truth == NULL) return crd_fail(CRD_ERR_ARGUMENT, "truth: an image needs a label volume");
        CRD_PASS(crd_image_look_ahead(w->options.truth, w->options.shape, w->spacing, w->unit));
    }
    CRD_PASS(crd_phantom_check(w->kind, &w->options));
    if (folder == NULL || folder[0] == '\0') {
        return crd_fail(CRD_ERR_ARGUMENT, "a phantom needs a folder to be written to; name one with -o");
    }
    w->types[LABEL] = w->types[TRUTH] = CRD_U8;
    CRD_PASS(crd_type_parse(w->options.type, &w->types[SCAN], NULL));
    CRD_PASS(crd_format_to_write(w->options.format, &format, w->suffix));
    for (int i = 0; i < FILES; i++) CRD_PASS(crd_join_path(folder, names[i], w->suffix, &w->paths[i]));
    CRD_PASS(crd_join_path(folder, "phantom", ".json", &w->about));
    CRD_PASS(crd_make_folders(folder));
    CRD_PASS(find_earlier(w));
    CRD_PASS(protect_others(w));
    CRD_PASS(remove_unfinished(w));
    CRD_PASS(open_volumes(w));
    CRD_PASS(crd_pool_create((int)w->options.threads, &w->pool));
    CRD_PASS(crd_generator_create(w->kind, &w->options, 0, w->pool, &w->generator));
    w->phases = crd_generator_phases(w->generator, w->values);
    return crd_alloc(1, sizeof *w->score, "a histogram", &w->score);
}

static void release(writer *w)
{
    for (int i = 0; i < FILES; i++) {
        crd_volume_close(&w->volumes[i]);
        crd_free(&w->voxels[i]);
        crd_free(&w->paths[i]);
    }
    crd_free(&w->about);
    crd_free(&w->score);
    crd_generator_free(&w->generator);
    crd_pool_free(&w->pool);
}

static crd_status write_phantom(crd_phantom_kind kind, const crd_phantom_options *options, const crd_monitor *monitor,
                                crd_phantom_result *out)
{
    crd_status status = CRD_OK;
    writer w = {.kind = kind, .options = *options, .monitor = monitor};
    crd_phantom_result result;
    int order[CRD_PHANTOM_PHASES];
    CRD_TRY(prepare(&w));
    CRD_TRY(write_slabs(&w));
    crd_generator_order(w.generator, order);
    crd_score_finish(w.score, w.phases, order, w.types[SCAN], &result);
    memcpy(result.phase_values, w.values, sizeof result.phase_values);
    memcpy(result.shape, w.options.shape, sizeof result.shape);
    CRD_TRY(protect_others(&w));              /* again: what is there by now would be taken for the phantom's */
    CRD_TRY(write_about(&w, &result, false)); /* first, so that the next run knows what an interruption leaves */
    CRD_TRY(remove_earlier(&w));              /* then this, so that there are never two phantoms */
    for (int i = 0; i < FILES; i++) CRD_TRY(crd_volume_commit(w.volumes[i]));
    CRD_TRY(write_about(&w, &result, true));
    if (kind != CRD_PHANTOM_IMAGE) {
        check_share(monitor, "foreground", share(result.foreground, result.voxels), options->fraction);
    }
    if (kind == CRD_PHANTOM_ELECTRODE) {
        check_share(monitor, "binder", share(result.phase_voxels[2], result.voxels), options->binder_fraction);
    }
    if (out != NULL) *out = result;
done:
    release(&w);
    return status;
}

crd_status crd_phantom_write(crd_phantom_kind kind, const crd_phantom_options *options, const crd_monitor *monitor,
                             crd_phantom_result *out)
{
    crd_phantom_options whole;
    CRD_PASS(crd_settings_whole(crd_phantom_settings(kind), options, &whole));
    const crd_status status = write_phantom(kind, &whole, monitor, out);
    crd_settings_whole_free(crd_phantom_settings(kind), options, &whole);
    return status;
}
