/* The rasteriser against areas known by heart, the typeface, ticks, plots, and colours as colour-blind eyes see them.
 */
#include "base/memory.h"
#include "draw/colour.h"
#include "draw/font.h"
#include "draw/plot.h"
#include "draw/slice.h"
#include "draw/style.h"
#include "draw/ticks.h"
#include "harness.h"

enum { N = 64 };

/* White on black: a pixel is 255 times what is covered. */
static crd_picture black(int64_t width, int64_t height)
{
    crd_picture picture = {0};
    if (crd_picture_create(width, height, &picture) != CRD_OK) abort();
    return picture;
}

static double covered(const crd_picture *picture)
{
    double sum = 0.0;
    for (int64_t i = 0; i < picture->width * picture->height; i++) sum += picture->rgb[3 * i] / 255.0;
    return sum;
}

static double overlap(double low, double high, int64_t pixel)
{
    return fmax(0.0, fmin(high, (double)pixel + 1.0) - fmax(low, (double)pixel));
}

static void test_rectangle_is_exact(void)
{
    crd_picture picture = black(N, N);
    crd_raster raster = {.picture = &picture};
    /* Edges between the raster's lines: every pixel's share is exact. */
    const double x = 2.3, y = 3.5, width = 20.45, height = 9.0625;
    crd_raster_box(&raster, x, y, width, height);
    crd_raster_fill(&raster, 0xffffff, 1.0);
    CHECK_OK(raster.status);
    for (int64_t r = 0; r < N; r++) {
        for (int64_t c = 0; c < N; c++) {
            const double share = overlap(x, x + width, c) * overlap(y, y + height, r);
            CHECK_NEAR(picture.rgb[3 * (r * N + c)], 255.0 * share, 0.51);
        }
    }
    crd_raster_free(&raster);
    crd_picture_free(&picture);
}

/* Straight edges are exact in whole rows, however slanted. */
static void test_triangle_halves_its_diagonal(void)
{
    crd_picture picture = black(N, N);
    crd_raster raster = {.picture = &picture};
    const double corners[3][2] = {{0.0, 0.0}, {N, N}, {0.0, N}};
    crd_raster_polygon(&raster, corners, 3);
    crd_raster_fill(&raster, 0xffffff, 1.0);
    for (int64_t i = 0; i < N * N; i++) {
        const int64_t x = i % N, y = i / N;
        CHECK_NEAR(picture.rgb[3 * i], x < y ? 255.0 : x > y ? 0.0 : 127.5, 0.51);
    }
    crd_raster_free(&raster);
    crd_picture_free(&picture);
}

static void test_disc_and_slanted_line(void)
{
    static const double radii[] = {0.6, 1.0, 3.3, 7.5, 25.0};
    for (size_t i = 0; i < sizeof radii / sizeof radii[0]; i++) {
        crd_picture picture = black(N, N);
        crd_raster raster = {.picture = &picture};
        const double r = radii[i], area = acos(-1.0) * r * r;
        crd_raster_disc(&raster, 31.4, 30.7, r);
        crd_raster_fill(&raster, 0xffffff, 1.0);
        /* It is a polygon of 20 corners or more, which lacks 1.7 % of the area at most; a line of the raster stands for
         * 1/16 of a row, and is wrong by that times the slope at the ends; bytes round the rim's pixels. */
        CHECK_NEAR(covered(&picture), area, 0.017 * area + 0.02 * r + 0.005);
        crd_raster_free(&raster);
        crd_picture_free(&picture);
    }
    crd_picture picture = black(N, N);
    crd_raster raster = {.picture = &picture};
    crd_raster_pen(&raster, false, 10.0, 12.0, 3.0);
    crd_raster_pen(&raster, true, 50.0, 42.0, 3.0); /* 50 long, and a disc for its two ends */
    crd_raster_fill(&raster, 0xffffff, 1.0);
    CHECK_NEAR(covered(&picture), 150.0 + acos(-1.0) * 2.25, 1.0);
    crd_raster_free(&raster);
    crd_picture_free(&picture);
}

