#include "measure/pass.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/monitor.h"

/* Slices at once: few enough to stay near the processor, so many that threads seldom wait for each other. */
enum { BATCH_VOXELS = 1 << 20, LEAST_SLICES = 4, MOST_SLICES = 64, LINE_MAX_VOXELS = 65535 };

static int bits_of(const crd_realisations_info *info, int64_t word)
{
    const int64_t left = info->bits - word * CRD_WORD_BITS;
    return (int)(left < CRD_WORD_BITS ? left : CRD_WORD_BITS);
}

/* Slices of the ring beside the new ones: the one before, or all within the largest lag. */
static int64_t kept_slices(const crd_pass_plan *plan)
{
    return (plan->counted & CRD_COUNT_PAIRS) != 0 && plan->lags[plan->lag_count - 1] > 1
               ? plan->lags[plan->lag_count - 1]
               : 1;
}

/* ---- sets of phases ---- */

/* All phases together are the whole window, so a set and the rest tell the same: the smaller of the two is counted. */
static unsigned counted_set(unsigned phases, int64_t count)
{
    const unsigned rest = ((1u << count) - 1) & ~phases;
    const int own = __builtin_popcount(phases), other = __builtin_popcount(rest);
    return own < other || (own == other && phases < rest) ? phases : rest;
}

/* Every phase, pair and triple of phases, each once: gives how many there are, and lists them. */
static int64_t list_sets(int64_t phases, unsigned *out)
{
    int64_t count = 0;
    for (unsigned set = 1; set < 1u << phases; set++) {
        const int members = __builtin_popcount(set);
        if (members > (phases <= CRD_TRIPLES_MAX ? 3 : 2) || counted_set(set, phases) != set) continue;
        if (out != NULL) out[count] = set;
        count++;
    }
    return count;
}

static int64_t sets_for(const crd_pass_plan *plan)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    return (plan->counted & CRD_COUNT_SETS) != 0 && info->phases > 2 ? list_sets(info->phases, NULL) : 0;
}

static crd_status begin_sets(crd_pass *pass)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(pass->plan.realisations);
    const int64_t count = sets_for(&pass->plan);
    unsigned *listed = NULL;
    if (count == 0) return CRD_OK;
    memcpy(pass->narrow.shape, info->shape, sizeof info->shape);
    pass->narrow.depth = pass->slices + 1;
    CRD_TRY(crd_frame_make(&pass->narrow, info->masked));
    CRD_TRY(crd_alloc(count, sizeof *listed, "sets of phases", &listed));
    (void)list_sets(info->phases, listed);
    CRD_TRY(crd_alloc(count * info->words, sizeof *pass->sets, "sets of phases", &pass->sets));
    for (int64_t i = 0; i < count * info->words; i++) {
        crd_pass_set *set = &pass->sets[i];
        set->phases = listed[i / info->words];
        set->word = i % info->words;
        pass->set_count++;
        CRD_TRY(crd_field_make(&set->field, &pass->narrow, bits_of(info, set->word)));
        CRD_TRY(crd_cells_begin(&set->cells, &set->field, -1, (const int64_t[3]){0}, &pass->rooms));
    }
done:
    crd_free(&listed);
    return status;
}

/* Those of the slices that are this process's. */
static bool own_slices(const crd_pass *pass, int64_t *first, int64_t *end)
{
    const int64_t depth = pass->window.shape[0], parts = pass->plan.processes, part = pass->plan.process;
    if (parts > 1) {
        const int64_t from = depth * part / parts, to = depth * (part + 1) / parts;
        *first = *first > from ? *first : from;
        *end = *end < to ? *end : to;
    }
    return *first < *end;
}

/* New slices as they were read. */
typedef struct new_slices {
    const crd_realisations_info *info;
    int64_t z, count, voxels;
    const uint64_t *words;
    const uint8_t *inside;
    crd_field *field; /* where they go, of which phases and word */
    unsigned phases;
    int64_t word;
} new_slices;

static void put_slice(void *context, int64_t item, int worker)
{
    const new_slices *n = context;
    const int64_t height = n->info->shape[1], width = n->info->shape[2];
    (void)worker;
    for (int64_t y = 0; y < height; y++) {
        crd_realisations_phases(n->info, n->phases, n->word, n->words, n->inside, n->voxels,
                                (item * height + y) * width, width, crd_field_place(n->field, n->z + item, y));
    }
}

