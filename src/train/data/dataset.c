#include "train/data/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "chunk/pieces.h"
#include "train/data/augment.h"
#include "train/data/grey.h"
#include "train/data/hold_back.h"
#include "train/data/label_map.h"
#include "train/record.h"

typedef struct pair {
    crd_scan *scan;
    crd_label *label;
    const char *path;   /* the scan's; borrowed, until the chunks are listed */
    double held_back;   /* share that is wanted */
    crd_box region;     /* the part that is cut into chunks */
    crd_box rest;       /* the part held back; size 0 for none */
    crd_plan plan;      /* of the region */
    int64_t end;        /* chunks of this pair and of those before it */
    crd_label_map *map; /* only while the chunks of a partly labelled scan are listed; else NULL */
} pair;

struct crd_dataset {
    crd_dataset_options options; /* lists and strings are borrowed */
    pair *pairs;
    int64_t pair_count;
    int64_t *numbers; /* of the chunks that are used, in their pair's plan, pair after pair */
    int64_t chunk_count, room;
    bool lent; /* the list belongs to the data set this one was reopened from */
    int64_t classes[CRD_CLASSES_MAX];
    crd_training_record record;
    /* Some slices of a chunk as they are in the file, before turning. */
    float *input;
    uint8_t *label, *inside;
    int64_t slab_voxels; /* room for so many */
    float *grey_room;    /* for changes of grey values; NULL before the first */
};

static void free_slab(crd_dataset *dataset)
{
    crd_free(&dataset->input);
    crd_free(&dataset->label);
    crd_free(&dataset->inside);
    dataset->slab_voxels = 0;
}

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
    }
    crd_free(&dataset->pairs);
    if (!dataset->lent) crd_free(&dataset->numbers);
    free_slab(dataset);
    crd_free(&dataset->grey_room);
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

static crd_status append_pair(crd_dataset *dataset, const pair *added)
{
    int64_t room = dataset->pair_count;
    CRD_PASS(make_room(&dataset->pairs, dataset->pair_count, &room, sizeof *dataset->pairs));
    dataset->pairs[dataset->pair_count++] = *added;
    return CRD_OK;
}

static crd_status make_slab(crd_dataset *dataset, int64_t voxels)
{
    if (voxels <= dataset->slab_voxels) return CRD_OK;
    free_slab(dataset);
    CRD_PASS(crd_alloc(voxels, sizeof(float), "slices of a chunk", &dataset->input));
    CRD_PASS(crd_alloc(voxels, 1, "slices of a chunk", &dataset->label));
    CRD_PASS(crd_alloc(voxels, 1, "slices of a chunk", &dataset->inside));
    dataset->slab_voxels = voxels;
    return CRD_OK;
}

/* The next slices of a chunk, from z on, and room for them. A file in blocks is read block by block: the scan or the
 * label, whichever has the deeper ones. */
static crd_status next_slab(crd_dataset *dataset, const pair *p, const crd_box *box, int64_t z, crd_box *slab)
{
    const int64_t scan = crd_scan_slices_at_once(p->scan, box, z), label = crd_label_slices_at_once(p->label, box, z);
    *slab = *box;
    slab->origin[0] = z;
    slab->size[0] = scan > label ? scan : label;
    return make_slab(dataset, slab->size[0] * slab->size[1] * slab->size[2]);
}

/* Reads the label of some slices, with everything outside the mask unlabelled; gives the number of labelled voxels. */
static crd_status read_label(crd_dataset *dataset, const pair *p, const crd_box *slab, int64_t *labelled)
{
    const int64_t voxels = slab->size[0] * slab->size[1] * slab->size[2];
    uint8_t *restrict label = dataset->label;
    CRD_PASS(crd_label_read(p->label, slab, label));
    if (crd_scan_masked(p->scan)) {
        const uint8_t *restrict inside = dataset->inside;
        CRD_PASS(crd_scan_read_mask(p->scan, slab, dataset->inside));
        for (int64_t i = 0; i < voxels; i++) label[i] = inside[i] ? label[i] : CRD_LABEL_NONE;
    }
    *labelled = crd_label_count(label, voxels);
    return CRD_OK;
}

/* How many voxels of a chunk are labelled. */
static crd_status count_labelled(crd_dataset *dataset, const pair *p, const crd_box *box, int64_t *labelled)
{
    crd_box slab;
    *labelled = 0;
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z += slab.size[0]) {
        int64_t some;
        CRD_PASS(next_slab(dataset, p, box, z, &slab));
        CRD_PASS(read_label(dataset, p, &slab, &some));
        *labelled += some;
    }
    return CRD_OK;
}

