/* A command for each realisation, several at a time. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/queue.h"
#include "base/settings/whole.h"
#include "base/text.h"
#include "propagate/command.h"
#include "propagate/printed.h"
#include "propagate/results.h"

enum { POLL_MILLISECONDS = 100 };

typedef struct propagation {
    const crd_propagate_options *options;
    crd_results results;
    crd_export_plan *plans; /* one for each job: realisations belong to a thread */
    const crd_export_plan *plan;
    regex_t pattern;
    bool has_pattern;
    atomic_bool stop;
    atomic_int_fast64_t failures;
} propagation;

/* What belongs to one realisation: its voxel file, and what the command prints. */
typedef struct item_paths {
    char *voxels, *output, *errors;
    char label[64]; /* "realisation 7" */
    char sample[24];
} item_paths;

static void free_paths(item_paths *paths)
{
    crd_free(&paths->voxels);
    crd_free(&paths->output);
    crd_free(&paths->errors);
}

static crd_status make_paths(const propagation *p, const crd_result *item, item_paths *paths)
{
    char name[CRD_EXPORT_NAME_BYTES];
    const bool segmentation = item->bit == p->plan->about->segmentation;
    const int64_t sample = p->plan->about->first_sample + item->bit;
    memset(paths, 0, sizeof *paths);
    crd_export_name(p->plan, item->bit, name);
    CRD_PASS(crd_join_path(p->results.folder, name, "", &paths->voxels));
    *strrchr(name, '.') = '\0';
    CRD_PASS(crd_join_path(p->results.folder, name, ".out", &paths->output));
    CRD_PASS(crd_join_path(p->results.folder, name, ".err", &paths->errors));
    snprintf(paths->label, sizeof paths->label, segmentation ? "the segmentation" : "realisation %" PRId64, sample);
    snprintf(paths->sample, sizeof paths->sample, "%" PRId64, segmentation ? (int64_t)-1 : sample);
    return CRD_OK;
}

static crd_status write_voxels(const propagation *p, const crd_export_plan *plan, int64_t bit, const char *path)
{
    crd_status status = CRD_OK;
    crd_voxel_file *file = NULL;
    uint8_t *slice = NULL;
    const int64_t voxels = plan->info.shape[1] * plan->info.shape[2];
    CRD_TRY(crd_alloc(voxels, 1, "a slice", &slice));
    CRD_TRY(crd_voxel_file_create(path, plan->solver, &plan->info, &file));
    for (int64_t z = 0; z < plan->info.shape[0] && !atomic_load(&p->stop); z++) {
        const crd_box box = {.origin = {z, 0, 0}, .size = {1, plan->info.shape[1], plan->info.shape[2]}};
        CRD_TRY(crd_realisations_read_one(plan->realisations, bit, &box, slice));
        for (int64_t i = 0; i < voxels; i++) slice[i] = plan->values[slice[i]];
        CRD_TRY(crd_voxel_file_write(file, slice));
    }
    if (!atomic_load(&p->stop)) CRD_TRY(crd_voxel_file_commit(file));
done:
    crd_voxel_file_close(&file);
    crd_free(&slice);
    return status;
}

static crd_status start_command(propagation *p, const item_paths *paths, crd_command_result *result)
{
    crd_status status = CRD_OK;
    char **words = NULL, spacing[3 * CRD_NUMBER_BYTES], shape[80], numbers[3][CRD_NUMBER_BYTES];
    const crd_volume_info *info = &p->plan->info;
    for (int k = 0; k < 3; k++) {
        (void)crd_format_real(info->spacing[k] > 0 ? info->spacing[k] : 1.0, numbers[k]);
    }
    snprintf(spacing, sizeof spacing, "%s,%s,%s", numbers[0], numbers[1], numbers[2]);
    snprintf(shape, sizeof shape, "%" PRId64 ",%" PRId64 ",%" PRId64, info->shape[0], info->shape[1], info->shape[2]);
    const crd_placeholder placeholders[] = {{"{}", paths->voxels},
                                            {"{sample}", paths->sample},
                                            {"{folder}", p->results.folder},
                                            {"{spacing}", spacing},
                                            {"{shape}", shape}};
    CRD_TRY(crd_command_fill(&p->options->command, placeholders, sizeof placeholders / sizeof placeholders[0], &words));
    const crd_command_run run = {.words = words,
                                 .output = paths->output,
                                 .errors = paths->errors,
                                 .timeout = p->options->timeout,
                                 .stop = &p->stop};
    CRD_TRY(crd_command_wait(&run, result));
done:
    crd_command_free(&words);
    return status;
}

