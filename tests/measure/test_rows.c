/* Loops over rows, in all instruction sets, against what they mean: runs and where they touch, bits turned around, and
 * steps of chords. */
#include "base/cpu.h"
#include "harness.h"
#include "measure/counts/chord_step.h"
#include "measure/counts/runs.h"
#include "measure/counts/transpose.h"
#include "volume_tools.h"

enum { WIDEST = 700, WORDS = (WIDEST + 63) / 64, TOUCHES = 2 * WIDEST + 2 * CRD_RUNS_SPARE };

static uint64_t state = 4;

/* Voxels of a row with runs of about `mean` voxels. */
static void make_row(uint64_t row[WORDS], int width, int mean)
{
    bool on = tools_random(&state) % 2 != 0;
    memset(row, 0, WORDS * sizeof *row);
    for (int x = 0; x < width; x++) {
        if (tools_random(&state) % (uint64_t)mean == 0) on = !on;
        row[x / 64] |= (uint64_t)on << x % 64;
    }
}

static bool at(const uint64_t *row, int width, int x)
{
    return x >= 0 && x < width && (row[x / 64] >> x % 64 & 1) != 0;
}

/* The number of the run that voxel x lies in. */
static int run_of(const uint64_t *row, int width, int x)
{
    int run = -1;
    for (int i = 0; i <= x; i++) run += at(row, width, i) && !at(row, width, i - 1);
    return run;
}

static void check_find(const crd_runs_path *path, const uint64_t *row, int width)
{
    uint16_t edges[WIDEST + 1 + CRD_RUNS_SPARE];
    const int64_t runs = path->find(row, (width + 63) / 64, edges);
    int64_t seen = 0;
    for (int x = 0; x <= width; x++) {
        if (at(row, width, x) && !at(row, width, x - 1)) CHECK(seen < runs && edges[2 * seen] == x);
        if (!at(row, width, x) && at(row, width, x - 1)) CHECK(edges[2 * seen++ + 1] == x);
    }
    CHECK(seen == runs);
}

/* Every pair of runs that touch is in the lists, and no other. */
static void check_touch(const crd_runs_path *path, const uint64_t *a, const uint64_t *b, int width, int corners)
{
    static uint8_t listed[WIDEST][WIDEST], meant[WIDEST][WIDEST];
    static uint16_t of_a[TOUCHES], of_b[TOUCHES], plain_a[TOUCHES], plain_b[TOUCHES];
    const int words = (width + 63) / 64;
    const int64_t count = path->touch(a, b, words, corners, of_a, of_b);
    CHECK(count <= width + width / 2 + 1);
    CHECK(crd_runs_paths[0].touch(a, b, words, corners, plain_a, plain_b) == count);
    CHECK(memcmp(of_a, plain_a, (size_t)count * sizeof *of_a) == 0);
    CHECK(memcmp(of_b, plain_b, (size_t)count * sizeof *of_b) == 0);
    memset(listed, 0, sizeof listed);
    memset(meant, 0, sizeof meant);
    for (int64_t i = 0; i < count; i++) {
        CHECK(of_a[i] < WIDEST && of_b[i] < WIDEST);
        if (harness_failed) return;
        listed[of_a[i]][of_b[i]] = 1;
    }
    for (int x = 0; x < width; x++) {
        for (int d = -corners; d <= corners; d++) {
            if (at(a, width, x) && at(b, width, x + d)) meant[run_of(a, width, x)][run_of(b, width, x + d)] = 1;
        }
    }
    CHECK(memcmp(listed, meant, sizeof listed) == 0);
}

