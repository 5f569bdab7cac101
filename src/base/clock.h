/* Seconds of a clock that only goes forward. */
#ifndef CRD_BASE_CLOCK_H
#define CRD_BASE_CLOCK_H

#include <time.h>

static inline double crd_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
