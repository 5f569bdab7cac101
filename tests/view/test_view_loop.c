/* Held-out places: whatever is painted and whichever boxes come and go, no training gets a voxel of them, nor one near
 * them, and nothing that was learnt from becomes held out. */
#include "base/memory.h"
#include "label_tools.h"
#include "view/loop/held.h"

enum { Z = 40, Y = 72, X = 88, VOXELS = Z * Y * X, TRIALS = 1000, MARGIN = 8, MOST = 64 };
static const int64_t shape[3] = {Z, Y, X};
static const crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_U16, .spacing = {1.0, 1.0, 1.0}, .scale = 1.0};

typedef struct opened {
    crd_project *project;
    crd_labels *labels;
    crd_loop *loop;
} opened;

static crd_status open_at(const char *name, const char *mask, opened *out)
{
    CRD_PASS(crd_project_open(label_path(name), false, &out->project));
    CRD_PASS(crd_labels_open(out->project, &info, 1 << 20, NULL, &out->labels));
    return crd_loop_open(out->project, &info, mask, &out->loop);
}

static void close_at(opened *it)
{
    crd_loop_close(&it->loop);
    crd_labels_close(&it->labels);
    crd_project_close(&it->project);
}

/* What the test knows by itself, voxel by voxel. */
static uint8_t labels_now[VOXELS], learnt[VOXELS], forbidden[VOXELS], taken[VOXELS];
static crd_box used[MOST * 16];
static int64_t used_count;

static crd_status read_image(const char *path, uint8_t *voxels, bool *there)
{
    char array[600];
    crd_volume *volume = NULL;
    const crd_box all = {.size = {Z, Y, X}};
    snprintf(array, sizeof array, "%s/0/.zarray", path);
    memset(voxels, CRD_UNLABELLED, VOXELS);
    *there = access(array, F_OK) == 0;
    if (!*there) return CRD_OK;
    CRD_PASS(crd_volume_open(path, NULL, NULL, &volume));
    const crd_status status = crd_volume_read(volume, &all, CRD_U8, voxels);
    crd_volume_close(&volume);
    return status;
}

static void mark_around(uint8_t *map, const crd_box *box, int64_t margin, uint8_t value)
{
    for (int64_t z = 0; z < Z; z++) {
        for (int64_t y = 0; y < Y; y++) {
            for (int64_t x = 0; x < X; x++) {
                const int64_t at[3] = {z, y, x};
                bool within = true;
                for (int i = 0; i < 3; i++) {
                    within =
                        within && at[i] >= box->origin[i] - margin && at[i] < box->origin[i] + box->size[i] + margin;
                }
                if (within) map[(z * Y + y) * X + x] = value;
            }
        }
    }
}

static crd_box random_box(void)
{
    crd_box box;
    for (int i = 0; i < 3; i++) {
        box.size[i] = 1 + any(shape[i] / 3);
        box.origin[i] = any(shape[i] - box.size[i] + 1);
    }
    return box;
}

static bool any_marked(const uint8_t *map, const crd_box *box, int64_t margin)
{
    static uint8_t around[VOXELS];
    memset(around, 0, sizeof around);
    mark_around(around, box, margin, 1);
    for (int64_t i = 0; i < VOXELS; i++) {
        if (around[i] != 0 && map[i] != 0) return true;
    }
    return false;
}

static const char *paint_some(crd_labels *labels)
{
    const crd_box box = random_box();
    crd_label_change change;
    crd_operation op;
    char words[2048], place[CRD_BOX_WORDS];
    crd_box_words(&box, place);
    snprintf(words, sizeof words, "{\"do\":\"accept\",\"box\":\"%s\"}", place);
    if (any(3) > 0) random_words(shape, words);
    if (read_operation(words, shape, &op) == CRD_OK &&
        crd_labels_do(labels, &op, -1, &label_sources, &change) == CRD_OK)
        crd_label_change_free(&change);
    crd_operation_free(&op);
    return NULL;
}

/* NULL, or what is wrong. */
static const char *change_boxes(opened *it)
{
    crd_kept_box placed, *boxes = NULL;
    int64_t number, count;
    bool there;
    const crd_box box = random_box();
    const int what = (int)any(6);
    if (what <= 1) {
        if (crd_loop_place(it->loop, &placed) == CRD_OK && any_marked(learnt, &placed.box, MARGIN)) {
            return "a place near what was learnt from was drawn";
        }
    } else if (what <= 3) {
        const crd_box_role role = (crd_box_role)any(CRD_BOX_ROLES);
        if (crd_loop_add(it->loop, role, &box, &number) == CRD_OK) {
            if (role != CRD_BOX_TRAIN && any_marked(learnt, &box, MARGIN)) return "what was learnt from was held out";
        } else if (crd_last_error()->status != CRD_ERR_ARGUMENT) {
            return crd_last_error()->message;
        }
    } else {
        if (crd_boxes_read(it->project, &boxes, &count) != CRD_OK) return crd_last_error()->message;
        number = count > 0 ? boxes[any(count)].number : 1;
        crd_free(&boxes);
        if (crd_loop_remove(it->loop, number, &there) != CRD_OK || there != (count > 0)) return "a box doesn't go";
    }
    return NULL;
}

