/* Measuring from the options to the files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/settings/row.h"
#include "base/text.h"
#include "measure/interfaces.h"
#include "measure/properties.h"
#include "measure/settings.h"
#include "measure/slow.h"
#include "predict/settings_text.h"
#include "run/paths.h"

static const int64_t usual_lags[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
enum { USUAL_LAGS = sizeof usual_lags / sizeof usual_lags[0], LEAST_BLOCK = 32, FEW_SAMPLES = 20 };

/* All that a measurement works with. */
typedef struct job {
    const crd_measure_options *options;
    const crd_monitor *monitor;
    crd_pool *pool;
    crd_realisations *realisations;
    const crd_realisations_info *info;
    unsigned wanted;
    double percent[2];
    int64_t *phases;
    int64_t phase_count;
    int64_t *lags;
    int64_t lag_count;
    int64_t memory_bytes;
    crd_journal *journal; /* of a run; NULL: there is none */
} job;

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* ---- input ---- */

static crd_status read_box(const crd_measure_options *options, crd_box *box)
{
    int64_t limits[6];
    if (!given(options->bbox)) return CRD_OK;
    CRD_PASS(crd_parse_bbox("bbox", options->bbox, limits));
    for (int axis = 0; axis < 3; axis++) {
        box->origin[axis] = limits[2 * axis];
        box->size[axis] = limits[2 * axis + 1] - limits[2 * axis];
        if (box->size[axis] < 1) {
            return crd_fail(CRD_ERR_ARGUMENT, "bbox asks for %c from %lld to %lld, which holds no voxel", "zyx"[axis],
                            (long long)limits[2 * axis], (long long)limits[2 * axis + 1]);
        }
    }
    return CRD_OK;
}

static crd_status open_input(job *j)
{
    crd_status status = CRD_OK;
    const crd_measure_options *options = j->options;
    crd_real_list wanted = {NULL, 0};
    char unit[16] = "";
    bool from_start = false;
    crd_realisations_options reading = {.paths = (const char *const *)options->input.items,
                                        .path_count = options->input.count,
                                        .mask = given(options->mask) ? options->mask : NULL,
                                        .reading = {.type = options->type, .offset = options->offset}};
    memcpy(reading.reading.shape, options->shape, sizeof options->shape);
    if (options->shape[0] > 0 && !given(options->type)) reading.reading.type = "u8";
    CRD_TRY(read_box(options, &reading.box));
    if (given(options->spacing)) {
        CRD_TRY(crd_spacing_parse(options->spacing, reading.reading.spacing, unit));
        reading.reading.unit = unit;
    }
    if (given(options->samples)) {
        CRD_TRY(crd_parse_samples("samples", options->samples, &reading.first_sample, &reading.samples, &from_start));
        reading.from_start = from_start;
    }
    if (given(options->phase)) CRD_TRY(crd_parse_phases("phase", options->phase, &wanted));
    reading.wanted = wanted.items;
    reading.wanted_count = wanted.count > 0 ? wanted.count : 0;
    CRD_TRY(crd_realisations_open(&reading, j->monitor, &j->realisations));
    j->info = crd_realisations_describe(j->realisations);

    const bool all = wanted.count < 0 || (wanted.count == 0 && j->info->phases > 2);
    j->phase_count = all ? j->info->phases : wanted.count > 0 ? wanted.count : 1;
    CRD_TRY(crd_alloc(j->phase_count, sizeof *j->phases, "the phases", &j->phases));
    for (int64_t i = 0; i < j->phase_count; i++) {
        j->phases[i] = all ? i : j->info->phases - 1;
        for (int64_t p = 0; wanted.count > 0; p++) {
            if (p == j->info->phases) {
                CRD_FAIL(CRD_ERR_ARGUMENT, "phase: there is no phase %g in %s; a run of two classes has 0 and 1",
                         wanted.items[i], j->info->name);
            }
            if (j->info->values[p] != wanted.items[i]) continue;
            j->phases[i] = p;
            break;
        }
    }
done:
    crd_free(&wanted.items);
    return status;
}