static void put_slices(new_slices *new, crd_pool *pool, crd_field *field, unsigned phases, int64_t word)
{
    new->field = field;
    new->phases = phases;
    new->word = word;
    crd_pool_run(pool, new->count, put_slice, new);
}

static void count_sets(crd_pass *pass, crd_pool *pool, new_slices *new)
{
    const int64_t slice = pass->window.shape[1] * pass->window.shape[2];
    for (int64_t k = 0; k < new->count &&new->inside != NULL && pass->set_count > 0; k++) {
        crd_frame_put(&pass->narrow, new->z + k, new->inside + k *slice);
    }
    for (int64_t i = 0; i < pass->set_count; i++) {
        crd_pass_set *set = &pass->sets[i];
        put_slices(new, pool, &set->field, set->phases, set->word);
        int64_t from = new->z, to = new->z + new->count;
        if (own_slices(pass, &from, &to)) crd_cells_slices(&set->cells, pool, from, to);
    }
}

void crd_pass_cells_of(const crd_pass *pass, unsigned phases, int64_t bit, int64_t histogram[CRD_CELL_CODES])
{
    const crd_realisations_info *info = crd_realisations_describe(pass->plan.realisations);
    const unsigned counted = counted_set(phases, info->phases);
    for (int64_t i = 0; i < pass->set_count; i++) {
        const crd_pass_set *set = &pass->sets[i];
        if (set->phases != counted || set->word != bit / CRD_WORD_BITS) continue;
        for (int code = 0; code < CRD_CELL_CODES; code++) {
            histogram[counted == phases ? code : CRD_CELL_CODES - 1 - code] =
                set->cells.inner[bit % CRD_WORD_BITS][code];
        }
    }
}

/* ---- all of it ---- */

static int64_t bytes_for(const crd_pass *pass, int64_t slices, int threads)
{
    const crd_pass_plan *plan = &pass->plan;
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    crd_frame w = pass->window;
    const int64_t voxels = slices * w.shape[1] * w.shape[2];
    w.depth = slices + kept_slices(plan);
    int64_t bytes = crd_frame_bytes(&w, info->masked) + (info->masked ? voxels : 0);
    crd_frame narrow = w;
    narrow.depth = slices + 1;
    const int64_t sets = sets_for(plan);
    bytes += sets > 0 ? crd_frame_bytes(&narrow, info->masked) : 0;
    bytes += crd_cell_rooms_bytes(plan->blocks, threads);
    bytes += info->planes * info->words * voxels * 8 + crd_realisations_read_bytes(plan->realisations, slices, threads);
    bytes += sets * info->words * (crd_field_bytes(&narrow) + crd_cells_bytes((const int64_t[3]){0}));
    for (int64_t word = 0; word < info->words; word++) {
        const int bits = bits_of(info, word);
        int64_t part = crd_field_bytes(&w) + crd_cells_bytes(plan->blocks);
        if ((plan->counted & (CRD_COUNT_COMPONENTS | CRD_COUNT_CHORDS)) != 0) {
            /* runs: one for every eight voxels of two slices, twice as much while they grow */
            part += crd_components_bytes(&w, bits, slices) + bits * (w.shape[1] * w.shape[2] / 8) * 2 * 2 * 12;
        }
        if ((plan->counted & CRD_COUNT_CHORDS) != 0) part += crd_chords_bytes(&w, bits, threads);
        if ((plan->counted & CRD_COUNT_PAIRS) != 0) part += crd_twopoint_bytes(plan->lag_count, w.shape[2], threads);
        bytes += plan->phase_count * part;
    }
    return bytes;
}

static int64_t best_slices(const crd_pass *pass)
{
    const crd_realisations_info *info = crd_realisations_describe(pass->plan.realisations);
    int64_t slices = BATCH_VOXELS / (info->shape[1] * info->shape[2]);
    slices = slices < LEAST_SLICES ? LEAST_SLICES : slices;
    slices = (slices + info->layer - 1) / info->layer * info->layer; /* blocks of a file are read whole */
    return slices < MOST_SLICES ? slices : MOST_SLICES;
}

