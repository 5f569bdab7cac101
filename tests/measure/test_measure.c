/* Measuring from outside: shapes whose values are known, what must not change a value, input that isn't as hoped. */
#include "credence/measure.h"

#include "base/memory.h"
#include "harness.h"
#include "volume_tools.h"

enum { MOST = 80 * 80 * 80 };
static const double PI = 3.14159265358979323846;
static uint8_t voxels[MOST];

typedef struct call {
    int64_t shape[3];
    const char *spacing, *properties, *phase, *connectivity, *memory, *threads, *mask;
    const char *bbox, *rev, *label, *ignore, *foreground;
} call;

static crd_status save(const char *path, const int64_t shape[3])
{
    crd_volume *volume = NULL;
    crd_volume_info info = {.type = CRD_U8, .scale = 1.0};
    memcpy(info.shape, shape, sizeof info.shape);
    const crd_box box = {.size = {shape[0], shape[1], shape[2]}};
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &box, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

static crd_status measure(const call *c, crd_measurement **out)
{
    crd_measure_options options;
    const struct {
        const char *name, *text;
    } rows[] = {{"spacing", c->spacing},   {"properties", c->properties},
                {"phase", c->phase},       {"connectivity", c->connectivity},
                {"max-memory", c->memory}, {"threads", c->threads},
                {"mask", c->mask},         {"bbox", c->bbox},
                {"rev", c->rev},           {"label", c->label},
                {"ignore", c->ignore},     {"foreground", c->foreground}};
    const char *path = scratch("volume.npy");
    crd_status status = save(path, c->shape);
    *out = NULL;
    if (status == CRD_OK) status = crd_settings_default(&crd_measure_settings, &options);
    if (status == CRD_OK) status = crd_settings_set(&crd_measure_settings, &options, "input", path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == CRD_OK; i++) {
        if (rows[i].text == NULL) continue;
        status = crd_settings_set(&crd_measure_settings, &options, rows[i].name, rows[i].text);
    }
    if (status == CRD_OK) status = crd_measure(&options, NULL, out);
    crd_settings_clear(&crd_measure_settings, &options);
    return status;
}

static double value(const crd_measurement *m, const char *name)
{
    const crd_property *p = m != NULL ? crd_measurement_find(m, name, m->phases[0]) : NULL;
    return p != NULL ? p->segmentation : -12345.0;
}

static void fill(const int64_t shape[3], bool (*inside)(const double p[3], double size), double size)
{
    int64_t i = 0;
    for (int64_t z = 0; z < shape[0]; z++) {
        for (int64_t y = 0; y < shape[1]; y++) {
            for (int64_t x = 0; x < shape[2]; x++, i++) {
                const double p[3] = {(double)z - (double)(shape[0] - 1) / 2.0, (double)y - (double)(shape[1] - 1) / 2.0,
                                     (double)x - (double)(shape[2] - 1) / 2.0};
                voxels[i] = inside(p, size);
            }
        }
    }
}

/* Off the lattice: one in the middle of a voxel's corner has errors of its own. */
static bool ball(const double p[3], double r)
{
    const double q[3] = {p[0] - 0.2, p[1] - 0.31, p[2] + 0.43};
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] < r * r;
}

static bool shell(const double p[3], double r)
{
    return ball(p, r) && !ball(p, r - 5.0);
}

static bool cylinder(const double p[3], double r)
{
    return p[1] * p[1] + p[2] * p[2] < r * r;
}

static bool torus(const double p[3], double r)
{
    const double d = sqrt(p[1] * p[1] + p[2] * p[2]) - 3.0 * r;
    return d * d + p[0] * p[0] < r * r;
}

static bool slab(const double p[3], double half)
{
    return fabs(p[0]) < half;
}

