/* Tiles of all types, axes and levels against voxels read plainly, and levels against a textbook mean. */
#include <math.h>

#include "base/memory.h"
#include "harness.h"
#include "view/tiles/tile.h"
#include "volume/types.h"
#include "volume_tools.h"

/* Odd along every axis, and more than a tile along two. */
static const int64_t shape[3] = {37, 301, 523};
static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};

static double value_at(int64_t z, int64_t y, int64_t x)
{
    return (double)((z * 7 + y * 3 + x * 5 + (z * y * x) % 11) % 120);
}

static crd_status write_scan(const char *path, crd_type type)
{
    crd_status status = CRD_OK;
    const int64_t count = shape[0] * shape[1] * shape[2];
    const crd_volume_info info = {.shape = {shape[0], shape[1], shape[2]}, .type = type, .scale = 1.0};
    const crd_box box = {.size = {shape[0], shape[1], shape[2]}};
    double *values = NULL;
    void *voxels = NULL;
    crd_volume *volume = NULL;
    CRD_TRY(crd_alloc(count, sizeof *values, "values", &values));
    CRD_TRY(crd_alloc(count, crd_type_size(type), "voxels", &voxels));
    for (int64_t i = 0; i < count; i++) {
        values[i] = value_at(i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2]);
    }
    (void)crd_convert(CRD_F64, values, 1.0, count, type, voxels);
    CRD_TRY(crd_volume_create(path, &info, NULL, &volume));
    CRD_TRY(crd_volume_write(volume, &box, voxels));
    CRD_TRY(crd_volume_commit(volume));
done:
    crd_volume_close(&volume);
    crd_free(&voxels);
    crd_free(&values);
    return status;
}

static crd_status open_scan(const char *path, crd_layers *layers)
{
    crd_view_options options;
    CRD_PASS(crd_settings_default(&crd_view_settings, &options));
    CRD_PASS(crd_settings_set(&crd_view_settings, &options, "input", path));
    const crd_status status = crd_layers_open(&options, NULL, layers);
    crd_settings_clear(&crd_view_settings, &options);
    return status;
}

static int byte_of(double value, double low, double high)
{
    const double at = (value - low) / (high - low) * 255.0;
    return at <= 0.0 ? 0 : at >= 255.0 ? 255 : (int)(at + 0.5);
}

/* Every tile of a plane at level 0. */
static void check_plane(crd_reader *reader, int axis, int64_t slice)
{
    static uint8_t pixels[(CRD_TILE_EDGE + 1) * (CRD_TILE_EDGE + 1)];
    crd_tile_place place = {.axis = axis, .slice = slice, .low = 10.0, .high = 100.0};
    int64_t rows, columns, tiles = 0;
    for (place.row = 0; crd_tile_size(reader->layers, &place, &rows, &columns); place.row++) {
        for (place.column = 0; crd_tile_size(reader->layers, &place, &rows, &columns); place.column++) {
            double there;
            CHECK_OK(crd_tile_make(reader, &place, pixels, &there));
            CHECK(there == 1.0);
            for (int64_t r = 0; r < rows; r++) {
                for (int64_t c = 0; c < columns; c++) {
                    int64_t at[3];
                    at[axis] = slice;
                    at[down[axis]] = place.row * CRD_TILE_EDGE + r;
                    at[right[axis]] = place.column * CRD_TILE_EDGE + c;
                    const int wanted = byte_of(value_at(at[0], at[1], at[2]), 10.0, 100.0);
                    if (pixels[r * columns + c] != wanted) {
                        CHECK_FAILED("axis %d at %lld, %lld, %lld: %d, not %d", axis, (long long)at[0],
                                     (long long)at[1], (long long)at[2], pixels[r * columns + c], wanted);
                    }
                }
            }
            tiles++;
        }
        place.column = 0;
    }
    const int64_t high = (shape[down[axis]] + 255) / 256, wide = (shape[right[axis]] + 255) / 256;
    CHECK(tiles == high * wide);
}