static const char *compare_taken(opened *it, const char *folder, const crd_learnable *learnable)
{
    static uint8_t far[VOXELS], kept[VOXELS], wanted[VOXELS];
    crd_kept_box *boxes = NULL;
    int64_t count, voxels = 0;
    char path[600];
    bool there;
    if (read_all(it->labels, shape, labels_now) != CRD_OK) return crd_last_error()->message;
    snprintf(path, sizeof path, "%s/label.zarr", folder);
    if (read_image(path, taken, &there) != CRD_OK || !there) return "no label.zarr";
    snprintf(path, sizeof path, "%s/check.zarr", folder);
    if (read_image(path, kept, &there) != CRD_OK || there != learnable->check)
        return "check.zarr and what is said of it";
    if (crd_boxes_read(it->project, &boxes, &count) != CRD_OK) return crd_last_error()->message;
    memset(wanted, CRD_UNLABELLED, sizeof wanted);
    for (int64_t i = 0; i < count; i++) {
        if (boxes[i].role == CRD_BOX_TRAIN) continue;
        used[used_count++] = boxes[i].box;
        if (!boxes[i].used) return "a box that was left out isn't used";
        static uint8_t in[VOXELS];
        memset(in, 0, sizeof in);
        mark_around(in, &boxes[i].box, 0, 1);
        for (int64_t k = 0; k < VOXELS; k++) {
            if (boxes[i].role == CRD_BOX_CHECK && in[k] != 0) wanted[k] = labels_now[k];
        }
    }
    crd_free(&boxes);
    memset(forbidden, 0, sizeof forbidden);
    memset(far, 1, sizeof far);
    for (int64_t i = 0; i < used_count; i++) {
        mark_around(forbidden, &used[i], MARGIN, 1);
        mark_around(far, &used[i], 2 * MARGIN, 0); /* cells make the margin a little wider */
    }
    for (int64_t i = 0; i < VOXELS; i++) {
        if (taken[i] != CRD_UNLABELLED && forbidden[i] != 0) return "a held-out voxel, or one near it, is learnt from";
        if (taken[i] != CRD_UNLABELLED && taken[i] != labels_now[i]) return "another label";
        if (far[i] != 0 && taken[i] != labels_now[i]) return "a label far from all that is held out is missing";
        if (kept[i] != wanted[i]) return "check.zarr isn't what is labelled in the boxes to check on";
        voxels += taken[i] != CRD_UNLABELLED;
        if (taken[i] != CRD_UNLABELLED) learnt[i] = 1;
    }
    return voxels == learnable->voxels ? NULL : "another number of voxels is said to be learnt from";
}

static void test_never_learnt_from(void)
{
    opened it = {NULL, NULL, NULL};
    int takes = 0, refused = 0, tried = 0;
    CHECK_OK(open_at("held", NULL, &it));
    CHECK_OK(crd_loop_resize(it.loop, (const int64_t[3]){9, 13, 16}));
    for (int trial = 0; trial < TRIALS; trial += sparse(4, "trials"), tried++) {
        char folder[512];
        crd_learnable learnable;
        const char *wrong = NULL;
        for (int i = 0; i < 2 && wrong == NULL; i++) wrong = paint_some(it.labels);
        for (int i = 0; i < 3 && wrong == NULL; i++) wrong = change_boxes(&it);
        if (wrong != NULL) CHECK_FAILED("trial %d: %s", trial, wrong);
        snprintf(folder, sizeof folder, "%s", label_path("take"));
        CHECK(mkdir(folder, 0777) == 0);
        const crd_status status = crd_loop_take(it.loop, it.labels, folder, &learnable);
        if (status == CRD_OK) {
            takes++;
            wrong = compare_taken(&it, folder, &learnable);
        } else if (status == CRD_ERR_ARGUMENT) {
            refused++; /* all labels lie in what is held out, or near it */
        } else {
            wrong = crd_last_error()->message;
        }
        if (wrong != NULL) CHECK_FAILED("trial %d: %s", trial, wrong);
        remove_tree(folder);
        if (any(12) == 0) {
            crd_loop_facts before, after;
            CHECK_OK(crd_loop_describe(it.loop, &before));
            CHECK_OK(crd_loop_anew(it.loop));
            CHECK_OK(crd_loop_describe(it.loop, &after));
            CHECK(after.number == before.number + 1 && after.exam == 0 && after.check == 0);
            memset(learnt, 0, sizeof learnt);
            used_count = 0;
        }
        if (any(10) == 0) { /* all of it is found again */
            close_at(&it);
            CHECK_OK(open_at("held", NULL, &it));
        }
        CHECK(used_count < MOST * 15);
    }
    CHECK(takes > tried / 2 && refused < tried / 2);
    close_at(&it);
    remove_tree(label_path("held"));
}

