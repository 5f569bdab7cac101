/* What a command printed: the number in it, and its last words. */
#ifndef CRD_PROPAGATE_PRINTED_H
#define CRD_PROPAGATE_PRINTED_H

#include <regex.h>
#include <stdbool.h>

#include "base/error.h"

/* A POSIX extended regular expression with a group around the number. Free with regfree. */
crd_status crd_pattern_compile(const char *name, const char *text, regex_t *out);
/* The same as the check of a setting. */
crd_status crd_check_pattern(const char *name, const char *text);

/* The last number in the file, or the last match of a pattern that isn't NULL; false: there is none. */
crd_status crd_printed_number(const char *path, const regex_t *pattern, double *value, bool *found);

/* The last line with words in it, cut to the room there is; "" where there is none or the file isn't there. */
void crd_printed_last_line(const char *path, char *line, size_t room);

#endif
