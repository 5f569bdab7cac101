#include "train/intervals/tries.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "net/store/systematic.h"
#include "train/intervals/shifts.h"
#include "train/intervals/windows.h"
#include "volume/statistics.h"
#include "volume/views/view.h"

/* Far beyond the epochs of any training, so that the noise is none that was learnt from. */
static const int64_t FIRST_EPOCH = INT64_C(0xffff0000);
static const double LEAST_DOUBT = 0x1p-24; /* of a voxel: a network that is sure everywhere has an offset, too */

enum { UNCHANGED = 0 }; /* the shift that is none */

/* What normalisation goes by: a middle, and how far from it the unit is. */
typedef struct scale {
    double middle, unit;
} scale;

typedef struct session {
    const crd_tries_plan *plan;
    crd_predict_options options;
    crd_request request; /* of the first scan; borrows all */
    crd_try_windows windows;
    crd_moments *moments;
    crd_predictor *predictor;
    crd_pool *pool; /* windows are changed independently of each other */
    float *changed; /* as windows.voxels */
    float *room;    /* of crd_grey_apply: [threads][crd_grey_room] */
    scale *scales;  /* of the windows as they are, at the first one of each scan */
} session;

/* --- sums -------------------------------------------------------------------------------------------------------- */

void crd_try_add(const crd_chunk_result *result, const uint8_t *label, int64_t voxels, int classes, int64_t samples,
                 crd_try_sums *sums)
{
    const int planes = classes > 2 ? classes : 1;
    const int64_t words = (samples + 63) / 64;
    for (int plane = 0; plane < planes; plane++) {
        const int class = planes > 1 ? plane : 1;
        const uint32_t *mean = result->mean + plane * voxels, *deviation = result->deviation + plane * voxels;
        double doubt = 0.0;
        int64_t above = 0;
        for (int64_t v = 0; v < voxels; v++) {
            if (label[v] == CRD_LABEL_NONE) continue;
            const double p = mean[v] * 0x1p-24, d = deviation[v] * 0x1p-24;
            /* n samples' mean differs from that of infinitely many by the variance / n, and p (1 - p) is less by it */
            doubt += p * (1.0 - p) + (samples > 1 ? d * d / (double)(samples - 1) : 0.0);
            for (int64_t w = 0; w < words; w++) {
                above += __builtin_popcountll(result->above[(w * planes + plane) * voxels + v]);
            }
        }
        sums->doubt[class] += doubt;
        sums->above[class] += above;
    }
    for (int64_t v = 0; v < voxels; v++) {
        if (label[v] == CRD_LABEL_NONE) continue;
        sums->label[label[v]]++;
        sums->labelled++;
    }
    if (planes > 1) return;
    sums->doubt[0] = sums->doubt[1];
    sums->above[0] = sums->labelled * samples - sums->above[1];
}

double crd_try_offset(const crd_try_sums *sums, int class, int64_t samples)
{
    const double error = (double)sums->label[class] - (double)sums->above[class] / (double)samples;
    return error / fmax(sums->doubt[class], LEAST_DOUBT * (double)sums->labelled);
}

/* --- changed scans ----------------------------------------------------------------------------------------------- */

/* That of windows first .. end - 1 as they are in `changed`, inside the mask. */
static crd_status find_scale(const session *s, int64_t first, int64_t end, scale *out)
{
    crd_status status = CRD_OK;
    const crd_try_windows *w = &s->windows;
    const int64_t each = crd_try_window_voxels(w);
    const bool levels = crd_norm_by_levels(&s->request.norm);
    const crd_measure_wish wish = {.levels = levels, .phases = s->request.norm.mode == CRD_NORM_PHASES};
    const crd_volume_info info = {
        .shape = {(end - first) * w->size[0], w->size[1], w->size[2]}, .type = CRD_F32, .scale = 1.0};
    crd_volume *volume = NULL;
    crd_volume_statistics found;
    for (int64_t v = first * each; v < end * each; v++) {
        if (!w->inside[v]) s->changed[v] = (float)NAN; /* doesn't count */
    }
    CRD_TRY(crd_view_memory(s->changed + first * each, &info, NULL, NULL, &volume));
    CRD_TRY(crd_volume_measure_also(volume, &wish, NULL, &found));
    out->middle = levels ? (found.levels[0] + found.levels[1]) / 2.0 : found.mean;
    out->unit = levels ? (found.levels[1] - found.levels[0]) / 2.0 : sqrt(found.variance);
done:
    crd_volume_close(&volume);
    return status;
}

