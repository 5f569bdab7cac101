/* Validation: all instruction paths, all ways of dividing the work, and slow obvious sums. NumPy checks the figures in
 * tests/interop/test_validate.py. */
#include "base/memory.h"
#include "harness.h"
#include "validate/figures.h"
#include "volume_tools.h"

enum { DEPTH = 21, HEIGHT = 19, WIDTH = 23, VOXELS = DEPTH * HEIGHT * WIDTH };

static double uniform(uint64_t *state)
{
    return (double)(tools_random(state) >> 11) * 0x1p-53;
}

static void save(const char *path, crd_type type, const void *voxels)
{
    crd_volume *volume = NULL;
    const crd_volume_info info = {.shape = {DEPTH, HEIGHT, WIDTH}, .type = type, .scale = 1.0};
    const crd_box all = {{0, 0, 0}, {DEPTH, HEIGHT, WIDTH}};
    CHECK_OK(crd_volume_create(path, &info, NULL, &volume));
    CHECK_OK(crd_volume_write(volume, &all, voxels));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
}

static float prob[VOXELS], unc[VOXELS];
static uint8_t seg[VOXELS], label[VOXELS];

/* Writes prob, seg, unc and label; some voxels have no label (9). */
static void make_scene(void)
{
    uint64_t state = 7;
    for (int i = 0; i < VOXELS; i++) {
        prob[i] = (float)uniform(&state);
        seg[i] = prob[i] > 0.5f;
        label[i] = (uint8_t)(uniform(&state) < 0.15 ? !seg[i] : seg[i]);
        if (uniform(&state) < 0.01) label[i] = 9;
        unc[i] = (float)(uniform(&state) * (seg[i] == label[i] ? 0.2 : 0.4));
    }
    save(scratch("prob.npy"), CRD_F32, prob);
    save(scratch("seg.npy"), CRD_U8, seg);
    save(scratch("unc.npy"), CRD_F32, unc);
    save(scratch("label.npy"), CRD_U8, label);
}

static crd_status open_scene(crd_validate_options *options, crd_inputs *inputs)
{
    *inputs = (crd_inputs){0};
    CRD_PASS(crd_settings_default(&crd_validate_settings, options));
    CRD_PASS(crd_settings_set(&crd_validate_settings, options, "prob", scratch("prob.npy")));
    CRD_PASS(crd_settings_set(&crd_validate_settings, options, "seg", scratch("seg.npy")));
    CRD_PASS(crd_settings_set(&crd_validate_settings, options, "unc", scratch("unc.npy")));
    CRD_PASS(crd_settings_set(&crd_validate_settings, options, "label", scratch("label.npy")));
    CRD_PASS(crd_settings_set(&crd_validate_settings, options, "ignore", "9"));
    CRD_PASS(crd_settings_set(&crd_validate_settings, options, "intervals", scratch("prob.npy")));
    return crd_inputs_open(options, NULL, inputs);
}

static crd_sweep sweep_of(const crd_inputs *inputs, crd_pool *pool)
{
    return (crd_sweep){.inputs = inputs,
                       .rows = crd_rows_best(),
                       .pool = pool,
                       .last = DEPTH,
                       .edge = 2,
                       .stride = 1,
                       .need = 7,
                       .threshold = 0.11};
}

/* The figures as text, from a tally of the slices between the cuts, merged in the order given. */
static crd_status figures_text(crd_sweep sweep, const int64_t (*parts)[2], int count, char **json)
{
    crd_status status = CRD_OK;
    crd_tally *all = NULL, *part = NULL;
    crd_validation *figures = NULL;
    CRD_TRY(crd_tally_create(DEPTH, 0, 2, &all));
    for (int i = 0; i < count; i++) {
        sweep.first = parts[i][0];
        sweep.last = parts[i][1];
        CRD_TRY(crd_tally_create(DEPTH, 0, 2, &part));
        CRD_TRY(crd_sweep_run(&sweep, part));
        CRD_TRY(crd_sweep_distance(&sweep, part));
        crd_tally_merge(all, part);
        crd_tally_free(&part);
    }
    CRD_TRY(crd_validation_create(&figures));
    CRD_TRY(crd_figures_make(&sweep, all, figures));
    CRD_TRY(crd_validation_to_json(figures, NULL, json));
done:
    crd_validation_free(&figures);
    crd_tally_free(&part);
    crd_tally_free(&all);
    return status;
}

