/* The data of a training: scans and labels from their files, and what of them is held back. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "train/diagnosis.h"
#include "train/masks.h"
#include "train/run.h"

/* Decoded pieces of all files that are open at once. */
static const int64_t CACHE_BYTES = INT64_C(512) << 20;

/* All scans and labels share the memory; those of one file that are open at once, such as the readers', share a cache.
 */
static void share_caches(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    const int64_t files = 2 * (o->scan.count + o->valid_scan.count);
    r->scan_reading.cache_bytes = r->label_reading.cache_bytes = (size_t)(CACHE_BYTES / files);
}

/* What the files don't say, or say wrong. */
static crd_status describe_files(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    r->scan_reading =
        (crd_volume_options){.shape = {o->shape[0], o->shape[1], o->shape[2]}, .type = o->type, .offset = o->offset};
    r->label_reading = (crd_volume_options){
        .shape = {o->shape[0], o->shape[1], o->shape[2]}, .type = o->label_type, .offset = o->label_offset};
    if (o->spacing != NULL && o->spacing[0] != '\0') {
        CRD_PASS(crd_spacing_parse(o->spacing, r->scan_reading.spacing, r->unit));
        if (r->unit[0] != '\0') r->scan_reading.unit = r->unit;
    }
    share_caches(r);
    return CRD_OK;
}

static crd_augment augment_of(const char *name)
{
    return strcmp(name, "full") == 0    ? CRD_AUGMENT_FULL
           : strcmp(name, "flips") == 0 ? CRD_AUGMENT_FLIPS
                                        : CRD_AUGMENT_NONE;
}

static void say_held_back(const crd_train_run *r)
{
    const crd_held_blocks *blocks = crd_dataset_blocks(r->training);
    int64_t check[CRD_CLASSES_MAX], exam[CRD_CLASSES_MAX], labelled = 0;
    if (blocks->count == 0) return;
    const int64_t check_voxels = crd_blocks_counts(blocks, false, check);
    const int64_t exam_voxels = crd_blocks_counts(blocks, true, exam);
    for (int k = 0; k < CRD_CLASSES_MAX; k++) labelled += r->classes[k];
    crd_info(r->monitor,
             "%" PRId64 " blocks are held back, %.1f %% of the labels, and never learnt from: half to check on "
             "(%" PRId64 " voxels), half for an exam at the end (%" PRId64 " voxels)",
             blocks->count, 100.0 * (double)(check_voxels + exam_voxels) / (double)labelled, check_voxels, exam_voxels);
    crd_diagnose_blocks(exam, r->classes, r->monitor);
}

/* What the scans are called in what models have learnt from, and what the model that this training begins with says of
 * them. */
static crd_status remember(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    if (o->init != NULL && o->init[0] != '\0') CRD_PASS(crd_model_load(o->init, &r->ancestor));
    if (crd_train_first(r)) {
        CRD_PASS(crd_learnt_names(r->training, r->monitor, &r->scan_names));
    } else {
        CRD_PASS(crd_alloc(o->scan.count, sizeof *r->scan_names, "the scans' fingerprints", &r->scan_names));
    }
    CRD_PASS(crd_dist_broadcast(r->dist, r->scan_names, o->scan.count * (int64_t)sizeof *r->scan_names));
    const crd_provenance none = {0};
    const bool hold_back = o->valid_scan.count == 0 && o->valid_fraction > 0.0;
    crd_learnt_keep_blocks(hold_back ? crd_train_earlier(r) : &none, r->scan_names, r->training);
    return CRD_OK;
}

/* The smaller of what --epochs and --max-steps say; USUAL_EPOCHS where both say nothing. */
static int64_t count_steps(const crd_train_options *o, int64_t batches)
{
    enum { USUAL_EPOCHS = 100 };
    const int64_t epochs = o->epochs > 0 ? o->epochs : USUAL_EPOCHS, all = epochs * batches;
    if (o->max_steps == 0) return all;
    return o->epochs > 0 && all < o->max_steps ? all : o->max_steps;
}

crd_status crd_train_open_data(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    CRD_PASS(describe_files(r));
    crd_dataset_options data = {.chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                                .step = o->step,
                                .label = {.volume = &r->label_reading,
                                          .foreground = o->foreground.items,
                                          .foreground_count = o->foreground.count,
                                          .classes = o->classes.items,
                                          .class_count = o->classes.count,
                                          .classes_most = CRD_CLASSES_MAX,
                                          .needed = true,
                                          .ignore = o->ignore.items,
                                          .ignore_count = o->ignore.count},
                                .volume = &r->scan_reading,
                                .augment = augment_of(o->augment),
                                .seed = (uint64_t)o->seed,
                                .centre = true,
                                .held_back = o->valid_scan.count > 0 ? 0.0 : o->valid_fraction};
    CRD_PASS(crd_norm_parse(o->norm, &data.norm));
    CRD_PASS(crd_dataset_create(&data, &r->training));
    for (int64_t i = 0; i < o->scan.count; i++) {
        CRD_PASS(
            crd_dataset_add(r->training, o->scan.items[i], o->label.items[i], crd_train_mask(&o->mask, i), r->monitor));
    }
    data.augment = CRD_AUGMENT_NONE;
    data.centre = false;
    data.step = 1;
    data.held_back = 0.0;
    CRD_PASS(crd_dataset_create(&data, &r->validation));
    for (int64_t i = 0; i < o->valid_scan.count; i++) {
        CRD_PASS(crd_dataset_add(r->validation, o->valid_scan.items[i], o->valid_label.items[i],
                                 crd_train_mask(crd_train_valid_masks(o), i), r->monitor));
    }
    CRD_PASS(remember(r));
    CRD_PASS(crd_dataset_settle((crd_dataset *const[]){r->training, r->validation}, 2, r->monitor));
    if (crd_dataset_blocks(r->training)->count > 0) CRD_PASS(crd_dataset_add_checks(r->validation, r->training));
    crd_dataset_classes(r->training, r->classes);
    crd_dataset_classes(r->validation, r->check_classes);
    CRD_PASS(crd_diagnose_labels(r->classes, crd_dataset_count(r->training)));
    CRD_PASS(crd_baseline_learn(r->training, crd_dataset_meaning(r->training)->count, o->chunk, &r->baseline));
    crd_diagnose_grey(r->baseline, r->monitor);
    say_held_back(r);
    r->batches = crd_feeder_batches(crd_dataset_count(r->training), o->batch);
    r->end_step = count_steps(o, r->batches);
    if (r->end_step > UINT32_MAX) return crd_fail(CRD_ERR_ARGUMENT, "more than 2^32 steps can't be numbered");
    r->kl_divisor = (double)(o->kl_batches > 0 ? o->kl_batches : r->batches) * o->kl_temperature;
    crd_info(r->monitor,
             "%" PRId64 " chunks of %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x) to learn from in %" PRId64
             " mini-batches an epoch, %" PRId64 " to check on; %" PRId64 " steps in all",
             crd_dataset_count(r->training), o->chunk[0], o->chunk[1], o->chunk[2], r->batches,
             crd_dataset_count(r->validation), r->end_step);
    return CRD_OK;
}
