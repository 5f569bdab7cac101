/* Uncertainty and errors by distance to the predicted boundary: exact Euclidean distances up to 16 voxels.
 *
 * The distance of a voxel is that to the centre of the nearest voxel of another class. Of more than two classes there
 * is a pass for each: that class against the others, and only its voxels are tallied. It separates by axis: along x,
 * then along y and z as the smallest of 33 sums. Rows are worked on in blocks. Most blocks of most scans lie far from
 * any boundary; that is known from counting how many blocks in a line have been so, and costs nothing. A few slices
 * are finished at a time, so that the rows they share are read from memory once. */
#include <string.h>

#include "base/memory.h"
#include "validate/sweep.h"

enum { REACH = CRD_REACH, GROUP = 4, RING = 2 * REACH + GROUP, BAND_VOXELS = 1 << 18, SLAB = 128 };

/* One slice's squared distances within itself, of the part's own rows. */
typedef struct plane {
    uint16_t *squares;
    uint8_t *far, *line; /* of each block: as rows->nearest leaves it; planes up to this one that have been the same */
} plane;

/* A slice that is being finished. */
typedef struct finish {
    uint8_t *label, *mark;
    float *unc;
} finish;

typedef struct room {
    int64_t blocks; /* of a row */
    plane ring[RING];
    finish group[GROUP];
    uint16_t *rows; /* distances within rows, with REACH more rows on both sides */
    uint8_t *far, *line;
    uint8_t *row, *alone;
    uint16_t *nearest;
    uint8_t *seg, *inside, *kind;
    float *prob;
} room;

static int64_t band_rows(const int64_t shape[3])
{
    const int64_t rows = BAND_VOXELS / shape[2];
    return rows < 64 ? 64 : rows < shape[1] ? rows : shape[1];
}

static void end_room(void **pointer)
{
    room *r = *pointer;
    for (int i = 0; i < RING; i++) {
        crd_free(&r->ring[i].squares);
        crd_free(&r->ring[i].far);
        crd_free(&r->ring[i].line);
    }
    for (int i = 0; i < GROUP; i++) {
        crd_free(&r->group[i].label);
        crd_free(&r->group[i].mark);
        crd_free(&r->group[i].unc);
    }
    crd_free(&r->rows);
    crd_free(&r->far);
    crd_free(&r->line);
    crd_free(&r->row);
    crd_free(&r->alone);
    crd_free(&r->nearest);
    crd_free(&r->seg);
    crd_free(&r->inside);
    crd_free(&r->kind);
    crd_free(&r->prob);
    crd_free(pointer);
}

static crd_status begin_room(const crd_sweep *sweep, void **out)
{
    static const char what[] = "slices of distances";
    const int64_t *shape = sweep->inputs->shape, blocks = (shape[2] + CRD_BLOCK - 1) / CRD_BLOCK;
    const int64_t own = band_rows(shape), more = own + 2 * REACH;
    room *r = NULL;
    CRD_PASS(crd_alloc(1, sizeof *r, what, &r));
    *out = r;
    r->blocks = blocks;
    for (int i = 0; i < RING; i++) {
        CRD_PASS(crd_alloc(own * blocks * CRD_BLOCK, sizeof *r->ring[i].squares, what, &r->ring[i].squares));
        CRD_PASS(crd_alloc(own * blocks, 1, what, &r->ring[i].far));
        CRD_PASS(crd_alloc(own * blocks, 1, what, &r->ring[i].line));
    }
    for (int i = 0; i < GROUP; i++) {
        CRD_PASS(crd_alloc(own * shape[2], 1, what, &r->group[i].label));
        CRD_PASS(crd_alloc(own * shape[2], 1, what, &r->group[i].mark));
        CRD_PASS(crd_alloc(own * shape[2], sizeof *r->group[i].unc, what, &r->group[i].unc));
    }
    CRD_PASS(crd_alloc(more * blocks * CRD_BLOCK, sizeof *r->rows, what, &r->rows));
    CRD_PASS(crd_alloc(more * blocks, 1, what, &r->far));
    CRD_PASS(crd_alloc(more * blocks, 1, what, &r->line));
    CRD_PASS(crd_alloc(blocks * CRD_BLOCK + 2 * REACH, 1, what, &r->row));
    CRD_PASS(crd_alloc(blocks, 1, what, &r->alone));
    CRD_PASS(crd_alloc(blocks * CRD_BLOCK, sizeof *r->nearest, what, &r->nearest));
    CRD_PASS(crd_alloc(more * shape[2], 1, what, &r->seg));
    CRD_PASS(crd_alloc(own * shape[2], 1, what, &r->inside));
    CRD_PASS(crd_alloc(own * shape[2], 1, what, &r->kind));
    return crd_alloc(sweep->inputs->seg == NULL ? more * shape[2] : 1, sizeof *r->prob, what, &r->prob);
}

