/* Moving voxels between types and byte orders. Loops over plain arrays that the compiler vectorises. */
#ifndef CRD_VOLUME_TYPES_H
#define CRD_VOLUME_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/volume.h"

enum { CRD_BIG_ENDIAN = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

/* What files hold: crd_type's, then those that are widened to one of them on reading. */
typedef enum crd_stored {
    CRD_STORED_I64 = CRD_TYPE_COUNT, /* -> CRD_F64, exact up to 2^53 */
    CRD_STORED_F16,                  /* -> CRD_F32 */
    CRD_STORED_COUNT
} crd_stored;

bool crd_type_valid(crd_type type);
bool crd_type_is_integer(crd_type type);

/* `stored` is a crd_type or a crd_stored. */
size_t crd_stored_size(int stored);
crd_type crd_stored_widened(int stored);

/* Turns the byte order of `count` values of `size` bytes (1, 2, 4 or 8) around, in place. */
void crd_swap_bytes(void *data, int64_t count, size_t size);

/* `count` values of `size` bytes (1, 2, 4 or 8) to `to`, one after the other; value i lies at from + offsets[i]. */
void crd_gather(size_t size, const char *from, const int64_t *offsets, int64_t count, void *to);

/* `count` stored values to the type that crd_stored_widened gives; the two arrays don't overlap. */
void crd_widen(int stored, const void *from, int64_t count, void *to);

/* `count` values of `type` at `from` to float or double (`as` is CRD_F32 or CRD_F64); the arrays don't overlap. */
void crd_to_float(crd_type type, const void *from, int64_t count, crd_type as, void *to);

/* `count` stored values lie at the END of a buffer of `count` values of type `as`, which are no narrower: spreads them
 * over the buffer, converted, without a second one. `as` is the widened type, or CRD_F32 or CRD_F64. */
void crd_shared_step(int stored, int64_t count, crd_type as, void *buffer);

/* to[i] = from[i] * factor, for integer targets rounded to the nearest (ties to even) and clamped to the type's range;
 * NaN becomes 0 there. Gives back how many values were clamped, or were NaN on the way to an integer. */
int64_t crd_convert(crd_type from_type, const void *from, double factor, int64_t count, crd_type to_type, void *to);

#endif
