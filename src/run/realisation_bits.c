/* Bits of realisations as they are read. */
#include <string.h>

#include "base/memory.h"
#include "run/realisation_sources.h"
#include "volume/format.h"

/* Voxels of a volume that are read at once, and rows of voxels that a block of a file may have. */
enum { PIECE_VOXELS = 1 << 18, BLOCK_ROWS = 64, BYTE = 8 };

/* Whole slices are cut into bands of rows that end where blocks of the file do: small pieces, and none decoded twice.
 */
static int64_t band_rows(const crd_realisations *r, int64_t slices)
{
    const int64_t rows = PIECE_VOXELS / (slices * r->info.shape[2]) / BLOCK_ROWS * BLOCK_ROWS;
    return rows > BLOCK_ROWS ? rows : BLOCK_ROWS;
}

/* Row `y` of the box begins a band; the next one begins at most band_rows later. */
static int64_t band_end(const crd_realisations *r, int64_t y, int64_t rows)
{
    const int64_t there = r->box_origin[1] + y, end = (there / rows + 1) * rows - r->box_origin[1];
    return end < r->info.shape[1] ? end : r->info.shape[1];
}

typedef struct reading {
    crd_realisations *r;
    int64_t z, slices, voxels; /* of the box */
    int64_t rows, bands;       /* rows of a band, and how many there are */
    uint64_t *words;
    const uint8_t *inside;
    double **rooms;     /* for each thread: room for a piece */
    crd_status *status; /* of each item */
    crd_error *errors;
} reading;

static crd_box moved(const crd_realisations *r, const crd_box *box)
{
    crd_box there = *box;
    for (int axis = 0; axis < 3; axis++) there.origin[axis] += r->box_origin[axis];
    return there;
}

/* The phases of a box of a realisation that has a volume for each class: those of the largest value, of equal ones the
 * first. */
static crd_status read_largest(const crd_realisation_source *source, const crd_box *there, int64_t count, void *room,
                               const uint8_t **out)
{
    float *const largest = room, *const values = largest + count;
    uint8_t *const phases = (uint8_t *)(values + count);
    memset(phases, 0, (size_t)count);
    CRD_PASS(crd_volume_read(source->volume, there, CRD_F32, largest));
    for (int64_t k = 1; k < source->classes; k++) {
        CRD_PASS(crd_volume_read(source[k].volume, there, CRD_F32, values));
        for (int64_t i = 0; i < count; i++) {
            const bool more = values[i] > largest[i];
            phases[i] = more ? (uint8_t)k : phases[i];
            largest[i] = more ? values[i] : largest[i];
        }
    }
    *out = phases;
    return CRD_OK;
}

/* Values that read_phases needs room for. */
static int64_t room_values(const crd_realisations *r, int64_t voxels)
{
    return r->source_count > 0 && r->sources[0].classes > 0 ? 2 * voxels : voxels;
}

/* The phases of a box of a volume of one realisation. They lie at the end of the room in the volume's own type, or as
 * doubles, and at its beginning afterwards. */
static crd_status read_phases(crd_realisations *r, const crd_realisation_source *source, const crd_box *box, void *room,
                              const uint8_t **out)
{
    const crd_box there = moved(r, box);
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    uint8_t *phases = room;
    if (source->classes > 0) return read_largest(source, &there, count, room, out);
    *out = phases;
    if (source->volume == NULL) return crd_realisations_read_label(r, box, phases);
    if (crd_volume_describe(source->volume)->type == CRD_U8) {
        CRD_PASS(crd_volume_read(source->volume, &there, CRD_U8, phases));
        if (source->valued) {
            for (int64_t i = 0; i < count; i++) phases[i] = r->table[phases[i]];
        } else {
            const int threshold = (int)source->threshold;
            for (int64_t i = 0; i < count; i++) phases[i] = phases[i] > threshold;
        }
    } else if (source->valued) {
        const double *values = room;
        double last = r->info.values[0];
        uint8_t phase = 0;
        CRD_PASS(crd_volume_read(source->volume, &there, CRD_F64, room));
        for (int64_t i = 0; i < count; i++) {
            const double value = values[i];
            if (value != last) phase = crd_realisations_phase_of(&r->info, last = value);
            phases[i] = phase;
        }
    } else {
        const float *values = room;
        const float threshold = (float)source->threshold;
        CRD_PASS(crd_volume_read(source->volume, &there, CRD_F32, room));
        for (int64_t i = 0; i < count; i++) {
            const float value = values[i];
            phases[i] = value > threshold;
        }
    }
    return CRD_OK;
}