static crd_status settle(job *j)
{
    const crd_measure_options *options = j->options;
    crd_pair_list pairs = {NULL, 0};
    CRD_PASS(crd_parse_properties("properties", given(options->properties) ? options->properties : "fast", &j->wanted));
    if (options->connectivity != 6 && options->connectivity != 26) {
        return crd_fail(CRD_ERR_ARGUMENT, "connectivity must be 6 or 26, not %lld", (long long)options->connectivity);
    }
    CRD_PASS(crd_pairs_parse("interval", given(options->interval) ? options->interval : "5-95", &pairs));
    j->percent[0] = pairs.items[0].low;
    j->percent[1] = pairs.items[0].high;
    crd_free(&pairs.items);
    if (!given(options->max_memory) || strcmp(options->max_memory, "auto") == 0) {
        j->memory_bytes = crd_available_memory() / 4 * 3;
    } else {
        CRD_PASS(crd_parse_bytes(options->max_memory, "max-memory", &j->memory_bytes));
    }
    j->lag_count = options->lags > 0 ? options->lags + 1 : (j->wanted & CRD_WANT_S2) != 0 ? USUAL_LAGS : 2;
    CRD_PASS(crd_alloc(j->lag_count, sizeof *j->lags, "the lags", &j->lags));
    for (int64_t i = 0; i < j->lag_count; i++) j->lags[i] = options->lags > 0 ? i : usual_lags[i];
    return CRD_OK;
}

/* ---- the first pass ---- */

/* 4x4x4 blocks, or 2x2x2 where they would be small, or none. */
static void choose_blocks(const int64_t shape[3], int64_t blocks[3])
{
    const int64_t least =
        shape[0] < shape[1] ? (shape[0] < shape[2] ? shape[0] : shape[2]) : (shape[1] < shape[2] ? shape[1] : shape[2]);
    const int64_t count = least >= 4 * LEAST_BLOCK ? 4 : least >= 2 * LEAST_BLOCK ? 2 : 0;
    for (int axis = 0; axis < 3; axis++) blocks[axis] = count;
}

static crd_status check_window(const job *j, const crd_pass *pass)
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

static crd_pass_plan plan_first(const job *j)
{
    crd_pass_plan plan = {.realisations = j->realisations,
                          .phases = j->phases,
                          .phase_count = j->phase_count,
                          .counted = CRD_COUNT_CELLS,
                          .neighbours = (int)j->options->connectivity,
                          .lags = j->lags,
                          .lag_count = j->lag_count,
                          .memory_bytes = j->memory_bytes};
    if ((j->wanted & CRD_WANT_COMPONENTS) != 0) plan.counted |= CRD_COUNT_COMPONENTS;
    if ((j->wanted & CRD_WANT_CHORDS) != 0) plan.counted |= CRD_COUNT_CHORDS | CRD_COUNT_PAIRS;
    if ((j->wanted & CRD_WANT_S2) != 0) plan.counted |= CRD_COUNT_PAIRS;
    if ((j->wanted & CRD_WANT_INTERFACES) != 0) plan.counted |= CRD_COUNT_SETS;
    choose_blocks(j->info->shape, plan.blocks);
    return plan;
}

/* Counts, or takes what was counted before. */
static crd_status count_all(const job *j, crd_pass *pass)
{
    crd_status status = CRD_OK;
    const int64_t bytes = crd_pass_counts_bytes(pass);
    uint8_t *counts = NULL;
    bool found;
    CRD_TRY(crd_alloc(bytes, 1, "counts", &counts));
    CRD_TRY(crd_journal_find(j->journal, "first", counts, bytes, &found));
    if (found) {
        crd_pass_counts_restore(pass, counts);
        goto done;
    }
    CRD_TRY(crd_pass_run(pass, j->pool, j->monitor));
    crd_pass_counts_save(pass, counts);
    CRD_TRY(crd_journal_keep(j->journal, "first", counts, bytes));
done:
    crd_free(&counts);
    return status;
}

