/* Labels on the disk: nothing that is confirmed is lost, wherever the power goes; all of it can be taken back. */
#include <fcntl.h>

#include "base/file.h"
#include "base/memory.h"
#include "label_tools.h"
#include "view/labels/journal.h"

enum { Z = 70, Y = 90, X = 130, VOXELS = Z * Y * X };
static const int64_t shape[3] = {Z, Y, X};
static const crd_volume_info info = {
    .shape = {Z, Y, X}, .type = CRD_U16, .spacing = {2.0, 1.0, 1.0}, .unit = "um", .scale = 1.0};

typedef struct opened {
    crd_project *project;
    crd_labels *labels;
} opened;

static crd_status open_at(const char *name, opened *out)
{
    CRD_PASS(crd_project_open(label_path(name), false, &out->project));
    return crd_labels_open(out->project, &info, 1 << 20, NULL, &out->labels);
}

static void close_at(opened *it)
{
    crd_labels_close(&it->labels);
    crd_project_close(&it->project);
}

static crd_status paint_words(crd_labels *labels, const char *words, int64_t revision, crd_label_change *change)
{
    crd_operation op;
    crd_status status = read_operation(words, shape, &op);
    if (status == CRD_OK) status = crd_labels_do(labels, &op, revision, &label_sources, change);
    crd_operation_free(&op);
    return status;
}

/* Some operations can't be done (nothing to fill between): those change nothing. */
static int64_t paint_random(crd_labels *labels)
{
    char words[2048];
    crd_label_change change = {.voxels = 0};
    random_words(shape, words);
    if (paint_words(labels, words, -1, &change) != CRD_OK) change.voxels = 0;
    crd_label_change_free(&change);
    return change.voxels;
}

static void test_nothing_before_the_first(void)
{
    opened it = {NULL, NULL};
    crd_labels_facts facts;
    CHECK_OK(open_at("first", &it));
    CHECK(access(label_path("first"), F_OK) != 0);
    crd_label_change change;
    CHECK_OK(paint_words(it.labels, "{\"do\":\"clear\",\"box\":\"0:5,0:5,0:5\"}", 0, &change));
    CHECK(change.voxels == 0 && change.revision == 0);
    CHECK_OK(paint_words(it.labels,
                         "{\"do\":\"stroke\",\"axis\":0,\"slice\":3,\"points\":[44,84],\"radius\":4,\"value\":1}", 0,
                         &change));
    CHECK(change.voxels == 1 && change.revision == 1 && change.blocks == 1 && change.places[0][0] == 0);
    CHECK(change.low[0] == 3 && change.low[1] == 5 && change.low[2] == 10 && change.high[2] == 11);
    crd_label_change_free(&change);
    CHECK_OK(crd_labels_sync(it.labels));
    crd_labels_describe(it.labels, &facts);
    CHECK(facts.revision == 1 && facts.undo == 1 && facts.redo == 0 && facts.counts[1] == 1 && facts.made);
    CHECK(access(label_path("first/labels.journal"), F_OK) == 0);
    CHECK(paint_words(it.labels,
                      "{\"do\":\"stroke\",\"axis\":0,\"slice\":3,\"points\":[44,84],\"radius\":4,\"value\":0}", 0,
                      &change) == CRD_OK);
    CHECK(change.old_revision && change.revision == 1 && change.voxels == 0);
    close_at(&it);
}