static void test_overlaps_count_once(void)
{
    crd_picture picture = black(N, N);
    crd_raster raster = {.picture = &picture};
    for (int i = 0; i < 40; i++) crd_raster_pen(&raster, i > 0, i % 2 == 0 ? 5.0 : 60.0, 5.0 + 1.3 * i, 4.0);
    const double square[4][2] = {{20, 20}, {20, 40}, {40, 40}, {40, 20}}; /* the other way round */
    crd_raster_polygon(&raster, square, 4);
    crd_raster_fill(&raster, 0xffffff, 0.5);
    for (int64_t i = 0; i < N * N; i++) CHECK(picture.rgb[3 * i] <= 128);
    CHECK(picture.rgb[3 * (30 * N + 30)] == 128);
    crd_raster_free(&raster);
    crd_picture_free(&picture);
}

static void test_outside_is_left_out(void)
{
    crd_picture picture = black(N, N);
    crd_raster raster = {.picture = &picture};
    crd_raster_box(&raster, -1e9, -1e9, 2e9, 1e9); /* above */
    crd_raster_box(&raster, (double)N, -5.0, 10.0, 100.0);
    crd_raster_disc(&raster, -30.0, 30.0, 29.0);
    crd_raster_pen(&raster, false, 0.0, 1e7, 3.0);
    crd_raster_pen(&raster, true, 1e7, 1e5, 3.0);
    crd_raster_disc(&raster, (double)NAN, 30.0, 5.0);
    crd_raster_text(&raster, -4000.0, 30.0, 12.0, 1.0, false, "far away");
    crd_raster_fill(&raster, 0xffffff, 1.0);
    CHECK_OK(raster.status);
    CHECK(covered(&picture) == 0.0);
    crd_raster_box(&raster, -1e9, -1e9, 2e9, 2e9);
    crd_raster_fill(&raster, 0xffffff, 1.0);
    CHECK(covered(&picture) == N * N);
    crd_raster_free(&raster);
    crd_picture_free(&picture);
}

static void write_word(const char *words, crd_picture *picture)
{
    crd_raster raster = {.picture = picture};
    crd_raster_text(&raster, 8.0, 44.0, 40.0, 40.0 * CRD_FONT_PEN, false, words);
    crd_raster_fill(&raster, 0xffffff, 1.0);
    crd_raster_free(&raster);
}

static void test_typeface(void)
{
    crd_picture box = black(N, N);
    write_word("\xe4\xb8\xad", &box); /* a sign that it lacks */
    CHECK(covered(&box) > 50.0);
    CHECK_NEAR(crd_font_width("abc"), crd_font_width("a") + crd_font_width("b") + crd_font_width("c"), 1e-12);
    static const char *const others[] = {"\xcf\x83",     "\xc3\x97", "\xc2\xb0", "\xc2\xb5",    "\xe2\x88\x92",
                                         "\xe2\x81\xbb", "\xc2\xb7", "\xc2\xb2", "\xe2\x81\xb0"};
    for (int i = ' ' + 1; i < 127 + (int)(sizeof others / sizeof others[0]); i++) {
        char text[8] = {(char)i, '\0'};
        if (i >= 127) snprintf(text, sizeof text, "%s", others[i - 127]);
        crd_picture picture = black(N, N);
        write_word(text, &picture);
        const double ink = covered(&picture), width = 40.0 * crd_font_width(text);
        CHECK(ink > 5.0 && width > 5.0 && width < 45.0);
        CHECK(memcmp(picture.rgb, box.rgb, 3 * N * N) != 0); /* it has a form of its own */
        for (int64_t k = 0; k < N; k++) { /* nothing sticks out far to the left or right, nor above or below the line */
            CHECK(picture.rgb[3 * (k * N + 5)] == 0 && picture.rgb[3 * k] == 0 &&
                  picture.rgb[3 * ((N - 5) * N + k)] == 0);
            if ((int64_t)(8.0 + width) + 3 < N) CHECK(picture.rgb[3 * (k * N + (int64_t)(8.0 + width) + 3)] == 0);
        }
        crd_picture_free(&picture);
    }
    static const char *const broken[] = {"\xff", "\xe4\xb8", "\xc3", "\xe2\x88"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        crd_picture picture = black(N, N);
        write_word(broken[i], &picture);
        CHECK(memcmp(picture.rgb, box.rgb, 3 * N * N) == 0);
        crd_picture_free(&picture);
    }
    crd_picture_free(&box);
}

