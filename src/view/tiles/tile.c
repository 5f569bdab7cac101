#include "view/tiles/tile.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "view/tiles/levels.h"
#include "view/tiles/preview.h"
#include "view/tiles/written_slices.h"

enum { ROWS_TOUCHED = 1 << 20 };

/* Which axes of the volume run down and to the right. */
static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};

/* A rectangle of a plane, in voxels of its level. */
typedef struct plane {
    int axis, level;
    int64_t slice, row, column, rows, columns;
} plane;

bool crd_tile_size(const crd_layers *layers, const crd_tile_place *p, int64_t *rows, int64_t *columns)
{
    if (p->layer < 0 || p->layer >= layers->count || p->axis < 0 || p->axis > 2) return false;
    const crd_layer *layer = &layers->items[p->layer];
    if (p->level < 0 || p->level >= layer->levels) return false;
    const int64_t *shape = layer->shapes[p->level];
    const int64_t height = shape[down[p->axis]], width = shape[right[p->axis]];
    if (p->slice < 0 || p->slice >= shape[p->axis] || p->row < 0 || p->column < 0) return false;
    if (p->row > (height - 1) / CRD_TILE_EDGE || p->column > (width - 1) / CRD_TILE_EDGE) return false;
    const int64_t edge = CRD_TILE_EDGE + (layer->kind == CRD_LAYER_CLASSES);
    *rows = height - p->row * CRD_TILE_EDGE;
    *columns = width - p->column * CRD_TILE_EDGE;
    if (*rows > edge) *rows = edge;
    if (*columns > edge) *columns = edge;
    return true;
}

static crd_box box_of(const plane *p)
{
    crd_box box = {.origin = {0}, .size = {1, 1, 1}};
    box.origin[p->axis] = p->slice;
    box.origin[down[p->axis]] = p->row;
    box.size[down[p->axis]] = p->rows;
    box.origin[right[p->axis]] = p->column;
    box.size[right[p->axis]] = p->columns;
    return box;
}

static uint8_t pixel_of(float value, double low, double factor)
{
    const double at = ((double)value - low) * factor;
    return at >= 255.0 ? 255 : at > 0.0 ? (uint8_t)(at + 0.5) : 0; /* NaN is 0, too */
}

/* Where pixel (row, column) of the plane lies in what was read: across x it comes as z rows of y. */
static int64_t place_in(const plane *p, int64_t row, int64_t column)
{
    return p->axis == 2 ? column * p->rows + row : row * p->columns + column;
}

/* Voxels of a level that is there, one for each pixel. */
static crd_status take_plane(crd_reader *reader, const crd_layer *layer, crd_volume *volume, const plane *p,
                             const crd_tile_place *place, bool classed, uint8_t *pixels)
{
    const crd_box box = box_of(p);
    const int64_t count = p->rows * p->columns;
    if (classed) { /* the store keeps classes, not values */
        uint8_t *classes;
        CRD_PASS(crd_reader_room(reader, count, &classes));
        CRD_PASS(crd_volume_read(volume, &box, CRD_U8, classes));
        for (int64_t r = 0; r < p->rows; r++) {
            for (int64_t c = 0; c < p->columns; c++) pixels[r * p->columns + c] = classes[place_in(p, r, c)];
        }
        return CRD_OK;
    }
    float *values;
    CRD_PASS(crd_reader_room(reader, count * (int64_t)sizeof *values, &values));
    CRD_PASS(crd_volume_read(volume, &box, CRD_F32, values));
    const double factor = 255.0 / (place->high - place->low);
    for (int64_t r = 0; r < p->rows; r++) {
        for (int64_t c = 0; c < p->columns; c++) {
            const float value = values[place_in(p, r, c)];
            pixels[r * p->columns + c] = layer->kind == CRD_LAYER_CLASSES ? (uint8_t)crd_layer_class(layer, value)
                                                                          : pixel_of(value, place->low, factor);
        }
    }
    return CRD_OK;
}

/* ---- a coarse level from level 0: what lies in the plane is joined, of the slices across it the middle one is taken
 */

/* Room for one line of pixels: sums and numbers of values, or how often each class was met. */
typedef struct line_sums {
    double sums[CRD_TILE_EDGE + 1];
    int64_t counts[CRD_TILE_EDGE + 1];
    int32_t votes[CRD_TILE_EDGE + 1][CRD_VIEW_CLASSES + 1];
} line_sums;

