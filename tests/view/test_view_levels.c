/* Levels made in the background: against a textbook mean, interrupted at every slab, and where they are kept. */
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "harness.h"
#include "view/tiles/cache_folder.h"
#include "view/tiles/halve.h"
#include "view/tiles/histogram.h"
#include "view/tiles/levels.h"
#include "view/tiles/tile.h"
#include "volume/types.h"
#include "volume/zarr/zarr.h"
#include "volume_tools.h"

static const int64_t shape[3] = {101, 131, 290};

static uint32_t noise_at(int64_t i)
{
    uint32_t x = (uint32_t)i * UINT32_C(2654435761) + 12345U;
    x ^= x >> 15;
    return x * UINT32_C(2246822519) >> 7;
}

static void test_halving(void)
{
    static const crd_type types[] = {CRD_U8, CRD_I8, CRD_U16, CRD_I16, CRD_U32, CRD_I32, CRD_F32, CRD_F64, CRD_U64};
    static const int64_t sizes[][3] = {{1, 1, 1}, {2, 2, 2}, {3, 5, 7}, {1, 4, 9}, {6, 1, 1}};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            const int64_t *n = sizes[s];
            double values[256], halved[256];
            char in[256 * 8], out[256 * 8];
            for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
                values[i] = (double)(noise_at(i) % 250) - (types[t] == CRD_I8 || types[t] == CRD_I16 ? 125.0 : 0.0);
            }
            CHECK(crd_convert(CRD_F64, values, 1.0, n[0] * n[1] * n[2], types[t], in) == 0 || types[t] == CRD_I8);
            crd_to_float(types[t], in, n[0] * n[1] * n[2], CRD_F64, values);
            crd_halve_values(types[t], in, n, out);
            const int64_t m[3] = {(n[0] + 1) / 2, (n[1] + 1) / 2, (n[2] + 1) / 2};
            crd_to_float(types[t], out, m[0] * m[1] * m[2], CRD_F64, halved);
            for (int64_t i = 0; i < m[0] * m[1] * m[2]; i++) {
                const int64_t z = i / m[2] / m[1], y = i / m[2] % m[1], x = i % m[2];
                double sum = 0.0;
                int count = 0;
                for (int64_t a = 2 * z; a < 2 * z + 2 && a < n[0]; a++) {
                    for (int64_t b = 2 * y; b < 2 * y + 2 && b < n[1]; b++) {
                        for (int64_t c = 2 * x; c < 2 * x + 2 && c < n[2]; c++, count++) {
                            sum += values[(a * n[1] + b) * n[2] + c];
                        }
                    }
                }
                const double mean = sum / count, away = floor(fabs(mean) + 0.5) * (mean < 0.0 ? -1.0 : 1.0);
                const double wanted = types[t] == CRD_F64 ? mean : types[t] == CRD_F32 ? (double)(float)mean : away;
                if (halved[i] != wanted) {
                    CHECK_FAILED("%s, case %zu, voxel %lld: %g, not %g", crd_type_name(types[t]), s, (long long)i,
                                 halved[i], wanted);
                }
            }
        }
    }
}

static void test_halving_odd_values(void)
{
    static const int64_t size[3] = {1, 2, 4};
    const float some[8] = {NAN, 2.0F, NAN, NAN, 4.0F, INFINITY, NAN, NAN};
    float out[2];
    crd_halve_values(CRD_F32, some, size, out);
    CHECK(out[0] == 3.0F && isnan(out[1]));
    const uint64_t large[8] = {UINT64_MAX, UINT64_MAX, 0, 1, UINT64_MAX, UINT64_MAX, 1, 1};
    uint64_t mean[2];
    crd_halve_values(CRD_U64, large, size, mean);
    CHECK(mean[0] == UINT64_MAX && mean[1] == 1);
    const uint8_t classes[8] = {0, 0, CRD_NO_CLASS, CRD_NO_CLASS, 3, 3, CRD_NO_CLASS, 2};
    uint8_t most[2];
    crd_halve_classes(classes, size, most);
    CHECK(most[0] == 3 && most[1] == CRD_NO_CLASS);
}

