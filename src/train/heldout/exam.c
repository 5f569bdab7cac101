#include "train/heldout/exam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/portable_math.h"
#include "predict/request.h"

static const double NEAREST = 1e-7; /* probabilities stay this far from 0 and 1 */

/* What the network sees, the part that counts, and for which blocks it does: so that a block's answers don't depend on
 * which others the same process looks at. */
typedef struct window {
    crd_box seen, keep;
    uint32_t blocks; /* bit i: block i of the exam */
} window;

/* One scan's part of the exam. */
typedef struct paper {
    crd_request request; /* borrows all */
    int64_t scan;
    int64_t halo;      /* seamless */
    int64_t per_block; /* overlapping chunks: so many of each block */
    int64_t size[3];   /* of every window */
    window *windows;
    int64_t window_count;
} paper;

/* Sums over the windows that see a block. */
typedef struct sheet {
    const crd_held_block *block;
    uint64_t *sum; /* of probability * 2^24, a plane for each class where there are more than two */
    uint32_t *seen;
} sheet;

typedef struct session {
    const crd_exam_plan *plan;
    crd_predict_options options;
    int64_t samples;
    const crd_held_block *blocks[CRD_BLOCKS_MOST]; /* of the exam */
    int64_t block_count, begin, end;               /* those of this process */
    paper papers[CRD_BLOCKS_MOST];                 /* a scan each */
    int64_t paper_count;
    crd_moments *moments;
} session;

static double voxels_of(const int64_t size[3])
{
    return (double)size[0] * (double)size[1] * (double)size[2];
}

/* --- which windows --------------------------------------------------------------------------------------------- */

static int64_t largest_edge(const session *s, const paper *p, int axis, int64_t *count)
{
    int64_t edge = 0;
    *count = 0;
    for (int64_t i = 0; i < s->block_count; i++) {
        if (s->blocks[i]->scan != p->scan) continue;
        if (s->blocks[i]->box.size[axis] > edge) edge = s->blocks[i]->box.size[axis];
        (*count)++;
    }
    return edge;
}

/* A window for each block, or one for all where that is less to compute. They begin at multiples of 8, as tiles do. */
static void plan_tiles(const session *s, paper *p, double *work)
{
    int64_t whole[3], count;
    for (int axis = 0; axis < 3; axis++) {
        whole[axis] = p->request.plan.axes[axis].extent;
        const int64_t wanted = largest_edge(s, p, axis, &count) + 2 * p->halo;
        p->size[axis] = wanted < whole[axis] ? wanted : whole[axis];
    }
    *work = (double)count * voxels_of(p->size);
    if (voxels_of(whole) > *work || voxels_of(whole) > (double)p->request.backend->auto_tile_voxels) return;
    memcpy(p->size, whole, sizeof whole);
    *work = voxels_of(whole);
}

static double distance(const crd_box *a, const crd_box *b)
{
    double sum = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        const double d = (double)(2 * a->origin[axis] + a->size[axis] - 2 * b->origin[axis] - b->size[axis]);
        sum += d * d / (double)(a->size[axis] * a->size[axis]);
    }
    return sum;
}

typedef struct candidate {
    int64_t number;
    double distance;
} candidate;

