/* What a phantom promises: the same bytes for any slabs and threads, the fraction that was asked for, a scan that no
 * threshold segments, a label that errs as a hand does, and memory that doesn't grow with the depth. */
#include "harness.h"
#include "phantom/score.h"
#include "phantom_tools.h"

enum { KINDS = CRD_PHANTOM_IMAGE }; /* worlds of their own */

static int same_bytes(const phantom *a, const phantom *b)
{
    const size_t voxels = (size_t)a->voxels;
    return memcmp(a->scan, b->scan, 2 * voxels) == 0 && memcmp(a->label, b->label, voxels) == 0 &&
           memcmp(a->truth, b->truth, voxels) == 0;
}

/* Wider than one tile and not a multiple of anything, so that seams would show. */
static void test_slabs_threads_and_order_do_not_matter(void)
{
    static const struct {
        int64_t slices;
        int threads, backwards;
    } ways[] = {{1, 1, 0}, {3, 2, 0}, {5, 3, 1}, {0, 4, 0}};
    for (int kind = 0; kind < KINDS; kind++) {
        crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 11, 70, 150);
        phantom whole, other;
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 11, 1, 0, &whole));
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, ways[i].slices, ways[i].threads, ways[i].backwards,
                                  &other));
            CHECK(same_bytes(&whole, &other));
            phantom_free(&other);
        }
        phantom_free(&whole);
        phantom_options_free((crd_phantom_kind)kind, &options);
    }
}

static uint64_t digest(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Written down once: a phantom and a seed are a result, whatever the machine, the compiler and its flags. */
static void test_bytes_are_those_of_every_machine(void)
{
    static const uint64_t expected[KINDS] = {UINT64_C(0x729cd1d91c6e87c9), UINT64_C(0xaa5821fb26c02060),
                                             UINT64_C(0xafab34372edb5350)};
    for (int kind = 0; kind < KINDS; kind++) {
        crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 16, 64, 96);
        phantom p;
        options.seed = 7;
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 0, 2, 0, &p));
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (int64_t i = 0; i < p.voxels; i++) { /* by value, so that the byte order doesn't matter */
            const uint16_t v = ((const uint16_t *)p.scan)[i];
            const unsigned char bytes[4] = {(unsigned char)(v & 255), (unsigned char)(v >> 8), p.label[i], p.truth[i]};
            hash = digest(hash, bytes, sizeof bytes);
        }
        if (hash != expected[kind]) printf("kind %d: 0x%016llx\n", kind, (unsigned long long)hash);
        CHECK(hash == expected[kind]);
        phantom_free(&p);
        phantom_options_free((crd_phantom_kind)kind, &options);
    }
}

static void test_another_seed_is_another_sample(void)
{
    crd_phantom_options options = phantom_options(CRD_PHANTOM_GRAPHITE, 8, 48, 48);
    phantom a, b;
    CHECK_OK(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 2, 0, &a));
    options.seed = INT64_C(0x12345678901); /* beyond 32 bits */
    CHECK_OK(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 2, 0, &b));
    int64_t truth = 0, scan = 0;
    for (int64_t i = 0; i < a.voxels; i++) {
        truth += a.truth[i] != b.truth[i];
        scan += ((const uint16_t *)a.scan)[i] != ((const uint16_t *)b.scan)[i];
    }
    CHECK(truth > a.voxels / 5);
    CHECK(scan > a.voxels * 99 / 100);
    phantom_free(&a);
    phantom_free(&b);
    phantom_options_free(CRD_PHANTOM_GRAPHITE, &options);
}

static crd_phantom_result score(crd_phantom_kind kind, const phantom *p)
{
    crd_phantom_result result;
    crd_score *counts = calloc(1, sizeof *counts);
    if (counts == NULL) abort();
    crd_score_add(counts, CRD_U16, p->scan, p->label, p->truth, p->voxels);
    static const int orders[][3] = {{1, 0}, {0, 1}, {0, 2, 1}}; /* dark to light */
    crd_score_finish(counts, crd_phantom_phases(kind), orders[kind], CRD_U16, &result);
    free(counts);
    return result;
}

/* The figures that docs/PHANTOMS.md promises for the defaults. */
static void test_thresholds_fail_on_the_defaults(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 40, 112, 112);
        for (options.seed = 1; options.seed <= 4; options.seed++) {
            phantom p;
            CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 0, 2, 0, &p));
            const crd_phantom_result r = score((crd_phantom_kind)kind, &p);
            const double voxels = (double)r.voxels;
            CHECK(r.voxels == p.voxels);
            CHECK_NEAR((double)r.foreground / voxels, options.fraction, 0.005);
            const double hardest = r.phases > 2 ? 0.2 : 0.15;
            CHECK((double)r.threshold_errors > 0.08 * voxels && (double)r.threshold_errors < hardest * voxels);
            CHECK((double)r.threshold_errors < 0.85 * (double)r.majority_errors);
            CHECK((double)r.label_errors > 0.015 * voxels && (double)r.label_errors < 0.08 * voxels);
            phantom_free(&p);
        }
        phantom_options_free((crd_phantom_kind)kind, &options);
    }
}

