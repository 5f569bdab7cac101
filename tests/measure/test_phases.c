/* Interfaces and triple lines against a count of every pair and every face, and against shapes whose values are known.
 */
#include "credence/measure.h"
#include "harness.h"
#include "measure/weights.h"
#include "volume_tools.h"

enum { MOST = 64 * 64 * 64, PHASES = 5 };
static const double PI = 3.14159265358979323846;
static uint8_t voxels[MOST], inside[MOST];
static const uint8_t values[PHASES] = {0, 3, 4, 90, 255};
static bool active; /* triple lines of what joins both faces, too */

static crd_status save(const char *path, const int64_t shape[3], const uint8_t *what)
{
    crd_volume *volume = NULL;
    crd_volume_info info = {.type = CRD_U8, .scale = 1.0};
    memcpy(info.shape, shape, sizeof info.shape);
    const crd_box box = {.size = {shape[0], shape[1], shape[2]}};
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &box, what);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

static crd_status measure(const int64_t shape[3], const char *spacing, bool masked, const char *memory,
                          const char *properties, crd_measurement **out)
{
    crd_measure_options options;
    const char *path = scratch("phases.npy"), *mask = scratch("phases_mask.npy");
    const struct {
        const char *name, *text;
    } rows[] = {{"spacing", spacing},
                {"max-memory", memory},
                {"mask", masked ? mask : NULL},
                {"properties", properties},
                {"active", active ? "true" : NULL},
                {"phase", "all"}};
    crd_status status = save(path, shape, voxels);
    *out = NULL;
    if (status == CRD_OK && masked) status = save(mask, shape, inside);
    if (status == CRD_OK) status = crd_settings_default(&crd_measure_settings, &options);
    if (status == CRD_OK) status = crd_settings_set(&crd_measure_settings, &options, "input", path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == CRD_OK; i++) {
        if (rows[i].text != NULL) {
            status = crd_settings_set(&crd_measure_settings, &options, rows[i].name, rows[i].text);
        }
    }
    if (status == CRD_OK) status = crd_measure(&options, NULL, out);
    crd_settings_clear(&crd_measure_settings, &options);
    return status;
}

static double between(const crd_measurement *m, const char *name)
{
    const crd_property *p = crd_measurement_find(m, name, (double)NAN);
    return p != NULL ? p->segmentation : -12345.0;
}

/* Corner k of the cell at (z, y, x). */
static int64_t corner(const int64_t shape[3], int64_t z, int64_t y, int64_t x, int k)
{
    return ((z + (k >> 2)) * shape[1] + y + (k >> 1 & 1)) * shape[2] + x + (k & 1);
}

/* Length of a triple line by faces, area of an interface by pairs: every cell, corner by corner. */
static void count_plainly(const int64_t shape[3], const double s[3], const uint8_t of[3], double *area, double *length)
{
    crd_cell_weights weights;
    crd_cell_sums sums = {0};
    int64_t faces[3] = {0};
    crd_cell_weights_make(s, &weights);
    for (int64_t z = 0; z + 1 < shape[0]; z++) {
        for (int64_t y = 0; y + 1 < shape[1]; y++) {
            for (int64_t x = 0; x + 1 < shape[2]; x++) {
                int counted = 0;
                for (int k = 0; k < 8; k++) counted += inside[corner(shape, z, y, x, k)];
                if (counted < 8) continue;
                sums.cells++;
                for (int i = 0; i < 8; i++) {
                    for (int j = i + 1; j < 8; j++) {
                        static const int classes[8] = {-1, 2, 1, 3, 0, 4, 5, 6}; /* by the axes that differ: z 4, x 1 */
                        const uint8_t a = voxels[corner(shape, z, y, x, i)], b = voxels[corner(shape, z, y, x, j)];
                        if ((a == of[0] && b == of[1]) || (a == of[1] && b == of[0])) sums.unlike[classes[i ^ j]]++;
                    }
                }
                for (int axis = 0; axis < 3; axis++) {
                    for (int side = 0; side < 2; side++) {
                        bool met[3] = {false, false, false};
                        for (int k = 0; k < 8; k++) {
                            if ((k >> (2 - axis) & 1) != side) continue;
                            for (int i = 0; i < 3; i++) met[i] |= voxels[corner(shape, z, y, x, k)] == of[i];
                        }
                        faces[axis] += met[0] && met[1] && met[2];
                    }
                }
            }
        }
    }
    *area = crd_surface_density(&weights, &sums);
    *length = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        const double face = s[0] * s[1] * s[2] / s[axis];
        *length += 2.0 / 3.0 * (double)faces[axis] / (2.0 * (double)sums.cells * face);
    }
}

