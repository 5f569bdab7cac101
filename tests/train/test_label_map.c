/* The map of a label against looking at every voxel. */
#include "harness.h"
#include "train/data/label_map.h"
#include "volume_tools.h"

enum { Z = 27, Y = 19, X = 41, VOXELS = Z * Y * X };
static const crd_box whole = {{0, 0, 0}, {Z, Y, X}};

static crd_status save(const char *path, const uint8_t *voxels)
{
    crd_volume *volume = NULL;
    const crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_U8, .scale = 1.0};
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &whole, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

static bool holds_label(const uint8_t *voxels, const crd_box *box)
{
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++) {
            for (int64_t x = box->origin[2]; x < box->origin[2] + box->size[2]; x++) {
                if (voxels[(z * Y + y) * X + x] != 9) return true;
            }
        }
    }
    return false;
}

static int64_t count_class(const uint8_t *voxels, const crd_box *box, uint8_t class)
{
    int64_t count = 0;
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++) {
            for (int64_t x = box->origin[2]; x < box->origin[2] + box->size[2]; x++) {
                count += voxels[(z * Y + y) * X + x] == class;
            }
        }
    }
    return count;
}

/* A few labelled voxels, thousands of boxes: absent and present are always true, and counts are never too low. */
static void test_random_boxes(void)
{
    static uint8_t voxels[VOXELS];
    uint64_t state = 5;
    for (int round = 1; round <= 6; round++) {
        crd_label *label = NULL;
        crd_label_map *map = NULL;
        int sure = 0;
        memset(voxels, 9, sizeof voxels);
        for (int i = 0; i < 2 * round; i++) {
            const int64_t at[3] = {(int64_t)(tools_random(&state) % Z), (int64_t)(tools_random(&state) % Y),
                                   (int64_t)(tools_random(&state) % X)};
            voxels[(at[0] * Y + at[1]) * X + at[2]] = (uint8_t)(i % 2);
        }
        CHECK_OK(save(scratch("label.npy"), voxels));
        const crd_label_options options = {.ignore = (const double[]){9}, .ignore_count = 1};
        CHECK_OK(crd_label_open(scratch("label.npy"), whole.size, &options, NULL, &label));
        CHECK_OK(crd_label_map_make(label, NULL, 2, NULL, &map));
        for (int i = 0; i < 3000; i++) {
            crd_box part;
            for (int axis = 0; axis < 3; axis++) {
                part.size[axis] = 1 + (int64_t)(tools_random(&state) % (uint64_t)whole.size[axis]);
                part.origin[axis] =
                    (int64_t)(tools_random(&state) % (uint64_t)(whole.size[axis] - part.size[axis] + 1));
            }
            const crd_label_presence presence = crd_label_map_look(map, &part);
            CHECK(presence == CRD_LABELS_PERHAPS || (presence == CRD_LABELS_PRESENT) == holds_label(voxels, &part));
            sure += presence != CRD_LABELS_PERHAPS;
            crd_box cells = part;
            for (int axis = 0; axis < 3; axis++) {
                const int64_t end = part.origin[axis] + part.size[axis];
                cells.origin[axis] = part.origin[axis] / CRD_CELL * CRD_CELL;
                cells.size[axis] = (end + CRD_CELL - 1) / CRD_CELL * CRD_CELL - cells.origin[axis];
                if (cells.origin[axis] + cells.size[axis] > whole.size[axis]) {
                    cells.size[axis] = whole.size[axis] - cells.origin[axis];
                }
            }
            int64_t counts[2] = {0, 0}, exact[2] = {0, 0};
            const int64_t most = crd_label_map_add(map, &part, counts), all = crd_label_map_add(map, &cells, exact);
            CHECK(most >= count_class(voxels, &part, 0) + count_class(voxels, &part, 1) && most <= all);
            CHECK(all == exact[0] + exact[1]);
            for (uint8_t k = 0; k < 2; k++) {
                CHECK(counts[k] >= count_class(voxels, &part, k) && counts[k] <= exact[k]);
                CHECK(exact[k] == count_class(voxels, &cells, k));
            }
        }
        CHECK(sure > 300);
        CHECK(crd_label_map_look(map, &whole) != CRD_LABELS_ABSENT);
        crd_label_map_free(&map);
        crd_label_close(&label);
    }
}

TEST_MAIN(TEST(test_random_boxes))
