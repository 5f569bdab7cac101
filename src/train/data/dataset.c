/* Which pairs there are, what their labels mean, what is held back, and which chunks there are to read. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "chunk/pieces.h"
#include "net/provenance.h"
#include "train/data/centred.h"
#include "train/data/dataset_internal.h"
#include "train/record.h"

crd_status crd_dataset_create(const crd_dataset_options *options, crd_dataset **out)
{
    crd_status status = CRD_OK;
    crd_dataset *dataset = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *dataset, "the data set", &dataset));
    dataset->options = *options;
    *out = dataset;
    dataset = NULL;
done:
    crd_dataset_close(&dataset);
    return status;
}

void crd_dataset_close(crd_dataset **pointer)
{
    crd_dataset *dataset = *pointer;
    if (dataset == NULL) return;
    for (int64_t i = 0; i < dataset->pair_count; i++) {
        crd_scan_close(&dataset->pairs[i].scan);
        crd_label_close(&dataset->pairs[i].label);
        crd_label_map_free(&dataset->pairs[i].map);
        crd_free(&dataset->pairs[i].learnt);
    }
    crd_free(&dataset->pairs);
    if (!dataset->lent) {
        crd_free(&dataset->numbers);
        crd_free(&dataset->places);
    }
    crd_dataset_free_rooms(dataset);
    crd_free(pointer);
}

/* Grows an array to hold one more, by doubling. */
static crd_status make_room(void *array, int64_t count, int64_t *room, size_t size)
{
    void *old, *larger = NULL;
    if (count < *room) return CRD_OK;
    memcpy(&old, array, sizeof old);
    const int64_t wanted = *room > 0 ? 2 * *room : 64;
    CRD_PASS(crd_alloc(wanted, size, "the list of chunks", &larger));
    if (count > 0) memcpy(larger, old, (size_t)count * size);
    crd_free_untyped(array);
    memcpy(array, &larger, sizeof larger);
    *room = wanted;
    return CRD_OK;
}

static crd_status append_pair(crd_dataset *dataset, const crd_pair *added)
{
    int64_t room = dataset->pair_count;
    CRD_PASS(make_room(&dataset->pairs, dataset->pair_count, &room, sizeof *dataset->pairs));
    dataset->pairs[dataset->pair_count++] = *added;
    return CRD_OK;
}

/* Lists a chunk of a pair if it holds any label that isn't held back. */
static crd_status list_chunk(crd_dataset *dataset, const crd_pair *p, int64_t number)
{
    const crd_box window = crd_pair_chunk(p, number);
    int64_t counts[3], labelled = 1;
    crd_label_counts(p->label, counts);
    const crd_label_presence unknown = counts[2] == 0 ? CRD_LABELS_PRESENT : CRD_LABELS_PERHAPS;
    crd_label_presence presence = p->map != NULL ? crd_label_map_look(p->map, &window) : unknown;
    if (presence == CRD_LABELS_ABSENT) return CRD_OK;
    if (crd_scan_masked(p->scan) || crd_blocks_touch(&dataset->hidden, p->source, &window)) {
        presence = CRD_LABELS_PERHAPS;
    }
    if (presence == CRD_LABELS_PERHAPS) CRD_PASS(crd_dataset_count_labelled(dataset, p, &window, &labelled));
    if (labelled == 0) return CRD_OK;
    CRD_PASS(make_room(&dataset->numbers, dataset->chunk_count, &dataset->room, sizeof *dataset->numbers));
    dataset->numbers[dataset->chunk_count++] = number;
    return CRD_OK;
}

/* Lists the chunks of a pair, after those of the pairs before it: those of a plan or, where there are few labels, some
 * around each labelled place. */
static crd_status list_chunks(crd_dataset *dataset, crd_pair *p, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    const int64_t *shape = crd_scan_info(p->scan)->shape, *chunk = dataset->options.chunk;
    int64_t *origins = NULL, count;
    CRD_TRY(crd_plan_make(shape, chunk, dataset->options.step, 0.0, &p->plan));
    p->centred = p->map != NULL && dataset->options.centre && crd_labels_are_sparse(p->map, chunk);
    count = p->plan.count;
    if (p->centred) {
        CRD_TRY(crd_centred_origins(p->map, chunk, &origins, &count));
        crd_info(monitor, "labels of %s are few, or far apart: the pieces to learn from are centred on them", p->path);
    }
    for (int64_t i = 0; i < count; i++) CRD_TRY(list_chunk(dataset, p, p->centred ? origins[i] : i));
    p->end = dataset->chunk_count;
done:
    crd_free(&origins);
    return status;
}

/* In place of what the files say, which is wrong then. */
static bool spacing_given(const crd_dataset *dataset)
{
    return dataset->options.volume != NULL && dataset->options.volume->spacing[0] > 0.0;
}

