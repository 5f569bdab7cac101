/* Statistics of a whole volume, the same bits however it is read.
 *
 * Types of up to 16 bits: one pass counts every value, and all else follows from the counts. Others: one pass takes the
 * moments of each block of 2^20 voxels, in eight fixed lanes, and joins the blocks in order by Chan's formula; a second
 * pass fills the histogram between the minimum and maximum that the first has found. Where the grey levels are wanted,
 * the first pass also counts values coarsely, and the second fills the fine count that they are taken from. */
#include "volume/statistics.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "volume/fingerprint.h"
#include "volume/format.h"
#include "volume/levels.h"
#include "volume/stream.h"
#include "volume/types.h"

enum { BLOCK = 1 << 20, PIECE = 2048, LANES = 8, VALUES = 65536 };

typedef struct moments {
    int64_t count;
    double mean, m2, minimum, maximum;
} moments;

/* Chan et al. 1979. */
static void join(moments *a, const moments *b)
{
    if (b->count == 0) return;
    if (a->count == 0) {
        *a = *b;
        return;
    }
    const double na = (double)a->count, nb = (double)b->count, n = na + nb, delta = b->mean - a->mean;
    a->mean += delta * (nb / n);
    a->m2 += b->m2 + delta * delta * (na * nb / n);
    a->count += b->count;
    a->minimum = b->minimum < a->minimum ? b->minimum : a->minimum;
    a->maximum = b->maximum > a->maximum ? b->maximum : a->maximum;
}

static double sum_lanes(const double lanes[LANES])
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* `n` values as doubles, filled up to whole lanes with NaN, which nothing counts. */
static int64_t load_piece(crd_type type, const char *voxels, int64_t n, double piece[PIECE])
{
    crd_to_float(type, voxels, n, CRD_F64, piece);
    while (n % LANES != 0) piece[n++] = (double)NAN;
    return n;
}

/* x - x is 0 for finite x only, and compares without a branch. */
static void first_pass(const double *piece, int64_t n, double sum[LANES], double low[LANES], double high[LANES],
                       double count[LANES])
{
    for (int64_t i = 0; i < n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const double x = piece[i + j];
            const int finite = x - x == 0.0;
            sum[j] += finite ? x : 0.0;
            count[j] += finite ? 1.0 : 0.0;
            low[j] = finite && x < low[j] ? x : low[j];
            high[j] = finite && x > high[j] ? x : high[j];
        }
    }
}

static void second_pass(const double *piece, int64_t n, double mean, double first[LANES], double second[LANES])
{
    for (int64_t i = 0; i < n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const double x = piece[i + j];
            const double d = x - x == 0.0 ? x - mean : 0.0;
            first[j] += d;
            second[j] += d * d;
        }
    }
}

static moments measure_block(crd_type type, const char *voxels, int64_t n)
{
    double piece[PIECE], a[LANES] = {0}, b[LANES] = {0}, count[LANES] = {0}, low[LANES], high[LANES];
    const size_t size = crd_type_size(type);
    moments out = {0};
    for (int j = 0; j < LANES; j++) low[j] = HUGE_VAL, high[j] = -HUGE_VAL;
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t m = load_piece(type, voxels + (size_t)i * size, n - i < PIECE ? n - i : PIECE, piece);
        first_pass(piece, m, a, low, high, count);
    }
    out.count = (int64_t)sum_lanes(count);
    if (out.count == 0) return out;
    double mean = sum_lanes(a) / (double)out.count;
    if (!isfinite(mean)) mean = 0.0; /* values near the largest double */
    memset(a, 0, sizeof a);
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t m = load_piece(type, voxels + (size_t)i * size, n - i < PIECE ? n - i : PIECE, piece);
        second_pass(piece, m, mean, a, b);
    }
    /* The mean was rounded: what is left of the first moment puts it right. */
    const double rest = sum_lanes(a) / (double)out.count;
    out.mean = mean + rest;
    out.m2 = sum_lanes(b) - rest * rest * (double)out.count;
    if (out.m2 < 0.0) out.m2 = 0.0;
    out.minimum = low[0];
    out.maximum = high[0];
    for (int j = 1; j < LANES; j++) {
        out.minimum = low[j] < out.minimum ? low[j] : out.minimum;
        out.maximum = high[j] > out.maximum ? high[j] : out.maximum;
    }
    return out;
}