/* The phase that thresholds make of a grey value. */
static int phase_by(crd_phantom_kind kind, double value, double low, double high)
{
    if (kind == CRD_PHANTOM_ELECTRODE) return value < low ? 0 : value < high ? 2 : 1;
    return kind == CRD_PHANTOM_GRAPHITE ? value < low : value >= low;
}

/* Two thresholds by brute force: the best pair on a coarse grid is no better than the one that is reported. */
static void test_best_two_thresholds_by_brute_force(void)
{
    enum { STEP = 1024, STEPS = 65536 / STEP };
    crd_phantom_options options = phantom_options(CRD_PHANTOM_ELECTRODE, 8, 40, 40);
    phantom p;
    CHECK_OK(phantom_make(CRD_PHANTOM_ELECTRODE, &options, 0, 1, 0, &p));
    const crd_phantom_result r = score(CRD_PHANTOM_ELECTRODE, &p);
    const uint16_t *scan = p.scan;
    int64_t least = p.voxels, at_best = 0;
    for (int a = 0; a <= STEPS; a++) {
        for (int b = a; b <= STEPS; b++) {
            int64_t errors = 0;
            for (int64_t i = 0; i < p.voxels; i++) {
                errors += phase_by(CRD_PHANTOM_ELECTRODE, scan[i], STEP * a, STEP * b) != p.truth[i];
            }
            if (errors < least) least = errors;
        }
    }
    for (int64_t i = 0; i < p.voxels; i++) {
        at_best += phase_by(CRD_PHANTOM_ELECTRODE, scan[i], r.thresholds[0], r.thresholds[1]) != p.truth[i];
    }
    CHECK(r.phases == 3 && r.thresholds[0] < r.thresholds[1]);
    CHECK(at_best == r.threshold_errors);
    CHECK(r.threshold_errors <= least);
    phantom_free(&p);
    phantom_options_free(CRD_PHANTOM_ELECTRODE, &options);
}

/* Binder bridges particles: it is seldom far from two of them, and mostly touches one. */
static void test_electrode_has_three_phases(void)
{
    crd_phantom_options options = phantom_options(CRD_PHANTOM_ELECTRODE, 32, 96, 96);
    phantom p;
    options.binder_fraction = 0.12;
    CHECK_OK(phantom_make(CRD_PHANTOM_ELECTRODE, &options, 0, 2, 0, &p));
    const crd_phantom_result r = score(CRD_PHANTOM_ELECTRODE, &p);
    CHECK_NEAR((double)r.phase_voxels[1] / (double)r.voxels, options.fraction, 0.01);
    CHECK_NEAR((double)r.phase_voxels[2] / (double)r.voxels, options.binder_fraction, 0.01);
    CHECK(r.phase_voxels[0] + r.phase_voxels[1] + r.phase_voxels[2] == r.voxels);
    CHECK(r.label_phase_voxels[0] + r.label_phase_voxels[1] + r.label_phase_voxels[2] == r.voxels);
    double sum[3] = {0}, share = 0.0;
    for (int64_t i = 0; i < p.voxels; i++) sum[p.truth[i]] += (double)((const uint16_t *)p.scan)[i];
    for (int k = 0; k < 3; k++) sum[k] /= (double)r.phase_voxels[k];
    share = (sum[2] - sum[0]) / (sum[1] - sum[0]);
    CHECK(share > 0.3 && share < 0.7); /* binder lies between the other two */
    int64_t near_particle = 0;
    for (int64_t i = 0; i < p.voxels; i++) {
        if (p.truth[i] != 2) continue;
        const int64_t columns = p.shape[2], slice = p.shape[1] * columns, z = i / slice, y = i / columns % p.shape[1];
        int found = 0;
        for (int64_t dz = -5; dz <= 5 && !found; dz++) {
            for (int64_t dy = -5; dy <= 5 && !found; dy++) {
                for (int64_t dx = -5; dx <= 5 && !found; dx++) {
                    const int64_t x = i % columns + dx;
                    if (z + dz < 0 || z + dz >= p.shape[0] || y + dy < 0 || y + dy >= p.shape[1] || x < 0 ||
                        x >= columns)
                        continue;
                    found = p.truth[(z + dz) * slice + (y + dy) * columns + x] == 1;
                }
            }
        }
        near_particle += found;
    }
    CHECK(near_particle > r.phase_voxels[2] * 95 / 100);
    phantom_free(&p);
    phantom_options_free(CRD_PHANTOM_ELECTRODE, &options);
}

