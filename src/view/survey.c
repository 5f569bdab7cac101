#include "view/survey.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum { CELLS_MOST = 1 << 21, BLOCK_LEAST = 8 };

/* ---- from means over blocks to regions ---- */

static int64_t voxels_of(const int64_t at[3], int64_t block, const int64_t shape[3])
{
    int64_t voxels = 1;
    for (int i = 0; i < 3; i++) voxels *= shape[i] - at[i] * block < block ? shape[i] - at[i] * block : block;
    return voxels;
}

/* What is left of a block at an end of the volume, less than half of one: few voxels are high by chance. */
static bool is_sliver(int64_t cell, const int64_t cells[3], int64_t block, const int64_t shape[3])
{
    const int64_t at[3] = {cell / cells[2] / cells[1], cell / cells[2] % cells[1], cell % cells[2]};
    const int64_t first[3] = {0, 0, 0};
    return 2 * voxels_of(at, block, shape) < voxels_of(first, block, shape);
}

/* Means over the blocks of a region's box. */
static void describe(const float *means, const float *edges, const int64_t cells[3], int64_t block,
                     const int64_t shape[3], double a, double b, crd_look_region *r)
{
    double sum = 0.0, edge_sum = 0.0, all = 0.0;
    int64_t at[3];
    for (at[0] = r->place.low[0] / block; at[0] * block < r->place.high[0]; at[0]++) {
        for (at[1] = r->place.low[1] / block; at[1] * block < r->place.high[1]; at[1]++) {
            for (at[2] = r->place.low[2] / block; at[2] * block < r->place.high[2]; at[2]++) {
                const int64_t cell = (at[0] * cells[1] + at[1]) * cells[2] + at[2];
                const double voxels = (double)voxels_of(at, block, shape);
                sum += voxels * (double)means[cell];
                edge_sum += voxels * (double)edges[cell];
                all += voxels;
            }
        }
    }
    r->mean = sum / all;
    r->edges = edge_sum / all;
    r->excess = r->mean - (a + b * r->edges);
}

crd_status crd_look_survey_of(const float *means, const float *edges, const int64_t cells[3], int64_t block,
                              const int64_t shape[3], crd_look_survey *out)
{
    crd_status status = CRD_OK;
    const int64_t count = cells[0] * cells[1] * cells[2];
    double sum = 0.0, edge_sum = 0.0, covariance = 0.0, variance = 0.0;
    crd_region regions[CRD_LOOK_REGIONS];
    float *high = NULL;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_alloc(count, sizeof *high, "a survey of the map", &high));
    for (int64_t i = 0; i < count; i++) {
        sum += (double)means[i];
        edge_sum += (double)edges[i];
    }
    const double mean = sum / (double)count, edge_mean = edge_sum / (double)count;
    for (int64_t i = 0; i < count; i++) {
        const double edge = (double)edges[i] - edge_mean;
        covariance += edge * ((double)means[i] - mean);
        variance += edge * edge;
    }
    out->b = variance > 0.0 ? covariance / variance : 0.0;
    out->a = mean - out->b * edge_mean;
    for (int order = 0; order < CRD_LOOK_ORDERS; order++) {
        for (int64_t i = 0; i < count; i++) {
            const double explained = order == CRD_BY_EXCESS ? out->a + out->b * (double)edges[i] : 0.0;
            const double beyond = (double)means[i] - explained;
            high[i] = beyond > 0.0 && !is_sliver(i, cells, block, shape) ? (float)beyond : 0.0F;
        }
        CRD_TRY(crd_regions_find(high, cells, block, shape, CRD_LOOK_REGIONS, regions, &out->counts[order]));
        for (int i = 0; i < out->counts[order]; i++) {
            crd_look_region *r = &out->regions[order][i];
            r->place = regions[i];
            describe(means, edges, cells, block, shape, out->a, out->b, r);
        }
    }
done:
    crd_free(&high);
    return status;
}

/* ---- from volumes to means over blocks ---- */

typedef struct pass {
    const int64_t *shape;
    int64_t block, cells[3];
    float *sums, *edges; /* by block */
    float *values;       /* uncertainty of a slice */
    float *classes[2];   /* segmentation of it and of the next one */
} pass;

