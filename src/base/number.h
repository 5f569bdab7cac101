/* Numbers as text, the same in every locale: what a host program does with setlocale must not change what we read from
 * files and flags or write to them. */
#ifndef CRD_BASE_NUMBER_H
#define CRD_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any number these functions write, with its final zero. */
enum { CRD_NUMBER_BYTES = 32 };

/* The first `length` bytes of text must be one decimal number, with blanks around it at most; false otherwise, also
 * when it doesn't fit the type. Infinities and NaN aren't numbers here. */
bool crd_parse_int(const char *text, size_t length, int64_t *out);
bool crd_parse_real(const char *text, size_t length, double *out);

/* 15 to 17 digits, as many as crd_parse_real needs to get the same bits again; "null", as JSON wants it, for NaN and
 * infinities. Returns `text`. */
char *crd_format_real(double value, char text[CRD_NUMBER_BYTES]);

#endif
