/* Colours, regions, pictures' bytes: what a look at the page can't tell. */
#include "base/memory.h"
#include "base/text.h"
#include "draw/colour.h"
#include "draw/slice.h"
#include "harness.h"
#include "report/reported_run.h"

/* CIE lightness of an sRGB colour: another space than the one the map was made in. */
static double lightness(const uint8_t rgb[3])
{
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    double y = 0.0;
    for (int i = 0; i < 3; i++) {
        const double c = rgb[i] / 255.0;
        y += weights[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return y > 0.008856 ? 116.0 * cbrt(y) - 16.0 : 903.3 * y;
}

static void test_colours_grow_lighter_evenly(void)
{
    uint8_t map[CRD_COLOURS][3];
    crd_colour_map(map);
    CHECK(lightness(map[0]) < 3.0);
    CHECK(lightness(map[CRD_COLOURS - 1]) > 90.0);
    for (int i = 8; i < CRD_COLOURS; i++) {
        const double step = lightness(map[i]) - lightness(map[i - 8]);
        CHECK(step > 2.0 && step < 4.0); /* 2.98 but for the rounding to bytes, which counts most near black */
    }
}

static void test_regions(void)
{
    enum { N = 12, BLOCK = 4 };
    static float means[N * N * N];
    const int64_t cells[3] = {N, N, N}, shape[3] = {N * BLOCK, N * BLOCK, N * BLOCK - 2};
    crd_region r[10];
    int found = 0;
    /* One of two blocks, one alone at the end of x, where blocks are cut off, and a faint one. */
    means[(2 * N + 3) * N + 4] = 0.5f;
    means[(2 * N + 3) * N + 5] = 0.3f;
    means[(2 * N + 4) * N + 4] = 0.2f;
    means[(9 * N + 9) * N + 11] = 0.4f;
    means[(6 * N + 6) * N + 6] = 0.01f;
    CHECK_OK(crd_regions_find(means, cells, BLOCK, shape, 10, r, &found));
    CHECK(found == 4);
    CHECK(r[0].voxels == 128 && r[0].low[0] == 8 && r[0].low[2] == 16 && r[0].high[2] == 24);
    CHECK_NEAR(r[0].mean, 0.4, 1e-6);
    CHECK(r[0].centre[0] == 10 && r[0].centre[1] == 14 && r[0].centre[2] == 19);
    CHECK(r[1].voxels == 32 && r[1].high[2] == 46 && r[1].low[2] == 44);
    CHECK(r[2].voxels == 64 && r[2].low[1] == 16);
    CHECK_NEAR(r[3].mean, 0.01, 1e-6);
}

static void test_base64(void)
{
    static const char *const cases[][2] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                                           {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crd_text text = {0};
        char *out = NULL;
        crd_text_base64(&text, (const uint8_t *)cases[i][0], (int64_t)strlen(cases[i][0]));
        CHECK_OK(crd_text_finish(&text, &out));
        CHECK(strcmp(out, cases[i][1]) == 0);
        crd_free(&out);
    }
    static uint8_t many[3001];
    crd_text text = {0};
    char *out = NULL;
    crd_text_base64(&text, many, sizeof many);
    CHECK_OK(crd_text_finish(&text, &out));
    CHECK(strlen(out) == (sizeof many + 2) / 3 * 4 && out[strlen(out) - 3] != '=');
    crd_free(&out);
}

static void test_text(void)
{
    crd_text text = {0};
    char *out = NULL;
    crd_text_html(&text, "<a href=\"x\">&\x01\n");
    crd_text_json(&text, "\"\\\n");
    crd_text_number(&text, 0.125, 2, "-");
    crd_text_number(&text, (double)NAN, 2, "-");
    CHECK_OK(crd_text_finish(&text, &out));
    CHECK(strcmp(out, "&lt;a href=&quot;x&quot;&gt;&amp;\n\"\\\"\\\\\\u000a\"0.12-") == 0);
    crd_free(&out);
}

static void test_picture_sizes(void)
{
    const crd_plane plane = {.rows = 50, .columns = 100}, large = {.rows = 3000, .columns = 1500};
    int64_t width, height;
    crd_picture_size(&plane, 0, 0, 448, &width, &height);
    CHECK(width == 400 && height == 200);
    crd_picture_size(&plane, 2.0, 1.0, 448, &width, &height); /* slices twice as far apart as voxels */
    CHECK(width == 400 && height == 400);
    crd_picture_size(&large, 1.0, 1.0, 448, &width, &height);
    CHECK(width == 224 && height == 448);
}

TEST_MAIN(TEST(test_colours_grow_lighter_evenly), TEST(test_regions), TEST(test_base64), TEST(test_text),
          TEST(test_picture_sizes))
