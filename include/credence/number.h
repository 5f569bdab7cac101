/* Numbers as text, the same in every locale: what a host program does with setlocale must not change what is read from
 * files and flags or written to them. Any thread may call these at any time. */
#ifndef CREDENCE_NUMBER_H
#define CREDENCE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for any number these functions write, with its final zero. */
enum { CRD_NUMBER_BYTES = 32 };

/* The first `length` bytes of text must be one decimal number, with blanks around it at most; false otherwise, also
 * when it doesn't fit the type. Infinities and NaN aren't numbers here. */
CRD_API bool crd_parse_int(const char *text, size_t length, int64_t *out);
CRD_API bool crd_parse_real(const char *text, size_t length, double *out);

/* 15 to 17 digits, as many as crd_parse_real needs to get the same bits again; "null", as JSON wants it, for NaN and
 * infinities. Returns `text`. */
CRD_API char *crd_format_real(double value, char text[CRD_NUMBER_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
