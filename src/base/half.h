/* Numbers of half precision (IEEE 754 binary16). */
#ifndef CRD_BASE_HALF_H
#define CRD_BASE_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The nearest one: to even in the middle, the largest in place of larger ones. */
static inline float crd_round_to_half(float value)
{
    static const float largest = 65504.0f, least_normal = 0x1p-14f;
    uint32_t bits;
    if (value > largest) return largest;
    if (value < -largest) return -largest;
    if (fabsf(value) < least_normal) return (value + 0.75f) - 0.75f; /* multiples of 2^-24, as 0.75's last place is */
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0xfffu + (bits >> 13 & 1)) & ~UINT32_C(0x1fff);
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
