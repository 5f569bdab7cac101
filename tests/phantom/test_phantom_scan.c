/* Each strength of a phantom does what its option says: seen in the difference that it alone makes. */
#include "harness.h"
#include "phantom/scene.h"
#include "phantom_tools.h"

typedef struct moments {
    double mean, deviation;
} moments;

static moments moments_of(const float *values, int64_t count)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)values[i];
    const double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    return (moments){mean, sqrt(squares / (double)count)};
}

/* A clean phantom of middle grey, in f32, and the same with one strength set by `change`; *out is their difference. */
static crd_status difference(crd_phantom_kind kind, void (*change)(crd_phantom_options *options), phantom *out)
{
    crd_phantom_options options = phantom_options(kind, 24, 90, 140);
    phantom clean = {.scan = NULL};
    memset(out, 0, sizeof *out);
    phantom_options_type(kind, &options, "f32");
    phantom_options_clean(&options);
    crd_status status = phantom_make(kind, &options, 0, 2, 0, &clean);
    change(&options);
    if (status == CRD_OK) status = phantom_make(kind, &options, 0, 2, 0, out);
    if (status == CRD_OK) {
        for (int64_t i = 0; i < out->voxels; i++) ((float *)out->scan)[i] -= ((const float *)clean.scan)[i];
    }
    phantom_free(&clean);
    phantom_options_free(kind, &options);
    return status;
}

/* Correlation of a difference with itself, moved along one axis. */
static double correlation(const phantom *p, int64_t step)
{
    const float *v = p->scan;
    const moments m = moments_of(v, p->voxels);
    double sum = 0;
    for (int64_t i = 0; i + step < p->voxels; i++) sum += ((double)v[i] - m.mean) * ((double)v[i + step] - m.mean);
    return sum / (double)(p->voxels - step) / (m.deviation * m.deviation);
}

static void set_noise(crd_phantom_options *options)
{
    options->noise = 0.05;
}

static void test_white_noise(void)
{
    phantom p;
    CHECK_OK(difference(CRD_PHANTOM_GRAPHITE, set_noise, &p));
    const moments m = moments_of(p.scan, p.voxels);
    CHECK_NEAR(m.mean, 0.0, 5e-4);
    CHECK_NEAR(m.deviation, 0.05, 5e-4);
    CHECK_NEAR(correlation(&p, 1), 0.0, 0.01);
    CHECK_NEAR(correlation(&p, p.shape[2]), 0.0, 0.01);
    CHECK_NEAR(correlation(&p, p.shape[1] * p.shape[2]), 0.0, 0.01);
    phantom_free(&p);
}

static void set_correlated(crd_phantom_options *options)
{
    options->noise_correlated = 0.05;
    options->noise_correlation = 1.0;
}

/* White noise behind a Gaussian of deviation 1 has the correlation exp(-d^2 / 4). */
static void test_correlated_noise(void)
{
    phantom p;
    CHECK_OK(difference(CRD_PHANTOM_WELD, set_correlated, &p));
    CHECK_NEAR(moments_of(p.scan, p.voxels).deviation, 0.05, 1e-3);
    const int64_t steps[3] = {1, p.shape[2], p.shape[1] * p.shape[2]};
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(correlation(&p, steps[i]), exp(-0.25), 0.02);
        CHECK_NEAR(correlation(&p, 2 * steps[i]), exp(-1.0), 0.03);
    }
    phantom_free(&p);
}

static void set_rings(crd_phantom_options *options)
{
    options->rings = 0.03;
}