/* How many blocks in a line, this one included, have been far from everything and of one class. */
static void count_line(const uint8_t *far, const uint8_t *far_before, const uint8_t *line_before, int64_t blocks,
                       uint8_t *line)
{
    for (int64_t b = 0; b < blocks; b++) {
        const bool goes_on = far_before != NULL && far_before[b] == far[b];
        const uint8_t longer = (uint8_t)(goes_on ? line_before[b] + (line_before[b] < UINT8_MAX) : 1);
        line[b] = far[b] == CRD_MIXED ? 0 : longer;
    }
}

/* Whether a block and all that is in reach, which ends with the row that `far` and `line` are of, is alike. */
static void find_alone(const uint8_t *far, const uint8_t *line, int reached, int64_t blocks, uint8_t *alone)
{
    for (int64_t b = 0; b < blocks; b++) alone[b] = line[b] >= reached ? far[b] : CRD_MIXED;
}

/* Distances within one row; beyond its ends it goes on as it ends. */
static void scan_row(const crd_sweep *sweep, const uint8_t *seg, room *r, int64_t y)
{
    const int64_t width = sweep->inputs->shape[2], blocks = r->blocks, whole = blocks * CRD_BLOCK;
    uint8_t *row = r->row + REACH;
    for (int64_t x = 0; x < width; x++) row[x] = seg[x] != 0 ? 255 : 0;
    memset(r->row, row[0], REACH);
    memset(row + width, row[width - 1], (size_t)(whole - width + REACH));
    uint8_t *far = r->far + y * blocks, *line = r->line + y * blocks;
    sweep->rows->scan(row, blocks, r->rows + y * whole, far);
    count_line(far, y > 0 ? far - blocks : NULL, line - (y > 0 ? blocks : 0), blocks, line);
}

static int lesser(int64_t a, int64_t b)
{
    return (int)(a < b ? a : b);
}

static crd_status scan_slice(const crd_sweep *sweep, const crd_sweep_part *part, int64_t z, int64_t first,
                             crd_input_reader *reader, room *r)
{
    const int64_t *shape = sweep->inputs->shape, blocks = r->blocks, whole = blocks * CRD_BLOCK;
    const int64_t top = part->y_begin < REACH ? 0 : part->y_begin - REACH;
    const int64_t bottom = part->y_end + REACH < shape[1] ? part->y_end + REACH : shape[1];
    const crd_box box = {{z, top, 0}, {1, bottom - top, shape[2]}};
    const plane *own = &r->ring[z % RING], *before = z > first ? &r->ring[(z - 1) % RING] : NULL;
    const uint16_t *near[2 * REACH + 1];
    if (reader->seg == NULL) CRD_PASS(crd_volume_read(reader->probs[0], &box, CRD_F32, r->prob));
    CRD_PASS(crd_input_reader_segmentation(reader, &box, r->prob, r->seg));
    if (sweep->class_number >= 0) {
        const int64_t count = (bottom - top) * shape[2];
        for (int64_t i = 0; i < count; i++) r->seg[i] = r->seg[i] == sweep->class_number;
    }
    for (int64_t y = 0; y < bottom - top; y++) scan_row(sweep, r->seg + y * shape[2], r, y);
    for (int64_t y = part->y_begin; y < part->y_end; y++) {
        const int above = lesser(y - top, REACH), below = lesser(bottom - 1 - y, REACH);
        const int64_t last = y + below - top, at = (y - part->y_begin) * blocks;
        for (int d = -above; d <= below; d++) near[REACH + d] = r->rows + (y + d - top) * whole;
        find_alone(r->far + last * blocks, r->line + last * blocks, above + below + 1, blocks, r->alone);
        sweep->rows->nearest(near + REACH, above, below, r->alone, blocks, own->squares + at * CRD_BLOCK,
                             own->far + at);
    }
    count_line(own->far, before != NULL ? before->far : NULL, before != NULL ? before->line : NULL,
               (part->y_end - part->y_begin) * blocks, own->line);
    return CRD_OK;
}