static void compare_spacing(const crd_monitor *monitor, const char *scan_path, const char *label_path,
                            const crd_pair *p)
{
    const crd_volume_info *scan = crd_scan_info(p->scan), *label = crd_label_info(p->label);
    for (int axis = 0; axis < 3; axis++) {
        const double a = scan->spacing[axis], b = label->spacing[axis];
        if (a > 0.0 && b > 0.0 && (fabs(a - b) > 1e-3 * a || strcmp(scan->unit, label->unit) != 0)) {
            crd_warn(monitor, "the spacing of %s (%g %s along %c) and of %s (%g %s) differ; are they of one scan?",
                     scan_path, a, scan->unit, "zyx"[axis], label_path, b, label -> unit);
            return;
        }
    }
}

crd_status crd_dataset_add(crd_dataset *dataset, const char *scan, const char *label, const char *mask,
                           const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_pair p = {.path = scan, .source = dataset->pair_count};
    const crd_scan_options options = {.volume = dataset->options.volume, .norm = dataset->options.norm, .mask = mask};
    CRD_TRY(crd_scan_open(scan, &options, monitor, &p.scan));
    CRD_TRY(crd_label_learn(label, crd_scan_info(p.scan)->shape, dataset->options.label.volume, monitor, &p.label));
    if (!spacing_given(dataset)) compare_spacing(monitor, scan, label, &p);
    crd_record_join(&dataset->record, p.scan);
    CRD_TRY(append_pair(dataset, &p));
    p = (crd_pair){0};
done:
    crd_scan_close(&p.scan);
    crd_label_close(&p.label);
    return status;
}

static crd_status decide_labels(crd_dataset *const *datasets, int64_t count, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_label **labels = NULL;
    int64_t label_count = 0;
    for (int64_t i = 0; i < count; i++) label_count += datasets[i]->pair_count;
    CRD_TRY(crd_alloc(label_count, sizeof(crd_label *), "the list of labels", &labels));
    label_count = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < datasets[i]->pair_count; k++) labels[label_count++] = datasets[i]->pairs[k].label;
    }
    CRD_TRY(crd_label_decide(labels, label_count, &datasets[0]->options.label, monitor));
done:
    crd_free(&labels);
    return status;
}

/* Maps of the labels, where they are needed: to find the chunks of a partly labelled scan, or the blocks. */
static crd_status map_labels(crd_dataset *dataset, const crd_monitor *monitor)
{
    for (int64_t i = 0; i < dataset->pair_count; i++) {
        crd_pair *p = &dataset->pairs[i];
        int64_t counts[3], classes[CRD_CLASSES_MAX];
        crd_label_counts(p->label, counts);
        crd_label_class_counts(p->label, classes);
        for (int k = 0; k < CRD_CLASSES_MAX; k++) dataset->classes[k] += classes[k];
        if (dataset->options.held_back == 0.0 && (counts[2] == 0 || counts[0] + counts[1] == 0)) continue;
        CRD_PASS(crd_label_map_make(p->label, p->scan, crd_label_meaning(p->label)->count, monitor, &p->map));
    }
    return CRD_OK;
}

static crd_status hold_back(crd_dataset *dataset, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    const crd_label_map **maps = NULL;
    int64_t *sources = NULL;
    if (dataset->options.held_back == 0.0) return CRD_OK;
    CRD_TRY(crd_alloc(dataset->pair_count, sizeof *maps, "the maps of the labels", &maps));
    CRD_TRY(crd_alloc(dataset->pair_count, sizeof *sources, "the maps of the labels", &sources));
    for (int64_t i = 0; i < dataset->pair_count; i++) {
        maps[i] = dataset->pairs[i].map;
        sources[i] = dataset->pairs[i].source;
    }
    CRD_TRY(crd_blocks_choose(maps, sources, dataset->pair_count, dataset->options.held_back, dataset->options.seed,
                              &dataset->blocks));
    dataset->hidden = dataset->blocks;
    for (int64_t i = 0; i < dataset->hidden.count; i++) {
        crd_held_block *block = &dataset->hidden.blocks[i];
        block->scan = dataset->pairs[block->scan].source;
    }
    if (dataset->blocks.count == 0) {
        crd_warn(monitor, "there are too few labels, or they lie too close together, to hold some back: all are learnt "
                          "from, and how good the model is can't be said; label more, or give a second labelled scan "
                          "(--valid-scan, --valid-label)");
    }
done:
    crd_free(&maps);
    crd_free(&sources);
    return status;
}