/* The sentence about a command that gave no number. */
static crd_status explain(const propagation *p, const item_paths *paths, const crd_command_result *result)
{
    char why[160], words[320];
    switch (result->end) {
    case CRD_COMMAND_TIMED_OUT:
        snprintf(why, sizeof why, "took longer than the %g seconds of --timeout", p->options->timeout);
        break;
    case CRD_COMMAND_KILLED:
        snprintf(why, sizeof why, "was killed by signal %d (%s)", result->code, strsignal(result->code));
        break;
    default:
        if (result->code != 0) {
            snprintf(why, sizeof why, "ended with code %d", result->code);
        } else {
            snprintf(why, sizeof why, "printed %s",
                     p->has_pattern ? "nothing that --pattern finds a number in" : "no number");
        }
        break;
    }
    crd_printed_last_line(paths->errors, words, sizeof words);
    if (words[0] == '\0') crd_printed_last_line(paths->output, words, sizeof words);
    return crd_fail(CRD_ERR_SYSTEM,
                    "the command for %s %s%s%s%s; all that it printed is in %s and .err; --keep-going leaves it out",
                    paths->label, why, words[0] != '\0' ? " and said \"" : ", saying nothing", words,
                    words[0] != '\0' ? "\"" : "", paths->output);
}

static crd_status compute(propagation *p, const crd_export_plan *plan, crd_result *item)
{
    crd_status status = CRD_OK;
    item_paths paths;
    crd_command_result result;
    bool found = false;
    CRD_TRY(make_paths(p, item, &paths));
    CRD_TRY(write_voxels(p, plan, item->bit, paths.voxels));
    if (atomic_load(&p->stop)) goto done;
    CRD_TRY(start_command(p, &paths, &result));
    if (result.end == CRD_COMMAND_STOPPED) goto done;
    item->seconds = result.seconds;
    if (result.end == CRD_COMMAND_EXITED && result.code == 0) {
        CRD_TRY(crd_printed_number(paths.output, p->has_pattern ? &p->pattern : NULL, &item->value, &found));
    }
    if (!found && !p->options->keep_going) {
        status = explain(p, &paths, &result);
        goto done;
    }
    atomic_fetch_add(&p->failures, !found);
    atomic_store(&item->done, true);
done:
    if (!p->options->keep_files && paths.voxels != NULL) {
        const crd_error first = *crd_last_error();
        const crd_status removed = crd_voxel_file_remove(paths.voxels);
        status = status != CRD_OK ? crd_error_adopt(&first) : removed;
    }
    free_paths(&paths);
    return status;
}

static crd_status begin_job(void *context, int thread)
{
    propagation *p = context;
    return crd_export_plan_open(p->options->run, &p->options->form, NULL, &p->plans[thread]);
}

static crd_status work_item(void *context, int64_t number, int thread)
{
    propagation *p = context;
    crd_result *item = &p->results.items[number];
    if (atomic_load(&item->done) || atomic_load(&p->stop)) return CRD_OK;
    const crd_status status = compute(p, &p->plans[thread], item);
    if (status != CRD_OK) atomic_store(&p->stop, true);
    return status;
}

static int64_t count_done(const crd_results *r)
{
    int64_t count = 0;
    for (int64_t i = 0; i < r->count; i++) count += atomic_load(&r->items[i].done);
    return count;
}