typedef struct measuring {
    const char *path;
    crd_type type;
    moments all;
    char *block;    /* a block that began in an earlier box */
    int64_t filled; /* voxels of it */
    crd_volume_statistics *out;
    int64_t width; /* of a bin of integers; 0 for floats */
    double bins_per_unit;
    int64_t *counts; /* of every value of a small type; of coarse bins of others, NULL: no levels are wanted */
    int64_t *fine;   /* of the bins that divide `fine_range`, or NULL */
    double fine_range[2], fine_per_unit;
} measuring;

static void count_coarsely(const measuring *m, const char *voxels, int64_t count)
{
    double piece[PIECE];
    const size_t size = crd_type_size(m->type);
    for (int64_t i = 0; i < count; i += PIECE) {
        const int64_t n = count - i < PIECE ? count - i : PIECE;
        crd_to_float(m->type, voxels + (size_t)i * size, n, CRD_F64, piece);
        for (int64_t j = 0; j < n; j++) m->counts[crd_level_coarse_bin(piece[j])] += piece[j] - piece[j] == 0.0;
    }
}

static crd_status moments_of_box(void *context, const crd_box *box, void *voxels)
{
    measuring *m = context;
    const size_t size = crd_type_size(m->type);
    int64_t left = box->size[0] * box->size[1] * box->size[2];
    const char *in = voxels;
    if (m->counts != NULL) count_coarsely(m, in, left);
    while (left > 0) {
        const int64_t n = left < BLOCK - m->filled ? left : BLOCK - m->filled;
        if (m->filled == 0 && n == BLOCK) {
            const moments block = measure_block(m->type, in, n);
            join(&m->all, &block);
        } else {
            memcpy(m->block + (size_t)m->filled * size, in, (size_t)n * size);
            m->filled += n;
        }
        if (m->filled == BLOCK) {
            const moments block = measure_block(m->type, m->block, BLOCK);
            join(&m->all, &block);
            m->filled = 0;
        }
        in += (size_t)n * size;
        left -= n;
    }
    return CRD_OK;
}

static int64_t fine_bin(const measuring *m, double value)
{
    if (!(value > m->fine_range[0])) return 0;
    if (!(value < m->fine_range[1])) return CRD_LEVEL_BINS - 1;
    const int64_t bin = (int64_t)((value - m->fine_range[0]) * m->fine_per_unit);
    return bin < CRD_LEVEL_BINS ? bin : CRD_LEVEL_BINS - 1;
}

static crd_status histogram_of_box(void *context, const crd_box *box, void *voxels)
{
    measuring *m = context;
    double piece[PIECE];
    const size_t size = crd_type_size(m->type);
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    const double low = m->out->histogram_low, half_low = low / 2.0, scale = m->bins_per_unit;
    for (int64_t i = 0; i < count; i += PIECE) {
        const int64_t n = count - i < PIECE ? count - i : PIECE;
        crd_to_float(m->type, (const char *)voxels + (size_t)i * size, n, CRD_F64, piece);
        for (int64_t j = 0; j < n; j++) {
            if (piece[j] - piece[j] != 0.0) continue;
            if (piece[j] < m->out->minimum || piece[j] > m->out->maximum) {
                return crd_fail(CRD_ERR_FORMAT, "%s changed while it was being read", m->path);
            }
            /* Halves, since the whole range may exceed the largest double; bins_per_unit is doubled to match. */
            const int64_t bin = m->width > 0 ? ((int64_t)piece[j] - (int64_t)low) / m->width
                                             : (int64_t)((piece[j] / 2.0 - half_low) * scale);
            m->out->histogram[bin < CRD_HISTOGRAM_BINS ? bin : CRD_HISTOGRAM_BINS - 1]++;
            if (m->fine != NULL) m->fine[fine_bin(m, piece[j])]++;
        }
    }
    return CRD_OK;
}

/* Bins that are a whole number wide, so that none holds more of a type's values than another. */
static int64_t integer_edges(crd_volume_statistics *out)
{
    const int64_t range = (int64_t)out->maximum - (int64_t)out->minimum + 1;
    const int64_t width = (range + CRD_HISTOGRAM_BINS - 1) / CRD_HISTOGRAM_BINS;
    out->histogram_low = out->minimum;
    out->histogram_high = out->minimum + (double)(width * CRD_HISTOGRAM_BINS);
    return width;
}