static int by_distance(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

typedef struct choice { /* of a chunk for a block */
    int64_t number;
    uint32_t block; /* its bit */
} choice;

static int by_number(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The first and the number of windows of an axis that keep something of [low, high). */
static void axis_windows(const crd_axis_plan *axis, int64_t low, int64_t high, int64_t *first, int64_t *count)
{
    *count = 0;
    for (int64_t i = 0; i < axis->count; i++) {
        int64_t begin, end;
        crd_axis_keep(axis, i, &begin, &end);
        if (end <= low || begin >= high) continue;
        if ((*count)++ == 0) *first = i;
    }
}

/* Adds the numbers of the chunks that keep something of a block: all, or the nearest ones, of which those that are
 * needed to see every voxel once are always among them. */
static crd_status list_chunks(const paper *p, const crd_held_block *block, uint32_t bit, choice **chosen,
                              int64_t *count)
{
    crd_status status = CRD_OK;
    const crd_axis_plan *axes = p->request.plan.axes;
    int64_t first[3], counts[3], all;
    choice *longer = NULL;
    candidate *near = NULL;
    uint8_t *covered = NULL;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t low = block->box.origin[axis];
        axis_windows(&axes[axis], low, low + block->box.size[axis], &first[axis], &counts[axis]);
    }
    all = counts[0] * counts[1] * counts[2];
    CRD_TRY(crd_alloc(all, sizeof *near, "the exam's chunks", &near));
    CRD_TRY(crd_alloc(*count + all, sizeof *longer, "the exam's chunks", &longer));
    CRD_TRY(crd_alloc((int64_t)voxels_of(block->box.size), 1, "the exam's chunks", &covered));
    for (int64_t i = 0; i < all; i++) {
        crd_box seen, keep;
        const int64_t at[3] = {first[0] + i / counts[2] / counts[1], first[1] + i / counts[2] % counts[1],
                               first[2] + i % counts[2]};
        near[i].number = (at[0] * axes[1].count + at[1]) * axes[2].count + at[2];
        crd_plan_chunk(&p->request.plan, near[i].number, &seen, &keep);
        near[i].distance = distance(&seen, &block->box);
    }
    qsort(near, (size_t)all, sizeof *near, by_distance);
    if (*count > 0) memcpy(longer, *chosen, (size_t)*count * sizeof *longer);
    for (int64_t i = 0, taken = 0; i < all; i++) {
        crd_box seen, keep, part;
        int64_t fresh = 0;
        crd_plan_chunk(&p->request.plan, near[i].number, &seen, &keep);
        if (!crd_box_meet(&keep, &block->box, &part)) continue;
        for (int64_t v = 0; v < (int64_t)voxels_of(part.size); v++) {
            const int64_t z = part.origin[0] - block->box.origin[0] + v / part.size[2] / part.size[1];
            const int64_t y = part.origin[1] - block->box.origin[1] + v / part.size[2] % part.size[1];
            const int64_t x = part.origin[2] - block->box.origin[2] + v % part.size[2];
            uint8_t *mark = &covered[(z * block->box.size[1] + y) * block->box.size[2] + x];
            fresh += *mark == 0;
            *mark = 1;
        }
        if (taken >= p->per_block && fresh == 0) continue;
        longer[(*count)++] = (choice){near[i].number, bit};
        taken++;
    }
    crd_free(chosen);
    *chosen = longer;
    longer = NULL;
done:
    crd_free(&covered);
    crd_free(&longer);
    crd_free(&near);
    return status;
}

/* The windows of blocks begin .. end - 1, each once. */
static crd_status list_windows(const session *s, paper *p, int64_t begin, int64_t end)
{
    crd_status status = CRD_OK;
    choice *chosen = NULL;
    int64_t count = 0;
    crd_free(&p->windows);
    p->window_count = 0;
    for (int64_t i = begin; i < end && !p->request.seamless; i++) {
        if (s->blocks[i]->scan == p->scan) CRD_TRY(list_chunks(p, s->blocks[i], UINT32_C(1) << i, &chosen, &count));
    }
    if (count > 0) qsort(chosen, (size_t)count, sizeof *chosen, by_number);
    CRD_TRY(crd_alloc(count + CRD_BLOCKS_MOST, sizeof *p->windows, "the exam's windows", &p->windows));
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || chosen[i].number != chosen[i - 1].number) {
            window *added = &p->windows[p->window_count++];
            crd_plan_chunk(&p->request.plan, chosen[i].number, &added->seen, &added->keep);
        }
        p->windows[p->window_count - 1].blocks |= chosen[i].block;
    }
    for (int64_t i = begin; i < end && p->request.seamless; i++) {
        const crd_box *box = &s->blocks[i]->box;
        window added = {.keep = *box, .blocks = UINT32_C(1) << i};
        bool known = false;
        if (s->blocks[i]->scan != p->scan) continue;
        for (int axis = 0; axis < 3; axis++) {
            const int64_t wanted = box->origin[axis] - p->halo;
            const int64_t last = p->request.plan.axes[axis].extent - p->size[axis];
            added.seen.size[axis] = p->size[axis];
            added.seen.origin[axis] = wanted < 0 ? 0 : wanted > last ? last : wanted;
        }
        for (int64_t k = 0; k < p->window_count; k++) {
            window *other = &p->windows[k];
            if (memcmp(&other->seen, &added.seen, sizeof added.seen) != 0) continue;
            other->keep = other->seen;
            other->blocks |= added.blocks;
            known = true;
        }
        if (!known) p->windows[p->window_count++] = added;
    }
done:
    crd_free(&chosen);
    return status;
}