/* A scan of u16 whose level 0 is stored as well. */
static crd_status make_layer(const char *path, crd_layers *layers)
{
    crd_status status = CRD_OK;
    const int64_t count = shape[0] * shape[1] * shape[2];
    const crd_volume_info info = {.shape = {shape[0], shape[1], shape[2]}, .type = CRD_U16, .scale = 1.0};
    const crd_box box = {.size = {shape[0], shape[1], shape[2]}};
    uint16_t *voxels = NULL;
    crd_volume *volume = NULL;
    crd_view_options options;
    CRD_TRY(crd_alloc(count, sizeof *voxels, "voxels", &voxels));
    for (int64_t i = 0; i < count; i++) voxels[i] = (uint16_t)(noise_at(i) % 60000);
    CRD_TRY(crd_volume_create(path, &info, NULL, &volume));
    CRD_TRY(crd_volume_write(volume, &box, voxels));
    CRD_TRY(crd_volume_commit(volume));
    CRD_TRY(crd_settings_default(&crd_view_settings, &options));
    CRD_TRY(crd_settings_set(&crd_view_settings, &options, "input", path));
    CRD_TRY(crd_layers_open(&options, NULL, layers));
    crd_settings_clear(&crd_view_settings, &options);
    layers->items[0].in_blocks = true;
done:
    crd_volume_close(&volume);
    crd_free(&voxels);
    return status;
}

static bool go_on(void *context)
{
    int *left = context;
    return left == NULL || (*left)-- > 0;
}

