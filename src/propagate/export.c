/* Realisations as voxel files: all in one pass over their bits. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/settings/whole.h"
#include "base/text.h"
#include "propagate/form.h"

enum { AT_ONCE = 32 }; /* files that are open */

/* A pass: the files of some bits. */
typedef struct export_pass {
    const crd_export_plan *plan;
    crd_pool *pool;
    const int64_t *bits;
    int64_t count;
    crd_voxel_file *files[AT_ONCE];
    int64_t *inside; /* voxels that aren't written as `outside`, of each */
    int64_t window;  /* voxels that count: all, or those inside the mask */
    uint64_t *words;
    uint8_t *mask, *slices; /* slices of all files */
} export_pass;

/* One realisation's slice from the words of all. */
static void take_out(void *context, int64_t item, int worker)
{
    const export_pass *pass = context;
    const crd_realisations_info *about = pass->plan->about;
    const int64_t voxels = about->shape[1] * about->shape[2], bit = pass->bits[item];
    const uint64_t *words = pass->words + bit / CRD_WORD_BITS * voxels;
    const int shift = (int)(bit % CRD_WORD_BITS);
    const uint8_t *values = pass->plan->values, outside = values[CRD_PHASE_OUTSIDE];
    uint8_t *slice = pass->slices + item * voxels;
    int64_t inside = 0;
    (void)worker;
    for (int64_t i = 0; i < voxels; i++) {
        unsigned phase = 0;
        for (int64_t p = 0; p < about->planes; p++) {
            phase |= (unsigned)(words[p * about->words * voxels + i] >> shift & 1) << p;
        }
        if (pass->mask != NULL && pass->mask[i] == 0) phase = CRD_PHASE_OUTSIDE;
        slice[i] = values[phase];
        inside += slice[i] != outside;
    }
    pass->inside[item] += inside;
}

static crd_status run_pass(const crd_export_plan *plan, const char *folder, export_pass *pass, int64_t done,
                           int64_t total, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *about = plan->about;
    const int64_t voxels = about->shape[1] * about->shape[2];
    char *path = NULL;
    for (int64_t i = 0; i < pass->count; i++) {
        char name[CRD_EXPORT_NAME_BYTES];
        crd_export_name(plan, pass->bits[i], name);
        CRD_TRY(crd_join_path(folder, name, "", &path));
        CRD_TRY(crd_voxel_file_create(path, plan->solver, &plan->info, &pass->files[i]));
        crd_free(&path);
    }
    pass->window = 0;
    for (int64_t z = 0; z < about->shape[0]; z++) {
        CRD_TRY(crd_realisations_read(plan->realisations, pass->pool, z, 1, pass->words, pass->mask));
        for (int64_t i = 0; i < voxels; i++) pass->window += pass->mask == NULL || pass->mask[i] != 0;
        crd_pool_run(pass->pool, pass->count, take_out, pass);
        for (int64_t i = 0; i < pass->count; i++)
            CRD_TRY(crd_voxel_file_write(pass->files[i], pass->slices + i * voxels));
        CRD_TRY(crd_advance(monitor, "exporting", "slices", done + z + 1, total, NULL));
    }
    for (int64_t i = 0; i < pass->count; i++) CRD_TRY(crd_voxel_file_commit(pass->files[i]));
done:
    for (int64_t i = 0; i < pass->count; i++) crd_voxel_file_close(&pass->files[i]);
    crd_free(&path);
    return status;
}

static void add_numbers(crd_text *text, const char *key, const double *values, int64_t count)
{
    crd_text_print(text, ",\n  \"%s\": [", key);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) crd_text_add(text, ", ");
        crd_text_real(text, values[i]);
    }
    crd_text_add(text, "]");
}