/* Voxels that the network would compute for one sample of the whole exam. */
static crd_status count_work(session *s, double *work)
{
    *work = 0.0;
    for (int64_t i = 0; i < s->paper_count; i++) {
        paper *p = &s->papers[i];
        double own = 0.0;
        if (p->request.seamless) plan_tiles(s, p, &own);
        CRD_PASS(list_windows(s, p, 0, s->block_count));
        *work += (double)p->window_count * voxels_of(p->size);
    }
    return CRD_OK;
}

/* Smaller halos and fewer chunks, until the least number of samples can be paid for. */
static crd_status plan_work(session *s)
{
    enum { HALO_LEAST = 16, HALO_STEP = 8 };
    double work;
    CRD_PASS(count_work(s, &work));
    while (work * (CRD_EXAM_SAMPLES_LEAST + 1) > s->plan->work) {
        bool less = false;
        for (int64_t i = 0; i < s->paper_count; i++) {
            paper *p = &s->papers[i];
            if (p->request.seamless && p->halo > HALO_LEAST) {
                p->halo -= HALO_STEP;
                less = true;
            } else if (!p->request.seamless && p->per_block > 1) {
                p->per_block = (p->per_block + 1) / 2;
                less = true;
            }
        }
        if (!less) break;
        CRD_PASS(count_work(s, &work));
    }
    const double samples = floor(s->plan->work / work) - 1.0;
    const int64_t most = s->papers[0].request.samples, members = s->plan->model->info.members;
    const int64_t enough = members > CRD_EXAM_SAMPLES_LEAST ? members : CRD_EXAM_SAMPLES_LEAST;
    const int64_t least = most < enough ? most : enough;
    s->samples = samples >= (double)most ? most : samples <= (double)least ? least : (int64_t)samples;
    s->samples += (members - s->samples % members) % members; /* as many of each, where that isn't too many */
    if (s->samples > most) s->samples = most;
    return CRD_OK;
}

/* --- answers ---------------------------------------------------------------------------------------------------- */

static int planes_of(const session *s)
{
    return crd_net_planes(&s->plan->model->net);
}

static void add_window(const session *s, const window *w, const uint32_t *mean, sheet *sheets)
{
    const int64_t planes = planes_of(s), seen_voxels = (int64_t)voxels_of(w->seen.size);
    for (int64_t i = 0; i < s->end - s->begin; i++) {
        const crd_held_block *block = sheets[i].block;
        const int64_t voxels = (int64_t)voxels_of(block->box.size);
        crd_box part;
        if ((w->blocks >> (i + s->begin) & 1) == 0 || !crd_box_meet(&w->keep, &block->box, &part)) continue;
        for (int64_t v = 0; v < (int64_t)voxels_of(part.size); v++) {
            const int64_t at[3] = {part.origin[0] + v / part.size[2] / part.size[1],
                                   part.origin[1] + v / part.size[2] % part.size[1], part.origin[2] + v % part.size[2]};
            int64_t from = 0, to = 0;
            for (int axis = 0; axis < 3; axis++) {
                from = from * w->seen.size[axis] + at[axis] - w->seen.origin[axis];
                to = to * block->box.size[axis] + at[axis] - block->box.origin[axis];
            }
            for (int64_t c = 0; c < planes; c++) sheets[i].sum[c * voxels + to] += mean[c * seen_voxels + from];
            sheets[i].seen[to]++;
        }
    }
}

static crd_status measure_norms(session *s, const crd_request *request, const crd_predictor_plan *plan)
{
    const int64_t count = request->samples * crd_net_moments(&request->model->net);
    if (request->norms != CRD_NORMS_TRAINING || s->moments != NULL) return CRD_OK;
    CRD_PASS(crd_alloc(count, sizeof *s->moments, "the norms' statistics", &s->moments));
    return request->backend->measure_norms(&request->device, plan, &request->model->pieces, s->plan->monitor,
                                           s->moments);
}