/* Puts bit `plane` of the phases into the byte of the words that holds the realisation's bit. */
static void spread(const uint8_t *phases, int plane, const crd_box *box, const reading *read, int64_t bit,
                   uint64_t *words)
{
    const int64_t *shape = read->r->info.shape, width = shape[2];
    const uint64_t one = UINT64_C(1) << bit % CRD_WORD_BITS;
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            uint8_t *to = (uint8_t *)(words + ((box->origin[0] - read->z + z) * shape[1] + box->origin[1] + y) * width);
            const uint8_t *from = phases + (z * box->size[1] + y) * width;
            const int64_t byte =
                __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 7 - bit % CRD_WORD_BITS / BYTE : bit % CRD_WORD_BITS / BYTE;
            const uint8_t mask = (uint8_t)(one >> bit % CRD_WORD_BITS / BYTE * BYTE);
            for (int64_t x = 0; x < width; x++) {
                to[x * BYTE + byte] |= (uint8_t)((from[x] >> plane & 1) != 0 ? mask : 0);
            }
        }
    }
}

/* All realisations whose bits share byte `item` of a voxel's words: nobody else writes that byte. */
static crd_status read_byte(const reading *read, int64_t item, void *room)
{
    crd_realisations *r = read->r;
    const crd_realisations_info *info = &r->info;
    for (int64_t s = 0; s < r->source_count; s++) {
        const crd_realisation_source *source = &r->sources[s];
        if (source->packed || source->count == 0 || source->bit / BYTE != item) continue;
        for (int64_t y = 0; y < info->shape[1];) {
            const int64_t end = band_end(r, y, read->rows);
            /* a slice, or a depth of blocks, at once */
            for (int64_t z = read->z; z < read->z + read->slices;) {
                const int64_t next = z + crd_realisations_slices_at_once(r, z, read->z + read->slices - z);
                const crd_box box = {{z, y, 0}, {next - z, end - y, info->shape[2]}};
                const uint8_t *phases = NULL;
                CRD_PASS(read_phases(r, source, &box, room, &phases));
                for (int p = 0; p < info->planes; p++) {
                    const int64_t plane = p * info->words + source->bit / CRD_WORD_BITS;
                    spread(phases, p, &box, read, source->bit, read->words + plane * read->voxels);
                }
                z = next;
            }
            y = end;
        }
    }
    return CRD_OK;
}

/* Moves `count` bits of each word from `shift` on to `bit` and on, which may reach into the next word. */
static void move_bits(const uint64_t *from, int64_t voxels, const crd_realisation_source *source, uint64_t *low,
                      uint64_t *high)
{
    const uint64_t mask = source->count == CRD_WORD_BITS ? ~UINT64_C(0) : (UINT64_C(1) << source->count) - 1;
    const int to = (int)(source->bit % CRD_WORD_BITS), shift = (int)source->shift;
    for (int64_t i = 0; i < voxels; i++) low[i] |= (from[i] >> shift & mask) << to;
    if (to == 0 || to + source->count <= CRD_WORD_BITS) return;
    for (int64_t i = 0; i < voxels; i++) high[i] |= (from[i] >> shift & mask) >> (CRD_WORD_BITS - to);
}

/* A band of rows of all packed volumes; all words of it are 0 before. */
static crd_status read_band(const reading *read, int64_t item, int thread, void *room)
{
    crd_realisations *r = read->r;
    const crd_realisations_info *info = &r->info;
    const int64_t first = band_end(r, 0, read->rows), width = info->shape[2];
    const int64_t y = item == 0 ? 0 : first + (item - 1) * read->rows, end = band_end(r, y, read->rows);
    for (int64_t row = 0; row < info->planes * info->words * read->slices; row++) {
        memset(read->words + (row * info->shape[1] + y) * width, 0, (size_t)((end - y) * width) * sizeof *read->words);
    }
    for (int64_t s = 0; s < r->source_count; s++) {
        const crd_realisation_source *source = &r->sources[s];
        if (!source->packed) continue;
        for (int64_t z = read->z; z < read->z + read->slices;) {
            const int64_t next = z + crd_realisations_slices_at_once(r, z, read->z + read->slices - z);
            const crd_box box = {{z, y, 0}, {next - z, end - y, width}}, there = moved(r, &box);
            uint64_t *words = read->words + (source->plane * info->words + source->bit / CRD_WORD_BITS) * read->voxels;
            CRD_PASS(crd_volume_read(r->handles[s * r->handle_threads + thread], &there, CRD_U64, room));
            for (int64_t k = 0; k < next - z; k++) {
                const int64_t at = ((z - read->z + k) * info->shape[1] + y) * width;
                move_bits((const uint64_t *)room + k * (end - y) * width, (end - y) * width, source, words + at,
                          words + read->voxels + at);
            }
            z = next;
        }
    }
    return CRD_OK;
}

