#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "credence/number.h"

static bool make_room(crd_text *text, int64_t more)
{
    if (text->status != CRD_OK) return false;
    if (text->length + more + 1 <= text->room) return true;
    int64_t room = text->room < 4096 ? 4096 : text->room;
    while (room < text->length + more + 1) room *= 2;
    char *data = NULL;
    text->status = crd_alloc(room, 1, "text", &data);
    if (text->status != CRD_OK) return false;
    if (text->length > 0) memcpy(data, text->data, (size_t)text->length);
    crd_free(&text->data);
    text->data = data;
    text->room = room;
    return true;
}

void crd_text_add_bytes(crd_text *text, const char *bytes, int64_t count)
{
    if (count <= 0 || !make_room(text, count)) return;
    memcpy(text->data + text->length, bytes, (size_t)count);
    text->length += count;
}

void crd_text_add(crd_text *text, const char *words)
{
    crd_text_add_bytes(text, words, (int64_t)strlen(words));
}

void crd_text_print(crd_text *text, const char *format, ...)
{
    char short_form[512];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(short_form, sizeof short_form, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof short_form) {
        crd_text_add_bytes(text, short_form, length);
    } else if (length >= 0 && make_room(text, length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += length;
    }
    va_end(again);
}

void crd_text_int(crd_text *text, int64_t value)
{
    crd_text_print(text, "%" PRId64, value);
}

void crd_text_real(crd_text *text, double value)
{
    char number[CRD_NUMBER_BYTES];
    crd_text_add(text, crd_format_real(value, number));
}

/* A dot, whatever the host program's locale has. */
static char *dotted(char *number)
{
    for (char *p = number; *p != '\0'; p++) {
        if (*p == ',') *p = '.';
    }
    return number;
}

char *crd_short_number(double value, int digits, char text[CRD_NUMBER_BYTES])
{
    snprintf(text, CRD_NUMBER_BYTES, "%.*g", digits, value);
    return dotted(text);
}

void crd_text_number(crd_text *text, double value, int digits, const char *nothing)
{
    char number[CRD_NUMBER_BYTES];
    crd_text_add(text, isfinite(value) ? crd_short_number(value, digits, number) : nothing);
}

void crd_text_fixed(crd_text *text, double value, int decimals, const char *nothing)
{
    char number[400]; /* the largest double has 309 digits */
    if (!isfinite(value)) {
        crd_text_add(text, nothing);
        return;
    }
    snprintf(number, sizeof number, "%.*f", decimals, value);
    crd_text_add(text, dotted(number));
}

void crd_text_json(crd_text *text, const char *words)
{
    if (words == NULL) {
        crd_text_add(text, "null");
        return;
    }
    crd_text_add(text, "\"");
    for (; *words != '\0'; words++) {
        const unsigned char letter = (unsigned char)*words;
        if (letter == '"' || letter == '\\') {
            crd_text_print(text, "\\%c", letter);
        } else if (letter < ' ') {
            crd_text_print(text, "\\u%04x", letter);
        } else {
            crd_text_add_bytes(text, words, 1);
        }
    }
    crd_text_add(text, "\"");
}

void crd_text_html(crd_text *text, const char *words)
{
    for (; *words != '\0'; words++) {
        switch (*words) {
        case '<':
            crd_text_add(text, "&lt;");
            break;
        case '>':
            crd_text_add(text, "&gt;");
            break;
        case '&':
            crd_text_add(text, "&amp;");
            break;
        case '"':
            crd_text_add(text, "&quot;");
            break;
        default:
            if ((unsigned char)*words >= ' ' || *words == '\n' || *words == '\t') crd_text_add_bytes(text, words, 1);
        }
    }
}

void crd_text_base64(crd_text *text, const uint8_t *bytes, int64_t count)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char some[1024];
    int64_t used = 0;
    for (int64_t i = 0; i < count; i += 3) {
        const int64_t left = count - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        some[used++] = letters[word >> 18];
        some[used++] = letters[word >> 12 & 63];
        some[used++] = left > 1 ? letters[word >> 6 & 63] : '=';
        some[used++] = left > 2 ? letters[word & 63] : '=';
        if (used == (int64_t)sizeof some || left <= 3) {
            crd_text_add_bytes(text, some, used);
            used = 0;
        }
    }
}

crd_status crd_text_finish(crd_text *text, char **out)
{
    *out = NULL;
    if (make_room(text, 0)) {
        text->data[text->length] = '\0';
        *out = text->data;
        text->data = NULL;
    }
    const crd_status status = text->status;
    crd_text_free(text);
    return status;
}

void crd_text_free(crd_text *text)
{
    crd_free(&text->data);
    *text = (crd_text){0};
}
