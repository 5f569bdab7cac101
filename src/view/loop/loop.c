#include "view/loop/loop.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random/philox.h"
#include "chunk/mask.h"
#include "view/loop/held.h"

enum { LEAST_EDGE = 8, MOST_EDGE = 512, CELL_TRIES = 20000, MASK_TRIES = 500 };
static const int64_t usual_size[3] = {16, 64, 64};

struct crd_loop {
    pthread_mutex_t lock; /* of all below */
    crd_project *project;
    crd_volume_info info;
    crd_volume *mask; /* NULL: all counts */
    char *file;       /* cells.npy */
    crd_cells cells;  /* as it lies there */
};

/* ---- settings ---- */

static int64_t count_of(const cJSON *object, const char *name, int64_t otherwise)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    const bool fine = cJSON_IsNumber(item) && item->valuedouble >= 0.0 && item->valuedouble < 0x1p53;
    return fine ? (int64_t)item->valuedouble : otherwise;
}

/* A quarter of a small scan's edge at most, so that there is room beside it. */
static int64_t first_size(int64_t usual, int64_t extent)
{
    int64_t size = extent / 4 / LEAST_EDGE * LEAST_EDGE;
    if (size < LEAST_EDGE) size = LEAST_EDGE;
    if (size > usual) size = usual;
    return size < extent ? size : extent;
}

static crd_status describe(crd_loop *loop, crd_loop_facts *out)
{
    crd_status status = CRD_OK;
    cJSON *kept = NULL;
    crd_kept_box *boxes = NULL;
    int64_t count;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_project_get(loop->project, "loop", &kept));
    out->number = count_of(kept, "number", 1);
    out->seed = count_of(kept, "seed", 0);
    out->drawn = count_of(kept, "drawn", 0);
    const cJSON *size = cJSON_GetObjectItem(kept, "size");
    for (int i = 0; i < 3; i++) {
        const int64_t extent = loop->info.shape[i];
        const cJSON *item = cJSON_GetArrayItem(size, i);
        const bool fine = cJSON_IsNumber(item) && item->valuedouble >= 1.0 && item->valuedouble <= (double)extent;
        out->size[i] = fine ? (int64_t)item->valuedouble : first_size(usual_size[i], extent);
    }
    CRD_TRY(crd_boxes_read(loop->project, &boxes, &count));
    for (int64_t i = 0; i < count; i++) {
        out->exam += boxes[i].role == CRD_BOX_EXAM;
        out->check += boxes[i].role == CRD_BOX_CHECK;
    }
    out->next = out->exam <= out->check ? CRD_BOX_EXAM : CRD_BOX_CHECK;
done:
    cJSON_Delete(kept);
    crd_free(&boxes);
    return status;
}

static crd_status keep(crd_loop *loop, const crd_loop_facts *facts)
{
    cJSON *object = cJSON_CreateObject(), *size = cJSON_AddArrayToObject(object, "size");
    bool fine = size != NULL && cJSON_AddNumberToObject(object, "number", (double)facts->number) != NULL &&
                cJSON_AddNumberToObject(object, "seed", (double)facts->seed) != NULL &&
                cJSON_AddNumberToObject(object, "drawn", (double)facts->drawn) != NULL;
    for (int i = 0; i < 3; i++) fine = fine && cJSON_AddItemToArray(size, cJSON_CreateNumber((double)facts->size[i]));
    if (!fine) {
        cJSON_Delete(object);
        return crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
    }
    return crd_project_set(loop->project, "loop", object);
}

