/* Shares out rows of work in bands of consecutive rows, large bands first and single rows at the end, to the rank that
 * asks next. So a slow rank gets less, nobody waits long for the last one, and there are few places where bands of
 * different ranks meet. Pure bookkeeping, by one thread at a time. */
#ifndef CRD_DIST_BANDS_H
#define CRD_DIST_BANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_bands crd_bands;

typedef struct crd_band {
    int64_t first, end; /* rows; first == end: nothing is left */
} crd_band;

crd_status crd_bands_create(int64_t rows, int ranks, crd_bands **out);
void crd_bands_free(crd_bands **bands);

crd_band crd_bands_next(crd_bands *bands);
/* A band that was given out is done. */
void crd_bands_done(crd_bands *bands, crd_band band);
bool crd_bands_all_done(const crd_bands *bands);
/* By row: the first row of the band that it was done in, or -1. */
const int64_t *crd_bands_of_rows(const crd_bands *bands);

#endif
