/* Voxels of other edges, against sums over all voxels written out, in any box and whatever tiles it is made of. */
#include "harness.h"
#include "volume/views/view.h"
#include "volume_tools.h"

enum { Z = 7, Y = 9, X = 13, COUNT = Z * Y * X, MOST = 40000, BOXES = 40 };

static const double steps[][3] = {{2, 2, 2},       {1, 3, 4},      {2.5, 1.3, 6.7}, {0.5, 0.5, 0.5}, {1 / 3.0, 0.4, 2},
                                  {100, 1, 0.999}, {0.25, 9, 1.5}, {1, 1, 1},       {7, 9, 13}};

static double old_value(crd_type type, const void *voxels, int64_t i)
{
    double value = 0.0;
    (void)type;
    if (type == CRD_U8) value = ((const uint8_t *)voxels)[i];
    if (type == CRD_I16) value = ((const int16_t *)voxels)[i];
    if (type == CRD_F32) value = (double)((const float *)voxels)[i];
    if (type == CRD_F64) value = ((const double *)voxels)[i];
    return value;
}

/* How much old voxel i counts in new voxel k of an axis of n. */
static double share(crd_resampling how, double step, int64_t n, int64_t k, int64_t i)
{
    const double centre = ((double)k + 0.5) * step;
    const double nearest = fmin(floor(centre), (double)(n - 1));
    if (how == CRD_RESAMPLE_NEAREST || (how == CRD_RESAMPLE_MAJORITY && step < 1.0)) return (double)i == nearest;
    if (step < 1.0) { /* a tent around the centre, whose ends are those of the volume */
        const double at = fmin(fmax(centre - 0.5, 0.0), (double)(n - 1));
        return fmax(1.0 - fabs((double)i - at), 0.0);
    }
    const double low = (double)k * step, high = low + step;
    return fmax(fmin(high, (double)i + 1.0) - fmax(low, (double)i), 0.0);
}

static double reference(crd_type type, const void *voxels, const double step[3], crd_resampling how, int64_t z,
                        int64_t y, int64_t x)
{
    double sum = 0.0, all = 0.0, shares[256] = {0};
    for (int64_t i = 0; i < COUNT; i++) {
        const double weight = share(how, step[0], Z, z, i / (Y * X)) * share(how, step[1], Y, y, i / X % Y) *
                              share(how, step[2], X, x, i % X);
        if (weight <= 0.0) continue;
        const double value = old_value(type, voxels, i);
        sum += weight * value;
        all += weight;
        if (how != CRD_RESAMPLE_MEAN) shares[(int)value + 128] += weight;
    }
    if (how == CRD_RESAMPLE_MEAN) return sum / all;
    int best = 0;
    for (int i = 1; i < 256; i++) best = shares[i] > shares[best] + 1e-9 ? i : best;
    return best - 128;
}

/* Ties between shares that aren't exact are anybody's: their values are compared by share. */
static bool as_expected(crd_type type, const void *voxels, const double step[3], crd_resampling how, crd_volume *view)
{
    static double got[MOST];
    const int64_t *shape = crd_volume_describe(view)->shape;
    const crd_box all = {{0, 0, 0}, {shape[0], shape[1], shape[2]}};
    if (shape[0] * shape[1] * shape[2] > MOST || crd_volume_read(view, &all, CRD_F64, got) != CRD_OK) return false;
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        const double wanted =
            reference(type, voxels, step, how, i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]);
        const double tolerance = type == CRD_F64 ? 1e-9 : type == CRD_F32 ? 1e-6 * (1.0 + fabs(wanted)) : 0.5 + 1e-9;
        if (!(fabs(got[i] - wanted) <= (how == CRD_RESAMPLE_MEAN ? tolerance : 0.0))) {
            printf("voxel %lld is %g, not %g\n", (long long)i, got[i], wanted);
            return false;
        }
    }
    return true;
}

