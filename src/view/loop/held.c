#include "view/loop/held.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/labels/blocks.h"
#include "view/labels/image.h"
#include "volume/zarr/zarr.h"

enum { EDGE = CRD_BLOCK_EDGE, CELLS = CRD_BLOCK_EDGE / CRD_CELL_EDGE };

/* A box's part of a chunk, from its first voxel on; false: it has none. */
static bool part_of(const crd_box *box, const int64_t index[3], int64_t low[3], int64_t high[3])
{
    for (int i = 0; i < 3; i++) {
        low[i] = box->origin[i] - index[i] * EDGE;
        high[i] = low[i] + box->size[i];
        if (low[i] < 0) low[i] = 0;
        if (high[i] > EDGE) high[i] = EDGE;
        if (high[i] <= low[i]) return false;
    }
    return true;
}

/* Copies the part, and counts its labels; `to` may be NULL. */
static int64_t copy_part(const uint8_t *from, const int64_t low[3], const int64_t high[3], uint8_t *to)
{
    int64_t labelled = 0;
    for (int64_t z = low[0]; z < high[0]; z++) {
        for (int64_t y = low[1]; y < high[1]; y++) {
            const int64_t row = (z * EDGE + y) * EDGE;
            for (int64_t x = low[2]; x < high[2]; x++) labelled += from[row + x] != CRD_UNLABELLED;
            if (to != NULL) memcpy(to + row + low[2], from + row + low[2], (size_t)(high[2] - low[2]));
        }
    }
    return labelled;
}

crd_status crd_held_take(const char *from, const crd_volume_info *info, const crd_kept_box *boxes, int64_t count,
                         crd_box_role role, const char *to, int64_t *labelled)
{
    crd_status status = CRD_OK;
    int64_t(*places)[3] = NULL, chunks = 0;
    uint8_t *voxels = NULL, *kept = NULL;
    *labelled = 0;
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &voxels));
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &kept));
    CRD_TRY(crd_image_chunks(from, &places, &chunks));
    for (int64_t c = 0; c < chunks; c++) {
        int64_t low[3], high[3], any = 0;
        bool read = false, there = false;
        for (int64_t i = 0; i < count; i++) {
            if (boxes[i].role != role || !part_of(&boxes[i].box, places[c], low, high)) continue;
            if (!read) {
                CRD_TRY(crd_image_read_chunk(from, places[c], voxels, &there));
                memset(kept, CRD_UNLABELLED, CRD_BLOCK_VOXELS);
                read = true;
            }
            if (there) any += copy_part(voxels, low, high, kept);
        }
        if (any == 0) continue;
        if (*labelled == 0) CRD_TRY(crd_image_make(to, info));
        *labelled += any;
        CRD_TRY(crd_image_write_chunk(to, places[c], kept));
    }
    if (*labelled > 0) status = crd_image_sync(to);
done:
    crd_free(&places);
    crd_free(&voxels);
    crd_free(&kept);
    return status;
}

/* ---- what is left ---- */

/* Goes over a chunk cell by cell; true: something was taken out. */
static bool sift(crd_cells *cells, const int64_t index[3], uint8_t *voxels, int64_t *left)
{
    bool taken = false;
    for (int64_t i = 0; i < CELLS * CELLS * CELLS; i++) {
        const int64_t at[3] = {i / CELLS / CELLS * CRD_CELL_EDGE, i / CELLS % CELLS * CRD_CELL_EDGE,
                               i % CELLS * CRD_CELL_EDGE};
        const int64_t end[3] = {at[0] + CRD_CELL_EDGE, at[1] + CRD_CELL_EDGE, at[2] + CRD_CELL_EDGE};
        const int64_t labelled = copy_part(voxels, at, end, NULL);
        if (labelled == 0) continue;
        const crd_box cell = {.origin = {index[0] * EDGE + at[0], index[1] * EDGE + at[1], index[2] * EDGE + at[2]},
                              .size = {1, 1, 1}};
        if (!crd_cells_near(cells, &cell, 1, CRD_CELL_HELD)) {
            crd_cells_mark(cells, &cell, CRD_CELL_LEARNT);
            *left += labelled;
            continue;
        }
        taken = true;
        for (int64_t z = at[0]; z < end[0]; z++) {
            for (int64_t y = at[1]; y < end[1]; y++) {
                memset(voxels + (z * EDGE + y) * EDGE + at[2], CRD_UNLABELLED, CRD_CELL_EDGE);
            }
        }
    }
    return taken;
}

/* Boxes with a label in this chunk, noted by a mark. */
static void note_boxes(const crd_kept_box *boxes, int64_t count, const int64_t index[3], const uint8_t *voxels,
                       uint8_t *met)
{
    int64_t low[3], high[3];
    for (int64_t i = 0; i < count; i++) {
        if (met[i] || boxes[i].role != CRD_BOX_TRAIN || !part_of(&boxes[i].box, index, low, high)) continue;
        met[i] = copy_part(voxels, low, high, NULL) > 0;
    }
}

crd_status crd_held_leave_out(const char *folder, crd_cells *cells, const crd_kept_box *boxes, int64_t count,
                              crd_learnable *out)
{
    crd_status status = CRD_OK;
    int64_t(*places)[3] = NULL, chunks = 0;
    uint8_t *voxels = NULL, *met = NULL;
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &voxels));
    CRD_TRY(crd_alloc(count + 1, 1, "the boxes", &met));
    CRD_TRY(crd_image_chunks(folder, &places, &chunks));
    for (int64_t c = 0; c < chunks; c++) {
        int64_t left = 0;
        bool there = false;
        CRD_TRY(crd_image_read_chunk(folder, places[c], voxels, &there));
        if (!there) continue;
        const bool taken = sift(cells, places[c], voxels, &left);
        note_boxes(boxes, count, places[c], voxels, met);
        if (taken) CRD_TRY(crd_image_write_chunk(folder, places[c], left > 0 ? voxels : NULL));
        out->voxels += left;
    }
    for (int64_t i = 0; i < count; i++) out->boxes += met[i];
    status = crd_image_sync(folder);
done:
    crd_free(&places);
    crd_free(&voxels);
    crd_free(&met);
    return status;
}

crd_status crd_held_labelled(const char *folder, const crd_box *box, bool *any)
{
    crd_status status = CRD_OK;
    char *first = NULL;
    uint8_t *voxels = NULL;
    int64_t low[3], high[3], index[3];
    *any = false;
    CRD_TRY(crd_join_path(folder, "0/.zarray", "", &first));
    if (access(first, F_OK) != 0) goto done;
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &voxels));
    for (index[0] = box->origin[0] / EDGE; index[0] * EDGE < box->origin[0] + box->size[0]; index[0]++) {
        for (index[1] = box->origin[1] / EDGE; index[1] * EDGE < box->origin[1] + box->size[1]; index[1]++) {
            for (index[2] = box->origin[2] / EDGE; index[2] * EDGE < box->origin[2] + box->size[2]; index[2]++) {
                bool there = false;
                CRD_TRY(crd_image_read_chunk(folder, index, voxels, &there));
                if (there && part_of(box, index, low, high)) *any = *any || copy_part(voxels, low, high, NULL) > 0;
            }
        }
    }
done:
    crd_free(&first);
    crd_free(&voxels);
    return status;
}

void crd_held_remove(const char *folder)
{
    const crd_error before = *crd_last_error(); /* what fails here is only rubbish left behind */
    (void)crd_zarr_remove(folder);
    (void)crd_error_adopt(&before);
}