static crd_status predict_scan(session *s, paper *p, sheet *sheets, crd_exam *out)
{
    crd_status status = CRD_OK;
    const crd_request *request = &p->request;
    const crd_backend *backend = request->backend;
    const crd_axis_plan *axes = request->plan.axes;
    crd_predictor_plan plan;
    crd_predictor *predictor = NULL;
    crd_scan *scan = NULL;
    float *input = NULL;
    crd_request_predictor(request, &plan);
    plan.any_order = 0;
    memcpy(plan.chunk, p->size, sizeof plan.chunk);
    memset(plan.keep, 0, sizeof plan.keep); /* a window may hold several blocks */
    CRD_TRY(measure_norms(s, request, &plan));
    plan.moments = s->moments;
    CRD_TRY(crd_scan_reopen(crd_dataset_scan(s->plan->data, p->scan), &scan));
    if (request->seamless) {
        CRD_TRY(crd_scan_extend(scan, (int64_t[]){axes[0].extent, axes[1].extent, axes[2].extent}));
    }
    CRD_TRY(crd_alloc((int64_t)voxels_of(p->size), sizeof *input, "the exam's windows", &input));
    CRD_TRY(backend->predictor_create(&request->device, &plan, &predictor));
    for (int64_t i = 0; i < p->window_count; i++) {
        crd_chunk_result result;
        CRD_TRY(crd_advance(s->plan->monitor, "looking at what was held back", "windows", i, p->window_count, NULL));
        CRD_TRY(crd_dist_check(s->plan->dist));
        CRD_TRY(crd_scan_read(scan, &p->windows[i].seen, input));
        CRD_TRY(backend->predictor_submit(predictor, i, input, NULL, 0));
        CRD_TRY(backend->predictor_collect(predictor, &result));
        out->broken |= result.nonfinite > 0;
        add_window(s, &p->windows[i], result.mean, sheets);
    }
    CRD_TRY(crd_advance(s->plan->monitor, "looking at what was held back", "windows", p->window_count, p->window_count,
                        NULL));
done:
    backend->predictor_free(&predictor);
    crd_scan_close(&scan);
    crd_free(&input);
    return status;
}

/* The class that the network answers with, of two the foreground above one half, of more the first of the most
 * probable, and the probability of the right one. */
static int answer_at(const session *s, const sheet *answers, int64_t v, int label, double *right)
{
    const int64_t voxels = (int64_t)voxels_of(answers->block->box.size);
    const uint64_t *sum = answers->sum + v;
    const int planes = planes_of(s);
    const double p = ldexp((double)sum[planes > 1 ? label * voxels : 0] / (double)answers->seen[v], -24);
    int best = 0;
    *right = planes > 1 || label != 0 ? p : 1.0 - p;
    if (planes == 1) return p > 0.5;
    for (int c = 1; c < planes; c++) {
        if (sum[c * voxels] > sum[best * voxels]) best = c;
    }
    return best;
}

/* Compares a block's probabilities with its labels, read here and nowhere else. */
static crd_status mark(const session *s, const sheet *answers, crd_block_answers *out)
{
    crd_status status = CRD_OK;
    const crd_held_block *block = answers->block;
    const crd_baseline *baseline = s->plan->baseline;
    crd_scan *scan = crd_dataset_scan(s->plan->data, block->scan);
    const int64_t voxels = (int64_t)voxels_of(block->box.size);
    uint8_t *label = NULL, *inside = NULL;
    float *grey = NULL;
    CRD_TRY(crd_alloc(voxels, 1, "a block of the exam", &label));
    CRD_TRY(crd_alloc(voxels, 1, "a block of the exam", &inside));
    CRD_TRY(crd_alloc(voxels, sizeof *grey, "a block of the exam", &grey));
    CRD_TRY(crd_label_read(crd_dataset_label(s->plan->data, block->scan), &block->box, label));
    CRD_TRY(crd_scan_read_mask(scan, &block->box, inside));
    CRD_TRY(crd_scan_read(scan, &block->box, grey));
    for (int64_t v = 0; v < voxels; v++) {
        if (label[v] == CRD_LABEL_NONE || !inside[v] || answers->seen[v] == 0) continue;
        double right;
        out->network[label[v]][answer_at(s, answers, v, label[v], &right)]++;
        out->threshold[label[v]][crd_baseline_answer(baseline, grey[v])]++;
        out->grey[label[v]] += grey[v];
        out->nll -= crd_log(right < NEAREST ? NEAREST : right);
    }
done:
    crd_free(&grey);
    crd_free(&inside);
    crd_free(&label);
    return status;
}