static void make_blobs(const int64_t shape[3], int phases, bool masked, uint64_t seed)
{
    uint64_t state = seed;
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        const int64_t x = i % shape[2], y = i / shape[2] % shape[1], z = i / shape[2] / shape[1];
        uint64_t cell = (uint64_t)((z / 3 * 1000 + y / 2) * 1000 + x / 4) + 77 * seed;
        const uint64_t noise = tools_random(&state);
        voxels[i] = values[(noise % 30 == 0 ? noise / 30 : tools_random(&cell)) % (uint64_t)phases];
        inside[i] = !masked || (tools_random(&state) % 50 != 0 && x + y > 6);
    }
    for (int p = 0; p < phases; p++) voxels[p] = values[p];
}

static void check_blobs(int phases, bool masked)
{
    const int64_t shape[3] = {17, 20, 33};
    const double spacing[3] = {0.5, 0.7, 0.9};
    crd_measurement *m = NULL, *tight = NULL;
    char name[CRD_PROPERTY_NAME];
    make_blobs(shape, phases, masked, (uint64_t)phases);
    CHECK_OK(measure(shape, "0.5,0.7,0.9,um", masked, "1G", "surface,interfaces", &m));
    for (int a = 0; a < phases; a++) {
        double sum = 0.0;
        for (int b = 0; b < phases; b++) {
            const uint8_t of[3] = {values[a < b ? a : b], values[a < b ? b : a], 77};
            double area, length;
            if (a == b) continue;
            snprintf(name, sizeof name, "interface_area_%d-%d", of[0], of[1]);
            sum += between(m, name);
            if (a > b) continue;
            count_plainly(shape, spacing, of, &area, &length);
            CHECK(between(m, name) == area); /* the same whole numbers */
        }
        const double surface = crd_measurement_find(m, "specific_surface", values[a])->segmentation;
        CHECK_NEAR(sum, surface, 1e-14 * surface);
    }
    for (int a = 0; a < phases; a++) {
        for (int b = a + 1; b < phases; b++) {
            for (int c = b + 1; c < phases; c++) {
                const uint8_t of[3] = {values[a], values[b], values[c]};
                double area, length;
                snprintf(name, sizeof name, "triple_line_%d-%d-%d", of[0], of[1], of[2]);
                count_plainly(shape, spacing, of, &area, &length);
                CHECK_NEAR(between(m, name), length, 1e-14 * length);
                const crd_property *p = crd_measurement_find(m, name, (double)NAN);
                CHECK(p->detail_count == 1 && strcmp(p->details[0].name, "staircase") == 0);
                CHECK_NEAR(p->details[0].segmentation, 1.5 * length, 1e-14 * length);
            }
        }
    }
    CHECK_OK(measure(shape, "0.5,0.7,0.9,um", masked, "12M", "surface,interfaces", &tight));
    CHECK(tight->property_count == m->property_count && tight->memory_bytes <= m->memory_bytes);
    for (int64_t i = 0; i < m->property_count; i++) {
        CHECK(tight->properties[i].segmentation == m->properties[i].segmentation);
    }
    crd_measurement_free(&m);
    crd_measurement_free(&tight);
}

static void test_every_pair_and_face(void)
{
    for (int phases = 3; phases <= PHASES; phases++) {
        check_blobs(phases, false);
        check_blobs(phases, true);
    }
}