static void test_planes(void)
{
    static const crd_type types[] = {CRD_U8, CRD_I8, CRD_U16, CRD_I16, CRD_U32, CRD_I32, CRD_F32, CRD_F64};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        static crd_layers layers;
        char path[512];
        snprintf(path, sizeof path, "%s", scratch("scan.npy"));
        CHECK_OK(write_scan(path, types[i]));
        CHECK_OK(open_scan(path, &layers));
        crd_reader reader = {.layers = &layers};
        for (int axis = 0; axis < 3; axis++) {
            check_plane(&reader, axis, 0);
            check_plane(&reader, axis, shape[axis] - 1);
        }
        crd_reader_close(&reader);
        crd_layers_close(&layers);
        if (harness_failed) return;
    }
}

static void test_edges(void)
{
    static crd_layers layers;
    char path[512];
    int64_t rows, columns;
    snprintf(path, sizeof path, "%s", scratch("scan.npy"));
    CHECK_OK(write_scan(path, CRD_U8));
    CHECK_OK(open_scan(path, &layers));
    CHECK(layers.items[0].levels == 3);
    crd_tile_place place = {.axis = 0, .level = 2};
    CHECK(crd_tile_size(&layers, &place, &rows, &columns) && rows == 76 && columns == 131);
    const crd_tile_place none[] = {{.axis = 3},
                                   {.axis = -1},
                                   {.level = 3},
                                   {.level = -1},
                                   {.layer = 1},
                                   {.layer = -1},
                                   {.slice = 37},
                                   {.slice = -1},
                                   {.row = 2},
                                   {.column = 3},
                                   {.column = -1},
                                   {.row = -1},
                                   {.row = INT64_MAX / 300},
                                   {.level = 2, .slice = 10}};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        if (crd_tile_size(&layers, &none[i], &rows, &columns)) CHECK_FAILED("there is a tile %zu", i);
    }
    crd_layers_close(&layers);
}

/* A coarse level from level 0: the mean in the plane of the middle slice. */
static void test_coarse_from_fine(void)
{
    static crd_layers layers;
    static uint8_t pixels[CRD_TILE_EDGE * CRD_TILE_EDGE];
    char path[512];
    snprintf(path, sizeof path, "%s", scratch("scan.npy"));
    CHECK_OK(write_scan(path, CRD_U16));
    CHECK_OK(open_scan(path, &layers));
    crd_reader reader = {.layers = &layers};
    for (int axis = 0; axis < 3; axis++) {
        for (int level = 1; level < layers.items[0].levels; level++) {
            crd_tile_place place = {.axis = axis, .level = level, .slice = 2, .low = 0.0, .high = 120.0};
            const int64_t edge = (int64_t)1 << level;
            int64_t rows, columns;
            double there;
            CHECK(crd_tile_size(&layers, &place, &rows, &columns));
            CHECK_OK(crd_tile_make(&reader, &place, pixels, &there));
            for (int64_t i = 0; i < rows * columns; i += 17) {
                double sum = 0.0;
                int64_t n = 0, at[3];
                at[axis] = 2 * edge + edge / 2;
                for (int64_t a = i / columns * edge; a < (i / columns + 1) * edge && a < shape[down[axis]]; a++) {
                    for (int64_t b = i % columns * edge; b < (i % columns + 1) * edge && b < shape[right[axis]]; b++) {
                        at[down[axis]] = a;
                        at[right[axis]] = b;
                        sum += value_at(at[0], at[1], at[2]);
                        n++;
                    }
                }
                const int wanted = byte_of((double)(float)(sum / (double)n), 0.0, 120.0);
                if (pixels[i] != wanted) CHECK_FAILED("axis %d, level %d: %d, not %d", axis, level, pixels[i], wanted);
            }
        }
    }
    crd_reader_close(&reader);
    crd_layers_close(&layers);
}