static crd_status prepare(pass *p, bool segmented)
{
    static const char what[] = "a survey of the map";
    const int64_t slice = p->shape[1] * p->shape[2];
    for (p->block = BLOCK_LEAST;; p->block++) {
        for (int i = 0; i < 3; i++) p->cells[i] = (p->shape[i] + p->block - 1) / p->block;
        if (p->cells[0] * p->cells[1] * p->cells[2] <= CELLS_MOST) break;
    }
    const int64_t count = p->cells[0] * p->cells[1] * p->cells[2];
    CRD_PASS(crd_alloc(count, sizeof *p->sums, what, &p->sums));
    CRD_PASS(crd_alloc(count, sizeof *p->edges, what, &p->edges));
    CRD_PASS(crd_alloc(slice, sizeof(float), what, &p->values));
    for (int i = 0; segmented && i < 2; i++) CRD_PASS(crd_alloc(slice, sizeof(float), what, &p->classes[i]));
    return CRD_OK;
}

/* A voxel is at an edge where the next one along an axis is of another class. */
static void add_slice(pass *p, int64_t z, double scale)
{
    const int64_t height = p->shape[1], width = p->shape[2];
    const float *own = p->classes[0], *next = z + 1 < p->shape[0] ? p->classes[1] : own;
    for (int64_t y = 0; y < height; y++) {
        const int64_t row = (z / p->block * p->cells[1] + y / p->block) * p->cells[2];
        const float *below = own != NULL && y + 1 < height ? own + width : own;
        for (int64_t x = 0; x < width; x++) {
            const double value = (double)p->values[y * width + x] * scale;
            const int64_t cell = row + x / p->block;
            if (value > 0.0) p->sums[cell] += (float)value; /* what is no number counts as 0 */
            if (own == NULL) continue;
            const int64_t i = y * width + x;
            const bool edge = own[i] != next[i] || own[i] != below[i] || (x + 1 < width && own[i] != own[i + 1]);
            p->edges[cell] += edge ? 1.0F : 0.0F;
        }
    }
}

static crd_status read_slice(crd_volume *volume, const int64_t shape[3], int64_t z, float *out)
{
    const crd_box box = {.origin = {z, 0, 0}, .size = {1, shape[1], shape[2]}};
    return crd_volume_read(volume, &box, CRD_F32, out);
}

crd_status crd_look_survey_make(crd_volume *uncertainty, double scale, crd_volume *segmentation,
                                bool (*pause)(void *context, double share), void *context, crd_look_survey *out,
                                bool *done)
{
    crd_status status = CRD_OK;
    pass p = {.shape = crd_volume_describe(uncertainty)->shape};
    *done = false;
    CRD_TRY(prepare(&p, segmentation != NULL));
    if (segmentation != NULL) CRD_TRY(read_slice(segmentation, p.shape, 0, p.classes[0]));
    for (int64_t z = 0; z < p.shape[0]; z++) {
        if (pause != NULL && !pause(context, (double)z / (double)p.shape[0])) goto done;
        CRD_TRY(read_slice(uncertainty, p.shape, z, p.values));
        if (segmentation != NULL && z + 1 < p.shape[0]) CRD_TRY(read_slice(segmentation, p.shape, z + 1, p.classes[1]));
        add_slice(&p, z, scale);
        float *other = p.classes[0];
        p.classes[0] = p.classes[1];
        p.classes[1] = other;
    }
    int64_t at[3], cell = 0;
    for (at[0] = 0; at[0] < p.cells[0]; at[0]++) {
        for (at[1] = 0; at[1] < p.cells[1]; at[1]++) {
            for (at[2] = 0; at[2] < p.cells[2]; at[2]++, cell++) {
                const float voxels = (float)voxels_of(at, p.block, p.shape);
                p.sums[cell] /= voxels;
                p.edges[cell] /= voxels;
            }
        }
    }
    CRD_TRY(crd_look_survey_of(p.sums, p.edges, p.cells, p.block, p.shape, out));
    *done = true;
done:
    crd_free(&p.sums);
    crd_free(&p.edges);
    crd_free(&p.values);
    crd_free(&p.classes[0]);
    crd_free(&p.classes[1]);
    return status;
}
