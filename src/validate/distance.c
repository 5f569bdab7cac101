/* Uncertainty and errors by distance to the predicted boundary: exact Euclidean distances up to 16 voxels.
 *
 * The distance of a voxel is that to the centre of the nearest voxel of the other class. It separates by axis: along x
 * by two scans, then along y and z as the smallest of 33 sums. A ring holds the 33 slices that one result needs. */
#include <string.h>

#include "base/memory.h"
#include "validate/sweep.h"

enum {
    REACH = CRD_DISTANCE_MAX,
    FAR = REACH + 1,
    FAR_SQUARE = FAR * FAR,
    RING = 2 * REACH + 1,
    BAND_VOXELS = 1 << 20,
    SLAB = 128,
    CLASS = 0x8000
};

typedef struct room {
    uint16_t *ring[RING]; /* in-slice squared distances, class in the top bit; the part's own rows */
    uint16_t *rows;       /* the same within rows, with REACH more rows on both sides */
    uint8_t *seg, *label, *inside, *kind, *mark;
    float *prob, *unc;
    int16_t *nearest;
    uint8_t bins[FAR_SQUARE + 1]; /* squared distance -> entry of crd_tally.distance */
} room;

static int64_t band_rows(const int64_t shape[3])
{
    const int64_t rows = BAND_VOXELS / shape[2];
    return rows < 64 ? 64 : rows < shape[1] ? rows : shape[1];
}

static void end_room(void **pointer)
{
    room *r = *pointer;
    for (int i = 0; i < RING; i++) crd_free(&r->ring[i]);
    crd_free(&r->rows);
    crd_free(&r->seg);
    crd_free(&r->label);
    crd_free(&r->inside);
    crd_free(&r->kind);
    crd_free(&r->mark);
    crd_free(&r->prob);
    crd_free(&r->unc);
    crd_free(&r->nearest);
    crd_free(pointer);
}

static crd_status begin_room(const crd_sweep *sweep, void **out)
{
    static const char what[] = "slices of distances";
    const int64_t *shape = sweep->inputs->shape;
    const int64_t own = band_rows(shape) * shape[2], more = own + 2 * REACH * shape[2];
    room *r = NULL;
    CRD_PASS(crd_alloc(1, sizeof *r, what, &r));
    *out = r;
    for (int i = 0; i < RING; i++) CRD_PASS(crd_alloc(own, sizeof *r->ring[i], what, &r->ring[i]));
    CRD_PASS(crd_alloc(more, sizeof *r->rows, what, &r->rows));
    CRD_PASS(crd_alloc(more, 1, what, &r->seg));
    CRD_PASS(crd_alloc(own, 1, what, &r->label));
    CRD_PASS(crd_alloc(own, 1, what, &r->inside));
    CRD_PASS(crd_alloc(own, 1, what, &r->kind));
    CRD_PASS(crd_alloc(own, 1, what, &r->mark));
    CRD_PASS(crd_alloc(sweep->inputs->seg == NULL ? more : 1, sizeof *r->prob, what, &r->prob));
    CRD_PASS(crd_alloc(own, sizeof *r->unc, what, &r->unc));
    CRD_PASS(crd_alloc(shape[2], sizeof *r->nearest, what, &r->nearest));
    for (int square = 0; square <= FAR_SQUARE; square++) {
        int distance = 1;
        while ((distance + 1) * (distance + 1) <= square) distance++;
        r->bins[square] = (uint8_t)(distance - 1);
    }
    return CRD_OK;
}

/* Squared distances within one row. */
static void scan_row(const uint8_t *seg, int64_t width, uint16_t *out)
{
    int distance = FAR; /* to the last voxel of the other class */
    for (int64_t x = 0; x < width; x++) {
        const bool same = x == 0 || (seg[x] != 0) == (seg[x - 1] != 0);
        distance = same ? (distance < FAR ? distance + 1 : FAR) : 1;
        out[x] = (uint16_t)distance;
    }
    distance = FAR;
    for (int64_t x = width - 1; x >= 0; x--) {
        const bool same = x == width - 1 || (seg[x] != 0) == (seg[x + 1] != 0);
        distance = same ? (distance < FAR ? distance + 1 : FAR) : 1;
        const int nearer = distance < out[x] ? distance : out[x];
        out[x] = (uint16_t)(nearer * nearer | (seg[x] != 0 ? CLASS : 0));
    }
}

