#include "volume/types.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "volume/setting_checks.h"

static const struct type_row {
    const char *name;
    const char *also[3]; /* other spellings */
    size_t size;
} type_rows[CRD_TYPE_COUNT] = {
    [CRD_U8] = {"u8", {"uint8", "uchar", "byte"}, 1},     [CRD_I8] = {"i8", {"int8", "s8", "schar"}, 1},
    [CRD_U16] = {"u16", {"uint16", "ushort", NULL}, 2},   [CRD_I16] = {"i16", {"int16", "s16", "short"}, 2},
    [CRD_U32] = {"u32", {"uint32", "uint", NULL}, 4},     [CRD_I32] = {"i32", {"int32", "s32", "int"}, 4},
    [CRD_F32] = {"f32", {"float32", "float", "real"}, 4}, [CRD_F64] = {"f64", {"float64", "double", NULL}, 8},
    [CRD_U64] = {"u64", {"uint64", NULL, NULL}, 8},
};

bool crd_type_valid(crd_type type)
{
    return (unsigned)type < CRD_TYPE_COUNT;
}

bool crd_type_is_integer(crd_type type)
{
    return type != CRD_F32 && type != CRD_F64;
}

size_t crd_type_size(crd_type type)
{
    return crd_type_valid(type) ? type_rows[type].size : 0;
}

const char *crd_type_name(crd_type type)
{
    return crd_type_valid(type) ? type_rows[type].name : "unknown";
}

static bool names_type(const struct type_row *row, const char *text, size_t length)
{
    if (strlen(row->name) == length && strncasecmp(row->name, text, length) == 0) return true;
    for (size_t i = 0; i < sizeof row->also / sizeof row->also[0] && row->also[i] != NULL; i++) {
        if (strlen(row->also[i]) == length && strncasecmp(row->also[i], text, length) == 0) return true;
    }
    return false;
}

static bool find_type(const char *text, size_t length, crd_type *type)
{
    for (int i = 0; i < CRD_TYPE_COUNT; i++) {
        if (!names_type(&type_rows[i], text, length)) continue;
        *type = (crd_type)i;
        return true;
    }
    return false;
}

crd_status crd_type_parse(const char *text, crd_type *type, bool *big_endian)
{
    if (text == NULL) return crd_fail(CRD_ERR_ARGUMENT, "no voxel type was given");
    const size_t length = strlen(text);
    const char *order = length > 2 ? text + length - 2 : "";
    bool big = false;
    bool found = find_type(text, length, type); /* the whole text first: "double" ends in "le" */
    if (!found && (strcasecmp(order, "le") == 0 || strcasecmp(order, "be") == 0)) {
        found = find_type(text, length - 2, type);
        big = tolower((unsigned char)order[0]) == 'b';
    }
    if (found && big_endian != NULL) *big_endian = big;
    if (found) return CRD_OK;
    return crd_fail(
        CRD_ERR_ARGUMENT,
        "'%.40s' is no voxel type; known are u8, i8, u16, i16, u32, i32, u64, f32 and f64, with 'le' or 'be' "
        "behind for the byte order (u16be)",
        text);
}

crd_status crd_check_type(const char *name, const char *text)
{
    crd_type type;
    if (crd_type_parse(text, &type, NULL) == CRD_OK) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s: %s", name, crd_last_error()->message);
}

size_t crd_stored_size(int stored)
{
    switch (stored) {
    case CRD_STORED_I64:
        return 8;
    case CRD_STORED_F16:
        return 2;
    default:
        return crd_type_size((crd_type)stored);
    }
}

crd_type crd_stored_widened(int stored)
{
    switch (stored) {
    case CRD_STORED_I64:
        return CRD_F64;
    case CRD_STORED_F16:
        return CRD_F32;
    default:
        return (crd_type)stored;
    }
}

void crd_swap_bytes(void *data, int64_t count, size_t size)
{
    if (size == 2) {
        uint16_t *values = data;
        for (int64_t i = 0; i < count; i++) values[i] = (uint16_t)(values[i] << 8 | values[i] >> 8);
    } else if (size == 4) {
        uint32_t *values = data;
        for (int64_t i = 0; i < count; i++) values[i] = __builtin_bswap32(values[i]);
    } else if (size == 8) {
        uint64_t *values = data;
        for (int64_t i = 0; i < count; i++) values[i] = __builtin_bswap64(values[i]);
    }
}