static void check_ticks(double low, double high, int most, bool widen)
{
    crd_ticks t;
    double from = low, to = high;
    crd_ticks_choose(&from, &to, most, false, widen, &t);
    CHECK(t.count >= 1 && t.count <= most);
    CHECK(to > from && (!widen || (from <= low && to >= high)));
    if (widen) CHECK(t.count >= 2 && t.value[0] == from && t.value[t.count - 1] == to);
    const double air = 1e-9 * (to - from);
    for (int i = 0; i < t.count; i++) {
        CHECK(t.value[i] >= from - air && t.value[i] <= to + air && t.text[i][0] != '\0');
        CHECK(strstr(t.text[i], "nan") == NULL && strstr(t.text[i], "inf") == NULL);
        if (i == 0) continue;
        CHECK(t.value[i] > t.value[i - 1] && strcmp(t.text[i], t.text[i - 1]) != 0);
        const double step = t.value[i] - t.value[i - 1], power = pow(10.0, floor(log10(step) + 1e-6));
        const double factor = step / power, whole = t.value[i] / step;
        CHECK(fabs(factor - 1.0) < 1e-4 || fabs(factor - 2.0) < 1e-4 || fabs(factor - 5.0) < 1e-4);
        CHECK_NEAR(whole, rint(whole), 1e-4 * fmax(1.0, fabs(whole)));
    }
}

static void test_ticks(void)
{
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        double random[3];
        for (int k = 0; k < 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            random[k] = (double)(state >> 11) / 9007199254740992.0;
        }
        const double size = pow(10.0, 40.0 * random[0] - 20.0), low = size * (2.0 * random[1] - 1.0);
        check_ticks(low, low + size * (1e-4 + random[2]), 3 + i % 8, i % 2 == 0);
        if (harness_failed) return;
    }
    check_ticks(42.0, 42.0, 6, true); /* no width */
    check_ticks(0.0, 0.0, 6, true);
    check_ticks(-1e300, 1e300, 6, true);
    crd_ticks t;
    double low = 0.0, high = 0.93;
    crd_ticks_choose(&low, &high, 6, false, true, &t);
    CHECK(t.count == 6 && high == 1.0 && strcmp(t.text[0], "0.0") == 0 && strcmp(t.text[3], "0.6") == 0);
    low = -20000.0, high = 20000.0;
    crd_ticks_choose(&low, &high, 5, false, true, &t);
    CHECK(strcmp(t.text[0], "\xe2\x88\x92"
                            "20k") == 0 &&
          strcmp(t.text[2], "0") == 0 && strcmp(t.text[3], "10k") == 0);
    low = 3e-6, high = 0.7;
    crd_ticks_choose(&low, &high, 7, true, true, &t);
    CHECK(t.count == 7 && low < 3e-6 && high >= 0.7 && strcmp(t.text[0], "10\xe2\x81\xbb\xe2\x81\xb6") == 0);
    CHECK(strcmp(t.text[6], "1") == 0);
}

/* Gaps, points alone, huge values, names that are too long. */
static const double xs[] = {0, 1, 2, 3, 4, 5, 6, 7}, ends[] = {1, 2, 3, 4, 5, 6, 7, 8};
static const double ys[] = {1, 2, NAN, 4, NAN, 6e7, INFINITY, 8};
static const crd_series all_kinds[] = {
    {.kind = CRD_SERIES_BAND, .x = xs, .x_end = ends, .count = 2},
    {.kind = CRD_SERIES_BARS, .x = xs, .x_end = ends, .y = ys, .count = 8, .colour = 2, .name = "bars <&>"},
    {.kind = CRD_SERIES_DASHES, .x = xs, .y = xs, .count = 8},
    {.x = xs,
     .y = ys,
     .count = 8,
     .name = "a name that is much longer than a plot of this width has room for in its legend"},
    {.kind = CRD_SERIES_DOTS, .x = xs, .y = ys, .count = 8, .colour = 1, .name = "dots"}};

static crd_plot hard_plot(bool log)
{
    return (crd_plot){.title = "A title that is much longer than a plot of this width has room for, \xcf\x83",
                      .x = {.label = "a label that is much longer than a plot of this width has room for, too"},
                      .y = {.label = "a label that is much longer than a plot of this height has room for", .log = log},
                      .series = all_kinds,
                      .count = 5};
}

