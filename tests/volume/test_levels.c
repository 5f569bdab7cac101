/* The two grey levels of a scan: found in every type, moved by neither shares nor outliers. */
#include "base/random/philox.h"
#include "compare.h"
#include "credence/volume.h"
#include "harness.h"
#include "volume/statistics.h"
#include "volume_tools.h"

enum { Z = 20, Y = 50, X = 50, COUNT = Z * Y * X };
static double values[COUNT];

/* Two materials at 1000 and 2000 with noise; `share` of the voxels are the brighter. */
static void make(double share, double noise)
{
    const crd_stream which = {.seed = 1, .purpose = CRD_PURPOSE_PHANTOM, .layer = 1};
    const crd_stream grain = {.seed = 1, .purpose = CRD_PURPOSE_PHANTOM, .layer = 2};
    for (int i = 0; i < COUNT; i++) {
        const bool bright = crd_random_uniform(&which, (uint64_t)i) < share;
        values[i] = (bright ? 2000.0 : 1000.0) + noise * (double)crd_random_normal(&grain, (uint64_t)i);
    }
}

static crd_status measure_for(crd_type type, const crd_measure_wish *wish, crd_volume_statistics *out)
{
    static double voxels[COUNT];
    const crd_volume_info info = {.shape = {Z, Y, X}, .type = type, .scale = 1.0};
    const crd_box whole = {{0, 0, 0}, {Z, Y, X}};
    crd_volume *volume = NULL;
    for (int i = 0; i < COUNT; i++) {
        switch (type) {
        case CRD_U8:
            ((uint8_t *)voxels)[i] = (uint8_t)lround(values[i] / 16.0);
            break;
        case CRD_I16:
            ((int16_t *)voxels)[i] = (int16_t)(lround(values[i]) - 1500);
            break;
        case CRD_U16:
            ((uint16_t *)voxels)[i] = (uint16_t)lround(values[i]);
            break;
        case CRD_I32:
            ((int32_t *)voxels)[i] = (int32_t)lround(values[i]);
            break;
        case CRD_F32:
            ((float *)voxels)[i] = (float)values[i];
            break;
        default:
            voxels[i] = values[i];
            break;
        }
    }
    crd_status status = crd_volume_create(scratch("v.npy"), &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &whole, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    if (status == CRD_OK) status = crd_volume_open(scratch("v.npy"), NULL, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_measure_also(volume, wish, NULL, out);
    crd_volume_close(&volume);
    return status;
}

static crd_status measure(crd_type type, crd_volume_statistics *out)
{
    return measure_for(type, &(crd_measure_wish){.levels = true}, out);
}

static crd_status measure_phases(crd_type type, crd_volume_statistics *out)
{
    return measure_for(type, &(crd_measure_wish){.levels = true, .phases = true}, out);
}

static void test_all_types(void)
{
    static const crd_type types[] = {CRD_U8, CRD_I16, CRD_U16, CRD_I32, CRD_F32, CRD_F64};
    static const double scales[] = {1.0 / 16.0, 1.0, 1.0, 1.0, 1.0, 1.0}, offsets[] = {0, -1500, 0, 0, 0, 0};
    crd_volume_statistics s;
    make(0.4, 100.0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        CHECK_OK(measure(types[i], &s));
        CHECK_NEAR(s.levels[0], 1000.0 * scales[i] + offsets[i], 4.0 * scales[i] + 0.05);
        CHECK_NEAR(s.levels[1], 2000.0 * scales[i] + offsets[i], 4.0 * scales[i] + 0.05);
    }
}

/* Where the mean of the scan moves by a fifth of the distance, the levels stay. */
static void test_shares(void)
{
    crd_volume_statistics s;
    for (double share = 0.1; share < 0.95; share += 0.2) {
        make(share, 150.0);
        CHECK_OK(measure(CRD_F32, &s));
        CHECK_NEAR(s.levels[0], 1000.0, 25.0);
        CHECK_NEAR(s.levels[1], 2000.0, 25.0);
    }
}

/* Noise of two thirds of half the contrast: the classes of a threshold take voxels of each other, the more the fewer
 * there are of one. Phases don't. */
static void test_shares_of_phases(void)
{
    double worst_middle = 0.0, worst_of_classes = 0.0;
    crd_volume_statistics s;
    for (double share = 0.1; share < 0.95; share += 0.2) {
        make(share, 333.0);
        CHECK_OK(measure(CRD_F32, &s));
        worst_of_classes = worse(worst_of_classes, fabs(s.levels[0] + s.levels[1] - 3000.0) / 2.0);
        CHECK_OK(measure_phases(CRD_F32, &s));
        CHECK_NEAR(s.levels[0], 1000.0, 50.0);
        CHECK_NEAR(s.levels[1], 2000.0, 50.0);
        worst_middle = worse(worst_middle, fabs(s.levels[0] + s.levels[1] - 3000.0) / 2.0);
    }
    printf("# the middle of two levels is off by at most %.1f with phases, by %.1f with classes\n", worst_middle,
           worst_of_classes);
    CHECK(worst_middle < 0.2 * worst_of_classes);
}

static void test_types_of_phases(void)
{
    crd_volume_statistics small, large;
    make(0.3, 240.0);
    CHECK_OK(measure_phases(CRD_I16, &small)); /* of values less 1500 */
    CHECK_OK(measure_phases(CRD_I32, &large));
    CHECK_NEAR(small.levels[0] + 1500.0, large.levels[0], 0.5);
    CHECK_NEAR(small.levels[1] + 1500.0, large.levels[1], 0.5);
    CHECK_OK(measure_phases(CRD_U8, &large)); /* steps of 16 */
    CHECK_NEAR(16.0 * large.levels[0] - 1500.0, small.levels[0], 5.0);
    CHECK_NEAR(16.0 * large.levels[1] - 1500.0, small.levels[1], 5.0);
}

/* One peak says nothing of two phases: the levels stay near those of the classes, and apart. */
static void test_one_peak(void)
{
    crd_volume_statistics classes, phases;
    make(0.0, 300.0);
    CHECK_OK(measure(CRD_F32, &classes));
    CHECK_OK(measure_phases(CRD_F32, &phases));
    const double half = (classes.levels[1] - classes.levels[0]) / 2.0;
    const double middle = (classes.levels[1] + classes.levels[0]) / 2.0;
    CHECK_NEAR((phases.levels[1] + phases.levels[0]) / 2.0, middle, 1.01 * half);
    CHECK((phases.levels[1] - phases.levels[0]) / 2.0 > 0.59 * half);
    CHECK((phases.levels[1] - phases.levels[0]) / 2.0 < 1.26 * half);
}

static void test_outliers(void)
{
    crd_volume_statistics s, calm;
    make(0.4, 100.0);
    CHECK_OK(measure(CRD_F64, &calm));
    for (int i = 0; i < COUNT / 500; i++) values[i * 317 % COUNT] = i % 2 == 0 ? 1e30 : -1e30;
    values[7] = (double)NAN;
    CHECK_OK(measure(CRD_F32, &s));
    CHECK_NEAR(s.levels[0], calm.levels[0], 10.0);
    CHECK_NEAR(s.levels[1], calm.levels[1], 10.0);
    CHECK_OK(measure_phases(CRD_F32, &s));
    CHECK_NEAR(s.levels[0], calm.levels[0], 10.0);
    CHECK_NEAR(s.levels[1], calm.levels[1], 10.0);
    for (int i = 0; i < COUNT / 500; i++) values[i * 317 % COUNT] = i % 2 == 0 ? 1e300 : -1e300;
    CHECK_OK(measure(CRD_F64, &s));
    CHECK_NEAR(s.levels[0], calm.levels[0], 10.0);
    CHECK_NEAR(s.levels[1], calm.levels[1], 10.0);
}

/* A faint contrast on a high ground: float32 has 16 steps a unit there. */
static void test_high_ground(void)
{
    crd_volume_statistics s;
    make(0.5, 50.0);
    for (int i = 0; i < COUNT; i++) values[i] = 1e6 + values[i] / 1000.0;
    CHECK_OK(measure(CRD_F32, &s));
    CHECK_NEAR(s.levels[0], 1e6 + 1.0, 0.2);
    CHECK_NEAR(s.levels[1], 1e6 + 2.0, 0.2);
    CHECK_OK(measure_phases(CRD_F32, &s));
    CHECK_NEAR(s.levels[0], 1e6 + 1.0, 0.2);
    CHECK_NEAR(s.levels[1], 1e6 + 2.0, 0.2);
}

static void check_few_values(crd_status (*levels_of)(crd_type, crd_volume_statistics *))
{
    crd_volume_statistics s;
    for (int i = 0; i < COUNT; i++) values[i] = 1024.0;
    CHECK_OK(levels_of(CRD_F32, &s));
    CHECK(s.levels[0] == 1024.0 && s.levels[1] == 1024.0);
    CHECK_OK(levels_of(CRD_U16, &s));
    CHECK(s.levels[0] == 1024.0 && s.levels[1] == 1024.0);
    values[3] = 2048.0; /* far fewer than one in a hundred */
    CHECK_OK(levels_of(CRD_U16, &s));
    CHECK(s.levels[0] == 1024.0 && s.levels[1] == 2048.0);
    CHECK_OK(levels_of(CRD_F32, &s));
    CHECK_NEAR(s.levels[0], 1024.0, 0.5);
    CHECK(s.levels[1] == 2048.0);
    for (int i = 0; i < COUNT; i++) values[i] = i % 10 == 0 ? 1.0 : 0.0;
    CHECK_OK(levels_of(CRD_F32, &s));
    CHECK_NEAR(s.levels[0], 0.0, 1e-4);
    CHECK_NEAR(s.levels[1], 1.0, 1e-4);
}

static void test_few_values(void)
{
    check_few_values(measure);
    check_few_values(measure_phases);
}

/* Of types above 16 bits they are looked for only where they are wanted; nothing else depends on that. */
static void test_only_where_wanted(void)
{
    static const crd_type types[] = {CRD_U8, CRD_I16, CRD_I32, CRD_F32, CRD_F64};
    make(0.4, 100.0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        crd_volume_statistics wanted, plain;
        crd_volume *volume = NULL;
        CHECK_OK(measure(types[i], &wanted));
        CHECK_OK(crd_volume_open(scratch("v.npy"), NULL, NULL, &volume));
        CHECK_OK(crd_volume_measure(volume, NULL, &plain));
        crd_volume_close(&volume);
        CHECK(isnan(plain.levels[0]) == (crd_type_size(types[i]) > 2));
        memcpy(plain.levels, wanted.levels, sizeof plain.levels);
        CHECK(memcmp(&plain, &wanted, sizeof plain) == 0);
    }
}

TEST_MAIN(TEST(test_only_where_wanted), TEST(test_all_types), TEST(test_shares), TEST(test_shares_of_phases),
          TEST(test_types_of_phases), TEST(test_one_peak), TEST(test_outliers), TEST(test_high_ground),
          TEST(test_few_values))
