/* validate/rows.inc with the instructions that cmake/sources.cmake gives this file. */
#define ROWS_NAME crd_rows_avx512
#include "validate/rows.inc"
