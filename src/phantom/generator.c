#include "phantom/generator.h"

#include <string.h>

#include "base/memory.h"
#include "phantom/camera.h"
#include "phantom/check.h"
#include "phantom/image.h"
#include "phantom/scene.h"

enum {
    TILE = 128,                   /* edge of the windows the scene is looked at through: their arrays stay in cache */
    BLOCK = 16,                   /* rows finished at a time */
    VIEWS = 5,                    /* arrays of a crd_view */
    SLAB_VOXELS = 2 * 1024 * 1024 /* of a slab whose size was left open */
};

/* Slices that were filtered in their plane, until those above and below are there, too. */
typedef struct crd_ring {
    float *values; /* slots * slice */
    int64_t slots;
    int64_t low, high; /* slices [low, high) are in it */
    int radius;        /* slices needed on either side */
} crd_ring;

struct crd_generator {
    crd_scene scene;
    crd_image image; /* image only */
    crd_camera camera;
    crd_pool *pool;
    crd_type type;
    int64_t slices, slice; /* most slices of a slab; voxels of a slice */
    int64_t tiles[2], blocks;
    crd_ring grey, noise;   /* the noise's has no slots when there is none */
    uint8_t *truth, *label; /* as many slots as `grey` */
    float *rings;           /* one table per slice of a slab */
    float *scratch;         /* per worker */
    int64_t scratch_floats;
    int64_t bytes;
    /* The slab being made. */
    int64_t z0, count, first_new;
    void *out_scan;
    uint8_t *out_label, *out_truth;
};

