/* Statistics against plain code in long double, and conversion slab by slab. */
#include <math.h>

#include "harness.h"
#include "volume/types.h"
#include "volume_tools.h"

static int64_t warnings, steps;
static char last_warning[1024];
static int64_t stop_at = -1;

static void note(void *context, crd_level level, const char *text)
{
    (void)context;
    if (level != CRD_LEVEL_WARNING) return;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", text);
}

static bool step(void *context, const crd_progress *progress)
{
    (void)context;
    steps++;
    if (progress->done > progress->total || progress->total < 1) steps = -1000000;
    return stop_at < 0 || progress->done < stop_at;
}

static const crd_monitor monitor = {.message = note, .progress = step};

static crd_status save(const char *path, crd_type type, const int64_t shape[3], const void *voxels)
{
    crd_volume *volume = NULL;
    const crd_volume_info info = {.shape = {shape[0], shape[1], shape[2]}, .type = type};
    const crd_box all = {.size = {shape[0], shape[1], shape[2]}};
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &all, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

static crd_status measure(const char *path, crd_volume_statistics *out)
{
    crd_volume *volume = NULL;
    crd_status status = crd_volume_open(path, NULL, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_measure(volume, &monitor, out);
    crd_volume_close(&volume);
    return status;
}

/* A sum that keeps what rounding takes away: as good as one of many more digits, on machines that have none. */
typedef struct exact {
    double sum, rest;
} exact;

static void add_exactly(exact *e, double value)
{
    const double sum = e->sum + value, large = fabs(e->sum) >= fabs(value) ? e->sum : value;
    e->rest += (large - sum) + (large == e->sum ? value : e->sum);
    e->sum = sum;
}

static void check_type(crd_type type, const int64_t shape[3])
{
    const int64_t n = shape[0] * shape[1] * shape[2];
    char *voxels = malloc((size_t)n * crd_type_size(type));
    double *reals = malloc((size_t)n * sizeof *reals);
    crd_volume_statistics got;
    exact sum = {0}, square = {0};
    double low = HUGE_VAL, high = -HUGE_VAL;
    int64_t binned = 0;
    tools_fill(type, n, 5, voxels);
    if (type == CRD_F32) { /* narrow around a large value, with holes: where naive sums fail */
        for (int64_t i = 0; i < n; i++) ((float *)voxels)[i] = 40000.0f + ((float *)voxels)[i] * 0x1p-10f;
        ((float *)voxels)[3] = NAN;
        ((float *)voxels)[n - 1] = HUGE_VALF;
    }
    crd_convert(type, voxels, 1.0, n, CRD_F64, reals);
    CHECK_OK(save(scratch("stat.npy"), type, shape, voxels));
    CHECK_OK(measure(scratch("stat.npy"), &got));
    int64_t finite = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(reals[i])) continue;
        finite++;
        add_exactly(&sum, reals[i]);
        low = reals[i] < low ? reals[i] : low;
        high = reals[i] > high ? reals[i] : high;
    }
    const double mean = (sum.sum + sum.rest) / (double)finite;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(reals[i])) add_exactly(&square, (reals[i] - mean) * (reals[i] - mean));
    }
    const double variance = (square.sum + square.rest) / (double)finite;
    CHECK(got.count == finite && got.nonfinite == n - finite);
    CHECK(got.minimum == low && got.maximum == high);
    CHECK_NEAR(got.mean, mean, 1e-14 * fabs(high) + 1e-14 * fabs(low));
    CHECK_NEAR(got.variance, variance, 1e-11 * variance);
    CHECK(got.histogram_low <= low && got.histogram_high >= high);
    int64_t bins[CRD_HISTOGRAM_BINS] = {0};
    const double width = (got.histogram_high - got.histogram_low) / CRD_HISTOGRAM_BINS;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(reals[i])) continue;
        int64_t bin = (int64_t)floor((reals[i] - got.histogram_low) / width);
        bins[bin < CRD_HISTOGRAM_BINS ? bin : CRD_HISTOGRAM_BINS - 1]++;
    }
    int64_t moved = 0;
    for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) {
        binned += got.histogram[i];
        moved += llabs(got.histogram[i] - bins[i]);
    }
    CHECK(binned == finite);
    const bool whole = crd_type_is_integer(type) && high < 0x1p53;
    if (whole) CHECK(width == floor(width));
    CHECK(moved == 0 || (!whole && moved <= 4)); /* a float on an edge may fall either way */
    free(voxels);
    free(reals);
}

static void test_all_types(void)
{
    for (int type = 0; type < CRD_TYPE_COUNT && !harness_failed; type++) {
        check_type((crd_type)type, (const int64_t[3]){5, 700, 611}); /* more than two blocks */
        if (!harness_failed) check_type((crd_type)type, (const int64_t[3]){3, 5, 7});
        if (harness_failed) printf("    for %s\n", crd_type_name((crd_type)type));
    }
}

