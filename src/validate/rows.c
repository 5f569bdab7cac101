/* The portable loops, the choice among all, and the emptying of hot counters. */
#include "validate/rows_tables.h"

static bool row_available(void)
{
    return true;
}

#define ROWS_NAME crd_rows_portable
#define ROWS_TEXT "portable"
#include "validate/rows.inc"

const crd_rows *const crd_rows_all[] = {
#if defined(__x86_64__)
    &crd_rows_avx512,
    &crd_rows_avx2,
#endif
    &crd_rows_portable,
    NULL,
};

const crd_rows *crd_rows_best(void)
{
    int i = 0;
    while (!crd_rows_all[i]->available()) i++;
    return crd_rows_all[i];
}

void crd_hot_empty(crd_hot *hot, crd_tally *tally)
{
    for (int table = 0; table < 2; table++) {
        for (int i = 0; i < 2 * CRD_MEASURE_BINS; i++) tally->bins[i / 2][i % 2] += hot->bins[table][i];
        for (int i = 0; i < 4 * CRD_CUBE_BINS; i++) tally->cubes[i / 4][i % 4] += hot->cubes[table][i];
    }
    for (int i = 0; i < 4 * CRD_RELIABILITY_BINS; i++) {
        const int kind = i / CRD_RELIABILITY_BINS, bin = i % CRD_RELIABILITY_BINS;
        tally->reliability[kind][bin].count += (int64_t)hot->reliability[i][0];
        tally->reliability[kind][bin].excess += hot->reliability[i][1];
    }
    memset(hot, 0, sizeof *hot);
}
