/* Which labels are held back: the rule's numbers on labels of all kinds, and what hiding leaves. */
#include "base/random/philox.h"
#include "harness.h"
#include "train/heldout/blocks.h"
#include "volume_tools.h"

enum { NOTHING = 9 };

typedef struct scene { /* one label volume */
    int64_t shape[3];
    uint8_t *voxels;
} scene;

static int64_t voxels_of(const int64_t shape[3])
{
    return shape[0] * shape[1] * shape[2];
}

/* Balls on a grid, as material or, for a scribble, along some lines only. */
static scene make(int64_t z, int64_t y, int64_t x, int radius, bool scribble)
{
    scene s = {.shape = {z, y, x}, .voxels = malloc((size_t)(z * y * x))};
    if (s.voxels == NULL) exit(1);
    for (int64_t i = 0; i < z * y * x; i++) {
        const int64_t at[3] = {i / x / y, i / x % y, i % x};
        const int64_t dz = at[0] % 14 - 7, dy = at[1] % 14 - 7, dx = at[2] % 14 - 7;
        s.voxels[i] = dz * dz + dy * dy + dx * dx < radius * radius;
        if (scribble && !(at[0] % 9 == 4 && (at[1] + at[2]) % 20 < 2)) s.voxels[i] = NOTHING;
    }
    return s;
}

/* Opens the map of a label, saved as a file first. */
static void open_map(const scene *s, const char *name, crd_label **label, crd_label_map **map)
{
    static const double ignored = NOTHING, foreground = 1.0;
    const crd_volume_info info = {.shape = {s->shape[0], s->shape[1], s->shape[2]}, .type = CRD_U8, .scale = 1.0};
    const crd_box whole = {.size = {s->shape[0], s->shape[1], s->shape[2]}};
    const crd_label_options options = {
        .ignore = &ignored, .ignore_count = 1, .foreground = &foreground, .foreground_count = 1};
    crd_volume *volume = NULL;
    CHECK_OK(crd_volume_create(scratch(name), &info, NULL, &volume));
    CHECK_OK(crd_volume_write(volume, &whole, s->voxels));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK_OK(crd_label_open(scratch(name), s->shape, &options, NULL, label));
    CHECK_OK(crd_label_map_make(*label, NULL, 2, NULL, map));
}

typedef struct tally {
    int64_t labelled[2], blocks, hidden, hidden_of[2];
    double shares[CRD_BLOCKS_MOST];
} tally;