static crd_status plan_slices(crd_pass *pass, int threads)
{
    const crd_pass_plan *plan = &pass->plan;
    const int64_t depth = pass->window.shape[0];
    int64_t most = plan->most_slices > 0 ? plan->most_slices : best_slices(pass);
    if (most > depth) most = depth;
    while (most > 1 && bytes_for(pass, most, threads) > plan->memory_bytes) most--;
    pass->slices = most;
    pass->bytes = bytes_for(pass, most, threads);
    if (pass->bytes <= plan->memory_bytes) return CRD_OK;
    return crd_fail(CRD_ERR_MEMORY,
                    "max-memory: %.0f MiB are needed to measure this, and %.0f may be used; allow more, take fewer "
                    "--lags or leave out properties (s2, chords), phases or samples",
                    ceil((double)pass->bytes / 0x1p20), floor((double)plan->memory_bytes / 0x1p20));
}

static crd_status begin_part(crd_pass *pass, crd_pass_part *part, int threads)
{
    const crd_pass_plan *plan = &pass->plan;
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const int64_t first = part->word * CRD_WORD_BITS;
    const bool own = info->segmentation >= first && info->segmentation < first + CRD_WORD_BITS;
    const bool runs = (plan->counted & (CRD_COUNT_COMPONENTS | CRD_COUNT_CHORDS)) != 0;
    CRD_PASS(crd_field_make(&part->field, &pass->window, bits_of(info, part->word)));
    CRD_PASS(crd_cells_begin(&part->cells, &part->field, own ? (int)(info->segmentation - first) : -1,
                             own ? plan->blocks : (const int64_t[3]){0}, &pass->rooms));
    if (runs) {
        CRD_PASS(crd_components_begin(&part->components, &part->field, plan->neighbours,
                                      (plan->counted & CRD_COUNT_COMPONENTS) != 0,
                                      (plan->counted & CRD_COUNT_CHORDS) != 0, pass->slices));
    }
    if ((plan->counted & CRD_COUNT_CHORDS) != 0) CRD_PASS(crd_chords_begin(&part->chords, &part->field, threads));
    if (plan->processes > 1) {
        uint64_t mine = 0;
        for (int bit = 0; bit < bits_of(info, part->word); bit++) {
            mine |= (uint64_t)(bit % plan->processes == plan->process) << bit;
        }
        part->components.mine = part->chords.mine = mine;
    }
    if ((plan->counted & CRD_COUNT_PAIRS) != 0) {
        CRD_PASS(crd_twopoint_begin(&part->pairs, &part->field, plan->lags, plan->lag_count, threads));
    }
    return CRD_OK;
}

static crd_status plan_all(crd_pass *pass, const crd_pass_plan *plan, int threads)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    memset(pass, 0, sizeof *pass);
    pass->plan = *plan;
    memcpy(pass->window.shape, info->shape, sizeof info->shape);
    for (int axis = 0; axis < 3; axis++) {
        if (info->shape[axis] <= LINE_MAX_VOXELS) continue;
        return crd_fail(CRD_ERR_UNSUPPORTED, "the volume has %lld voxels along %c, and at most %d can be measured",
                        (long long)info->shape[axis], "zyx"[axis], LINE_MAX_VOXELS);
    }
    return plan_slices(pass, threads);
}

crd_status crd_pass_needs(crd_pass *pass, const crd_pass_plan *plan, crd_pool *pool, int64_t *bytes, int64_t *sets)
{
    CRD_PASS(plan_all(pass, plan, crd_pool_threads(pool)));
    *bytes = pass->bytes;
    *sets = sets_for(plan);
    return CRD_OK;
}

crd_status crd_pass_begin(crd_pass *pass, const crd_pass_plan *plan, crd_pool *pool)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const int threads = crd_pool_threads(pool);
    CRD_PASS(plan_all(pass, plan, threads));
    pass->window.depth = pass->slices + kept_slices(plan);
    CRD_PASS(crd_frame_make(&pass->window, info->masked));
    CRD_PASS(crd_cell_rooms_make(&pass->rooms, plan->blocks, threads));
    CRD_PASS(crd_alloc(plan->phase_count * info->words, sizeof *pass->parts, "the phases", &pass->parts));
    pass->part_count = plan->phase_count * info->words;
    for (int64_t i = 0; i < pass->part_count; i++) {
        pass->parts[i].phase = i / info->words;
        pass->parts[i].word = i % info->words;
        CRD_PASS(begin_part(pass, &pass->parts[i], threads));
    }
    return begin_sets(pass);
}

