#include "view/loop/scout.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "chunk/mask.h"
#include "view/view.h"

struct crd_scout {
    pthread_mutex_t lock; /* of the two below */
    char run[256];        /* whose boxes they are; "": there is no run of the whole scan */
    crd_candidates candidates;
    /* The builder's: what it has measured, or tried to, and what it is at. */
    char tried[256];
    int64_t tried_size[3];
    atomic_int share; /* thousandths; 1000: it is at nothing */
};

crd_status crd_scout_open(crd_scout **out)
{
    crd_scout *scout = NULL;
    CRD_PASS(crd_alloc(1, sizeof *scout, "the survey of boxes", &scout));
    if (pthread_mutex_init(&scout->lock, NULL) != 0) {
        crd_free(&scout);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    atomic_store(&scout->share, 1000);
    *out = scout;
    return CRD_OK;
}

void crd_scout_close(crd_scout **scout)
{
    if (*scout == NULL) return;
    crd_candidates_free(&(*scout)->candidates);
    pthread_mutex_destroy(&(*scout)->lock);
    crd_free(scout);
}

/* ---- measuring, on the builder's thread ---- */

/* The layer of that name of the run with the uncertainty `map`; -1: none. */
static int layer_of(const crd_layers *layers, const char *id, int map)
{
    for (int i = 0; i < layers->count; i++) {
        if (strcmp(layers->items[i].id, id) == 0 && strcmp(layers->items[i].run, layers->items[map].run) == 0) return i;
    }
    return -1;
}

/* The uncertainty of the latest complete run of the whole scan; -1: there is none. */
static int find_map(const crd_layers *layers)
{
    for (int i = layers->count - 1; i >= 0; i--) {
        const crd_layer *layer = &layers->items[i];
        if (strcmp(layer->id, "uncertainty") != 0 || layer->written != NULL || layer->aside) continue;
        if (memcmp(layer->info.shape, layers->items[0].info.shape, sizeof layer->info.shape) == 0) return i;
    }
    return -1;
}

static bool pause_measuring(void *context, double share)
{
    crd_view *view = context;
    atomic_store(&view->scout->share, (int)(999.0 * share));
    return crd_builder_pause(view);
}

static crd_status open_layer(const crd_layers *layers, int number, crd_volume **out)
{
    return number >= 0 ? crd_volume_open_again(layers->items[number].source, out) : CRD_OK;
}

static crd_status measure(crd_view *view, int map, crd_candidates *candidates, bool *done)
{
    crd_status status = CRD_OK;
    const crd_layers *layers = &view->layers;
    const int probability = layer_of(layers, "probability", map), classes = layer_of(layers, "segmentation", map);
    crd_candidate_sources from = {.uncertainty_scale = layers->items[map].scale};
    if (probability >= 0) from.probability_scale = layers->items[probability].scale;
    CRD_TRY(open_layer(layers, 0, &from.scan));
    CRD_TRY(open_layer(layers, map, &from.uncertainty));
    CRD_TRY(open_layer(layers, probability, &from.probability));
    CRD_TRY(open_layer(layers, classes, &from.segmentation));
    if (view->mask != NULL) CRD_TRY(crd_mask_open(view->mask, layers->items[0].info.shape, &from.mask));
    status = crd_candidates_measure(&from, pause_measuring, view, candidates, done);
done:
    crd_volume_close(&from.scan);
    crd_volume_close(&from.uncertainty);
    crd_volume_close(&from.probability);
    crd_volume_close(&from.segmentation);
    crd_volume_close(&from.mask);
    return status;
}

static void tell(crd_view *view)
{
    crd_events_add(view->events, "proposals", "{}");
    view->http->wake(view->server);
}

void crd_scout_advance(crd_view *view)
{
    crd_scout *scout = view->scout;
    const crd_layers *layers = &view->layers;
    const int map = layers->items[0].kind == CRD_LAYER_SCAN ? find_map(layers) : -1;
    crd_loop_facts facts;
    crd_candidates next;
    bool done = false;
    if (map < 0 || crd_loop_describe(view->loop, &facts) != CRD_OK) return;
    if (strcmp(scout->tried, layers->items[map].run) == 0 &&
        memcmp(scout->tried_size, facts.size, sizeof facts.size) == 0) {
        return;
    }
    snprintf(scout->tried, sizeof scout->tried, "%s", layers->items[map].run);
    memcpy(scout->tried_size, facts.size, sizeof facts.size);
    atomic_store(&scout->share, 0);
    crd_candidates_grid(layers->items[0].info.shape, facts.size, &next);
    const crd_status status = measure(view, map, &next, &done);
    if (status != CRD_OK) crd_view_complain(view);
    if (status == CRD_OK && done) {
        pthread_mutex_lock(&scout->lock);
        crd_candidates_free(&scout->candidates);
        scout->candidates = next;
        snprintf(scout->run, sizeof scout->run, "%s", scout->tried);
        pthread_mutex_unlock(&scout->lock);
        next.items = NULL;
    }
    crd_candidates_free(&next);
    atomic_store(&scout->share, 1000);
    if (done) tell(view);
}

/* ---- proposing ---- */

typedef struct labelled {
    const crd_candidates *grid;
    int64_t halves[3];
    uint32_t *counts; /* by half box */
} labelled;

static crd_status count_block(void *context, const int64_t index[3], const uint8_t *voxels)
{
    const labelled *l = context;
    for (int64_t i = 0; i < CRD_BLOCK_VOXELS; i++) {
        if (voxels[i] == CRD_UNLABELLED) continue;
        const int64_t at[3] = {index[0] * CRD_BLOCK_EDGE + i / CRD_BLOCK_EDGE / CRD_BLOCK_EDGE,
                               index[1] * CRD_BLOCK_EDGE + i / CRD_BLOCK_EDGE % CRD_BLOCK_EDGE,
                               index[2] * CRD_BLOCK_EDGE + i % CRD_BLOCK_EDGE};
        int64_t half = 0;
        bool within = true;
        for (int k = 0; k < 3; k++) {
            const int64_t own = at[k] / l->grid->step[k];
            within = within && own < l->halves[k];
            half = half * l->halves[k] + own;
        }
        if (within) l->counts[half]++;
    }
    return CRD_OK;
}

static crd_status find_labelled(crd_view *view, const crd_candidates *grid, uint8_t *states)
{
    crd_status status = CRD_OK;
    labelled l = {.grid = grid};
    int64_t count;
    for (int i = 0; i < 3; i++) l.halves[i] = grid->counts[i] + (grid->size[i] > 1);
    CRD_TRY(crd_product(l.halves[0], l.halves[1], l.halves[2], &count));
    CRD_TRY(crd_alloc(count, sizeof *l.counts, "labels of boxes", &l.counts));
    CRD_TRY(crd_labels_visit(view->labels, count_block, &l));
    for (int64_t i = 0; i < grid->count; i++) {
        const int64_t index[3] = {i / grid->counts[2] / grid->counts[1], i / grid->counts[2] % grid->counts[1],
                                  i % grid->counts[2]};
        int64_t voxels = 0;
        for (int corner = 0; corner < 8; corner++) {
            int64_t half = 0;
            bool within = true;
            for (int k = 0; k < 3; k++) {
                const int64_t own = index[k] + (corner >> k & 1);
                within = within && own < l.halves[k];
                half = half * l.halves[k] + own;
            }
            if (within) voxels += l.counts[half];
        }
        const int64_t all = grid->size[0] * grid->size[1] * grid->size[2];
        states[i] = 10 * voxels > all ? CRD_CANDIDATE_LABELLED : CRD_CANDIDATE_FREE;
    }
done:
    crd_free(&l.counts);
    return status;
}

/* The boxes along an axis within `margin` cells of a cell: first to last. */
static void reach_of(const crd_candidates *grid, int axis, int64_t cell, int64_t margin, int64_t *first, int64_t *last)
{
    const int64_t step = grid->step[axis], low = (cell - margin) * CRD_CELL_EDGE - grid->size[axis] + 1;
    *first = low > 0 ? (low + step - 1) / step : 0;
    *last = ((cell + margin + 1) * CRD_CELL_EDGE - 1) / step;
    if (*last >= grid->counts[axis]) *last = grid->counts[axis] - 1;
}

/* What lies nearer to a held-out cell than `apart` isn't to be proposed. */
static void keep_apart(const crd_candidates *grid, const crd_cells *held, int64_t apart, uint8_t *states)
{
    const int64_t margin = apart / CRD_CELL_EDGE, *counts = held->counts;
    for (int64_t i = 0; i < counts[0] * counts[1] * counts[2]; i++) {
        int64_t first[3], last[3];
        if ((held->marks[i] & CRD_CELL_HELD) == 0) continue;
        reach_of(grid, 0, i / counts[2] / counts[1], margin, &first[0], &last[0]);
        reach_of(grid, 1, i / counts[2] % counts[1], margin, &first[1], &last[1]);
        reach_of(grid, 2, i % counts[2], margin, &first[2], &last[2]);
        for (int64_t z = first[0]; z <= last[0]; z++) {
            for (int64_t y = first[1]; y <= last[1]; y++) {
                uint8_t *row = states + (z * grid->counts[1] + y) * grid->counts[2];
                for (int64_t x = first[2]; x <= last[2]; x++) {
                    if (row[x] == CRD_CANDIDATE_FREE) row[x] = CRD_CANDIDATE_NOT;
                }
            }
        }
    }
}

typedef struct asked {
    crd_view *view;
    const crd_candidates *grid;
    const uint8_t *states;
} asked;

static crd_status may_propose(void *context, int64_t candidate, bool *free)
{
    const asked *a = context;
    crd_box box;
    *free = a->states[candidate] == CRD_CANDIDATE_FREE;
    if (!*free) return CRD_OK;
    crd_candidates_box(a->grid, candidate, &box);
    return crd_loop_inside(a->view->loop, &box, free);
}

static void add_place(crd_text *text, const char *name, const int64_t at[3])
{
    crd_text_print(text, ",\"%s\":[%lld,%lld,%lld]", name, (long long)at[0], (long long)at[1], (long long)at[2]);
}

static void add_proposal(crd_text *text, const crd_candidates *grid, const crd_proposal *proposal)
{
    const crd_candidate *candidate = grid->items != NULL ? &grid->items[proposal->candidate] : NULL;
    char words[CRD_BOX_WORDS];
    crd_box box;
    crd_candidates_box(grid, proposal->candidate, &box);
    crd_box_words(&box, words);
    const int64_t high[3] = {box.origin[0] + box.size[0], box.origin[1] + box.size[1], box.origin[2] + box.size[2]};
    crd_text_print(text, "{\"box\":\"%s\"", words);
    add_place(text, "low", box.origin);
    add_place(text, "high", high);
    crd_text_add(text, ",\"mean\":");
    crd_text_real(text, candidate != NULL ? candidate->uncertainty : (double)NAN);
    crd_text_add(text, ",\"edges\":");
    crd_text_real(text, candidate != NULL ? candidate->edges : (double)NAN);
    crd_text_add(text, ",\"excess\":");
    crd_text_real(text, proposal->excess);
    crd_text_add(text, "}");
}

/* `grid` has figures, or there is no run. */
static crd_status propose(crd_view *view, const crd_candidates *grid, const char *run, crd_proposal_order order,
                          int most, crd_text *text)
{
    crd_status status = CRD_OK;
    crd_proposal chosen[CRD_PROPOSALS];
    crd_loop_facts facts;
    uint8_t *begin = NULL, *states = NULL;
    crd_cells held = {.marks = NULL};
    int count = 0;
    double a = (double)NAN, b = (double)NAN;
    CRD_TRY(crd_loop_describe(view->loop, &facts));
    CRD_TRY(crd_alloc(grid->count, 1, "boxes to propose", &begin));
    CRD_TRY(crd_alloc(grid->count, 1, "boxes to propose", &states));
    CRD_TRY(find_labelled(view, grid, begin));
    CRD_TRY(crd_loop_cells(view->loop, &held));
    /* As far from held-out boxes as leaves enough of them: in a small scan that may be the margin alone. */
    for (int64_t apart = CRD_LOOP_APART; apart >= CRD_CELL_EDGE && count < most; apart /= 2) {
        memcpy(states, begin, (size_t)grid->count);
        keep_apart(grid, &held, apart, states);
        if (order == CRD_PROPOSE_RANDOM) {
            asked context = {.view = view, .grid = grid, .states = states};
            CRD_TRY(crd_propose_random(grid, facts.seed, facts.number, may_propose, &context, most, chosen, &count));
        } else {
            CRD_TRY(crd_propose(grid, states, order, most, chosen, &count, &a, &b));
        }
    }
    crd_text_print(text, "{\"ready\":true,\"there\":1,\"order\":\"%s\",\"run\":", crd_proposal_orders[order]);
    crd_text_json(text, grid->items != NULL ? run : NULL);
    crd_text_add(text, ",\"a\":");
    crd_text_real(text, a);
    crd_text_add(text, ",\"b\":");
    crd_text_real(text, b);
    crd_text_add(text, ",\"proposals\":[");
    for (int i = 0; i < count; i++) {
        if (i > 0) crd_text_add(text, ",");
        add_proposal(text, grid, &chosen[i]);
    }
    crd_text_add(text, "]}\n");
done:
    crd_free(&begin);
    crd_free(&states);
    crd_cells_free(&held);
    return status;
}

crd_status crd_scout_propose(crd_view *view, crd_proposal_order order, int most, crd_text *text)
{
    crd_scout *scout = view->scout;
    crd_status status = CRD_OK;
    crd_loop_facts facts;
    CRD_PASS(crd_loop_describe(view->loop, &facts));
    const int share = atomic_load(&scout->share);
    const bool run = view->layers.items[0].kind == CRD_LAYER_SCAN && find_map(&view->layers) >= 0;
    pthread_mutex_lock(&scout->lock);
    const bool fits =
        scout->candidates.items != NULL && memcmp(scout->candidates.size, facts.size, sizeof facts.size) == 0;
    if (run && share < 1000 && (!fits || order != CRD_PROPOSE_RANDOM)) {
        crd_text_print(text, "{\"ready\":false,\"there\":%.3f,\"order\":\"%s\",\"run\":null,\"proposals\":[]}\n",
                       share / 1000.0, crd_proposal_orders[order]);
    } else if (fits) {
        status = propose(view, &scout->candidates, scout->run, order, most, text);
    } else {
        crd_candidates grid;
        crd_candidates_grid(view->layers.items[0].info.shape, facts.size, &grid);
        status = propose(view, &grid, "", CRD_PROPOSE_RANDOM, most, text);
    }
    pthread_mutex_unlock(&scout->lock);
    return status;
}
