/* Types, conversions, byte orders and units. */
#include <math.h>

#include "harness.h"
#include "volume/types.h"
#include "volume/units.h"
#include "volume_tools.h"

static void test_names_of_types(void)
{
    static const struct {
        const char *text;
        crd_type type;
        bool big;
    } good[] = {{"u8", CRD_U8, 0},        {"uint8", CRD_U8, 0},    {"u16le", CRD_U16, 0}, {"u16be", CRD_U16, 1},
                {"uint16be", CRD_U16, 1}, {"float32", CRD_F32, 0}, {"F64BE", CRD_F64, 1}, {"int32le", CRD_I32, 0},
                {"short", CRD_I16, 0},    {"double", CRD_F64, 0},  {"byte", CRD_U8, 0},   {"i8", CRD_I8, 0}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        crd_type type = CRD_TYPE_COUNT;
        bool big = !good[i].big;
        CHECK_OK(crd_type_parse(good[i].text, &type, &big));
        CHECK(type == good[i].type && big == good[i].big);
        CHECK_OK(crd_type_parse(good[i].text, &type, NULL));
    }
    static const char *const bad[] = {"", "le", "u12", "u16xe", "float128", "be", "16"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        crd_type type;
        CHECK_FAILS(crd_type_parse(bad[i], &type, NULL), CRD_ERR_ARGUMENT, "no voxel type");
    }
    crd_type type;
    CHECK_FAILS(crd_type_parse(NULL, &type, NULL), CRD_ERR_ARGUMENT, "no voxel type");
    CHECK(crd_type_size((crd_type)99) == 0 && strcmp(crd_type_name((crd_type)99), "unknown") == 0);
}

static void test_conversion_rounds_and_clamps(void)
{
    const double in[] = {0.5,   1.5,   2.5,    -0.5,     -0.6,      254.5, 255.5, 255.49,
                         256.0, 1e300, -1e300, HUGE_VAL, -HUGE_VAL, NAN,   7};
    enum { N = sizeof in / sizeof in[0] };
    const uint8_t wanted[N] = {0, 2, 2, 0, 0, 254, 255, 255, 255, 255, 0, 255, 0, 0, 7};
    uint8_t out[N];
    /* Clamped: -0.6 rounds to -1, 255.5 to 256; 256, four infinities and huge ones; NaN. */
    CHECK(crd_convert(CRD_F64, in, 1.0, N, CRD_U8, out) == 8);
    CHECK(memcmp(out, wanted, N) == 0);

    const float reals[] = {1.0f, 0.5f, 0.25f, -0.1f, 1.1f};
    uint16_t scaled[5];
    CHECK(crd_convert(CRD_F32, reals, 65535.0, 5, CRD_U16, scaled) == 2);
    CHECK(scaled[0] == 65535 && scaled[1] == 32768 && scaled[2] == 16384 && scaled[3] == 0 && scaled[4] == 65535);

    const int32_t ends[] = {INT32_MIN, INT32_MAX, -1, 0};
    uint32_t u32[4];
    CHECK(crd_convert(CRD_I32, ends, 1.0, 4, CRD_U32, u32) == 2);
    CHECK(u32[0] == 0 && u32[1] == INT32_MAX && u32[2] == 0);
    const double large[] = {4294967295.0, 4294967294.5, 2147483647.5, -2147483648.0};
    CHECK(crd_convert(CRD_F64, large, 1.0, 4, CRD_U32, u32) == 1);
    CHECK(u32[0] == UINT32_MAX && u32[1] == 4294967294u && u32[2] == 2147483648u && u32[3] == 0);
    const double too_large[] = {1e39, 1.0, HUGE_VAL};
    float f32[3];
    CHECK(crd_convert(CRD_F64, too_large, 1.0, 3, CRD_F32, f32) == 1);
    CHECK(isinf(f32[0]) && f32[1] == 1.0f);
}

