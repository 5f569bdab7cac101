/* Measuring from the options to the files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/settings/whole.h"
#include "base/text.h"
#include "dist/agree.h"
#include "measure/active.h"
#include "measure/curves.h"
#include "measure/interfaces.h"
#include "measure/job.h"
#include "measure/rev.h"
#include "measure/settings.h"
#include "run/paths.h"

enum { FEW_SAMPLES = 20 };

/* ---- the first pass ---- */

static crd_status check_window(const crd_measure_job *j, const crd_pass *pass)
{
    if (pass->voxels == 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "mask: no voxel of %s (%lld,%lld,%lld) lies inside it", j->info->name,
                        (long long)j->info->shape[0], (long long)j->info->shape[1], (long long)j->info->shape[2]);
    }
    const int64_t *inner = pass->parts[0].cells.inner[0];
    int64_t cells = 0;
    for (int code = 0; code < CRD_CELL_CODES; code++) cells += inner[code];
    if (!j->info->masked || cells > 0) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT,
                    "mask: no 2x2x2 voxels of %s (%lld,%lld,%lld) lie inside it side by side; there is nothing to "
                    "measure",
                    j->info->name, (long long)j->info->shape[0], (long long)j->info->shape[1],
                    (long long)j->info->shape[2]);
}

/* What all processes counted: whole numbers of 64 bits, so that the sum is the same for any number of them. */
static crd_status add_up(crd_dist *dist, uint8_t *counts, int64_t bytes)
{
    crd_status status = CRD_OK;
    const int64_t size = crd_dist_size(dist);
    uint8_t *all = NULL;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_alloc(size * bytes, 1, "counts", &all));
    CRD_TRY(crd_dist_gather(dist, counts, bytes, all));
    for (int64_t i = 0; i < bytes && crd_dist_rank(dist) == 0; i += (int64_t)sizeof(int64_t)) {
        int64_t sum = 0, own;
        for (int64_t r = 0; r < size; r++) {
            memcpy(&own, all + r * bytes + i, sizeof own);
            sum += own;
        }
        memcpy(counts + i, &sum, sizeof sum);
    }
    CRD_TRY(crd_dist_broadcast(dist, counts, bytes));
done:
    crd_free(&all);
    return status;
}

/* Counts, or takes what was counted before. */
static crd_status count_all(const crd_measure_job *j, crd_pass *pass)
{
    crd_status status = CRD_OK;
    const int64_t bytes = crd_pass_counts_bytes(pass);
    uint8_t *counts = NULL;
    bool found;
    CRD_TRY(crd_alloc(bytes, 1, "counts", &counts));
    CRD_TRY(crd_journal_find(j->journal, "first", counts, bytes, &found));
    CRD_TRY(crd_dist_broadcast(j->dist, &found, sizeof found)); /* as rank 0 sees it */
    if (!found) {
        CRD_TRY(crd_pass_run(pass, j->pool, j->monitor));
        crd_pass_counts_save(pass, counts);
        CRD_TRY(add_up(j->dist, counts, bytes));
        if (crd_dist_rank(j->dist) == 0) CRD_TRY(crd_journal_keep(j->journal, "first", counts, bytes));
    } else if (crd_dist_size(j->dist) > 1) {
        CRD_TRY(crd_dist_broadcast(j->dist, counts, bytes));
    }
    crd_pass_counts_restore(pass, counts);
done:
    crd_free(&counts);
    return status;
}

static crd_status first_pass(crd_measure_job *j, crd_measurement *m)
{
    crd_status status = CRD_OK;
    crd_pass pass = {0};
    const crd_pass_plan plan = crd_job_first_plan(j);
    CRD_TRY(crd_pass_begin(&pass, &plan, j->pool));
    CRD_TRY(count_all(j, &pass));
    CRD_TRY(check_window(j, &pass));
    m->window_voxels = pass.voxels;
    m->memory_bytes = pass.bytes;
    for (int64_t i = 0; i < j->phase_count; i++) CRD_TRY(crd_properties_add(&pass, i, j->wanted, m));
    CRD_TRY(crd_interfaces_add(&pass, m));
done:
    crd_pass_end(&pass);
    return status;
}

/* ---- passes for every realisation ---- */

