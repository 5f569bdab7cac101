/* Changes of grey values against their definitions in plain double precision, and that they are counted, not streamed.
 */
#include "base/random/philox.h"
#include "harness.h"
#include "train/data/grey.h"

enum { Z = 6, Y = 9, X = 11, COUNT = Z * Y * X };
static const int64_t size[3] = {Z, Y, X};
static float room[2 * COUNT + X + 2 * CRD_GREY_REACH];

static void fill(float *voxels)
{
    for (int i = 0; i < COUNT; i++) voxels[i] = (float)sin(0.7 * i) * 1.6f + (float)(i % 5) * 0.1f;
}

static int mirror(int i, int n)
{
    return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
}

static void reference_blur(double width, const double *from, double *to)
{
    double weights[2 * CRD_GREY_REACH + 1], sum = 0.0;
    const int radius = (int)fmin(ceil(3.0 * width), CRD_GREY_REACH);
    for (int k = -radius; k <= radius; k++) sum += weights[k + radius] = exp(-0.5 * k * k / (width * width));
    for (int z = 0; z < Z; z++) {
        for (int y = 0; y < Y; y++) {
            for (int x = 0; x < X; x++) {
                double value = 0.0;
                for (int c = -radius; c <= radius; c++) {
                    for (int b = -radius; b <= radius; b++) {
                        for (int a = -radius; a <= radius; a++) {
                            value += weights[a + radius] * weights[b + radius] * weights[c + radius] *
                                     from[(mirror(z + c, Z) * Y + mirror(y + b, Y)) * X + mirror(x + a, X)];
                        }
                    }
                }
                to[(z * Y + y) * X + x] = value / (sum * sum * sum);
            }
        }
    }
}