/* The same bits in any box. */
static bool same_in_boxes(crd_volume *view)
{
    static char whole[MOST * 8], wanted[MOST * 8], got[MOST * 8];
    const crd_volume_info *info = crd_volume_describe(view);
    const size_t size = crd_type_size(info->type);
    const crd_box all = {{0, 0, 0}, {info->shape[0], info->shape[1], info->shape[2]}};
    uint64_t state = 5;
    if (crd_volume_read(view, &all, info->type, whole) != CRD_OK) return false;
    for (int i = 0; i < BOXES; i++) {
        const crd_box box = tools_random_box(info->shape, &state);
        tools_copy_box(whole, info->shape, size, &box, wanted, 0);
        if (crd_volume_read(view, &box, info->type, got) != CRD_OK) return false;
        if (memcmp(got, wanted, (size_t)(box.size[0] * box.size[1] * box.size[2]) * size) != 0) return false;
    }
    return true;
}

static void test_against_sums(void)
{
    static double voxels[COUNT];
    static const crd_type types[] = {CRD_U8, CRD_I16, CRD_F32, CRD_F64};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        const crd_volume_info info = {.shape = {Z, Y, X}, .type = types[t], .spacing = {3, 2, 1}, .unit = "um"};
        crd_volume *volume = NULL, *view = NULL, *again = NULL;
        tools_fill(types[t], COUNT, t, voxels);
        CHECK_OK(crd_view_memory(voxels, &info, NULL, NULL, &volume));
        for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
            CHECK_OK(crd_view_resampled(volume, steps[s], CRD_RESAMPLE_MEAN, &view));
            const crd_volume_info *said = crd_volume_describe(view);
            for (int i = 0; i < 3; i++) {
                CHECK(said->shape[i] == (int64_t)ceil((double)info.shape[i] / steps[s][i] - 1e-9));
                CHECK_NEAR(said->spacing[i], info.spacing[i] * steps[s][i], 1e-12);
            }
            CHECK(as_expected(types[t], voxels, steps[s], CRD_RESAMPLE_MEAN, view));
            CHECK(same_in_boxes(view));
            CHECK_OK(crd_volume_open_again(view, &again));
            CHECK(as_expected(types[t], voxels, steps[s], CRD_RESAMPLE_MEAN, again));
            crd_volume_close(&again);
            crd_volume_close(&view);
        }
        crd_volume_close(&volume);
    }
}

static void test_classes(void)
{
    static uint8_t voxels[COUNT * 2];
    uint64_t state = 3;
    for (int kind = 0; kind < 2; kind++) { /* u8, and i16 with values below 0 */
        const crd_volume_info info = {.shape = {Z, Y, X}, .type = kind == 0 ? CRD_U8 : CRD_I16};
        crd_volume *volume = NULL, *view = NULL;
        for (int i = 0; i < COUNT; i++) {
            const int value = (int)(tools_random(&state) % 3) - kind;
            if (kind == 0) voxels[i] = (uint8_t)value;
            if (kind == 1) ((int16_t *)voxels)[i] = (int16_t)value;
        }
        CHECK_OK(crd_view_memory(voxels, &info, NULL, NULL, &volume));
        for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
            CHECK_OK(crd_view_resampled(volume, steps[s], CRD_RESAMPLE_NEAREST, &view));
            CHECK(as_expected(info.type, voxels, steps[s], CRD_RESAMPLE_NEAREST, view) && same_in_boxes(view));
            crd_volume_close(&view);
            CHECK_OK(crd_view_resampled(volume, steps[s], CRD_RESAMPLE_MAJORITY, &view));
            CHECK(as_expected(info.type, voxels, steps[s], CRD_RESAMPLE_MAJORITY, view) && same_in_boxes(view));
            crd_volume_close(&view);
        }
        crd_volume_close(&volume);
    }
}

/* Of 2.4 to 3.6 two voxels have a half each, which isn't so of the numbers that stand for it: still it is a tie. */
static void test_tie(void)
{
    static const uint8_t row[6] = {5, 5, 1, 0, 7, 7};
    static const double step[3] = {1, 1, 1.2};
    const crd_volume_info info = {.shape = {1, 1, 6}, .type = CRD_U8};
    crd_volume *volume = NULL, *view = NULL;
    uint8_t got[5];
    CHECK_OK(crd_view_memory(row, &info, NULL, NULL, &volume));
    CHECK_OK(crd_view_resampled(volume, step, CRD_RESAMPLE_MAJORITY, &view));
    CHECK_OK(crd_volume_read(view, &(crd_box){{0, 0, 0}, {1, 1, 5}}, CRD_U8, got));
    CHECK(got[0] == 5 && got[2] == 0 && got[4] == 7);
    crd_volume_close(&view);
    crd_volume_close(&volume);
}

