/* How slices are reduced for the page. */
#include "harness.h"
#include "report/stack.h"

static int64_t left(const int64_t shape[3], const int64_t steps[3])
{
    int64_t voxels = 1;
    for (int axis = 0; axis < 3; axis++) voxels *= (shape[axis] + steps[axis] - 1) / steps[axis];
    return voxels;
}

static void check(const int64_t shape[3], const double spacing[3], int64_t voxels, int64_t z, int64_t y, int64_t x)
{
    int64_t steps[3];
    crd_stack_steps(shape, spacing, voxels, steps);
    CHECK(steps[0] == z && steps[1] == y && steps[2] == x);
    CHECK(left(shape, steps) <= voxels);
}

static void test_cubes_stay_cubes(void)
{
    static const int64_t small[3] = {100, 100, 100}, large[3] = {800, 800, 800};
    static const double cubes[3] = {0.65, 0.65, 0.65}, unknown[3] = {0.0, 0.0, 0.0};
    check(small, cubes, 1000000, 1, 1, 1);
    check(large, cubes, 1000000, 8, 8, 8);
    check(large, unknown, 1000000, 8, 8, 8);
}

/* Slices four times as far apart as voxels: those within a slice are put together first. */
static void test_what_is_short_is_put_together_first(void)
{
    static const int64_t shape[3] = {100, 400, 400};
    static const double spacing[3] = {4.0, 1.0, 1.0};
    check(shape, spacing, 100 * 200 * 200, 1, 2, 2);
    check(shape, spacing, 100 * 134 * 134, 1, 3, 3);
}

static void test_odd_shapes(void)
{
    static const int64_t line[3] = {1, 1, 5000000}, one[3] = {1, 1, 1};
    static const double cubes[3] = {1.0, 1.0, 1.0};
    int64_t steps[3];
    crd_stack_steps(line, cubes, 8 << 20, steps);
    CHECK(left(line, steps) <= 900 && steps[0] == 1 && steps[1] == 1);
    check(one, cubes, 1, 1, 1, 1);
}

TEST_MAIN(TEST(test_cubes_stay_cubes), TEST(test_what_is_short_is_put_together_first), TEST(test_odd_shapes))