static bool gyroid(const double p[3], double period)
{
    const double k = 2.0 * 3.14159265358979323846 / period;
    return sin(k * p[0]) * cos(k * p[1]) + sin(k * p[1]) * cos(k * p[2]) + sin(k * p[2]) * cos(k * p[0]) > 0.0;
}

/* Surface, curvature, Euler numbers against formulas; densities are per volume of the cells. */
static void test_shapes(void)
{
    const call c = {.shape = {60, 60, 60}, .spacing = "1,1,1,um"};
    const double v = 59.0 * 59.0 * 59.0;
    crd_measurement *m = NULL;
    for (double r = 12.3; r < 28.0; r += 7.4) {
        fill(c.shape, ball, r);
        CHECK_OK(measure(&c, &m));
        CHECK_NEAR(v * value(m, "specific_surface") / (4.0 * PI * r * r), 1.0, 0.006);
        CHECK_NEAR(v * value(m, "mean_curvature") / (4.0 * PI * r), 1.0, 0.006);
        CHECK(value(m, "euler_6") == 1.0 && value(m, "euler_26") == 1.0 && value(m, "components") == 1.0);
        CHECK_NEAR(v * value(m, "euler_density_6"), 1.0, 1e-9);
        const double mesh = v * value(m, "specific_surface_mesh") / (4.0 * PI * r * r);
        CHECK(mesh > 1.05 && mesh < 1.12); /* known to be too large */
        CHECK(value(m, "closed_share") == 1.0 && value(m, "percolates_z") == 0.0);
        CHECK_NEAR(value(m, "mean_intercept_y"), 4.0 / 3.0 * r, 0.02 * r);
        crd_measurement_free(&m);
    }
    fill(c.shape, shell, 25.0);
    CHECK_OK(measure(&c, &m));
    CHECK(value(m, "euler_6") == 2.0 && value(m, "euler_26") == 2.0);
    CHECK_NEAR(v * value(m, "specific_surface") / (4.0 * PI * (625.0 + 400.0)), 1.0, 0.005);
    CHECK_NEAR(v * value(m, "mean_curvature") / (4.0 * PI * 5.0), 1.0, 0.05); /* the difference of 25 and 20 */
    crd_measurement_free(&m);
    fill(c.shape, torus, 6.0);
    CHECK_OK(measure(&c, &m));
    CHECK(value(m, "euler_6") == 0.0 && value(m, "euler_26") == 0.0 && value(m, "components") == 1.0);
    CHECK_NEAR(v * value(m, "specific_surface") / (4.0 * PI * PI * 18.0 * 6.0), 1.0, 0.02);
    CHECK_NEAR(v * value(m, "mean_curvature") / (2.0 * PI * PI * 18.0), 1.0, 0.02);
    crd_measurement_free(&m);
    fill(c.shape, cylinder, 20.0);
    CHECK_OK(measure(&c, &m));
    CHECK_NEAR(v * value(m, "specific_surface") / (2.0 * PI * 20.0 * 59.0), 1.0, 0.02); /* one direction only */
    /* 13 directions see a line along an axis so: the known limit of the estimator */
    const double seen = 2.0 * (0.0915557824 + 4.0 * 0.0739612558 / sqrt(2.0) + 4.0 * 0.0703912796 / sqrt(3.0));
    CHECK_NEAR(v * value(m, "mean_curvature") / (PI * 59.0), seen, 0.003);
    CHECK(value(m, "euler_6") == 1.0 && value(m, "percolates_z") == 1.0 && value(m, "percolates_x") == 0.0);
    CHECK(value(m, "percolating_share_z") == 1.0 && value(m, "closed_share") == 0.0);
    CHECK(isnan(value(m, "mean_intercept_z"))); /* it never ends */
    crd_measurement_free(&m);
    fill(c.shape, slab, 10.0);
    CHECK_OK(measure(&c, &m));
    CHECK(value(m, "mean_curvature") == 0.0 && value(m, "volume_fraction") == 20.0 / 60.0);
    CHECK(value(m, "euler_6") == 1.0 && value(m, "euler_density_6") == 0.0);
    CHECK(value(m, "chord_mean_z") == 20.0);
    crd_measurement_free(&m);
    fill(c.shape, gyroid, 29.5); /* two whole periods between the first and the last voxel */
    CHECK_OK(measure(&c, &m));
    CHECK_NEAR(value(m, "specific_surface") * 29.5, 3.0915, 0.06); /* 3.0915 a^2 of area in a cell a^3 */
    CHECK_NEAR(value(m, "euler_density_6") * 29.5 * 29.5 * 29.5, -4.0, 0.2);
    CHECK_NEAR(value(m, "mean_curvature") * 29.5 * 29.5, 0.0, 0.2);
    crd_measurement_free(&m);
}