static void test_constant_and_empty(void)
{
    crd_volume_statistics got;
    float voxels[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    const int64_t shape[3] = {2, 2, 2};
    CHECK_OK(save(scratch("constant.npy"), CRD_F32, shape, voxels));
    CHECK_OK(measure(scratch("constant.npy"), &got));
    CHECK(got.minimum == 7 && got.maximum == 7 && got.mean == 7 && got.variance == 0 && got.count == 8);
    CHECK(got.histogram_low == 6.5 && got.histogram_high == 7.5 && got.histogram[128] == 8);
    for (int i = 0; i < 8; i++) voxels[i] = NAN;
    CHECK_OK(save(scratch("nan.npy"), CRD_F32, shape, voxels));
    CHECK_OK(measure(scratch("nan.npy"), &got));
    CHECK(got.count == 0 && got.nonfinite == 8 && isnan(got.mean) && isnan(got.minimum));
    for (int i = 0; i < 8; i++) voxels[i] = 1e30f;
    CHECK_OK(save(scratch("huge.npy"), CRD_F32, shape, voxels));
    CHECK_OK(measure(scratch("huge.npy"), &got));
    CHECK(got.histogram_low < 1e30f && got.histogram_high > 1e30f && got.variance == 0);
}

/* The same voxels in any format give the same bits. */
static void test_same_bits_in_all_formats(void)
{
    enum { N = 3 * 701 * 613 };
    const int64_t shape[3] = {3, 701, 613};
    float *voxels = malloc(N * sizeof *voxels);
    crd_volume_statistics first, other;
    tools_fill(CRD_F32, N, 17, voxels);
    CHECK_OK(save(scratch("same.npy"), CRD_F32, shape, voxels));
    CHECK_OK(save(scratch("same.h5"), CRD_F32, shape, voxels));
    CHECK_OK(save(scratch("same.raw"), CRD_F32, shape, voxels));
    free(voxels);
    CHECK_OK(measure(scratch("same.npy"), &first));
    CHECK_OK(measure(scratch("same.h5"), &other));
    CHECK(memcmp(&first, &other, sizeof first) == 0);
    CHECK_OK(measure(scratch("same.raw"), &other));
    CHECK(memcmp(&first, &other, sizeof first) == 0);
}

static void test_conversion(void)
{
    enum { N = 40 * 33 * 57 };
    const int64_t shape[3] = {40, 33, 57};
    static float voxels[N], back[N];
    static uint8_t bytes[N];
    crd_volume *in = NULL, *out = NULL;
    const crd_box all = {.size = {40, 33, 57}};
    for (int i = 0; i < N; i++) voxels[i] = (float)(i % 300) / 250.0f;
    CHECK_OK(save(scratch("in.npy"), CRD_F32, shape, voxels));
    CHECK_OK(crd_volume_open(scratch("in.npy"), NULL, NULL, &in));

    warnings = steps = 0;
    CHECK_OK(crd_volume_convert(in, scratch("out.h5"), NULL, NULL, &monitor));
    CHECK(warnings == 0 && steps > 0);
    CHECK_OK(crd_volume_open(scratch("out.h5"), NULL, NULL, &out));
    CHECK_OK(crd_volume_read(out, &all, CRD_F32, back));
    CHECK(memcmp(voxels, back, sizeof back) == 0);
    crd_volume_close(&out);

    crd_volume_info info = *crd_volume_describe(in);
    info.type = CRD_U8;
    info.scale = 1.0 / 255.0;
    info.spacing[0] = info.spacing[1] = info.spacing[2] = 2.0;
    CHECK_OK(crd_volume_convert(in, scratch("out.raw"), &info, NULL, &monitor));
    CHECK(warnings == 1 && strstr(last_warning, "out of the range of u8") != NULL);
    CHECK_OK(crd_volume_open(scratch("out.raw"), NULL, NULL, &out));
    CHECK(crd_volume_describe(out)->scale == 1.0 / 255.0 && crd_volume_describe(out)->spacing[1] == 2.0);
    CHECK_OK(crd_volume_read(out, &all, CRD_U8, bytes));
    for (int i = 0; i < N; i++) {
        const double wanted = rint(fmin((double)voxels[i] * 255.0, 255.0));
        CHECK(fabs((double)bytes[i] - wanted) <= (fabs((double)voxels[i] * 255.0 - wanted) == 0.5 ? 1.0 : 0.0));
    }
    crd_volume_close(&out);

    stop_at = 1;
    CHECK_FAILS(crd_volume_convert(in, scratch("stopped.npy"), NULL, NULL, &monitor), CRD_ERR_CANCELLED, "converting");
    stop_at = -1;
    CHECK(scratch_count("stopped") == 0);
    info.shape[0] = 39;
    CHECK_FAILS(crd_volume_convert(in, scratch("x.npy"), &info, NULL, NULL), CRD_ERR_ARGUMENT, "shape");
    crd_volume_close(&in);
}

enum { CHANGING = 64 };

/* Between the two passes over a file somebody else writes to it, in place. */
static bool change(void *context, const crd_progress *progress)
{
    const float *voxels = context;
    if (2 * progress->done != progress->total) return true;
    FILE *file = fopen(scratch("changing.npy"), "r+b");
    return file != NULL && fseek(file, -CHANGING * (long)sizeof *voxels, SEEK_END) == 0 &&
           fwrite(voxels, sizeof *voxels, CHANGING, file) == CHANGING && fclose(file) == 0;
}

static void test_changing_file(void)
{
    const int64_t shape[3] = {1, 8, 8};
    static const float others[] = {-7.0f, 7.0f, -1e30f, 1e30f};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        float voxels[CHANGING];
        crd_volume *in = NULL;
        crd_volume_statistics found;
        for (int j = 0; j < CHANGING; j++) voxels[j] = (float)j / CHANGING;
        CHECK_OK(save(scratch("changing.npy"), CRD_F32, shape, voxels));
        voxels[CHANGING / 2] = others[i];
        const crd_monitor writer = {.context = voxels, .progress = change};
        CHECK_OK(crd_volume_open(scratch("changing.npy"), NULL, NULL, &in));
        CHECK_FAILS(crd_volume_measure(in, &writer, &found), CRD_ERR_FORMAT, "changed while");
        crd_volume_close(&in);
    }
}

TEST_MAIN(TEST(test_all_types), TEST(test_constant_and_empty), TEST(test_same_bits_in_all_formats),
          TEST(test_conversion), TEST(test_changing_file))