static void test_rings_are_circles_that_change_slowly_along_z(void)
{
    phantom p;
    CHECK_OK(difference(CRD_PHANTOM_GRAPHITE, set_rings, &p));
    const int64_t height = p.shape[1], width = p.shape[2];
    const float *v = p.scan;
    double largest = 0, largest_step = 0;
    for (int64_t z = 0; z < p.shape[0]; z++) {
        for (int64_t y = 0; y < height; y++) {
            for (int64_t x = 0; x < width; x++) {
                const int64_t at = (z * height + y) * width + x;
                const double here = (double)v[at];
                CHECK_NEAR(here, v[(z * height + height - 1 - y) * width + width - 1 - x], 1e-6);
                CHECK_NEAR(here, v[(z * height + y) * width + width - 1 - x], 1e-6);
                largest = worse(largest, fabs(here));
                if (z > 0) largest_step = worse(largest_step, apart(here, (double)v[at - height * width]));
            }
        }
    }
    CHECK(largest > 0.03);
    CHECK(largest_step < 0.3 * largest);
    phantom_free(&p);
}

static void set_cupping(crd_phantom_options *options)
{
    options->cupping = 0.12;
}

static void test_cupping_is_a_bowl_around_the_centre(void)
{
    phantom p;
    CHECK_OK(difference(CRD_PHANTOM_GRAPHITE, set_cupping, &p));
    const float *v = p.scan;
    const int64_t slice = p.shape[1] * p.shape[2], centre = (p.shape[1] / 2) * p.shape[2] + p.shape[2] / 2;
    CHECK_NEAR(moments_of(v, p.voxels).mean, 0.0, 1e-3);
    CHECK_NEAR(v[0] - v[centre], 0.12, 3e-3); /* the corner's voxel has its centre half a voxel inside */
    CHECK_NEAR(v[slice - 1] - v[slice + centre], 0.12, 3e-3);
    phantom_free(&p);
}

static void set_drift(crd_phantom_options *options)
{
    options->drift = 0.05;
    options->drift_length = 16;
}

static void test_drift_is_slow(void)
{
    phantom p;
    CHECK_OK(difference(CRD_PHANTOM_WELD, set_drift, &p));
    CHECK_NEAR(moments_of(p.scan, p.voxels).deviation, 0.05, 0.01);
    CHECK(correlation(&p, 1) > 0.98);
    CHECK(correlation(&p, p.shape[2]) > 0.95);
    CHECK(correlation(&p, p.shape[1] * p.shape[2]) > 0.95);
    phantom_free(&p);
}

/* Deep inside a phase a clean scan has that phase's grey value exactly; at a boundary it lies between the two. */
static void test_clean_scan_has_two_levels_and_partial_volume(void)
{
    for (int kind = 0; kind < 2; kind++) {
        crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 12, 64, 80);
        phantom p;
        phantom_options_type((crd_phantom_kind)kind, &options, "f32");
        phantom_options_clean(&options);
        options.contrast = 0.3;
        options.brightness = 0.6;
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 0, 2, 0, &p));
        int64_t levels = 0, between = 0, wrong_side = 0;
        for (int64_t i = 0; i < p.voxels; i++) {
            const double v = (double)((const float *)p.scan)[i];
            CHECK(v > 0.45 - 1e-6 && v < 0.75 + 1e-6);
            const int pure = v < 0.45 + 1e-6 || v > 0.75 - 1e-6;
            levels += pure;
            between += !pure;
            if (kind == CRD_PHANTOM_GRAPHITE)
                wrong_side += (v < 0.6 - 1e-6) != p.truth[i] && fabs(v - 0.6) > 1e-6;
            else
                wrong_side += p.truth[i] && v < 0.6 - 1e-6; /* air is light, too, and not void */
        }
        CHECK(levels > p.voxels / 2);
        CHECK(between > p.voxels / 50);
        CHECK(wrong_side == 0);
        phantom_free(&p);
        phantom_options_free((crd_phantom_kind)kind, &options);
    }
}

static void set_blur(crd_phantom_options *options)
{
    options->blur = 1.5;
}

