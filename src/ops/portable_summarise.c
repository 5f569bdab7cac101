/* Mean, standard deviation and percentiles over samples, for LANES voxels at a time: Batcher's odd-even merge sort is a
 * fixed list of compare-exchanges, so a whole group of columns is sorted together, without branches. */
#include "ops/portable.h"

#include <math.h>

enum { LANES = 16, COPIED = 128 }; /* up to COPIED samples are sorted in a copy that fits the nearest cache */

typedef struct summary_work {
    float *samples, *out;
    int64_t count, stride, voxels;
    const double *percentiles;
    int64_t percentile_count;
} summary_work;

static inline __attribute__((always_inline)) void exchange(float *a, float *b, int lanes)
{
    for (int i = 0; i < lanes; i++) {
        const float low = b[i] < a[i] ? b[i] : a[i], high = b[i] < a[i] ? a[i] : b[i];
        a[i] = low;
        b[i] = high;
    }
}

/* Sorts `lanes` columns of `count` rows, `stride` apart. */
static inline __attribute__((always_inline)) void sort_columns(float *rows, int64_t count, int64_t stride, int lanes)
{
    for (int64_t p = 1; p < count; p *= 2)
        for (int64_t k = p; k >= 1; k /= 2)
            for (int64_t j = k % p; j + k < count; j += 2 * k)
                for (int64_t i = j; i < j + k && i + k < count; i++)
                    if (i / (2 * p) == (i + k) / (2 * p)) exchange(rows + i * stride, rows + (i + k) * stride, lanes);
}

static inline __attribute__((always_inline)) void summarise_columns(const summary_work *work, int64_t first, int lanes)
{
    const int64_t count = work->count;
    double mean[LANES] = {0}, variance[LANES] = {0};
    float copy[COPIED * LANES];
    float *rows = work->samples + first;
    int64_t stride = work->stride;
    for (int64_t s = 0; s < count; s++)
        for (int i = 0; i < lanes; i++) mean[i] += (double)rows[s * stride + i];
    for (int i = 0; i < lanes; i++) mean[i] /= (double)count;
    for (int64_t s = 0; s < count; s++)
        for (int i = 0; i < lanes; i++) {
            const double difference = (double)rows[s * stride + i] - mean[i];
            variance[i] += difference * difference;
        }
    if (work->percentile_count > 0) {
        if (count <= COPIED) {
            for (int64_t s = 0; s < count; s++)
                for (int i = 0; i < lanes; i++) copy[s * LANES + i] = rows[s * stride + i];
            rows = copy;
            stride = LANES;
        }
        sort_columns(rows, count, stride, lanes);
    }
    float *out = work->out + first;
    for (int64_t p = 0; p < work->percentile_count; p++) {
        const double position = work->percentiles[p] / 100 * (double)(count - 1);
        const int64_t below = position < (double)(count - 1) ? (int64_t)position : count - 1;
        const int64_t above = below + 1 < count ? below + 1 : below;
        const double part = position - (double)below;
        for (int i = 0; i < lanes; i++) {
            const double low = (double)rows[below * stride + i], high = (double)rows[above * stride + i];
            out[(2 + p) * work->stride + i] = (float)(low + (high - low) * part);
        }
    }
    for (int i = 0; i < lanes; i++) {
        out[i] = (float)mean[i];
        out[work->stride + i] = (float)sqrt(variance[i] / (double)count);
    }
}

enum { VOXELS = 64 * LANES }; /* of one item */

static void summarise_item(void *context, int64_t item, int worker)
{
    (void)worker;
    const summary_work *work = context;
    int64_t v = item * VOXELS;
    const int64_t end = v + VOXELS < work->voxels ? v + VOXELS : work->voxels;
    for (; v + LANES <= end; v += LANES) summarise_columns(work, v, LANES);
    for (; v < end; v++) summarise_columns(work, v, 1);
}

void crd_portable_summarise(crd_pool *pool, float *samples, int64_t count, int64_t stride, int64_t voxels,
                            const double *percentiles, int64_t percentile_count, float *out)
{
    summary_work work = {.samples = samples,
                         .out = out,
                         .count = count,
                         .stride = stride,
                         .voxels = voxels,
                         .percentiles = percentiles,
                         .percentile_count = percentile_count};
    crd_pool_run(pool, (voxels + VOXELS - 1) / VOXELS, summarise_item, &work);
}
