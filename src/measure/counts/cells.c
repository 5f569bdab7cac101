#include "measure/counts/cells.h"

#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"

enum { BAND = 16, PIECE = 64, WORDS = 8 }; /* rows of cells of a task; cells looked at together; of a cell */

/* ---- a row of cells ---- */

/* Eight words of 64 realisations to 64 codes: realisation 8 b + k is byte b of word k. An 8 x 8 transposition of bits
 * in every byte. */
static inline __attribute__((always_inline)) void codes_of(uint64_t w[WORDS])
{
    static const uint64_t masks[3] = {UINT64_C(0x5555555555555555), UINT64_C(0x3333333333333333),
                                      UINT64_C(0x0f0f0f0f0f0f0f0f)};
    for (int step = 0; step < 3; step++) {
        const int distance = 1 << step;
        const uint64_t mask = masks[step];
        for (int k = 0; k < WORDS; k++) {
            if ((k & distance) != 0) continue;
            const uint64_t t = ((w[k] >> distance) ^ w[k | distance]) & mask;
            w[k] ^= t << distance;
            w[k | distance] ^= t;
        }
    }
}

/* A cell in which not all realisations agree, or whose voxels differ. */
static inline __attribute__((always_inline)) void mixed_cell(const crd_cell_row *row, int64_t x, int bytes,
                                                             uint32_t (*counts)[CRD_CELL_CODES], uint32_t *own)
{
    uint64_t w[WORDS];
    for (int k = 0; k < WORDS; k++) w[k] = row->rows[k >> 1][x + (k & 1)];
    if (own != NULL) {
        unsigned code = 0;
        for (int k = 0; k < WORDS; k++) code |= (unsigned)(w[k] >> row->bit & 1) << k;
        own[code]++;
    }
    codes_of(w);
    for (int b = 0; b < bytes; b++) {
        for (int k = 0; k < WORDS; k++) counts[WORDS * b + k][w[k] >> 8 * b & 0xff]++;
    }
}

static inline __attribute__((always_inline)) void count_row(const crd_cell_row *row, int bytes, crd_cell_tally *tally,
                                                            int64_t same[2], uint32_t *own)
{
    const uint64_t used = row->used;
    const uint64_t *restrict a = row->rows[0], *restrict b = row->rows[1];
    const uint64_t *restrict c = row->rows[2], *restrict d = row->rows[3];
    for (int64_t first = 0; first < row->count; first += PIECE) {
        const int64_t n = row->count - first < PIECE ? row->count - first : PIECE;
        uint64_t any[PIECE], all[PIECE];
        int64_t none = 0, full = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t x = first + i;
            any[i] = a[x] | a[x + 1] | b[x] | b[x + 1] | c[x] | c[x + 1] | d[x] | d[x + 1];
            all[i] = a[x] & a[x + 1] & b[x] & b[x + 1] & c[x] & c[x + 1] & d[x] & d[x + 1];
        }
        for (int64_t i = 0; i < n; i++) {
            if (any[i] == 0) {
                none++;
            } else if (all[i] == used) {
                full++;
            } else {
                mixed_cell(row, first + i, bytes, tally->counts, own);
            }
        }
        same[0] += none;
        same[1] += full;
    }
}

/* The number of bytes is known to the compiler, so that the counters of a cell are one straight line. */
#define PATH(name, target)                                                                                             \
    target static void count_##name(const crd_cell_row *row, crd_cell_tally *tally, int64_t same[2], uint32_t *own)    \
    {                                                                                                                  \
        const int bytes = row->used >> 56 != 0   ? 8                                                                   \
                          : row->used >> 48 != 0 ? 7                                                                   \
                          : row->used >> 32 != 0 ? 6                                                                   \
                          : row->used >> 8 != 0  ? 4                                                                   \
                                                 : 1;                                                                   \
        switch (bytes) {                                                                                               \
        case 8:                                                                                                        \
            count_row(row, 8, tally, same, own);                                                                       \
            break;                                                                                                     \
        case 7:                                                                                                        \
            count_row(row, 7, tally, same, own);                                                                       \
            break;                                                                                                     \
        case 6:                                                                                                        \
            count_row(row, 6, tally, same, own);                                                                       \
            break;                                                                                                     \
        case 4:                                                                                                        \
            count_row(row, 4, tally, same, own);                                                                       \
            break;                                                                                                     \
        default:                                                                                                       \
            count_row(row, 1, tally, same, own);                                                                       \
            break;                                                                                                     \
        }                                                                                                              \
    }