/* Whole numbers of small things, for both neighbourhoods. */
static void test_small(void)
{
    call c = {.shape = {6, 6, 6}, .spacing = "1,1,1,um"};
    crd_measurement *m = NULL;
    memset(voxels, 0, 216);
    voxels[2 * 36 + 2 * 6 + 2] = voxels[3 * 36 + 3 * 6 + 3] = 1; /* corner to corner */
    CHECK_OK(measure(&c, &m));
    CHECK(value(m, "euler_6") == 2.0 && value(m, "euler_26") == 1.0 && value(m, "components") == 2.0);
    CHECK(value(m, "volume_fraction") == 2.0 / 216.0 && value(m, "largest_share") == 0.5);
    crd_measurement_free(&m);
    c.connectivity = "26";
    CHECK_OK(measure(&c, &m));
    CHECK(value(m, "components") == 1.0);
    crd_measurement_free(&m);
    c.connectivity = NULL;
    for (int i = 0; i < 216; i++) voxels[i] = (i / 36 + i / 6 % 6 + i % 6) % 2 == 0; /* a checkerboard */
    CHECK_OK(measure(&c, &m));
    CHECK(value(m, "components") == 108.0 && value(m, "euler_6") == 108.0 && value(m, "volume_fraction") == 0.5);
    CHECK(value(m, "mean_curvature") == 0.0 && value(m, "mean_intercept_x") == 1.0 && value(m, "chord_mean_x") == 1.0);
    crd_measurement_free(&m);
    memset(voxels, 0, 216);
    for (int i = 0; i < 216; i++)
        voxels[i] = i / 36 > 0 && i / 36 < 5 && i / 6 % 6 > 0 && i / 6 % 6 < 5 && i % 6 > 0 && i % 6 < 5;
    CHECK_OK(measure(&c, &m));
    CHECK(value(m, "euler_6") == 1.0 && value(m, "closed_share") == 1.0 && value(m, "chord_mean_y") == 4.0);
    crd_measurement_free(&m);
}

static char *json_without_times(const crd_measurement *m)
{
    char *json = NULL;
    if (crd_measurement_to_json(m, &json) != CRD_OK) return NULL;
    char *times = strstr(json, "\"times\"");
    if (times != NULL) *times = '\0';
    return json;
}