crd_status crd_loop_open(crd_project *project, const crd_volume_info *info, const char *mask, crd_loop **out)
{
    crd_status status = CRD_OK;
    crd_loop *loop = NULL;
    CRD_TRY(crd_alloc(1, sizeof *loop, "the loop", &loop));
    if (pthread_mutex_init(&loop->lock, NULL) != 0) {
        crd_free(&loop);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    loop->project = project;
    loop->info = *info;
    CRD_TRY(crd_join_path(crd_project_folder(project), "cells.npy", "", &loop->file));
    CRD_TRY(crd_cells_make(info->shape, &loop->cells));
    CRD_TRY(crd_cells_load(loop->file, &loop->cells));
    if (mask != NULL) CRD_TRY(crd_mask_open(mask, info->shape, &loop->mask));
    *out = loop;
    loop = NULL;
done:
    crd_loop_close(&loop);
    return status;
}

void crd_loop_close(crd_loop **loop)
{
    if (*loop == NULL) return;
    crd_volume_close(&(*loop)->mask);
    crd_cells_free(&(*loop)->cells);
    crd_free(&(*loop)->file);
    pthread_mutex_destroy(&(*loop)->lock);
    crd_free(loop);
}

crd_status crd_loop_describe(crd_loop *loop, crd_loop_facts *out)
{
    pthread_mutex_lock(&loop->lock);
    const crd_status status = describe(loop, out);
    pthread_mutex_unlock(&loop->lock);
    return status;
}

/* ---- places ---- */

static crd_status inside(crd_loop *loop, const crd_box *box, bool *out)
{
    crd_status status = CRD_OK;
    uint8_t *voxels = NULL;
    int64_t marked = 0, count;
    *out = true;
    if (loop->mask == NULL) return CRD_OK;
    CRD_TRY(crd_product(box->size[0], box->size[1], box->size[2], &count));
    CRD_TRY(crd_alloc(count, 1, "a part of the mask", &voxels));
    CRD_TRY(crd_volume_read(loop->mask, box, CRD_U8, voxels));
    for (int64_t i = 0; i < count; i++) marked += voxels[i] != 0;
    *out = 10 * marked >= 9 * count;
done:
    crd_free(&voxels);
    return status;
}

crd_status crd_loop_inside(crd_loop *loop, const crd_box *box, bool *out)
{
    pthread_mutex_lock(&loop->lock);
    const crd_status status = inside(loop, box, out);
    pthread_mutex_unlock(&loop->lock);
    return status;
}

/* All that is held out now: what was used before, and the boxes. */
static crd_status held_now(crd_loop *loop, crd_cells *out)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t count;
    CRD_TRY(crd_cells_copy(&loop->cells, out));
    CRD_TRY(crd_boxes_read(loop->project, &boxes, &count));
    for (int64_t i = 0; i < count; i++) {
        if (boxes[i].role != CRD_BOX_TRAIN) crd_cells_mark(out, &boxes[i].box, CRD_CELL_HELD);
    }
done:
    crd_free(&boxes);
    return status;
}

crd_status crd_loop_cells(crd_loop *loop, crd_cells *out)
{
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&loop->lock);
    const crd_status status = held_now(loop, out);
    pthread_mutex_unlock(&loop->lock);
    return status;
}

/* May a box be held out, or trained on? */
static crd_status check_place(const crd_cells *held, crd_box_role role, const crd_box *box)
{
    if (role == CRD_BOX_TRAIN && crd_cells_near(held, box, 1, CRD_CELL_HELD)) {
        return crd_fail(CRD_ERR_ARGUMENT, "the box touches one that is held out, or the margin of 8 voxels around it: "
                                          "it can't be trained on");
    }
    if (role != CRD_BOX_TRAIN && crd_cells_near(held, box, 1, CRD_CELL_LEARNT)) {
        return crd_fail(CRD_ERR_ARGUMENT, "a model has learnt from labels there or within 8 voxels of it: the box "
                                          "can't be held out any more, unless the loop begins anew");
    }
    if (role != CRD_BOX_TRAIN && crd_cells_near(held, box, 1, CRD_CELL_HELD)) {
        return crd_fail(CRD_ERR_ARGUMENT, "another held-out box lies there, or within 8 voxels of it");
    }
    return CRD_OK;
}

/* The next place of the sequence that the seed, the loop's number and how many were drawn say. */
static void draw(const crd_loop *loop, crd_loop_facts *facts, crd_box *box)
{
    for (int i = 0; i < 3; i++) {
        const crd_stream stream = {.seed = (uint64_t)facts->seed,
                                   .layer = (uint32_t)i,
                                   .purpose = CRD_PURPOSE_HELD_OUT_BOX,
                                   .step = (uint32_t)facts->number};
        box->size[i] = facts->size[i];
        box->origin[i] = crd_random_below(&stream, (uint64_t)facts->drawn, loop->info.shape[i] - facts->size[i] + 1);
    }
    facts->drawn++;
}

static crd_status place(crd_loop *loop, const crd_cells *held, crd_loop_facts *facts, crd_kept_box *out)
{
    int looked = 0;
    out->role = facts->next;
    for (int i = 0; i < CELL_TRIES && looked < MASK_TRIES; i++) {
        bool within = true;
        draw(loop, facts, &out->box);
        if (crd_cells_near(held, &out->box, 1, CRD_CELL_LEARNT | CRD_CELL_HELD)) continue;
        looked++;
        CRD_PASS(inside(loop, &out->box, &within));
        if (within) return CRD_OK;
    }
    return crd_fail(CRD_ERR_ARGUMENT,
                    "no place is left for a held-out box of %lld x %lld x %lld voxels (z, y, x)%s: choose a smaller "
                    "size, or begin the loop anew",
                    (long long)facts->size[0], (long long)facts->size[1], (long long)facts->size[2],
                    loop->mask != NULL ? " inside the mask" : "");
}