static void remove_store(const char *folder)
{
    static const char *const files[] = {"state", "lock"};
    char path[600];
    snprintf(path, sizeof path, "%s/levels.zarr", folder);
    (void)crd_zarr_remove(path);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

/* Opened anew before every slab, as after an interruption, and now and then stopped in the middle of one. */
static void test_interrupted(void)
{
    static crd_layers layers;
    char path[512], folder[512];
    crd_volume *source = NULL, *level = NULL;
    bool more = true;
    int rounds = 0;
    snprintf(path, sizeof path, "%s", scratch("scan.npy"));
    snprintf(folder, sizeof folder, "%s", scratch("levels"));
    remove_store(folder);
    CHECK(mkdir(folder, 0700) == 0);
    CHECK_OK(make_layer(path, &layers));
    crd_layer *layer = &layers.items[0];
    CHECK(layer->levels == 2);
    CHECK_OK(crd_volume_open(path, NULL, NULL, &source));
    while (more && rounds++ < 50) {
        crd_levels *levels = NULL;
        int left = rounds % 3 == 0 ? 0 : 1000;
        const crd_box all = {.size = {shape[0], shape[1], shape[2]}};
        CHECK_OK(crd_levels_open(layer, folder, 8 << 20, &levels));
        CHECK(!crd_levels_ready(levels, 0, &all) && crd_levels_greys(levels) == NULL && crd_levels_building(levels));
        const double before = crd_levels_share(levels);
        CHECK_OK(crd_levels_advance(levels, layer, source, go_on, &left, &more));
        CHECK(rounds % 3 == 0 ? crd_levels_share(levels) == before : crd_levels_share(levels) > before);
        if (rounds % 3 == 0) more = true;
        crd_levels_close(&levels);
    }
    CHECK(rounds < 50);
    crd_levels *levels = NULL;
    CHECK_OK(crd_levels_open(layer, folder, 8 << 20, &levels));
    CHECK(crd_levels_share(levels) == 1.0 && !crd_levels_building(levels));
    const crd_greys *greys = crd_levels_greys(levels);
    CHECK(greys != NULL);
    int64_t seen = 0;
    for (int i = 0; i < CRD_GREY_BINS; i++) seen += greys->counts[i];
    CHECK(seen == shape[0] * shape[1] * shape[2]);
    uint16_t *voxels = NULL, *stored = NULL, *halved = NULL;
    const int64_t count = shape[0] * shape[1] * shape[2], *half = layer->shapes[1];
    CHECK_OK(crd_alloc(count, 2, "voxels", &voxels));
    CHECK_OK(crd_alloc(count, 2, "voxels", &stored));
    CHECK_OK(crd_alloc(count, 2, "voxels", &halved));
    const crd_box all = {.size = {shape[0], shape[1], shape[2]}}, all_half = {.size = {half[0], half[1], half[2]}};
    CHECK_OK(crd_volume_read(source, &all, CRD_U16, voxels));
    CHECK_OK(crd_levels_reopen(levels, 0, &level));
    CHECK_OK(crd_volume_read(level, &all, CRD_U16, stored));
    CHECK(memcmp(voxels, stored, (size_t)count * 2) == 0);
    crd_volume_close(&level);
    crd_halve_values(CRD_U16, voxels, shape, halved);
    CHECK_OK(crd_levels_reopen(levels, 1, &level));
    CHECK_OK(crd_volume_read(level, &all_half, CRD_U16, stored));
    CHECK(memcmp(halved, stored, (size_t)(half[0] * half[1] * half[2]) * 2) == 0);
    crd_volume_close(&level);
    crd_free(&voxels);
    crd_free(&stored);
    crd_free(&halved);
    crd_levels_close(&levels);
    crd_volume_close(&source);
    crd_layers_close(&layers);
    remove_store(folder);
}

/* Full resolution of a plain file: across its rows from the store's blocks, along them from the file. */
static void check_source(crd_layers *layers, crd_levels *levels)
{
    static crd_reader reader;
    reader = (crd_reader){.layers = layers};
    atomic_store(&layers->items[0].store, levels);
    for (int axis = 0; axis < 3; axis++) {
        crd_box plane = {.size = {shape[0], shape[1], shape[2]}};
        crd_volume *found = NULL;
        plane.size[axis] = 1;
        CHECK_OK(crd_reader_find(&reader, 0, 0, &plane, &found));
        CHECK(found != NULL && found == (axis == 2 ? reader.store : reader.source)[0][0]);
        plane = (crd_box){.size = {1, 1, 1}};
        CHECK_OK(crd_reader_find(&reader, 0, 1, &plane, &found));
        CHECK(found == reader.store[0][1]);
    }
    layers->items[0].slow_across = true; /* then the file is never read */
    const crd_box along = {.size = {1, shape[1], shape[2]}};
    crd_volume *found = NULL;
    CHECK_OK(crd_reader_find(&reader, 0, 0, &along, &found));
    CHECK(found == reader.store[0][0]);
    crd_reader_close(&reader);
    atomic_store(&layers->items[0].store, NULL);
}

/* What is said to be ready is: a chunk of which a slab is missing never gets into a reader's cache. */
static void test_ready(void)
{
    static crd_layers layers;
    char path[512], folder[512];
    crd_volume *source = NULL;
    crd_levels *levels = NULL;
    bool more = true;
    snprintf(path, sizeof path, "%s", scratch("scan.npy"));
    snprintf(folder, sizeof folder, "%s", scratch("levels"));
    CHECK(mkdir(folder, 0700) == 0);
    CHECK_OK(make_layer(path, &layers));
    CHECK_OK(crd_volume_open(path, NULL, NULL, &source));
    CHECK_OK(crd_levels_open(&layers.items[0], folder, 8 << 20, &levels));
    for (int slab = 0; more; slab++) {
        CHECK_OK(crd_levels_advance(levels, &layers.items[0], source, go_on, NULL, &more));
        /* Slabs come in the order 0, 2, 1, 3. */
        static const int ready0[4][4] = {{1, 0, 0, 0}, {1, 0, 1, 0}, {1, 1, 1, 0}, {1, 1, 1, 1}};
        static const int ready1[4][2] = {{0, 0}, {0, 0}, {1, 0}, {1, 1}};
        for (int i = 0; i < 4; i++) {
            const crd_box fine = {.origin = {32 * i, 0, 0}, .size = {1, 1, 1}};
            const crd_box coarse = {.origin = {32 * (i / 2) + 5, 0, 0}, .size = {1, 1, 1}};
            CHECK(crd_levels_ready(levels, 0, &fine) == ready0[slab][i]);
            CHECK(crd_levels_ready(levels, 1, &coarse) == ready1[slab][i / 2]);
        }
    }
    check_source(&layers, levels);
    crd_levels_close(&levels);
    crd_volume_close(&source);
    crd_layers_close(&layers);
    remove_store(folder);
}

static int folders_in(const char *path)
{
    int count = 0;
    DIR *list = opendir(path);
    for (struct dirent *e; list != NULL && (e = readdir(list)) != NULL;) count += strlen(e->d_name) == 32;
    if (list != NULL) closedir(list);
    return count;
}

static void test_cache_limit(void)
{
    static crd_layers layers;
    crd_cache_folder *cache = NULL, *second = NULL;
    char path[512], where[512], *folder = NULL, *again = NULL, *kept[3] = {NULL, NULL, NULL};
    snprintf(path, sizeof path, "%s", scratch("scan.npy"));
    snprintf(where, sizeof where, "%s", scratch("cache"));
    CHECK_OK(make_layer(path, &layers));
    for (int i = 0; i < 3; i++) { /* three volumes that differ in an offset; each folder holds 300 kB */
        static char filling[300000];
        char file[700];
        layers.items[0].source->options.offset = i;
        CHECK_OK(crd_cache_folder_open(where, 800000, &cache));
        CHECK_OK(crd_cache_folder_take(cache, &layers.items[0], 300000, &kept[i]));
        CHECK(kept[i] != NULL);
        snprintf(file, sizeof file, "%s/state", kept[i]);
        CHECK_OK(crd_write_file(file, filling, sizeof filling));
        crd_cache_folder_close(&cache);
        CHECK(folders_in(where) == (i < 2 ? i + 1 : 2)); /* the first had to go for the third */
    }
    CHECK(access(kept[0], F_OK) != 0 && access(kept[1], F_OK) == 0 && access(kept[2], F_OK) == 0);
    /* What somebody holds stays, and two don't hold the same. */
    CHECK_OK(crd_cache_folder_open(where, 800000, &cache));
    CHECK_OK(crd_cache_folder_take(cache, &layers.items[0], 300000, &folder));
    CHECK(folder != NULL && strcmp(folder, kept[2]) == 0);
    CHECK_OK(crd_cache_folder_open(where, 800000, &second));
    CHECK_OK(crd_cache_folder_take(second, &layers.items[0], 300000, &again));
    CHECK(again == NULL);
    layers.items[0].source->options.offset = 7;
    CHECK_OK(crd_cache_folder_take(second, &layers.items[0], 700000, &again));
    CHECK(again == NULL && access(kept[2], F_OK) == 0);
    CHECK_OK(crd_cache_folder_take(second, &layers.items[0], 900000, &again)); /* more than may ever be */
    CHECK(again == NULL);
    crd_cache_folder_close(&second);
    crd_cache_folder_close(&cache);
    for (int i = 0; i < 3; i++) {
        remove_store(kept[i]);
        crd_free(&kept[i]);
    }
    crd_free(&folder);
    (void)rmdir(where);
    crd_layers_close(&layers);
}

static void test_histogram(void)
{
    static crd_greys greys;
    crd_grey_picture picture;
    greys.type = CRD_I16;
    const int16_t some[] = {-5, -5, 0, 7, 7, 7, 100};
    crd_greys_add(&greys, some, 7);
    CHECK(crd_greys_percentile(&greys, 0.0) == -5.0 && crd_greys_percentile(&greys, 0.5) == 7.0 &&
          crd_greys_percentile(&greys, 1.0) == 100.0);
    crd_greys_show(&greys, &picture);
    CHECK(picture.low == -5.0 && picture.high == 101.0 && picture.count == 7 && picture.bins[0] == 2 &&
          picture.bins[253] == 1);
    memset(&greys, 0, sizeof greys);
    greys.type = CRD_F32;
    const float reals[] = {NAN, -1.5F, 0.0F, 1e-20F, 3.0F, INFINITY};
    crd_greys_add(&greys, reals, 6);
    CHECK(crd_greys_percentile(&greys, 1.0) == 3.0);
    const double least = crd_greys_percentile(&greys, 0.0);
    CHECK(least <= -1.5 && least > -1.52);
    crd_greys_show(&greys, &picture);
    CHECK(picture.count == 4 && picture.low <= -1.5 && picture.high >= 3.0);
    memset(&greys, 0, sizeof greys);
    greys.type = CRD_F64;
    CHECK(isnan(crd_greys_percentile(&greys, 0.5)));
    crd_greys_show(&greys, &picture);
    CHECK(picture.count == 0);
}

TEST_MAIN(TEST(test_halving), TEST(test_halving_odd_values), TEST(test_interrupted), TEST(test_ready),
          TEST(test_cache_limit), TEST(test_histogram))