/* The definitions in train/grey.h, one after the other. */
static void reference(const crd_grey_change *c, const crd_stream *noise, double *voxels)
{
    static double other[COUNT];
    if (c->blur > 0.0) {
        reference_blur(c->blur, voxels, other);
        memcpy(voxels, other, sizeof other);
    }
    if (c->sharpen > 0.0) {
        reference_blur(CRD_SHARPEN_WIDTH, voxels, other);
        for (int i = 0; i < COUNT; i++) voxels[i] += c->sharpen * (voxels[i] - other[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        const int z = i / (Y * X), y = i / X % Y, x = i % X, place[3] = {z, y, x};
        double v = voxels[i];
        if (v > 1.0) {
            v = 1.0 + (1.0 - 2.0 * c->bend) * (v - 1.0);
        } else if (v < -1.0) {
            v = -1.0 + (1.0 + 2.0 * c->bend) * (v + 1.0);
        } else {
            v += c->bend * (1.0 - v * v);
        }
        v = c->gain * v + c->offset;
        for (int axis = 0; axis < 3; axis++) {
            const crd_grey_wave *w = &c->drift[axis];
            if (w->height > 0.0) v += w->height * cos(2.0 * acos(-1.0) * (place[axis] / w->length + w->phase));
        }
        voxels[i] = v;
    }
    static double white[COUNT], grains[COUNT];
    for (int i = 0; i < COUNT; i++) white[i] = (double)crd_random_normal(noise, (uint64_t)i);
    if (c->grain > 0.0) {
        float weights[CRD_GREY_REACH + 1];
        const int radius = crd_grey_kernel(c->grain, weights);
        double squares = 0.0;
        for (int k = -radius; k <= radius; k++) squares += pow((double)weights[abs(k)], 2.0);
        reference_blur(c->grain, white, grains);
        for (int i = 0; i < COUNT; i++) white[i] = grains[i] / pow(squares, 1.5);
    }
    for (int i = 0; i < COUNT; i++) voxels[i] += c->noise * white[i];
}

static void check_change(const crd_grey_change *change)
{
    const crd_stream noise = {.seed = 3, .layer = 2, .purpose = CRD_PURPOSE_AUGMENT, .step = 7, .example = 11};
    float voxels[COUNT];
    double expected[COUNT];
    fill(voxels);
    for (int i = 0; i < COUNT; i++) expected[i] = (double)voxels[i];
    crd_grey_apply(change, 3, 7, 11, size, voxels, room);
    reference(change, &noise, expected);
    for (int i = 0; i < COUNT; i++) CHECK_NEAR(voxels[i], expected[i], 1e-5);
}

static void test_each_by_itself(void)
{
    const crd_grey_change changes[] = {
        CRD_GREY_SAME,
        {.gain = 1.0, .blur = 0.3},
        {.gain = 1.0, .blur = 1.2},
        {.gain = 1.0, .sharpen = 0.8},
        {.gain = 1.0, .bend = 0.15},
        {.gain = 1.0, .bend = -0.1},
        {.gain = 1.3, .offset = -0.2},
        {.gain = 1.0, .drift = {{0.1, 5.0, 0.2}, {0.05, 20.0, 0.9}, {0.2, 40.0, 0.5}}},
        {.gain = 1.0, .noise = 0.7},
        {.gain = 1.0, .noise = 0.7, .grain = 1.1},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) check_change(&changes[i]);
}

static void test_drawn(void)
{
    const crd_grey_change none = CRD_GREY_SAME;
    int kinds[6] = {0}, same = 0;
    for (int64_t piece = 0; piece < 400; piece++) {
        const crd_grey_change c = crd_grey_draw(9, 2, piece, size, 0.8), again = crd_grey_draw(9, 2, piece, size, 0.8);
        CHECK(memcmp(&c, &again, sizeof c) == 0);
        CHECK(c.blur >= 0.0 && c.blur <= 0.8 && (c.blur == 0.0 || c.sharpen == 0.0));
        CHECK(c.noise >= 0.0 && c.noise <= 0.67 * 0.8 && c.gain > 0.85 && c.gain < 1.17 && fabs(c.offset) <= 0.1);
        same += memcmp(&c, &none, sizeof c) == 0;
        kinds[0] += c.blur > 0.0;
        kinds[1] += c.sharpen > 0.0;
        kinds[2] += c.bend != 0.0;
        kinds[3] += c.gain != 1.0;
        kinds[4] += c.drift[0].height > 0.0;
        kinds[5] += c.noise > 0.0;
        if (piece < 20) check_change(&c);
    }
    CHECK(same > 170 && same < 240); /* half, and those of the others that nothing was drawn for */
    CHECK(kinds[0] > 50 && kinds[0] < 100 && kinds[1] > 10 && kinds[1] < 45);
    for (int i = 2; i < 6; i++) CHECK(kinds[i] > 70 && kinds[i] < 130);
    const crd_grey_change one = crd_grey_draw(9, 2, 5, size, 0.8), other = crd_grey_draw(9, 3, 5, size, 0.8);
    CHECK(memcmp(&one, &other, sizeof one) != 0);
}

/* Shorter than a Gaussian reaches. */
static void test_small_pieces(void)
{
    const int64_t small[3] = {1, 2, 3};
    float voxels[6] = {1, 2, 3, 4, 5, 6}, space[2 * 6 + 3 + 2 * CRD_GREY_REACH];
    double sum = 0.0;
    CHECK(crd_grey_room(small) == (int64_t)(sizeof space / sizeof space[0]));
    crd_grey_apply(&(crd_grey_change){.gain = 1.0, .blur = 1.2}, 1, 1, 1, small, voxels, space);
    for (int i = 0; i < 6; i++) sum += (double)voxels[i];
    CHECK_NEAR(sum, 21.0, 1e-4); /* a mirror loses nothing */
    CHECK(voxels[0] > 1.5f && voxels[5] < 5.5f);
}

TEST_MAIN(TEST(test_each_by_itself), TEST(test_drawn), TEST(test_small_pieces))
