/* The first pass against the oracle: any realisations, masks, slabs and threads, all instruction sets. */
#include "measure/pass.h"

#include "base/cpu.h"
#include "harness.h"
#include "measure_oracle.h"
#include "volume_tools.h"

enum { MOST = 90000, REALISATIONS_MAX = 70 };
static uint8_t volumes[REALISATIONS_MAX][MOST], inside[MOST];
static const int64_t lags[] = {0, 1, 2, 5, 9};
enum { LAGS = sizeof lags / sizeof lags[0] };

static crd_status save(const char *path, const int64_t shape[3], const void *voxels)
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

/* Blobs of a few voxels that differ a little from realisation to realisation. */
static void make_volumes(const int64_t shape[3], int count, bool masked, uint64_t seed)
{
    const int64_t n = shape[0] * shape[1] * shape[2];
    uint64_t state = seed;
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i % shape[2], y = i / shape[2] % shape[1], z = i / shape[2] / shape[1];
        uint64_t cell = (uint64_t)((z / 2 * 1000 + y / 3) * 1000 + x / 3) + 77 * seed;
        const bool blob = tools_random(&cell) % 100 < 45;
        for (int s = 0; s < count; s++) volumes[s][i] = blob != (tools_random(&state) % 64 < 3);
        inside[i] = !masked || (tools_random(&state) % 40 != 0 && x + 2 * y > 5);
    }
    if (count > 2) memset(volumes[1], 1, (size_t)n); /* a full one and an empty one */
    if (count > 3) memset(volumes[2], 0, (size_t)n);
}

static void check_part(const crd_pass *pass, const int64_t shape[3], int64_t phase, int bit, int neighbours)
{
    static uint8_t voxels[MOST];
    static int64_t inner[256], outer[256], whole[1000];
    int own;
    const crd_pass_part *part = crd_pass_part_of(pass, phase, bit, &own);
    oracle o = {.phase = voxels, .inside = inside, .shape = {shape[0], shape[1], shape[2]}};
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++)
        voxels[i] = volumes[bit][i] == pass->plan.phases[phase];
    oracle_cells(&o, inner, outer);
    CHECK(memcmp(inner, part->cells.inner[own], sizeof inner) == 0);
    for (int code = 1; code < 256; code++) CHECK(outer[code] == part->cells.outer[own][code]);
    for (int axis = 0; axis < 3; axis++) {
        for (int l = 0; l < LAGS; l++) {
            int64_t counts[3];
            oracle_pairs(&o, axis, lags[l], counts);
            CHECK(counts[0] == part->pairs.pairs[axis * LAGS + l]);
            CHECK(counts[1] == part->pairs.both[axis * LAGS + l][own]);
            if (lags[l] == 1) CHECK(counts[2] == part->pairs.ends[axis][own]);
        }
        const crd_chord_counts *chord = axis == 2 ? &part->components.chord[own] : &part->chords.chord[axis][own];
        CHECK(oracle_chords(&o, axis, whole) == chord->cut);
        CHECK(memcmp(whole, chord->whole, (size_t)(shape[axis] + 1) * sizeof *whole) == 0);
    }
    crd_component_counts components;
    oracle_components(&o, neighbours, &components);
    CHECK(memcmp(&components, &part->components.counts[own], sizeof components) == 0);
}

static char names[REALISATIONS_MAX + 1][600]; /* of the files; the last is the mask's */

static void save_volumes(const int64_t shape[3], int count)
{
    for (int s = 0; s <= count; s++) {
        char name[32];
        const int place = s < count ? s : REALISATIONS_MAX;
        snprintf(name, sizeof name, "r%d.npy", place);
        snprintf(names[place], sizeof names[place], "%s", scratch(name));
        CHECK_OK(save(names[place], shape, s < count ? volumes[s] : inside));
    }
}

static void check_pass(const int64_t shape[3], int count, bool masked, int neighbours, int64_t slices, int threads)
{
    const char *paths[REALISATIONS_MAX];
    const char *mask = masked ? names[REALISATIONS_MAX] : NULL;
    crd_realisations *r = NULL;
    crd_pool *pool = NULL;
    crd_pass pass = {0};
    const int64_t phases[] = {1, 0};
    for (int s = 0; s < count; s++) paths[s] = names[s];
    CHECK_OK(crd_pool_create(threads, &pool));
    const crd_realisations_options options = {.paths = paths, .path_count = count, .mask = mask};
    CHECK_OK(crd_realisations_open(&options, NULL, &r));
    const crd_pass_plan plan = {.realisations = r,
                                .phases = phases,
                                .phase_count = 2,
                                .counted = CRD_COUNT_CELLS | CRD_COUNT_COMPONENTS | CRD_COUNT_CHORDS | CRD_COUNT_PAIRS,
                                .neighbours = neighbours,
                                .lags = lags,
                                .lag_count = LAGS,
                                .memory_bytes = INT64_C(1) << 30,
                                .most_slices = slices};
    CHECK_OK(crd_pass_begin(&pass, &plan, pool));
    CHECK_OK(crd_pass_run(&pass, pool, NULL));
    for (int64_t p = 0; p < 2; p++) {
        for (int s = 0; s < count && !harness_failed; s += s == 4 && count > 10 ? count - 6 : 1) {
            check_part(&pass, shape, p, s, neighbours);
            if (harness_failed) printf("    phase %d of realisation %d\n", (int)phases[p], s);
        }
    }
    crd_pass_end(&pass);
    crd_realisations_close(&r);
    crd_pool_free(&pool);
}

