#include "chunk/pieces.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random/philox.h"

float crd_round_to_half(float value)
{
    static const float largest = 65504.0f, least_normal = 0x1p-14f;
    uint32_t bits;
    if (value > largest) return largest;
    if (value < -largest) return -largest;
    if (fabsf(value) < least_normal) return (value + 0.75f) - 0.75f; /* multiples of 2^-24, as 0.75's last place is */
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0xfffu + (bits >> 13 & 1)) & ~UINT32_C(0x1fff);
    memcpy(&value, &bits, sizeof value);
    return value;
}

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

crd_status crd_pieces_read(crd_scan *const *scans, int64_t count, uint64_t seed, const int64_t size[3], float *voxels)
{
    enum { LAYER_SCAN = 3 }; /* after the axes */
    const int64_t piece = size[0] * size[1] * size[2];
    int64_t total = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t *shape = crd_scan_info(scans[i])->shape;
        total += shape[0] * shape[1] * shape[2];
    }
    for (int64_t i = 0; i < CRD_PIECES_WANTED; i++) {
        crd_scan *scan = scan_at(scans, below(total, seed, LAYER_SCAN, i));
        crd_box box = {.size = {size[0], size[1], size[2]}};
        for (int axis = 0; axis < 3; axis++) {
            box.origin[axis] = below(crd_scan_info(scan)->shape[axis] - size[axis] + 1, seed, (uint32_t)axis, i);
        }
        CRD_PASS(crd_scan_read(scan, &box, voxels + i * piece));
    }
    for (int64_t i = 0; i < CRD_PIECES_WANTED * piece; i++) voxels[i] = crd_round_to_half(voxels[i]);
    return CRD_OK;
}