/* Saves what is there whenever there is more. */
static crd_status wait_for_all(propagation *p, crd_queue *queue, const crd_monitor *monitor)
{
    const crd_results *r = &p->results;
    int64_t saved = count_done(r);
    for (;;) {
        const bool over = crd_queue_wait_a_while(queue, r->count, POLL_MILLISECONDS);
        const int64_t done = count_done(r);
        if (done > saved) CRD_PASS(crd_results_save(r, p->plan));
        saved = done;
        CRD_PASS(crd_advance(monitor, "propagating", "realisations", done, r->count, NULL));
        if (over) return crd_queue_wait(queue, r->count);
    }
}

static crd_status run_all(propagation *p, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_queue *queue = NULL;
    const crd_queue_plan plan = {
        .what = "runs commands", .threads = (int)p->options->jobs, .context = p, .begin = begin_job, .work = work_item};
    CRD_TRY(crd_alloc(p->options->jobs, sizeof *p->plans, "the jobs", &p->plans));
    CRD_TRY(crd_queue_open(&plan, &queue));
    crd_queue_allow(queue, p->results.count);
    CRD_TRY(wait_for_all(p, queue, monitor));
done:
    atomic_store(&p->stop, true);
    crd_queue_close(&queue);
    for (int64_t i = 0; p->plans != NULL && i < p->options->jobs; i++) crd_export_plan_close(&p->plans[i]);
    crd_free(&p->plans);
    return status;
}

static crd_status check(const crd_propagate_options *options)
{
    if (options->run == NULL)
        return crd_fail(CRD_ERR_ARGUMENT, "run: name the run folder whose realisations are meant");
    if (options->command.count == 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "command: say what to run for each realisation, behind --: -- ./solve {}");
    }
    if (!crd_command_has(&options->command, "{}")) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "command: none of its words holds {}, which stands for the realisation's voxel file");
    }
    if (options->name == NULL || options->name[0] == '\0' || strpbrk(options->name, "/,\"\n") != NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "name must be a word without slashes, commas and quotes");
    }
    if (options->jobs < 1) return crd_fail(CRD_ERR_ARGUMENT, "jobs must be at least 1");
    return CRD_OK;
}

static crd_status propagate(const crd_propagate_options *options, const crd_monitor *monitor, crd_propagation **out)
{
    crd_status status = CRD_OK;
    crd_export_plan plan = {0};
    crd_propagation *gathered = NULL;
    propagation p = {.options = options, .plan = &plan};
    if (out != NULL) *out = NULL;
    CRD_TRY(check(options));
    if (options->pattern != NULL) {
        CRD_TRY(crd_pattern_compile("pattern", options->pattern, &p.pattern));
        p.has_pattern = true;
    }
    CRD_TRY(crd_export_plan_open(options->run, &options->form, monitor, &plan));
    CRD_TRY(crd_results_open(options, &plan, &p.results));
    const int64_t before = count_done(&p.results);
    if (before > 0)
        crd_info(monitor, "%lld of %lld values are there already", (long long)before, (long long)p.results.count);
    CRD_TRY(run_all(&p, monitor));
    CRD_TRY(crd_results_save(&p.results, &plan));
    CRD_TRY(crd_results_gather(&p.results, options, &plan, &gathered));
    if (atomic_load(&p.failures) > 0) {
        crd_warn(monitor, "%lld of %lld commands gave no number; the interval is that of the others",
                 (long long)atomic_load(&p.failures), (long long)p.results.count);
    }
    if (gathered->defined > 1 && gathered->defined < 20) {
        crd_warn(monitor, "an interval from %lld realisations is rough; 20 or more are better",
                 (long long)gathered->defined);
    }
    if (out != NULL) {
        *out = gathered;
        gathered = NULL;
    }
done:
    if (p.has_pattern) regfree(&p.pattern);
    crd_propagation_free(&gathered);
    crd_results_close(&p.results);
    crd_export_plan_close(&plan);
    return status;
}

crd_status crd_propagate(const crd_propagate_options *options, const crd_monitor *monitor, crd_propagation **out)
{
    crd_propagate_options whole;
    CRD_PASS(crd_settings_whole(&crd_propagate_settings, options, &whole));
    const crd_status status = propagate(&whole, monitor, out);
    crd_settings_whole_free(&crd_propagate_settings, options, &whole);
    return status;
}
