/* The tables of validate/rows.inc. */
#ifndef CRD_VALIDATE_ROWS_TABLES_H
#define CRD_VALIDATE_ROWS_TABLES_H

#include "validate/rows.h"

extern const crd_rows crd_rows_portable;
#if defined(__x86_64__)
extern const crd_rows crd_rows_avx512;
extern const crd_rows crd_rows_avx2;
#endif

#endif
