/* Text that grows: JSON and HTML pages are put together here. */
#ifndef CRD_BASE_TEXT_H
#define CRD_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/number.h"

/* Begins as {0}. The first failure sticks: what follows does nothing, and crd_text_finish reports it, so that a page of
 * calls needs one look at a status. */
typedef struct crd_text {
    char *data;
    int64_t length, room;
    crd_status status;
} crd_text;

void crd_text_add(crd_text *text, const char *words);
void crd_text_add_bytes(crd_text *text, const char *bytes, int64_t count);
/* printf; numbers that must be the same in every locale go through crd_text_real. */
void crd_text_print(crd_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void crd_text_int(crd_text *text, int64_t value);
void crd_text_real(crd_text *text, double value); /* exact; "null" for NaN and infinities */
/* With `digits` significant digits (17 at most) and a dot in every locale; returns `text`. */
char *crd_short_number(double value, int digits, char text[CRD_NUMBER_BYTES]);
/* The same; `nothing` in place of NaN and infinities. */
void crd_text_number(crd_text *text, double value, int digits, const char *nothing);
/* With so many decimals. */
void crd_text_fixed(crd_text *text, double value, int decimals, const char *nothing);
/* A JSON string with its quotes; NULL gives null. */
void crd_text_json(crd_text *text, const char *words);
/* Words in HTML or SVG, with nothing that is markup. */
void crd_text_html(crd_text *text, const char *words);
void crd_text_base64(crd_text *text, const uint8_t *bytes, int64_t count);

/* Hands the text over (free with crd_free), or the first failure. */
crd_status crd_text_finish(crd_text *text, char **out);
void crd_text_free(crd_text *text);

#endif
