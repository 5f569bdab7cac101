#include "train/data/label_map.h"

#include <string.h>

#include "base/memory.h"

enum { CELL = 8 };

struct crd_label_map {
    int64_t cells[3];
    uint8_t *any; /* by cell: is a voxel labelled there? */
    crd_box labelled;
};

typedef struct extent {
    int64_t low[3], high[3];
} extent;

/* Enters the labelled voxels of a row, whose first cell is `any`; gives whether there are some. */
static bool enter_row(const uint8_t *row, int64_t width, uint8_t *any, extent *seen)
{
    int64_t first = 0, last = width - 1;
    while (first < width && row[first] == CRD_LABEL_NONE) first++;
    if (first == width) return false;
    while (row[last] == CRD_LABEL_NONE) last--;
    for (int64_t x = first; x <= last; x++) any[x / CELL] |= row[x] != CRD_LABEL_NONE;
    if (first < seen->low[2]) seen->low[2] = first;
    if (last + 1 > seen->high[2]) seen->high[2] = last + 1;
    return true;
}

static void enter_slice(crd_label_map *map, const uint8_t *slice, const int64_t shape[3], int64_t z, extent *seen)
{
    for (int64_t y = 0; y < shape[1]; y++) {
        uint8_t *any = map->any + (z / CELL * map->cells[1] + y / CELL) * map->cells[2];
        if (!enter_row(slice + y * shape[2], shape[2], any, seen)) continue;
        const int64_t at[2] = {z, y};
        for (int axis = 0; axis < 2; axis++) {
            if (at[axis] < seen->low[axis]) seen->low[axis] = at[axis];
            if (at[axis] + 1 > seen->high[axis]) seen->high[axis] = at[axis] + 1;
        }
    }
}

crd_status crd_label_map_make(crd_label *label, const crd_monitor *monitor, crd_label_map **out)
{
    crd_status status = CRD_OK;
    const int64_t *shape = crd_label_info(label)->shape;
    extent seen = {.low = {INT64_MAX, INT64_MAX, INT64_MAX}};
    crd_label_map *map = NULL;
    uint8_t *slice = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *map, "the map of the label", &map));
    map->labelled = (crd_box){.size = {shape[0], shape[1], shape[2]}};
    for (int axis = 0; axis < 3; axis++) map->cells[axis] = (shape[axis] + CELL - 1) / CELL;
    CRD_TRY(crd_alloc(map->cells[0] * map->cells[1] * map->cells[2], 1, "the map of the label", &map->any));
    CRD_TRY(crd_alloc(shape[1] * shape[2], 1, "a slice of the label", &slice));
    for (int64_t z = 0; z < shape[0]; z++) {
        const crd_box box = {{z, 0, 0}, {1, shape[1], shape[2]}};
        CRD_TRY(crd_label_read(label, &box, slice));
        enter_slice(map, slice, shape, z, &seen);
        CRD_TRY(crd_advance(monitor, "looking for labels", "slices", z + 1, shape[0], NULL));
    }
    for (int axis = 0; axis < 3 && seen.high[0] > 0; axis++) {
        map->labelled.origin[axis] = seen.low[axis];
        map->labelled.size[axis] = seen.high[axis] - seen.low[axis];
    }
    *out = map;
    map = NULL;
done:
    crd_label_map_free(&map);
    crd_free(&slice);
    return status;
}

void crd_label_map_free(crd_label_map **pointer)
{
    if (*pointer == NULL) return;
    crd_free(&(*pointer)->any);
    crd_free(pointer);
}

const crd_box *crd_label_map_box(const crd_label_map *map)
{
    return &map->labelled;
}

/* Is anything labelled in the cells [begin, end)? */
static bool any_in(const crd_label_map *map, const int64_t begin[3], const int64_t end[3])
{
    for (int64_t z = begin[0]; z < end[0]; z++) {
        for (int64_t y = begin[1]; y < end[1] && begin[2] < end[2]; y++) {
            const uint8_t *row = map->any + (z * map->cells[1] + y) * map->cells[2];
            if (memchr(row + begin[2], 1, (size_t)(end[2] - begin[2])) != NULL) return true;
        }
    }
    return false;
}

crd_label_presence crd_label_map_look(const crd_label_map *map, const crd_box *box)
{
    int64_t touched[3], touched_end[3], inner[3], inner_end[3];
    for (int axis = 0; axis < 3; axis++) {
        const int64_t begin = box->origin[axis], end = begin + box->size[axis];
        touched[axis] = begin / CELL;
        touched_end[axis] = (end + CELL - 1) / CELL;
        inner[axis] = (begin + CELL - 1) / CELL;
        inner_end[axis] = end / CELL;
    }
    if (!any_in(map, touched, touched_end)) return CRD_LABELS_ABSENT;
    return any_in(map, inner, inner_end) ? CRD_LABELS_PRESENT : CRD_LABELS_PERHAPS;
}