static void test_svg(void)
{
    const crd_series line = all_kinds[3];
    const crd_plot plot = {.series = &line, .count = 1};
    crd_text text = {0}, again = {0};
    char *out = NULL, *second = NULL;
    crd_plot_svg(&plot, 300, 200, "a \"plot\"", &text);
    CHECK_OK(crd_text_finish(&text, &out));
    const char *path = strstr(out, "class=\"s0\" d=\"");
    CHECK(path != NULL && strstr(out, "a &quot;plot&quot;") != NULL && strstr(out, "nan") == NULL);
    int moves = 0, lines = 0;
    for (const char *p = strchr(path, 'd') + 3; *p != '"'; p++) {
        moves += *p == 'M';
        lines += *p == 'L';
    }
    CHECK(moves == 4 && lines == 1); /* of eight values two can't be drawn, and four lie between such */
    crd_free(&out);
    const crd_plot hard = hard_plot(true);
    crd_plot_svg(&hard, 300, 200, "", &again);
    CHECK_OK(crd_text_finish(&again, &second));
    CHECK(strstr(second, "bars &lt;&amp;&gt;") != NULL && strstr(second, "inf") == NULL);
    crd_free(&second);
    const crd_plot endless = {.x = {.low = -(double)INFINITY, .high = (double)INFINITY}, .series = &line, .count = 1};
    crd_text third = {0};
    crd_plot_svg(&endless, 300, 200, "", &third);
    CHECK_OK(crd_text_finish(&third, &second));
    CHECK(strstr(second, "inf") == NULL && strstr(second, "nan") == NULL);
    crd_free(&second);
}

/* Twice the same bytes; nothing leaves its box; the PNG says its size. */
static void test_painted_plot(void)
{
    enum { WIDTH = 360, HEIGHT = 300, EDGE = 20 };
    crd_picture pictures[2] = {black(WIDTH, HEIGHT), black(WIDTH, HEIGHT)};
    for (int log = 0; log < 2; log++) {
        const crd_plot plot = hard_plot(log == 1);
        for (int i = 0; i < 2; i++) {
            crd_raster raster = {.picture = &pictures[i]};
            memset(pictures[i].rgb, 255, 3 * WIDTH * HEIGHT);
            crd_plot_paint(&plot, EDGE, EDGE, WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE, 1.0, &raster);
            CHECK_OK(raster.status);
            crd_raster_free(&raster);
        }
        CHECK(memcmp(pictures[0].rgb, pictures[1].rgb, 3 * WIDTH * HEIGHT) == 0);
        CHECK(covered(&pictures[0]) < 0.97 * WIDTH * HEIGHT);
        for (int64_t i = 0; i < WIDTH * HEIGHT; i++) {
            const int64_t x = i % WIDTH, y = i / WIDTH;
            const bool outside = x < EDGE || y < EDGE || x >= WIDTH - EDGE || y >= HEIGHT - EDGE;
            CHECK(!outside || pictures[0].rgb[3 * i] == 255);
        }
    }
    uint8_t *bytes = NULL;
    int64_t count;
    if (crd_png_possible()) {
        CHECK_OK(crd_png_encode(&pictures[0], &bytes, &count));
        CHECK(count > 100 && memcmp(bytes + 1, "PNG", 3) == 0);
        CHECK((bytes[18] << 8 | bytes[19]) == WIDTH && (bytes[22] << 8 | bytes[23]) == HEIGHT);
    } else {
        CHECK_FAILS(crd_png_encode(&pictures[0], &bytes, &count), CRD_ERR_UNSUPPORTED, "libpng");
    }
    crd_free(&bytes);
    for (int i = 0; i < 2; i++) crd_picture_free(&pictures[i]);
}

