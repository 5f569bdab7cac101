/* What a measurement would take. */
#include <stdio.h>
#include <string.h>

#include "base/settings/whole.h"
#include "measure/active.h"
#include "measure/job.h"
#include "measure/settings.h"

/* Nanoseconds a voxel of one core, measured once on an AMD Zen 4: a guide, not a promise. */
static const double READING = 3.0, CELLS = 10.0, RUNS = 35.0, PAIRS = 0.4, THICKNESS = 60.0, TRANSPORT = 160.0,
                    ACTIVE = 8.0;
/* Of transport on a GPU of 4 TB/s and what the CPU does for it. */
static const double ON_GPU = 2.0;

static double first_seconds(const crd_measure_job *j, const crd_pass_plan *plan, int64_t sets)
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

/* Where memory suffices for nothing, what the least would take is said. */
static crd_status find_way(const crd_slow_plan *slow, crd_slow_way *out)
{
    const crd_realisations_info *info = crd_realisations_describe(slow->realisations);
    const crd_status status = crd_slow_transport_way(slow, out);
    if (status != CRD_ERR_MEMORY) return status;
    *out = (crd_slow_way){.method = CRD_BY_WINDOWS,
                          .bytes = crd_slow_transport_bytes(info, 2, slow->conductivity != NULL)};
    return CRD_OK;
}

static crd_status plan_passes(crd_measure_job *j, crd_measure_plan *out)
{
    const crd_realisations_info *info = j->info;
    const double voxels = (double)info->shape[0] * (double)info->shape[1] * (double)info->shape[2];
    const double threads = (double)crd_pool_threads(j->pool);
    const crd_slow_plan slow = crd_job_slow_plan(j);
    const crd_pass_plan first = crd_job_first_plan(j);
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
        CRD_PASS(crd_parse_axes("axis", crd_given(j->options->axis) ? j->options->axis : "zyx", axes));
        const bool several = slow.conductivity != NULL;
        const double solutions = (several ? times / (double)j->phase_count : times) * (axes[0] + axes[1] + axes[2]);
        crd_slow_way way;
        CRD_PASS(find_way(&slow, &way));
        out->coarse = way.method != CRD_ON_VOXELS;
        const double share = out->coarse ? 1.0 / 7.0 : 1.0;
        add_pass(out, "transport", slow.samples, way.bytes,
                 1e-9 * voxels * solutions * (way.on_device ? ON_GPU : share * TRANSPORT / threads));
        snprintf(out->transport_device, sizeof out->transport_device, "%s", way.on_device ? j->device.text : "cpu");
        out->transport_device_bytes = way.device_bytes;
    }
    if (j->options->active) {
        add_pass(out, "active", slow.samples, crd_active_bytes(info),
                 1e-9 * ACTIVE * voxels * times / (double)j->phase_count * (double)info->phases / threads);
    }
    return CRD_OK;
}

crd_status crd_measure_plan_make(const crd_measure_options *options, const crd_monitor *monitor, crd_measure_plan *out)
{
    crd_status status = CRD_OK;
    crd_measure_options whole;
    memset(out, 0, sizeof *out);
    CRD_PASS(crd_settings_whole(&crd_measure_settings, options, &whole));
    crd_measure_job j = {.options = &whole, .dist = crd_dist_current(), .monitor = monitor};
    CRD_TRY(crd_job_open(&j));
    memcpy(out->shape, j.info->shape, sizeof out->shape);
    out->samples = j.info->samples;
    out->phases = j.phase_count;
    out->limit_bytes = j.memory_bytes;
    CRD_TRY(plan_passes(&j, out));
done:
    crd_job_close(&j);
    crd_settings_whole_free(&crd_measure_settings, options, &whole);
    return status;
}