/* The chunks are an OME-Zarr that any volume code reads, with 255 where nothing was painted. */
static void test_volume(void)
{
    opened it = {NULL, NULL};
    crd_volume *volume = NULL;
    uint8_t *own = NULL, *read = NULL;
    const crd_box box = {.size = {Z, Y, X}};
    CHECK_OK(open_at("volume", &it));
    CHECK_OK(crd_alloc(VOXELS, 1, "labels", &own));
    CHECK_OK(crd_alloc(VOXELS, 1, "labels", &read));
    for (int i = 0; i < 20; i++) (void)paint_random(it.labels);
    CHECK_OK(read_all(it.labels, shape, own));
    CHECK_OK(crd_labels_snapshot(it.labels, label_path("volume/snapshot.zarr")));
    CHECK_FAILS(crd_labels_snapshot(it.labels, label_path("volume/snapshot.zarr")), CRD_ERR_ARGUMENT, "there already");
    for (int i = 0; i < 20; i++) (void)paint_random(it.labels); /* which the snapshot doesn't see */
    CHECK_OK(crd_volume_open(label_path("volume/snapshot.zarr"), NULL, NULL, &volume));
    CHECK(memcmp(crd_volume_describe(volume)->shape, shape, sizeof shape) == 0);
    CHECK(crd_volume_describe(volume)->spacing[0] == 2.0 && strcmp(crd_volume_describe(volume)->unit, "um") == 0);
    CHECK_OK(crd_volume_read(volume, &box, CRD_U8, read));
    CHECK(memcmp(own, read, VOXELS) == 0);
    crd_volume_close(&volume);
    CHECK_OK(read_all(it.labels, shape, own));
    CHECK(memcmp(own, read, VOXELS) != 0);
    close_at(&it); /* stores the rest */
    CHECK_OK(crd_volume_open(label_path("volume/labels.zarr"), NULL, NULL, &volume));
    CHECK_OK(crd_volume_read(volume, &box, CRD_U8, read));
    CHECK(memcmp(own, read, VOXELS) == 0);
    crd_volume_close(&volume);
    crd_free(&own);
    crd_free(&read);
}

/* Random operations, undone and redone over restarts: the same bytes and the same counts every time. */
static void test_undo(void)
{
    enum { STEPS = 60 };
    opened it = {NULL, NULL};
    static uint8_t *states[STEPS + 1];
    uint8_t *now = NULL;
    int64_t steps = 0;
    CHECK_OK(open_at("undo", &it));
    CHECK_OK(crd_alloc(VOXELS, 1, "labels", &now));
    for (int i = 0; i <= STEPS; i++) CHECK_OK(crd_alloc(VOXELS, 1, "labels", &states[i]));
    CHECK_OK(read_all(it.labels, shape, states[0]));
    while (steps < STEPS) {
        if (paint_random(it.labels) == 0) continue;
        CHECK_OK(read_all(it.labels, shape, states[++steps]));
        bool unfinished;
        if (any(6) == 0) CHECK_OK(crd_labels_store(it.labels, 1 + any(3), &unfinished));
    }
    int64_t at = STEPS;
    for (int i = 0; i < 400; i++) {
        crd_label_change change;
        const bool back = any(5) < (i < 200 ? 3 : 2);
        if (any(25) == 0) { /* started again, at times without storing what is open: as if killed */
            CHECK_OK(crd_labels_sync(it.labels));
            close_at(&it);
            CHECK_OK(open_at("undo", &it));
        }
        CHECK_OK(back ? crd_labels_undo(it.labels, "", -1, &change) : crd_labels_redo(it.labels, "", -1, &change));
        CHECK(change.nothing == (back ? at == 0 : at == STEPS));
        if (!change.nothing) at += back ? -1 : 1;
        crd_label_change_free(&change);
        CHECK_OK(read_all(it.labels, shape, now));
        CHECK(memcmp(now, states[at], VOXELS) == 0);
        crd_labels_facts facts;
        int64_t counts[CRD_PAINT_CLASSES] = {0};
        for (int v = 0; v < VOXELS; v++) {
            if (now[v] < CRD_PAINT_CLASSES) counts[now[v]]++;
        }
        crd_labels_describe(it.labels, &facts);
        CHECK(facts.undo == at && facts.redo == STEPS - at);
        CHECK(memcmp(facts.counts, counts, sizeof counts) == 0);
    }
    close_at(&it);
    crd_free(&now);
    for (int i = 0; i <= STEPS; i++) crd_free(&states[i]);
}