/* Everything that the rule promises, counted voxel by voxel. */
static void check_rule(const scene *scenes, int64_t scans, const crd_held_blocks *blocks, double share, tally *t)
{
    memset(t, 0, sizeof *t);
    for (int64_t s = 0; s < scans; s++) {
        const int64_t *shape = scenes[s].shape, voxels = voxels_of(shape);
        const crd_box whole = {.size = {shape[0], shape[1], shape[2]}};
        uint8_t *left = malloc((size_t)voxels), *expected = malloc((size_t)voxels);
        if (left == NULL || expected == NULL) exit(1);
        for (int64_t i = 0; i < voxels; i++) {
            left[i] = expected[i] = scenes[s].voxels[i] == NOTHING ? CRD_LABEL_NONE : scenes[s].voxels[i];
            if (left[i] != CRD_LABEL_NONE) t->labelled[left[i]]++;
        }
        crd_blocks_hide(blocks, s, &whole, left);
        for (int64_t b = 0; b < blocks->count; b++) {
            const crd_held_block *block = &blocks->blocks[b];
            int64_t counts[2] = {0, 0};
            if (block->scan != s) continue;
            for (int64_t i = 0; i < voxels; i++) {
                const int64_t at[3] = {i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2]};
                bool inside = true, around = true;
                for (int axis = 0; axis < 3; axis++) {
                    const int64_t d = at[axis] - block->box.origin[axis], size = block->box.size[axis];
                    inside = inside && d >= 0 && d < size;
                    around = around && d >= -block->margin && d < size + block->margin;
                }
                if (inside && scenes[s].voxels[i] != NOTHING) counts[scenes[s].voxels[i]]++;
                if (around) expected[i] = CRD_LABEL_NONE;
            }
            CHECK(counts[0] == block->counts[0] && counts[1] == block->counts[1]);
            CHECK(counts[0] + counts[1] >= 8);
            t->blocks += counts[0] + counts[1];
            t->shares[b] = (double)counts[1] / (double)(counts[0] + counts[1]);
            for (int axis = 0; axis < 3; axis++) {
                CHECK(block->box.size[axis] >= 8 && block->box.size[axis] <= 32 && block->box.origin[axis] >= 0);
                CHECK(block->box.origin[axis] + block->box.size[axis] <= shape[axis]);
            }
            CHECK(block->margin >= 4 && block->margin <= 8);
            for (int64_t other = 0; other < b; other++) {
                crd_box both;
                CHECK(blocks->blocks[other].scan != s || !crd_box_meet(&block->box, &blocks->blocks[other].box, &both));
            }
        }
        CHECK(memcmp(left, expected, (size_t)voxels) == 0);
        for (int64_t i = 0; i < voxels; i++) {
            if (scenes[s].voxels[i] == NOTHING || left[i] != CRD_LABEL_NONE) continue;
            t->hidden++;
            t->hidden_of[scenes[s].voxels[i]]++;
        }
        /* A box of it is hidden as the whole is. */
        crd_box part = {{shape[0] / 4, shape[1] / 3, shape[2] / 5}, {shape[0] / 2, shape[1] / 2, shape[2] / 2}};
        uint8_t *small = malloc((size_t)voxels_of(part.size));
        if (small == NULL) exit(1);
        memset(small, 7, (size_t)voxels_of(part.size));
        crd_blocks_hide(blocks, s, &part, small);
        bool touched = false;
        for (int64_t i = 0; i < voxels_of(part.size); i++) {
            const int64_t z = part.origin[0] + i / part.size[2] / part.size[1];
            const int64_t y = part.origin[1] + i / part.size[2] % part.size[1], x = part.origin[2] + i % part.size[2];
            const int64_t at = (z * shape[1] + y) * shape[2] + x;
            if (small[i] == CRD_LABEL_NONE) CHECK(left[at] == CRD_LABEL_NONE);
            if (small[i] != CRD_LABEL_NONE && scenes[s].voxels[at] != NOTHING) CHECK(left[at] != CRD_LABEL_NONE);
            touched = touched || small[i] == CRD_LABEL_NONE;
        }
        CHECK(touched == crd_blocks_touch(blocks, s, &part));
        free(small);
        free(left);
        free(expected);
    }
    const double labelled = (double)(t->labelled[0] + t->labelled[1]);
    CHECK((double)t->blocks <= share * labelled);
    CHECK((double)t->hidden <= CRD_BLOCKS_TAKE_MOST * labelled);
    for (int k = 0; k < 2; k++) CHECK(3 * t->hidden_of[k] <= 2 * t->labelled[k]);
}

/* `sources`: as crd_blocks_choose has them. */
static void choose_of(const scene *scenes, const int64_t *sources, int64_t scans, double share, uint64_t seed,
                      crd_held_blocks *blocks)
{
    crd_label *labels[4] = {NULL};
    crd_label_map *maps[4] = {NULL};
    for (int64_t i = 0; i < scans; i++) {
        char name[32];
        snprintf(name, sizeof name, "label%d.npy", (int)i);
        open_map(&scenes[i], name, &labels[i], &maps[i]);
    }
    CHECK_OK(crd_blocks_choose((const crd_label_map *const *)maps, sources, scans, share, seed, blocks));
    for (int64_t i = 0; i < scans; i++) {
        crd_label_map_free(&maps[i]);
        crd_label_close(&labels[i]);
    }
}