/* The windows of one scan, which are changed, become what a prediction would make of such a scan: it finds mean and
 * deviation, or the levels, anew. Windows show these less well than the scan does, so the scan's own are moved as those
 * of the windows are. */
static crd_status normalise_anew(const session *s, int64_t first, int64_t end)
{
    const crd_try_windows *w = &s->windows;
    const int64_t each = crd_try_window_voxels(w);
    const float reach = crd_norm_by_levels(&s->request.norm) ? (float)CRD_LEVELS_REACH : FLT_MAX;
    const scale *before = &s->scales[first];
    scale after;
    CRD_PASS(find_scale(s, first, end, &after));
    const bool known = before->unit > 0.0 && after.unit > 0.0; /* false in constant windows, or outside the mask */
    const double factor = known ? before->unit / after.unit : 1.0;
    const double middle = known ? before->middle : 0.0, moved = known ? after.middle : 0.0;
    for (int64_t v = first * each; v < end * each; v++) {
        const float value = (float)(middle + (s->changed[v] - moved) * factor);
        s->changed[v] = !w->inside[v] ? w->voxels[v] : value < -reach ? -reach : value > reach ? reach : value;
    }
    return CRD_OK;
}

static void change_window(const session *s, int shift, int64_t number, float *room)
{
    const crd_try_windows *w = &s->windows;
    const crd_scan *scan = crd_dataset_scan(s->plan->data, w->windows[number].scan);
    const int64_t voxels = crd_try_window_voxels(w);
    float *changed = s->changed + number * voxels;
    double middle, unit;
    crd_scan_normalisation(scan, &middle, &unit);
    const double deviation = sqrt(crd_scan_statistics(scan)->variance) / unit;
    const crd_grey_change change = crd_shift_of(shift, number, w->size, deviation);
    memcpy(changed, w->voxels + number * voxels, (size_t)voxels * sizeof *changed);
    crd_grey_apply(&change, s->plan->seed, FIRST_EPOCH + shift, number, w->size, changed, room);
    crd_try_window_keep_outside(w, number, changed);
}

/* The first window behind those of the same scan as window `first`. */
static int64_t end_of_scan(const session *s, int64_t first)
{
    int64_t end = first + 1;
    while (end < s->windows.count && s->windows.windows[end].scan == s->windows.windows[first].scan) end++;
    return end;
}

typedef struct changes {
    const session *s;
    int shift;
} changes;

static void change_item(void *context, int64_t item, int worker)
{
    const changes *c = context;
    change_window(c->s, c->shift, item, c->s->room + worker * crd_grey_room(c->s->windows.size));
}

static crd_status change_all(const session *s, int shift)
{
    const bool anew = crd_norm_by_levels(&s->request.norm) || s->request.norm.mode == CRD_NORM_SCAN;
    changes c = {s, shift};
    crd_pool_run(s->pool, s->windows.count, change_item, &c);
    for (int64_t i = 0; i < s->windows.count && anew && shift != UNCHANGED; i = end_of_scan(s, i)) {
        CRD_PASS(normalise_anew(s, i, end_of_scan(s, i)));
    }
    return CRD_OK;
}