/* Any slabs and threads give the same bytes; --phase 0 of one is --phase 1 of its complement. */
static void test_same_bytes(void)
{
    call c = {.shape = {37, 41, 66}, .spacing = "0.5,0.7,0.9,um"};
    const int64_t n = c.shape[0] * c.shape[1] * c.shape[2];
    uint64_t state = 6;
    fill(c.shape, gyroid, 17.0);
    for (int64_t i = 0; i < n; i++) voxels[i] ^= tools_random(&state) % 50 == 0;
    crd_measurement *m = NULL;
    CHECK_OK(measure(&c, &m));
    char *first = json_without_times(m), *again = NULL;
    const double surface = value(m, "specific_surface"), curvature = value(m, "mean_curvature");
    const double euler[2] = {value(m, "euler_density_6"), value(m, "euler_density_26")};
    crd_measurement_free(&m);
    const char *const memories[] = {"4M", "6M", "1G"}, *const threads[] = {"1", "3"};
    for (int i = 0; i < 6; i++) {
        c.memory = memories[i / 2];
        c.threads = threads[i % 2];
        CHECK_OK(measure(&c, &m));
        CHECK((again = json_without_times(m)) != NULL && strcmp(first, again) == 0);
        crd_settings_free_text(&again);
        crd_measurement_free(&m);
    }
    for (int64_t i = 0; i < n; i++) voxels[i] = !voxels[i];
    CHECK_OK(measure(&c, &m));
    CHECK(value(m, "specific_surface") == surface && value(m, "mean_curvature") == -curvature);
    CHECK(value(m, "euler_density_6") == euler[1] && value(m, "euler_density_26") == euler[0]);
    crd_measurement_free(&m);
    crd_settings_free_text(&first);
    c.memory = "1M";
    CHECK_FAILS(measure(&c, &m), CRD_ERR_MEMORY, "max-memory");
}

/* Passes for every realisation give the same bytes for any number of threads, and say what they need. */
static void test_slow_same_bytes(void)
{
    call c = {.shape = {19, 26, 40}, .spacing = "0.5,0.7,0.9,um", .properties = "all", .threads = "1"};
    crd_measurement *m = NULL;
    fill(c.shape, gyroid, 12.0);
    CHECK_OK(measure(&c, &m));
    char *first = json_without_times(m), *again = NULL;
    CHECK(value(m, "d_rel_z") > 0.1 && value(m, "d_rel_z") < value(m, "volume_fraction"));
    CHECK_NEAR(value(m, "tortuosity_factor_x") * value(m, "d_rel_x"), value(m, "volume_fraction"), 1e-12);
    CHECK(value(m, "thickness_max") >= value(m, "thickness_mean") && value(m, "thickness_mean") > 1.0);
    crd_measurement_free(&m);
    c.threads = "3";
    CHECK_OK(measure(&c, &m));
    CHECK((again = json_without_times(m)) != NULL && strcmp(first, again) == 0);
    crd_settings_free_text(&again);
    crd_settings_free_text(&first);
    crd_measurement_free(&m);
    c.properties = "transport";
    c.memory = "1M";
    const call large = {.shape = {76, 76, 76}, .properties = "transport", .memory = "1M", .threads = "1"};
    memset(voxels, 1, 76 * 76 * 76);
    CHECK_FAILS(measure(&large, &m), CRD_ERR_MEMORY, "transport needs");
    c.memory = NULL;
    memset(voxels, 0, 19 * 26 * 40);
    c.phase = "1";
    CHECK_OK(measure(&c, &m)); /* empty */
    CHECK(value(m, "d_rel_z") == 0.0 && isnan(value(m, "tortuosity_factor_z")));
    crd_measurement_free(&m);
    memset(voxels, 1, 19 * 26 * 40);
    c.properties = "all";
    CHECK_OK(measure(&c, &m)); /* full */
    CHECK(value(m, "d_rel_y") == 1.0 && value(m, "tortuosity_factor_y") == 1.0);
    CHECK(isnan(value(m, "thickness_mean")));
    crd_measurement_free(&m);
}