static void test_blur_keeps_the_mean_and_smooths(void)
{
    crd_phantom_options options = phantom_options(CRD_PHANTOM_GRAPHITE, 24, 90, 140);
    phantom sharp, soft;
    phantom_options_type(CRD_PHANTOM_GRAPHITE, &options, "f32");
    phantom_options_clean(&options);
    CHECK_OK(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 2, 0, &sharp));
    set_blur(&options);
    CHECK_OK(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 2, 0, &soft));
    const moments a = moments_of(sharp.scan, sharp.voxels), b = moments_of(soft.scan, soft.voxels);
    CHECK_NEAR(a.mean, b.mean, 2e-3);
    CHECK(b.deviation < 0.95 * a.deviation);
    CHECK(memcmp(sharp.truth, soft.truth, (size_t)sharp.voxels) == 0);
    CHECK(correlation(&soft, 1) > correlation(&sharp, 1) + 0.01);
    phantom_free(&sharp);
    phantom_free(&soft);
    phantom_options_free(CRD_PHANTOM_GRAPHITE, &options);
}

/* The scan at one voxel, from the scene alone: a plain sum over the Gaussian's 7 x 7 x 7 weights. */
static double blurred(const crd_scene *scene, double deviation, int64_t z, int64_t y, int64_t x, float *space)
{
    enum { R = 3, N = 2 * R + 1 };
    float truth[2][N * N], label[2][N * N], grey[N * N];
    double sum = 0, weights = 0;
    for (int k = -R; k <= R; k++) {
        const crd_window window = {.z = z + k, .y0 = y - R, .x0 = x - R, .rows = N, .columns = N};
        crd_scene_look(scene, &window, space, &(crd_view){{truth[0], truth[1]}, {label[0], label[1]}, grey});
        for (int i = 0; i < N * N; i++) {
            const int j = i / N - R, l = i % N - R;
            const double w = exp(-0.5 * (k * k + j * j + l * l) / (deviation * deviation));
            sum += w * (double)grey[i];
            weights += w;
        }
    }
    return sum / weights;
}

/* Nothing happens where the windows meet in which a slice is made, nor at the volume's faces: the world goes on there.
 */
static void test_scan_is_the_blurred_scene_without_seams(void)
{
    static const int64_t zs[] = {0, 5, 11}, ys[] = {0, 63, 127, 128, 139},
                         xs[] = {0, 1, 125, 126, 127, 128, 129, 130, 149};
    for (int kind = 0; kind < CRD_PHANTOM_IMAGE; kind++) {
        crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 12, 140, 150);
        phantom p;
        crd_scene scene;
        crd_pool *pool = NULL;
        phantom_options_type((crd_phantom_kind)kind, &options, "f32");
        phantom_options_clean(&options);
        options.blur = 1.0;
        float *space = calloc((size_t)crd_scene_scratch(7, 7), sizeof *space);
        CHECK(space != NULL);
        CHECK_OK(crd_pool_create(2, &pool));
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 5, 2, 0, &p));
        CHECK_OK(crd_scene_make((crd_phantom_kind)kind, &options, pool, &scene));
        for (size_t i = 0; i < sizeof zs / sizeof zs[0]; i++) {
            for (size_t j = 0; j < sizeof ys / sizeof ys[0]; j++) {
                for (size_t k = 0; k < sizeof xs / sizeof xs[0]; k++) {
                    const double expected = blurred(&scene, options.blur, zs[i], ys[j], xs[k], space);
                    CHECK_NEAR(((const float *)p.scan)[(zs[i] * 140 + ys[j]) * 150 + xs[k]], expected, 2e-6);
                }
            }
        }
        free(space);
        phantom_free(&p);
        crd_pool_free(&pool);
        phantom_options_free((crd_phantom_kind)kind, &options);
    }
}

