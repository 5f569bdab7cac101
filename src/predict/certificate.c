#include "predict/certificate.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/random/philox.h"
#include "predict/run.h"
#include "predict/work.h"

enum { EDGE = 8, FARTHER = 24, MOST_PLACES = 64, SAMPLES = 4 };
static const double share = 0.02;   /* of the run's work that the places may take */
static const double visible = 0.01; /* a difference of probability that is warned of */

typedef struct place {
    crd_box box, near, far; /* what is compared, what is seen of it as its tile did, and with twice the halo */
} place;

/* A predictor for windows of one size at a time. */
typedef struct asker {
    crd_predict_run *r;
    crd_predictor *predictor;
    crd_predictor_plan plan;
    float *input;
} asker;

/* What the network says of a place, voxel by voxel, plane after plane. */
enum { MOST_VALUES = CRD_CLASSES_MAX * EDGE * EDGE * EDGE };
typedef struct answer {
    float probability[MOST_VALUES], uncertainty[MOST_VALUES]; /* multiples of 2^-24: exact */
    int64_t values;
} answer;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t below(int64_t n, uint64_t seed, int64_t number, uint32_t question)
{
    const crd_stream stream = {.seed = seed, .purpose = CRD_PURPOSE_CERTIFICATE, .layer = question};
    return crd_random_below(&stream, (uint64_t)number, n);
}

/* From `low` on, or from the beginning, to `high`, or to the end. */
static void span(const crd_axis_plan *plan, int axis, int64_t low, int64_t high, crd_box *box)
{
    box->origin[axis] = low > 0 ? low : 0;
    box->size[axis] = least(high, plan->extent) - box->origin[axis];
}

/* How far is seen the second time: twice the halo, and of a small one more than that. */
static int64_t reach_of(const crd_request *request)
{
    return request->halo > FARTHER ? 2 * request->halo : request->halo + FARTHER;
}

/* Borders across an axis, as numbers of the tiles behind them: those inside the box that is written, of which a tile
 * doesn't see the scan's end. */
typedef struct crd_borders {
    int64_t first, count;
} crd_borders;

static crd_borders borders_across(const crd_request *request, int axis)
{
    const crd_axis_plan *plan = &request->plan.axes[axis];
    const int64_t begin = request->box.origin[axis], end = begin + request->box.size[axis];
    crd_borders borders = {0};
    for (int64_t i = 1; i < plan->count; i++) {
        const int64_t border = i * plan->stride;
        if (border <= begin || border >= end || border + request->halo >= plan->extent) continue;
        if (borders.count++ == 0) borders.first = i;
    }
    return borders;
}

/* Place `number` on a border across `border_axis`. */
static place choose_place(const crd_request *request, int border_axis, int64_t number)
{
    const int64_t halo = request->halo, reach = reach_of(request);
    place p;
    for (int axis = 0; axis < 3; axis++) {
        const crd_axis_plan *plan = &request->plan.axes[axis];
        int64_t origin, end;
        if (axis == border_axis) {
            const crd_borders borders = borders_across(request, axis);
            const int64_t border = plan->stride * (borders.first + below(borders.count, request->seed, number, 0));
            origin = border - EDGE;
            end = border + halo;
        } else { /* where possible so far inside that all windows are equally large */
            const int64_t free = plan->extent / EDGE - 2 * reach / EDGE;
            const int64_t first = free > 0 ? reach / EDGE : 0, count = free > 0 ? free : plan->extent / EDGE;
            origin = EDGE * (first + below(count, request->seed, number, (uint32_t)(1 + axis)));
            end = origin + EDGE + reach;
        }
        p.box.origin[axis] = origin;
        p.box.size[axis] = least(EDGE, plan->size - origin);
        span(plan, axis, origin - reach, end, &p.near);
        span(plan, axis, origin - reach, origin + EDGE + reach, &p.far);
    }
    return p;
}

static crd_status fit(asker *a, const int64_t size[3])
{
    const crd_backend *backend = a->r->request.backend;
    bool same = a->predictor != NULL;
    for (int axis = 0; axis < 3; axis++) {
        same = same && a->plan.chunk[axis] == size[axis];
        a->plan.chunk[axis] = size[axis];
        a->plan.keep[axis] = EDGE;
    }
    if (same) return CRD_OK;
    if (a->predictor != NULL) backend->predictor_free(&a->predictor);
    crd_free(&a->input);
    CRD_PASS(crd_alloc(size[0] * size[1] * size[2], sizeof(float), "a place on a border", &a->input));
    return backend->predictor_create(&a->r->request.device, &a->plan, &a->predictor);
}