static crd_status scan_slice(const crd_sweep *sweep, const crd_part *part, int64_t z, crd_reader *reader, room *r)
{
    const int64_t *shape = sweep->inputs->shape, width = shape[2];
    const int64_t top = part->y_begin < REACH ? 0 : part->y_begin - REACH;
    const int64_t bottom = part->y_end + REACH < shape[1] ? part->y_end + REACH : shape[1];
    const crd_box box = {{z, top, 0}, {1, bottom - top, width}};
    uint16_t *out = r->ring[z % RING];
    if (reader->seg == NULL) CRD_PASS(crd_volume_read(reader->prob, &box, CRD_F32, r->prob));
    CRD_PASS(crd_reader_segmentation(reader, &box, r->prob, r->seg));
    for (int64_t y = 0; y < bottom - top; y++) scan_row(r->seg + y * width, width, r->rows + y * width);
    for (int64_t y = part->y_begin; y < part->y_end; y++) {
        const uint16_t *here = r->rows + (y - top) * width;
        uint16_t *row = out + (y - part->y_begin) * width;
        for (int64_t x = 0; x < width; x++) r->nearest[x] = FAR_SQUARE;
        for (int64_t other = y < REACH ? 0 : y - REACH; other < bottom && other <= y + REACH; other++) {
            const int step = (int)((other - y) * (other - y));
            sweep->rows->nearer(r->rows + (other - top) * width, here, step, width, r->nearest);
        }
        for (int64_t x = 0; x < width; x++) row[x] = (uint16_t)((uint16_t)r->nearest[x] | (here[x] & CLASS));
    }
    return CRD_OK;
}

static void tally_row(const room *r, int64_t at, double scale, int64_t width, crd_tally *tally)
{
    uint64_t sums[CRD_DISTANCES] = {0};
    int64_t counts[CRD_DISTANCES] = {0}, wrong[CRD_DISTANCES] = {0};
    for (int64_t x = 0; x < width; x++) {
        const int bin = r->bins[r->nearest[x] < FAR_SQUARE ? r->nearest[x] : FAR_SQUARE];
        const uint8_t mark = r->mark[at + x];
        counts[bin] += mark >> 4;
        wrong[bin] += (mark >> 4) & (~mark & 1);
        sums[bin] += crd_nearest_integer((double)r->unc[at + x] * scale * 0x1p32);
    }
    for (int bin = 0; bin < CRD_DISTANCES; bin++) {
        tally->distance[bin].count += counts[bin];
        tally->distance[bin].wrong += wrong[bin];
        tally->distance[bin].sum += sums[bin];
    }
}

static crd_status finish_slice(const crd_sweep *sweep, const crd_part *part, int64_t z, crd_reader *reader, room *r,
                               crd_tally *tally)
{
    const crd_inputs *inputs = sweep->inputs;
    const int64_t width = inputs->shape[2], rows = part->y_end - part->y_begin, depth = inputs->shape[0];
    const crd_box box = {{z, part->y_begin, 0}, {1, rows, width}};
    const uint16_t *own = r->ring[z % RING];
    CRD_PASS(crd_reader_label(reader, &box, r->label));
    if (inputs->mask != NULL) CRD_PASS(crd_reader_mask(reader, &box, r->inside));
    for (int64_t i = 0; i < rows * width; i++) r->seg[i] = (uint8_t)(own[i] >> 15);
    sweep->rows->mark(r->seg, r->label, inputs->mask != NULL ? r->inside : NULL, rows * width, r->kind, r->mark);
    if (inputs->unc != NULL) {
        CRD_PASS(crd_volume_read(reader->unc, &box, CRD_F32, r->unc));
        sweep->rows->clean(r->unc, r->kind, rows * width);
    }
    for (int64_t y = 0; y < rows; y++) {
        const uint16_t *here = own + y * width;
        for (int64_t x = 0; x < width; x++) r->nearest[x] = FAR_SQUARE;
        for (int64_t other = z < REACH ? 0 : z - REACH; other < depth && other <= z + REACH; other++) {
            const int step = (int)((other - z) * (other - z));
            sweep->rows->nearer(r->ring[other % RING] + y * width, here, step, width, r->nearest);
        }
        tally_row(r, y * width, inputs->unc_scale, width, tally);
    }
    return CRD_OK;
}

static crd_status do_part(const crd_sweep *sweep, const crd_part *part, crd_reader *reader, void *context,
                          crd_tally *tally)
{
    const int64_t depth = sweep->inputs->shape[0];
    int64_t next = part->z_begin < REACH ? 0 : part->z_begin - REACH; /* the slice to be scanned next */
    for (int64_t z = part->z_begin; z < part->z_end; z++) {
        for (; next < depth && next <= z + REACH; next++) {
            CRD_PASS(scan_slice(sweep, part, next, reader, context));
        }
        CRD_PASS(finish_slice(sweep, part, z, reader, context, tally));
    }
    return CRD_OK;
}

crd_status crd_sweep_distance(const crd_sweep *sweep, crd_tally *tally)
{
    const crd_team_work work = {.stage = "measuring distances",
                                .slab = SLAB,
                                .band = band_rows(sweep->inputs->shape),
                                .begin = begin_room,
                                .part = do_part,
                                .end = end_room};
    return crd_team_run(sweep, &work, tally);
}