/* The threshold that is reported makes as many errors as is said, and no other makes fewer. */
static void test_best_threshold_by_brute_force(void)
{
    for (int kind = 0; kind < CRD_PHANTOM_ELECTRODE; kind++) {
        crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 8, 40, 40);
        phantom p;
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 0, 1, 0, &p));
        const crd_phantom_result r = score((crd_phantom_kind)kind, &p);
        int64_t least = p.voxels, at_best = 0;
        for (int t = 0; t <= 65536; t += 64) {
            int64_t errors = 0;
            for (int64_t i = 0; i < p.voxels; i++) {
                const double value = (double)((const uint16_t *)p.scan)[i];
                errors += phase_by((crd_phantom_kind)kind, value, t, t) != p.truth[i];
            }
            if (errors < least) least = errors;
        }
        for (int64_t i = 0; i < p.voxels; i++) {
            const double value = (double)((const uint16_t *)p.scan)[i];
            at_best += phase_by((crd_phantom_kind)kind, value, r.threshold, r.threshold) != p.truth[i];
        }
        CHECK(at_best == r.threshold_errors);
        CHECK(r.threshold_errors <= least);
        CHECK(r.threshold_errors <= r.majority_errors);
        phantom_free(&p);
        phantom_options_free((crd_phantom_kind)kind, &options);
    }
}

/* Is there a voxel of the other phase within `reach` in each direction? */
static int near_boundary(const phantom *p, int64_t at, int64_t reach)
{
    const int64_t yx = p->shape[1] * p->shape[2], z = at / yx, y = at / p->shape[2] % p->shape[1], x = at % p->shape[2];
    for (int64_t k = z - reach; k <= z + reach; k++) {
        for (int64_t j = y - reach; j <= y + reach; j++) {
            for (int64_t i = x - reach; i <= x + reach; i++) {
                if (k < 0 || j < 0 || i < 0 || k >= p->shape[0] || j >= p->shape[1] || i >= p->shape[2]) continue;
                if (p->truth[k * yx + j * p->shape[2] + i] != p->truth[at]) return 1;
            }
        }
    }
    return 0;
}

static void test_label_errs_at_boundaries(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 24, 96, 96);
        phantom p;
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 0, 2, 0, &p));
        int64_t wrong = 0, near = 0, too_much = 0;
        for (int64_t i = 0; i < p.voxels; i++) {
            if (p.label[i] == p.truth[i]) continue;
            wrong++;
            near += near_boundary(&p, i, 2);
            too_much += p.label[i] != 0;
        }
        CHECK(near > wrong * 95 / 100);
        CHECK(too_much > wrong / 4 && too_much < wrong * 3 / 4); /* it wavers: it isn't simply larger or smaller */
        phantom_free(&p);
        phantom_options_free((crd_phantom_kind)kind, &options);
    }
}

static void test_label_without_waver_is_the_truth(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 12, 80, 80);
        phantom p;
        options.label_waver = options.label_jitter = options.label_miss = 0.0;
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 0, 2, 0, &p));
        CHECK(memcmp(p.label, p.truth, (size_t)p.voxels) == 0);

        /* Who labels changes nothing of what is there. */
        phantom wavering;
        options.label_waver = options.label_jitter = 1.0;
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 0, 2, 0, &wavering));
        CHECK(memcmp(wavering.truth, p.truth, (size_t)p.voxels) == 0);
        CHECK(memcmp(wavering.scan, p.scan, (size_t)p.voxels * 2) == 0);
        CHECK(memcmp(wavering.label, p.label, (size_t)p.voxels) != 0);
        phantom_free(&wavering);
        phantom_free(&p);

        options.label_waver = options.label_jitter = 0.0;
        options.label_miss = 1.0; /* now every small object is missing, and nothing was added */
        CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 0, 2, 0, &p));
        int64_t missing = 0, added = 0;
        for (int64_t i = 0; i < p.voxels; i++) {
            missing += p.truth[i] == 1 && p.label[i] != 1;
            added += p.truth[i] != 1 && p.label[i] == 1;
        }
        CHECK(missing > p.voxels / 1000);
        CHECK(added == 0);
        phantom_free(&p);
        phantom_options_free((crd_phantom_kind)kind, &options);
    }
}