static bool overlap(const crd_box *a, const crd_box *b)
{
    for (int axis = 0; axis < 3; axis++) {
        if (a->origin[axis] + a->size[axis] <= b->origin[axis] || b->origin[axis] + b->size[axis] <= a->origin[axis]) {
            return false;
        }
    }
    return true;
}

static crd_box chunk_box(const pair *p, int64_t number)
{
    crd_box window, keep;
    crd_plan_chunk(&p->plan, number, &window, &keep);
    for (int axis = 0; axis < 3; axis++) window.origin[axis] += p->region.origin[axis];
    return window;
}

/* Lists the chunks of a region that hold any label and no voxel that is held back. */
static crd_status list_chunks(crd_dataset *dataset, pair *p, int64_t step)
{
    int64_t counts[3];
    crd_label_counts(p->label, counts);
    const bool masked = crd_scan_masked(p->scan);
    const crd_label_presence unknown = counts[2] == 0 ? CRD_LABELS_PRESENT : CRD_LABELS_PERHAPS;
    CRD_PASS(crd_plan_make(p->region.size, dataset->options.chunk, step, 0.0, &p->plan));
    for (int64_t i = 0; i < p->plan.count; i++) {
        const crd_box window = chunk_box(p, i);
        int64_t labelled = 1;
        if (overlap(&window, &p->rest)) continue;
        const crd_label_presence presence = p->map != NULL ? crd_label_map_look(p->map, &window) : unknown;
        if (presence == CRD_LABELS_ABSENT) continue;
        if (presence == CRD_LABELS_PERHAPS || masked) CRD_PASS(count_labelled(dataset, p, &window, &labelled));
        if (labelled == 0) continue;
        CRD_PASS(make_room(&dataset->numbers, dataset->chunk_count, &dataset->room, sizeof *dataset->numbers));
        dataset->numbers[dataset->chunk_count++] = i;
    }
    p->end = dataset->chunk_count;
    return CRD_OK;
}

/* Lists the chunks of a pair, after those before it; where holding back leaves nothing to learn from, nothing is held
 * back. */
static crd_status list_pair(crd_dataset *dataset, pair *p, const crd_monitor *monitor)
{
    const int64_t before = dataset->chunk_count;
    if (p->held_back > 0.0) {
        const crd_volume_info *info = crd_label_info(p->label);
        const crd_box all = {.size = {info->shape[0], info->shape[1], info->shape[2]}};
        p->rest = crd_hold_back(p->map != NULL ? crd_label_map_box(p->map) : &all, info->shape, dataset->options.chunk,
                                p->held_back);
        if (p->rest.size[0] == 0) {
            crd_warn(monitor,
                     "the labelled part of %s is too small to hold some back to check on: all is learnt from, and "
                     "there is no "
                     "validation; a second labelled scan (--valid-scan, --valid-label) would allow one",
                     p->path);
        }
    }
    CRD_PASS(list_chunks(dataset, p, dataset->options.step));
    if (p->rest.size[0] == 0 || dataset->chunk_count > before) return CRD_OK;
    crd_warn(monitor,
             "all labels of %s lie close together: nothing is held back to check on, and there is no validation",
             p->path);
    p->rest = (crd_box){0};
    return list_chunks(dataset, p, dataset->options.step);
}

/* In place of what the files say, which is wrong then. */
static bool spacing_given(const crd_dataset *dataset)
{
    return dataset->options.volume != NULL && dataset->options.volume->spacing[0] > 0.0;
}

static void compare_spacing(const crd_monitor *monitor, const char *scan_path, const char *label_path, const pair *p)
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

crd_status crd_dataset_add(crd_dataset *dataset, const char *scan, const char *label, double held_back,
                           const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    pair p = {.path = scan, .held_back = held_back};
    const crd_scan_options options = {
        .volume = dataset->options.volume, .norm = dataset->options.norm, .mask = dataset->options.mask};
    CRD_TRY(crd_scan_open(scan, &options, monitor, &p.scan));
    memcpy(p.region.size, crd_scan_info(p.scan)->shape, sizeof p.region.size);
    CRD_TRY(crd_label_learn(label, p.region.size, dataset->options.label.volume, monitor, &p.label));
    if (!spacing_given(dataset)) compare_spacing(monitor, scan, label, &p);
    crd_record_join(&dataset->record, p.scan);
    CRD_TRY(append_pair(dataset, &p));
    p = (pair){0};
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

crd_status crd_dataset_settle(crd_dataset *const *datasets, int64_t count, const crd_monitor *monitor)
{
    CRD_PASS(decide_labels(datasets, count, monitor));
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < datasets[i]->pair_count; k++) {
            pair *p = &datasets[i]->pairs[k];
            int64_t counts[3], classes[CRD_CLASSES_MAX];
            crd_label_counts(p->label, counts);
            crd_label_class_counts(p->label, classes);
            for (int c = 0; c < CRD_CLASSES_MAX; c++) datasets[i]->classes[c] += classes[c];
            if (counts[2] > 0 && counts[0] + counts[1] > 0) CRD_PASS(crd_label_map_make(p->label, monitor, &p->map));
            const crd_status status = list_pair(datasets[i], p, monitor);
            crd_label_map_free(&p->map);
            CRD_PASS(status);
        }
    }
    return CRD_OK;
}