/* Mirrored, and with z and x exchanged. */
static void test_turned(void)
{
    static uint8_t kept[MOST];
    static const char *const names[] = {"volume_fraction", "specific_surface", "mean_curvature", "euler_6",
                                        "euler_26",        "components",       "largest_share",  "closed_share"};
    call c = {.shape = {20, 31, 42}, .spacing = "0.5,0.7,0.9,um"};
    const int64_t n = 20 * 31 * 42;
    crd_measurement *m = NULL, *turned = NULL;
    fill(c.shape, gyroid, 13.0);
    memcpy(kept, voxels, (size_t)n);
    CHECK_OK(measure(&c, &m));
    for (int64_t i = 0; i < n; i++) voxels[i] = kept[n - 1 - i];
    CHECK_OK(measure(&c, &turned));
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) CHECK(value(m, names[k]) == value(turned, names[k]));
    CHECK(value(m, "mean_intercept_z") == value(turned, "mean_intercept_z"));
    crd_measurement_free(&turned);
    for (int64_t z = 0; z < 42; z++) {
        for (int64_t y = 0; y < 31; y++) {
            for (int64_t x = 0; x < 20; x++) voxels[(z * 31 + y) * 20 + x] = kept[(x * 31 + y) * 42 + z];
        }
    }
    const call other = {.shape = {42, 31, 20}, .spacing = "0.9,0.7,0.5,um"};
    CHECK_OK(measure(&other, &turned));
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        CHECK_NEAR(value(m, names[k]), value(turned, names[k]), 1e-12 * fabs(value(m, names[k])));
    }
    CHECK_NEAR(value(m, "mean_intercept_z"), value(turned, "mean_intercept_x"), 1e-12);
    CHECK(value(m, "percolating_share_z") == value(turned, "percolating_share_x"));
    crd_measurement_free(&m);
    crd_measurement_free(&turned);
}

/* The power of the length that a unit says is the power that a property changes by. */
static void test_scaled(void)
{
    const call one = {.shape = {22, 25, 30}, .spacing = "0.5,0.7,0.9,um", .properties = "all"};
    const call other = {.shape = {22, 25, 30}, .spacing = "1.5,2.1,2.7,um", .properties = "all"};
    crd_measurement *m = NULL, *scaled = NULL;
    fill(one.shape, gyroid, 13.0);
    CHECK_OK(measure(&one, &m));
    CHECK_OK(measure(&other, &scaled));
    CHECK(m->property_count == scaled->property_count && m->property_count > 30);
    for (int64_t i = 0; i < m->property_count; i++) {
        const crd_property *a = &m->properties[i], *b = &scaled->properties[i];
        const double power = strcmp(a->unit, "um") == 0       ? 3.0
                             : strcmp(a->unit, "1/um") == 0   ? 1.0 / 3.0
                             : strcmp(a->unit, "1/um^2") == 0 ? 1.0 / 9.0
                             : strcmp(a->unit, "1/um^3") == 0 ? 1.0 / 27.0
                                                              : 1.0;
        CHECK(strcmp(a->unit, b->unit) == 0 && isnan(a->segmentation) == isnan(b->segmentation));
        if (isnan(a->segmentation)) continue;
        /* float fields, and squares of edges as multiples of 2^-20, round otherwise */
        const bool exact = strncmp(a->name, "thickness", 9) != 0 && strstr(a->name, "_factor_") == NULL &&
                           strncmp(a->name, "d_rel", 5) != 0;
        CHECK_NEAR(b->segmentation, power * a->segmentation, (exact ? 1e-12 : 1e-6) * fabs(b->segmentation));
    }
    crd_measurement_free(&m);
    crd_measurement_free(&scaled);
}