/* Each label has a scan of its own. */
static void choose(const scene *scenes, int64_t scans, double share, uint64_t seed, crd_held_blocks *blocks)
{
    static const int64_t sources[4] = {0, 1, 2, 3};
    choose_of(scenes, sources, scans, share, seed, blocks);
}

/* Halves of equal number whose foreground's share is the label's, in blocks that differ. */
static void check_halves(const crd_held_blocks *blocks, const tally *t)
{
    const double wanted = (double)t->labelled[1] / (double)(t->labelled[0] + t->labelled[1]);
    int64_t exams = 0;
    double least = 1.0, most = 0.0;
    for (int64_t i = 0; i < blocks->count; i++) {
        exams += blocks->blocks[i].exam;
        least = t->shares[i] < least ? t->shares[i] : least;
        most = t->shares[i] > most ? t->shares[i] : most;
    }
    CHECK(2 * exams == blocks->count);
    CHECK(most > least);
    for (int exam = 0; exam < 2; exam++) {
        int64_t counts[CRD_CLASSES_MAX];
        const int64_t voxels = crd_blocks_counts(blocks, exam == 1, counts);
        CHECK_NEAR((double)counts[1] / (double)voxels, wanted, 0.3 * wanted * (1.0 - wanted) + 0.02);
    }
}

static void test_whole_label(void)
{
    scene s = make(64, 96, 80, 6, false);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        crd_held_blocks blocks = {0}, again = {0};
        tally t;
        choose(&s, 1, 0.1, seed, &blocks);
        CHECK(blocks.count >= 8 && blocks.count <= CRD_BLOCKS_MOST);
        check_rule(&s, 1, &blocks, 0.1, &t);
        check_halves(&blocks, &t);
        choose(&s, 1, 0.1, seed, &again);
        CHECK(memcmp(&blocks, &again, sizeof blocks) == 0);
        choose(&s, 1, 0.1, seed + 100, (again.count = 0, &again));
        CHECK(memcmp(&blocks, &again, sizeof blocks) != 0);
    }
    free(s.voxels);
}

/* Few labels of much material that lie far apart: blocks follow them. */
static void test_scribbles(void)
{
    scene s = make(60, 90, 101, 6, true);
    crd_held_blocks blocks = {0};
    tally t;
    choose(&s, 1, 0.1, 3, &blocks);
    CHECK(blocks.count >= 8);
    check_rule(&s, 1, &blocks, 0.1, &t);
    check_halves(&blocks, &t);
    free(s.voxels);
}

/* All scans have their part. */
static void test_several_scans(void)
{
    scene s[3] = {make(48, 64, 64, 6, false), make(40, 64, 72, 5, false), make(64, 64, 64, 7, true)};
    crd_held_blocks blocks = {0};
    tally t;
    bool met[3] = {false, false, false};
    choose(s, 3, 0.1, 2, &blocks);
    CHECK(blocks.count >= 8);
    check_rule(s, 3, &blocks, 0.1, &t);
    for (int64_t i = 0; i < blocks.count; i++) met[blocks.blocks[i].scan] = true;
    CHECK(met[0] && met[1]);
    for (int i = 0; i < 3; i++) free(s[i].voxels);
}

/* Too little for blocks: none. A little more: a few at the ends. */
static void test_few_labels(void)
{
    scene s = make(16, 16, 16, 6, false), more = make(16, 32, 48, 6, false);
    crd_held_blocks blocks = {0};
    tally t;
    choose(&s, 1, 0.1, 1, &blocks);
    CHECK(blocks.count == 0);
    choose(&more, 1, 0.1, 1, &blocks);
    CHECK(blocks.count >= CRD_BLOCKS_LEAST && blocks.count < 8);
    check_rule(&more, 1, &blocks, 0.1, &t);
    blocks.count = 0;
    choose(&more, 1, 0.01, 1, &blocks);
    CHECK(blocks.count == 0);
    memset(more.voxels, NOTHING, (size_t)voxels_of(more.shape));
    for (int i = 0; i < 20; i++) more.voxels[1234 + 7 * i] = (uint8_t)(i % 2);
    choose(&more, 1, 0.5, 1, &blocks);
    CHECK(blocks.count == 0);
    free(s.voxels);
    free(more.voxels);
}