static int64_t maximum(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The largest of what the three kinds of work need. */
static int64_t scratch_need(const crd_generator *g)
{
    const int64_t columns = g->scene.options.shape[2];
    const int64_t blur_edge = TILE + 2 * g->camera.blur.radius, noise_edge = TILE + 2 * g->camera.noise.radius;
    const int64_t look = VIEWS * blur_edge * blur_edge + crd_scene_scratch(blur_edge, blur_edge);
    const int64_t noise = 2 * noise_edge * noise_edge + noise_edge;
    const int64_t finish = 2 * BLOCK * columns + crd_camera_scratch(&g->camera, BLOCK);
    const int64_t rings = crd_field_scratch(1, g->camera.radii);
    return maximum(maximum(look, noise), maximum(finish, rings));
}

static crd_status take(crd_generator *g, int64_t a, int64_t b, size_t size, void *out)
{
    int64_t count = 0;
    CRD_PASS(crd_product(a, b, 1, &count));
    CRD_PASS(crd_alloc(count, size, "a slab of the phantom", out));
    g->bytes += count * (int64_t)size;
    return CRD_OK;
}

crd_status crd_generator_create(crd_phantom_kind kind, const crd_phantom_options *options, int64_t slices,
                                crd_pool *pool, crd_generator **out)
{
    crd_status status = CRD_OK;
    crd_generator *g = NULL;
    *out = NULL;
    CRD_TRY(crd_phantom_check(kind, options));
    CRD_TRY(crd_alloc(1, sizeof *g, "a phantom", &g));
    g->pool = pool;
    CRD_TRY(crd_type_parse(options->type, &g->type, NULL));
    CRD_TRY(crd_product(options->shape[1], options->shape[2], 1, &g->slice));
    g->slices = slices > 0 ? slices : maximum(1, SLAB_VOXELS / g->slice);
    if (g->slices > options->shape[0]) g->slices = options->shape[0];
    g->tiles[0] = (options->shape[1] + TILE - 1) / TILE;
    g->tiles[1] = (options->shape[2] + TILE - 1) / TILE;
    g->blocks = (options->shape[1] + BLOCK - 1) / BLOCK;
    crd_camera_make(options, &g->camera);
    g->grey.radius = g->camera.blur.radius;
    g->grey.slots = g->slices + 2 * g->grey.radius;
    if (kind == CRD_PHANTOM_IMAGE) {
        crd_scene_prepare(kind, options, &g->scene);
        CRD_TRY(crd_image_open(options, g->grey.slots, &g->image));
        g->bytes += g->grey.slots * g->slice;
    } else {
        CRD_TRY(crd_scene_make(kind, options, pool, &g->scene));
    }
    CRD_TRY(take(g, g->grey.slots, g->slice, sizeof(float), &g->grey.values));
    if (g->camera.correlated_scale > 0.0f) {
        g->noise.radius = g->camera.noise.radius;
        g->noise.slots = g->slices + 2 * g->noise.radius;
        CRD_TRY(take(g, g->noise.slots, g->slice, sizeof(float), &g->noise.values));
    }
    CRD_TRY(take(g, g->grey.slots, g->slice, 1, &g->truth));
    CRD_TRY(take(g, g->grey.slots, g->slice, 1, &g->label));
    CRD_TRY(take(g, g->slices, g->camera.radii, sizeof(float), &g->rings));
    g->scratch_floats = (scratch_need(g) + 15) / 16 * 16;
    CRD_TRY(take(g, crd_pool_threads(pool), g->scratch_floats, sizeof(float), &g->scratch));
    *out = g;
    g = NULL;
done:
    crd_generator_free(&g);
    return status;
}

void crd_generator_free(crd_generator **generator)
{
    crd_generator *g = *generator;
    if (g == NULL) return;
    crd_image_close(&g->image);
    crd_free(&g->scratch);
    crd_free(&g->rings);
    crd_free(&g->label);
    crd_free(&g->truth);
    crd_free(&g->noise.values);
    crd_free(&g->grey.values);
    crd_free(generator);
}

int64_t crd_generator_slices(const crd_generator *generator)
{
    return generator->slices;
}

int64_t crd_generator_bytes(const crd_generator *generator)
{
    return generator->bytes;
}

int64_t crd_generator_phases(const crd_generator *g, double values[CRD_PHANTOM_PHASES])
{
    const int64_t count = g->image.phases > 0 ? g->image.phases : crd_phantom_phases(g->scene.kind);
    for (int64_t k = 0; k < count; k++) values[k] = g->image.phases > 0 ? g->image.values[k] : (double)k;
    return count;
}

void crd_generator_order(const crd_generator *g, int order[CRD_PHANTOM_PHASES])
{
    static const int orders[][3] = {
        [CRD_PHANTOM_GRAPHITE] = {1, 0}, [CRD_PHANTOM_WELD] = {0, 1}, [CRD_PHANTOM_ELECTRODE] = {0, 2, 1}};
    if (g->image.phases > 0)
        crd_image_order(&g->image, order);
    else
        memcpy(order, orders[g->scene.kind], sizeof orders[0]);
}

static int64_t slot_of(const crd_ring *ring, int64_t z)
{
    return z - crd_floor_div(z, ring->slots) * ring->slots;
}

static float *scratch_of(const crd_generator *g, int worker)
{
    return g->scratch + (int64_t)worker * g->scratch_floats;
}

/* Item -> slice (from g->first_new on) and tile, with a border of `radius` around it. */
static crd_window tile_of(const crd_generator *g, int64_t item, int64_t *row, int64_t *column)
{
    const int64_t *shape = g->scene.options.shape, tiles = g->tiles[0] * g->tiles[1];
    *row = item % tiles / g->tiles[1] * TILE;
    *column = item % g->tiles[1] * TILE;
    return (crd_window){
        .z = g->first_new + item / tiles,
        .y0 = *row,
        .x0 = *column,
        .rows = shape[1] - *row < TILE ? shape[1] - *row : TILE,
        .columns = shape[2] - *column < TILE ? shape[2] - *column : TILE,
    };
}

static crd_window with_border(const crd_window *w, int64_t radius)
{
    return (crd_window){w->z, w->y0 - radius, w->x0 - radius, w->rows + 2 * radius, w->columns + 2 * radius};
}

static void keep_phases(float *const distance[CRD_SCENE_DISTANCES], int64_t phases, const crd_window *tile,
                        int64_t radius, int64_t stride, uint8_t *out)
{
    const int64_t wide = tile->columns + 2 * radius;
    for (int64_t i = 0; i < tile->rows; i++) {
        const int64_t at = (i + radius) * wide + radius;
        const float *first = distance[0] + at, *second = distance[1] + at;
        uint8_t *row = out + i * stride;
        for (int64_t j = 0; j < tile->columns; j++) row[j] = first[j] < 0.0f;
        for (int64_t j = 0; phases > 2 && j < tile->columns; j++) {
            if (second[j] < 0.0f && row[j] == 0) row[j] = 2;
        }
    }
}

static void look_at_tile(void *context, int64_t item, int worker)
{
    crd_generator *g = context;
    int64_t row, column;
    const crd_window tile = tile_of(g, item, &row, &column), wide = with_border(&tile, g->grey.radius);
    const int64_t stride = g->scene.options.shape[2], count = wide.rows * wide.columns;
    const int64_t at = slot_of(&g->grey, tile.z) * g->slice + row * stride + column;
    float *scratch = scratch_of(g, worker);
    float *rest = scratch + VIEWS * count;
    const crd_view view = {.truth = {scratch, scratch + count},
                           .label = {scratch + 2 * count, scratch + 3 * count},
                           .grey = scratch + 4 * count};
    const int64_t phases = crd_phantom_phases(g->scene.kind);
    if (g->image.phases > 0) {
        const uint8_t *slice = g->image.slices + slot_of(&g->grey, tile.z) * g->slice;
        crd_image_look(&g->image, &g->scene, slice, &wide, rest, view.grey);
        crd_image_mark(&g->image, &g->scene, slice, &tile, rest, g->truth + at, g->label + at);
        crd_kernel_plane(&g->camera.blur, view.grey, tile.rows, tile.columns, rest, g->grey.values + at, stride);
        return;
    }
    crd_scene_look(&g->scene, &wide, rest, &view);
    keep_phases(view.truth, phases, &tile, g->grey.radius, stride, g->truth + at);
    keep_phases(view.label, phases, &tile, g->grey.radius, stride, g->label + at);
    crd_kernel_plane(&g->camera.blur, view.grey, tile.rows, tile.columns, rest, g->grey.values + at, stride);
}

static void noise_of_tile(void *context, int64_t item, int worker)
{
    crd_generator *g = context;
    int64_t row, column;
    const crd_window tile = tile_of(g, item, &row, &column), wide = with_border(&tile, g->noise.radius);
    const int64_t stride = g->scene.options.shape[2], count = wide.rows * wide.columns;
    float *raw = scratch_of(g, worker);
    crd_camera_raw_noise(&g->camera, &wide, (uint32_t *)(void *)(raw + 2 * count), raw);
    crd_kernel_plane(&g->camera.noise, raw, tile.rows, tile.columns, raw + count,
                     g->noise.values + slot_of(&g->noise, tile.z) * g->slice + row * stride + column, stride);
}

static void rings_of_slice(void *context, int64_t item, int worker)
{
    crd_generator *g = context;
    crd_camera_rings(&g->camera, g->z0 + item, scratch_of(g, worker), g->rings + item * g->camera.radii);
}

/* Adds up slices around z with the kernel's weights. */
static void gather(const crd_ring *ring, const crd_kernel *kernel, int64_t z, int64_t slice, int64_t offset,
                   int64_t count, float *out)
{
    const float *lines[2 * CRD_KERNEL_RADIUS + 1];
    for (int k = 0; k <= 2 * kernel->radius; k++) {
        lines[k] = ring->values + slot_of(ring, z + k - kernel->radius) * slice + offset;
    }
    crd_kernel_lines(kernel, lines, count, out);
}

static void finish_block(void *context, int64_t item, int worker)
{
    crd_generator *g = context;
    const int64_t *shape = g->scene.options.shape, index = item / g->blocks, y0 = item % g->blocks * BLOCK;
    const crd_window w = {.z = g->z0 + index,
                          .y0 = y0,
                          .x0 = 0,
                          .rows = shape[1] - y0 < BLOCK ? shape[1] - y0 : BLOCK,
                          .columns = shape[2]};
    const int64_t count = w.rows * w.columns, offset = y0 * shape[2], at = index * g->slice + offset;
    const int64_t held = slot_of(&g->grey, w.z) * g->slice + offset;
    float *values = scratch_of(g, worker), *noise = values + count, *scratch = noise + count;
    gather(&g->grey, &g->camera.blur, w.z, g->slice, offset, count, values);
    if (g->noise.slots > 0) gather(&g->noise, &g->camera.noise, w.z, g->slice, offset, count, noise);
    crd_camera_finish(&g->camera, &w, g->noise.slots > 0 ? noise : NULL, g->rings + index * g->camera.radii, scratch,
                      values, g->type, (unsigned char *)g->out_scan + (size_t)at * crd_type_size(g->type));
    memcpy(g->out_truth + at, g->truth + held, (size_t)count);
    memcpy(g->out_label + at, g->label + held, (size_t)count);
}

/* Brings the slices [z0 - radius, z0 + count + radius) into the ring; those that are there already stay. */
static crd_status fill(crd_generator *g, crd_ring *ring, crd_work *work)
{
    const int64_t low = g->z0 - ring->radius, high = g->z0 + g->count + ring->radius;
    g->first_new = ring->low <= low && low <= ring->high ? maximum(low, ring->high) : low;
    for (int64_t z = g->first_new; g->image.phases > 0 && ring == &g->grey && z < high; z++) {
        CRD_PASS(crd_image_read(&g->image, z, g->image.slices + slot_of(ring, z) * g->slice));
    }
    if (g->first_new < high) crd_pool_run(g->pool, (high - g->first_new) * g->tiles[0] * g->tiles[1], work, g);
    if (g->first_new == low || ring->high < high) ring->high = high;
    ring->low = low;
    return CRD_OK;
}

crd_status crd_generator_slab(crd_generator *g, int64_t z0, int64_t count, void *scan, uint8_t *label, uint8_t *truth)
{
    const int64_t depth = g->scene.options.shape[0];
    if (z0 < 0 || count < 1 || count > g->slices || z0 > depth - count) {
        return crd_fail(CRD_ERR_ARGUMENT, "slices %lld to %lld can't be made: the phantom has %lld, %lld at a time",
                        (long long)z0, (long long)(z0 + count - 1), (long long)depth, (long long)g->slices);
    }
    g->z0 = z0;
    g->count = count;
    g->out_scan = scan;
    g->out_label = label;
    g->out_truth = truth;
    CRD_PASS(fill(g, &g->grey, look_at_tile));
    if (g->noise.slots > 0) CRD_PASS(fill(g, &g->noise, noise_of_tile));
    crd_pool_run(g->pool, count, rings_of_slice, g);
    crd_pool_run(g->pool, count * g->blocks, finish_block, g);
    return CRD_OK;
}