static void float_edges(crd_volume_statistics *out)
{
    const double around = out->minimum == out->maximum ? 0.5 : 0.0;
    out->histogram_low = out->minimum - around;
    out->histogram_high = out->maximum + around;
    if (out->histogram_low == out->histogram_high) { /* so large that half is nothing to it */
        out->histogram_low = nextafter(out->minimum, -HUGE_VAL);
        out->histogram_high = nextafter(out->maximum, HUGE_VAL);
    }
}

static void set_fine_range(measuring *m)
{
    crd_level_range(m->counts, m->out->minimum, m->out->maximum, m->fine_range);
    m->fine_per_unit = CRD_LEVEL_BINS / (m->fine_range[1] - m->fine_range[0]);
}

static void find_levels(const crd_level_counts *c, bool phases, crd_volume_statistics *out)
{
    if (phases)
        crd_level_phases(c, out->levels);
    else
        crd_level_find(c, out->levels);
}

static void find_fine_levels(const measuring *m, bool phases)
{
    const double width = (m->fine_range[1] - m->fine_range[0]) / CRD_LEVEL_BINS;
    const crd_level_counts c = {.counts = m->fine,
                                .bins = CRD_LEVEL_BINS,
                                .first = m->fine_range[0] + width / 2.0,
                                .width = width,
                                .minimum = m->out->minimum,
                                .maximum = m->out->maximum};
    find_levels(&c, phases, m->out);
}

static crd_status measure_large(measuring *m, const crd_measure_wish *wish, crd_walk *walk)
{
    crd_status status = CRD_OK;
    crd_volume_statistics *out = m->out;
    const int64_t slices = crd_volume_describe(walk->in)->shape[0];
    if (wish->levels) {
        CRD_TRY(crd_alloc(CRD_LEVEL_BINS, sizeof *m->counts, "measuring a volume", &m->counts));
        CRD_TRY(crd_alloc(CRD_LEVEL_BINS, sizeof *m->fine, "measuring a volume", &m->fine));
    }
    CRD_TRY(crd_alloc(BLOCK, crd_type_size(m->type), "measuring a volume", &m->block));
    walk->total = 2 * slices;
    CRD_TRY(crd_walk_run(walk, moments_of_box, m));
    walk->beside = NULL; /* has seen it all */
    const moments last = measure_block(m->type, m->block, m->filled);
    join(&m->all, &last);
    out->count = m->all.count;
    if (out->count == 0) goto done;
    out->minimum = m->all.minimum;
    out->maximum = m->all.maximum;
    out->mean = m->all.mean;
    out->variance = m->all.m2 / (double)m->all.count;
    if (crd_type_is_integer(m->type) && out->maximum < 0x1p53) {
        m->width = integer_edges(out);
    } else {
        float_edges(out);
    }
    m->bins_per_unit = CRD_HISTOGRAM_BINS / (out->histogram_high / 2.0 - out->histogram_low / 2.0);
    if (wish->levels) set_fine_range(m);
    walk->done = slices;
    CRD_TRY(crd_walk_run(walk, histogram_of_box, m));
    if (wish->levels) find_fine_levels(m, wish->phases);
done:
    crd_free(&m->block);
    crd_free(&m->counts);
    crd_free(&m->fine);
    return status;
}

/* Two tables in turn: runs of equal voxels would otherwise wait for their own last addition. */
#define COUNT_LOOP(TYPE)                                                                                               \
    do {                                                                                                               \
        const TYPE *in = voxels;                                                                                       \
        int64_t i = 0;                                                                                                 \
        for (; i + 1 < count; i += 2) even[in[i]]++, odd[in[i + 1]]++;                                                 \
        if (i < count) even[in[i]]++;                                                                                  \
    } while (0)

static crd_status count_box(void *context, const crd_box *box, void *voxels)
{
    measuring *m = context;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    int64_t *even = m->counts, *odd = m->counts + VALUES;
    if (crd_type_size(m->type) == 1) {
        COUNT_LOOP(uint8_t);
    } else {
        COUNT_LOOP(uint16_t);
    }
    return CRD_OK;
}

/* The value whose bits, taken as unsigned, are `bits`. */
static int64_t value_of(crd_type type, int64_t bits)
{
    const int64_t half = crd_type_size(type) == 1 ? 128 : 32768;
    return (type == CRD_I8 || type == CRD_I16) && bits >= half ? bits - 2 * half : bits;
}

