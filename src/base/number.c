#include "base/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NUMBER = 400 }; /* 1e-308 written out without an exponent has 325 digits */

static locale_t plain_locale;

static void make_plain_locale(void)
{
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The "C" locale for this thread; without memory for it, whatever the host has set stays. */
static locale_t enter_plain_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain_locale);
    return plain_locale != (locale_t)0 ? uselocale(plain_locale) : (locale_t)0;
}

static void leave_plain_locale(locale_t before)
{
    if (before != (locale_t)0) uselocale(before);
}

/* Copies the number without the blanks around it, so that it ends in a zero byte where it ends in the text. */
static bool isolate(const char *text, size_t length, const char *allowed, char copy[LONGEST_NUMBER])
{
    while (length > 0 && (text[0] == ' ' || text[0] == '\t')) {
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    if (length == 0 || length >= LONGEST_NUMBER) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return strspn(copy, allowed) == length;
}

bool crd_parse_int(const char *text, size_t length, int64_t *out)
{
    char copy[LONGEST_NUMBER];
    char *end = NULL;
    if (!isolate(text, length, "+-0123456789", copy)) return false;
    errno = 0;
    const long long value = strtoll(copy, &end, 10);
    if (errno != 0 || end == copy || *end != '\0') return false;
    *out = value;
    return true;
}

bool crd_parse_real(const char *text, size_t length, double *out)
{
    char copy[LONGEST_NUMBER];
    char *end = NULL;
    if (!isolate(text, length, "+-.0123456789eE", copy)) return false;
    const locale_t before = enter_plain_locale();
    const double value = strtod(copy, &end);
    leave_plain_locale(before);
    if (end == copy || *end != '\0' || !isfinite(value)) return false;
    *out = value;
    return true;
}

char *crd_format_real(double value, char text[CRD_NUMBER_BYTES])
{
    if (!isfinite(value)) {
        snprintf(text, CRD_NUMBER_BYTES, "null");
        return text;
    }
    const locale_t before = enter_plain_locale();
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, CRD_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    leave_plain_locale(before);
    return text;
}
