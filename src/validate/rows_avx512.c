/* validate/rows.inc with the instructions that cmake/sources.cmake gives this file. */
#include "validate/rows_tables.h"

static bool row_available(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

#define ROWS_NAME crd_rows_avx512
#define ROWS_TEXT "avx512"
#include "validate/rows.inc"
