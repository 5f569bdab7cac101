#include "propagate/printed.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

enum { OUTPUT_LIMIT = 256 << 20 };

crd_status crd_pattern_compile(const char *name, const char *text, regex_t *out)
{
    char why[128];
    const int failed = regcomp(out, text, REG_EXTENDED | REG_NEWLINE);
    if (failed != 0) {
        (void)regerror(failed, out, why, sizeof why);
        return crd_fail(CRD_ERR_ARGUMENT, "%s is no regular expression (%s): '%s'", name, why, text);
    }
    if (out->re_nsub >= 1) return CRD_OK;
    regfree(out);
    return crd_fail(CRD_ERR_ARGUMENT, "%s needs a group in brackets around the number, as in 'D_rel = ([-+.0-9e]+)'",
                    name);
}

crd_status crd_check_pattern(const char *name, const char *text)
{
    regex_t pattern;
    CRD_PASS(crd_pattern_compile(name, text, &pattern));
    regfree(&pattern);
    return CRD_OK;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_' || c == '.';
}

/* How many characters from `at` on are a number: [+-]digits[.digits][e[+-]digits]; 0: it is none. */
static size_t number_length(const char *at)
{
    size_t sign = at[0] == '+' || at[0] == '-', length = sign;
    const size_t whole = strspn(at + length, "0123456789");
    length += whole;
    size_t part = 0;
    if (at[length] == '.') {
        part = strspn(at + length + 1, "0123456789");
        if (whole + part > 0) length += 1 + part;
    }
    if (whole + part == 0) return 0;
    if (at[length] == 'e' || at[length] == 'E') {
        const size_t exponent_sign = at[length + 1] == '+' || at[length + 1] == '-';
        const size_t exponent = strspn(at + length + 1 + exponent_sign, "0123456789");
        if (exponent > 0) length += 1 + exponent_sign + exponent;
    }
    return length;
}

/* A word may end before `at`: a full stop ends a sentence where nothing follows it at once. */
static bool ends_word(const char *at)
{
    return !is_word(at[0]) || (at[0] == '.' && !is_word(at[1]));
}

/* How many characters from `at` on say that a number is none, or isn't finite, as printf writes it: [+-]nan, inf. */
static size_t no_number_length(const char *at)
{
    static const char *const words[] = {"infinity", "inf", "nan"};
    const size_t sign = at[0] == '+' || at[0] == '-';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t length = strlen(words[i]);
        if (strncasecmp(at + sign, words[i], length) == 0 && ends_word(at + sign + length)) return sign + length;
    }
    return 0;
}

/* Numbers stand alone: the 3 of "mm3" and of "v3.1" is none. Where the last one is nan, or too large, there is none: an
 * earlier number is something else. */
static bool last_number(const char *text, double *value)
{
    bool found = false;
    for (const char *at = text; *at != '\0';) {
        const bool begins = at == text || !is_word(at[-1]);
        const size_t digits = number_length(at), letters = digits == 0 && begins ? no_number_length(at) : 0;
        const size_t length = digits + letters;
        if (letters > 0) found = false;
        if (digits > 0 && begins && ends_word(at + digits)) {
            found = crd_parse_real(at, digits, value);
        }
        at += length > 0 ? length : 1;
    }
    return found;
}

static bool last_match(const char *text, const regex_t *pattern, double *value)
{
    regmatch_t matches[2];
    bool found = false;
    for (const char *at = text; regexec(pattern, at, 2, matches, at == text ? 0 : REG_NOTBOL) == 0;) {
        double number;
        if (matches[1].rm_so >= 0 &&
            crd_parse_real(at + matches[1].rm_so, (size_t)(matches[1].rm_eo - matches[1].rm_so), &number)) {
            *value = number;
            found = true;
        }
        at += matches[0].rm_eo > 0 ? matches[0].rm_eo : 1;
        if (at[-1] == '\0' || *at == '\0') break;
    }
    return found;
}

crd_status crd_printed_number(const char *path, const regex_t *pattern, double *value, bool *found)
{
    char *text = NULL;
    *value = (double)NAN;
    CRD_PASS(crd_read_file(path, OUTPUT_LIMIT, &text, NULL));
    *found = pattern != NULL ? last_match(text, pattern, value) : last_number(text, value);
    if (!*found) *value = (double)NAN;
    crd_free(&text);
    return CRD_OK;
}

void crd_printed_last_line(const char *path, char *line, size_t room)
{
    char *text = NULL;
    line[0] = '\0';
    if (crd_read_file(path, OUTPUT_LIMIT, &text, NULL) != CRD_OK) return;
    size_t end = strlen(text);
    while (end > 0 && isspace((unsigned char)text[end - 1]) != 0) end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n') begin--;
    snprintf(line, room, "%.*s", (int)(end - begin < room ? end - begin : room), text + begin);
    crd_clean_line(line);
    crd_free(&text);
}
