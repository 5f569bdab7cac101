/* Mean, standard deviation and percentiles over samples, for LANES voxels at a time: a sorting network exchanges the
 * same rows whatever they hold, so a whole group of columns is sorted together, without branches. */
#include <math.h>

#include "ops/portable.h"
#include "ops/sorting_network.h"

enum { LANES = 4, VOXELS = 256 * LANES }; /* voxels of one item */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lane_mask __attribute__((vector_size(LANES * sizeof(int32_t))));

typedef struct summary_work {
    float *samples, *out;
    int64_t count, stride, voxels;
    const double *percentiles;
    int64_t percentile_count;
    crd_network network;
} summary_work;

static inline void exchange(lanes *a, lanes *b)
{
    const lanes x = *a, y = *b;
    const lane_mask swap = (lane_mask)(y < x), change = ((lane_mask)x ^ (lane_mask)y) & swap;
    *a = (lanes)((lane_mask)x ^ change);
    *b = (lanes)((lane_mask)y ^ change);
}

static void exchange_floats(float *a, float *b, int count)
{
    for (int i = 0; i < count; i++) {
        const float x = a[i], y = b[i];
        a[i] = y < x ? y : x;
        b[i] = y < x ? x : y;
    }
}

/* The rows of `columns` <= LANES voxels, in a copy or, if there are many, in the samples themselves. */
static void summarise_columns(const summary_work *work, int64_t first, int columns)
{
    const int64_t count = work->count, stride = work->stride;
    float *samples = work->samples + first, *out = work->out + first;
    lanes copy[CRD_NETWORK_ROWS] = {{0}};
    double mean[LANES] = {0}, variance[LANES] = {0};
    const bool few = count <= CRD_NETWORK_ROWS;
    for (int64_t s = 0; s < count; s++)
        for (int i = 0; i < columns; i++) {
            mean[i] += (double)samples[s * stride + i];
            if (few) copy[s][i] = samples[s * stride + i];
        }
    for (int i = 0; i < columns; i++) mean[i] /= (double)count;
    for (int64_t s = 0; s < count; s++)
        for (int i = 0; i < columns; i++) {
            const double difference = (double)samples[s * stride + i] - mean[i];
            variance[i] += difference * difference;
        }
    if (few)
        for (int e = 0; e < work->network.count; e++)
            exchange(&copy[work->network.pair[e][0]], &copy[work->network.pair[e][1]]);
    else
        CRD_FOR_EACH_EXCHANGE(count, i, j) exchange_floats(samples + i * stride, samples + j * stride, columns);
    for (int64_t p = 0; p < work->percentile_count; p++) {
        int64_t below, above;
        const double part = crd_percentile_place(work->percentiles[p], count, &below, &above);
        for (int i = 0; i < columns; i++) {
            const double low = (double)(few ? copy[below][i] : samples[below * stride + i]);
            const double high = (double)(few ? copy[above][i] : samples[above * stride + i]);
            out[(2 + p) * stride + i] = (float)(low + (high - low) * part);
        }
    }
    for (int i = 0; i < columns; i++) {
        out[i] = (float)mean[i];
        out[stride + i] = (float)sqrt(variance[i] / (double)count);
    }
}

static void summarise_item(void *context, int64_t item, int worker)
{
    (void)worker;
    const summary_work *work = context;
    const int64_t first = item * VOXELS, end = first + VOXELS < work->voxels ? first + VOXELS : work->voxels;
    for (int64_t v = first; v < end; v += LANES) summarise_columns(work, v, end - v < LANES ? (int)(end - v) : LANES);
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
    if (count <= CRD_NETWORK_ROWS) crd_network_make(count, percentiles, percentile_count, &work.network);
    crd_pool_run(pool, (voxels + VOXELS - 1) / VOXELS, summarise_item, &work);
}