/* Every pair of types, against the plain way, over a length that is no multiple of any block. */
static void test_all_pairs_agree_with_plain_code(void)
{
    enum { N = 5003 };
    static _Alignas(8) char in[N * 8], out[N * 8];
    static double reals[N];
    static const double low[] = {0, -128, 0, -32768, 0, -2147483648.0, [CRD_U64] = 0},
                        high[] = {255, 127, 65535, 32767, 4294967295.0, 2147483647, [CRD_U64] = 0x1p64};
    for (int from = 0; from < CRD_TYPE_COUNT; from++) {
        tools_fill((crd_type)from, N, (uint64_t)from + 1, in);
        crd_convert((crd_type)from, in, 1.0, N, CRD_F64, reals);
        for (int to = 0; to < CRD_TYPE_COUNT; to++) {
            int64_t clamped = 0;
            const int64_t said = crd_convert((crd_type)from, in, 1.0, N, (crd_type)to, out);
            double back[N];
            crd_convert((crd_type)to, out, 1.0, N, CRD_F64, back);
            for (int i = 0; i < N; i++) {
                double v = reals[i];
                if (crd_type_is_integer((crd_type)to)) {
                    v = rint(v);
                    clamped += v < low[to] || v > high[to] || v == 0x1p64;
                    v = v < low[to] ? low[to] : v > high[to] ? high[to] : v;
                } else if (to == CRD_F32) {
                    v = (double)(float)v;
                }
                if (back[i] != v)
                    CHECK_FAILED("%s to %s: %.17g gave %.17g", crd_type_name((crd_type)from),
                                 crd_type_name((crd_type)to), reals[i], back[i]);
            }
            CHECK(said == clamped);
        }
    }
}

static void test_half_floats(void)
{
    const uint16_t halves[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001,
                               0x03ff, 0x0400, 0x7c00, 0xfc00, 0x7e00, 0x3555};
    const float wanted[] = {0.0f,         -0.0f,    1.0f,      -2.0f,      65504.0f, 0x1p-24f,
                            0x1.ff8p-15f, 0x1p-14f, HUGE_VALF, -HUGE_VALF, NAN,      0x1.554p-2f};
    float out[12];
    crd_widen(CRD_STORED_F16, halves, 12, out);
    for (int i = 0; i < 12; i++) {
        CHECK(out[i] == wanted[i] || (isnan(out[i]) && isnan(wanted[i])));
        CHECK(!signbit(out[i]) == !signbit(wanted[i]) || isnan(out[i]));
    }
    const int64_t integers[] = {-5, INT64_C(1) << 53, 0};
    double reals[3];
    crd_widen(CRD_STORED_I64, integers, 3, reals);
    CHECK(reals[0] == -5.0 && reals[1] == 0x1p53 && reals[2] == 0.0);
}

static void test_byte_order(void)
{
    uint16_t two[3] = {0x0102, 0xff00, 0x1234};
    uint32_t four[1] = {0x01020304};
    uint64_t eight[1] = {UINT64_C(0x0102030405060708)};
    crd_swap_bytes(two, 3, 2);
    crd_swap_bytes(four, 1, 4);
    crd_swap_bytes(eight, 1, 8);
    CHECK(two[0] == 0x0201 && two[1] == 0x00ff && two[2] == 0x3412);
    CHECK(four[0] == 0x04030201 && eight[0] == UINT64_C(0x0807060504030201));
}

static void test_units(void)
{
    static const char *const pairs[][2] = {{"um", "um"},
                                           {"micron", "um"},
                                           {"Microns", "um"},
                                           {"\xc2\xb5m", "um"},
                                           {"\xce\xbcm", "um"},
                                           {"\xb5m", "um"},
                                           {"\\u00B5m", "um"},
                                           {"micrometer", "um"},
                                           {" micrometres ", "um"},
                                           {"MM", "mm"},
                                           {"millimeter", "mm"},
                                           {"nm", "nm"},
                                           {"cm", "cm"},
                                           {"m", "m"},
                                           {"inch", "inch"},
                                           {"Inches", "inch"},
                                           {"pixel", ""},
                                           {"pixels", ""},
                                           {"", ""},
                                           {"furlong", "furlong"},
                                           {"a\nb", "ab"},
                                           {"0123456789abcdef", "0123456789abcde"},
                                           {"um nm", "um nm"},
                                           {"0123456789abcd\xc2\xb5m", "0123456789abcd"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char unit[CRD_UNIT_BYTES];
        crd_unit_normalise(pairs[i][0], unit);
        if (strcmp(unit, pairs[i][1]) != 0) CHECK_FAILED("'%s' became '%s'", pairs[i][0], unit);
    }
    char unit[CRD_UNIT_BYTES] = "x";
    crd_unit_normalise(NULL, unit);
    CHECK(unit[0] == '\0');
    CHECK(crd_unit_in_um("mm") == 1000.0 && crd_unit_in_um("furlong") == 0.0 && crd_unit_in_um("") == 0.0);
}

TEST_MAIN(TEST(test_names_of_types), TEST(test_conversion_rounds_and_clamps),
          TEST(test_all_pairs_agree_with_plain_code), TEST(test_half_floats), TEST(test_byte_order), TEST(test_units))