static crd_status first_pass(job *j, crd_measurement *m)
{
    crd_status status = CRD_OK;
    crd_pass pass = {0};
    const crd_pass_plan plan = plan_first(j);
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

static crd_slow_plan plan_slow(const job *j)
{
    const int64_t asked = j->options->slow_samples, all = j->info->samples;
    return (crd_slow_plan){.realisations = j->realisations,
                           .samples = asked > 0 && asked < all ? asked : all,
                           .memory_bytes = j->memory_bytes,
                           .tolerance = j->options->tolerance > 0.0 ? j->options->tolerance : 1e-4,
                           .fast = given(j->options->transport) && strcmp(j->options->transport, "fast") == 0,
                           .pool = j->pool,
                           .journal = j->journal,
                           .monitor = j->monitor};
}

static crd_status slow_passes(const job *j, crd_measurement *m)
{
    crd_slow_plan plan = plan_slow(j);
    for (int64_t i = 0; i < j->phase_count && (j->wanted & CRD_WANT_THICKNESS) != 0; i++) {
        plan.phase = j->phases[i];
        CRD_PASS(crd_slow_thickness(&plan, m));
    }
    if ((j->wanted & CRD_WANT_TRANSPORT) == 0) return CRD_OK;
    CRD_PASS(crd_parse_axes("axis", given(j->options->axis) ? j->options->axis : "zyx", plan.axes));
    for (int64_t i = 0; i < j->phase_count; i++) {
        plan.phase = j->phases[i];
        CRD_PASS(crd_slow_transport(&plan, m));
    }
    return CRD_OK;
}

/* ---- what is odd ---- */

static crd_status add_notes(const job *j, crd_measurement *m)
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
    for (int64_t i = 0; i < m->notes.count; i++) crd_warn(j->monitor, "%s", m->notes.items[i]);
    return CRD_OK;
}

/* ---- what is kept of an unfinished measurement ---- */

static crd_status open_journal(job *j)
{
    crd_status status = CRD_OK;
    char *settings = NULL, *files = NULL, *key = NULL;
    crd_text text = {0};
    if (!j->info->run) {
        if (j->options->resume) crd_warn(j->monitor, "only the measurement of a run folder can be resumed");
        return CRD_OK;
    }
    CRD_TRY(crd_settings_to_json(&crd_measure_settings, j->options, CRD_SCOPE_RESULT, &settings));
    CRD_TRY(crd_realisations_fingerprint(j->realisations, &files));
    crd_text_print(&text, "%s\n%s", settings, files);
    CRD_TRY(crd_text_finish(&text, &key));
    CRD_TRY(crd_journal_open(j->info->name, key, j->options->resume, j->monitor, &j->journal));
done:
    crd_settings_free_text(&settings);
    crd_free(&files);
    crd_free(&key);
    return status;
}

/* ---- files ---- */

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