crd_status crd_loop_place(crd_loop *loop, crd_kept_box *out)
{
    crd_status status = CRD_OK;
    crd_loop_facts facts;
    crd_cells held = {.marks = NULL};
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&loop->lock);
    CRD_TRY(crd_project_claim(loop->project)); /* which may read everything anew */
    CRD_TRY(crd_cells_load(loop->file, &loop->cells));
    CRD_TRY(describe(loop, &facts));
    CRD_TRY(held_now(loop, &held));
    CRD_TRY(place(loop, &held, &facts, out));
    CRD_TRY(keep(loop, &facts));
    status = crd_boxes_add(loop->project, out->role, &out->box, &out->number);
done:
    pthread_mutex_unlock(&loop->lock);
    crd_cells_free(&held);
    return status;
}

crd_status crd_loop_add(crd_loop *loop, crd_box_role role, const crd_box *box, int64_t *number)
{
    crd_status status = CRD_OK;
    crd_cells held = {.marks = NULL};
    pthread_mutex_lock(&loop->lock);
    CRD_TRY(crd_project_claim(loop->project));
    CRD_TRY(crd_cells_load(loop->file, &loop->cells));
    CRD_TRY(held_now(loop, &held));
    CRD_TRY(check_place(&held, role, box));
    status = crd_boxes_add(loop->project, role, box, number);
done:
    pthread_mutex_unlock(&loop->lock);
    crd_cells_free(&held);
    return status;
}

crd_status crd_loop_remove(crd_loop *loop, int64_t number, bool *there)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t count, left = 0;
    *there = false;
    pthread_mutex_lock(&loop->lock);
    CRD_TRY(crd_project_claim(loop->project));
    CRD_TRY(crd_boxes_read(loop->project, &boxes, &count));
    for (int64_t i = 0; i < count; i++) {
        if (boxes[i].number != number) boxes[left++] = boxes[i];
    }
    *there = left < count;
    if (*there) status = crd_boxes_keep(loop->project, boxes, left);
done:
    pthread_mutex_unlock(&loop->lock);
    crd_free(&boxes);
    return status;
}

crd_status crd_loop_resize(crd_loop *loop, const int64_t size[3])
{
    crd_status status = CRD_OK;
    crd_loop_facts facts;
    pthread_mutex_lock(&loop->lock);
    CRD_TRY(crd_project_claim(loop->project));
    CRD_TRY(describe(loop, &facts));
    if (facts.exam + facts.check > 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "boxes of one size are compared with each other: it can't change while some are "
                                   "held out");
    }
    for (int i = 0; i < 3; i++) {
        const int64_t extent = loop->info.shape[i], least = extent < LEAST_EDGE ? extent : LEAST_EDGE;
        if (size[i] < least || size[i] > MOST_EDGE || size[i] > extent) {
            CRD_FAIL(CRD_ERR_ARGUMENT, "the edges of a box are %d to %d voxels, and no longer than the scan's",
                     LEAST_EDGE, MOST_EDGE);
        }
        facts.size[i] = size[i];
    }
    status = keep(loop, &facts);
done:
    pthread_mutex_unlock(&loop->lock);
    return status;
}

crd_status crd_loop_anew(crd_loop *loop)
{
    crd_status status = CRD_OK;
    crd_loop_facts facts;
    crd_kept_box *boxes = NULL;
    int64_t count, left = 0;
    crd_cells none = {.marks = NULL};
    pthread_mutex_lock(&loop->lock);
    CRD_TRY(crd_project_claim(loop->project));
    CRD_TRY(describe(loop, &facts));
    CRD_TRY(crd_boxes_read(loop->project, &boxes, &count));
    for (int64_t i = 0; i < count; i++) {
        if (boxes[i].role == CRD_BOX_TRAIN) boxes[left++] = boxes[i];
    }
    facts.number++;
    facts.drawn = 0;
    CRD_TRY(crd_cells_make(loop->info.shape, &none));
    CRD_TRY(
        keep(loop, &facts)); /* from here on no model of before goes on: then what it learnt from may be forgotten */
    CRD_TRY(crd_boxes_keep(loop->project, boxes, left));
    CRD_TRY(crd_cells_store(loop->file, &none));
    memcpy(loop->cells.marks, none.marks, (size_t)(none.counts[0] * none.counts[1] * none.counts[2]));
done:
    pthread_mutex_unlock(&loop->lock);
    crd_cells_free(&none);
    crd_free(&boxes);
    return status;
}