static crd_status ask(asker *a, const crd_box *window, const crd_box *box, answer *out)
{
    const crd_request *request = &a->r->request;
    const crd_interval *interval = &request->intervals[0];
    crd_chunk_result result;
    crd_box keep = *box;
    for (int axis = 0; axis < 3; axis++) keep.origin[axis] -= window->origin[axis];
    CRD_PASS(fit(a, window->size));
    CRD_PASS(crd_scan_read(a->r->scan, window, a->input));
    request->backend->predictor_keep(a->predictor, &keep);
    CRD_PASS(request->backend->predictor_submit(a->predictor, 0, a->input, NULL, 0));
    CRD_PASS(request->backend->predictor_collect(a->predictor, &result));
    if (result.nonfinite > 0) {
        return crd_fail(CRD_ERR_NUMERIC, "%" PRId64 " values at a place on a tile's border aren't finite numbers",
                        result.nonfinite);
    }
    out->values = request->planes * box->size[0] * box->size[1] * box->size[2];
    for (int64_t i = 0; i < out->values; i++) {
        const int64_t width =
            (int64_t)result.percentiles[interval->high][i] - (int64_t)result.percentiles[interval->low][i];
        out->probability[i] = (float)result.mean[i] * 0x1p-24f;
        out->uncertainty[i] = (float)width * 0x1p-24f;
    }
    return CRD_OK;
}

static void compare(const answer *near, const answer *far, crd_certificate *out)
{
    for (int64_t i = 0; i < near->values; i++) {
        const double p = fabs((double)near->probability[i] - (double)far->probability[i]);
        const double u = fabs((double)near->uncertainty[i] - (double)far->uncertainty[i]);
        out->mean_probability += p;
        if (p > out->largest_probability) out->largest_probability = p;
        if (u > out->largest_uncertainty) out->largest_uncertainty = u;
    }
}

/* As many places as the share pays for, one at least. */
static int64_t count_places(const crd_request *request, int64_t samples)
{
    const crd_net *net = &request->model->net;
    const int64_t reach = reach_of(request), edge = EDGE + 2 * reach, window[3] = {edge, edge, edge};
    crd_crop crop;
    crd_crop_make(net, window, &(crd_box){{reach, reach, reach}, {EDGE, EDGE, EDGE}}, &crop);
    const crd_cost one = crd_crop_cost(net, &crop);
    const double paid = share * crd_run_work(request) / (2.0 * (one.encoder + (double)samples * one.decoder));
    return paid < 1.0 ? 1 : paid < MOST_PLACES ? (int64_t)paid : MOST_PLACES;
}

/* Two askers: what a tile sees and twice the halo differ in size, and a predictor has one. */
static crd_status visit_places(asker *tile, asker *farther, crd_certificate *out)
{
    const crd_request *request = &tile->r->request;
    const int64_t wanted = count_places(request, tile->plan.samples);
    int axes[3], count = 0;
    int64_t values = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (borders_across(request, axis).count > 0) axes[count++] = axis;
    }
    for (int i = 0; i < count; i++) { /* those of an axis together: their windows are equally large */
        for (int64_t number = i; number < wanted; number += count) {
            answer near, far;
            const place p = choose_place(request, axes[i], number);
            CRD_PASS(ask(tile, &p.near, &p.box, &near));
            CRD_PASS(ask(farther, &p.far, &p.box, &far));
            compare(&near, &far, out);
            values += near.values;
            CRD_PASS(crd_advance(&tile->r->log.monitor, "looking at borders", "places", ++out->places, wanted, NULL));
        }
    }
    if (values > 0) out->mean_probability /= (double)values;
    return CRD_OK;
}

static void stop_asking(asker *a)
{
    if (a->predictor != NULL) a->r->request.backend->predictor_free(&a->predictor);
    crd_free(&a->input);
}

crd_status crd_certificate_make(crd_predict_run *r, crd_certificate *out)
{
    const crd_request *request = &r->request;
    asker tile = {.r = r}, farther = {.r = r};
    *out = (crd_certificate){.places = request->seamless ? 0 : -1};
    if (!request->seamless) return CRD_OK;
    crd_request_predictor(request, &tile.plan);
    tile.plan.samples = least(SAMPLES, request->samples);
    tile.plan.keep_samples = false;
    tile.plan.entropy = false;
    tile.plan.any_order = 0;
    tile.plan.moments = r->moments;
    tile.plan.memory_saving = CRD_MEMORY_SAVING_MOST;
    farther.plan = tile.plan;
    const crd_status status = visit_places(&tile, &farther, out);
    stop_asking(&tile);
    stop_asking(&farther);
    if (status == CRD_ERR_MEMORY) { /* the volumes are worth more */
        *out = (crd_certificate){.places = -1};
        crd_warn(&r->log.monitor, "there is no certificate of how well tiles meet: %s", crd_last_error()->message);
        return CRD_OK;
    }
    if (status == CRD_OK && out->largest_probability > visible) {
        crd_warn(&r->log.monitor,
                 "tiles can be seen: where their borders were looked at (places: %" PRId64
                 "), the probability changes by up "
                 "to %.3f when the network sees farther; --halo %" PRId64 " would be better",
                 out->places, out->largest_probability, reach_of(request));
    }
    return status;
}
