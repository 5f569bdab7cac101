#include "train/data/centred.h"

#include <stdlib.h>

#include "base/memory.h"

enum { AROUND = 8 };

static int64_t labelled_in(const crd_label_map *map, int64_t z, int64_t y, int64_t x)
{
    const uint16_t *counts = crd_label_map_counts(map, z, y, x);
    int64_t sum = 0;
    for (int k = 0; k < crd_label_map_classes(map); k++) sum += counts[k];
    return sum;
}

/* Labelled voxels, and cells that have any. */
static int64_t count_cells(const crd_label_map *map, int64_t *voxels)
{
    const int64_t *cells = crd_label_map_cells(map);
    int64_t labelled = 0;
    *voxels = 0;
    for (int64_t i = 0; i < cells[0] * cells[1] * cells[2]; i++) {
        const int64_t own = labelled_in(map, i / cells[2] / cells[1], i / cells[2] % cells[1], i % cells[2]);
        *voxels += own;
        labelled += own > 0;
    }
    return labelled;
}

bool crd_labels_are_sparse(const crd_label_map *map, const int64_t chunk[3])
{
    int64_t voxels;
    const int64_t cells = count_cells(map, &voxels), room = cells * CRD_CELL * CRD_CELL * CRD_CELL;
    const int64_t *shape = crd_label_map_shape(map);
    if (voxels == 0 || voxels == shape[0] * shape[1] * shape[2]) return false;
    return voxels < 2 * chunk[0] * chunk[1] * chunk[2] || 4 * voxels < room;
}

static int rising(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Of chunk `which` around a cell. */
static int64_t origin_of(const int64_t shape[3], const int64_t chunk[3], const int64_t cell[3], int which)
{
    int64_t number = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t aside = (which >> axis & 1) == 0 ? -chunk[axis] / 8 : chunk[axis] / 8;
        const int64_t wanted = cell[axis] * CRD_CELL + CRD_CELL / 2 - chunk[axis] / 2 + aside;
        const int64_t last = shape[axis] - chunk[axis];
        number = number * shape[axis] + (wanted > last ? last : wanted < 0 ? 0 : wanted);
    }
    return number;
}

crd_status crd_centred_origins(const crd_label_map *map, const int64_t chunk[3], int64_t **origins, int64_t *count)
{
    const int64_t *shape = crd_label_map_shape(map), *cells = crd_label_map_cells(map);
    int64_t voxels, all = 0;
    const int64_t labelled = count_cells(map, &voxels);
    *count = 0;
    CRD_PASS(crd_alloc(labelled * AROUND, sizeof **origins, "the list of chunks", origins));
    for (int64_t i = 0; i < cells[0] * cells[1] * cells[2]; i++) {
        const int64_t cell[3] = {i / cells[2] / cells[1], i / cells[2] % cells[1], i % cells[2]};
        if (labelled_in(map, cell[0], cell[1], cell[2]) == 0) continue;
        for (int which = 0; which < AROUND; which++) (*origins)[all++] = origin_of(shape, chunk, cell, which);
    }
    qsort(*origins, (size_t)all, sizeof **origins, rising);
    for (int64_t i = 0; i < all; i++) {
        if (i == 0 || (*origins)[i] != (*origins)[i - 1]) (*origins)[(*count)++] = (*origins)[i];
    }
    return CRD_OK;
}

void crd_origin_box(const int64_t shape[3], const crd_axis_plan axes[3], int64_t origin, crd_box *out)
{
    for (int axis = 2; axis >= 0; axis--) {
        out->origin[axis] = origin % shape[axis];
        out->size[axis] = axes[axis].window;
        origin /= shape[axis];
    }
}