static void test_fractions_that_are_asked_for(void)
{
    static const struct {
        crd_phantom_kind kind;
        double fraction;
    } cases[] = {{CRD_PHANTOM_GRAPHITE, 0.2}, {CRD_PHANTOM_GRAPHITE, 0.65}, {CRD_PHANTOM_WELD, 0.03},
                 {CRD_PHANTOM_WELD, 0.3},     {CRD_PHANTOM_ELECTRODE, 0.3}, {CRD_PHANTOM_ELECTRODE, 0.6}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        crd_phantom_options options = phantom_options(cases[c].kind, 24, 96, 96);
        phantom p;
        options.fraction = cases[c].fraction;
        CHECK_OK(phantom_make(cases[c].kind, &options, 0, 2, 0, &p));
        int64_t foreground = 0;
        for (int64_t i = 0; i < p.voxels; i++) foreground += p.truth[i] == 1;
        CHECK_NEAR((double)foreground / (double)p.voxels, cases[c].fraction, 0.01);
        phantom_free(&p);
        phantom_options_free(cases[c].kind, &options);
    }
}

static void test_memory_does_not_grow_with_depth(void)
{
    int64_t bytes[2] = {0, 0};
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(2, &pool));
    for (int i = 0; i < 2; i++) {
        crd_phantom_options options = phantom_options(CRD_PHANTOM_WELD, i == 0 ? 64 : 200000, 96, 96);
        crd_generator *generator = NULL;
        CHECK_OK(crd_generator_create(CRD_PHANTOM_WELD, &options, 16, pool, &generator));
        bytes[i] = crd_generator_bytes(generator);
        const size_t slab = (size_t)16 * 96 * 96;
        uint16_t *scan = malloc(2 * slab);
        uint8_t *label = malloc(slab), *truth = malloc(slab);
        CHECK(scan != NULL && label != NULL && truth != NULL);
        CHECK_OK(crd_generator_slab(generator, options.shape[0] - 16, 16, scan, label, truth));
        free(scan);
        free(label);
        free(truth);
        crd_generator_free(&generator);
        phantom_options_free(CRD_PHANTOM_WELD, &options);
    }
    CHECK(bytes[0] == bytes[1]);
    CHECK(bytes[0] < 32 << 20);
    crd_pool_free(&pool);
}

/* Every option at both ends of its range, the others at their defaults. */
static void test_ends_of_all_ranges(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const crd_settings *table = crd_phantom_settings((crd_phantom_kind)kind);
        for (size_t row = 0; row < table->count; row += (size_t)sparse(4, "options")) {
            for (int end = 0; end < 2 && table->rows[row].kind == CRD_SETTING_REAL; end++) {
                crd_phantom_options options = phantom_options((crd_phantom_kind)kind, 8, 21, 26);
                phantom p;
                double *value = (double *)(void *)((char *)&options + table->rows[row].offset);
                *value = end == 0 ? table->rows[row].low : table->rows[row].high;
                CHECK_OK(phantom_make((crd_phantom_kind)kind, &options, 3, 2, 0, &p));
                for (int64_t i = 0; i < p.voxels; i++) {
                    CHECK(p.truth[i] < crd_phantom_phases((crd_phantom_kind)kind));
                    CHECK(p.label[i] < crd_phantom_phases((crd_phantom_kind)kind));
                }
                phantom_free(&p);
                phantom_options_free((crd_phantom_kind)kind, &options);
            }
        }
    }
}

static void test_wrong_options_are_refused(void)
{
    crd_phantom_options options = phantom_options(CRD_PHANTOM_GRAPHITE, 16, 64, 64);
    phantom p;
    options.fraction = 1.5;
    CHECK_FAILS(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 1, 0, &p), CRD_ERR_ARGUMENT,
                "fraction is 1.5; it must lie between 0.01 and 0.8");
    options.fraction = 0.5;
    options.blur = (double)NAN;
    CHECK_FAILS(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 1, 0, &p), CRD_ERR_ARGUMENT, "blur is");
    options.blur = 1.0;
    options.shape[1] = 4;
    CHECK_FAILS(phantom_make(CRD_PHANTOM_GRAPHITE, &options, 0, 1, 0, &p), CRD_ERR_ARGUMENT, "shape is 4");
    options.shape[1] = 64;
    CHECK_FAILS(phantom_make((crd_phantom_kind)9, &options, 0, 1, 0, &p), CRD_ERR_ARGUMENT, "no phantom of kind 9");
    phantom_options_free(CRD_PHANTOM_GRAPHITE, &options);
}

TEST_MAIN(TEST(test_slabs_threads_and_order_do_not_matter), TEST(test_bytes_are_those_of_every_machine),
          TEST(test_another_seed_is_another_sample), TEST(test_thresholds_fail_on_the_defaults),
          TEST(test_best_threshold_by_brute_force), TEST(test_best_two_thresholds_by_brute_force),
          TEST(test_electrode_has_three_phases), TEST(test_label_errs_at_boundaries),
          TEST(test_label_without_waver_is_the_truth), TEST(test_fractions_that_are_asked_for),
          TEST(test_memory_does_not_grow_with_depth), TEST(test_ends_of_all_ranges),
          TEST(test_wrong_options_are_refused))
