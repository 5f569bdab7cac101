/* validate/rows.inc with the instructions that cmake/sources.cmake gives this file. */
#include "validate/rows_tables.h"

static bool row_available(void)
{
    return __builtin_cpu_supports("avx2");
}

#define ROWS_NAME crd_rows_avx2
#define ROWS_TEXT "avx2"
#include "validate/rows.inc"