static void test_scale_bar(void)
{
    crd_picture picture = black(400, 300), small = black(50, 50), unknown = black(400, 300);
    CHECK_OK(crd_picture_scale_bar(&picture, 0.65, "\xc2\xb5m")); /* 260 wide: the bar is 50 long, 77 pixels */
    int64_t longest = 0, run = 0;
    for (int64_t i = 0; i < 400 * 300; i++) {
        run = picture.rgb[3 * i] == 255 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    CHECK(longest == 77);
    CHECK_OK(crd_picture_scale_bar(&unknown, 0.0, ""));
    CHECK_OK(crd_picture_scale_bar(&small, 0.65, "mm"));
    CHECK(covered(&unknown) == 0.0 && covered(&small) == 0.0);
    crd_picture_free(&picture);
    crd_picture_free(&small);
    crd_picture_free(&unknown);
}

/* What normal, protanopic, deuteranopic and tritanopic eyes see (Machado and others 2009), in Oklab. */
static void seen(uint32_t colour, int eyes, double lab[3])
{
    static const double sight[4][9] = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1},
        {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
        {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
        {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900}};
    double rgb[3], s[3];
    for (int i = 0; i < 3; i++) {
        const double c = (double)(colour >> (16 - 8 * i) & 255) / 255.0;
        rgb[i] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
    for (int i = 0; i < 3; i++) {
        const double *m = sight[eyes] + 3 * i;
        s[i] = fmin(1.0, fmax(0.0, m[0] * rgb[0] + m[1] * rgb[1] + m[2] * rgb[2]));
    }
    const double l = cbrt(0.4122214708 * s[0] + 0.5363325363 * s[1] + 0.0514459929 * s[2]);
    const double m = cbrt(0.2119034982 * s[0] + 0.6806995451 * s[1] + 0.1073969566 * s[2]);
    const double k = cbrt(0.0883024619 * s[0] + 0.2817188376 * s[1] + 0.6299787005 * s[2]);
    lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * k;
    lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * k;
    lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * k;
}

static double nearest(const uint32_t *colours, int count)
{
    double least = 9.0;
    for (int eyes = 0; eyes < 4; eyes++) {
        for (int i = 0; i < count; i++) {
            for (int k = 0; k < i; k++) {
                double a[3], b[3];
                seen(colours[i], eyes, a);
                seen(colours[k], eyes, b);
                const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
                const double apart = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
                if (!(apart >= least)) least = apart;
            }
        }
    }
    return least;
}

#define LIGHT(name, light, dark) 0x##light,
#define DARK(name, light, dark)  0x##dark,
static const uint32_t light[] = {CRD_COLOURS_OF_THEME(LIGHT)}, dark[] = {CRD_COLOURS_OF_THEME(DARK)};

/* As the accessibility guidelines for the web reckon it. */
static double contrast(uint32_t a, uint32_t b)
{
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    double y[2] = {0.05, 0.05};
    for (int i = 0; i < 6; i++) {
        const double c = (double)((i < 3 ? a : b) >> (16 - 8 * (i % 3)) & 255) / 255.0;
        y[i / 3] += weights[i % 3] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return fmax(y[0], y[1]) / fmin(y[0], y[1]);
}

static void test_contrasts(void)
{
    const uint32_t *const themes[2] = {light, dark};
    for (int t = 0; t < 2; t++) {
        const uint32_t *c = themes[t];
        for (int back = CRD_COLOUR_back; back <= CRD_COLOUR_card; back++) {
            CHECK(contrast(c[CRD_COLOUR_ink], c[back]) > 4.5 && contrast(c[CRD_COLOUR_soft], c[back]) > 4.5);
            for (int i = 0; i < CRD_SERIES_COLOURS; i++) CHECK(contrast(c[CRD_COLOUR_a + i], c[back]) > 3.0);
        }
    }
}

static void test_colours_differ_for_all_eyes(void)
{
    CHECK(nearest(crd_class_colours, CRD_CLASS_COLOURS) > 0.09); /* 0.02 is about what can just be told apart */
    CHECK(nearest(crd_class_colours, 4) > 0.2);
    CHECK(nearest(light + CRD_COLOUR_a, CRD_SERIES_COLOURS) > 0.1);
    CHECK(nearest(dark + CRD_COLOUR_a, CRD_SERIES_COLOURS) > 0.1);
}

TEST_MAIN(TEST(test_rectangle_is_exact), TEST(test_triangle_halves_its_diagonal), TEST(test_disc_and_slanted_line),
          TEST(test_overlaps_count_once), TEST(test_outside_is_left_out), TEST(test_typeface), TEST(test_ticks),
          TEST(test_svg), TEST(test_painted_plot), TEST(test_scale_bar), TEST(test_contrasts),
          TEST(test_colours_differ_for_all_eyes))
