#include "predict/sums/fraction.h"

#include <math.h>
#include <string.h>

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

void crd_fraction_add(const crd_fraction_slice *slice, const int64_t *const coverage[3], uint64_t *fractions)
{
    const crd_request *request = slice->request;
    const crd_box *asked = slice->asked, *keep = slice->keep;
    const int64_t *origin = request->box.origin, samples = request->samples;
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
            for (int64_t s = 0; s < samples; s += 64) {
                crd_fraction_count(slice->above + s / 64 * voxels + line + x,
                                   slice->inside != NULL ? slice->inside + line + x : NULL, run - x,
                                   samples - s < 64 ? samples - s : 64, weight, fractions + s);
            }
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

typedef struct strip_sums {
    uint64_t within, foreground, sum, doubt, spread;
    double least, most;
} strip_sums;

typedef struct strip_work {
    const float *values;
    const uint8_t *inside; /* or NULL */
    int64_t voxels;
    crd_type type; /* intervals only */
    strip_sums sums[STRIPS];
} strip_work;

static void strip_range(const strip_work *work, int64_t strip, int64_t *begin, int64_t *end)
{
    *begin = work->voxels * strip / STRIPS;
    *end = work->voxels * (strip + 1) / STRIPS;
}

static strip_sums sum_widths(const strip_work *work, int64_t begin, int64_t end)
{
    strip_sums sums = {.least = INFINITY, .most = -INFINITY};
    for (int64_t i = begin; i < end; i++) {
        if (work->inside != NULL && !work->inside[i]) continue;
        const double value = written(work->type, work->values[i]);
        sums.sum += (uint64_t)llrint(value * 0x1p32);
        if (value < sums.least) sums.least = value;
        if (value > sums.most) sums.most = value;
    }
    return sums;
}

static strip_sums count_voxels(const strip_work *work, int64_t begin, int64_t end)
{
    strip_sums sums = {0};
    for (int64_t i = begin; i < end; i++) {
        const uint64_t counted = work->inside == NULL || work->inside[i] != 0;
        sums.within += counted;
        const uint64_t value = (uint64_t)((double)work->values[i] * 0x1p32 + 0.5), rest = (UINT64_C(1) << 32) - value;
        sums.foreground += counted & (uint64_t)(work->values[i] > 0.5f);
        sums.sum += counted * value;
        sums.doubt += counted * (value < rest ? value : rest);
        sums.spread += counted * ((value * rest + (UINT64_C(1) << 31)) >> 32);
    }
    return sums;
}

static void sum_strip(void *context, int64_t strip, int worker)
{
    strip_work *work = context;
    int64_t begin, end;
    (void)worker;
    strip_range(work, strip, &begin, &end);
    work->sums[strip] = sum_widths(work, begin, end);
}

static void count_strip(void *context, int64_t strip, int worker)
{
    strip_work *work = context;
    int64_t begin, end;
    (void)worker;
    strip_range(work, strip, &begin, &end);
    work->sums[strip] = count_voxels(work, begin, end);
}

static void put_interval(const strip_sums *sums, uint64_t words[CRD_INTERVAL_WORDS])
{
    words[CRD_INTERVAL_SUM] = sums->sum;
    words[CRD_INTERVAL_LEAST] = bits_of(sums->least);
    words[CRD_INTERVAL_MOST] = bits_of(sums->most);
}

static void sum_interval(crd_pool *pool, strip_work *work, uint64_t words[CRD_INTERVAL_WORDS])
{
    strip_sums all = {.least = INFINITY, .most = -INFINITY};
    crd_pool_run(pool, STRIPS, sum_strip, work);
    for (int i = 0; i < STRIPS; i++) {
        all.sum += work->sums[i].sum;
        if (work->sums[i].least < all.least) all.least = work->sums[i].least;
        if (work->sums[i].most > all.most) all.most = work->sums[i].most;
    }
    put_interval(&all, words);
}

/* The words of the interval that an output holds; NULL: it holds none. */
static uint64_t *interval_words(const crd_request *request, const crd_output *output, uint64_t *sums)
{
    if (request->quantities[output->quantity].kind != CRD_WIDTH) return NULL;
    const int64_t interval = output->quantity - 1; /* their widths follow the probability */
    return sums + CRD_SUM_FIRST_INTERVAL + interval * CRD_INTERVAL_WORDS;
}

void crd_fraction_sum_slice(const crd_request *request, crd_pool *pool, const uint8_t *inside, crd_slice *slice)
{
    strip_work work = {
        .values = slice->voxels[0], .inside = inside, .voxels = request->box.size[1] * request->box.size[2]};
    crd_pool_run(pool, STRIPS, count_strip, &work);
    slice->sums[CRD_SUM_INSIDE] = slice->sums[CRD_SUM_FOREGROUND] = slice->sums[CRD_SUM_PROBABILITY] = 0;
    slice->sums[CRD_SUM_DOUBT] = slice->sums[CRD_SUM_SPREAD] = 0;
    for (int i = 0; i < STRIPS; i++) {
        slice->sums[CRD_SUM_INSIDE] += work.sums[i].within;
        slice->sums[CRD_SUM_FOREGROUND] += work.sums[i].foreground;
        slice->sums[CRD_SUM_PROBABILITY] += work.sums[i].sum;
        slice->sums[CRD_SUM_DOUBT] += work.sums[i].doubt;
        slice->sums[CRD_SUM_SPREAD] += work.sums[i].spread;
    }
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        uint64_t *words = interval_words(request, output, slice->sums);
        if (words == NULL) continue;
        work.values = slice->voxels[output->quantity];
        work.type = output->type;
        sum_interval(pool, &work, words);
    }
}

void crd_fraction_sum_voxels(const crd_request *request, void *const *voxels, int64_t first, int64_t count,
                             const uint8_t *inside, uint64_t *sums)
{
    strip_work work = {.values = (const float *)voxels[0] + first, .inside = inside, .voxels = count};
    const strip_sums counted = count_voxels(&work, 0, count);
    sums[CRD_SUM_INSIDE] = counted.within;
    sums[CRD_SUM_FOREGROUND] = counted.foreground;
    sums[CRD_SUM_PROBABILITY] = counted.sum;
    sums[CRD_SUM_DOUBT] = counted.doubt;
    sums[CRD_SUM_SPREAD] = counted.spread;
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        uint64_t *words = interval_words(request, output, sums);
        if (words == NULL) continue;
        work.values = (const float *)voxels[output->quantity] + first;
        work.type = output->type;
        const strip_sums widths = sum_widths(&work, 0, count);
        put_interval(&widths, words);
    }
}
