#include "surface/march.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "surface/cases.h"

/* A vertex is at least this part of an edge away from its ends, so that no two are in one place when a sample equals
 * the level, also in float coordinates of a large volume. */
#define MARGIN (1.0 / 256)

enum { GROUP_VOXELS = 1 << 19, GROUP_MOST = 16, BAND = 16 };

/* One row of the grid in one slice: what is counted there, and then where it begins in the part. */
typedef struct row_place {
    int64_t x_edges, y_edges; /* of the slice; y edges go to the next row */
    int64_t z_edges;          /* to the slice before */
    int64_t triangles;        /* of the cells between this row, the next, and those of the slice before */
    double area, volume;
} row_place;

struct crd_march {
    crd_march_plan plan;
    int64_t pad;                 /* samples around the volume: 1 where the surface is closed */
    int64_t slices, rows, words; /* of the grid; words of a row have a zero bit behind the last sample at least */
    int64_t columns, bands, group;
    uint64_t *valid;    /* where a row's edges along x, and its cells, begin */
    uint64_t *bits;     /* of group + 1 slices, the last one done first */
    row_place *places;  /* the same */
    int64_t next;       /* slice */
    int64_t now;        /* slices in this part */
    int64_t last_slice; /* where its vertices begin in the part */
    float *vertices, *data;
    uint32_t *corners;
    int64_t vertex_room, corner_room;
    crd_mesh_part part;
    crd_march_totals totals;
};

int64_t crd_march_group(const int64_t shape[3])
{
    const int64_t count = GROUP_VOXELS / (shape[1] * shape[2]);
    return count < 1 ? 1 : count < GROUP_MOST ? count : GROUP_MOST;
}

int64_t crd_march_depth(const int64_t shape[3], int64_t reach)
{
    const int64_t depth = 2 * crd_march_group(shape) + 1 + 2 * reach;
    return depth < shape[0] ? depth : shape[0];
}

static uint64_t *bits_of(const crd_march *m, int64_t slot, int64_t row)
{
    return m->bits + (slot * m->rows + row) * m->words;
}

static row_place *place_of(const crd_march *m, int64_t slot, int64_t row)
{
    return m->places + slot * m->rows + row;
}

crd_status crd_march_open(const crd_march_plan *plan, crd_march **out)
{
    crd_status status = CRD_OK;
    int64_t words, rows;
    CRD_PASS(crd_alloc(1, sizeof **out, "the surface", out));
    crd_march *m = *out;
    m->plan = *plan;
    m->pad = plan->closed ? 1 : 0;
    m->slices = plan->shape[0] + 2 * m->pad;
    m->rows = plan->shape[1] + 2 * m->pad;
    m->columns = plan->shape[2] + 2 * m->pad;
    m->words = m->columns / 64 + 1;
    m->bands = (m->rows + BAND - 1) / BAND;
    m->group = crd_march_group(plan->shape);
    CRD_TRY(crd_product(m->rows, m->group + 1, 1, &rows));
    CRD_TRY(crd_product(rows, m->words, 1, &words));
    CRD_TRY(crd_alloc(words, sizeof *m->bits, "the surface's grid", &m->bits));
    CRD_TRY(crd_alloc(rows, sizeof *m->places, "the surface's rows", &m->places));
    CRD_TRY(crd_alloc(m->words, sizeof *m->valid, "a row of the grid", &m->valid));
    for (int64_t p = 0; p + 1 < m->columns; p++) m->valid[p / 64] |= (uint64_t)1 << p % 64;
done:
    if (status != CRD_OK) crd_march_close(out);
    return status;
}

void crd_march_close(crd_march **march)
{
    if (*march == NULL) return;
    crd_free(&(*march)->bits);
    crd_free(&(*march)->places);
    crd_free(&(*march)->valid);
    crd_free(&(*march)->vertices);
    crd_free(&(*march)->data);
    crd_free(&(*march)->corners);
    crd_free(march);
}

int64_t crd_march_slices_done(const crd_march *m)
{
    const int64_t done = m->next - m->pad;
    return done < 0 ? 0 : done < m->plan.shape[0] ? done : m->plan.shape[0];
}

crd_march_totals crd_march_sum(const crd_march *m)
{
    return m->totals;
}

