/* Boxes of voxels as text, and whether a volume has their voxels. */
#include "volume/box.h"

#include <string.h>

#include "base/error.h"
#include "harness.h"
#include "volume/setting_checks.h"

static void test_form(void)
{
    static const char *const wrong[] = {
        "", "1", "0:1,0:1", "0:1,0:1,0:1,", "0:1,0:1,0:1:2", "a:1,0:1,0:1", "0:99999999999999999999,0:1,0:1"};
    static const int64_t shape[3] = {8, 9, 10};
    crd_box box = {{0}, {0}};
    CHECK(crd_box_parse("bbox", "1:8,0:9,9:10", shape, &box) == CRD_OK);
    CHECK(box.origin[0] == 1 && box.size[0] == 7 && box.origin[1] == 0 && box.size[1] == 9 && box.origin[2] == 9 &&
          box.size[2] == 1);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(crd_box_parse("bbox", wrong[i], shape, &box) == CRD_ERR_ARGUMENT);
        CHECK(crd_check_bbox("bbox", wrong[i]) == CRD_ERR_ARGUMENT);
    }
}

/* Limits at the ends of the numbers, of which a difference has no number. */
static void test_limits(void)
{
    static const char *const outside[] = {"-1:8,0:9,0:10",
                                          "0:8,9:9,0:10",
                                          "0:8,5:2,0:10",
                                          "0:9,0:9,0:10",
                                          "-9223372036854775808:9223372036854775807,0:9,0:10",
                                          "0:9223372036854775807,0:9,0:10"};
    static const int64_t shape[3] = {8, 9, 10};
    crd_box box;
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        CHECK(crd_box_parse("bbox", outside[i], shape, &box) == CRD_ERR_ARGUMENT);
        CHECK(strncmp(crd_last_error()->message, "bbox asks for ", 14) == 0);
        CHECK((crd_box_parse("bbox", outside[i], NULL, &box) == CRD_OK) == (i >= 3 && i != 4));
        CHECK(i < 3 || i == 4 || crd_box_check("bbox", &box, shape) == CRD_ERR_ARGUMENT);
    }
    box = (crd_box){{INT64_MAX, 0, 0}, {INT64_MAX, 1, 1}};
    CHECK(crd_box_check("bbox", &box, shape) == CRD_ERR_ARGUMENT);
    box = (crd_box){{0, 0, 0}, {8, 9, 10}};
    CHECK(crd_box_check("bbox", &box, shape) == CRD_OK);
}

TEST_MAIN(TEST(test_form), TEST(test_limits))