/* Cells that hold labels and don't lie wholly in a block or its margin. Without a map all is labelled. */
static crd_status map_learnt(crd_dataset *dataset, int64_t number)
{
    crd_pair *p = &dataset->pairs[number];
    int64_t cells[3], words;
    CRD_PASS(crd_learnt_size(crd_scan_info(p->scan)->shape, cells, &words));
    CRD_PASS(crd_alloc(words, sizeof *p->learnt, "the map of what is learnt from", &p->learnt));
    for (int64_t i = 0; i < cells[0] * cells[1] * cells[2]; i++) {
        const int64_t z = i / cells[2] / cells[1], y = i / cells[2] % cells[1], x = i % cells[2];
        const crd_box cell = {{z * CRD_CELL, y * CRD_CELL, x * CRD_CELL}, {CRD_CELL, CRD_CELL, CRD_CELL}};
        int64_t counts[CRD_CLASSES_MAX] = {0};
        if (p->map != NULL && crd_label_map_add(p->map, &cell, counts) == 0) continue;
        if (!crd_blocks_cover(&dataset->hidden, p->source, &cell)) crd_learnt_mark(p->learnt, i);
    }
    return CRD_OK;
}

crd_status crd_dataset_settle(crd_dataset *const *datasets, int64_t count, const crd_monitor *monitor)
{
    CRD_PASS(decide_labels(datasets, count, monitor));
    for (int64_t i = 0; i < count; i++) {
        CRD_PASS(map_labels(datasets[i], monitor));
        CRD_PASS(hold_back(datasets[i], monitor));
        for (int64_t k = 0; k < datasets[i]->pair_count; k++) {
            CRD_PASS(list_chunks(datasets[i], &datasets[i]->pairs[k], monitor));
            CRD_PASS(map_learnt(datasets[i], k));
            crd_label_map_free(&datasets[i]->pairs[k].map);
        }
    }
    return CRD_OK;
}

static crd_status reopen_pair(const crd_pair *from, crd_dataset *dataset)
{
    crd_status status = CRD_OK;
    crd_pair p = {.plan = from->plan, .centred = from->centred, .end = from->end, .source = from->source};
    CRD_TRY(crd_scan_reopen(from->scan, &p.scan));
    CRD_TRY(crd_label_reopen(from->label, &p.label));
    CRD_TRY(append_pair(dataset, &p));
    p = (crd_pair){0};
done:
    crd_scan_close(&p.scan);
    crd_label_close(&p.label);
    return status;
}

/* Chunks around a block: it is cut into cores no larger than a chunk, and each lies in the middle of one as far as the
 * scan allows. */
static crd_status list_places(crd_dataset *dataset, int64_t pair_number, int64_t number, const crd_box *block)
{
    const int64_t *shape = crd_scan_info(dataset->pairs[pair_number].scan)->shape, *chunk = dataset->options.chunk;
    int64_t parts[3];
    for (int axis = 0; axis < 3; axis++) parts[axis] = (block->size[axis] + chunk[axis] - 1) / chunk[axis];
    for (int64_t i = 0; i < parts[0] * parts[1] * parts[2]; i++) {
        const int64_t at[3] = {i / parts[2] / parts[1], i / parts[2] % parts[1], i % parts[2]};
        crd_place added = {.pair = pair_number, .block = number};
        for (int axis = 0; axis < 3; axis++) {
            const int64_t begin = block->size[axis] * at[axis] / parts[axis];
            const int64_t end = block->size[axis] * (at[axis] + 1) / parts[axis], last = shape[axis] - chunk[axis];
            added.core.origin[axis] = block->origin[axis] + begin;
            added.core.size[axis] = end - begin;
            added.window.size[axis] = chunk[axis];
            const int64_t middle = added.core.origin[axis] - (chunk[axis] - added.core.size[axis]) / 2;
            added.window.origin[axis] = middle < 0 ? 0 : middle > last ? last : middle;
        }
        CRD_PASS(make_room(&dataset->places, dataset->chunk_count, &dataset->room, sizeof *dataset->places));
        dataset->places[dataset->chunk_count++] = added;
    }
    return CRD_OK;
}

crd_status crd_dataset_add_checks(crd_dataset *dataset, const crd_dataset *from)
{
    for (int64_t i = 0; i < from->pair_count; i++) CRD_PASS(reopen_pair(&from->pairs[i], dataset));
    for (int64_t i = 0; i < from->blocks.count; i++) {
        const crd_held_block *block = &from->blocks.blocks[i];
        if (block->exam) continue;
        CRD_PASS(list_places(dataset, block->scan, i, &block->box));
        for (int k = 0; k < CRD_CLASSES_MAX; k++) dataset->classes[k] += block->counts[k];
    }
    return CRD_OK;
}