static crd_status copy(const char *from, const char *to, int64_t bytes)
{
    char *data = NULL;
    size_t count = 0;
    CRD_PASS(crd_read_file(from, 64 << 20, &data, &count));
    const crd_status status = crd_write_file(to, data, bytes >= 0 && (size_t)bytes < count ? (size_t)bytes : count);
    crd_free(&data);
    return status;
}

/* The journal, cut at every byte: what stood whole before the cut is there, and it can be written on. */
static void test_cut_anywhere(void)
{
    opened it = {NULL, NULL};
    enum { STEPS = 6 };
    static uint8_t *states[STEPS + 1];
    static int64_t ends[STEPS + 1];
    uint8_t *now = NULL;
    struct stat about;
    CHECK_OK(open_at("cut", &it));
    CHECK_OK(crd_alloc(VOXELS, 1, "labels", &now));
    for (int i = 0; i <= STEPS; i++) {
        CHECK_OK(crd_alloc(VOXELS, 1, "labels", &states[i]));
        if (i > 0) {
            char words[256];
            crd_label_change change;
            snprintf(words, sizeof words,
                     "{\"do\":\"stroke\",\"axis\":0,\"slice\":%d,\"points\":[%d,200,80,300],\"radius\":9,\"value\":%d,"
                     "\"id\":\"a%d\"}",
                     10 + i / 2, 60 * i, i % 2, i);
            CHECK_OK(paint_words(it.labels, words, -1, &change));
            CHECK(change.voxels > 0);
            crd_label_change_free(&change);
            CHECK_OK(crd_labels_sync(it.labels));
            CHECK(stat(label_path("cut/labels.journal"), &about) == 0);
            ends[i] = about.st_size;
        }
        CHECK_OK(read_all(it.labels, shape, states[i]));
    }
    /* No chunk is stored yet: the journal is all there is. */
    CHECK_OK(copy(label_path("cut/labels.journal"), label_path("whole"), -1));
    close_at(&it);
    remove_tree(label_path("cut"));
    CHECK(mkdir(label_path("cut"), 0777) == 0);
    for (int64_t bytes = 0; bytes <= ends[STEPS]; bytes++) {
        int steps = 0;
        while (steps < STEPS && ends[steps + 1] <= bytes) steps++;
        CHECK_OK(copy(label_path("whole"), label_path("cut/labels.journal"), bytes));
        opened again = {NULL, NULL};
        CHECK_OK(crd_project_open(label_path("cut"), false, &again.project));
        CHECK_OK(crd_labels_open(again.project, &info, 1 << 20, NULL, &again.labels));
        CHECK(crd_labels_revision(again.labels) == steps);
        CHECK_OK(read_all(again.labels, shape, now));
        CHECK(memcmp(now, states[steps], VOXELS) == 0);
        crd_label_change change;
        CHECK_OK(crd_labels_undo(again.labels, "", -1, &change));
        CHECK(change.nothing == (steps == 0));
        crd_label_change_free(&change);
        CHECK_OK(crd_labels_redo(again.labels, "", -1, &change));
        crd_label_change_free(&change);
        CHECK_OK(read_all(again.labels, shape, now));
        CHECK(memcmp(now, states[steps], VOXELS) == 0);
        close_at(&again);
        remove_tree(label_path("cut/labels.zarr"));
    }
    crd_free(&now);
    for (int i = 0; i <= STEPS; i++) crd_free(&states[i]);
}

static const char dot[] = "{\"do\":\"stroke\",\"axis\":0,\"slice\":%d,\"points\":[200,%d],\"radius\":20,\"value\":%d}";

static void paint_dot(crd_labels *labels, int slice, int place, int value)
{
    char words[256];
    crd_label_change change;
    snprintf(words, sizeof words, dot, slice, place, value);
    CHECK_OK(paint_words(labels, words, -1, &change));
    CHECK(change.voxels > 0);
    crd_label_change_free(&change);
    CHECK_OK(crd_labels_sync(labels));
}