static void note(reading *read, int64_t item, crd_status status)
{
    read->status[item] = status;
    if (status != CRD_OK) read->errors[item] = *crd_last_error();
}

static void byte_item(void *context, int64_t item, int worker)
{
    reading *read = context;
    note(read, item, read_byte(read, item, read->rooms[worker]));
}

static void band_item(void *context, int64_t item, int worker)
{
    reading *read = context;
    note(read, item, read_band(read, item, worker, read->rooms[worker]));
}

static void clear_outside(void *context, int64_t item, int worker)
{
    const reading *read = context;
    const int64_t slice = read->voxels / read->slices, z = item % read->slices, plane = item / read->slices;
    uint64_t *words = read->words + plane * read->voxels + z * slice;
    const uint8_t *inside = read->inside + z * slice;
    (void)worker;
    for (int64_t i = 0; i < slice; i++) words[i] &= inside[i] != 0 ? ~UINT64_C(0) : 0;
}

static crd_status run_items(reading *read, crd_pool *pool, int64_t count, crd_work *work)
{
    crd_status status = CRD_OK;
    CRD_TRY(crd_alloc(count, sizeof *read->status, "reading realisations", &read->status));
    CRD_TRY(crd_alloc(count, sizeof *read->errors, "reading realisations", &read->errors));
    crd_pool_run(pool, count, work, read);
    for (int64_t i = 0; i < count; i++) {
        if (read->status[i] != CRD_OK) CRD_TRY(crd_error_adopt(&read->errors[i]));
    }
done:
    crd_free(&read->status);
    crd_free(&read->errors);
    return status;
}

/* Every thread reads packed volumes through handles of its own, which share what is decoded. */
static crd_status open_handles(crd_realisations *r, int threads)
{
    if (r->handle_threads >= threads) return CRD_OK;
    for (int64_t i = 0; r->handles != NULL && i < r->source_count * r->handle_threads; i++) {
        crd_volume_close(&r->handles[i]);
    }
    crd_free(&r->handles);
    r->handle_threads = 0;
    CRD_PASS(crd_alloc(r->source_count * threads, sizeof(crd_volume *), "the volumes of samples", &r->handles));
    r->handle_threads = threads;
    for (int64_t s = 0; s < r->source_count; s++) {
        for (int t = 0; r->sources[s].packed && t < threads; t++) {
            CRD_PASS(crd_volume_open_again(r->sources[s].volume, &r->handles[s * threads + t]));
        }
    }
    return CRD_OK;
}

static crd_status read_all(reading *read, crd_pool *pool)
{
    crd_realisations *r = read->r;
    CRD_PASS(open_handles(r, crd_pool_threads(pool)));
    CRD_PASS(run_items(read, pool, read->bands, band_item));
    return run_items(read, pool, (r->info.bits + BYTE - 1) / BYTE, byte_item);
}

int64_t crd_realisations_slices_at_once(const crd_realisations *r, int64_t z, int64_t most)
{
    const int64_t layer = r->info.layer, there = r->box_origin[0] + z;
    const int64_t whole = layer > 1 ? (there / layer + 1) * layer - there : 1;
    return whole < most ? whole : most;
}

int64_t crd_realisations_read_bytes(const crd_realisations *r, int64_t slices, int threads)
{
    const int64_t deep = r->info.layer < slices ? r->info.layer : slices, rows = band_rows(r, deep);
    const int64_t room = deep * (rows < r->info.shape[1] ? rows : r->info.shape[1]) * r->info.shape[2];
    return threads * room_values(r, room) * (int64_t)sizeof(double);
}

crd_status crd_realisations_read(crd_realisations *r, crd_pool *pool, int64_t z, int64_t slices, uint64_t *words,
                                 uint8_t *inside)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = &r->info;
    const int threads = crd_pool_threads(pool);
    reading read = {.r = r,
                    .z = z,
                    .slices = slices,
                    .voxels = slices * info->shape[1] * info->shape[2],
                    .words = words,
                    .inside = inside};
    const int64_t deep = info->layer < slices ? info->layer : slices;
    read.rows = band_rows(r, deep);
    for (int64_t y = 0; y < info->shape[1]; y = band_end(r, y, read.rows)) read.bands++;
    CRD_TRY(crd_alloc(threads, sizeof *read.rooms, "reading realisations", &read.rooms));
    for (int t = 0; t < threads; t++) {
        const int64_t rows = read.rows < info->shape[1] ? read.rows : info->shape[1];
        CRD_TRY(crd_alloc(room_values(r, deep * rows * info->shape[2]), sizeof **read.rooms, "reading realisations",
                          &read.rooms[t]));
    }
    CRD_TRY(read_all(&read, pool));
    if (info->masked && inside != NULL) {
        const crd_box box = {{r->mask_origin[0] + z, r->mask_origin[1], r->mask_origin[2]},
                             {slices, info->shape[1], info->shape[2]}};
        memset(inside, 1, (size_t)read.voxels);
        if (r->mask != NULL) CRD_TRY(crd_volume_read(r->mask, &box, CRD_U8, inside));
        CRD_TRY(crd_realisations_clear_unlabelled(r, &(crd_box){{z, 0, 0}, {slices, info->shape[1], info->shape[2]}},
                                                  inside));
        crd_pool_run(pool, info->planes * info->words * slices, clear_outside, &read);
    }
