/* Bits, hashes and times for the tests of numerics. */
#ifndef CRD_TESTS_NUMBERS_H
#define CRD_TESTS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Scatters 64 bits. A sum of scattered (place, value) pairs is a hash that can be taken in any order, by any number of
 * threads or on a GPU. */
static inline uint64_t scatter(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xd1342543de82ef95u;
    return x ^ x >> 32;
}

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* CREDENCE_LONG=1, as `make test-long` sets it: everything instead of a part. */
static inline bool long_tests(void)
{
    const char *text = getenv("CREDENCE_LONG");
    return text != NULL && strcmp(text, "1") == 0;
}

#endif