static void test_parts_in_any_order(void)
{
    static const int64_t whole[][2] = {{0, DEPTH}};
    static const int64_t parts[][2] = {{13, DEPTH}, {0, 1}, {8, 13}, {1, 8}}, singles[][2] = {{20, 21}, {0, 20}};
    crd_validate_options options;
    crd_inputs inputs;
    crd_pool *pool = NULL;
    char *one = NULL, *other = NULL;
    make_scene();
    CHECK_OK(crd_pool_create(3, &pool));
    CHECK_OK(open_scene(&options, &inputs));
    const crd_sweep sweep = sweep_of(&inputs, pool);
    CHECK_OK(figures_text(sweep, whole, 1, &one));
    CHECK_OK(figures_text(sweep, parts, 4, &other));
    CHECK(strcmp(one, other) == 0);
    crd_free(&other);
    CHECK_OK(figures_text(sweep, singles, 2, &other));
    CHECK(strcmp(one, other) == 0);
    crd_free(&other);
    crd_free(&one);
    crd_inputs_close(&inputs);
    crd_settings_clear(&crd_validate_settings, &options);
    crd_pool_free(&pool);
}

static void test_every_instruction_path(void)
{
    static const int64_t whole[][2] = {{0, DEPTH}};
    crd_validate_options options;
    crd_inputs inputs;
    crd_pool *pool = NULL;
    char *first = NULL, *other = NULL;
    make_scene();
    CHECK_OK(crd_pool_create(1, &pool));
    CHECK_OK(open_scene(&options, &inputs));
    crd_sweep sweep = sweep_of(&inputs, pool);
    for (int i = 0; i < CRD_CPU_PATH_COUNT; i++) {
        if (!have_cpu(i)) continue;
        sweep.rows = crd_rows_all[i];
        CHECK_OK(figures_text(sweep, whole, 1, first == NULL ? &first : &other));
        if (other != NULL) CHECK(strcmp(first, other) == 0);
        crd_free(&other);
    }
    crd_free(&first);
    crd_inputs_close(&inputs);
    crd_settings_clear(&crd_validate_settings, &options);
    crd_pool_free(&pool);
}

/* Cubes of edge 2 by hand, and by the loops for any edge, which an exact curve makes the sweep use. */
static void test_cubes(void)
{
    const double threshold = 0.11;
    int64_t counts[4] = {0};
    crd_validation *fast = NULL, *plain = NULL;
    crd_validate_options options;
    crd_inputs inputs;
    make_scene();
    for (int z = 0; z + 1 < DEPTH; z++) {
        for (int y = 0; y + 1 < HEIGHT; y++) {
            for (int x = 0; x + 1 < WIDTH; x++) {
                double sum = 0.0;
                int right = 0, labelled = 0;
                for (int k = 0; k < 8; k++) {
                    const int at = ((z + (k >> 2)) * HEIGHT + y + (k >> 1 & 1)) * WIDTH + x + (k & 1);
                    sum += nearbyint((double)unc[at] * 0x1p32);
                    right += label[at] == seg[at];
                    labelled += label[at] != 9;
                }
                if (labelled == 8) counts[(right >= 7) << 1 | (sum / 8 >= threshold * 0x1p32)]++;
            }
        }
    }
    CHECK_OK(open_scene(&options, &inputs));
    CHECK_OK(crd_settings_set(&crd_validate_settings, &options, "threshold", "0.11"));
    CHECK_OK(crd_validate(&options, NULL, &fast));
    CHECK_OK(crd_settings_set(&crd_validate_settings, &options, "thresholds", "0.05,0.11"));
    CHECK_OK(crd_validate(&options, NULL, &plain));
    const crd_pavpu *found[] = {&fast->pavpu, &plain->pavpu};
    for (int i = 0; i < 2; i++) {
        CHECK(found[i]->n_ic == counts[0] && found[i]->n_iu == counts[1]);
        CHECK(found[i]->n_ac == counts[2] && found[i]->n_au == counts[3]);
    }
    CHECK(plain->pavpu_curve.threshold.count == 2);
    CHECK(plain->pavpu_curve.n_iu.items[1] == (double)counts[1]);
    crd_validation_free(&fast);
    crd_validation_free(&plain);
    crd_inputs_close(&inputs);
    crd_settings_clear(&crd_validate_settings, &options);
}

/* Ties averaged, voxel by voxel. */
static void test_risk_area(void)
{
    static int64_t bins[40][2];
    uint64_t state = 3;
    for (int round = 0; round < 50; round++) {
        double covered = 0.0, errors = 0.0, area = 0.0;
        for (int b = 0; b < 40; b++) {
            const int64_t size = round % 5 == 0 ? 5000 : 7;
            bins[b][0] = (int64_t)(tools_random(&state) % (uint64_t)size);
            bins[b][1] = (int64_t)(tools_random(&state) % (uint64_t)(size / 3));
            const int64_t all = bins[b][0] + bins[b][1];
            for (int64_t i = 0; i < all; i++) {
                covered += 1.0;
                errors += (double)bins[b][1] / (double)all;
                area += errors / covered;
            }
        }
        CHECK_NEAR(crd_risk_area(bins, 40), area / covered, 1e-12);
    }
    memset(bins, 0, sizeof bins);
    CHECK(isnan(crd_risk_area(bins, 40)));
    bins[3][0] = 100;
    CHECK(crd_risk_area(bins, 40) == 0.0);
}

