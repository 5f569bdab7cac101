/* Numbers from text, the same in every locale; credence/number.h has the other direction. */
#ifndef CRD_BASE_NUMBER_H
#define CRD_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "credence/number.h"

/* The first `length` bytes of text must be one decimal number, with blanks around it at most; false otherwise, also
 * when it doesn't fit the type. Infinities and NaN aren't numbers here. */
bool crd_parse_int(const char *text, size_t length, int64_t *out);
bool crd_parse_real(const char *text, size_t length, double *out);

#endif