static crd_status slow_passes(const crd_measure_job *j, crd_measurement *m)
{
    crd_slow_plan plan = crd_job_slow_plan(j);
    for (int64_t i = 0; i < j->phase_count && (j->wanted & CRD_WANT_THICKNESS) != 0; i++) {
        plan.phase = j->phases[i];
        CRD_PASS(crd_slow_thickness(&plan, m));
    }
    CRD_PASS(crd_parse_axes("axis", crd_given(j->options->axis) ? j->options->axis : "zyx", plan.axes));
    for (int64_t i = 0; i < (j->conducts ? 1 : j->phase_count) && (j->wanted & CRD_WANT_TRANSPORT) != 0; i++) {
        plan.phase = j->phases[i];
        CRD_PASS(crd_slow_transport(&plan, m));
    }
    return j->options->active ? crd_active_add(&plan, m) : CRD_OK;
}

/* ---- what else is asked for ---- */

static crd_status find_representative(const crd_measure_job *j, crd_measurement *m)
{
    crd_slow_plan plan = crd_job_slow_plan(j);
    if ((!j->options->rev && !j->options->rev_transport) || crd_dist_rank(j->dist) > 0) return CRD_OK;
    CRD_PASS(crd_parse_axes("axis", crd_given(j->options->axis) ? j->options->axis : "zyx", plan.axes));
    for (int64_t i = 0; i < j->phase_count; i++) {
        plan.phase = j->phases[i];
        CRD_PASS(crd_rev_add(&plan, j->options->rev_transport, m));
    }
    return CRD_OK;
}

/* Label, segmentation and realisations over the labelled voxels alone: a first pass of its own. */
static crd_status compare_with_label(const crd_measure_job *j, crd_measurement *m)
{
    crd_status status = CRD_OK;
    crd_measurement *labelled = NULL;
    crd_measure_job own = {.options = j->options, .monitor = j->monitor, .dist = j->dist, .labelled = true};
    if (!crd_given(j->options->label)) return CRD_OK;
    CRD_TRY(crd_job_open(&own));
    CRD_TRY(crd_measurement_create(own.info, own.percent, &labelled));
    CRD_TRY(first_pass(&own, labelled));
    CRD_TRY(crd_measurement_add_label(m, labelled));
done:
    crd_measurement_free(&labelled);
    crd_job_close(&own);
    return status;
}

/* ---- what is odd ---- */

static crd_status add_notes(const crd_measure_job *j, crd_measurement *m)
{
    const double *s = m->spacing;
    if (!m->spacing_known) {
        CRD_PASS(crd_measurement_note(m, "the spacing isn't known: lengths are in voxels (--spacing gives it)"));
    }
    for (int a = 0; a < 3; a++) {
        if (s[a] <= 10.0 * s[(a + 1) % 3] && s[(a + 1) % 3] <= 10.0 * s[a]) continue;
        CRD_PASS(crd_measurement_note(m, "the edges of a voxel differ by more than a factor of 10: surface, curvature "
                                         "and transport suffer"));
        break;
    }
    if (j->info->samples == 1) {
        CRD_PASS(crd_measurement_note(m, "there is one realisation, and so no interval"));
    } else if (j->info->samples > 1 && j->info->samples < FEW_SAMPLES) {
        CRD_PASS(crd_measurement_note(m, "%lld realisations are few for the percentiles %g and %g",
                                      (long long)j->info->samples, m->percent[0], m->percent[1]));
    }
    for (int64_t i = 0; i < m->notes.count && crd_dist_rank(j->dist) == 0; i++)
        crd_warn(j->monitor, "%s", m->notes.items[i]);
    return CRD_OK;
}

/* ---- what is kept of an unfinished measurement ---- */

static crd_status open_journal(crd_measure_job *j)
{
    crd_status status = CRD_OK;
    char *settings = NULL, *key = NULL;
    crd_text text = {0};
    if (!j->info->run) {
        if (j->options->resume) crd_warn(j->monitor, "only the measurement of a run folder can be resumed");
        return CRD_OK;
    }
    CRD_TRY(crd_settings_to_json(&crd_measure_settings, j->options, CRD_SCOPE_RESULT, &settings));
    crd_text_print(&text, "%s\n%s", settings, j->files);
    CRD_TRY(crd_text_finish(&text, &key));
    /* rank 0 clears what isn't wanted before the others look */
    const bool first = crd_dist_rank(j->dist) == 0;
    if (first) CRD_TRY(crd_journal_open(j->info->name, key, j->options->resume, j->monitor, &j->journal));
    CRD_TRY(crd_dist_barrier(j->dist));
    if (!first) CRD_TRY(crd_journal_open(j->info->name, key, true, NULL, &j->journal));
done:
    crd_settings_free_text(&settings);
    crd_free(&key);
    return status;
}