CRD_CPU_PATHS(PATH)

#define ROW(name, target) count_##name,
crd_cells_loop *const crd_cells_loops[] = {CRD_CPU_PATHS(ROW)};

/* ---- all rows ---- */

typedef struct crd_cell_room {
    crd_cell_tally tallies[2]; /* inner, outer */
    int64_t same[2][2];
    uint32_t (*block)[CRD_CELL_CODES];
} crd_cell_room;

static int64_t block_count(const int64_t blocks[3])
{
    return blocks[0] * blocks[1] * blocks[2];
}

int64_t crd_cell_rooms_bytes(const int64_t blocks[3], int threads)
{
    return threads *
           ((int64_t)sizeof(crd_cell_room) + block_count(blocks) * (int64_t)sizeof *((crd_cell_room *)NULL)->block);
}

crd_status crd_cell_rooms_make(crd_cell_rooms *rooms, const int64_t blocks[3], int threads)
{
    static const char what[] = "histograms of cells";
    CRD_PASS(crd_alloc(threads, sizeof *rooms->rooms, what, &rooms->rooms));
    rooms->threads = threads;
    for (int t = 0; block_count(blocks) > 0 && t < threads; t++) {
        CRD_PASS(crd_alloc(block_count(blocks), sizeof *rooms->rooms[t].block, what, &rooms->rooms[t].block));
    }
    return CRD_OK;
}

void crd_cell_rooms_free(crd_cell_rooms *rooms)
{
    for (int t = 0; rooms->rooms != NULL && t < rooms->threads; t++) crd_free(&rooms->rooms[t].block);
    crd_free(&rooms->rooms);
}

int64_t crd_cells_bytes(const int64_t blocks[3])
{
    return (2 * 64 + block_count(blocks)) * CRD_CELL_CODES * (int64_t)sizeof(int64_t);
}

crd_status crd_cells_begin(crd_cells *cells, const crd_field *field, int own, const int64_t blocks[3],
                           const crd_cell_rooms *rooms)
{
    static const char what[] = "histograms of cells";
    memset(cells, 0, sizeof *cells);
    cells->field = field;
    cells->rooms = rooms;
    cells->own = block_count(blocks) > 0 ? own : -1;
    memcpy(cells->blocks, blocks, sizeof cells->blocks);
    CRD_PASS(crd_alloc(64, sizeof *cells->inner, what, &cells->inner));
    CRD_PASS(crd_alloc(64, sizeof *cells->outer, what, &cells->outer));
    if (cells->own < 0) return CRD_OK;
    return crd_alloc(block_count(blocks), sizeof *cells->block, what, &cells->block);
}

void crd_cells_end(crd_cells *cells)
{
    crd_free(&cells->inner);
    crd_free(&cells->outer);
    crd_free(&cells->block);
}

/* The block along an axis that cell `at` of it lies in, by its lower corner; *end: where the block ends. */
static int64_t block_of(int64_t at, int64_t size, int64_t blocks, int64_t *end)
{
    const int64_t block = ((at + 1) * blocks - 1) / size;
    *end = (block + 1) * size / blocks;
    return block;
}