/* Leaves of a phase only what joins both faces normal to an axis; the rest becomes `other`. */
static void keep_joining(const int64_t shape[3], int axis, uint8_t phase, uint8_t other)
{
    enum { FIRST = 1, LAST = 2 };
    static uint8_t touched[MOST], seen[MOST];
    static int32_t stack[MOST];
    const int64_t n = shape[0] * shape[1] * shape[2], steps[3] = {shape[1] * shape[2], shape[2], 1};
    memset(touched, 0, sizeof touched);
    for (int face = FIRST; face <= LAST; face++) {
        int64_t depth = 0;
        memset(seen, 0, sizeof seen);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = i / steps[axis] % shape[axis];
            if (at != (face == FIRST ? 0 : shape[axis] - 1) || voxels[i] != phase || inside[i] == 0) continue;
            seen[i] = 1;
            stack[depth++] = (int32_t)i;
        }
        while (depth > 0) {
            const int64_t i = stack[--depth];
            touched[i] |= (uint8_t)face;
            for (int a = 0; a < 3; a++) {
                const int64_t at = i / steps[a] % shape[a];
                for (int side = -1; side <= 1; side += 2) {
                    const int64_t next = i + side * steps[a];
                    if (at + side < 0 || at + side >= shape[a] || seen[next]) continue;
                    if (voxels[next] != phase || inside[next] == 0) continue;
                    seen[next] = 1;
                    stack[depth++] = (int32_t)next;
                }
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (voxels[i] == phase && touched[i] != (FIRST | LAST)) voxels[i] = other;
    }
}

/* Every axis and three phases, of blobs that join the faces in part. */
static void check_active(int phases, bool masked)
{
    const int64_t shape[3] = {9, 20, 67};
    const double spacing[3] = {0.5, 0.7, 0.9};
    static uint8_t whole[MOST];
    crd_measurement *m = NULL;
    char name[CRD_PROPERTY_NAME];
    int64_t lines = 0, fewer = 0;
    make_blobs(shape, phases, masked, (uint64_t)phases + 3);
    for (int64_t i = 0; i < 9 * 20 * 67; i++) { /* columns along z that reach through, and some that are cut */
        const int64_t x = i % 67, y = i / 67 % 20, z = i / 67 / 20;
        if (x % 9 < 6 && y % 7 < 5 && (z != 4 || x > 30)) voxels[i] = values[(x / 3 + y / 7) % phases];
    }
    memcpy(whole, voxels, sizeof whole);
    active = true;
    CHECK_OK(measure(shape, "0.5,0.7,0.9,um", masked, "1G", "interfaces", &m));
    active = false;
    for (int axis = 0; axis < 3 && m != NULL; axis++) {
        memcpy(voxels, whole, sizeof whole);
        for (int p = 0; p < phases; p++) keep_joining(shape, axis, values[p], 77);
        for (int a = 0; a < phases; a++) {
            for (int b = a + 1; b < phases; b++) {
                for (int c = b + 1; c < phases; c++) {
                    const uint8_t of[3] = {values[a], values[b], values[c]};
                    double area, length;
                    count_plainly(shape, spacing, of, &area, &length);
                    snprintf(name, sizeof name, "active_triple_line_%d-%d-%d_%c", of[0], of[1], of[2], "zyx"[axis]);
                    CHECK_NEAR(between(m, name), length, 1e-14 * length);
                    lines += length > 0.0;
                    snprintf(name, sizeof name, "triple_line_%d-%d-%d", of[0], of[1], of[2]);
                    fewer += length < between(m, name);
                }
            }
        }
    }
    CHECK(lines > 0 && fewer > 0);
    crd_measurement_free(&m);
}

static void test_active_lines(void)
{
    const int64_t shape[3] = {8, 9, 10};
    crd_measurement *m = NULL;
    for (int phases = 3; phases <= PHASES; phases++) {
        check_active(phases, false);
        check_active(phases, true);
    }
    for (int64_t i = 0; i < 720; i++) voxels[i] = (uint8_t)(i / 10 % 2);
    active = true;
    CHECK(measure(shape, "1,1,1,um", false, "1G", "interfaces", &m) == CRD_ERR_ARGUMENT);
    CHECK(strstr(crd_last_error()->message, "3 to 6 phases") != NULL);
    active = false;
}

/* A ball between two half spaces: its rim, a tilted circle, is where three phases meet. Known to be a few percent too
 * long, where the staircase is more than half too long. */
static void test_circles(void)
{
    const int64_t shape[3] = {64, 64, 64};
    double error = 0.0, most = 0.0;
    uint64_t state = 11;
    enum { TURNS = 24 };
    for (int turn = 0; turn < TURNS; turn++) {
        double n[3], length = 0.0, radius = 22.0;
        crd_measurement *m = NULL;
        do { /* as many in any direction */
            length = 0.0;
            for (int a = 0; a < 3; a++) n[a] = (double)(tools_random(&state) % 2001) / 1000.0 - 1.0;
            for (int a = 0; a < 3; a++) length += n[a] * n[a];
        } while (length > 1.0 || length < 0.01);
        for (int64_t i = 0; i < MOST; i++) {
            const double p[3] = {(double)(i / 4096) - 31.5, (double)(i / 64 % 64) - 31.5, (double)(i % 64) - 31.5};
            const double side = (p[0] * n[0] + p[1] * n[1] + p[2] * n[2]) / sqrt(length);
            voxels[i] = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] < radius * radius ? 2 : side > 0.0;
        }
        CHECK_OK(measure(shape, "1,1,1,um", false, "1G", "surface,interfaces", &m));
        const double found = between(m, "triple_line_0-1-2") * 63.0 * 63.0 * 63.0 / (2.0 * PI * radius) - 1.0;
        error += found / TURNS;
        most = fabs(found) > most ? fabs(found) : most;
        const double ball = between(m, "interface_area_0-2") + between(m, "interface_area_1-2");
        CHECK_NEAR(ball * 63.0 * 63.0 * 63.0 / (4.0 * PI * radius * radius), 1.0, 0.006);
        crd_measurement_free(&m);
    }
    CHECK(error > 0.0 && error < 0.08);
    CHECK(most < 0.2);
}