static crd_status write_files(const job *j, const crd_measurement *m)
{
    crd_status status = CRD_OK;
    char *json = NULL, *csv = NULL;
    const bool file = given(j->options->csv);
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

static crd_status open_job(job *j)
{
    if (j->options->input.count < 1) {
        return crd_fail(CRD_ERR_ARGUMENT, "input: there is nothing to measure; give a run folder or a segmentation");
    }
    CRD_PASS(settle(j));
    CRD_PASS(crd_pool_create((int)j->options->threads, &j->pool));
    return open_input(j);
}

static void close_job(job *j)
{
    crd_journal_close(&j->journal);
    crd_realisations_close(&j->realisations);
    crd_pool_free(&j->pool);
    crd_free(&j->phases);
    crd_free(&j->lags);
}

crd_status crd_measure(const crd_measure_options *options, const crd_monitor *monitor, crd_measurement **out)
{
    crd_status status = CRD_OK;
    crd_measurement *m = NULL;
    job j = {.options = options, .monitor = monitor};
    const double start = crd_seconds();
    if (out != NULL) *out = NULL;
    CRD_TRY(open_job(&j));
    if (given(options->csv)) CRD_TRY(crd_check_target(options->csv));
    CRD_TRY(crd_measurement_create(j.info, j.percent, &m));
    CRD_TRY(crd_alloc(j.phase_count, sizeof *m->phases, "the phases", &m->phases));
    m->phase_count = j.phase_count;
    for (int64_t i = 0; i < j.phase_count; i++) m->phases[i] = j.info->values[j.phases[i]];
    CRD_TRY(open_journal(&j));
    CRD_TRY(first_pass(&j, m));
    CRD_TRY(slow_passes(&j, m));
    CRD_TRY(add_notes(&j, m));
    m->seconds = crd_seconds() - start;
    CRD_TRY(write_files(&j, m));
    CRD_TRY(crd_journal_finish(j.journal));
    if (out != NULL) {
        *out = m;
        m = NULL;
    }
done:
    crd_measurement_free(&m);
    close_job(&j);
    return status;
}

/* ---- what it would take ---- */

/* Nanoseconds a voxel of one core, measured once on an AMD Zen 4: a guide, not a promise. */
static const double READING = 3.0, CELLS = 10.0, RUNS = 35.0, PAIRS = 0.4, THICKNESS = 60.0, TRANSPORT = 160.0;

static double first_seconds(const job *j, const crd_pass_plan *plan, int64_t sets)
{
    const double voxels = (double)j->info->shape[0] * (double)j->info->shape[1] * (double)j->info->shape[2];
    double cost = CELLS;
    if ((plan->counted & (CRD_COUNT_COMPONENTS | CRD_COUNT_CHORDS)) != 0) cost += RUNS;
    if ((plan->counted & CRD_COUNT_PAIRS) != 0) cost += 3.0 * PAIRS * (double)plan->lag_count;
    cost = cost * (double)j->phase_count + CELLS * (double)sets + READING * (double)j->info->planes;
    return 1e-9 * voxels * cost * (double)j->info->words / crd_pool_threads(j->pool);
}

static void add_pass(crd_measure_plan *out, const char *name, int64_t realisations, int64_t bytes, double seconds)
{
    crd_measure_pass *pass = &out->passes[out->pass_count++];
    *pass = (crd_measure_pass){.name = name, .realisations = realisations, .memory_bytes = bytes, .seconds = seconds};
}

static crd_status plan_passes(job *j, crd_measure_plan *out)
{
    const crd_realisations_info *info = j->info;
    const double voxels = (double)info->shape[0] * (double)info->shape[1] * (double)info->shape[2];
    const double threads = (double)crd_pool_threads(j->pool);
    const crd_slow_plan slow = plan_slow(j);
    const crd_pass_plan first = plan_first(j);
    crd_pass pass = {.plan = first};
    int64_t bytes = 0, sets = 0;
    CRD_PASS(crd_pass_needs(&pass, &first, j->pool, &bytes, &sets));
    add_pass(out, "first", info->samples + (info->segmentation >= 0), bytes, first_seconds(j, &first, sets));
    const double times = (double)(slow.samples + (info->segmentation >= 0)) * (double)j->phase_count;
    if ((j->wanted & CRD_WANT_THICKNESS) != 0) {
        add_pass(out, "thickness", slow.samples, crd_slow_thickness_bytes(info, j->memory_bytes),
                 1e-9 * THICKNESS * voxels * times / threads);
    }
    if ((j->wanted & CRD_WANT_TRANSPORT) != 0) {
        bool axes[3];
        CRD_PASS(crd_parse_axes("axis", given(j->options->axis) ? j->options->axis : "zyx", axes));
        const int cell = slow.fast || crd_slow_transport_bytes(info, 1) > j->memory_bytes ? 2 : 1;
        add_pass(out, "transport", slow.samples, crd_slow_transport_bytes(info, cell),
                 1e-9 * TRANSPORT / (cell == 2 ? 7.0 : 1.0) * voxels * times * (axes[0] + axes[1] + axes[2]) / threads);
        out->coarse = cell == 2;
    }
    return CRD_OK;
}

crd_status crd_measure_plan_make(const crd_measure_options *options, const crd_monitor *monitor, crd_measure_plan *out)
{
    crd_status status = CRD_OK;
    job j = {.options = options, .monitor = monitor};
    memset(out, 0, sizeof *out);
    CRD_TRY(open_job(&j));
    memcpy(out->shape, j.info->shape, sizeof out->shape);
    out->samples = j.info->samples;
    out->phases = j.phase_count;
    out->limit_bytes = j.memory_bytes;
    CRD_TRY(plan_passes(&j, out));
done:
    close_job(&j);
    return status;
}
