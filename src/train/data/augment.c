#include "train/data/augment.h"

#include <string.h>

#include "base/random/philox.h"
#include "volume/types.h"

crd_turn crd_turn_draw(uint64_t seed, int64_t epoch, int64_t chunk, const int64_t size[3])
{
    const crd_stream stream = {.seed = seed, .purpose = CRD_PURPOSE_AUGMENT, .step = (uint32_t)epoch};
    const uint32_t bits = crd_random_u32(&stream, (uint64_t)chunk);
    crd_turn turn = {.flip = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}};
    turn.transpose = size[1] == size[2] && (bits & 8) != 0;
    return turn;
}

/* The loops are written once, for floats and for bytes. A slice is turned in tiles: what they read and write stays in
 * the processor's first cache. */
enum { TILE = 8 };

static void floats_tile(const float *restrict from, int64_t from_row, float *restrict to, int64_t to_row)
{
    for (int c = 0; c < TILE; c++) {
        for (int r = 0; r < TILE; r++) to[c * to_row + r] = from[r * from_row + c];
    }
}

/* The high half of every part of `a` changes places with the low half of the same part of `b`. */
static inline void exchange(uint64_t *a, uint64_t *b, int bits, uint64_t low)
{
    const uint64_t changed = ((*a >> bits) ^ *b) & low;
    *b ^= changed;
    *a ^= changed << bits;
}

/* Eight rows in eight words: quarters of the tile change places, then quarters of those, then single bytes. */
static void bytes_tile(const uint8_t *restrict from, int64_t from_row, uint8_t *restrict to, int64_t to_row)
{
    uint64_t w[TILE];
    for (int r = 0; r < TILE; r++) {
        memcpy(&w[r], from + r * from_row, sizeof w[r]);
        if (CRD_BIG_ENDIAN) w[r] = __builtin_bswap64(w[r]);
    }
    for (int i = 0; i < 4; i++) exchange(&w[i], &w[i + 4], 32, UINT64_C(0x00000000ffffffff));
    for (int i = 0; i < 4; i++) exchange(&w[i + (i & 2)], &w[i + (i & 2) + 2], 16, UINT64_C(0x0000ffff0000ffff));
    for (int i = 0; i < 8; i += 2) exchange(&w[i], &w[i + 1], 8, UINT64_C(0x00ff00ff00ff00ff));
    for (int c = 0; c < TILE; c++) {
        if (CRD_BIG_ENDIAN) w[c] = __builtin_bswap64(w[c]);
        memcpy(to + c * to_row, &w[c], sizeof w[c]);
    }
}

/* to[c * to_row + r] = from[r * from_row + c] for r < rows and c < columns; rows may lie backwards. */
#define TRANSPOSE(NAME, TYPE)                                                                                          \
    static void NAME##_edge(const TYPE *restrict from, int64_t from_row, int64_t rows, int64_t columns,                \
                            TYPE *restrict to, int64_t to_row)                                                         \
    {                                                                                                                  \
        for (int64_t c = 0; c < columns; c++) {                                                                        \
            for (int64_t r = 0; r < rows; r++) to[c * to_row + r] = from[r * from_row + c];                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void transpose_##NAME(const TYPE *from, int64_t from_row, int64_t rows, int64_t columns, TYPE *to,          \
                                 int64_t to_row)                                                                       \
    {                                                                                                                  \
        for (int64_t c = 0; c < columns; c += TILE) {                                                                  \
            for (int64_t r = 0; r < rows; r += TILE) {                                                                 \
                const TYPE *tile = from + r * from_row + c;                                                            \
                TYPE *place = to + c * to_row + r;                                                                     \
                if (r + TILE <= rows && c + TILE <= columns) {                                                         \
                    NAME##_tile(tile, from_row, place, to_row);                                                        \
                } else {                                                                                               \
                    NAME##_edge(tile, from_row, rows - r < TILE ? rows - r : TILE,                                     \
                                columns - c < TILE ? columns - c : TILE, place, to_row);                               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

TRANSPOSE(floats, float)
TRANSPOSE(bytes, uint8_t)

static void mirror_floats(const float *restrict from, int64_t count, float *restrict to)
{
    for (int64_t i = 0; i < count; i++) to[i] = from[count - 1 - i];
}

static void mirror_bytes(const uint8_t *restrict from, int64_t count, uint8_t *restrict to)
{
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t eight;
        memcpy(&eight, from + count - 8 - i, sizeof eight);
        eight = __builtin_bswap64(eight);
        memcpy(to + i, &eight, sizeof eight);
    }
    for (; i < count; i++) to[i] = from[count - 1 - i];
}

static void turn_slice(const crd_turn *turn, int64_t height, int64_t width, const float *input, const uint8_t *label,
                       float *input_out, uint8_t *label_out)
{
    if (turn->transpose) { /* height is width; input rows from the last, output rows from the last */
        const int64_t n = width, from_row = turn->flip[2] ? -n : n, to_row = turn->flip[1] ? -n : n;
        const int64_t from = turn->flip[2] ? (n - 1) * n : 0, to = turn->flip[1] ? (n - 1) * n : 0;
        transpose_floats(input + from, from_row, n, n, input_out + to, to_row);
        transpose_bytes(label + from, from_row, n, n, label_out + to, to_row);
        return;
    }
    if (!turn->flip[1] && !turn->flip[2]) {
        memcpy(input_out, input, (size_t)(height * width) * sizeof *input);
        memcpy(label_out, label, (size_t)(height * width));
        return;
    }
    for (int64_t y = 0; y < height; y++) {
        const int64_t from = (turn->flip[1] ? height - 1 - y : y) * width, to = y * width;
        if (turn->flip[2]) {
            mirror_floats(input + from, width, input_out + to);
            mirror_bytes(label + from, width, label_out + to);
        } else {
            memcpy(input_out + to, input + from, (size_t)width * sizeof *input);
            memcpy(label_out + to, label + from, (size_t)width);
        }
    }
}

void crd_turn_apply(const crd_turn *turn, const int64_t size[3], int64_t z, int64_t depth, const float *input,
                    const uint8_t *label, float *input_out, uint8_t *label_out)
{
    const int64_t slice = size[1] * size[2];
    for (int64_t i = 0; i < depth; i++) {
        const int64_t from = i * slice, to = (turn->flip[0] ? size[0] - 1 - z - i : z + i) * slice;
        turn_slice(turn, size[1], size[2], input + from, label + from, input_out + to, label_out + to);
    }
}
