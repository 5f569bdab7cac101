#include "report/look_survey.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

enum { CELLS_MOST = 1 << 21, BLOCK_LEAST = 8 };

int64_t crd_look_blocks(const int64_t shape[3], int64_t cells[3])
{
    for (int64_t block = BLOCK_LEAST;; block++) {
        for (int i = 0; i < 3; i++) cells[i] = (shape[i] + block - 1) / block;
        if (cells[0] * cells[1] * cells[2] <= CELLS_MOST) return block;
    }
}

int64_t crd_look_voxels(const int64_t at[3], int64_t block, const int64_t shape[3])
{
    int64_t voxels = 1;
    for (int i = 0; i < 3; i++) voxels *= shape[i] - at[i] * block < block ? shape[i] - at[i] * block : block;
    return voxels;
}

typedef struct blocks {
    const float *means, *edges, *shares;
    const int64_t *cells, *shape;
    int64_t block;
} blocks;

/* Voxels of a block that count. */
static double weight_of(const blocks *b, const int64_t at[3])
{
    const int64_t cell = (at[0] * b->cells[1] + at[1]) * b->cells[2] + at[2];
    const double share = b->shares != NULL ? (double)b->shares[cell] : 1.0;
    return share * (double)crd_look_voxels(at, b->block, b->shape);
}

static bool counts(const blocks *b, int64_t cell)
{
    return b->shares == NULL || b->shares[cell] > 0.0F;
}

/* What is left of a block at an end of the volume or of the mask, less than half of one: few voxels are high by
 * chance. */
static bool is_sliver(const blocks *b, int64_t cell)
{
    const int64_t at[3] = {cell / b->cells[2] / b->cells[1], cell / b->cells[2] % b->cells[1], cell % b->cells[2]};
    const int64_t first[3] = {0, 0, 0};
    return 2.0 * weight_of(b, at) < (double)crd_look_voxels(first, b->block, b->shape);
}

/* Means over the blocks of a region's box. */
static void describe(const blocks *b, double base, double slope, crd_look_region *r)
{
    const int64_t block = b->block;
    double sum = 0.0, edge_sum = 0.0, all = 0.0;
    int64_t at[3];
    for (at[0] = r->place.low[0] / block; at[0] * block < r->place.high[0]; at[0]++) {
        for (at[1] = r->place.low[1] / block; at[1] * block < r->place.high[1]; at[1]++) {
            for (at[2] = r->place.low[2] / block; at[2] * block < r->place.high[2]; at[2]++) {
                const int64_t cell = (at[0] * b->cells[1] + at[1]) * b->cells[2] + at[2];
                const double voxels = weight_of(b, at);
                sum += voxels * (double)b->means[cell];
                edge_sum += voxels * (double)b->edges[cell];
                all += voxels;
            }
        }
    }
    r->mean = sum / all;
    r->edges = edge_sum / all;
    r->excess = r->mean - (base + slope * r->edges);
}

/* Mean uncertainty is base + slope * share of edges, by least squares. */
static void fit(const blocks *b, int64_t count, double *base, double *slope)
{
    double sum = 0.0, edge_sum = 0.0, covariance = 0.0, variance = 0.0, counted = 0.0;
    for (int64_t i = 0; i < count; i++) {
        if (!counts(b, i)) continue;
        sum += (double)b->means[i];
        edge_sum += (double)b->edges[i];
        counted += 1.0;
    }
    const double mean = sum / counted, edge_mean = edge_sum / counted; /* none: no numbers, and no regions */
    for (int64_t i = 0; i < count; i++) {
        if (!counts(b, i)) continue;
        const double edge = (double)b->edges[i] - edge_mean;
        covariance += edge * ((double)b->means[i] - mean);
        variance += edge * edge;
    }
    *slope = variance > 0.0 ? covariance / variance : 0.0;
    *base = mean - *slope * edge_mean;
}

crd_status crd_look_survey_of(const float *means, const float *edges, const float *shares, const int64_t cells[3],
                              int64_t block, const int64_t shape[3], crd_look_survey *out)
{
    crd_status status = CRD_OK;
    const int64_t count = cells[0] * cells[1] * cells[2];
    const blocks b = {means, edges, shares, cells, shape, block};
    crd_region regions[CRD_LOOK_REGIONS];
    float *high = NULL;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_alloc(count, sizeof *high, "a survey of the map", &high));
    fit(&b, count, &out->a, &out->b);
    for (int order = 0; order < CRD_LOOK_ORDERS; order++) {
        for (int64_t i = 0; i < count; i++) {
            const double explained = order == CRD_BY_EXCESS ? out->a + out->b * (double)edges[i] : 0.0;
            const double beyond = (double)means[i] - explained;
            high[i] = beyond > 0.0 && !is_sliver(&b, i) ? (float)beyond : 0.0F;
        }
        CRD_TRY(crd_regions_find(high, cells, block, shape, CRD_LOOK_REGIONS, regions, &out->counts[order]));
        for (int i = 0; i < out->counts[order]; i++) {
            crd_look_region *r = &out->regions[order][i];
            r->place = regions[i];
            describe(&b, out->a, out->b, r);
        }
    }
done:
    crd_free(&high);
    return status;
}
