#include "train/augment.h"

#include <string.h>

#include "base/philox.h"

crd_turn crd_turn_draw(uint64_t seed, int64_t epoch, int64_t chunk, const int64_t size[3])
{
    const crd_stream stream = {.seed = seed, .purpose = CRD_PURPOSE_AUGMENT, .step = (uint32_t)epoch};
    const uint32_t bits = crd_random_u32(&stream, (uint64_t)chunk);
    crd_turn turn = {.flip = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}};
    turn.transpose = size[1] == size[2] && (bits & 8) != 0;
    return turn;
}

void crd_turn_apply(const crd_turn *turn, const int64_t size[3], const float *input, const uint8_t *label,
                    float *input_out, uint8_t *label_out)
{
    const int64_t step_y = turn->transpose ? 1 : size[2], step_x = turn->transpose ? size[1] : 1;
    if (!turn->flip[0] && !turn->flip[1] && !turn->flip[2] && !turn->transpose) {
        const size_t voxels = (size_t)(size[0] * size[1] * size[2]);
        memcpy(input_out, input, voxels * sizeof *input);
        memcpy(label_out, label, voxels);
        return;
    }
    for (int64_t z = 0; z < size[0]; z++) {
        const int64_t from_z = (turn->flip[0] ? size[0] - 1 - z : z) * size[1] * size[2];
        for (int64_t y = 0; y < size[1]; y++) {
            const int64_t from_y = from_z + (turn->flip[1] ? size[1] - 1 - y : y) * step_y;
            for (int64_t x = 0; x < size[2]; x++) {
                const int64_t from = from_y + (turn->flip[2] ? size[2] - 1 - x : x) * step_x;
                *input_out++ = input[from];
                *label_out++ = label[from];
            }
        }
    }
}