/* Cells x0 to before x1 of a row, of which all are inner ones or none. */
static void count_stretch(const crd_cells *cells, int64_t z, int64_t y, int64_t x0, int64_t x1, bool inner,
                          crd_cell_room *room)
{
    const crd_field *f = cells->field;
    const int64_t *shape = f->window->shape;
    crd_cells_loop *loop = crd_cells_can_batch() ? crd_cells_batched : crd_cells_loops[crd_cpu_path()];
    crd_cell_row row = {.used = f->used, .bit = cells->own};
    for (int64_t x = x0; x < x1;) {
        int64_t end = x1, same[2] = {0}, block = 0;
        uint32_t *own = NULL;
        if (inner && cells->own >= 0) {
            int64_t ignored;
            block = block_of(z, shape[0], cells->blocks[0], &ignored) * cells->blocks[1];
            block = (block + block_of(y, shape[1], cells->blocks[1], &ignored)) * cells->blocks[2];
            block += block_of(x, shape[2], cells->blocks[2], &end);
            if (end > x1) end = x1;
            own = room->block[block];
        }
        for (int i = 0; i < 4; i++) row.rows[i] = crd_field_row(f, z + (i >> 1), y + (i & 1)) + x;
        row.count = end - x;
        loop(&row, &room->tallies[inner ? 0 : 1], same, own);
        for (int i = 0; i < 2; i++) {
            room->same[inner ? 0 : 1][i] += same[i];
            if (own != NULL) own[i * (CRD_CELL_CODES - 1)] += (uint32_t)same[i];
        }
        x = end;
    }
}

static void count_cells(const crd_cells *cells, int64_t z, int64_t y, crd_cell_room *room)
{
    const crd_frame *w = cells->field->window;
    const int64_t width = w->shape[2];
    if (w->inside == NULL) {
        if (z < 0 || z + 1 >= w->shape[0] || y < 0 || y + 1 >= w->shape[1]) {
            count_stretch(cells, z, y, -1, width, false, room);
            return;
        }
        count_stretch(cells, z, y, -1, 0, false, room);
        count_stretch(cells, z, y, 0, width - 1, true, room);
        if (width > 0) count_stretch(cells, z, y, width - 1, width, false, room);
        return;
    }
    const uint8_t *in[4];
    for (int i = 0; i < 4; i++) in[i] = crd_frame_row(w, z + (i >> 1), y + (i & 1));
    for (int64_t x = -1, end; x < width; x = end) {
        uint8_t inner = 0;
        for (end = x; end < width; end++) {
            uint8_t here = 1;
            for (int i = 0; i < 4; i++) here &= in[i][end] & in[i][end + 1];
            if (end == x) inner = here;
            if (here != inner) break;
        }
        count_stretch(cells, z, y, x, end, inner != 0, room);
    }
}

typedef struct task {
    crd_cells *cells;
    int64_t first, end; /* layers of cells, by their lower slice */
} task;

static void count_band(void *context, int64_t item, int worker)
{
    const task *t = context;
    const int64_t height = t->cells->field->window->shape[1], y0 = item * BAND - 1;
    const int64_t y1 = y0 + BAND < height ? y0 + BAND : height;
    for (int64_t z = t->first; z < t->end; z++) {
        for (int64_t y = y0; y < y1; y++) count_cells(t->cells, z, y, &t->cells->rooms->rooms[worker]);
    }
}

/* Integers, so that it doesn't matter which thread counted what. */
static void empty_room(crd_cells *cells, crd_cell_room *room)
{
    for (int kind = 0; kind < 2; kind++) {
        int64_t(*to)[CRD_CELL_CODES] = kind == 0 ? cells->inner : cells->outer;
        crd_cell_tally *tally = &room->tallies[kind];
        crd_cells_settle(tally);
        for (int s = 0; s < cells->field->bits; s++) {
            for (int code = 0; code < CRD_CELL_CODES; code++) to[s][code] += tally->counts[s][code];
            to[s][0] += room->same[kind][0];
            to[s][CRD_CELL_CODES - 1] += room->same[kind][1];
        }
        memset(tally->counts, 0, sizeof tally->counts);
    }
    memset(room->same, 0, sizeof room->same);
    for (int64_t b = 0; cells->own >= 0 && b < block_count(cells->blocks); b++) {
        for (int code = 0; code < CRD_CELL_CODES; code++) cells->block[b][code] += room->block[b][code];
        memset(room->block[b], 0, sizeof room->block[b]);
    }
}

void crd_cells_slices(crd_cells *cells, crd_pool *pool, int64_t first, int64_t end)
{
    const crd_frame *w = cells->field->window;
    task t = {.cells = cells, .first = first - 1, .end = end == w->shape[0] ? end : end - 1};
    crd_pool_run(pool, (w->shape[1] + 1 + BAND - 1) / BAND, count_band, &t);
    for (int i = 0; i < cells->rooms->threads; i++) empty_room(cells, &cells->rooms->rooms[i]);
}
