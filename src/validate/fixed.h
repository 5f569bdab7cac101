/* Sums that don't depend on their order: values become integers first. */
#ifndef CRD_VALIDATE_FIXED_H
#define CRD_VALIDATE_FIXED_H

#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 crd_wide;

/* Values in 0 .. 1 count in units of 2^-32, products of two of them in 2^-48. */
#define CRD_UNIT         0x1p-32
#define CRD_PRODUCT_UNIT 0x1p-48

/* The nearest integer (ties to even) of 0 <= x <= 2^51, by an addition that every instruction set has in vectors. */
static inline __attribute__((always_inline)) uint64_t crd_nearest_integer(double x)
{
    const double raised = x + 0x1p52;
    uint64_t bits;
    memcpy(&bits, &raised, sizeof bits);
    return bits & UINT64_C(0x000fffffffffffff);
}

/* The same as a double. */
static inline __attribute__((always_inline)) double crd_nearest_whole(double x)
{
    return (x + 0x1p52) - 0x1p52;
}

#endif