/* Which files need their blocks stored: packed slices, whatever they pack to, and no others. */
static void test_slow_across(void)
{
    static const struct {
        const char *name;
        int compress;
        bool slow;
    } files[] = {{"plain.npy", 0, false},
                 {"plain.tif", 0, false},
                 {"packed.tif", 1, true},
                 {"packed.nii.gz", 0, true},
                 {"blocks.h5", 1, false}};
    static crd_layers layers;
    char path[512], other[512];
    crd_volume *scan = NULL;
    snprintf(path, sizeof path, "%s", scratch("scan.npy"));
    CHECK_OK(write_scan(path, CRD_U16));
    CHECK_OK(crd_volume_open(path, NULL, NULL, &scan));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const crd_volume_options options = {.compress = files[i].compress};
        snprintf(other, sizeof other, "%s", scratch(files[i].name));
        if (crd_volume_convert(scan, other, NULL, &options, NULL) == CRD_ERR_UNSUPPORTED) {
            skip_part(files[i].name, "this build doesn't write it");
            continue;
        }
        CHECK_OK(open_scan(other, &layers));
        if (layers.items[0].slow_across != files[i].slow) CHECK_FAILED("%s", files[i].name);
        crd_layers_close(&layers);
    }
    crd_volume_close(&scan);
}

/* Where a tile across rows would touch more than 32 MiB of a plain file, it is kept in blocks, which nobody waits for.
 */
static void test_in_blocks(void)
{
    static const struct {
        int64_t shape[3];
        bool blocks;
    } scans[] = {
        {{256, 256, 512}, false}, {{256, 256, 520}, true}, {{300, 300, 512}, false}, {{256, 100, 1300}, false}};
    static crd_layers layers;
    char path[512];
    snprintf(path, sizeof path, "%s", scratch("wide.npy"));
    for (size_t i = 0; i < sizeof scans / sizeof scans[0]; i++) {
        crd_volume_info info = {.type = CRD_U8, .scale = 1.0};
        crd_volume *volume = NULL;
        memcpy(info.shape, scans[i].shape, sizeof info.shape);
        CHECK_OK(crd_volume_create(path, &info, NULL, &volume));
        CHECK_OK(crd_volume_commit(volume));
        crd_volume_close(&volume);
        CHECK_OK(open_scan(path, &layers));
        CHECK(layers.items[0].in_blocks == scans[i].blocks && !layers.items[0].slow_across);
        crd_layers_close(&layers);
    }
}

static void test_tile_cache(void)
{
    crd_tile_cache *cache = NULL;
    uint8_t in[1000], out[1000];
    memset(in, 7, sizeof in);
    CHECK_OK(crd_tile_cache_open(100000, &cache));
    for (int64_t i = 0; i < 200; i++) {
        const crd_tile_place place = {.slice = i, .high = 1.0};
        in[0] = (uint8_t)i;
        crd_tile_cache_put(cache, &place, 1, sizeof in, in);
    }
    int64_t there = 0;
    for (int64_t i = 0; i < 200; i++) {
        const crd_tile_place place = {.slice = i, .high = 1.0};
        if (!crd_tile_cache_get(cache, &place, 1, sizeof out, out)) continue;
        CHECK(out[0] == (uint8_t)i && out[999] == 7);
        there++;
    }
    CHECK(there > 40 && there < 100);
    const crd_tile_place last = {.slice = 199, .high = 1.0}, other = {.slice = 199, .high = 2.0};
    CHECK(crd_tile_cache_get(cache, &last, 1, sizeof out, out));
    CHECK(!crd_tile_cache_get(cache, &last, 2, sizeof out, out));
    CHECK(!crd_tile_cache_get(cache, &other, 1, sizeof out, out));
    crd_tile_cache_free(&cache);
}

TEST_MAIN(TEST(test_planes), TEST(test_edges), TEST(test_coarse_from_fine), TEST(test_slow_across),
          TEST(test_in_blocks), TEST(test_tile_cache))