static void add_file(crd_text *text, const crd_export_plan *plan, int64_t bit, int64_t inside, int64_t window)
{
    char name[CRD_EXPORT_NAME_BYTES];
    crd_export_name(plan, bit, name);
    crd_text_add(text, "{\"file\": ");
    crd_text_json(text, name);
    if (bit != plan->about->segmentation) {
        crd_text_print(text, ", \"sample\": %lld", (long long)(plan->about->first_sample + bit));
    }
    crd_text_print(text, ", \"voxels\": %lld, \"fraction\": ", (long long)inside);
    crd_text_real(text, window > 0 ? (double)inside / (double)window : 0.0);
    crd_text_add(text, "}");
}

static const char list_name[] = "realisations.json";

/* For the scripts that go through the files. */
static crd_status write_list(const crd_export_options *options, const crd_export_plan *plan, const int64_t *bits,
                             const int64_t *inside, int64_t count, int64_t window)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *json = NULL, *path = NULL;
    const crd_volume_info *info = &plan->info;
    const double shape[3] = {(double)info->shape[0], (double)info->shape[1], (double)info->shape[2]};
    const double origin[3] = {(double)info->origin[0], (double)info->origin[1], (double)info->origin[2]};
    crd_text_add(&text, "{\n  \"format\": \"credence-realisations\",\n  \"version\": 1,\n  \"run\": ");
    crd_text_json(&text, options->run);
    crd_text_add(&text, ",\n  \"solver\": ");
    crd_text_json(&text, plan->solver->name);
    crd_text_add(&text, ",\n  \"reading\": ");
    crd_text_json(&text, plan->solver->hint);
    add_numbers(&text, "shape", shape, 3);
    add_numbers(&text, "origin", origin, 3);
    add_numbers(&text, "spacing", info->spacing, info->spacing[0] > 0 ? 3 : 0);
    crd_text_add(&text, ",\n  \"unit\": ");
    crd_text_json(&text, info->unit);
    crd_text_print(&text, ",\n  \"window_voxels\": %lld", (long long)window);
    add_numbers(&text, "values", options->form.values.items, options->form.values.count);
    crd_text_add(&text, ",\n  \"segmentation\": ");
    int64_t first = 0;
    if (count > 0 && bits[0] == plan->about->segmentation) {
        add_file(&text, plan, bits[0], inside[0], window);
        first = 1;
    } else {
        crd_text_add(&text, "null");
    }
    crd_text_add(&text, ",\n  \"realisations\": [");
    for (int64_t i = first; i < count; i++) {
        crd_text_add(&text, i > first ? ",\n    " : "\n    ");
        add_file(&text, plan, bits[i], inside[i], window);
    }
    crd_text_add(&text, "\n  ]\n}\n");
    CRD_TRY(crd_text_finish(&text, &json));
    CRD_TRY(crd_join_path(options->output, list_name, "", &path));
    CRD_TRY(crd_write_file(path, json, strlen(json)));
done:
    crd_text_free(&text);
    crd_free(&json);
    crd_free(&path);
    return status;
}

/* Files that an earlier export listed and this one doesn't replace would pass for realisations of this run. */
static void warn_of_others(const char *folder, const cJSON *list, const crd_export_plan *plan, const int64_t *bits,
                           int64_t count, const crd_monitor *monitor)
{
    int64_t others = 0;
    const char *example = NULL;
    for (const cJSON *item = list != NULL ? list->child : NULL; item != NULL; item = item->next) {
        const char *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "file"));
        char name[CRD_EXPORT_NAME_BYTES], *path = NULL;
        bool ours = file == NULL || strchr(file, '/') != NULL;
        for (int64_t i = 0; i < count && !ours; i++) {
            crd_export_name(plan, bits[i], name);
            ours = strcmp(name, file) == 0;
        }
        if (!ours && crd_join_path(folder, file, "", &path) == CRD_OK && access(path, F_OK) == 0) {
            example = others++ == 0 ? file : example;
        }
        crd_free(&path);
    }
    if (others == 0) return;
    crd_warn(monitor,
             "%s has %lld file%s of an earlier export that this one doesn't replace, such as %s: remove them, or go by "
             "%s, which lists this one's",
             folder, (long long)others, others == 1 ? "" : "s", example, list_name);
}