/* Words of bits keep all of them; means of them are refused, as is what makes no sense. */
static void test_refused(void)
{
    static const uint64_t words[8] = {1, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, 1, UINT64_MAX, 5, 6};
    static const double halves[3] = {2, 2, 2}, none[3] = {1, 0, 1}, far[3] = {1 << 13, 1 << 13, 1 << 13};
    const crd_volume_info info = {.shape = {2, 2, 2}, .type = CRD_U64};
    const crd_volume_info large = {.shape = {1 << 12, 1 << 12, 1 << 12}, .type = CRD_U8};
    crd_volume *volume = NULL, *view = NULL;
    uint64_t got = 0;
    CHECK_OK(crd_view_memory(words, &info, NULL, NULL, &volume));
    CHECK_FAILS(crd_view_resampled(volume, halves, CRD_RESAMPLE_MEAN, &view), CRD_ERR_UNSUPPORTED, "no exact mean");
    CHECK_FAILS(crd_view_resampled(volume, none, CRD_RESAMPLE_NEAREST, &view), CRD_ERR_ARGUMENT, "steps of 0 voxels");
    CHECK_OK(crd_view_resampled(volume, halves, CRD_RESAMPLE_MAJORITY, &view));
    CHECK_OK(crd_volume_read(view, &(crd_box){{0, 0, 0}, {1, 1, 1}}, CRD_U64, &got));
    CHECK(got == UINT64_MAX);
    crd_volume_close(&view);
    crd_volume_close(&volume);
    CHECK_OK(crd_view_memory(words, &large, (int64_t[]){0, 0, 0}, NULL, &volume));
    CHECK_FAILS(crd_view_resampled(volume, far, CRD_RESAMPLE_MEAN, &view), CRD_ERR_UNSUPPORTED, "in two steps");
    crd_volume_close(&volume);
}

/* Value of all 64 x 64 pixels under a new one. */
static crd_status make(void *context, const crd_box *box, void *voxels)
{
    uint8_t *out = voxels;
    int64_t *most = context;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    if (count > *most) *most = count;
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            for (int64_t x = 0; x < box->size[2]; x++) {
                *out++ = (uint8_t)((box->origin[0] + z) * 50 + (box->origin[1] + y) / 64 + (box->origin[2] + x) / 64);
            }
        }
    }
    return CRD_OK;
}

/* What lies under the box is more than is read at once. */
static void test_tiles(void)
{
    enum { SLICES = 3, SIDE = 96 };
    static uint8_t got[SLICES * SIDE * SIDE];
    const double step[3] = {1, 64, 64};
    int64_t most = 0;
    const crd_volume_info info = {.shape = {SLICES, 64 * SIDE, 64 * SIDE}, .type = CRD_U8};
    const crd_volume_source source = {.size = sizeof source, .read = make, .context = &most};
    crd_volume *volume = NULL, *view = NULL;
    CHECK_OK(crd_volume_from_callback(&source, &info, "far", &volume));
    CHECK_OK(crd_view_resampled(volume, step, CRD_RESAMPLE_MEAN, &view));
    CHECK_OK(crd_volume_read(view, &(crd_box){{0, 0, 0}, {SLICES, SIDE, SIDE}}, CRD_U8, got));
    for (int i = 0; i < SLICES * SIDE * SIDE; i++) {
        CHECK(got[i] == (uint8_t)(i / (SIDE * SIDE) * 50 + i / SIDE % SIDE + i % SIDE));
    }
    CHECK(most < info.shape[0] * info.shape[1] * info.shape[2]);
    crd_volume_close(&view);
    crd_volume_close(&volume);
}

TEST_MAIN(TEST(test_against_sums), TEST(test_classes), TEST(test_tie), TEST(test_refused), TEST(test_tiles))