/* ---- files ---- */

/* Slices read before and after a file was written again would belong to no segmentation. */
static crd_status check_unchanged(const crd_measure_job *j)
{
    crd_status status = CRD_OK;
    char *now = NULL;
    CRD_TRY(crd_realisations_fingerprint(j->realisations, &now));
    if (strcmp(now, j->files) != 0) {
        CRD_FAIL(CRD_ERR_FORMAT,
                 "files of %s changed while they were measured, so that nothing is written; measure "
                 "again once nobody writes to them",
                 j->info->name);
    }
done:
    crd_free(&now);
    return status;
}

static crd_status write_text(const char *folder, crd_run_file file, const char *text)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_run_path(folder, file, &path));
    CRD_TRY(crd_write_file(path, text, strlen(text)));
done:
    crd_free(&path);
    return status;
}

static crd_status write_files(const crd_measure_job *j, const crd_measurement *m)
{
    crd_status status = CRD_OK;
    char *json = NULL, *csv = NULL;
    const bool file = crd_given(j->options->csv);
    if (crd_given(j->options->plot)) CRD_PASS(crd_measurement_picture(m, j->options->plot));
    if (!j->info->run && !file) return CRD_OK;
    CRD_TRY(crd_measurement_to_csv(m, &csv));
    if (file) CRD_TRY(crd_write_file(j->options->csv, csv, strlen(csv)));
    if (j->info->run) {
        CRD_TRY(crd_measurement_to_json(m, &json));
        if (!file) CRD_TRY(write_text(j->info->name, CRD_RUN_VALUES, csv));
        CRD_TRY(write_text(j->info->name, CRD_RUN_MEASURE, json));
    }
done:
    crd_free(&json);
    crd_free(&csv);
    return status;
}

static crd_status measure(const crd_measure_options *options, const crd_monitor *monitor, crd_measurement **out)
{
    crd_status status = CRD_OK;
    crd_measurement *m = NULL;
    crd_measure_job j = {.options = options, .dist = crd_dist_current()};
    j.monitor = crd_dist_watch(j.dist, monitor);
    const double start = crd_seconds();
    if (out != NULL) *out = NULL;
    CRD_TRY(crd_dist_agree_options(j.dist, &crd_measure_settings, options));
    CRD_TRY(crd_job_open(&j));
    CRD_TRY(crd_realisations_fingerprint(j.realisations, &j.files));
    if (crd_given(options->csv)) CRD_TRY(crd_check_target(options->csv));
    if (crd_given(options->plot)) CRD_TRY(crd_check_target(options->plot));
    if (crd_given(options->plot) && !crd_png_possible()) {
        CRD_FAIL(CRD_ERR_UNSUPPORTED, "plot: this build has no libpng, so it can't draw");
    }
    CRD_TRY(crd_measurement_create(j.info, j.percent, &m));
    CRD_TRY(crd_alloc(j.phase_count, sizeof *m->phases, "the phases", &m->phases));
    m->phase_count = j.phase_count;
    for (int64_t i = 0; i < j.phase_count; i++) m->phases[i] = j.info->values[j.phases[i]];
    CRD_TRY(open_journal(&j));
    CRD_TRY(first_pass(&j, m));
    CRD_TRY(slow_passes(&j, m));
    CRD_TRY(find_representative(&j, m));
    CRD_TRY(compare_with_label(&j, m));
    CRD_TRY(add_notes(&j, m));
    CRD_TRY(check_unchanged(&j));
    m->seconds = crd_seconds() - start;
    if (crd_dist_rank(j.dist) == 0) {
        CRD_TRY(write_files(&j, m));
        CRD_TRY(crd_journal_finish(j.journal));
    }
    CRD_TRY(crd_dist_barrier(j.dist)); /* nobody has succeeded before all have */
    if (out != NULL) {
        *out = m;
        m = NULL;
    }
done:
    if (status != CRD_OK) crd_dist_fail(j.dist);
    (void)crd_dist_watch(j.dist, NULL);
    crd_measurement_free(&m);
    crd_job_close(&j);
    return status;
}

crd_status crd_measure(const crd_measure_options *options, const crd_monitor *monitor, crd_measurement **out)
{
    crd_measure_options whole;
    CRD_PASS(crd_settings_whole(&crd_measure_settings, options, &whole));
    const crd_status status = measure(&whole, monitor, out);
    crd_settings_whole_free(&crd_measure_settings, options, &whole);
    return status;
}