/* The class's own voxels become its number; those of others don't count. */
static void choose_class(const crd_sweep *sweep, int64_t count, uint8_t *seg, uint8_t *label)
{
    const uint8_t number = (uint8_t)sweep->class_number;
    for (int64_t i = 0; i < count; i++) {
        label[i] = seg[i] != 0 ? label[i] : CRD_LABEL_NONE;
        seg[i] = number;
    }
}

/* What a slice is finished with: which voxels count and are right, and the uncertainty. */
static crd_status load(const crd_sweep *sweep, const crd_sweep_part *part, int64_t z, crd_input_reader *reader, room *r,
                       const finish *f)
{
    const crd_inputs *inputs = sweep->inputs;
    const int64_t width = inputs->shape[2], rows = part->y_end - part->y_begin, whole = r->blocks * CRD_BLOCK;
    const crd_box box = {{z, part->y_begin, 0}, {1, rows, width}};
    const uint16_t *squares = r->ring[z % RING].squares;
    CRD_PASS(crd_input_reader_label(reader, &box, f->label));
    if (inputs->mask != NULL) CRD_PASS(crd_input_reader_mask(reader, &box, r->inside));
    for (int64_t y = 0; y < rows; y++) {
        for (int64_t x = 0; x < width; x++) r->seg[y * width + x] = (uint8_t)(squares[y * whole + x] >> 15);
    }
    if (sweep->class_number >= 0) choose_class(sweep, rows * width, r->seg, f->label);
    crd_sweep_mark(sweep, r->seg, f->label, inputs->mask != NULL ? r->inside : NULL, rows * width, r->kind, f->mark);
    if (inputs->unc == NULL) return CRD_OK;
    CRD_PASS(crd_volume_read(reader->unc, &box, CRD_F32, f->unc));
    sweep->rows->clean(f->unc, r->kind, rows * width);
    return CRD_OK;
}

static void finish_row(const crd_sweep *sweep, int64_t y, int64_t z, int64_t first, room *r, const finish *f,
                       crd_tally *tally)
{
    const crd_inputs *inputs = sweep->inputs;
    const int64_t width = inputs->shape[2], at = y * r->blocks;
    const int before = lesser(z - first, REACH), after = lesser(inputs->shape[0] - 1 - z, REACH);
    const plane *last = &r->ring[(z + after) % RING];
    const uint16_t *near[2 * REACH + 1];
    for (int d = -before; d <= after; d++) near[REACH + d] = r->ring[(z + d) % RING].squares + at * CRD_BLOCK;
    find_alone(last->far + at, last->line + at, before + after + 1, r->blocks, r->alone);
    sweep->rows->nearest(near + REACH, before, after, r->alone, r->blocks, r->nearest, r->alone);
    sweep->rows->by_distance(r->nearest, r->alone, f->unc + y * width, f->mark + y * width, inputs->unc_scale, width,
                             tally);
}

static crd_status do_part(const crd_sweep *sweep, const crd_sweep_part *part, crd_input_reader *reader, void *context,
                          crd_tally *tally)
{
    room *r = context;
    const int64_t depth = sweep->inputs->shape[0], first = part->z_begin < REACH ? 0 : part->z_begin - REACH;
    int64_t next = first; /* the slice to be scanned next */
    for (int64_t z = part->z_begin; z < part->z_end; z += GROUP) {
        const int count = lesser(part->z_end - z, GROUP);
        for (; next < depth && next < z + count + REACH; next++) {
            CRD_PASS(scan_slice(sweep, part, next, first, reader, r));
        }
        for (int i = 0; i < count; i++) CRD_PASS(load(sweep, part, z + i, reader, r, &r->group[i]));
        for (int64_t y = 0; y < part->y_end - part->y_begin; y++) {
            for (int i = 0; i < count; i++) finish_row(sweep, y, z + i, first, r, &r->group[i], tally);
        }
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
    crd_sweep one = *sweep;
    one.class_number = -1;
    if (!crd_sweep_many(sweep)) return crd_team_run(&one, &work, tally);
    for (one.class_number = 0; one.class_number < sweep->inputs->class_count; one.class_number++) {
        CRD_PASS(crd_team_run(&one, &work, tally));
    }
    return CRD_OK;
}
