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

/* A few labelled voxels, thousands of boxes: absent and present are always true, and the box around them is exact. */
static void test_random_boxes(void)
{
    static uint8_t voxels[VOXELS];
    uint64_t state = 5;
    for (int round = 1; round <= 6; round++) {
        crd_label *label = NULL;
        crd_label_map *map = NULL;
        int sure = 0;
        int64_t low[3] = {Z, Y, X}, high[3] = {0, 0, 0};
        memset(voxels, 9, sizeof voxels);
        for (int i = 0; i < 2 * round; i++) {
            const int64_t at[3] = {(int64_t)(tools_random(&state) % Z), (int64_t)(tools_random(&state) % Y),
                                   (int64_t)(tools_random(&state) % X)};
            voxels[(at[0] * Y + at[1]) * X + at[2]] = (uint8_t)(i % 2);
        }
        for (int64_t i = 0; i < VOXELS; i++) {
            const int64_t at[3] = {i / X / Y, i / X % Y, i % X};
            for (int axis = 0; axis < 3 && voxels[i] != 9; axis++) {
                if (at[axis] < low[axis]) low[axis] = at[axis];
                if (at[axis] + 1 > high[axis]) high[axis] = at[axis] + 1;
            }
        }
        CHECK_OK(save(scratch("label.npy"), voxels));
        const crd_label_options options = {.ignore = (const double[]){9}, .ignore_count = 1};
        CHECK_OK(crd_label_open(scratch("label.npy"), whole.size, &options, NULL, &label));
        CHECK_OK(crd_label_map_make(label, NULL, &map));
        const crd_box *box = crd_label_map_box(map);
        for (int axis = 0; axis < 3; axis++) {
            CHECK(box->origin[axis] == low[axis] && box->size[axis] == high[axis] - low[axis]);
        }
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
        }
        CHECK(sure > 300);
        CHECK(crd_label_map_look(map, &whole) != CRD_LABELS_ABSENT);
        crd_label_map_free(&map);
        crd_label_close(&label);
    }
}

TEST_MAIN(TEST(test_random_boxes))