/* phases[0] is 1 and phases[1] is 0, so that the phase's place isn't its number. */
static void test_against_oracle(void)
{
    static const int64_t shapes[][3] = {{7, 9, 130}, {20, 33, 17}, {11, 5, 64}, {1, 12, 30},
                                        {12, 1, 30}, {12, 30, 1},  {1, 1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int masked = 0; masked < 2; masked++) {
            make_volumes(shapes[i], 5, masked == 1, 5 + i);
            inside[0] = 1;
            save_volumes(shapes[i], 5);
            for (int turn = 0; turn < 3 && !harness_failed; turn++) {
                const int64_t slices = turn == 0 ? 0 : turn == 1 ? 1 : 3;
                check_pass(shapes[i], 5, masked == 1, turn == 1 ? 26 : 6, slices, turn == 2 ? 3 : 1);
            }
            if (harness_failed) printf("    shape %d, masked %d\n", (int)i, masked);
            if (harness_failed) return;
        }
    }
}

static void test_more_than_a_word(void)
{
    static const int64_t shape[3] = {9, 20, 33};
    for (int count = 64; count <= 70 && !harness_failed; count += 6) {
        make_volumes(shape, count, true, 3);
        save_volumes(shape, count);
        check_pass(shape, count, true, 6, 4, 2);
    }
}

/* The row counted twice: the second call goes on with the tally of the first. */
static void check_cells(crd_cells_loop *loop, const crd_cell_row *row, uint32_t (*expected)[256], int bits)
{
    static crd_cell_tally tally;
    uint32_t own[256] = {0};
    int64_t same[2] = {0};
    memset(&tally, 0, sizeof tally);
    for (int i = 0; i < 2; i++) loop(row, &tally, same, own);
    crd_cells_settle(&tally);
    for (int s = 0; s < bits; s++) {
        tally.counts[s][0] += (uint32_t)same[0];
        tally.counts[s][255] += (uint32_t)same[1];
        for (int code = 0; code < 256; code++) CHECK(tally.counts[s][code] == 2 * expected[s][code]);
    }
    own[0] += (uint32_t)same[0];
    own[255] += (uint32_t)same[1];
    for (int code = 0; code < 256; code++) CHECK(own[code] == 2 * expected[row->bit][code]);
}

/* Every instruction set counts the same. */
static void test_all_paths(void)
{
    enum { N = 3000 }; /* counters of a byte run over */
    static uint64_t rows[4][N + 9], other[N];
    static uint32_t first[64][256];
    uint64_t state = 8;
    for (int density = 0; density < 3; density++) {
        for (int k = 0; k < 4; k++) {
            for (int x = 0; x <= N; x++) {
                const uint64_t bits = tools_random(&state), rare = bits & tools_random(&state) & tools_random(&state);
                rows[k][x] = density == 0   ? bits
                             : density == 1 ? (x / 20 % 2 == 0 ? rare & tools_random(&state) : ~rare)
                                            : 0;
                if (density == 1 && x % 3 != 0) rows[k][x] = x / 20 % 2 == 0 ? 0 : ~UINT64_C(0);
            }
        }
        for (int bits = 1; bits <= 64; bits += 9) {
            const uint64_t used = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
            for (int k = 0; k < 4; k++) {
                for (int x = 0; x <= N; x++) rows[k][x] &= used;
            }
            int64_t pairs[64] = {0};
            memset(first, 0, sizeof first);
            const crd_cell_row row = {
                .rows = {rows[0], rows[1], rows[2], rows[3]}, .count = N, .used = used, .bit = bits / 2};
            for (int x = 0; x < N; x++) {
                for (int s = 0; s < bits; s++) {
                    unsigned code = 0;
                    for (int k = 0; k < 8; k++) code |= (unsigned)(rows[k >> 1][x + (k & 1)] >> s & 1) << k;
                    first[s][code]++;
                }
            }
            for (int x = 0; x < N; x++) other[x] = rows[1][N - 1 - x];
            for (int x = 0; x < N; x++) {
                for (int s = 0; s < 64; s++) pairs[s] += (int64_t)(rows[0][x] >> s & other[x] >> s & 1);
            }
            if (crd_cells_can_batch()) check_cells(crd_cells_batched, &row, first, bits);
            for (int path = 0; path < CRD_CPU_PATH_COUNT; path++) {
                if (!have_cpu(path)) continue;
                check_cells(crd_cells_loops[path], &row, first, bits);
                int64_t seen[64] = {0};
                const uint64_t *const a[] = {rows[0]}, *const b[] = {other};
                crd_pairs_loops[path](&(crd_pair_rows){a, b, 1, N}, seen);
                CHECK(memcmp(seen, pairs, sizeof seen) == 0);
                memset(seen, 0, sizeof seen);
                crd_pairs_loops[path](&(crd_pair_rows){a, b, 1, 3}, seen);
                for (int s = 0; s < 64; s++) {
                    int64_t few = 0;
                    for (int x = 0; x < 3; x++) few += (int64_t)(rows[0][x] >> s & other[x] >> s & 1);
                    CHECK(seen[s] == few);
                }
            }
        }
    }
}

/* Long rows: the counters of pairs must not run over. */
static void test_long_rows(void)
{
    enum { N = 20011 };
    static uint64_t ones[N];
    memset(ones, 0xff, sizeof ones);
    for (int path = 0; path < CRD_CPU_PATH_COUNT; path++) {
        int64_t seen[64] = {0};
        if (!have_cpu(path)) continue;
        const uint64_t *const rows[] = {ones, ones, ones};
        crd_pairs_loops[path](&(crd_pair_rows){rows, rows, 3, N}, seen);
        for (int s = 0; s < 64; s++) CHECK(seen[s] == 3 * N);
    }
}

TEST_MAIN(TEST(test_against_oracle), TEST(test_more_than_a_word), TEST(test_all_paths), TEST(test_long_rows))
