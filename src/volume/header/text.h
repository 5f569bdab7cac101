/* Lines, words and numbers of the text headers of NRRD and MetaImage. */
#ifndef CRD_VOLUME_HEADER_TEXT_H
#define CRD_VOLUME_HEADER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { CRD_HEADER_LIMIT = 1 << 20 };

/* The first bytes of a file, at most CRD_HEADER_LIMIT, with a zero behind; free with crd_free. */
crd_status crd_header_text(const char *path, char **out, size_t *bytes);

/* The next line in [*at, end), without its end; false at the end. */
bool crd_next_line(const char **at, const char *end, const char **line, size_t *length);
/* Blanks off both ends. */
void crd_trim(const char **text, size_t *length);
/* The first word before a blank, which *text then stands behind; NULL at the end. */
const char *crd_next_word(const char **text, size_t *length, size_t *word);
/* Numbers between blanks; -1 if it is something else or more than `most`. */
int crd_take_reals(const char *text, size_t length, double *out, int most);
int crd_take_ints(const char *text, size_t length, int64_t *out, int most);
/* Is it that word, whatever the case of its letters? */
bool crd_is_word(const char *text, size_t length, const char *word);
/* Does a header spread its voxels over files: "LIST", or a pattern such as slice%03d.raw? */
bool crd_names_several(const char *text, size_t length);

#endif
