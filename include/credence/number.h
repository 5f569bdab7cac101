/* Numbers as text, the same in every locale: what a host program does with setlocale must not change what is written.
 * Any thread may call this at any time. */
#ifndef CREDENCE_NUMBER_H
#define CREDENCE_NUMBER_H

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for any number, with its final zero. */
enum { CRD_NUMBER_BYTES = 32 };

/* 15 to 17 digits, as many as it takes to get the same bits again from them; "null", as JSON wants it, for NaN and
 * infinities. Returns `text`. */
CRD_API char *crd_format_real(double value, char text[CRD_NUMBER_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