/* Damage before a mark is no end that was never confirmed: to cut there and do the rest again would bring back labels
 * that were painted over since. Without the journal the labels are there as they were stored, and counted. */
static void test_damaged_inside(void)
{
    opened it = {NULL, NULL};
    crd_labels_facts before, after;
    struct stat about;
    bool unfinished;
    CHECK_OK(open_at("damaged", &it));
    paint_dot(it.labels, 10, 100, 1);
    CHECK(stat(label_path("damaged/labels.journal"), &about) == 0);
    paint_dot(it.labels, 10, 100, 2);
    paint_dot(it.labels, 60, 300, 3);
    CHECK_OK(crd_labels_store(it.labels, 100, &unfinished));
    CHECK(!unfinished);
    crd_labels_describe(it.labels, &before);
    close_at(&it);
    const int fd = open(label_path("damaged/labels.journal"), O_RDWR);
    CHECK(fd >= 0 && pwrite(fd, "?", 1, about.st_size + 20) == 1);
    CHECK(close(fd) == 0);
    CHECK_OK(crd_project_open(label_path("damaged"), false, &it.project));
    CHECK_FAILS(crd_labels_open(it.project, &info, 1 << 20, NULL, &it.labels), CRD_ERR_FORMAT, "is damaged at byte");
    close_at(&it);
    CHECK(unlink(label_path("damaged/labels.journal")) == 0);
    CHECK_OK(open_at("damaged", &it));
    crd_labels_describe(it.labels, &after);
    CHECK(after.made && after.undo == 0 && memcmp(before.counts, after.counts, sizeof after.counts) == 0);
    CHECK(!crd_labels_empty(it.labels));
    paint_dot(it.labels, 30, 300, 3);
    close_at(&it);
    CHECK_OK(open_at("damaged", &it));
    crd_labels_describe(it.labels, &after);
    CHECK(after.undo == 1 && after.counts[2] == before.counts[2] && after.counts[3] > before.counts[3]);
    close_at(&it);
}

/* An undo of what a round of storing had already taken in isn't in its mark: what it is about must not be forgotten. */
static void test_forgetting_before_an_undo(void)
{
    opened it = {NULL, NULL}, again = {NULL, NULL};
    crd_label_change change;
    bool unfinished;
    char command[1200];
    CHECK_OK(open_at("undone", &it));
    crd_labels_keep(it.labels, 1); /* nothing, if it may be */
    paint_dot(it.labels, 10, 100, 1);
    paint_dot(it.labels, 66, 700, 2); /* another block */
    CHECK_OK(crd_labels_store(it.labels, 1, &unfinished));
    CHECK(unfinished);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(crd_labels_undo(it.labels, "", -1, &change));
        crd_label_change_free(&change);
    }
    CHECK_OK(crd_labels_store(it.labels, 1, &unfinished));
    CHECK(!unfinished); /* the mark of the round, which knows nothing of the undoing */
    snprintf(command, sizeof command, "cp -a '%s' '%s' && rm -f '%s'", label_path("undone"), label_path("stopped"),
             label_path("stopped/lock"));
    CHECK(system(command) == 0);
    CHECK_OK(open_at("stopped", &again));
    CHECK(again.labels != NULL && crd_labels_revision(again.labels) == 4 && crd_labels_empty(again.labels));
    close_at(&again);
    close_at(&it);
}

