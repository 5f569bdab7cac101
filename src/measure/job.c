#include "measure/job.h"

#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/settings/row.h"
#include "dist/agree.h"
#include "measure/active.h"
#include "measure/settings.h"
#include "volume/box.h"

static const int64_t usual_lags[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
enum { USUAL_LAGS = sizeof usual_lags / sizeof usual_lags[0], LEAST_BLOCK = 32 };

/* ---- input ---- */

static crd_status open_input(crd_measure_job *j)
{
    crd_status status = CRD_OK;
    const crd_measure_options *options = j->options;
    crd_real_list wanted = {NULL, 0};
    char unit[16] = "";
    bool from_start = false;
    crd_realisations_options reading = {.paths = (const char *const *)options->input.items,
                                        .path_count = options->input.count,
                                        .mask = crd_given(options->mask) ? options->mask : NULL,
                                        .reading = {.type = options->type, .offset = options->offset}};
    memcpy(reading.reading.shape, options->shape, sizeof options->shape);
    if (options->shape[0] > 0 && !crd_given(options->type)) reading.reading.type = "u8";
    if (crd_given(options->bbox)) CRD_TRY(crd_box_parse("bbox", options->bbox, NULL, &reading.box));
    if (crd_given(options->spacing)) {
        CRD_TRY(crd_spacing_parse(options->spacing, reading.reading.spacing, unit));
        reading.reading.unit = unit;
    }
    if (crd_given(options->samples)) {
        CRD_TRY(crd_parse_samples("samples", options->samples, &reading.first_sample, &reading.samples, &from_start));
        reading.from_start = from_start;
    }
    if (crd_given(options->phase)) CRD_TRY(crd_parse_phases("phase", options->phase, &wanted));
    reading.cuts = !j->labelled && !crd_given(options->conductivity) && (j->wanted & CRD_WANT_TRANSPORT) != 0;
    if (j->labelled) {
        reading.label = options->label;
        reading.foreground = options->foreground.items;
        reading.foreground_count = options->foreground.count;
        reading.ignore = options->ignore.items;
        reading.ignore_count = options->ignore.count;
    }
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

/* What was said that phases conduct, by their numbers. */
static crd_status read_conductivity(crd_measure_job *j)
{
    crd_status status = CRD_OK;
    crd_pair_list pairs = {NULL, 0};
    if (!crd_given(j->options->conductivity)) return CRD_OK;
    CRD_TRY(crd_parse_conductivity("conductivity", j->options->conductivity, &pairs));
    for (int64_t i = 0; i < pairs.count; i++) {
        int64_t phase = 0;
        while (phase < j->info->phases && j->info->values[phase] != pairs.items[i].low) phase++;
        if (phase == j->info->phases) {
            CRD_FAIL(CRD_ERR_ARGUMENT, "conductivity: there is no phase %g in %s", pairs.items[i].low, j->info->name);
        }
        j->conductivity[phase] = pairs.items[i].high;
    }
    j->conducts = true;
    j->wanted |= CRD_WANT_TRANSPORT;
done:
    crd_free(&pairs.items);
    return status;
}

static crd_status settle(crd_measure_job *j)
{
    const crd_measure_options *options = j->options;
    crd_pair_list pairs = {NULL, 0};
    CRD_PASS(
        crd_parse_properties("properties", crd_given(options->properties) ? options->properties : "fast", &j->wanted));
    if (options->connectivity != 6 && options->connectivity != 26) {
        return crd_fail(CRD_ERR_ARGUMENT, "connectivity must be 6 or 26, not %lld", (long long)options->connectivity);
    }
    CRD_PASS(crd_pairs_parse("interval", crd_given(options->interval) ? options->interval : "5-95", &pairs));
    j->percent[0] = pairs.items[0].low;
    j->percent[1] = pairs.items[0].high;
    crd_free(&pairs.items);
    if (!crd_given(options->max_memory) || strcmp(options->max_memory, "auto") == 0) {
        j->memory_bytes = crd_available_memory() / 4 * 3;
    } else {
        CRD_PASS(crd_parse_bytes(options->max_memory, "max-memory", &j->memory_bytes));
    }
    j->lag_count = options->lags > 0 ? options->lags + 1 : (j->wanted & CRD_WANT_S2) != 0 ? USUAL_LAGS : 2;
    CRD_PASS(crd_alloc(j->lag_count, sizeof *j->lags, "the lags", &j->lags));
    for (int64_t i = 0; i < j->lag_count; i++) j->lags[i] = options->lags > 0 ? i : usual_lags[i];
    return CRD_OK;
}

/* ---- plans ---- */

/* 4x4x4 blocks, or 2x2x2 where they would be small, or none. */
static void choose_blocks(const int64_t shape[3], int64_t blocks[3])
{
    const int64_t least =
        shape[0] < shape[1] ? (shape[0] < shape[2] ? shape[0] : shape[2]) : (shape[1] < shape[2] ? shape[1] : shape[2]);
    const int64_t count = least >= 4 * LEAST_BLOCK ? 4 : least >= 2 * LEAST_BLOCK ? 2 : 0;
    for (int axis = 0; axis < 3; axis++) blocks[axis] = count;
}

crd_pass_plan crd_job_first_plan(const crd_measure_job *j)
{
    crd_pass_plan plan = {.realisations = j->realisations,
                          .phases = j->phases,
                          .phase_count = j->phase_count,
                          .counted = CRD_COUNT_CELLS,
                          .neighbours = (int)j->options->connectivity,
                          .lags = j->lags,
                          .lag_count = j->lag_count,
                          .memory_bytes = j->memory_bytes,
                          .process = crd_dist_rank(j->dist),
                          .processes = crd_dist_size(j->dist)};
    if ((j->wanted & CRD_WANT_COMPONENTS) != 0) plan.counted |= CRD_COUNT_COMPONENTS;
    if ((j->wanted & CRD_WANT_CHORDS) != 0) plan.counted |= CRD_COUNT_CHORDS | CRD_COUNT_PAIRS;
    if ((j->wanted & CRD_WANT_S2) != 0) plan.counted |= CRD_COUNT_PAIRS;
    if ((j->wanted & CRD_WANT_INTERFACES) != 0) plan.counted |= CRD_COUNT_SETS;
    choose_blocks(j->info->shape, plan.blocks);
    return plan;
}

crd_slow_plan crd_job_slow_plan(const crd_measure_job *j)
{
    const int64_t asked = j->options->slow_samples, all = j->info->samples;
    return (crd_slow_plan){.realisations = j->realisations,
                           .conductivity = j->conducts ? j->conductivity : NULL,
                           .samples = asked > 0 && asked < all ? asked : all,
                           .memory_bytes = j->memory_bytes,
                           .tolerance = j->options->tolerance > 0.0 ? j->options->tolerance : 1e-4,
                           .device = &j->device,
                           .fast = crd_given(j->options->transport) && strcmp(j->options->transport, "fast") == 0,
                           .pool = j->pool,
                           .dist = j->dist,
                           .journal = j->journal,
                           .monitor = j->monitor};
}

/* ---- from outside ---- */

/* Only transport asks for one. */
static crd_status choose_device(crd_measure_job *j)
{
    const crd_measure_options *o = j->options;
    const int64_t *shape = j->info->shape;
    if (j->labelled || (j->wanted & CRD_WANT_TRANSPORT) == 0) return CRD_OK;
    return crd_measure_device_choose(o->device, o->max_gpu_memory, shape[0] * shape[1] * shape[2], j->dist, j->monitor,
                                     &j->device);
}

crd_status crd_job_open(crd_measure_job *j)
{
    if (j->options->input.count < 1) {
        return crd_fail(CRD_ERR_ARGUMENT, "input: there is nothing to measure; give a run folder or a segmentation");
    }
    int64_t threads;
    CRD_PASS(settle(j));
    CRD_PASS(crd_dist_threads(j->dist, j->options->threads, &threads));
    CRD_PASS(crd_pool_create((int)threads, &j->pool));
    CRD_PASS(open_input(j));
    if (j->options->active) CRD_PASS(crd_active_check(j->info, j->options->connectivity, j->memory_bytes));
    CRD_PASS(read_conductivity(j));
    return choose_device(j);
}

void crd_job_close(crd_measure_job *j)
{
    crd_journal_close(&j->journal);
    crd_realisations_close(&j->realisations);
    crd_pool_free(&j->pool);
    crd_free(&j->phases);
    crd_free(&j->lags);
    crd_free(&j->files);
}
