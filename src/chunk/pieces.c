#include "chunk/pieces.h"

#include "base/error.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/random/philox.h"

bool crd_piece_size(const int64_t shape[3], int64_t step, int64_t size[3])
{
    static const int64_t most[3] = {48, 96, 96};
    for (int axis = 0; axis < 3; axis++) {
        size[axis] = (shape[axis] < most[axis] ? shape[axis] : most[axis]) / step * step;
        if (size[axis] == 0) return false;
    }
    return true;
}

bool crd_pieces_size(crd_scan *const *scans, int64_t count, int64_t step, int64_t size[3])
{
    int64_t least[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    for (int64_t i = 0; i < count; i++) {
        const int64_t *shape = crd_scan_info(scans[i])->shape;
        for (int axis = 0; axis < 3; axis++) least[axis] = shape[axis] < least[axis] ? shape[axis] : least[axis];
    }
    return crd_piece_size(least, step, size);
}

/* A whole number below n, by the word `element` of a stream. */
static int64_t below(int64_t n, uint64_t seed, uint32_t layer, int64_t element)
{
    const crd_stream stream = {.seed = seed, .purpose = CRD_PURPOSE_PIECES, .layer = layer};
    return crd_random_below(&stream, (uint64_t)element, n);
}

/* The scan that holds voxel number `voxel` of all of them together. */
static crd_scan *scan_at(crd_scan *const *scans, int64_t voxel)
{
    for (;; scans++) {
        const int64_t *shape = crd_scan_info(*scans)->shape;
        if (voxel < shape[0] * shape[1] * shape[2]) return *scans;
        voxel -= shape[0] * shape[1] * shape[2];
    }
}

/* Place number `element` by the seed. */
static void draw_place(crd_scan *const *scans, int64_t total, uint64_t seed, int64_t element, crd_scan **scan,
                       crd_box *box)
{
    enum { LAYER_SCAN = 3 }; /* after the axes */
    *scan = scan_at(scans, below(total, seed, LAYER_SCAN, element));
    for (int axis = 0; axis < 3; axis++) {
        const int64_t room = crd_scan_info(*scan)->shape[axis] - box->size[axis] + 1;
        box->origin[axis] = below(room, seed, (uint32_t)axis, element);
    }
}

/* How many voxels of the box lie inside the scan's mask. */
static crd_status count_inside(crd_scan *scan, const crd_box *box, uint8_t *inside, int64_t *count)
{
    const int64_t voxels = box->size[0] * box->size[1] * box->size[2];
    *count = voxels;
    if (!crd_scan_masked(scan)) return CRD_OK;
    CRD_PASS(crd_scan_read_mask(scan, box, inside));
    *count = 0;
    for (int64_t i = 0; i < voxels; i++) *count += inside[i] != 0;
    return CRD_OK;
}

/* Of some places the first that lies wholly inside the mask, else the one of which most does. */
static crd_status choose_place(crd_scan *const *scans, int64_t total, uint64_t seed, int64_t piece, uint8_t *inside,
                               crd_scan **scan, crd_box *box)
{
    enum { TRIES = 32 };
    const int64_t voxels = box->size[0] * box->size[1] * box->size[2];
    int64_t best = -1;
    for (int64_t i = 0; i < TRIES && best < voxels; i++) {
        crd_scan *candidate;
        crd_box place = *box;
        int64_t count;
        draw_place(scans, total, seed, piece + i * CRD_PIECES_WANTED, &candidate, &place);
        CRD_PASS(count_inside(candidate, &place, inside, &count));
        if (count <= best) continue;
        best = count;
        *scan = candidate;
        *box = place;
    }
    return CRD_OK;
}

crd_status crd_pieces_read(crd_scan *const *scans, int64_t count, uint64_t seed, const int64_t size[3], float *voxels)
{
    crd_status status = CRD_OK;
    const int64_t piece = size[0] * size[1] * size[2];
    int64_t total = 0;
    uint8_t *inside = NULL;
    CRD_TRY(crd_alloc(piece, 1, "the mask of a piece", &inside));
    for (int64_t i = 0; i < count; i++) {
        const int64_t *shape = crd_scan_info(scans[i])->shape;
        total += shape[0] * shape[1] * shape[2];
    }
    for (int64_t i = 0; i < CRD_PIECES_WANTED; i++) {
        crd_scan *scan = NULL;
        crd_box box = {.size = {size[0], size[1], size[2]}};
        CRD_TRY(choose_place(scans, total, seed, i, inside, &scan, &box));
        CRD_TRY(crd_scan_read(scan, &box, voxels + i * piece));
    }
    for (int64_t i = 0; i < CRD_PIECES_WANTED * piece; i++) voxels[i] = crd_round_to_half(voxels[i]);
done:
    crd_free(&inside);
    return status;
}
