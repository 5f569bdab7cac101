/* Chunks of a data set, read from the files as the network gets them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "train/data/augment.h"
#include "train/data/centred.h"
#include "train/data/dataset_internal.h"
#include "train/data/grey.h"

static void free_slab(crd_dataset *dataset)
{
    crd_free(&dataset->input);
    crd_free(&dataset->label);
    crd_free(&dataset->inside);
    dataset->slab_voxels = 0;
}

void crd_dataset_free_rooms(crd_dataset *dataset)
{
    free_slab(dataset);
    crd_free(&dataset->grey_room);
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
static crd_status next_slab(crd_dataset *dataset, const crd_pair *p, const crd_box *box, int64_t z, crd_box *slab)
{
    const int64_t scan = crd_scan_slices_at_once(p->scan, box, z), label = crd_label_slices_at_once(p->label, box, z);
    *slab = *box;
    slab->origin[0] = z;
    slab->size[0] = scan > label ? scan : label;
    return make_slab(dataset, slab->size[0] * slab->size[1] * slab->size[2]);
}

/* Takes away all labels but those in the core. */
static void show_core(const crd_box *core, const crd_box *slab, uint8_t *label)
{
    for (int64_t z = slab->origin[0]; z < slab->origin[0] + slab->size[0]; z++) {
        for (int64_t y = slab->origin[1]; y < slab->origin[1] + slab->size[1]; y++, label += slab->size[2]) {
            const crd_box row = {{z, y, slab->origin[2]}, {1, 1, slab->size[2]}};
            crd_box shown = {.origin = {z, y, slab->origin[2] + slab->size[2]}};
            if (!crd_box_meet(core, &row, &shown)) shown = (crd_box){.origin = {z, y, slab->origin[2]}};
            const int64_t begin = shown.origin[2] - slab->origin[2], end = begin + shown.size[2];
            memset(label, CRD_LABEL_NONE, (size_t)begin);
            memset(label + end, CRD_LABEL_NONE, (size_t)(slab->size[2] - end));
        }
    }
}

/* Reads the label of some slices, with everything outside the mask, in blocks that are held back, or outside the core
 * unlabelled; gives the number of labelled voxels. `core` may be NULL. */
static crd_status read_label(crd_dataset *dataset, const crd_pair *p, const crd_box *slab, const crd_box *core,
                             int64_t *labelled)
{
    const int64_t voxels = slab->size[0] * slab->size[1] * slab->size[2];
    uint8_t *restrict label = dataset->label;
    CRD_PASS(crd_label_read(p->label, slab, label));
    if (crd_scan_masked(p->scan)) {
        const uint8_t *restrict inside = dataset->inside;
        CRD_PASS(crd_scan_read_mask(p->scan, slab, dataset->inside));
        for (int64_t i = 0; i < voxels; i++) label[i] = inside[i] ? label[i] : CRD_LABEL_NONE;
    }
    crd_blocks_hide(&dataset->hidden, p->source, slab, label);
    if (core != NULL) show_core(core, slab, label);
    *labelled = crd_label_count(label, voxels);
    return CRD_OK;
}

crd_status crd_dataset_count_labelled(crd_dataset *dataset, const crd_pair *p, const crd_box *box, int64_t *labelled)
{
    crd_box slab;
    *labelled = 0;
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z += slab.size[0]) {
        int64_t some;
        CRD_PASS(next_slab(dataset, p, box, z, &slab));
        CRD_PASS(read_label(dataset, p, &slab, NULL, &some));
        *labelled += some;
    }
    return CRD_OK;
}

crd_box crd_pair_chunk(const crd_pair *p, int64_t number)
{
    crd_box window, keep;
    if (p->centred) {
        crd_origin_box(crd_scan_info(p->scan)->shape, p->plan.axes, number, &window);
    } else {
        crd_plan_chunk(&p->plan, number, &window, &keep);
    }
    return window;
}

static crd_status change_grey(crd_dataset *dataset, const crd_pair *p, int64_t number, int64_t epoch,
                              const int64_t size[3], float *input)
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

/* The pair that a chunk is of, where it lies, and the part whose labels count; NULL: all of it. */
static const crd_pair *find_chunk(const crd_dataset *dataset, int64_t number, crd_box *box, const crd_box **core)
{
    const crd_pair *p = dataset->pairs;
    if (dataset->places != NULL) {
        const crd_place *found = &dataset->places[number];
        *box = found->window;
        *core = &found->core;
        return p + found->pair;
    }
    while (number >= p->end) p++;
    *box = crd_pair_chunk(p, dataset->numbers[number]);
    *core = NULL;
    return p;
}

int64_t crd_dataset_block_of(const crd_dataset *dataset, int64_t number)
{
    return dataset->places != NULL ? dataset->places[number].block : number;
}

int64_t crd_dataset_scan_of(const crd_dataset *dataset, int64_t number, crd_box *box)
{
    crd_box found;
    const crd_box *core;
    return find_chunk(dataset, number, box != NULL ? box : &found, &core) - dataset->pairs;
}

void crd_dataset_hide(const crd_dataset *dataset, int64_t number, const crd_box *box, uint8_t *label)
{
    crd_blocks_hide(&dataset->hidden, dataset->pairs[number].source, box, label);
}

static crd_status read_chunk(crd_dataset *dataset, int64_t number, const crd_turn *turn, float *input, uint8_t *label,
                             int64_t *labelled)
{
    crd_box box, slab;
    const crd_box *core;
    const crd_pair *p = find_chunk(dataset, number, &box, &core);
    *labelled = 0;
    for (int64_t z = box.origin[0]; z < box.origin[0] + box.size[0]; z += slab.size[0]) {
        int64_t some;
        CRD_PASS(next_slab(dataset, p, &box, z, &slab));
        CRD_PASS(crd_scan_read(p->scan, &slab, dataset->input));
        CRD_PASS(read_label(dataset, p, &slab, core, &some));
        crd_turn_apply(turn, box.size, z - box.origin[0], slab.size[0], dataset->input, dataset->label, input, label);
        *labelled += some;
    }
    return CRD_OK;
}

crd_status crd_dataset_read_plain(crd_dataset *dataset, int64_t number, float *input, uint8_t *label, int64_t *labelled)
{
    return read_chunk(dataset, number, &(crd_turn){0}, input, label, labelled);
}

crd_status crd_dataset_read(crd_dataset *dataset, int64_t number, int64_t epoch, float *input, uint8_t *label,
                            int64_t *labelled)
{
    crd_box box;
    const crd_box *core;
    const crd_dataset_options *o = &dataset->options;
    const crd_pair *p = find_chunk(dataset, number, &box, &core);
    const crd_turn turn =
        o->augment != CRD_AUGMENT_NONE ? crd_turn_draw(o->seed, epoch, number, box.size) : (crd_turn){0};
    CRD_PASS(read_chunk(dataset, number, &turn, input, label, labelled));
    return o->augment == CRD_AUGMENT_FULL ? change_grey(dataset, p, number, epoch, box.size, input) : CRD_OK;
}
