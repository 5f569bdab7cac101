/* Mirroring at random, and turning by 90 degrees about z where the chunk is square in (y, x). */
#ifndef CRD_TRAIN_DATA_AUGMENT_H
#define CRD_TRAIN_DATA_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crd_turn {
    bool flip[3];   /* z, y, x */
    bool transpose; /* y and x change places; with the flips, all turns about z */
} crd_turn;

crd_turn crd_turn_draw(uint64_t seed, int64_t epoch, int64_t chunk, const int64_t size[3]);
/* Puts `depth` slices of a chunk of that size, from its slice z on, to where the turn has them in the turned chunk
 * `input_out`, `label_out`. */
void crd_turn_apply(const crd_turn *turn, const int64_t size[3], int64_t z, int64_t depth, const float *input,
                    const uint8_t *label, float *input_out, uint8_t *label_out);

#endif