/* Layers have interfaces between neighbours alone, and no line. */
static void test_layers(void)
{
    const int64_t shape[3] = {40, 30, 20};
    crd_measurement *m = NULL;
    for (int64_t i = 0; i < 40 * 30 * 20; i++) voxels[i] = (uint8_t)(i / 600 / 10);
    CHECK_OK(measure(shape, "2,1,1,um", false, "1G", "fast", &m));
    CHECK(between(m, "interface_area_0-2") == 0.0 && between(m, "interface_area_1-3") == 0.0);
    CHECK(between(m, "interface_area_0-1") == between(m, "interface_area_2-3") &&
          between(m, "interface_area_1-2") > 0.0);
    CHECK(between(m, "triple_line_0-1-2") == 0.0 && between(m, "triple_line_1-2-3") == 0.0);
    crd_measurement_free(&m);
    const int64_t slice[3] = {1, 30, 20};
    for (int64_t i = 0; i < 600; i++) voxels[i] = (uint8_t)(i % 3);
    CHECK_OK(measure(slice, "2,1,1,um", false, "1G", "fast", &m));
    CHECK(isnan(between(m, "interface_area_0-1")) && isnan(between(m, "triple_line_0-1-2")));
    CHECK(strstr(crd_measurement_find(m, "interface_area_0-1", (double)NAN)->note, "one voxel thick") != NULL);
    crd_measurement_free(&m);
}

/* More phases than triple lines are measured for: said. */
static void test_many_phases(void)
{
    const int64_t shape[3] = {8, 9, 10};
    crd_measurement *m = NULL;
    bool said = false;
    for (int64_t i = 0; i < 720; i++) voxels[i] = (uint8_t)(i * 7 % 9);
    CHECK_OK(measure(shape, "1,1,1,um", false, "1G", "interfaces", &m));
    CHECK(between(m, "interface_area_3-8") > 0.0);
    CHECK(crd_measurement_find(m, "triple_line_0-1-2", (double)NAN) == NULL);
    for (int64_t i = 0; i < m->notes.count; i++) said |= strstr(m->notes.items[i], "triple lines") != NULL;
    CHECK(said);
    crd_measurement_free(&m);
}

TEST_MAIN(TEST(test_every_pair_and_face), TEST(test_active_lines), TEST(test_circles), TEST(test_layers),
          TEST(test_many_phases))
