/* Lines of prose no wider than the terminal that shows them. What isn't shown on a terminal stays as long as it is: for
 * other programs a sentence is a line. */
#ifndef CLI_WRAP_H
#define CLI_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal behind a file descriptor; 0: it is none, or says nothing sensible. */
size_t cli_terminal_width(int descriptor);
/* Prints the first `length` bytes of `text`, from `column` on, and the end of the line. Where a line would be wider
 * than `width` (0: never) it is broken at a space, and goes on `indent` columns in. */
void cli_wrap(FILE *out, const char *text, size_t length, size_t width, size_t indent, size_t column);
/* A sentence of a result, on standard output; it goes on two columns farther in than it begins. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