static void test_odd_input(void)
{
    call c = {.shape = {8, 9, 10}, .phase = "1"};
    crd_measurement *m = NULL;
    memset(voxels, 0, 720);
    CHECK_OK(measure(&c, &m)); /* empty */
    CHECK(value(m, "volume_fraction") == 0.0 && value(m, "specific_surface") == 0.0 && value(m, "euler_6") == 0.0);
    CHECK(value(m, "mean_curvature") == 0.0 && value(m, "components") == 0.0 && isnan(value(m, "largest_share")));
    CHECK(isnan(value(m, "mean_intercept_z")) && value(m, "percolates_z") == 0.0);
    CHECK(strcmp(m->unit, "voxel") == 0 && !m->spacing_known && m->notes.count > 0);
    CHECK(strstr(m->properties[0].note, "empty") != NULL);
    crd_measurement_free(&m);
    memset(voxels, 1, 720);
    CHECK_OK(measure(&c, &m)); /* full */
    CHECK(value(m, "volume_fraction") == 1.0 && value(m, "specific_surface") == 0.0 && value(m, "euler_6") == 1.0);
    CHECK(value(m, "euler_26") == 1.0 && isnan(value(m, "mean_intercept_x")) && value(m, "percolates_y") == 1.0);
    CHECK(strstr(m->properties[0].note, "fills") != NULL);
    crd_measurement_free(&m);
    for (int i = 0; i < 720; i++) voxels[i] = i % 3 == 0;
    c.shape[0] = 1; /* a slice */
    CHECK_OK(measure(&c, &m));
    CHECK(isnan(value(m, "specific_surface")) && isnan(value(m, "euler_6")) && value(m, "components") > 0.0);
    CHECK(strstr(crd_measurement_find(m, "specific_surface", 1.0)->note, "one voxel thick") != NULL);
    CHECK(value(m, "volume_fraction") == 30.0 / 90.0 && value(m, "mean_intercept_x") > 0.0);
    crd_measurement_free(&m);
    c.shape[0] = 8;
    memset(voxels, 0, 720);
    CHECK_OK(save(scratch("mask.npy"), c.shape));
    c.mask = scratch("mask.npy");
    CHECK_FAILS(measure(&c, &m), CRD_ERR_ARGUMENT, "no voxel");
    voxels[5] = 1;
    CHECK_OK(save(scratch("mask.npy"), c.shape));
    CHECK_FAILS(measure(&c, &m), CRD_ERR_ARGUMENT, "2x2x2");
    const int64_t other[3] = {8, 9, 11};
    CHECK_OK(save(scratch("mask.npy"), other));
    CHECK_FAILS(measure(&c, &m), CRD_ERR_MISMATCH, "8,9,11");
}

/* Phases of a label volume: fractions add up, and a phase alone is what it is among others. */
static void test_phases(void)
{
    call c = {.shape = {12, 20, 30}};
    crd_measurement *m = NULL, *one = NULL;
    for (int64_t i = 0; i < 12 * 20 * 30; i++) voxels[i] = (uint8_t)(i / 7 % 3 * 10 + (i % 50 == 0));
    CHECK_OK(measure(&c, &m));
    CHECK(m->phase_count > 3);
    double sum = 0.0;
    for (int64_t p = 0; p < m->phase_count; p++)
        sum += crd_measurement_find(m, "volume_fraction", m->phases[p])->segmentation;
    CHECK_NEAR(sum, 1.0, 1e-15);
    c.phase = "20";
    CHECK_OK(measure(&c, &one));
    CHECK(one->phase_count == 1 && one->phases[0] == 20.0);
    CHECK(value(one, "specific_surface") == crd_measurement_find(m, "specific_surface", 20.0)->segmentation);
    crd_measurement_free(&m);
    crd_measurement_free(&one);
}

/* Two blocks are what two boxes of the same cells give. */
static void test_blocks(void)
{
    call c = {.shape = {32, 33, 65}, .spacing = "0.5,0.7,0.9,um", .properties = "surface", .rev = "true"};
    static const char *const names[][2] = {{"specific_surface", "specific_surface"},
                                           {"mean_curvature", "mean_curvature"},
                                           {"euler_density_6", "euler_density_6"}};
    crd_measurement *m = NULL, *part[2] = {NULL, NULL};
    fill(c.shape, gyroid, 12.0);
    CHECK_OK(measure(&c, &m));
    c.rev = NULL;
    c.bbox = "0:32,0:33,0:33";
    CHECK_OK(measure(&c, &part[0]));
    c.bbox = "0:32,0:33,32:65";
    CHECK_OK(measure(&c, &part[1]));
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const double a = value(part[0], names[k][0]), b = value(part[1], names[k][0]);
        bool met = false;
        for (int64_t i = 0; i < m->rev_count; i++) {
            if (strcmp(m->rev[i].property, names[k][1]) != 0) continue;
            met = true;
            CHECK(m->rev[i].voxels == 32 && m->rev[i].blocks == 2);
            CHECK_NEAR(m->rev[i].mean, 0.5 * (a + b), 1e-12 * fabs(a));
            CHECK_NEAR(m->rev[i].std, fabs(a - b) / sqrt(2.0), 1e-9 * fabs(a));
        }
        CHECK(met);
    }
    crd_measurement_free(&m);
    for (int i = 0; i < 2; i++) crd_measurement_free(&part[i]);
    const call small = {.shape = {31, 40, 40}, .rev = "true"};
    fill(small.shape, gyroid, 12.0);
    CHECK_OK(measure(&small, &m));
    CHECK(m->rev_count == 0 && m->notes.count > 0);
    crd_measurement_free(&m);
}