/* ---- snapshots ---- */

/* What was used stays held out, whatever becomes of its box. The map comes first: what it says too much does no harm.
 */
static crd_status use(crd_loop *loop, const crd_cells *marked, crd_kept_box *boxes, int64_t count)
{
    bool changed = false;
    CRD_PASS(crd_cells_store(loop->file, marked));
    memcpy(loop->cells.marks, marked->marks, (size_t)(marked->counts[0] * marked->counts[1] * marked->counts[2]));
    for (int64_t i = 0; i < count; i++) {
        const bool held = boxes[i].role != CRD_BOX_TRAIN;
        changed = changed || (held && !boxes[i].used);
        boxes[i].used = boxes[i].used || held;
    }
    return changed ? crd_boxes_keep(loop->project, boxes, count) : CRD_OK;
}

crd_status crd_loop_take(crd_loop *loop, crd_labels *labels, const char *folder, crd_learnable *out)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t count = 0, checked = 0;
    crd_cells marked = {.marks = NULL};
    char *label = NULL, *check = NULL;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&loop->lock);
    CRD_TRY(crd_project_claim(loop->project));
    CRD_TRY(crd_cells_load(loop->file, &loop->cells));
    CRD_TRY(crd_boxes_read(loop->project, &boxes, &count));
    CRD_TRY(held_now(loop, &marked));
    CRD_TRY(crd_join_path(folder, "label.zarr", "", &label));
    CRD_TRY(crd_join_path(folder, "check.zarr", "", &check));
    CRD_TRY(crd_labels_snapshot(labels, label));
    CRD_TRY(crd_held_take(label, &loop->info, boxes, count, CRD_BOX_CHECK, check, &checked));
    CRD_TRY(crd_held_leave_out(label, &marked, boxes, count, out));
    out->check = checked > 0;
    if (out->voxels == 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "there are no labels to learn from: all that are there lie in held-out boxes, or "
                                   "within 8 voxels of them");
    }
    status = use(loop, &marked, boxes, count);
done:
    pthread_mutex_unlock(&loop->lock);
    crd_cells_free(&marked);
    crd_free(&boxes);
    crd_free(&label);
    crd_free(&check);
    return status;
}

crd_status crd_loop_examine(crd_loop *loop, crd_labels *labels, const char *folder, crd_kept_box **out, int64_t *count)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t all = 0, labelled = 0;
    crd_cells marked = {.marks = NULL};
    char *snapshot = NULL, *exam = NULL;
    *out = NULL;
    *count = 0;
    pthread_mutex_lock(&loop->lock);
    CRD_TRY(crd_project_claim(loop->project));
    CRD_TRY(crd_cells_load(loop->file, &loop->cells));
    CRD_TRY(crd_boxes_read(loop->project, &boxes, &all));
    CRD_TRY(crd_alloc(all + 1, sizeof **out, "the exam boxes", out));
    CRD_TRY(held_now(loop, &marked));
    CRD_TRY(crd_join_path(folder, "exam.zarr", "", &exam));
    CRD_TRY(crd_join_path(folder, ".all.zarr", "", &snapshot));
    CRD_TRY(crd_labels_snapshot(labels, snapshot));
    CRD_TRY(crd_held_take(snapshot, &loop->info, boxes, all, CRD_BOX_EXAM, exam, &labelled));
    for (int64_t i = 0; i < all; i++) {
        bool any = false;
        if (boxes[i].role != CRD_BOX_EXAM) continue;
        CRD_TRY(crd_held_labelled(exam, &boxes[i].box, &any));
        if (any) (*out)[(*count)++] = boxes[i];
    }
    if (*count == 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "there is no exam box with labels: add a held-out box for the exam, and label it");
    }
    status = use(loop, &marked, boxes, all);
done:
    pthread_mutex_unlock(&loop->lock);
    if (snapshot != NULL) crd_held_remove(snapshot);
    if (status != CRD_OK) crd_free(out);
    crd_cells_free(&marked);
    crd_free(&boxes);
    crd_free(&snapshot);
    crd_free(&exam);
    return status;
}
