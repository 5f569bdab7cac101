/* The numbers at an axis. */
#ifndef CRD_DRAW_TICKS_H
#define CRD_DRAW_TICKS_H

#include <stdbool.h>
#include <stddef.h>

enum { CRD_TICKS_MAX = 24, CRD_TICK_BYTES = 32 };

typedef struct crd_ticks {
    double value[CRD_TICKS_MAX];
    char text[CRD_TICKS_MAX][CRD_TICK_BYTES];
    int count;
} crd_ticks;

/* At most `most` (2 or more) whole multiples of 1, 2 or 5 times a power of ten from *low to *high, which `widen` moves
 * outwards to the next ones. A range without width gets one. `log`: powers of ten; low > 0 then. */
void crd_ticks_choose(double *low, double *high, int most, bool log, bool widen, crd_ticks *out);

#endif