/* The same seed gives the same places; roles come in turn; places lie in the mask, anywhere in it. */
static void test_places(void)
{
    crd_box first[2][6];
    for (int round = 0; round < 2; round++) {
        opened it = {NULL, NULL, NULL};
        CHECK_OK(open_at(round == 0 ? "a" : "b", "cylinder", &it));
        CHECK_OK(crd_loop_resize(it.loop, (const int64_t[3]){8, 8, 8}));
        for (int i = 0; i < 6; i++) {
            crd_kept_box placed;
            CHECK_OK(crd_loop_place(it.loop, &placed));
            CHECK(placed.role == (i % 2 == 0 ? CRD_BOX_EXAM : CRD_BOX_CHECK) && placed.number == i + 1);
            first[round][i] = placed.box;
            bool within;
            CHECK_OK(crd_loop_inside(it.loop, &placed.box, &within));
            CHECK(within);
        }
        CHECK_FAILS(crd_loop_resize(it.loop, (const int64_t[3]){16, 16, 16}), CRD_ERR_ARGUMENT, "held out");
        CHECK_FAILS(crd_loop_resize(it.loop, (const int64_t[3]){16, 16, 160}), CRD_ERR_ARGUMENT, "held out");
        close_at(&it);
    }
    CHECK(memcmp(first[0], first[1], sizeof first[0]) == 0);
    opened it = {NULL, NULL, NULL};
    CHECK_OK(open_at("a", "cylinder", &it)); /* found again; after removing one another place comes */
    bool there;
    crd_kept_box placed;
    CHECK_OK(crd_loop_remove(it.loop, 6, &there));
    CHECK(there);
    CHECK_OK(crd_loop_place(it.loop, &placed));
    CHECK(memcmp(&placed.box, &first[0][5], sizeof placed.box) != 0);
    CHECK_OK(crd_loop_anew(it.loop));
    int64_t size[3] = {Z + 1, 8, 8};
    CHECK_FAILS(crd_loop_resize(it.loop, size), CRD_ERR_ARGUMENT, "no longer than");
    size[0] = 7;
    CHECK_FAILS(crd_loop_resize(it.loop, size), CRD_ERR_ARGUMENT, "8 to 512");
    size[0] = Z, size[1] = Y, size[2] = X; /* never inside the cylinder */
    CHECK_OK(crd_loop_resize(it.loop, size));
    CHECK_FAILS(crd_loop_place(it.loop, &placed), CRD_ERR_ARGUMENT, "inside the mask");
    close_at(&it);
}

/* What an exam is judged by: labels of exam boxes as they are, and only boxes that have any. */
static void test_examine(void)
{
    opened it = {NULL, NULL, NULL};
    crd_operation op;
    crd_label_change change;
    crd_kept_box *boxes = NULL;
    int64_t count, number;
    bool there;
    static uint8_t exam[VOXELS];
    const crd_box labelled = {.origin = {0, 0, 0}, .size = {8, 16, 16}},
                  empty = {.origin = {24, 40, 40}, .size = {8, 8, 8}};
    CHECK_OK(open_at("exam", NULL, &it));
    CHECK(mkdir(label_path("one"), 0777) == 0);
    CHECK_FAILS(crd_loop_examine(it.loop, it.labels, label_path("one"), &boxes, &count), CRD_ERR_ARGUMENT,
                "no exam box");
    CHECK_OK(crd_loop_add(it.loop, CRD_BOX_EXAM, &labelled, &number));
    CHECK_OK(crd_loop_add(it.loop, CRD_BOX_EXAM, &empty, &number));
    CHECK_OK(read_operation("{\"do\":\"stroke\",\"axis\":0,\"slice\":3,\"points\":[44,84],\"radius\":80,\"value\":1}",
                            shape, &op));
    CHECK_OK(crd_labels_do(it.labels, &op, -1, &label_sources, &change));
    crd_label_change_free(&change);
    crd_operation_free(&op);
    CHECK_OK(crd_loop_examine(it.loop, it.labels, label_path("one"), &boxes, &count));
    CHECK(count == 1 && boxes[0].number == 1);
    crd_free(&boxes);
    CHECK_OK(read_image(label_path("one/exam.zarr"), exam, &there));
    CHECK_OK(read_all(it.labels, shape, labels_now));
    for (int64_t i = 0; i < VOXELS; i++) {
        const bool in = i / X / Y < 8 && i / X % Y < 16 && i % X < 16;
        CHECK(exam[i] == (in ? labels_now[i] : CRD_UNLABELLED));
    }
    CHECK(access(label_path("one/.all.zarr"), F_OK) != 0);
    crd_learnable learnable; /* its place stays held out without the box */
    CHECK_OK(crd_loop_remove(it.loop, 1, &there));
    CHECK_FAILS(crd_loop_add(it.loop, CRD_BOX_TRAIN, &labelled, &number), CRD_ERR_ARGUMENT, "can't be trained on");
    CHECK(mkdir(label_path("two"), 0777) == 0);
    CHECK_FAILS(crd_loop_take(it.loop, it.labels, label_path("two"), &learnable), CRD_ERR_ARGUMENT, "held-out");
    close_at(&it);
}

TEST_MAIN(TEST(test_never_learnt_from), TEST(test_places), TEST(test_examine))