/* The samples of a row of the grid, from the volume's first on; NULL where it lies beyond the volume. */
static const float *samples(const crd_march *m, int64_t slice, int64_t row)
{
    const int64_t z = slice - m->pad, y = row - m->pad;
    if (z < 0 || z >= m->plan.shape[0] || y < 0 || y >= m->plan.shape[1]) return NULL;
    return crd_slices_at(m->plan.slices, m->plan.field, z) + y * m->plan.shape[2];
}

/* Calls for each row of each slice of the group, in bands. */
typedef void row_work(crd_march *m, int64_t slot, int64_t row);

typedef struct row_job {
    crd_march *march;
    row_work *work;
} row_job;

static void work_band(void *context, int64_t item, int worker)
{
    const row_job *job = context;
    const crd_march *m = job->march;
    const int64_t slot = 1 + item / m->bands, first = item % m->bands * BAND;
    (void)worker;
    for (int64_t row = first; row < first + BAND && row < m->rows; row++) job->work(job->march, slot, row);
}

static void for_rows(crd_march *m, row_work *work)
{
    row_job job = {.march = m, .work = work};
    crd_pool_run(m->plan.pool, m->now * m->bands, work_band, &job);
}

static int64_t slice_of(const crd_march *m, int64_t slot)
{
    return m->next + slot - 1;
}

/* 64 values at a time: compared to bytes, which compilers do many at once, and each 8 bytes gathered to 8 bits. */
static uint64_t pack(const float *values, int64_t count, float level)
{
    uint8_t inside[64] = {0};
    uint64_t word = 0;
    for (int64_t i = 0; i < count; i++) inside[i] = values[i] > level;
    for (int i = 0; i < 8; i++) {
        uint64_t bytes = 0;
        for (int k = 0; k < 8; k++) bytes |= (uint64_t)inside[8 * i + k] << 8 * k;
        word |= (bytes * UINT64_C(0x0102040810204080) >> 56) << 8 * i;
    }
    return word;
}

static void fill_bits(crd_march *m, int64_t slot, int64_t row)
{
    const float *values = samples(m, slice_of(m, slot), row);
    uint64_t *bits = bits_of(m, slot, row);
    const int64_t count = m->plan.shape[2];
    memset(bits, 0, (size_t)m->words * sizeof *bits);
    if (values == NULL) return;
    for (int64_t x = 0; x < count; x += 64) {
        const uint64_t word = pack(values + x, count - x < 64 ? count - x : 64, m->plan.level);
        const int64_t at = (x + m->pad) / 64;
        bits[at] |= word << m->pad;
        if (m->pad > 0 && word >> 63 != 0) bits[at + 1] |= 1;
    }
}

/* The word of the next samples: bit p is sample p + 1. */
static uint64_t ahead(const crd_march *m, const uint64_t *bits, int64_t word)
{
    return bits[word] >> 1 | (word + 1 < m->words ? bits[word + 1] << 63 : 0);
}

static uint64_t x_edges(const crd_march *m, const uint64_t *bits, int64_t word)
{
    return (bits[word] ^ ahead(m, bits, word)) & m->valid[word];
}

/* The four rows of bits around a row of cells: k = dy + 2 dz. Each word is followed by the one shifted by a sample. */
typedef struct cell_rows {
    const uint64_t *bits[4];
    uint64_t here[4], next[4];
} cell_rows;

/* The cells of a word that the surface crosses. */
static uint64_t crossed_cells(const crd_march *m, cell_rows *rows, int64_t word)
{
    uint64_t any = 0, all = ~(uint64_t)0;
    for (int k = 0; k < 4; k++) {
        rows->here[k] = rows->bits[k][word];
        rows->next[k] = ahead(m, rows->bits[k], word);
        any |= rows->here[k] | rows->next[k];
        all &= rows->here[k] & rows->next[k];
    }
    return any & ~all & m->valid[word];
}

static unsigned cell_code(const cell_rows *rows, int p)
{
    unsigned code = 0;
    for (int k = 0; k < 4; k++) {
        code |= (unsigned)(rows->here[k] >> p & 1) << 2 * k | (unsigned)(rows->next[k] >> p & 1) << (2 * k + 1);
    }
    return code;
}

/* False where the slot has no slice before it, or the row none behind it. */
static bool cells_of(const crd_march *m, int64_t slot, int64_t row, cell_rows *rows)
{
    if (slice_of(m, slot) == 0 || row + 1 == m->rows) return false;
    for (int k = 0; k < 4; k++) rows->bits[k] = bits_of(m, slot - 1 + k / 2, row + k % 2);
    return true;
}