/* Correlated noise is as correlated across the seam between two windows as inside one. */
static void test_noise_has_no_seams(void)
{
    phantom p;
    CHECK_OK(difference(CRD_PHANTOM_WELD, set_correlated, &p));
    const float *v = p.scan;
    double seam = 0, count = 0;
    for (int64_t row = 0; row < p.shape[0] * p.shape[1]; row++) {
        seam += (double)v[row * p.shape[2] + 127] * (double)v[row * p.shape[2] + 128];
        count++;
    }
    CHECK_NEAR(seam / count / (0.05 * 0.05), exp(-0.25), 0.15);
    phantom_free(&p);
}

/* Runs of foreground along an axis: flat grains are shorter along z than along x. */
static double mean_run(const phantom *p, int64_t step, int64_t length)
{
    int64_t runs = 0, voxels = 0;
    for (int64_t i = 0; i < p->voxels; i++) {
        if (!p->truth[i]) continue;
        voxels++;
        runs += i / step % length == 0 || !p->truth[i - step];
    }
    return (double)voxels / (double)runs;
}

static void test_flatness_tilt_and_size_shape_the_grains(void)
{
    crd_phantom_options options = phantom_options(CRD_PHANTOM_GRAPHITE, 64, 96, 96);
    phantom flat, round, small;
    options.grain_tilt = 5.0;
    CHECK_OK(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 2, 0, &flat));
    options.grain_flatness = 1.0;
    CHECK_OK(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 2, 0, &round));
    options.grain_size = 6.0;
    CHECK_OK(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 2, 0, &small));
    const int64_t yx = 96 * 96;
    CHECK(mean_run(&flat, 1, 96) > 1.5 * mean_run(&flat, yx, 64));
    CHECK(mean_run(&round, 1, 96) < 1.3 * mean_run(&round, yx, 64));
    CHECK(mean_run(&small, 1, 96) < 0.7 * mean_run(&round, 1, 96));
    phantom_free(&flat);
    phantom_free(&round);
    phantom_free(&small);
    phantom_options_free(CRD_PHANTOM_GRAPHITE, &options);
}

/* Any window shows the same field; it has mean 0 and variance 1. */
static void test_fields_do_not_depend_on_the_window(void)
{
    const crd_field field = {.seed = 3, .layer = 99, .spacing = {5, 4, 7}};
    const crd_window all = {.z = -3, .y0 = -20, .x0 = -31, .rows = 300, .columns = 400};
    const crd_window part = {.z = -3, .y0 = 11, .x0 = -2, .rows = 17, .columns = 23};
    float *a = calloc(300 * 400, sizeof *a), *b = calloc(17 * 23, sizeof *b);
    float *space = calloc((size_t)crd_field_scratch(300, 400), sizeof *space);
    CHECK(a != NULL && b != NULL && space != NULL);
    crd_field_add(&field, &all, 1.0f, space, a);
    crd_field_add(&field, &part, 1.0f, space, b);
    for (int64_t i = 0; i < part.rows; i++) {
        for (int64_t j = 0; j < part.columns; j++) {
            CHECK(b[i * part.columns + j] == a[(i + part.y0 - all.y0) * all.columns + j + part.x0 - all.x0]);
        }
    }
    const moments m = moments_of(a, 300 * 400);
    CHECK_NEAR(m.mean, 0.0, 0.06);
    CHECK_NEAR(m.deviation, 1.0, 0.06);
    free(a);
    free(b);
    free(space);
}

TEST_MAIN(TEST(test_white_noise), TEST(test_correlated_noise), TEST(test_rings_are_circles_that_change_slowly_along_z),
          TEST(test_cupping_is_a_bowl_around_the_centre), TEST(test_drift_is_slow),
          TEST(test_clean_scan_has_two_levels_and_partial_volume), TEST(test_blur_keeps_the_mean_and_smooths),
          TEST(test_scan_is_the_blurred_scene_without_seams), TEST(test_noise_has_no_seams),
          TEST(test_flatness_tilt_and_size_shape_the_grains), TEST(test_fields_do_not_depend_on_the_window))