static void test_runs(void)
{
    static const int widths[] = {1, 2, 63, 64, 65, 128, 200, WIDEST}, means[] = {1, 2, 5, 40};
    uint64_t a[WORDS], b[WORDS];
    for (size_t i = 0; i < sizeof widths / sizeof widths[0] && !harness_failed; i++) {
        for (int turn = 0; turn < 24 && !harness_failed; turn++) {
            const int width = widths[i];
            make_row(a, width, means[turn % 4]);
            make_row(b, width, means[turn / 4 % 4]);
            for (int x = 0; turn == 0 && x < width; x++) { /* as many corners as there can be */
                a[x / 64] = (a[x / 64] & ~(UINT64_C(1) << x % 64)) | (uint64_t)(x % 2) << x % 64;
                b[x / 64] = (b[x / 64] & ~(UINT64_C(1) << x % 64)) | (uint64_t)(x % 2 == 0) << x % 64;
            }
            for (int path = 0; path <= CRD_CPU_PATH_COUNT; path++) {
                const bool vectors = path == CRD_CPU_PATH_COUNT;
                if (vectors ? !crd_cpu_has_bit_matrices() : !have_cpu(path)) continue;
                const crd_runs_path *p = vectors ? &crd_runs_vectors : &crd_runs_paths[path];
                check_find(p, a, width);
                for (int corners = 0; corners < 2; corners++) check_touch(p, a, b, width, corners);
                if (harness_failed) printf("    width %d, turn %d, path %d\n", width, turn, path);
            }
        }
    }
}

static void test_transpose(void)
{
    uint64_t words[64], out[64];
    for (int turn = 0; turn < 20; turn++) {
        for (int x = 0; x < 64; x++) words[x] = tools_random(&state) << 32 ^ tools_random(&state);
        for (int vectors = 0; vectors < 2; vectors++) {
            if (vectors && !crd_cpu_has_bit_matrices()) continue;
            (vectors ? crd_transpose_vectors : crd_transpose_plain)(words, out);
            for (int b = 0; b < 64; b++) {
                for (int x = 0; x < 64; x++) CHECK((out[b] >> x & 1) == (words[x] >> b & 1));
            }
        }
    }
}

typedef struct chord_state {
    uint16_t begun[WIDEST * 64];
    uint64_t cut[WIDEST];
    uint32_t whole[64 * 41];
    int64_t cuts[64];
} chord_state;

/* Lines of 40 voxels, of any number of realisations; what the vectors do is what the textbook's does. */
static void test_chords(void)
{
    enum { LENGTH = 40 };
    static chord_state plain, vectors;
    static uint64_t rows[LENGTH][WIDEST];
    static uint8_t counted[LENGTH][WIDEST];
    static const int bits[] = {1, 7, 31, 32, 33, 48, 64};
    if (!crd_cpu_has_bit_matrices()) SKIP("this processor has no faster path for chords");
    for (int turn = 0; turn < 28 && !harness_failed; turn++) {
        const int count = bits[turn % 7], width = turn < 14 ? WIDEST : 1 + turn;
        const uint64_t used = count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
        for (int y = 0; y < LENGTH; y++) {
            for (int x = 0; x < width; x++) {
                const uint64_t change = tools_random(&state) & tools_random(&state) & tools_random(&state);
                rows[y][x] = (y > 0 ? rows[y - 1][x] ^ change : tools_random(&state)) & used;
                counted[y][x] = tools_random(&state) % 9 != 0;
                if (turn % 2 != 0 && counted[y][x] == 0) rows[y][x] = 0;
            }
        }
        memset(&plain, 0, sizeof plain);
        memset(&vectors, 0, sizeof vectors);
        for (int y = 0; y <= LENGTH; y++) {
            for (int which = 0; which < 2; which++) {
                chord_state *to = which ? &vectors : &plain;
                const crd_chord_step step = {.before = y > 0 ? rows[y - 1] : NULL,
                                             .here = y < LENGTH ? rows[y] : NULL,
                                             .counted_before = turn % 2 != 0 && y > 0 ? counted[y - 1] : NULL,
                                             .counted = turn % 2 != 0 && y < LENGTH ? counted[y] : NULL,
                                             .at = y,
                                             .length = LENGTH,
                                             .width = width,
                                             .bits = count,
                                             .mine = turn % 3 == 0 ? used & 0x5555555555555555 : used,
                                             .begun = to->begun,
                                             .cut = to->cut,
                                             .whole = to->whole,
                                             .cuts = to->cuts};
                (which ? crd_chord_vectors : crd_chord_plain)(&step);
            }
        }
        CHECK(memcmp(&plain, &vectors, sizeof plain) == 0);
        if (harness_failed) printf("    %d realisations, width %d\n", count, width);
    }
}

TEST_MAIN(TEST(test_runs), TEST(test_transpose), TEST(test_chords))