/* Counts lie by the bits of their values, negative ones last; from here on they rise with the value. */
static void order_by_value(crd_type type, int64_t *counts)
{
    const int64_t half = crd_type_size(type) == 1 ? 128 : 32768;
    if (type != CRD_I8 && type != CRD_I16) return;
    for (int64_t i = 0; i < half; i++) {
        const int64_t positive = counts[i];
        counts[i] = counts[half + i];
        counts[half + i] = positive;
    }
}

static crd_status measure_small(measuring *m, const crd_measure_wish *wish, const crd_walk *walk)
{
    crd_status status = CRD_OK;
    crd_volume_statistics *out = m->out;
    const int64_t values = crd_type_size(m->type) == 1 ? 256 : VALUES;
    int64_t minimum = INT64_MAX, maximum = INT64_MIN, sum = 0;
    double m2 = 0.0;
    CRD_TRY(crd_alloc(2 * VALUES, sizeof *m->counts, "measuring a volume", &m->counts));
    CRD_TRY(crd_walk_run(walk, count_box, m));
    for (int64_t i = 0; i < values; i++) {
        const int64_t n = m->counts[i] += m->counts[VALUES + i], value = value_of(m->type, i);
        if (n == 0) continue;
        minimum = value < minimum ? value : minimum;
        maximum = value > maximum ? value : maximum;
        out->count += n;
        sum += n * value; /* below 2^63 for 2^46 voxels */
    }
    out->minimum = (double)minimum;
    out->maximum = (double)maximum;
    out->mean = (double)sum / (double)out->count;
    const int64_t width = integer_edges(out);
    for (int64_t i = 0; i < values; i++) {
        if (m->counts[i] == 0) continue;
        const double d = (double)value_of(m->type, i) - out->mean;
        m2 += d * d * (double)m->counts[i];
        out->histogram[(value_of(m->type, i) - minimum) / width] += m->counts[i];
    }
    out->variance = m2 / (double)out->count;
    order_by_value(m->type, m->counts);
    const crd_level_counts c = {.counts = m->counts,
                                .bins = values,
                                .first = m->type == CRD_I8 || m->type == CRD_I16 ? -(double)(values / 2) : 0.0,
                                .width = 1.0,
                                .minimum = out->minimum,
                                .maximum = out->maximum};
    find_levels(&c, wish->phases, out);
done:
    crd_free(&m->counts);
    return status;
}

crd_status crd_volume_measure_also(crd_volume *volume, const crd_measure_wish *wish, const crd_monitor *monitor,
                                   crd_volume_statistics *out)
{
    crd_status status = CRD_OK;
    const crd_type type = volume->info.type;
    const int64_t *shape = volume->info.shape;
    const bool hashed = wish->fingerprint != NULL && !volume->z_fastest;
    crd_fingerprint fingerprint;
    measuring m = {.path = volume->path, .type = type, .out = out};
    crd_walk walk = {.in = volume,
                     .as = type,
                     .voxel_bytes = crd_type_size(type),
                     .layer = wish->small_boxes ? 0 : volume->layer,
                     .monitor = monitor,
                     .stage = "measuring"};
    *out = (crd_volume_statistics){.minimum = (double)NAN,
                                   .maximum = (double)NAN,
                                   .mean = (double)NAN,
                                   .variance = (double)NAN,
                                   .levels = {(double)NAN, (double)NAN},
                                   .histogram_high = 1.0};
    if (wish->fingerprint != NULL) wish->fingerprint[0] = '\0';
    if (hashed) {
        crd_fingerprint_begin(volume, &fingerprint);
        walk.beside = crd_fingerprint_add;
        walk.beside_context = &fingerprint;
    }
    if (volume->z_fastest) volume->format->reverse_axes(volume);
    status = crd_type_size(type) <= 2 ? measure_small(&m, wish, &walk) : measure_large(&m, wish, &walk);
    if (volume->z_fastest) volume->format->reverse_axes(volume);
    CRD_PASS(status);
    out->nonfinite = shape[0] * shape[1] * shape[2] - out->count;
    if (hashed) crd_sha256_end(&fingerprint.hash, wish->fingerprint);
    return CRD_OK;
}

crd_status crd_volume_measure(crd_volume *volume, const crd_monitor *monitor, crd_volume_statistics *out)
{
    return crd_volume_measure_also(volume, &(crd_measure_wish){.levels = false}, monitor, out);
}
