#include "view/survey.h"

#include <string.h>

#include "base/memory.h"

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
    p->block = crd_look_blocks(p->shape, p->cells);
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
                const float voxels = (float)crd_look_voxels(at, p.block, p.shape);
                p.sums[cell] /= voxels;
                p.edges[cell] /= voxels;
            }
        }
    }
    CRD_TRY(crd_look_survey_of(p.sums, p.edges, NULL, p.cells, p.block, p.shape, out));
    *done = true;
done:
    crd_free(&p.sums);
    crd_free(&p.edges);
    crd_free(&p.values);
    crd_free(&p.classes[0]);
    crd_free(&p.classes[1]);
    return status;
}