/* What was written comes back bit by bit, and a file by somebody else is refused or read as far as it goes. */
static void test_json_comes_back(void)
{
    crd_validation *figures = NULL, *again = NULL;
    crd_validate_options options;
    crd_inputs inputs;
    char *one = NULL, *other = NULL;
    make_scene();
    CHECK_OK(open_scene(&options, &inputs));
    CHECK_OK(crd_validate(&options, NULL, NULL));
    CHECK_OK(crd_validate(&options, NULL, &figures));
    CHECK_OK(crd_validation_to_json(figures, NULL, &one));
    CHECK_OK(crd_validation_from_json(one, "one", &again));
    CHECK_OK(crd_validation_to_json(again, NULL, &other));
    CHECK(strcmp(one, other) == 0);
    crd_validation_free(&again);
    crd_settings_free_text(&other);
    CHECK_FAILS(crd_validation_from_json("[1", "a.json", &again), CRD_ERR_FORMAT, "a.json");
    CHECK_OK(crd_validation_from_json("{\"tp\": \"x\", \"slices\": 3, \"accuracy\": null, \"iou\": 0.5}", "b", &again));
    CHECK(again->tp == 0 && isnan(again->accuracy) && again->iou == 0.5 && again->slices.accuracy.count == 0);
    crd_validation_free(&again);
    crd_validation_free(&figures);
    crd_settings_free_text(&one);
    crd_inputs_close(&inputs);
    crd_settings_clear(&crd_validate_settings, &options);
}

/* A scene with a few balls in it, wide enough for blocks that are far from everything, on both sides of their class. */
enum { DEEP = 75, HIGH = 70, WIDE = 150, MANY = DEEP * HIGH * WIDE };
static uint8_t balls[MANY];

static void make_balls(void)
{
    static const int centre[4][4] = {{0, 0, 0, 12}, {30, 60, 149, 19}, {40, 20, 60, 5}, {70, 69, 75, 40}}; /* z y x r */
    for (int i = 0; i < MANY; i++) {
        const int z = i / (HIGH * WIDE), y = i / WIDE % HIGH, x = i % WIDE;
        balls[i] = 0;
        for (int b = 0; b < 4; b++) {
            const int dz = z - centre[b][0], dy = y - centre[b][1], dx = x - centre[b][2];
            balls[i] |= dz * dz + dy * dy + dx * dx <= centre[b][3] * centre[b][3];
        }
    }
}

static void nearest_along(int *squares, int at, int stride, int length)
{
    int before[WIDE];
    for (int i = 0; i < length; i++) before[i] = squares[at + i * stride];
    for (int i = 0; i < length; i++) {
        for (int k = 0; k < length; k++) {
            const int through = before[k] + (i - k) * (i - k);
            if (through < squares[at + i * stride]) squares[at + i * stride] = through;
        }
    }
}

/* Squared distances to the nearest voxel of `class`, axis by axis over whole lines. */
static void distances_to(int class, int *squares)
{
    for (int i = 0; i < MANY; i++) squares[i] = balls[i] == class ? 0 : 1000000;
    for (int i = 0; i < DEEP * HIGH; i++) nearest_along(squares, i * WIDE, 1, WIDE);
    for (int z = 0; z < DEEP; z++) {
        for (int x = 0; x < WIDE; x++) nearest_along(squares, z * HIGH * WIDE + x, WIDE, HIGH);
    }
    for (int i = 0; i < HIGH * WIDE; i++) nearest_along(squares, i, HIGH * WIDE, DEEP);
}