/* Chunks as they were at some earlier time, or newer than the mark: the journal makes up for it. */
static void test_replay(void)
{
    opened it = {NULL, NULL};
    uint8_t *wanted = NULL, *now = NULL;
    bool unfinished;
    CHECK_OK(open_at("replay", &it));
    CHECK_OK(crd_alloc(VOXELS, 1, "labels", &wanted));
    CHECK_OK(crd_alloc(VOXELS, 1, "labels", &now));
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 3; i++) (void)paint_random(it.labels);
        crd_label_change change;
        CHECK_OK(crd_labels_undo(it.labels, "", -1, &change));
        crd_label_change_free(&change);
        CHECK_OK(crd_labels_sync(it.labels));
        CHECK_OK(crd_labels_store(it.labels, any(4), &unfinished)); /* a part of a round, or all of it */
        CHECK_OK(read_all(it.labels, shape, wanted));
        /* As if killed: what lies there is looked at by another project, in a copy. */
        char command[1200];
        snprintf(command, sizeof command, "rm -rf '%s' && cp -a '%s' '%s' && rm -f '%s'", label_path("killed"),
                 label_path("replay"), label_path("killed"), label_path("killed/lock"));
        CHECK(system(command) == 0);
        opened again = {NULL, NULL};
        CHECK_OK(open_at("killed", &again));
        CHECK_OK(read_all(again.labels, shape, now));
        CHECK(memcmp(now, wanted, VOXELS) == 0);
        crd_labels_facts before, after;
        crd_labels_describe(it.labels, &before);
        crd_labels_describe(again.labels, &after);
        CHECK(memcmp(&before, &after, sizeof before) == 0);
        close_at(&again);
    }
    close_at(&it);
    crd_free(&wanted);
    crd_free(&now);
}

/* The same id again: done once, and the same answer, also after a restart. */
static void test_same_id(void)
{
    opened it = {NULL, NULL};
    crd_label_change first, again;
    static const char words[] =
        "{\"do\":\"stroke\",\"axis\":1,\"slice\":8,\"points\":[400,40],\"radius\":40,\"value\":2,\"id\":\"s-1\"}";
    CHECK_OK(open_at("same", &it));
    CHECK_OK(paint_words(it.labels, words, 0, &first));
    CHECK(first.voxels > 20 && first.revision == 1);
    CHECK_OK(paint_words(it.labels, words, 0, &again));
    CHECK(again.voxels == first.voxels && again.revision == 1 && !again.old_revision && again.blocks == first.blocks);
    crd_label_change_free(&again);
    CHECK_OK(crd_labels_undo(it.labels, "u-1", 1, &again));
    CHECK(again.revision == 2 && again.undone == 1 && again.voxels == first.voxels);
    crd_label_change_free(&again);
    close_at(&it);
    CHECK_OK(open_at("same", &it));
    CHECK_OK(crd_labels_undo(it.labels, "u-1", 1, &again));
    CHECK(again.revision == 2 && !again.nothing && !again.old_revision);
    crd_label_change_free(&again);
    CHECK_OK(paint_words(it.labels, words, 0, &again));
    CHECK(again.revision == 1 && again.voxels == first.voxels && crd_labels_revision(it.labels) == 2);
    CHECK(crd_labels_empty(it.labels));
    crd_label_change_free(&again);
    crd_label_change_free(&first);
    close_at(&it);
}

/* What the journal has no room for can't be undone any more; the rest can, and the labels stay. */
static void test_forgetting(void)
{
    opened it = {NULL, NULL};
    uint8_t *wanted = NULL, *now = NULL;
    bool unfinished;
    struct stat about;
    CHECK_OK(open_at("forget", &it));
    CHECK_OK(crd_alloc(VOXELS, 1, "labels", &wanted));
    CHECK_OK(crd_alloc(VOXELS, 1, "labels", &now));
    crd_labels_keep(it.labels, 60000);
    for (int i = 0; i < 120; i++) {
        (void)paint_random(it.labels);
        do CHECK_OK(crd_labels_store(it.labels, 100, &unfinished));
        while (unfinished);
    }
    CHECK(stat(label_path("forget/labels.journal"), &about) == 0 && about.st_size < 90000);
    crd_labels_facts facts, after;
    crd_labels_describe(it.labels, &facts);
    CHECK(facts.undo > 0 && facts.undo < facts.revision);
    CHECK_OK(read_all(it.labels, shape, wanted));
    close_at(&it);
    CHECK_OK(open_at("forget", &it));
    crd_labels_describe(it.labels, &after);
    CHECK(memcmp(&facts, &after, sizeof facts) == 0);
    crd_label_change change;
    int64_t undone = 0;
    for (;; undone++) {
        CHECK_OK(crd_labels_undo(it.labels, "", -1, &change));
        crd_label_change_free(&change);
        if (change.nothing) break;
    }
    CHECK(undone == facts.undo);
    for (; undone > 0; undone--) {
        CHECK_OK(crd_labels_redo(it.labels, "", -1, &change));
        crd_label_change_free(&change);
    }
    CHECK_OK(read_all(it.labels, shape, now));
    CHECK(memcmp(now, wanted, VOXELS) == 0);
    close_at(&it);
    crd_free(&wanted);
    crd_free(&now);
}