static void count_row(crd_march *m, int64_t slot, int64_t row)
{
    const crd_cell_case *cases = crd_cell_cases();
    const uint64_t *own = bits_of(m, slot, row);
    const uint64_t *before = slice_of(m, slot) > 0 ? bits_of(m, slot - 1, row) : own;
    const uint64_t *behind = row + 1 < m->rows ? bits_of(m, slot, row + 1) : own;
    row_place place = {0};
    cell_rows rows;
    const bool has_cells = cells_of(m, slot, row, &rows);
    for (int64_t word = 0; word < m->words; word++) {
        place.x_edges += __builtin_popcountll(x_edges(m, own, word));
        place.y_edges += __builtin_popcountll(own[word] ^ behind[word]);
        place.z_edges += __builtin_popcountll(own[word] ^ before[word]);
        uint64_t cells = has_cells ? crossed_cells(m, &rows, word) : 0;
        for (; cells != 0; cells &= cells - 1) {
            place.triangles += cases[cell_code(&rows, __builtin_ctzll(cells))].triangles;
        }
    }
    *place_of(m, slot, row) = place;
}

static int64_t begin_at(int64_t *count, int64_t *end)
{
    const int64_t begin = *end;
    *end += *count;
    *count = begin;
    return begin;
}

/* Counts become places: of each slice first the edges to the slice before it, then its own. */
static void number_rows(crd_march *m)
{
    int64_t vertices = m->part.kept, triangles = 0;
    for (int64_t slot = 1; slot <= m->now; slot++) {
        for (int64_t row = 0; row < m->rows; row++) {
            begin_at(&place_of(m, slot, row)->z_edges, &vertices);
            begin_at(&place_of(m, slot, row)->triangles, &triangles);
        }
        m->last_slice = vertices;
        for (int64_t row = 0; row < m->rows; row++) {
            begin_at(&place_of(m, slot, row)->x_edges, &vertices);
            begin_at(&place_of(m, slot, row)->y_edges, &vertices);
        }
    }
    m->part.vertices = vertices;
    m->part.triangles = triangles;
}

static double crossing(const float *first, const float *second, float level)
{
    if (first == NULL || second == NULL) return 0.5; /* the lid */
    const double t = ((double)level - (double)*first) / ((double)*second - (double)*first);
    if (!isfinite(t)) return 0.5;
    return t < MARGIN ? MARGIN : t > 1 - MARGIN ? 1 - MARGIN : t;
}

static int64_t into(int64_t i, int64_t count)
{
    return i < 0 ? 0 : i < count ? i : count - 1;
}

/* The vertex on the edge along `axis` (0: z, 2: x) from sample (slice, row, column) of the grid on. */
static void put_vertex(crd_march *m, int64_t at, int axis, const int64_t grid[3], const float *rows[2], bool inwards)
{
    const int64_t *shape = m->plan.shape;
    crd_edge_point point = {.axis = axis, .outwards = inwards ? -1 : 1};
    const float *values[2];
    for (int end = 0; end < 2; end++) {
        const int64_t x = grid[2] - m->pad + (axis == 2 ? end : 0);
        values[end] = rows[end] != NULL && x >= 0 && x < shape[2] ? rows[end] + x : NULL;
    }
    point.t = crossing(values[0], values[1], m->plan.level);
    for (int k = 0; k < 3; k++) {
        const int64_t low = grid[k] - m->pad;
        point.ends[0][k] = into(low, shape[k]);
        point.ends[1][k] = into(low + (k == axis), shape[k]);
        point.place[k] = (double)low + (k == axis ? point.t : 0.0);
        m->vertices[3 * at + 2 - k] = (float)(m->plan.origin[k] + point.place[k] * m->plan.spacing[k]);
    }
    if (m->part.data_count > 0) crd_vertex_data_at(m->plan.data, &point, m->data + at * m->part.data_count);
}

