/* The portable loops, the choice among all, and the emptying of hot counters. */
#define ROWS_NAME crd_rows_portable
#include "validate/rows.inc"

#include "base/cpu.h"

#define ROW(name, target) &crd_rows_##name,
const crd_rows *const crd_rows_all[] = {CRD_CPU_PATHS(ROW)};

const crd_rows *crd_rows_best(void)
{
    return crd_rows_all[crd_cpu_path()];
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