static void test_distances(void)
{
    static int squares[2][MANY];
    int64_t expected[CRD_DISTANCES] = {0};
    crd_validate_options options;
    crd_inputs inputs = {0};
    crd_pool *pool = NULL;
    crd_volume *volume = NULL;
    const crd_volume_info info = {.shape = {DEEP, HIGH, WIDE}, .type = CRD_U8, .scale = 1.0};
    const crd_box all = {{0, 0, 0}, {DEEP, HIGH, WIDE}};
    make_balls();
    distances_to(0, squares[0]);
    distances_to(1, squares[1]);
    for (int i = 0; i < MANY; i++) {
        const int square = squares[1 - balls[i]][i];
        int distance = 1;
        while (distance <= CRD_DISTANCE_MAX && (distance + 1) * (distance + 1) <= square) distance++;
        expected[distance - 1]++;
    }
    CHECK_OK(crd_volume_create(scratch("balls.npy"), &info, NULL, &volume));
    CHECK_OK(crd_volume_write(volume, &all, balls));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK_OK(crd_settings_default(&crd_validate_settings, &options));
    CHECK_OK(crd_settings_set(&crd_validate_settings, &options, "seg", scratch("balls.npy")));
    CHECK_OK(crd_settings_set(&crd_validate_settings, &options, "label", scratch("balls.npy")));
    CHECK_OK(crd_inputs_open(&options, NULL, &inputs));
    CHECK_OK(crd_pool_create(2, &pool));
    for (int path = 0; path < CRD_CPU_PATH_COUNT; path++) {
        if (!have_cpu(path)) continue;
        crd_tally *tally = NULL;
        crd_sweep sweep = sweep_of(&inputs, pool);
        sweep.last = DEEP;
        sweep.rows = crd_rows_all[path];
        CHECK_OK(crd_tally_create(DEEP, 0, 2, &tally));
        CHECK_OK(crd_sweep_distance(&sweep, tally));
        for (int d = 0; d < CRD_DISTANCES; d++) {
            CHECK(tally->distance[d].count == expected[d]);
            CHECK(tally->distance[d].wrong == 0);
        }
        crd_tally_free(&tally);
    }
    crd_pool_free(&pool);
    crd_inputs_close(&inputs);
    crd_settings_clear(&crd_validate_settings, &options);
}

static void test_words(void)
{
    crd_validation good = {0}, bad = {0};
    char *text = NULL;
    good.accuracy = 0.97;
    bad.accuracy = 0.96;
    good.pavpu = (crd_pavpu){.n_ac = 80, .n_au = 20, .pavpu3d = 0.700, .p_uncertain_given_inaccurate = 0.5};
    bad.pavpu = (crd_pavpu){.n_ac = 90, .n_au = 10, .pavpu3d = 0.705, .p_uncertain_given_inaccurate = (double)NAN};
    good.uncertainty.mean = 0.03;
    bad.uncertainty.mean = 0.01;
    const crd_compared_run runs[] = {{"a", "bcnn", &good}, {"b", "mcdn", &bad}, {"c", "bcnn", &good}};
    CHECK_OK(crd_compare_in_words(runs, 3, &text));
    CHECK(strstr(text, "segmented right: bcnn 97 %, mcdn 96 %; bcnn is ahead.") != NULL);
    CHECK(strstr(text, "doubts without need: bcnn 20 %, mcdn 10 %; mcdn is ahead.") != NULL);
    CHECK(strstr(text, "(PAvPU3D): bcnn 70 %, mcdn 70.5 %; level.") != NULL);
    CHECK(strstr(text, "warns of: bcnn 50 %, mcdn n/a.\n") != NULL);
    CHECK(strstr(text, "uncertainty of bcnn is 3 times that of mcdn") != NULL);
    CHECK(strstr(text, "of 7 figures: bcnn is ahead in 1, mcdn is ahead in 1, 5 level") != NULL);
    crd_settings_free_text(&text);
    const crd_compared_run alike[] = {{"a", "bcnn", &good}, {"b", "bcnn", &bad}};
    CHECK_OK(crd_compare_in_words(alike, 2, &text)); /* of one kind: by their names */
    CHECK(strstr(text, "segmented right: a 97 %, b 96 %; a is ahead.") != NULL);
    crd_settings_free_text(&text);
    CHECK_FAILS(crd_compare_in_words(runs, 1, &text), CRD_ERR_ARGUMENT, "two runs");
}

static bool refuse(void *context, const crd_progress *progress)
{
    (void)context;
    (void)progress;
    return false;
}

static void test_cancelling(void)
{
    crd_validation *figures = NULL;
    crd_validate_options options;
    crd_inputs inputs;
    const crd_monitor monitor = {.progress = refuse};
    make_scene();
    CHECK_OK(open_scene(&options, &inputs));
    CHECK(crd_validate(&options, &monitor, &figures) == CRD_ERR_CANCELLED);
    CHECK(figures == NULL);
    crd_inputs_close(&inputs);
    crd_settings_clear(&crd_validate_settings, &options);
}

TEST_MAIN(TEST(test_parts_in_any_order), TEST(test_every_instruction_path), TEST(test_cubes), TEST(test_risk_area),
          TEST(test_distances), TEST(test_words), TEST(test_json_comes_back), TEST(test_cancelling))