static crd_status find_scales(session *s)
{
    const int64_t total = s->windows.count * crd_try_window_voxels(&s->windows);
    memcpy(s->changed, s->windows.voxels, (size_t)total * sizeof *s->changed);
    for (int64_t i = 0; i < s->windows.count; i = end_of_scan(s, i)) {
        CRD_PASS(find_scale(s, i, end_of_scan(s, i), &s->scales[i]));
    }
    return CRD_OK;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static crd_status open_predictor(session *s)
{
    const crd_request *request = &s->request;
    const int64_t moments = request->samples * crd_net_moments(&request->model->net);
    crd_predictor_plan plan;
    crd_request_predictor(request, &plan);
    plan.any_order = 0;
    plan.standard_deviation = true;
    memcpy(plan.chunk, s->windows.size, sizeof plan.chunk);
    memset(plan.keep, 0, sizeof plan.keep);
    if (request->norms == CRD_NORMS_TRAINING) {
        CRD_PASS(crd_alloc(moments, sizeof *s->moments, "the norms' statistics", &s->moments));
        CRD_PASS(request->backend->measure_norms(&request->device, &plan, &request->model->pieces, s->plan->monitor,
                                                 s->moments));
        plan.moments = s->moments;
    }
    return request->backend->predictor_create(&request->device, &plan, &s->predictor);
}

static crd_status try_shift(session *s, int shift, crd_try_sums *sums, bool *broken)
{
    const crd_backend *backend = s->request.backend;
    const crd_try_windows *w = &s->windows;
    const int64_t voxels = crd_try_window_voxels(w);
    const int64_t ahead = backend->overlaps ? 1 : 0; /* windows that are computed while another's sums are made */
    CRD_PASS(change_all(s, shift));
    for (int64_t i = 0, sent = 0; i < w->count; i++) {
        crd_chunk_result result;
        CRD_PASS(
            crd_advance(s->plan->monitor, "trying made-up changes of the scans", "changes", shift, CRD_SHIFTS, NULL));
        CRD_PASS(crd_dist_check(s->plan->dist));
        for (; sent < w->count && sent <= i + ahead; sent++) {
            CRD_PASS(backend->predictor_submit(s->predictor, sent, s->changed + sent * voxels, NULL, 0));
        }
        CRD_PASS(backend->predictor_collect(s->predictor, &result));
        if (result.nonfinite > 0) *broken = true;
        if (result.nonfinite == 0) {
            crd_try_add(&result, w->labels + i * voxels, voxels, s->request.model->net.classes, s->request.samples,
                        sums);
        }
    }
    return CRD_OK;
}

typedef struct answers {
    crd_try_sums sums[CRD_SHIFTS];
    bool broken;
} answers;

/* As many threads as have something to do; each needs room. */
static crd_status open_pool(session *s)
{
    enum { MOST = 8 };
    const int allowed = s->plan->device->threads > 0 ? s->plan->device->threads : crd_available_cores();
    const int64_t wanted = s->windows.count < MOST ? s->windows.count : MOST;
    CRD_PASS(crd_pool_create(allowed < wanted ? allowed : (int)wanted, &s->pool));
    return crd_alloc(crd_pool_threads(s->pool) * crd_grey_room(s->windows.size), sizeof *s->room, "changed windows",
                     &s->room);
}

/* This process's part of the shifts. */
static crd_status try_part(session *s, int64_t begin, int64_t end, answers *out)
{
    crd_status status = CRD_OK;
    const int64_t total = s->windows.count * crd_try_window_voxels(&s->windows);
    if (begin == end) return CRD_OK;
    CRD_TRY(crd_alloc(total, sizeof *s->changed, "changed windows", &s->changed));
    CRD_TRY(open_pool(s));
    CRD_TRY(crd_alloc(s->windows.count, sizeof *s->scales, "changed windows", &s->scales));
    CRD_TRY(find_scales(s));
    CRD_TRY(open_predictor(s));
    for (int64_t i = begin; i < end; i++) CRD_TRY(try_shift(s, (int)i, &out->sums[i], &out->broken));
    CRD_TRY(
        crd_advance(s->plan->monitor, "trying made-up changes of the scans", "changes", CRD_SHIFTS, CRD_SHIFTS, NULL));
done:
    if (s->predictor != NULL) s->request.backend->predictor_free(&s->predictor);
    crd_free(&s->moments);
    crd_free(&s->changed);
    crd_free(&s->room);
    crd_free(&s->scales);
    crd_pool_free(&s->pool);
    return status;
}

/* Everybody's part to everybody; a request to stop that one process heard ends it for all. */
static crd_status try_together(session *s, answers *out)
{
    crd_status status = CRD_OK;
    crd_dist *dist = s->plan->dist;
    const int size = crd_dist_size(dist);
    answers *all = NULL;
    int64_t begin, end;
    bool stopped;
    crd_dist_part(CRD_SHIFTS, size, crd_dist_rank(dist), &begin, &end);
    status = try_part(s, begin, end, out);
    if (status != CRD_OK && status != CRD_ERR_CANCELLED) goto done;
    CRD_TRY(crd_dist_any(dist, status != CRD_OK, &stopped));
    if (stopped) CRD_FAIL(CRD_ERR_CANCELLED, "stopped");
    if (size == 1) goto done;
    CRD_TRY(crd_alloc(size, sizeof *all, "changed windows", &all));
    CRD_TRY(crd_dist_share(dist, out, (int64_t)sizeof *out, all));
    for (int rank = 0; rank < size; rank++) {
        crd_dist_part(CRD_SHIFTS, size, rank, &begin, &end);
        for (int64_t i = begin; i < end; i++) out->sums[i] = all[rank].sums[i];
        out->broken |= all[rank].broken;
    }
done:
    crd_free(&all);
    return status;
}

static void conclude(const session *s, const answers *found, crd_systematic *out)
{
    const int classes = s->request.model->net.classes;
    out->shifts = CRD_SHIFTS;
    out->voxels = s->windows.labelled;
    out->samples = s->request.samples;
    for (int i = 0; i < CRD_SHIFTS; i++) {
        crd_shift_name(i, out->names[i], CRD_SHIFT_NAME_TEXT);
        for (int c = 0; c < classes; c++) {
            out->offsets[i][c] = crd_try_offset(&found->sums[i], c, s->request.samples);
        }
    }
    crd_systematic_conclude(classes, out);
}

static crd_status settle_request(session *s)
{
    const crd_tries_plan *plan = s->plan;
    const int64_t members = plan->model->info.members;
    CRD_PASS(crd_settings_default(&crd_predict_settings, &s->options));
    s->options.samples = (CRD_TRY_SAMPLES + members - 1) / members * members; /* as many of each */
    s->request = (crd_request){.options = &s->options,
                               .model = plan->model,
                               .backend = plan->backend,
                               .device = *plan->device,
                               .scan = *crd_scan_info(crd_dataset_scan(plan->data, 0))};
    CRD_PASS(crd_norm_parse(crd_model_describe(plan->model)->norm, &s->request.norm));
    return crd_request_settle(&s->request, NULL);
}

crd_status crd_tries_make(const crd_tries_plan *plan, crd_systematic *out, crd_tries_outcome *outcome)
{
    crd_status status = CRD_OK;
    session *s = NULL;
    answers *found = NULL;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_alloc(1, sizeof *s, "changed windows", &s));
    CRD_TRY(crd_alloc(1, sizeof *found, "changed windows", &found));
    s->plan = plan;
    CRD_TRY(settle_request(s));
    /* the encoder of each member, once for all of its samples, costs about as much as one of them */
    const double times = (double)CRD_SHIFTS * (double)(s->request.samples + plan->model->info.members);
    CRD_TRY(crd_try_windows_read(plan->data, &s->request, plan->work / times, &s->windows));
    *outcome = s->windows.count == 0      ? CRD_TRIES_TOO_DEAR
               : s->windows.labelled == 0 ? CRD_TRIES_UNLABELLED
                                          : CRD_TRIES_DONE;
    if (*outcome != CRD_TRIES_DONE) goto done;
    CRD_TRY(try_together(s, found));
    if (found->broken) *outcome = CRD_TRIES_BROKEN;
    if (!found->broken) conclude(s, found, out);
done:
    crd_free(&found);
    if (s != NULL) {
        crd_settings_clear(&crd_predict_settings, &s->options);
        crd_try_windows_free(&s->windows);
    }
    crd_free(&s);
    return status;
}
