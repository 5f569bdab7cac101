/* Packed bits of realisations: from sample volumes, from packed volumes, from label volumes. */
#include "run/realisations.h"

#include "base/memory.h"
#include "base/text.h"
#include "harness.h"
#include "run/paths.h"
#include "volume_tools.h"

enum { Z = 5, Y = 67, X = 70, N = Z * Y * X, SAMPLES = 70 };
static const int64_t shape[3] = {Z, Y, X};
static const double spacing[3] = {0.5, 0.25, 0.25};

static uint8_t samples[SAMPLES][N], seg[N]; /* 0 or 1 */
static int64_t width = X;

static void make_samples(void)
{
    uint64_t state = 11;
    for (int s = 0; s < SAMPLES; s++) {
        for (int i = 0; i < N; i++) samples[s][i] = tools_random(&state) % 7 < 3;
    }
    for (int i = 0; i < N; i++) seg[i] = tools_random(&state) % 2 == 0;
}

static crd_status save(const char *name, crd_type type, double scale, const void *voxels)
{
    crd_volume *volume = NULL;
    crd_volume_info info = {.type = type, .scale = scale, .unit = "um"};
    memcpy(info.shape, shape, sizeof shape);
    info.shape[2] = width;
    memcpy(info.spacing, spacing, sizeof spacing);
    crd_status status = crd_volume_create(scratch(name), &info, NULL, &volume);
    const crd_box box = {.size = {Z, Y, width}};
    if (status == CRD_OK) status = crd_volume_write(volume, &box, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

/* manifest.json of a run with so many samples from `first` on, one volume each or packed. */
static void describe_run(int count, int first, bool packed, const char *settings)
{
    crd_text text = {0};
    char *json = NULL;
    crd_text_print(&text,
                   "{\"format\": \"credence-run\", \"input\": {\"shape\": [%d, %d, %d]}, \"plan\": {\"samples\": %d}, "
                   "\"settings\": {\"first-sample\": %d%s}, \"outputs\": [{\"file\": \"s_seg.npy\", "
                   "\"role\": \"segmentation\", \"type\": \"u8\", \"scale\": 1}",
                   Z, Y, X, count, first, settings);
    for (int i = 0; !packed && i < count; i++) {
        crd_text_print(&text, ", {\"file\": \"s_sample_%d.npy\", \"role\": \"sample\", \"type\": \"u16\"}", first + i);
    }
    for (int i = 0; packed && i < count; i += 64) {
        crd_text_print(&text, ", {\"file\": \"s_samples%s.h5\", \"role\": \"bits of samples\", \"type\": \"u64\"}",
                       i == 0 ? "" : "_64");
    }
    crd_text_add(&text, "]}");
    CHECK_OK(crd_text_finish(&text, &json));
    FILE *file = fopen(scratch("manifest.json"), "w");
    CHECK(file != NULL && fputs(json, file) >= 0 && fclose(file) == 0);
    crd_free(&json);
}

static bool bit_of(const uint64_t *words, int64_t voxels, int64_t bit, int64_t i)
{
    return words[bit / 64 * voxels + i] >> bit % 64 & 1;
}

/* All slabs of all heights and thread counts give the bits of samples `first` to `first` + `count` - 1, then `seg`. */
static void check_bits(const crd_realisations_options *options, int first, int count)
{
    crd_realisations *r = NULL;
    uint64_t *words = NULL;
    CHECK_OK(crd_realisations_open(options, NULL, &r));
    const crd_realisations_info *info = crd_realisations_describe(r);
    const crd_box whole = {.size = {Z, Y, X}}, *box = options->box.size[0] > 0 ? &options->box : &whole;
    CHECK(info->samples == count && info->bits == count + 1 && info->segmentation == count && info->lower == -1);
    CHECK(info->words == (count + 64) / 64 && info->planes == 1 && info->phases == 2 && info->values[1] == 1.0);
    CHECK(memcmp(info->spacing, spacing, sizeof spacing) == 0 && strcmp(info->unit, "um") == 0);
    CHECK(memcmp(info->shape, box->size, sizeof info->shape) == 0);
    CHECK_OK(crd_alloc(info->words * N, sizeof *words, "words", &words));
    for (int threads = 1; threads <= 3; threads += 2) {
        crd_pool *pool = NULL;
        CHECK_OK(crd_pool_create(threads, &pool));
        for (int64_t height = 1; height <= box->size[0]; height += 2) {
            for (int64_t z = 0; z < box->size[0]; z += height) {
                const int64_t slices = box->size[0] - z < height ? box->size[0] - z : height;
                const int64_t voxels = slices * box->size[1] * box->size[2];
                CHECK_OK(crd_realisations_read(r, pool, z, slices, words, NULL));
                for (int64_t i = 0; i < voxels; i++) {
                    const int64_t x = i % box->size[2], y = i / box->size[2] % box->size[1];
                    const int64_t at =
                        ((box->origin[0] + z + i / box->size[2] / box->size[1]) * Y + box->origin[1] + y) * X +
                        box->origin[2] + x;
                    for (int s = 0; s < count; s++) CHECK(bit_of(words, voxels, s, i) == samples[first + s][at]);
                    CHECK(bit_of(words, voxels, count, i) == seg[at]);
                    CHECK(count + 1 == 64 * info->words ||
                          words[(info->words - 1) * voxels + i] >> (count + 1) % 64 == 0);
                }
            }
        }
        crd_pool_free(&pool);
    }
    uint8_t one[Y];
    const crd_box column = {{1, 0, 3}, {1, box->size[1], 1}};
    CHECK_OK(crd_realisations_read_one(r, count - 1, &column, one));
    for (int64_t y = 0; y < box->size[1]; y++) {
        CHECK(one[y] ==
              samples[first + count - 1][((box->origin[0] + 1) * Y + box->origin[1] + y) * X + box->origin[2] + 3]);
    }
    crd_free(&words);
    crd_realisations_close(&r);
}

static void test_sample_volumes(void)
{
    static uint16_t values[N];
    make_samples();
    CHECK_OK(save("s_seg.npy", CRD_U8, 1.0, seg));
    for (int s = 0; s < SAMPLES; s++) {
        char name[64];
        for (int i = 0; i < N; i++) values[i] = (uint16_t)(samples[s][i] ? 32768 + i % 30000 : i % 32768);
        snprintf(name, sizeof name, "s_sample_%d.npy", 5 + s);
        CHECK_OK(save(name, CRD_U16, 1.0 / 65535.0, values));
    }
    describe_run(SAMPLES, 5, false, "");
    const char *path = tools_folder;
    check_bits(&(crd_realisations_options){.paths = &path, .path_count = 1}, 0, SAMPLES);
    check_bits(&(crd_realisations_options){.paths = &path, .path_count = 1, .first_sample = 8, .samples = 3}, 3, 3);
    check_bits(
        &(crd_realisations_options){
            .paths = &path, .path_count = 1, .first_sample = 7, .samples = 66, .box = {{1, 3, 9}, {3, 64, 40}}},
        2, 66);
    crd_realisations *r = NULL;
    const crd_realisations_options beyond = {.paths = &path, .path_count = 1, .first_sample = 70, .samples = 6};
    CHECK_FAILS(crd_realisations_open(&beyond, NULL, &r), CRD_ERR_ARGUMENT, "70 to 75");
    const crd_realisations_options outside = {.paths = &path, .path_count = 1, .box = {{0, 0, 1}, {5, 67, 70}}};
    CHECK_FAILS(crd_realisations_open(&outside, NULL, &r), CRD_ERR_ARGUMENT, "x from 1 to 71");
    CHECK(unlink(scratch("s_sample_9.npy")) == 0);
    const crd_realisations_options all = {.paths = &path, .path_count = 1};
    CHECK_FAILS(crd_realisations_open(&all, NULL, &r), CRD_ERR_ARGUMENT, "s_sample_9.npy");
    width = X - 1;
    CHECK_OK(save("s_sample_9.npy", CRD_U16, 1.0, values));
    width = X;
    CHECK_FAILS(crd_realisations_open(&all, NULL, &r), CRD_ERR_MISMATCH, "5,67,69");
}

static void test_packed_volumes(void)
{
    static uint64_t low[N], high[N];
    make_samples();
    for (int i = 0; i < N; i++) {
        low[i] = high[i] = 0;
        for (int s = 0; s < SAMPLES; s++) *(s < 64 ? &low[i] : &high[i]) |= (uint64_t)samples[s][i] << s % 64;
    }
    CHECK_OK(save("s_seg.npy", CRD_U8, 1.0, seg));
    CHECK_OK(save("s_samples.h5", CRD_U64, 1.0, low));
    CHECK_OK(save("s_samples_64.h5", CRD_U64, 1.0, high));
    describe_run(SAMPLES, 100, true, "");
    const char *path = tools_folder;
    check_bits(&(crd_realisations_options){.paths = &path, .path_count = 1}, 0, SAMPLES);
    check_bits(&(crd_realisations_options){.paths = &path, .path_count = 1, .first_sample = 110, .samples = 60}, 10,
               60);
    check_bits(
        &(crd_realisations_options){
            .paths = &path, .path_count = 1, .first_sample = 103, .samples = 66, .box = {{1, 3, 9}, {3, 64, 40}}},
        3, 66);
}

static void test_refused_runs(void)
{
    crd_realisations *r = NULL;
    const char *path = tools_folder;
    const crd_realisations_options options = {.paths = &path, .path_count = 1};
    CHECK_OK(save("s_seg.npy", CRD_U8, 1.0, seg));
    describe_run(0, 0, false, "");
    CHECK_FAILS(crd_realisations_open(&options, NULL, &r), CRD_ERR_ARGUMENT, "--save-samples bits");
    describe_run(0, 0, false, ", \"draws\": \"per-chunk\"");
    CHECK_FAILS(crd_realisations_open(&options, NULL, &r), CRD_ERR_ARGUMENT, "--draws per-chunk");
    describe_run(65, 0, true, "");
    CHECK(unlink(scratch("s_samples_64.h5")) == 0);
    CHECK_FAILS(crd_realisations_open(&options, NULL, &r), CRD_ERR_ARGUMENT, "s_samples_64.h5");
    CHECK(unlink(scratch("manifest.json")) == 0);
}

static void test_label_volumes(void)
{
    static int32_t wide[N];
    static uint8_t narrow[N], inside[N], mask[N];
    static uint64_t words[2 * N], bits[N];
    static float reals[N];
    static const int32_t values[] = {-7, 0, 3, 40, 1000};
    for (int i = 0; i < N; i++) wide[i] = values[i * 7919 % 5];
    for (int i = 0; i < N; i++) narrow[i] = i * 104 % 11 % 3 == 0 ? 40 : 3;
    CHECK_OK(save("wide.npy", CRD_I32, 1.0, wide));
    CHECK_OK(save("narrow.npy", CRD_U8, 1.0, narrow));
    const char *const paths[] = {scratch("wide.npy"), scratch("narrow.npy")};
    crd_realisations *r = NULL;
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(2, &pool));
    CHECK_OK(crd_realisations_open(&(crd_realisations_options){.paths = paths, .path_count = 2}, NULL, &r));
    const crd_realisations_info *info = crd_realisations_describe(r);
    CHECK(info->samples == 2 && info->segmentation == -1 && info->phases == 5 && info->planes == 3);
    CHECK(info->values[0] == -7.0 && info->values[4] == 1000.0);
    crd_realisations_close(&r);

    /* in a mask, without the value that lies outside only */
    for (int i = 0; i < N; i++) mask[i] = wide[i] != 1000 && i % 3 != 0;
    CHECK_OK(save("mask.npy", CRD_U8, 1.0, mask));
    const crd_realisations_options masked = {.paths = paths, .path_count = 2, .mask = scratch("mask.npy")};
    CHECK_OK(crd_realisations_open(&masked, NULL, &r));
    info = crd_realisations_describe(r);
    CHECK(info->phases == 4 && info->planes == 2 && info->masked);
    CHECK_OK(crd_realisations_read(r, pool, 0, Z, words, inside));
    CHECK(memcmp(inside, mask, N) == 0);
    for (int64_t p = 0; p < 4; p++) {
        crd_realisations_phases(info, 1u << p, 0, words, inside, N, 0, N, bits);
        for (int i = 0; i < N; i++) {
            const uint64_t expected =
                mask[i] != 0 ? (uint64_t)(wide[i] == info->values[p]) | (uint64_t)(narrow[i] == info->values[p]) << 1
                             : 0;
            CHECK(bits[i] == expected);
        }
    }
    crd_realisations_close(&r);
    CHECK_OK(crd_realisations_open(&(crd_realisations_options){.paths = paths + 1, .path_count = 1}, NULL, &r));
    info = crd_realisations_describe(r);
    CHECK(info->samples == 0 && info->segmentation == 0 && info->bits == 1 && info->phases == 2);
    crd_realisations_close(&r);

    for (int i = 0; i < N; i++) reals[i] = (float)(i % 100) / 99.0f;
    CHECK_OK(save("real.npy", CRD_F32, 1.0, reals));
    const char *const real = scratch("real.npy");
    const crd_realisations_options probability = {.paths = &real, .path_count = 1};
    CHECK_FAILS(crd_realisations_open(&probability, NULL, &r), CRD_ERR_FORMAT, "a map of probabilities");
    for (int i = 0; i < N; i++) wide[i] = i % 17;
    CHECK_OK(save("wide.npy", CRD_I32, 1.0, wide));
    const crd_realisations_options many = {.paths = paths, .path_count = 1};
    CHECK_FAILS(crd_realisations_open(&many, NULL, &r), CRD_ERR_FORMAT, "more than 16");
    crd_pool_free(&pool);
}

TEST_MAIN(TEST(test_sample_volumes), TEST(test_packed_volumes), TEST(test_refused_runs), TEST(test_label_volumes))