/* memcpy, since neither side need be aligned; of a known length it is one move. */
#define GATHER_LOOP(BYTES)                                                                                             \
    for (int64_t i = 0; i < count; i++) memcpy(out + i * (BYTES), from + offsets[i], BYTES)

void crd_gather(size_t size, const char *from, const int64_t *offsets, int64_t count, void *to)
{
    char *out = to;
    if (size == 1) {
        GATHER_LOOP(1);
    } else if (size == 2) {
        GATHER_LOOP(2);
    } else if (size == 4) {
        GATHER_LOOP(4);
    } else {
        GATHER_LOOP(8);
    }
}

static float half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
    uint32_t bits;
    float value;
    if (exponent == 0) { /* zero and subnormal: fraction * 2^-24 is exact */
        value = (float)fraction * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    bits = exponent == 31 ? sign | 0x7f800000u | fraction << 13 : sign | (exponent + 112) << 23 | fraction << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void crd_widen(int stored, const void *from, int64_t count, void *to)
{
    if (stored == CRD_STORED_I64) {
        const int64_t *in = from;
        double *restrict out = to;
        for (int64_t i = 0; i < count; i++) out[i] = (double)in[i];
    } else if (stored == CRD_STORED_F16) {
        const uint16_t *in = from;
        float *restrict out = to;
        for (int64_t i = 0; i < count; i++) out[i] = half_to_float(in[i]);
    } else {
        memcpy(to, from, (size_t)count * crd_stored_size(stored));
    }
}

#define CAST_LOOP(IN, OUT)                                                                                             \
    do {                                                                                                               \
        const IN *restrict in = from;                                                                                  \
        OUT *restrict out = to;                                                                                        \
        for (int64_t i = 0; i < count; i++) out[i] = (OUT)in[i];                                                       \
    } while (0)

#define TO_FLOAT(OUT)                                                                                                  \
    switch (type) {                                                                                                    \
    case CRD_U8:                                                                                                       \
        CAST_LOOP(uint8_t, OUT);                                                                                       \
        break;                                                                                                         \
    case CRD_I8:                                                                                                       \
        CAST_LOOP(int8_t, OUT);                                                                                        \
        break;                                                                                                         \
    case CRD_U16:                                                                                                      \
        CAST_LOOP(uint16_t, OUT);                                                                                      \
        break;                                                                                                         \
    case CRD_I16:                                                                                                      \
        CAST_LOOP(int16_t, OUT);                                                                                       \
        break;                                                                                                         \
    case CRD_U32:                                                                                                      \
        CAST_LOOP(uint32_t, OUT);                                                                                      \
        break;                                                                                                         \
    case CRD_I32:                                                                                                      \
        CAST_LOOP(int32_t, OUT);                                                                                       \
        break;                                                                                                         \
    case CRD_F32:                                                                                                      \
        CAST_LOOP(float, OUT);                                                                                         \
        break;                                                                                                         \
    case CRD_F64:                                                                                                      \
        CAST_LOOP(double, OUT);                                                                                        \
        break;                                                                                                         \
    case CRD_U64:                                                                                                      \
        CAST_LOOP(uint64_t, OUT);                                                                                      \
        break;                                                                                                         \
    default:                                                                                                           \
        break;                                                                                                         \
    }

void crd_to_float(crd_type type, const void *from, int64_t count, crd_type as, void *to)
{
    if (as == CRD_F32) {
        TO_FLOAT(float)
    } else {
        TO_FLOAT(double)
    }
}

void crd_shared_step(int stored, int64_t count, crd_type as, void *buffer)
{
    enum { BLOCK_BYTES = 16384 };
    _Alignas(64) char block[BLOCK_BYTES];
    const size_t from_size = crd_stored_size(stored), to_size = crd_type_size(as);
    const int64_t step = (int64_t)(BLOCK_BYTES / from_size);
    char *out = buffer;
    const char *in = out + (size_t)count * (to_size - from_size);
    if ((int)as == stored) return;
    for (int64_t first = 0; first < count; first += step) {
        const int64_t n = count - first < step ? count - first : step;
        memcpy(block, in + (size_t)first * from_size, (size_t)n * from_size);
        if (stored < CRD_TYPE_COUNT) {
            crd_to_float((crd_type)stored, block, n, as, out + (size_t)first * to_size);
        } else {
            crd_widen(stored, block, n, out + (size_t)first * to_size);
        }
    }
}

/* Adding and taking away 1.5 * 2^52 rounds |v| < 2^51 to the nearest integer, ties to even, and vectorises on any CPU;
 * contraction is off and nothing is reordered, so the compiler keeps both steps. */
static inline double round_even(double v)
{
    return (v + 0x1.8p52) - 0x1.8p52;
}

/* The lowest value of each type is even and the highest odd, which decides where a tie at either end goes. */
#define CLAMP_LOOP(OUT, LOW, HIGH)                                                                                     \
    do {                                                                                                               \
        OUT *restrict out = to;                                                                                        \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            double v = in[i];                                                                                          \
            changed += !(v >= (LOW)-0.5 && v < (HIGH) + 0.5);                                                          \
            v = v >= (LOW) ? v : (LOW); /* NaN as well, put right below */                                             \
            v = v <= (HIGH) ? v : (HIGH);                                                                              \
            v = round_even(v);                                                                                         \
            v = in[i] == in[i] ? v : 0.0;                                                                              \
            out[i] = (OUT)v;                                                                                           \
        }                                                                                                              \
    } while (0)

