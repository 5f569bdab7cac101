#include "predict/sums/fraction.h"

#include <math.h>
#include <string.h>

#include "predict/quantities/derive.h"

enum { LANES = 8, FULL = 255 };

/* Byte i of the result is bit i: eight counters in one word. */
static uint64_t spread(uint64_t bits)
{
    const uint64_t copies = (bits & 0xff) * 0x0101010101010101u; /* the byte, in every byte */
    const uint64_t picked = copies & 0x8040201008040201u;        /* bit i of byte i */
    return (picked + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

static void flush(uint64_t counters[LANES], int64_t samples, uint64_t weight, uint64_t *fractions)
{
    for (int64_t s = 0; s < samples; s++) fractions[s] += (counters[s / 8] >> (s % 8 * 8) & 0xff) * weight;
    memset(counters, 0, LANES * sizeof counters[0]);
}

void crd_fraction_count(const uint64_t *above, const uint8_t *inside, int64_t count, int64_t samples, uint64_t weight,
                        uint64_t *fractions)
{
    const int64_t lanes = (samples + 7) / 8;
    uint64_t counters[LANES] = {0};
    for (int64_t first = 0; first < count; first += FULL) {
        const int64_t end = first + FULL < count ? first + FULL : count;
        for (int64_t i = first; i < end; i++) {
            const uint64_t bits = inside == NULL || inside[i] ? above[i] : 0;
            for (int64_t lane = 0; lane < lanes; lane++) counters[lane] += spread(bits >> (8 * lane));
        }
        flush(counters, samples, weight, fractions);
    }
}

/* The same for all planes and samples of a row of a result that begins at its voxel `from`, of `voxels` in all. */
static void count_row(const crd_request *request, const uint64_t *above, int64_t voxels, int64_t from,
                      const uint8_t *inside, int64_t count, uint64_t weight, uint64_t *fractions)
{
    const int64_t samples = request->samples;
    for (int plane = 0; plane < request->planes; plane++) {
        for (int64_t s = 0; s < samples; s += 64) {
            crd_fraction_count(above + (s / 64 * request->planes + plane) * voxels + from, inside, count,
                               samples - s < 64 ? samples - s : 64, weight, fractions + plane * samples + s);
        }
    }
}

void crd_fraction_row(const crd_request *request, const uint64_t *above, int64_t voxels, int64_t from,
                      const uint8_t *inside, int64_t count, uint64_t *fractions)
{
    count_row(request, above, voxels, from, inside, count, UINT64_C(1) << 32, fractions);
}

void crd_fraction_add(const crd_fraction_slice *slice, const int64_t *const coverage[3], uint64_t *fractions)
{
    const crd_request *request = slice->request;
    const crd_box *asked = slice->asked, *keep = slice->keep;
    const int64_t *origin = request->box.origin;
    const int64_t voxels = asked->size[0] * asked->size[1] * asked->size[2];
    const int64_t x_end = keep->origin[2] + keep->size[2];
    for (int64_t y = keep->origin[1]; y < keep->origin[1] + keep->size[1]; y++) {
        const int64_t rows = coverage[0][slice->z - origin[0]] * coverage[1][y - origin[1]];
        const int64_t line =
            ((slice->z - asked->origin[0]) * asked->size[1] + y - asked->origin[1]) * asked->size[2] - asked->origin[2];
        int64_t run;
        for (int64_t x = keep->origin[2]; x < x_end; x = run) {
            const int64_t columns = coverage[2][x - origin[2]];
            for (run = x + 1; run < x_end && coverage[2][run - origin[2]] == columns;) run++;
            const uint64_t covered = (uint64_t)(rows * columns);
            const uint64_t weight = ((UINT64_C(1) << 33) + covered) / (2 * covered); /* round(2^32 / covered) */
            count_row(request, slice->above, voxels, line + x, slice->inside != NULL ? slice->inside + line + x : NULL,
                      run - x, weight, fractions);
        }
    }
}

/* A value as the volume of this type will hold it. */
static double written(crd_type type, float value)
{
    if (type == CRD_U8) return (double)lrint((double)value * 255.0) * (1.0 / 255.0);
    if (type == CRD_U16) return (double)lrint((double)value * 65535.0) * (1.0 / 65535.0);
    return (double)value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A slice is summed in strips, on as many threads as there are. Their sums are integers: the order doesn't matter. */
enum { STRIPS = 16 };

typedef struct width_sums {
    uint64_t sum;
    double least, most;
} width_sums;

typedef struct class_sums {
    uint64_t within, doubt;
    uint64_t voxels[CRD_CLASSES_MAX], probability[CRD_CLASSES_MAX], spread[CRD_CLASSES_MAX]; /* by plane */
} class_sums;

typedef struct strip_work {
    const crd_request *request;
    const float *planes[CRD_CLASSES_MAX]; /* probabilities */
    const float *widths;                  /* of an interval, in a volume of this type */
    crd_type type;
    const uint8_t *inside; /* or NULL */
    int64_t voxels;
    width_sums width_sums[STRIPS];
    class_sums class_sums[STRIPS];
} strip_work;

static void strip_range(const strip_work *work, int64_t strip, int64_t *begin, int64_t *end)
{
    *begin = work->voxels * strip / STRIPS;
    *end = work->voxels * (strip + 1) / STRIPS;
}

static width_sums sum_widths(const strip_work *work, int64_t begin, int64_t end)
{
    width_sums sums = {.least = INFINITY, .most = -INFINITY};
    for (int64_t i = begin; i < end; i++) {
        if (work->inside != NULL && !work->inside[i]) continue;
        const double value = written(work->type, work->widths[i]);
        sums.sum += (uint64_t)llrint(value * 0x1p32);
        if (value < sums.least) sums.least = value;
        if (value > sums.most) sums.most = value;
    }
    return sums;
}

static uint64_t fixed_point(float value)
{
    return (uint64_t)((double)value * 0x1p32 + 0.5);
}

/* p (1 - p) of a probability, both as multiples of 2^-32. */
static uint64_t spread_of(uint64_t value)
{
    const uint64_t one = UINT64_C(1) << 32, rest = value < one ? one - value : 0;
    return (value * rest + one / 2) >> 32;
}

/* One probability a voxel: what is above one half is of its class. */
static void count_binary(const strip_work *work, int64_t begin, int64_t end, class_sums *sums)
{
    const float *values = work->planes[0];
    for (int64_t i = begin; i < end; i++) {
        const uint64_t counted = work->inside == NULL || work->inside[i] != 0;
        sums->within += counted;
        const uint64_t value = fixed_point(values[i]), rest = (UINT64_C(1) << 32) - value;
        sums->voxels[0] += counted & (uint64_t)(values[i] > 0.5f);
        sums->probability[0] += counted * value;
        sums->spread[0] += counted * spread_of(value);
        sums->doubt += counted * (value < rest ? value : rest);
    }
}

/* One for each class. */
static void count_classes(const strip_work *work, int64_t begin, int64_t end, class_sums *sums)
{
    const int planes = work->request->planes;
    for (int64_t first = begin; first < end; first += CRD_DERIVE_VOXELS) {
        const int64_t count = end - first < CRD_DERIVE_VOXELS ? end - first : CRD_DERIVE_VOXELS;
        const float *rows[CRD_CLASSES_MAX];
        uint8_t best[CRD_DERIVE_VOXELS];
        float largest[CRD_DERIVE_VOXELS];
        for (int k = 0; k < planes; k++) rows[k] = work->planes[k] + first;
        crd_derive_classes(rows, planes, count, best, largest);
        for (int64_t i = 0; i < count; i++) {
            if (work->inside != NULL && !work->inside[first + i]) continue;
            const uint64_t most = fixed_point(largest[i]);
            sums->within++;
            sums->voxels[best[i]]++;
            sums->doubt += most < UINT64_C(1) << 32 ? (UINT64_C(1) << 32) - most : 0;
            for (int k = 0; k < planes; k++) {
                const uint64_t value = fixed_point(rows[k][i]);
                sums->probability[k] += value;
                sums->spread[k] += spread_of(value);
            }
        }
    }
}

static class_sums count_voxels(const strip_work *work, int64_t begin, int64_t end)
{
    class_sums sums = {0};
    if (work->request->planes > 1) {
        count_classes(work, begin, end, &sums);
    } else {
        count_binary(work, begin, end, &sums);
    }
    return sums;
}

static void sum_strip(void *context, int64_t strip, int worker)
{
    strip_work *work = context;
    int64_t begin, end;
    (void)worker;
    strip_range(work, strip, &begin, &end);
    work->width_sums[strip] = sum_widths(work, begin, end);
}

static void count_strip(void *context, int64_t strip, int worker)
{
    strip_work *work = context;
    int64_t begin, end;
    (void)worker;
    strip_range(work, strip, &begin, &end);
    work->class_sums[strip] = count_voxels(work, begin, end);
}

static void put_interval(const width_sums *sums, uint64_t words[CRD_INTERVAL_WORDS])
{
    words[CRD_INTERVAL_SUM] = sums->sum;
    words[CRD_INTERVAL_LEAST] = bits_of(sums->least);
    words[CRD_INTERVAL_MOST] = bits_of(sums->most);
}

static void put_classes(const crd_request *request, const class_sums *counted, uint64_t *sums)
{
    sums[CRD_SUM_INSIDE] = counted->within;
    for (int plane = 0; plane < request->planes; plane++) {
        uint64_t *words = sums + CRD_SUM_FIRST_CLASS + plane * CRD_CLASS_WORDS;
        words[CRD_CLASS_VOXELS] = counted->voxels[plane];
        words[CRD_CLASS_PROBABILITY] = counted->probability[plane];
        words[CRD_CLASS_SPREAD] = counted->spread[plane];
    }
    sums[crd_slice_first_interval(request) - 1] = counted->doubt;
}

static void sum_interval(crd_pool *pool, strip_work *work, uint64_t words[CRD_INTERVAL_WORDS])
{
    width_sums all = {.least = INFINITY, .most = -INFINITY};
    crd_pool_run(pool, STRIPS, sum_strip, work);
    for (int i = 0; i < STRIPS; i++) {
        all.sum += work->width_sums[i].sum;
        if (work->width_sums[i].least < all.least) all.least = work->width_sums[i].least;
        if (work->width_sums[i].most > all.most) all.most = work->width_sums[i].most;
    }
    put_interval(&all, words);
}

static void sum_classes(crd_pool *pool, strip_work *work, uint64_t *sums)
{
    class_sums all = {0};
    crd_pool_run(pool, STRIPS, count_strip, work);
    for (int i = 0; i < STRIPS; i++) {
        const class_sums *strip = &work->class_sums[i];
        all.within += strip->within;
        all.doubt += strip->doubt;
        for (int k = 0; k < work->request->planes; k++) {
            all.voxels[k] += strip->voxels[k];
            all.probability[k] += strip->probability[k];
            all.spread[k] += strip->spread[k];
        }
    }
    put_classes(work->request, &all, sums);
}

/* The words of the interval that an output holds; NULL: it isn't one that a run goes by. */
static uint64_t *interval_words(const crd_request *request, const crd_output *output, uint64_t *sums)
{
    const crd_quantity *quantity = &request->quantities[output->quantity];
    int64_t interval = 0;
    if (output->role != CRD_OUTPUT_UNCERTAINTY) return NULL;
    while (request->intervals[interval].low != quantity->low || request->intervals[interval].high != quantity->high) {
        interval++;
    }
    return sums + crd_slice_first_interval(request) + interval * CRD_INTERVAL_WORDS;
}

/* Probabilities are the first of the quantities. */
static strip_work work_on(const crd_request *request, void *const *voxels, int64_t first, int64_t count,
                          const uint8_t *inside)
{
    strip_work work = {.request = request, .inside = inside, .voxels = count};
    for (int plane = 0; plane < request->planes; plane++) work.planes[plane] = (const float *)voxels[plane] + first;
    return work;
}

void crd_fraction_sum_slice(const crd_request *request, crd_pool *pool, const uint8_t *inside, crd_slice *slice)
{
    strip_work work = work_on(request, slice->voxels, 0, request->box.size[1] * request->box.size[2], inside);
    sum_classes(pool, &work, slice->sums);
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        uint64_t *words = interval_words(request, output, slice->sums);
        if (words == NULL) continue;
        work.widths = slice->voxels[output->quantity];
        work.type = output->type;
        sum_interval(pool, &work, words);
    }
}

void crd_fraction_sum_voxels(const crd_request *request, void *const *voxels, int64_t first, int64_t count,
                             const uint8_t *inside, uint64_t *sums)
{
    strip_work work = work_on(request, voxels, first, count, inside);
    const class_sums counted = count_voxels(&work, 0, count);
    put_classes(request, &counted, sums);
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        uint64_t *words = interval_words(request, output, sums);
        if (words == NULL) continue;
        work.widths = (const float *)voxels[output->quantity] + first;
        work.type = output->type;
        const width_sums widths = sum_widths(&work, 0, count);
        put_interval(&widths, words);
    }
}