done:
    for (int t = 0; read.rooms != NULL && t < threads; t++) crd_free(&read.rooms[t]);
    crd_free(&read.rooms);
    return status;
}

static crd_status read_one(crd_realisations *r, int64_t bit, const crd_box *box, void *room, uint8_t *phases)
{
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    const crd_box there = moved(r, box);
    for (int64_t s = 0; s < r->source_count; s++) {
        const crd_realisation_source *source = &r->sources[s];
        if (bit < source->bit || bit >= source->bit + source->count) continue;
        if (source->packed) {
            const uint64_t *words = room;
            const int at = (int)(source->shift + bit - source->bit);
            CRD_PASS(crd_volume_read(source->volume, &there, CRD_U64, room));
            for (int64_t i = 0; i < count; i++) phases[i] |= (uint8_t)((words[i] >> at & 1) << source->plane);
        } else {
            const uint8_t *own = NULL;
            CRD_PASS(read_phases(r, source, box, room, &own));
            memcpy(phases, own, (size_t)count);
        }
    }
    return CRD_OK;
}

crd_status crd_realisations_read_one(crd_realisations *r, int64_t bit, const crd_box *box, uint8_t *phases)
{
    crd_status status = CRD_OK;
    double *room = NULL;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    if (bit < 0 || bit >= r->info.bits) return crd_fail(CRD_ERR_ARGUMENT, "there is no realisation of that number");
    memset(phases, 0, (size_t)count);
    CRD_TRY(crd_alloc(room_values(r, count), sizeof *room, "a part of a realisation", &room));
    CRD_TRY(read_one(r, bit, box, room, phases));
    if (r->info.masked) {
        uint8_t *inside = (uint8_t *)room;
        crd_box there = *box;
        for (int axis = 0; axis < 3; axis++) there.origin[axis] += r->mask_origin[axis];
        memset(inside, 1, (size_t)count);
        if (r->mask != NULL) CRD_TRY(crd_volume_read(r->mask, &there, CRD_U8, inside));
        CRD_TRY(crd_realisations_clear_unlabelled(r, box, inside));
        for (int64_t i = 0; i < count; i++) phases[i] = inside[i] != 0 ? phases[i] : CRD_PHASE_OUTSIDE;
    }
done:
    crd_free(&room);
    return status;
}

void crd_realisations_phases(const crd_realisations_info *info, unsigned phases, int64_t w, const uint64_t *words,
                             const uint8_t *inside, int64_t voxels, int64_t first, int64_t count, uint64_t *bits)
{
    enum { PIECE = 64 };
    const int64_t left = info->bits - w * CRD_WORD_BITS;
    const uint64_t used = left >= CRD_WORD_BITS ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
    for (int64_t at = 0; at < count; at += PIECE) {
        const int64_t n = count - at < PIECE ? count - at : PIECE;
        uint64_t any[PIECE] = {0}, own[PIECE];
        for (int64_t phase = 0; phases >> phase != 0; phase++) {
            if ((phases >> phase & 1) == 0) continue;
            for (int64_t i = 0; i < n; i++) own[i] = used;
            for (int64_t p = 0; p < info->planes; p++) {
                const uint64_t *plane = words + (p * info->words + w) * voxels + first + at;
                const uint64_t flip = phase >> p & 1 ? 0 : ~UINT64_C(0);
                for (int64_t i = 0; i < n; i++) own[i] &= plane[i] ^ flip;
            }
            for (int64_t i = 0; i < n; i++) any[i] |= own[i];
        }
        for (int64_t i = 0; inside != NULL && i < n; i++) any[i] &= inside[first + at + i] != 0 ? ~UINT64_C(0) : 0;
        memcpy(bits + at, any, (size_t)n * sizeof *bits);
    }
}