/* A label is measured where it is labelled: what lies elsewhere doesn't count. */
static void test_label(void)
{
    call c = {.shape = {20, 24, 28}, .spacing = "1,1,1,um", .label = scratch("label.npy"), .ignore = "9"};
    crd_measurement *m = NULL, *part = NULL;
    fill(c.shape, gyroid, 11.0);
    for (int64_t i = 0; i < 8 * 24 * 28; i++) voxels[i] = 9;
    for (int64_t i = 8 * 24 * 28; i < 9 * 24 * 28; i++) voxels[i] = 1;
    CHECK_OK(save(c.label, c.shape));
    call own = {.shape = {20, 24, 28}, .spacing = "1,1,1,um", .bbox = "8:20,0:24,0:28"};
    CHECK_OK(measure(&own, &part)); /* the labelled part as a segmentation of its own */
    fill(c.shape, gyroid, 11.0);
    CHECK_OK(measure(&c, &m));
    CHECK(m->labelled_voxels == 12 * 24 * 28);
    static const char *const names[] = {"volume_fraction", "specific_surface", "euler_6", "components", "chord_mean_y"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const crd_property *p = crd_measurement_find(m, names[k], 1.0);
        CHECK(p != NULL && p->labelled && p->label.value == value(part, names[k]));
    }
    crd_measurement_free(&part);
    CHECK_OK(measure(&own, &part));
    CHECK(crd_measurement_find(m, "specific_surface", 1.0)->label.segmentation == value(part, "specific_surface"));
    CHECK(value(m, "specific_surface") != value(part, "specific_surface"));
    crd_measurement_free(&part);
    crd_measurement_free(&m);
    const int64_t other[3] = {20, 24, 27};
    CHECK_OK(save(c.label, other));
    CHECK_FAILS(measure(&c, &m), CRD_ERR_MISMATCH, "20,24,27");
}

/* What a label's values mean is what training and validation take them for: of two the larger is looked for, and where
 * there are three somebody has to say. */
