#include "talk/wrap.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NARROWEST = 20, HANGING = 2 };

size_t cli_terminal_width(int descriptor)
{
    struct winsize size;
    if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col >= NARROWEST ? size.ws_col : 0;
}

/* Of UTF-8: bytes that go on with a character take no column of their own. */
static size_t columns_of(const char *text, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

void cli_wrap(FILE *out, const char *text, size_t length, size_t width, size_t indent, size_t column)
{
    bool first = true;
    while (length > 0) {
        const char *space = memchr(text, ' ', length);
        while (space != NULL && space + 1 < text + length && space[1] == '%') /* "85 %" stays together */
            space = memchr(space + 1, ' ', length - (size_t)(space + 1 - text));
        const size_t bytes = space != NULL ? (size_t)(space - text) : length, word = columns_of(text, bytes);
        if (!first && width > 0 && column + 1 + word > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, bytes, out);
        column += word;
        first = false;
        text += bytes + (space != NULL);
        length -= bytes + (space != NULL);
    }
    fputc('\n', out);
}

void cli_say(const char *format, ...)
{
    char text[3 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cli_wrap(stdout, text, strlen(text), cli_terminal_width(STDOUT_FILENO), strspn(text, " ") + HANGING, 0);
}