static int64_t store(const double *restrict in, int64_t count, crd_type type, void *to)
{
    int64_t changed = 0;
    switch (type) {
    case CRD_U8:
        CLAMP_LOOP(uint8_t, 0.0, UINT8_MAX);
        break;
    case CRD_I8:
        CLAMP_LOOP(int8_t, INT8_MIN, INT8_MAX);
        break;
    case CRD_U16:
        CLAMP_LOOP(uint16_t, 0.0, UINT16_MAX);
        break;
    case CRD_I16:
        CLAMP_LOOP(int16_t, INT16_MIN, INT16_MAX);
        break;
    case CRD_U32:
        CLAMP_LOOP(uint32_t, 0.0, UINT32_MAX);
        break;
    case CRD_I32:
        CLAMP_LOOP(int32_t, INT32_MIN, INT32_MAX);
        break;
    case CRD_U64: {
        uint64_t *restrict out = to;
        for (int64_t i = 0; i < count; i++) {
            const double v = rint(in[i]); /* to even */
            const bool fits = v >= 0.0 && v < 0x1p64;
            out[i] = fits ? (uint64_t)v : v >= 0x1p64 ? UINT64_MAX : 0;
            changed += !fits;
        }
        break;
    }
    case CRD_F32: {
        float *restrict out = to;
        for (int64_t i = 0; i < count; i++) {
            out[i] = (float)in[i];
            changed += isfinite(in[i]) && !isfinite(out[i]);
        }
        break;
    }
    default:
        memcpy(to, in, (size_t)count * sizeof *in);
        break;
    }
    return changed;
}

int64_t crd_convert(crd_type from_type, const void *from, double factor, int64_t count, crd_type to_type, void *to)
{
    enum { BLOCK = 2048 };
    double block[BLOCK]; /* every type fits a double exactly, u64 up to 2^53 */
    const char *in = from;
    char *out = to;
    int64_t changed = 0;
    if (from_type == to_type && factor == 1.0) {
        memcpy(to, from, (size_t)count * crd_type_size(to_type));
        return 0;
    }
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t n = count - first < BLOCK ? count - first : BLOCK;
        crd_to_float(from_type, in + (size_t)first * crd_type_size(from_type), n, CRD_F64, block);
        if (factor != 1.0) {
            for (int64_t i = 0; i < n; i++) block[i] *= factor;
        }
        changed += store(block, n, to_type, out + (size_t)first * crd_type_size(to_type));
    }
    return changed;
}