crd_status crd_dataset_reopen(const crd_dataset *dataset, crd_dataset **out)
{
    crd_status status = CRD_OK;
    crd_dataset *copy = NULL;
    *out = NULL;
    CRD_TRY(crd_dataset_create(&dataset->options, &copy));
    for (int64_t i = 0; i < dataset->pair_count; i++) CRD_TRY(reopen_pair(&dataset->pairs[i], copy));
    copy->numbers = dataset->numbers;
    copy->places = dataset->places;
    copy->lent = true;
    copy->blocks = dataset->blocks;
    copy->hidden = dataset->hidden;
    copy->chunk_count = dataset->chunk_count;
    memcpy(copy->classes, dataset->classes, sizeof copy->classes);
    copy->record = dataset->record;
    *out = copy;
    copy = NULL;
done:
    crd_dataset_close(&copy);
    return status;
}

void crd_dataset_augment_by(crd_dataset *dataset, uint64_t seed)
{
    dataset->options.seed = seed;
}

int64_t crd_dataset_count(const crd_dataset *dataset)
{
    return dataset->chunk_count;
}

const crd_label_classes *crd_dataset_meaning(const crd_dataset *dataset)
{
    return crd_label_meaning(dataset->pairs[0].label);
}

void crd_dataset_classes(const crd_dataset *dataset, int64_t counts[CRD_CLASSES_MAX])
{
    memcpy(counts, dataset->classes, sizeof dataset->classes);
}

const crd_held_blocks *crd_dataset_blocks(const crd_dataset *dataset)
{
    return &dataset->blocks;
}

int64_t crd_dataset_scans(const crd_dataset *dataset)
{
    return dataset->pair_count;
}

const int64_t *crd_dataset_learnt(const crd_dataset *dataset, int64_t number)
{
    return dataset->pairs[number].learnt;
}

void crd_dataset_same_scan(crd_dataset *dataset, int64_t number, int64_t source)
{
    dataset->pairs[number].source = source;
}

void crd_dataset_keep_blocks(crd_dataset *dataset, const crd_held_blocks *blocks)
{
    dataset->blocks = *blocks;
}

crd_scan *crd_dataset_scan(const crd_dataset *dataset, int64_t number)
{
    return dataset->pairs[number].scan;
}

crd_label *crd_dataset_label(const crd_dataset *dataset, int64_t number)
{
    return dataset->pairs[number].label;
}

void crd_dataset_record(const crd_dataset *dataset, crd_training_record *record)
{
    *record = dataset->record;
}

crd_status crd_dataset_pieces(const crd_dataset *dataset, int64_t step, crd_pieces *out)
{
    crd_status status = CRD_OK;
    crd_scan **scans = NULL;
    const int64_t count = dataset->pair_count;
    *out = (crd_pieces){0};
    CRD_TRY(crd_alloc(count, sizeof(crd_scan *), "the list of scans", &scans));
    for (int64_t i = 0; i < count; i++) scans[i] = dataset->pairs[i].scan;
    if (!crd_pieces_size(scans, count, step, out->size)) goto done;
    CRD_TRY(crd_alloc(CRD_PIECES_WANTED * crd_piece_voxels(out), sizeof(float), "the model's pieces", &out->voxels));
    CRD_TRY(crd_pieces_read(scans, count, dataset->options.seed, out->size, out->voxels));
    out->count = CRD_PIECES_WANTED;
done:
    if (status != CRD_OK) crd_free(&out->voxels);
    crd_free(&scans);
    return status;
}

uint64_t crd_dataset_digest(const crd_dataset *dataset)
{
    uint64_t hash = CRD_FNV1A_OF_NONE;
    for (int64_t i = 0; i < dataset->pair_count; i++) {
        const crd_volume_statistics *s = crd_scan_statistics(dataset->pairs[i].scan);
        int64_t counts[3];
        crd_label_counts(dataset->pairs[i].label, counts);
        hash = crd_fnv1a(hash, crd_scan_info(dataset->pairs[i].scan)->shape, sizeof(int64_t[3]));
        hash = crd_fnv1a(hash, counts, sizeof counts);
        hash = crd_fnv1a(hash, &s->mean, sizeof s->mean);
        hash = crd_fnv1a(hash, &s->variance, sizeof s->variance);
        hash = crd_fnv1a(hash, s->histogram, sizeof s->histogram);
    }
    for (int64_t i = 0; i < dataset->blocks.count; i++) {
        hash = crd_fnv1a(hash, &dataset->blocks.blocks[i].box, sizeof dataset->blocks.blocks[i].box);
    }
    if (dataset->places != NULL) return hash; /* they follow from another data set's blocks */
    return crd_fnv1a(hash, dataset->numbers, (size_t)dataset->chunk_count * sizeof *dataset->numbers);
}
