/* Labels as people make them: two values of any size, several classes, voxels nobody labelled. */
#include <unistd.h>

#include "base/error.h"
#include "chunk/label.h"
#include "harness.h"

enum { Z = 3, Y = 4, X = 5, VOXELS = Z * Y * X };
static const int64_t shape[3] = {Z, Y, X};
static const crd_box whole = {{0, 0, 0}, {Z, Y, X}};
static const char path[] = "label_test.npy";

static crd_status write_label(crd_type type, const void *voxels)
{
    const crd_volume_info info = {.shape = {Z, Y, X}, .type = type, .scale = 1};
    crd_volume *volume = NULL;
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &whole, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

static void test_larger_of_two_values_is_foreground(void)
{
    uint8_t voxels[VOXELS], classes[VOXELS];
    crd_label *label = NULL, *again = NULL;
    int64_t counts[3];
    for (int i = 0; i < VOXELS; i++) voxels[i] = i % 3 == 0 ? 255 : 17;
    CHECK_OK(write_label(CRD_U8, voxels));
    CHECK_OK(crd_label_open(path, shape, &(crd_label_options){0}, NULL, &label));
    CHECK_OK(crd_label_reopen(label, &again));
    crd_label_close(&label);
    CHECK_OK(crd_label_read(again, &whole, classes));
    for (int i = 0; i < VOXELS; i++) CHECK(classes[i] == (i % 3 == 0));
    crd_label_counts(again, counts);
    CHECK(counts[0] == 40 && counts[1] == 20 && counts[2] == 0);
    crd_label_close(&again);
}

static void test_foreground_and_ignored_values(void)
{
    int16_t voxels[VOXELS];
    uint8_t classes[VOXELS];
    const double foreground[] = {2, 3}, ignore[] = {-1};
    crd_label *label = NULL;
    for (int i = 0; i < VOXELS; i++) voxels[i] = (int16_t)(i % 5 - 1);
    CHECK_OK(write_label(CRD_I16, voxels));
    CHECK_FAILS(crd_label_open(path, shape, &(crd_label_options){0}, NULL, &label), CRD_ERR_ARGUMENT, "-1, 0, 1, 2, 3");
    const crd_label_options options = {
        .foreground = foreground, .foreground_count = 2, .ignore = ignore, .ignore_count = 1};
    CHECK_OK(crd_label_open(path, shape, &options, NULL, &label));
    CHECK_OK(crd_label_read(label, &whole, classes));
    for (int i = 0; i < VOXELS; i++) {
        CHECK(classes[i] == (voxels[i] == -1 ? CRD_LABEL_NONE : voxels[i] >= 2));
    }
    const crd_box part = {{1, 1, 2}, {2, 3, 2}};
    CHECK_OK(crd_label_read(label, &part, classes));
    for (int z = 0, i = 0; z < 2; z++) {
        for (int y = 0; y < 3; y++) {
            for (int x = 0; x < 2; x++, i++) {
                const int16_t value = voxels[((z + 1) * Y + y + 1) * X + x + 2];
                CHECK(classes[i] == (value == -1 ? CRD_LABEL_NONE : value >= 2));
            }
        }
    }
    crd_label_close(&label);
    const double missing[] = {7};
    const crd_label_options wrong = {.foreground = missing, .foreground_count = 1, .needed = true};
    CHECK_FAILS(crd_label_open(path, shape, &wrong, NULL, &label), CRD_ERR_ARGUMENT, "foreground value 7");
}

static void test_one_class_only(void)
{
    uint8_t voxels[VOXELS] = {0};
    int64_t counts[3];
    crd_label *label = NULL;
    CHECK_OK(write_label(CRD_U8, voxels));
    CHECK_OK(crd_label_open(path, shape, &(crd_label_options){0}, NULL, &label));
    crd_label_counts(label, counts);
    CHECK(counts[0] == VOXELS && counts[1] == 0);
    crd_label_close(&label);
}

typedef struct heard {
    char warning[512];
    int warnings;
} heard;

static void hear(void *context, crd_level level, const char *message)
{
    heard *h = context;
    if (level != CRD_LEVEL_WARNING) return;
    h->warnings++;
    snprintf(h->warning, sizeof h->warning, "%s", message);
}

/* The second of two files holds the background (1) only, and 0 means that nobody looked. */
static crd_status learn_two(crd_label **labels)
{
    uint8_t first[VOXELS], second[VOXELS];
    for (int i = 0; i < VOXELS; i++) first[i] = (uint8_t)(i % 3), second[i] = (uint8_t)(i % 2);
    CRD_PASS(write_label(CRD_U8, first));
    CRD_PASS(crd_label_learn(path, shape, NULL, NULL, &labels[0]));
    CRD_PASS(write_label(CRD_U8, second));
    return crd_label_learn(path, shape, NULL, NULL, &labels[1]);
}

static void check_second_is_background(const crd_label *label)
{
    int64_t counts[3];
    crd_label_counts(label, counts);
    CHECK(counts[0] == VOXELS / 2 && counts[1] == 0 && counts[2] == VOXELS / 2);
}

static void test_labels_are_decided_together(void)
{
    const double zero[] = {0}, two[] = {2}, seven[] = {7};
    crd_label *labels[2] = {NULL, NULL};
    heard h = {.warnings = 0};
    const crd_monitor monitor = {.message = hear, .context = &h};
    crd_label_options options = {.ignore = zero, .ignore_count = 1, .needed = true};
    CHECK_OK(learn_two(labels));
    CHECK_OK(crd_label_decide(labels, 2, &options, &monitor));
    check_second_is_background(labels[1]);
    CHECK(h.warnings == 0);
    options.foreground = two;
    options.foreground_count = 1;
    CHECK_OK(crd_label_decide(labels, 2, &options, &monitor));
    check_second_is_background(labels[1]);
    CHECK(h.warnings == 1 && strstr(h.warning, "has no foreground") != NULL);
    options.foreground = seven;
    CHECK_FAILS(crd_label_decide(labels, 2, &options, NULL), CRD_ERR_ARGUMENT, "nor has any other");
    CHECK_FAILS(crd_label_decide(labels, 2, &(crd_label_options){0}, NULL), CRD_ERR_ARGUMENT, "0, 1, 2");
    for (int i = 0; i < 2; i++) crd_label_close(&labels[i]);
}

/* Alone it can't be told from a file that is foreground throughout: taken for that, and said. */
static void test_one_value_alone(void)
{
    const double zero[] = {0}, two[] = {2};
    crd_label *labels[2] = {NULL, NULL};
    heard h = {.warnings = 0};
    const crd_monitor monitor = {.message = hear, .context = &h};
    crd_label_options options = {.ignore = zero, .ignore_count = 1};
    int64_t counts[3];
    CHECK_OK(learn_two(labels));
    CHECK_OK(crd_label_decide(labels + 1, 1, &options, &monitor));
    crd_label_counts(labels[1], counts);
    CHECK(counts[0] == 0 && counts[1] == VOXELS / 2);
    CHECK(h.warnings == 1 && strstr(h.warning, "taken for the foreground") != NULL);
    CHECK(strstr(h.warning, "in the label ") != NULL);
    crd_label *const same[] = {labels[1], labels[1], labels[1]};
    CHECK_OK(crd_label_decide(same, 2, &options, &monitor));
    CHECK(strstr(h.warning, "in the labels (") != NULL && strstr(h.warning, " and 1 other), apart") != NULL);
    CHECK_OK(crd_label_decide(same, 3, &options, &monitor));
    CHECK(strstr(h.warning, " and 2 others), apart") != NULL);
    h.warnings = 0;
    options.foreground = two;
    options.foreground_count = 1;
    CHECK_OK(crd_label_decide(labels + 1, 1, &options, &monitor));
    check_second_is_background(labels[1]);
    for (int i = 0; i < 2; i++) crd_label_close(&labels[i]);
}

static void test_many_classes(void)
{
    uint8_t voxels[VOXELS], classes[VOXELS];
    static const uint8_t values[] = {0, 128, 255, 9};
    const double order[] = {255, 0, 128}, nine[] = {9}, extra[] = {255, 0, 128, 7};
    int64_t counts[CRD_CLASSES_MAX], three[3];
    crd_label *label = NULL, *again = NULL;
    for (int i = 0; i < VOXELS; i++) voxels[i] = values[i % 4];
    CHECK_OK(write_label(CRD_U8, voxels));

    /* All that occur, in rising order, where that many are allowed. */
    crd_label_options options = {.classes_most = CRD_CLASSES_MAX, .needed = true};
    CHECK_OK(crd_label_open(path, shape, &options, NULL, &label));
    CHECK(crd_label_meaning(label)->count == 4 && crd_label_meaning(label)->values[1] == 9);
    crd_label_close(&label);
    options.classes_most = 3;
    CHECK_FAILS(crd_label_open(path, shape, &options, NULL, &label), CRD_ERR_ARGUMENT, "4 different values (0, 9, 128");

    /* In the order given, with one that means nothing. */
    options = (crd_label_options){.classes = order, .class_count = 3, .ignore = nine, .ignore_count = 1};
    CHECK_OK(crd_label_open(path, shape, &options, NULL, &label));
    CHECK_OK(crd_label_reopen(label, &again));
    crd_label_close(&label);
    CHECK(crd_label_meaning(again)->count == 3 && crd_label_meaning(again)->values[0] == 255);
    CHECK_OK(crd_label_read(again, &whole, classes));
    static const uint8_t expected[] = {1, 2, 0, CRD_LABEL_NONE};
    for (int i = 0; i < VOXELS; i++) CHECK(classes[i] == expected[i % 4]);
    crd_label_class_counts(again, counts);
    crd_label_counts(again, three);
    for (int c = 0; c < 3; c++) CHECK(counts[c] == VOXELS / 4);
    CHECK(counts[3] == 0 && three[0] == VOXELS / 4 && three[1] == VOXELS / 2 && three[2] == VOXELS / 4);
    crd_label_close(&again);

    /* A class that the label lacks is fine where it isn't needed: a test label may lack it. */
    options.classes = extra;
    options.class_count = 4;
    CHECK_OK(crd_label_open(path, shape, &options, NULL, &label));
    crd_label_class_counts(label, counts);
    CHECK(crd_label_meaning(label)->count == 4 && counts[3] == 0);
    crd_label_close(&label);
    options.needed = true;
    CHECK_FAILS(crd_label_open(path, shape, &options, NULL, &label), CRD_ERR_ARGUMENT, "no voxel of the class 7");
    options.ignore_count = 0;
    options.needed = false;
    CHECK_FAILS(crd_label_open(path, shape, &options, NULL, &label), CRD_ERR_ARGUMENT, "--ignore 9");
    unlink(path);
}

/* Gaps and numbers that are no bytes. */
static void test_classes_of_any_number(void)
{
    float voxels[VOXELS];
    uint8_t classes[VOXELS];
    crd_label *label = NULL;
    for (int i = 0; i < VOXELS; i++) voxels[i] = i % 3 == 0 ? -2.5f : i % 3 == 1 ? 1e6f : 0.25f;
    CHECK_OK(write_label(CRD_F32, voxels));
    CHECK_OK(crd_label_open(path, shape, &(crd_label_options){.classes_most = 3}, NULL, &label));
    CHECK_OK(crd_label_read(label, &whole, classes));
    for (int i = 0; i < VOXELS; i++) CHECK(classes[i] == (i % 3 == 0 ? 0 : i % 3 == 1 ? 2 : 1));
    crd_label_close(&label);
    unlink(path);
}

static void test_what_is_not_a_label(void)
{
    float voxels[VOXELS] = {0};
    const int64_t other[3] = {Z, Y, X + 1};
    crd_label *label = NULL;
    voxels[7] = NAN;
    CHECK_OK(write_label(CRD_F32, voxels));
    CHECK_FAILS(crd_label_open(path, shape, &(crd_label_options){0}, NULL, &label), CRD_ERR_FORMAT, "not finite");
    CHECK_FAILS(crd_label_open(path, other, &(crd_label_options){0}, NULL, &label), CRD_ERR_MISMATCH, "3,4,5");
    unlink(path);
}

TEST_MAIN(TEST(test_larger_of_two_values_is_foreground), TEST(test_foreground_and_ignored_values),
          TEST(test_one_class_only), TEST(test_labels_are_decided_together), TEST(test_one_value_alone),
          TEST(test_many_classes), TEST(test_classes_of_any_number), TEST(test_what_is_not_a_label))