/* The list of an earlier export goes before its files do: it would speak of others. */
static crd_status forget_earlier(const char *folder, const crd_export_plan *plan, const int64_t *bits, int64_t count,
                                 const crd_monitor *monitor)
{
    enum { LIST_BYTES = 64 << 20 };
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    CRD_TRY(crd_join_path(folder, list_name, "", &path));
    if (access(path, F_OK) != 0) goto done;
    CRD_TRY(crd_read_file(path, LIST_BYTES, &text, NULL));
    cJSON *document = cJSON_Parse(text);
    warn_of_others(folder, cJSON_GetObjectItemCaseSensitive(document, "realisations"), plan, bits, count, monitor);
    cJSON_Delete(document);
    if (unlink(path) != 0) status = crd_fail_errno("can't replace %s", path);
done:
    crd_free(&path);
    crd_free(&text);
    return status;
}

static crd_status export_files(const crd_export_options *options, const crd_monitor *monitor, crd_export_summary *out)
{
    crd_status status = CRD_OK;
    crd_export_plan plan = {0};
    export_pass pass = {.plan = &plan};
    int64_t *bits = NULL, *inside = NULL, count = 0;
    if (options->run == NULL)
        return crd_fail(CRD_ERR_ARGUMENT, "run: name the run folder whose realisations are meant");
    if (options->output == NULL) return crd_fail(CRD_ERR_ARGUMENT, "output: say which folder the files go to (-o DIR)");
    CRD_TRY(crd_export_plan_open(options->run, &options->form, monitor, &plan));
    CRD_TRY(crd_pool_create((int)options->threads, &pass.pool));
    const crd_realisations_info *about = plan.about;
    const int64_t voxels = about->shape[1] * about->shape[2];
    CRD_TRY(crd_alloc(about->samples + 1, sizeof *bits, "the list of realisations", &bits));
    CRD_TRY(crd_alloc(about->samples + 1, sizeof *inside, "the list of realisations", &inside));
    CRD_TRY(crd_alloc(about->planes * about->words * voxels, sizeof *pass.words, "a slice", &pass.words));
    CRD_TRY(crd_alloc(AT_ONCE * voxels, 1, "slices of voxels", &pass.slices));
    if (about->masked) CRD_TRY(crd_alloc(voxels, 1, "a slice of the mask", &pass.mask));
    if (about->segmentation >= 0) bits[count++] = about->segmentation;
    for (int64_t i = 0; i < about->samples; i++) bits[count++] = i;
    CRD_TRY(crd_make_folders(options->output));
    CRD_TRY(forget_earlier(options->output, &plan, bits, count, monitor));
    const int64_t passes = (count + AT_ONCE - 1) / AT_ONCE;
    for (int64_t i = 0; i < passes; i++) {
        pass.bits = bits + i * AT_ONCE;
        pass.inside = inside + i * AT_ONCE;
        pass.count = count - i * AT_ONCE < AT_ONCE ? count - i * AT_ONCE : AT_ONCE;
        CRD_TRY(run_pass(&plan, options->output, &pass, i * about->shape[0], passes * about->shape[0], monitor));
    }
    CRD_TRY(write_list(options, &plan, bits, inside, count, pass.window));
    if (out != NULL) {
        *out = (crd_export_summary){.realisations = about->samples,
                                    .segmentation = about->segmentation >= 0,
                                    .bytes = about->shape[0] * voxels};
    }
done:
    crd_free(&bits);
    crd_free(&inside);
    crd_free(&pass.words);
    crd_free(&pass.slices);
    crd_free(&pass.mask);
    crd_pool_free(&pass.pool);
    crd_export_plan_close(&plan);
    return status;
}

crd_status crd_export(const crd_export_options *options, const crd_monitor *monitor, crd_export_summary *out)
{
    crd_export_options whole;
    CRD_PASS(crd_settings_whole(&crd_export_settings, options, &whole));
    const crd_status status = export_files(&whole, monitor, out);
    crd_settings_whole_free(&crd_export_settings, options, &whole);
    return status;
}