/* All vertices of one row of edges; `other` is the row at the edges' other ends. */
static void put_row(crd_march *m, int64_t at, int axis, int64_t slice, int64_t row, const uint64_t *own,
                    const uint64_t *other)
{
    const int64_t other_slice = slice + (axis == 0), other_row = row + (axis == 1);
    const float *rows[2] = {samples(m, slice, row), samples(m, other_slice, other_row)};
    for (int64_t word = 0; word < m->words; word++) {
        uint64_t edges = axis == 2 ? x_edges(m, own, word) : own[word] ^ other[word];
        for (; edges != 0; edges &= edges - 1) {
            const int p = __builtin_ctzll(edges);
            const int64_t grid[3] = {slice, row, 64 * word + p};
            put_vertex(m, at++, axis, grid, rows, (own[word] >> p & 1) == 0);
        }
    }
}

static void fill_vertices(crd_march *m, int64_t slot, int64_t row)
{
    const row_place *place = place_of(m, slot, row);
    const int64_t slice = slice_of(m, slot);
    const uint64_t *own = bits_of(m, slot, row);
    put_row(m, place->x_edges, 2, slice, row, own, own);
    if (row + 1 < m->rows) put_row(m, place->y_edges, 1, slice, row, own, bits_of(m, slot, row + 1));
    if (slice > 0) put_row(m, place->z_edges, 0, slice - 1, row, bits_of(m, slot - 1, row), own);
}

/* Area, and the volume between the triangle and the middle of voxel 0: these add up to what a closed surface holds. */
static void measure(const crd_march *m, const uint32_t *corners, row_place *place)
{
    double p[3][3], normal[3], square = 0, inside = 0;
    for (int i = 0; i < 3; i++) {
        const float *at = m->vertices + 3 * (int64_t)corners[i];
        for (int k = 0; k < 3; k++) p[i][k] = (double)at[k] - m->plan.origin[2 - k];
    }
    for (int k = 0; k < 3; k++) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        normal[k] = (p[1][a] - p[0][a]) * (p[2][b] - p[0][b]) - (p[1][b] - p[0][b]) * (p[2][a] - p[0][a]);
        square += normal[k] * normal[k];
        inside += normal[k] * p[0][k];
    }
    place->area += sqrt(square) / 2;
    place->volume += inside / 6;
}

/* The next vertex of each row of edges around a row of cells. Cells without a crossed edge between two others have no
 * vertices, so those of the cells in between needn't be looked for. */
typedef struct edge_heads {
    int64_t x[4], y[2], z[2];
} edge_heads;

static void edge_vertices(edge_heads *heads, unsigned crossed, int64_t vertices[CRD_CELL_EDGES])
{
    for (int k = 0; k < 4; k++) {
        vertices[k] = heads->x[k];
        heads->x[k] += crossed >> k & 1;
    }
    for (int k = 0; k < 2; k++) { /* the one at the left, and the one at the right, which is the next cell's left */
        vertices[4 + 2 * k] = heads->y[k];
        vertices[5 + 2 * k] = heads->y[k] += crossed >> (4 + 2 * k) & 1;
        vertices[8 + 2 * k] = heads->z[k];
        vertices[9 + 2 * k] = heads->z[k] += crossed >> (8 + 2 * k) & 1;
    }
}

static void fill_triangles(crd_march *m, int64_t slot, int64_t row)
{
    const crd_cell_case *cases = crd_cell_cases();
    row_place *place = place_of(m, slot, row);
    cell_rows rows;
    if (!cells_of(m, slot, row, &rows)) return;
    edge_heads heads;
    for (int k = 0; k < 4; k++) heads.x[k] = place_of(m, slot - 1 + k / 2, row + k % 2)->x_edges;
    for (int k = 0; k < 2; k++) {
        heads.y[k] = place_of(m, slot - 1 + k, row)->y_edges;
        heads.z[k] = place_of(m, slot, row + k)->z_edges;
    }
    uint32_t *out = m->corners + 3 * place->triangles;
    for (int64_t word = 0; word < m->words; word++) {
        uint64_t cells = crossed_cells(m, &rows, word);
        for (; cells != 0; cells &= cells - 1) {
            const crd_cell_case *c = &cases[cell_code(&rows, __builtin_ctzll(cells))];
            int64_t vertices[CRD_CELL_EDGES];
            edge_vertices(&heads, c->crossed, vertices);
            for (int i = 0; i < c->triangles; i++, out += 3) {
                for (int k = 0; k < 3; k++) out[k] = (uint32_t)vertices[c->corners[i][k]];
                measure(m, out, place);
            }
        }
    }
}