static void add(line_sums *s, const crd_layer *layer, int64_t pixel, float value)
{
    if (layer->kind == CRD_LAYER_CLASSES) {
        const int class = crd_layer_class(layer, value);
        s->votes[pixel][class == CRD_NO_CLASS ? CRD_VIEW_CLASSES : class]++;
    } else if (isfinite(value)) {
        s->sums[pixel] += (double)value;
        s->counts[pixel]++;
    }
}

static uint8_t result(const line_sums *s, const crd_layer *layer, int64_t pixel, double low, double factor)
{
    if (layer->kind != CRD_LAYER_CLASSES) {
        return s->counts[pixel] > 0 ? pixel_of((float)(s->sums[pixel] / (double)s->counts[pixel]), low, factor) : 0;
    }
    int best = CRD_VIEW_CLASSES;
    int32_t most = layer->painted ? 0 : s->votes[pixel][best]; /* of a stroke something is seen at any distance */
    for (int k = CRD_VIEW_CLASSES - 1; k >= 0; k--) { /* of equals the higher class: fine things stay to be seen */
        if (s->votes[pixel][k] <= most) continue;
        best = k;
        most = s->votes[pixel][k];
    }
    return best == CRD_VIEW_CLASSES ? CRD_NO_CLASS : (uint8_t)best;
}

/* Slices of a band that are read: all of them, but across x of a large volume, where each row of each slice is a place
 * of its own in the file, so many that a tile touches about a million rows. */
static int64_t band_depth(const plane *p, int64_t bands, int64_t rows)
{
    int64_t deep = (int64_t)1 << p->level;
    while (p->axis == 2 && deep > 1 && bands * deep * rows > ROWS_TOUCHED) deep /= 2;
    return deep;
}

/* Bands of 2^level voxels along the axis that is slower in the file, each read once and joined to one line of pixels.
 */
static crd_status join_plane(crd_reader *reader, const crd_layer *layer, crd_volume *volume, const plane *p,
                             const crd_tile_place *place, uint8_t *pixels)
{
    crd_status status = CRD_OK;
    const int64_t edge = (int64_t)1 << p->level, *shape = layer->shapes[0];
    const bool turned = p->axis == 2; /* bands are columns */
    const int slow = turned ? right[2] : down[p->axis], fast = turned ? down[2] : right[p->axis];
    const int64_t lines = turned ? p->columns : p->rows, across = turned ? p->rows : p->columns;
    const int64_t first = (turned ? p->column : p->row) * edge, begin = (turned ? p->row : p->column) * edge;
    const double factor = 255.0 / (place->high - place->low);
    line_sums *sums = NULL;
    crd_box box = {.origin = {0}, .size = {1, 1, 1}};
    const int64_t middle = p->slice * edge + edge / 2;
    box.origin[p->axis] = middle < shape[p->axis] ? middle : shape[p->axis] - 1;
    box.origin[fast] = begin;
    box.size[fast] = shape[fast] - begin < across * edge ? shape[fast] - begin : across * edge;
    CRD_TRY(crd_alloc(1, sizeof *sums, "a tile", &sums));
    const int64_t deep = band_depth(p, lines, box.size[fast]);
    for (int64_t line = 0; line < lines; line++) {
        float *values;
        box.origin[slow] = first + line * edge;
        box.size[slow] = shape[slow] - box.origin[slow] < deep ? shape[slow] - box.origin[slow] : deep;
        CRD_TRY(crd_reader_room(reader, edge * box.size[fast] * (int64_t)sizeof *values, &values));
        CRD_TRY(crd_volume_read(volume, &box, CRD_F32, values));
        memset(sums, 0, sizeof *sums);
        for (int64_t i = 0; i < box.size[slow]; i++) {
            for (int64_t k = 0; k < box.size[fast]; k++) {
                add(sums, layer, k >> p->level, values[i * box.size[fast] + k]);
            }
        }
        for (int64_t k = 0; k < across; k++) {
            pixels[turned ? k * p->columns + line : line * p->columns + k] = result(sums, layer, k, place->low, factor);
        }
    }
done:
    crd_free(&sums);
    return status;
}

/* Across y or x, at the coarsest level, from few slices. */
static crd_status take_preview(crd_reader *reader, const crd_layer *layer, const plane *p, const crd_tile_place *place,
                               uint8_t *pixels)
{
    const bool turned = p->axis == 2; /* z runs to the right */
    const int64_t lines = turned ? p->columns : p->rows, first = turned ? p->column : p->row;
    const double factor = 255.0 / (place->high - place->low);
    float *values;
    CRD_PASS(crd_reader_room(reader, layer->shapes[p->level][2] * (int64_t)sizeof *values, &values));
    for (int64_t i = 0; i < lines; i++) {
        const int64_t across = turned ? p->rows : p->columns;
        for (int64_t k = 0; k < across; k++) {
            if (turned || k == 0) crd_preview_row(layer->preview, first + i, turned ? p->row + k : p->slice, values);
            const float value = values[turned ? p->slice : p->column + k];
            pixels[turned ? k * p->columns + i : i * p->columns + k] =
                layer->kind == CRD_LAYER_CLASSES ? (uint8_t)value : pixel_of(value, place->low, factor);
        }
    }
    return CRD_OK;
}