/* Another server has the project: it is looked at, and a change is refused; afterwards it can be taken over. */
static void test_two_servers(void)
{
    opened first = {NULL, NULL}, second = {NULL, NULL};
    crd_label_change change;
    static const char words[] =
        "{\"do\":\"stroke\",\"axis\":0,\"slice\":8,\"points\":[400,40],\"radius\":40,\"value\":%d}";
    char one[160], two[160];
    snprintf(one, sizeof one, words, 1);
    snprintf(two, sizeof two, words, 0);
    CHECK_OK(open_at("two", &first));
    CHECK_OK(paint_words(first.labels, one, 0, &change));
    crd_label_change_free(&change);
    CHECK_OK(crd_labels_sync(first.labels));
    CHECK_OK(open_at("two", &second));
    CHECK(crd_labels_revision(second.labels) == 1 && !crd_labels_empty(second.labels));
    CHECK_FAILS(paint_words(second.labels, two, 1, &change), CRD_ERR_BUSY, "already writing there");
    CHECK_OK(paint_words(first.labels, two, 1, &change));
    CHECK(change.revision == 2);
    crd_label_change_free(&change);
    close_at(&first);
    CHECK_OK(paint_words(second.labels, one, 1, &change));
    CHECK(change.old_revision && change.revision == 2);
    CHECK_OK(paint_words(second.labels, one, 2, &change));
    CHECK(change.revision == 3 && change.voxels > 0);
    crd_label_change_free(&change);
    close_at(&second);
    crd_project *reader = NULL;
    CHECK_OK(crd_project_open(label_path("two"), true, &reader));
    CHECK_OK(crd_labels_open(reader, &info, 1 << 20, NULL, &second.labels));
    CHECK_FAILS(paint_words(second.labels, two, 3, &change), CRD_ERR_ARGUMENT, "--read-only");
    crd_labels_close(&second.labels);
    crd_project_close(&reader);
}

static void test_other_scan(void)
{
    opened it = {NULL, NULL};
    crd_volume_info other = info;
    crd_label_change change;
    CHECK_OK(open_at("other", &it));
    CHECK_OK(paint_words(
        it.labels, "{\"do\":\"stroke\",\"axis\":0,\"slice\":3,\"points\":[4,4],\"radius\":4,\"value\":1}", 0, &change));
    crd_label_change_free(&change);
    close_at(&it);
    other.shape[2]++;
    CHECK_OK(crd_project_open(label_path("other"), false, &it.project));
    CHECK_FAILS(crd_labels_open(it.project, &other, 1 << 20, NULL, &it.labels), CRD_ERR_MISMATCH,
                "choose another --project");
    crd_project_close(&it.project);
}

TEST_MAIN(TEST(test_nothing_before_the_first), TEST(test_volume), TEST(test_undo), TEST(test_cut_anywhere),
          TEST(test_damaged_inside), TEST(test_forgetting_before_an_undo), TEST(test_replay), TEST(test_same_id),
          TEST(test_forgetting), TEST(test_two_servers), TEST(test_other_scan))
