/* Rounding to half precision, at and around every number of that kind. */
#include "base/half.h"

#include "harness.h"

enum { COUNT = 0x7c00 }; /* finite numbers from 0 on; one more is infinite */

/* Number `bits` of them, 65536 in place of the infinite one. */
static float half(int bits)
{
    const int exponent = bits >> 10, fraction = bits & 0x3ff;
    return exponent == 0 ? ldexpf((float)fraction, -24) : ldexpf((float)(1024 + fraction), exponent - 25);
}

static void test_every_number(void)
{
    for (int i = 0; i < COUNT; i++) {
        CHECK(crd_round_to_half(half(i)) == half(i) && crd_round_to_half(-half(i)) == -half(i));
    }
}

static void test_between_neighbours(void)
{
    for (int i = 0; i < COUNT; i++) {
        const float middle = (half(i) + half(i + 1)) / 2.0f, low = half(i), high = half(i + 1 < COUNT ? i + 1 : i);
        CHECK(crd_round_to_half(nextafterf(middle, 0.0f)) == low);
        CHECK(crd_round_to_half(nextafterf(middle, HUGE_VALF)) == high);
        CHECK(crd_round_to_half(middle) == (i % 2 == 0 ? low : high));
        CHECK(crd_round_to_half(-middle) == -(i % 2 == 0 ? low : high));
    }
}

static void test_beyond(void)
{
    const float largest = half(COUNT - 1);
    CHECK(largest == 65504.0f);
    CHECK(crd_round_to_half(1e30f) == largest && crd_round_to_half(-1e30f) == -largest);
    CHECK(crd_round_to_half(HUGE_VALF) == largest && crd_round_to_half(-HUGE_VALF) == -largest);
    CHECK(crd_round_to_half(1e-30f) == 0.0f && crd_round_to_half(0x1p-25f) == 0.0f);
}

TEST_MAIN(TEST(test_every_number), TEST(test_between_neighbours), TEST(test_beyond))