static crd_status make_plane(crd_reader *reader, crd_layer *layer, const plane *p, const crd_tile_place *place,
                             uint8_t *pixels, double *there)
{
    crd_volume *volume = NULL;
    const crd_box box = box_of(p);
    CRD_PASS(crd_reader_find(reader, place->layer, place->level, &box, &volume));
    if (volume != NULL) {
        const bool stored = volume == reader->store[place->layer][place->level];
        return take_plane(reader, layer, volume, p, place, stored && layer->kind == CRD_LAYER_CLASSES, pixels);
    }
    const crd_levels *store = atomic_load(&layer->store);
    if (layer->slow_across && place->axis != 0 && store != NULL && crd_levels_building(store)) {
        if (layer->preview != NULL && place->level == layer->levels - 1 && crd_preview_ready(layer->preview)) {
            return take_preview(reader, layer, p, place, pixels);
        }
        *there = crd_levels_share(store);
        return CRD_OK;
    }
    CRD_PASS(crd_reader_source(reader, place->layer, &volume));
    if (place->level == 0) return take_plane(reader, layer, volume, p, place, false, pixels);
    return join_plane(reader, layer, volume, p, place, pixels);
}

/* Of a volume that grows: only slices that are there are read; where there are none the tile says nothing. */
static crd_status make_grown(crd_reader *reader, crd_layer *layer, const plane *p, const crd_tile_place *place,
                             uint8_t *pixels, double *there)
{
    crd_status status = CRD_OK;
    const int64_t depth = layer->info.shape[0], edge = (int64_t)1 << p->level;
    uint8_t *part = NULL;
    memset(pixels, layer->kind == CRD_LAYER_CLASSES ? CRD_NO_CLASS : 0, (size_t)(p->rows * p->columns));
    if (p->axis == 0) {
        const int64_t first = p->slice * edge, middle = first + edge / 2 < depth ? first + edge / 2 : depth - 1;
        const bool ready = crd_written_slices_ready(layer->written, first, middle + 1);
        return ready ? make_plane(reader, layer, p, place, pixels, there) : CRD_OK;
    }
    const bool turned = p->axis == 2; /* z runs to the right */
    const int64_t from = (turned ? p->column : p->row) * edge, count = turned ? p->columns : p->rows;
    CRD_TRY(crd_alloc(p->rows * p->columns, 1, "a part of a tile", &part));
    for (int64_t begin = from, end = 0; crd_written_slices_next(layer->written, depth, &begin, &end); begin = end) {
        /* Pixels all of whose slices are there: layers of chunks are whole pixels of every level, but for the last. */
        const int64_t first = begin / edge - from / edge, behind = (end + edge - 1) / edge - from / edge;
        plane some = *p;
        if (first >= count) break;
        const int64_t size = (behind < count ? behind : count) - first;
        *(turned ? &some.column : &some.row) += first;
        *(turned ? &some.columns : &some.rows) = size;
        CRD_TRY(make_plane(reader, layer, &some, place, part, there));
        for (int64_t r = 0; r < some.rows; r++) {
            uint8_t *to = turned ? pixels + r * p->columns + first : pixels + (first + r) * p->columns;
            memcpy(to, part + r * some.columns, (size_t)some.columns);
        }
    }
done:
    crd_free(&part);
    return status;
}

crd_status crd_tile_make(crd_reader *reader, const crd_tile_place *place, uint8_t *pixels, double *there)
{
    crd_layer *layer = &reader->layers->items[place->layer];
    plane p = {.axis = place->axis,
               .level = place->level,
               .slice = place->slice,
               .row = place->row * CRD_TILE_EDGE,
               .column = place->column * CRD_TILE_EDGE};
    *there = 1.0;
    if (!crd_tile_size(reader->layers, place, &p.rows, &p.columns)) {
        return crd_fail(CRD_ERR_ARGUMENT, "there is no such tile");
    }
    if (layer->written != NULL && !crd_written_slices_complete(layer->written)) {
        return make_grown(reader, layer, &p, place, pixels, there);
    }
    return make_plane(reader, layer, &p, place, pixels, there);
}
