/* How far apart numbers are, for all tests. A number that isn't one, on either side, is an infinite error: neither
 * fmax() nor `>` would see it. */
#ifndef CRD_TESTS_COMPARE_H
#define CRD_TESTS_COMPARE_H

#include <math.h>

/* |actual - expected|. */
static inline double apart(double actual, double expected)
{
    const double difference = fabs(actual - expected);
    return difference >= 0 ? difference : (double)INFINITY;
}

/* The larger of two errors. */
static inline double worse(double a, double b)
{
    if (a >= b) return a;
    return b >= a ? b : (double)INFINITY;
}

/* Many numbers, one pair after the other: begin with {0}. */
typedef struct comparison {
    double error;   /* the largest difference */
    double largest; /* |expected| */
    double actual_square, expected_square, dot;
} comparison;

static inline void compare(comparison *c, double actual, double expected)
{
    c->error = worse(c->error, apart(actual, expected));
    c->largest = worse(c->largest, fabs(expected));
    c->actual_square += actual * actual;
    c->expected_square += expected * expected;
    c->dot += actual * expected;
}

/* The largest difference, as a part of the largest expected value. */
static inline double relative_error(const comparison *c)
{
    return c->error > 0 ? worse(c->error / c->largest, 0) : 0;
}

/* Of the two sets as vectors: 1 where they point the same way, -1 where that can't be said. */
static inline double cosine(const comparison *c)
{
    if (c->expected_square == 0) return c->actual_square == 0 ? 1 : -1;
    const double value = c->dot / sqrt(c->actual_square * c->expected_square);
    return value >= -1 ? value : -1;
}

#endif