void crd_pass_end(crd_pass *pass)
{
    for (int64_t i = 0; pass->parts != NULL && i < pass->part_count; i++) {
        crd_pass_part *part = &pass->parts[i];
        crd_cells_end(&part->cells);
        crd_twopoint_end(&part->pairs);
        crd_components_end(&part->components);
        crd_chords_end(&part->chords);
        crd_field_free(&part->field);
    }
    crd_free(&pass->parts);
    for (int64_t i = 0; pass->sets != NULL && i < pass->set_count; i++) {
        crd_cells_end(&pass->sets[i].cells);
        crd_field_free(&pass->sets[i].field);
    }
    crd_free(&pass->sets);
    crd_cell_rooms_free(&pass->rooms);
    crd_frame_free(&pass->window);
    crd_frame_free(&pass->narrow);
}

static crd_status count_part(crd_pass *pass, crd_pass_part *part, crd_pool *pool, int64_t first, int64_t end)
{
    const unsigned counted = pass->plan.counted;
    int64_t from = first, to = end;
    if (own_slices(pass, &from, &to)) {
        crd_cells_slices(&part->cells, pool, from, to);
        if ((counted & CRD_COUNT_PAIRS) != 0) crd_twopoint_slices(&part->pairs, pool, from, to);
    }
    if ((counted & (CRD_COUNT_COMPONENTS | CRD_COUNT_CHORDS)) != 0) {
        CRD_PASS(crd_components_slices(&part->components, pool, first, end));
    }
    if ((counted & CRD_COUNT_CHORDS) != 0) crd_chords_slices(&part->chords, pool, first, end);
    return CRD_OK;
}

static crd_status count_slices(crd_pass *pass, crd_pool *pool, new_slices *new)
{
    const int64_t slice = pass->window.shape[1] * pass->window.shape[2];
    for (int64_t k = 0; k < new->count &&new->inside != NULL; k++) {
        crd_frame_put(&pass->window, new->z + k, new->inside + k *slice);
        for (int64_t i = 0; i < slice && pass->plan.process == 0; i++) pass->voxels += new->inside[k * slice + i];
    }
    if (new->inside == NULL && pass->plan.process == 0) pass->voxels += new->voxels;
    for (int64_t i = 0; i < pass->part_count; i++) {
        crd_pass_part *part = &pass->parts[i];
        put_slices(new, pool, &part->field, 1u << pass->plan.phases[part->phase], part->word);
        CRD_PASS(count_part(pass, part, pool, new->z, new->z + new->count));
    }
    count_sets(pass, pool, new);
    return CRD_OK;
}

crd_status crd_pass_run(crd_pass *pass, crd_pool *pool, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_realisations *r = pass->plan.realisations;
    const crd_realisations_info *info = crd_realisations_describe(r);
    const int64_t depth = pass->window.shape[0], slice = pass->window.shape[1] * pass->window.shape[2];
    uint64_t *words = NULL;
    uint8_t *inside = NULL;
    CRD_TRY(crd_alloc(info->planes * info->words * pass->slices * slice, sizeof *words, "slices", &words));
    if (info->masked) CRD_TRY(crd_alloc(pass->slices * slice, 1, "slices", &inside));
    for (int64_t z = 0; z < depth;) {
        const int64_t slices = depth - z < pass->slices ? depth - z : pass->slices;
        CRD_TRY(crd_advance(monitor, "measuring", "slices", z, depth, ""));
        CRD_TRY(crd_realisations_read(r, pool, z, slices, words, inside));
        CRD_TRY(count_slices(
            pass, pool,
            &(new_slices){
                .info = info, .z = z, .count = slices, .voxels = slices * slice, .words = words, .inside = inside}));
        z += slices;
    }
    CRD_TRY(crd_advance(monitor, "measuring", "slices", depth, depth, ""));
done:
    crd_free(&words);
    crd_free(&inside);
    return status;
}

const crd_pass_part *crd_pass_part_of(const crd_pass *pass, int64_t phase, int64_t bit, int *own)
{
    const crd_realisations_info *info = crd_realisations_describe(pass->plan.realisations);
    *own = (int)(bit % CRD_WORD_BITS);
    return &pass->parts[phase * info->words + bit / CRD_WORD_BITS];
}