static void test_values_of_labels(void)
{
    static const char *const names[] = {"volume_fraction", "specific_surface", "mean_curvature", "euler_6"};
    call c = {.shape = {20, 24, 28}, .label = scratch("label.npy")};
    const int64_t count = 20 * 24 * 28;
    crd_measurement *plain = NULL, *m = NULL;
    fill(c.shape, gyroid, 11.0);
    CHECK_OK(save(c.label, c.shape));
    CHECK_OK(measure(&c, &plain)); /* held against itself */
    for (int64_t i = 0; i < count; i++) voxels[i] = i < 8 * 24 * 28 ? 0 : (uint8_t)(1 + voxels[i]);
    CHECK_OK(save(c.label, c.shape)); /* 1 and 2, and 0 where nobody looked */
    fill(c.shape, gyroid, 11.0);
    CHECK_FAILS(measure(&c, &m), CRD_ERR_ARGUMENT, "say which are the foreground");
    c.ignore = "0";
    CHECK_OK(measure(&c, &m));
    CHECK(m->labelled_voxels == 12 * 24 * 28);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const crd_property *p = crd_measurement_find(m, names[k], 1.0);
        CHECK(p != NULL && p->labelled && p->label.value == p->label.segmentation);
        p = crd_measurement_find(plain, names[k], 1.0);
        CHECK(p != NULL && p->labelled && p->label.value == p->segmentation);
    }
    crd_measurement_free(&m);
    c.foreground = "1"; /* the other phase */
    CHECK_OK(measure(&c, &m));
    const crd_property *p = crd_measurement_find(m, "volume_fraction", 1.0);
    CHECK_NEAR(p->label.value, 1.0 - p->label.segmentation, 1e-12);
    crd_measurement_free(&m);
    crd_measurement_free(&plain);
    for (int64_t i = 0; i < count; i++) voxels[i] = (uint8_t)(i % 3); /* of three phases a label's values are theirs */
    CHECK_OK(save(c.label, c.shape));
    c.ignore = NULL;
    CHECK_FAILS(measure(&c, &m), CRD_ERR_ARGUMENT, "--foreground is for two");
    c.foreground = NULL;
    CHECK_OK(measure(&c, &m));
    p = crd_measurement_find(m, "volume_fraction", 2.0);
    CHECK(p != NULL && p->labelled && p->label.value == p->segmentation);
    crd_measurement_free(&m);
    for (int64_t i = 0; i < count; i++) voxels[i] = (uint8_t)(i < 7 ? 7 : i % 3);
    CHECK_OK(save(c.label, c.shape));
    for (int64_t i = 0; i < count; i++) voxels[i] = (uint8_t)(i % 3);
    CHECK_FAILS(measure(&c, &m), CRD_ERR_ARGUMENT, "has voxels of the value 7");
    memset(voxels, 1, (size_t)count);
    CHECK_FAILS(measure(&c, &m), CRD_ERR_ARGUMENT, "--phase names both");
}

/* Writes the volume, or the mask, again while it is measured. */
static bool write_again(void *context, const crd_progress *progress)
{
    const call *c = context;
    (void)progress;
    return save(c->mask != NULL ? c->mask : scratch("volume.npy"), c->shape) == CRD_OK;
}

static void test_changed_file(void)
{
    call c = {.shape = {20, 24, 28}, .properties = "surface"};
    crd_measure_options options;
    const crd_monitor monitor = {.context = &c, .progress = write_again};
    crd_measurement *m = NULL;
    memset(voxels, 1, 20 * 24 * 28);
    CHECK_OK(save(scratch("whole.npy"), c.shape));
    fill(c.shape, gyroid, 11.0);
    CHECK_OK(save(scratch("volume.npy"), c.shape));
    for (int turn = 0; turn < 2; turn++) {
        CHECK_OK(crd_settings_default(&crd_measure_settings, &options));
        CHECK_OK(crd_settings_set(&crd_measure_settings, &options, "input", scratch("volume.npy")));
        if (turn == 1) CHECK_OK(crd_settings_set(&crd_measure_settings, &options, "mask", scratch("whole.npy")));
        c.mask = options.mask;
        CHECK_OK(crd_measure(&options, NULL, &m));
        crd_measurement_free(&m);
        CHECK_FAILS(crd_measure(&options, &monitor, &m), CRD_ERR_FORMAT, "changed while");
        CHECK(m == NULL);
        c.mask = NULL;
        crd_settings_clear(&crd_measure_settings, &options);
    }
}

TEST_MAIN(TEST(test_shapes), TEST(test_small), TEST(test_same_bytes), TEST(test_slow_same_bytes), TEST(test_turned),
          TEST(test_scaled), TEST(test_odd_input), TEST(test_phases), TEST(test_blocks), TEST(test_label),
          TEST(test_values_of_labels), TEST(test_changed_file))