static crd_status reopen_pair(const pair *from, crd_dataset *dataset)
{
    crd_status status = CRD_OK;
    pair p = {.region = from->region, .rest = from->rest, .plan = from->plan, .end = from->end};
    CRD_TRY(crd_scan_reopen(from->scan, &p.scan));
    CRD_TRY(crd_label_reopen(from->label, &p.label));
    CRD_TRY(append_pair(dataset, &p));
    p = (pair){0};
done:
    crd_scan_close(&p.scan);
    crd_label_close(&p.label);
    return status;
}

crd_status crd_dataset_add_rest(crd_dataset *dataset, const crd_dataset *from)
{
    for (int64_t i = 0; i < from->pair_count; i++) {
        if (from->pairs[i].rest.size[0] == 0) continue;
        CRD_PASS(reopen_pair(&from->pairs[i], dataset));
        pair *added = &dataset->pairs[dataset->pair_count - 1];
        added->region = added->rest;
        added->rest = (crd_box){0};
        CRD_PASS(list_chunks(dataset, added, 1));
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
    copy->lent = true;
    copy->chunk_count = dataset->chunk_count;
    memcpy(copy->classes, dataset->classes, sizeof copy->classes);
    copy->record = dataset->record;
    *out = copy;
    copy = NULL;
done:
    crd_dataset_close(&copy);
    return status;
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

/* FNV-1a. */
static uint64_t digest(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t crd_dataset_digest(const crd_dataset *dataset)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < dataset->pair_count; i++) {
        const crd_volume_statistics *s = crd_scan_statistics(dataset->pairs[i].scan);
        int64_t counts[3];
        crd_label_counts(dataset->pairs[i].label, counts);
        hash = digest(hash, crd_scan_info(dataset->pairs[i].scan)->shape, sizeof(int64_t[3]));
        hash = digest(hash, counts, sizeof counts);
        hash = digest(hash, &s->mean, sizeof s->mean);
        hash = digest(hash, &s->variance, sizeof s->variance);
        hash = digest(hash, s->histogram, sizeof s->histogram);
    }
    return digest(hash, dataset->numbers, (size_t)dataset->chunk_count * sizeof *dataset->numbers);
}

static crd_status change_grey(crd_dataset *dataset, const pair *p, int64_t number, int64_t epoch, const int64_t size[3],
                              float *input)
{
    double middle, unit;
    crd_scan_normalisation(p->scan, &middle, &unit);
    const double deviation = sqrt(crd_scan_statistics(p->scan)->variance) / unit;
    const uint64_t seed = dataset->options.seed;
    const crd_grey_change change = crd_grey_draw(seed, epoch, number, size, deviation);
    if (dataset->grey_room == NULL) {
        CRD_PASS(crd_alloc(crd_grey_room(size), sizeof(float), "changing grey values", &dataset->grey_room));
    }
    crd_grey_apply(&change, seed, epoch, number, size, input, dataset->grey_room);
    return CRD_OK;
}

crd_status crd_dataset_read(crd_dataset *dataset, int64_t number, int64_t epoch, float *input, uint8_t *label,
                            int64_t *labelled)
{
    const pair *p = dataset->pairs;
    while (number >= p->end) p++;
    const crd_box box = chunk_box(p, dataset->numbers[number]);
    const crd_turn turn = dataset->options.augment != CRD_AUGMENT_NONE
                              ? crd_turn_draw(dataset->options.seed, epoch, number, box.size)
                              : (crd_turn){0};
    crd_box slab;
    *labelled = 0;
    for (int64_t z = box.origin[0]; z < box.origin[0] + box.size[0]; z += slab.size[0]) {
        int64_t some;
        CRD_PASS(next_slab(dataset, p, &box, z, &slab));
        CRD_PASS(crd_scan_read(p->scan, &slab, dataset->input));
        CRD_PASS(read_label(dataset, p, &slab, &some));
        crd_turn_apply(&turn, box.size, z - box.origin[0], slab.size[0], dataset->input, dataset->label, input, label);
        *labelled += some;
    }
    return dataset->options.augment == CRD_AUGMENT_FULL ? change_grey(dataset, p, number, epoch, box.size, input)
                                                        : CRD_OK;
}