/* The last slice of a part is the first of the next one, with its vertices. */
static void keep_last_slice(crd_march *m)
{
    const int64_t kept = m->part.vertices - m->last_slice, from = m->last_slice, data = m->part.data_count;
    if (m->now == 0) return;
    memmove(m->bits, bits_of(m, m->now, 0), (size_t)(m->rows * m->words) * sizeof *m->bits);
    memmove(m->places, place_of(m, m->now, 0), (size_t)m->rows * sizeof *m->places);
    for (int64_t row = 0; row < m->rows; row++) {
        m->places[row].x_edges -= from;
        m->places[row].y_edges -= from;
    }
    if (kept > 0) {
        memmove(m->vertices, m->vertices + 3 * from, (size_t)(3 * kept) * sizeof *m->vertices);
        memmove(m->data, m->data + data * from, (size_t)(data * kept) * sizeof *m->data);
    }
    m->part.kept = kept;
    m->part.first_kept = m->totals.vertices - kept;
}

/* Room for the part's vertices, behind those that are kept, and for its triangles. */
static crd_status make_room(crd_march *m)
{
    const int64_t data = m->part.data_count > 0 ? m->part.data_count : 1;
    crd_status status = CRD_OK;
    float *vertices = NULL, *values = NULL;
    if (m->part.vertices > UINT32_MAX) CRD_FAIL(CRD_ERR_UNSUPPORTED, "a slice's surface has more than 2^32 vertices");
    if (m->part.vertices > m->vertex_room) {
        const int64_t room = m->part.vertices + m->part.vertices / 2;
        CRD_TRY(crd_alloc(3 * room, sizeof *vertices, "the surface's vertices", &vertices));
        CRD_TRY(crd_alloc(data * room, sizeof *values, "the surface's vertices", &values));
        if (m->part.kept > 0) {
            memcpy(vertices, m->vertices, (size_t)(3 * m->part.kept) * sizeof *vertices);
            memcpy(values, m->data, (size_t)(m->part.data_count * m->part.kept) * sizeof *values);
        }
        crd_free(&m->vertices);
        crd_free(&m->data);
        m->vertices = vertices;
        m->data = values;
        m->vertex_room = room;
        vertices = values = NULL;
    }
    if (m->part.triangles > m->corner_room) {
        const int64_t room = m->part.triangles + m->part.triangles / 2;
        crd_free(&m->corners);
        m->corner_room = 0;
        CRD_TRY(crd_alloc(3 * room, sizeof *m->corners, "the surface's triangles", &m->corners));
        m->corner_room = room;
    }
done:
    crd_free(&vertices);
    crd_free(&values);
    return status;
}

/* The slices of the volume that the next part needs. */
static crd_status read_slices(crd_march *m)
{
    const int64_t reach = m->plan.data != NULL ? crd_vertex_data_reach(m->plan.data) : 0;
    const int64_t first = m->next - 1 - m->pad - reach, end = m->next + m->now - m->pad + reach;
    const int64_t depth = m->plan.shape[0];
    const int64_t from = first < 0 ? 0 : first < depth ? first : depth;
    return crd_slices_move(m->plan.slices, from, end < from ? from : end < depth ? end : depth);
}

crd_status crd_march_next(crd_march *m, crd_mesh_part *part, bool *more)
{
    keep_last_slice(m);
    m->part.data_count = m->plan.data != NULL ? m->plan.data->count : 0;
    m->now = m->slices - m->next < m->group ? m->slices - m->next : m->group;
    *more = m->now > 0;
    memset(part, 0, sizeof *part);
    if (!*more) return CRD_OK;
    CRD_PASS(read_slices(m));
    for_rows(m, fill_bits);
    for_rows(m, count_row);
    number_rows(m);
    CRD_PASS(make_room(m));
    for_rows(m, fill_vertices);
    for_rows(m, fill_triangles);
    for (int64_t slot = 1; slot <= m->now; slot++) {
        for (int64_t row = 0; row < m->rows; row++) {
            m->totals.area += place_of(m, slot, row)->area;
            m->totals.volume += place_of(m, slot, row)->volume;
        }
    }
    m->part.before = m->totals.vertices;
    m->totals.vertices += m->part.vertices - m->part.kept;
    m->totals.triangles += m->part.triangles;
    m->next += m->now;
    m->part.open_from = m->next < m->slices ? m->last_slice : m->part.vertices;
    m->part.places = m->vertices;
    m->part.data = m->data;
    m->part.corners = m->corners;
    *part = m->part;
    return CRD_OK;
}