/* A rare class that lies in one place must not be held back whole. */
static void test_rare_class(void)
{
    scene s = make(64, 64, 64, 0, false);
    for (int64_t i = 0; i < voxels_of(s.shape); i++) {
        const int64_t z = i / 4096, y = i / 64 % 64, x = i % 64;
        s.voxels[i] = z >= 30 && z < 36 && y >= 30 && y < 36 && x >= 30 && x < 36;
    }
    crd_held_blocks blocks = {0};
    tally t;
    choose(&s, 1, 0.1, 1, &blocks);
    CHECK(blocks.count >= 8);
    check_rule(&s, 1, &blocks, 0.1, &t);
    free(s.voxels);
}

/* Blocks that are there stay, and only other scans get more. */
static void test_kept_blocks(void)
{
    scene s[2] = {make(64, 64, 64, 6, false), make(64, 64, 64, 5, false)};
    crd_held_blocks first = {0}, both = {0};
    choose(s, 1, 0.1, 1, &first);
    both = first;
    choose(s, 2, 0.1, 7, &both);
    CHECK(both.count >= first.count && both.count <= CRD_BLOCKS_MOST);
    CHECK(memcmp(first.blocks, both.blocks, (size_t)first.count * sizeof *first.blocks) == 0);
    for (int64_t i = first.count; i < both.count; i++) CHECK(both.blocks[i].scan == 1);
    for (int i = 0; i < 2; i++) free(s[i].voxels);
}

/* Several people's labels of one scan: what one's blocks examine must not be what another's check on, and all together
 * leave enough to learn from. */
static void test_labels_of_one_scan(void)
{
    static const int64_t sources[2] = {0, 0};
    scene s[2] = {make(48, 64, 64, 6, false), make(48, 64, 64, 5, false)};
    for (uint64_t seed = 1; seed <= 8; seed++) {
        crd_held_blocks blocks = {0}, kept;
        int64_t hidden = 0;
        choose_of(s, sources, 2, 0.1, seed, &blocks);
        CHECK(blocks.count >= 8);
        for (int64_t i = 0; i < blocks.count; i++) {
            for (int64_t k = 0; k < i; k++) {
                crd_box both;
                CHECK(!crd_box_meet(&blocks.blocks[i].box, &blocks.blocks[k].box, &both));
            }
            blocks.blocks[i].scan = 0; /* hidden in both labels */
        }
        const crd_box whole = {.size = {48, 64, 64}};
        uint8_t *left = calloc(1, (size_t)voxels_of(whole.size));
        if (left == NULL) exit(1);
        crd_blocks_hide(&blocks, 0, &whole, left);
        for (int64_t i = 0; i < voxels_of(whole.size); i++) hidden += left[i] == CRD_LABEL_NONE;
        CHECK((double)hidden <= CRD_BLOCKS_TAKE_MOST * (double)voxels_of(whole.size));
        free(left);
        kept = blocks;
        choose_of(s, sources, 2, 0.1, seed + 50, &kept);
        CHECK(kept.count == blocks.count); /* the scan has blocks, so that its other label gets none */
    }
    for (int i = 0; i < 2; i++) free(s[i].voxels);
}

TEST_MAIN(TEST(test_labels_of_one_scan), TEST(test_whole_label), TEST(test_scribbles), TEST(test_several_scans),
          TEST(test_few_labels), TEST(test_rare_class), TEST(test_kept_blocks))
