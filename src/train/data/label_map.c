#include "train/data/label_map.h"

#include "base/assert.h"
#include "base/memory.h"

struct crd_label_map {
    int64_t shape[3], cells[3];
    int classes;
    uint16_t *counts; /* [cells][classes] */
};

static uint16_t *cell_at(const crd_label_map *map, int64_t z, int64_t y, int64_t x)
{
    return map->counts + ((z * map->cells[1] + y) * map->cells[2] + x) * map->classes;
}

static void enter_slice(crd_label_map *map, const uint8_t *slice, int64_t z)
{
    for (int64_t y = 0; y < map->shape[1]; y++) {
        const uint8_t *row = slice + y * map->shape[2];
        uint16_t *cells = cell_at(map, z / CRD_CELL, y / CRD_CELL, 0);
        for (int64_t x = 0; x < map->shape[2]; x++) {
            if (row[x] < map->classes) cells[x / CRD_CELL * map->classes + row[x]]++;
        }
    }
}

static crd_status read_slice(crd_label *label, crd_scan *scan, const crd_box *box, uint8_t *slice, uint8_t *inside)
{
    CRD_PASS(crd_label_read(label, box, slice));
    if (inside == NULL) return CRD_OK;
    CRD_PASS(crd_scan_read_mask(scan, box, inside));
    for (int64_t i = 0; i < box->size[1] * box->size[2]; i++) slice[i] = inside[i] ? slice[i] : CRD_LABEL_NONE;
    return CRD_OK;
}

crd_status crd_label_map_make(crd_label *label, crd_scan *scan, int classes, const crd_monitor *monitor,
                              crd_label_map **out)
{
    crd_status status = CRD_OK;
    const int64_t *shape = crd_label_info(label)->shape;
    crd_label_map *map = NULL;
    uint8_t *slice = NULL, *inside = NULL;
    int64_t cells;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *map, "the map of the label", &map));
    for (int axis = 0; axis < 3; axis++) {
        map->shape[axis] = shape[axis];
        map->cells[axis] = (shape[axis] + CRD_CELL - 1) / CRD_CELL;
    }
    map->classes = classes;
    CRD_TRY(crd_product(map->cells[0], map->cells[1], map->cells[2], &cells));
    CRD_TRY(crd_alloc(cells, (size_t)classes * sizeof *map->counts, "the map of the label", &map->counts));
    CRD_TRY(crd_alloc(shape[1] * shape[2], 1, "a slice of the label", &slice));
    if (scan != NULL && crd_scan_masked(scan)) {
        CRD_TRY(crd_alloc(shape[1] * shape[2], 1, "a slice of the mask", &inside));
    }
    for (int64_t z = 0; z < shape[0]; z++) {
        const crd_box box = {{z, 0, 0}, {1, shape[1], shape[2]}};
        CRD_TRY(read_slice(label, scan, &box, slice, inside));
        enter_slice(map, slice, z);
        CRD_TRY(crd_advance(monitor, "looking for labels", "slices", z + 1, shape[0], NULL));
    }
    *out = map;
    map = NULL;
done:
    crd_label_map_free(&map);
    crd_free(&inside);
    crd_free(&slice);
    return status;
}

void crd_label_map_free(crd_label_map **pointer)
{
    if (*pointer == NULL) return;
    crd_free(&(*pointer)->counts);
    crd_free(pointer);
}

const int64_t *crd_label_map_shape(const crd_label_map *map)
{
    return map->shape;
}

const int64_t *crd_label_map_cells(const crd_label_map *map)
{
    return map->cells;
}

int crd_label_map_classes(const crd_label_map *map)
{
    return map->classes;
}

const uint16_t *crd_label_map_counts(const crd_label_map *map, int64_t z, int64_t y, int64_t x)
{
    CRD_ASSERT(z < map->cells[0] && y < map->cells[1] && x < map->cells[2]);
    return cell_at(map, z, y, x);
}

/* Is anything labelled in the cells [begin, end)? */
static bool any_in(const crd_label_map *map, const int64_t begin[3], const int64_t end[3])
{
    for (int64_t z = begin[0]; z < end[0]; z++) {
        for (int64_t y = begin[1]; y < end[1]; y++) {
            const uint16_t *row = cell_at(map, z, y, 0);
            for (int64_t i = begin[2] * map->classes; i < end[2] * map->classes; i++) {
                if (row[i] != 0) return true;
            }
        }
    }
    return false;
}

crd_label_presence crd_label_map_look(const crd_label_map *map, const crd_box *box)
{
    int64_t touched[3], touched_end[3], inner[3], inner_end[3];
    for (int axis = 0; axis < 3; axis++) {
        const int64_t begin = box->origin[axis], end = begin + box->size[axis];
        touched[axis] = begin / CRD_CELL;
        touched_end[axis] = (end + CRD_CELL - 1) / CRD_CELL;
        inner[axis] = (begin + CRD_CELL - 1) / CRD_CELL;
        inner_end[axis] = end / CRD_CELL;
    }
    if (!any_in(map, touched, touched_end)) return CRD_LABELS_ABSENT;
    return any_in(map, inner, inner_end) ? CRD_LABELS_PRESENT : CRD_LABELS_PERHAPS;
}

/* How many of the voxels [begin, end) lie in a cell. */
static int64_t shared(int64_t begin, int64_t end, int64_t cell)
{
    const int64_t low = cell * CRD_CELL > begin ? cell * CRD_CELL : begin;
    const int64_t high = (cell + 1) * CRD_CELL < end ? (cell + 1) * CRD_CELL : end;
    return high - low;
}

int64_t crd_label_map_add(const crd_label_map *map, const crd_box *box, int64_t *counts)
{
    int64_t begin[3], end[3], all = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t high = box->origin[axis] + box->size[axis];
        begin[axis] = box->origin[axis] > 0 ? box->origin[axis] : 0;
        end[axis] = high < map->shape[axis] ? high : map->shape[axis];
        if (begin[axis] >= end[axis]) return 0;
    }
    for (int64_t z = begin[0] / CRD_CELL; z * CRD_CELL < end[0]; z++) {
        for (int64_t y = begin[1] / CRD_CELL; y * CRD_CELL < end[1]; y++) {
            for (int64_t x = begin[2] / CRD_CELL; x * CRD_CELL < end[2]; x++) {
                const int64_t most =
                    shared(begin[0], end[0], z) * shared(begin[1], end[1], y) * shared(begin[2], end[2], x);
                const uint16_t *own = cell_at(map, z, y, x);
                int64_t labelled = 0;
                for (int k = 0; k < map->classes; k++) {
                    counts[k] += own[k] < most ? own[k] : most;
                    labelled += own[k];
                }
                all += labelled < most ? labelled : most;
            }
        }
    }
    return all;
}