static crd_status answer(session *s, crd_exam *out)
{
    crd_status status = CRD_OK;
    sheet sheets[CRD_BLOCKS_MOST] = {{0}};
    for (int64_t i = s->begin; i < s->end; i++) {
        sheet *own = &sheets[i - s->begin];
        const int64_t voxels = (int64_t)voxels_of(s->blocks[i]->box.size);
        own->block = s->blocks[i];
        CRD_TRY(crd_alloc(voxels * planes_of(s), sizeof *own->sum, "a block of the exam", &own->sum));
        CRD_TRY(crd_alloc(voxels, sizeof *own->seen, "a block of the exam", &own->seen));
    }
    for (int64_t i = 0; i < s->paper_count; i++) {
        CRD_TRY(list_windows(s, &s->papers[i], s->begin, s->end));
        if (s->papers[i].window_count > 0) CRD_TRY(predict_scan(s, &s->papers[i], sheets, out));
    }
    for (int64_t i = s->begin; i < s->end; i++) CRD_TRY(mark(s, &sheets[i - s->begin], &out->blocks[i]));
done:
    for (int i = 0; i < CRD_BLOCKS_MOST; i++) {
        crd_free(&sheets[i].sum);
        crd_free(&sheets[i].seen);
    }
    return status;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static crd_status open_paper(session *s, int64_t scan)
{
    const crd_exam_plan *plan = s->plan;
    for (int64_t i = 0; i < s->paper_count; i++) {
        if (s->papers[i].scan == scan) return CRD_OK;
    }
    paper *p = &s->papers[s->paper_count++];
    *p = (paper){.scan = scan};
    p->request = (crd_request){.options = &s->options,
                               .model = plan->model,
                               .backend = plan->backend,
                               .device = *plan->device,
                               .scan = *crd_scan_info(crd_dataset_scan(plan->data, scan))};
    CRD_PASS(crd_norm_parse(crd_model_describe(plan->model)->norm, &p->request.norm));
    CRD_PASS(crd_request_settle(&p->request, NULL));
    p->halo = p->request.halo;
    p->per_block = p->request.plan.count;
    for (int axis = 0; axis < 3; axis++) p->size[axis] = p->request.plan.axes[axis].window;
    return CRD_OK;
}

/* Every process gets everybody's answers. */
static crd_status share_answers(const session *s, crd_exam *out)
{
    crd_status status = CRD_OK;
    const int size = crd_dist_size(s->plan->dist);
    crd_exam *all = NULL;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_alloc(size, sizeof *all, "the exam", &all));
    CRD_TRY(crd_dist_share(s->plan->dist, out, (int64_t)sizeof *out, all));
    for (int rank = 0; rank < size; rank++) {
        int64_t begin, end;
        crd_dist_part(s->block_count, size, rank, &begin, &end);
        for (int64_t i = begin; i < end; i++) out->blocks[i] = all[rank].blocks[i];
        out->broken |= all[rank].broken;
    }
done:
    crd_free(&all);
    return status;
}

/* A request to stop that one process heard ends it for all. */
static crd_status answer_together(session *s, crd_exam *out)
{
    bool stopped;
    const crd_status status = answer(s, out);
    if (status != CRD_OK && status != CRD_ERR_CANCELLED) return status;
    CRD_PASS(crd_dist_any(s->plan->dist, status != CRD_OK, &stopped));
    if (stopped) return crd_fail(CRD_ERR_CANCELLED, "stopped");
    return share_answers(s, out);
}

crd_status crd_exam_hold(const crd_exam_plan *plan, crd_exam *out)
{
    crd_status status = CRD_OK;
    const crd_held_blocks *blocks = crd_dataset_blocks(plan->data);
    session *s = NULL;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_alloc(1, sizeof *s, "the exam", &s));
    s->plan = plan;
    CRD_TRY(crd_settings_default(&crd_predict_settings, &s->options));
    if (plan->mode != NULL) CRD_TRY(crd_settings_set(&crd_predict_settings, &s->options, "mode", plan->mode));
    for (int64_t i = 0; i < blocks->count; i++) {
        if (!blocks->blocks[i].exam) continue;
        s->blocks[s->block_count++] = &blocks->blocks[i];
        CRD_TRY(open_paper(s, blocks->blocks[i].scan));
    }
    out->count = s->block_count;
    if (s->block_count == 0) goto done;
    CRD_TRY(plan_work(s));
    out->samples = s->samples;
    for (int64_t i = 0; i < s->paper_count; i++) s->papers[i].request.samples = s->samples;
    crd_dist_part(s->block_count, crd_dist_size(plan->dist), crd_dist_rank(plan->dist), &s->begin, &s->end);
    CRD_TRY(answer_together(s, out));
done:
    for (int64_t i = 0; s != NULL && i < s->paper_count; i++) crd_free(&s->papers[i].windows);
    if (s != NULL) {
        crd_settings_clear(&crd_predict_settings, &s->options);
        crd_free(&s->moments);
    }
    crd_free(&s);
    return status;
}
