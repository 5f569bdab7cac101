#include "volume/header/text.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

crd_status crd_header_text(const char *path, char **out, size_t *bytes)
{
    crd_status status = CRD_OK;
    int64_t length = 0;
    char *text = NULL;
    int fd = -1;
    CRD_TRY(crd_open_plain(path, &fd, &length));
    *bytes = length < CRD_HEADER_LIMIT ? (size_t)length : CRD_HEADER_LIMIT;
    CRD_TRY(crd_alloc((int64_t)*bytes + 1, 1, "a header", &text));
    CRD_TRY(crd_read_at(fd, path, 0, text, *bytes));
    *out = text;
    text = NULL;
done:
    if (fd >= 0) (void)close(fd);
    crd_free(&text);
    return status;
}

bool crd_next_line(const char **at, const char *end, const char **line, size_t *length)
{
    if (*at >= end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *at = stop != NULL ? stop + 1 : end;
    if (stop == NULL) stop = end;
    if (stop > *line && stop[-1] == '\r') stop--;
    *length = (size_t)(stop - *line);
    return true;
}

void crd_trim(const char **text, size_t *length)
{
    while (*length > 0 && (**text == ' ' || **text == '\t')) ++*text, --*length;
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\t')) --*length;
}

const char *crd_next_word(const char **text, size_t *length, size_t *word)
{
    crd_trim(text, length);
    const char *start = *text;
    for (*word = 0; *word < *length && start[*word] != ' ' && start[*word] != '\t';) ++*word;
    *text += *word, *length -= *word;
    return *word > 0 ? start : NULL;
}

int crd_take_reals(const char *text, size_t length, double *out, int most)
{
    size_t word;
    int count = 0;
    for (const char *start; (start = crd_next_word(&text, &length, &word)) != NULL; count++) {
        if (count == most || !crd_parse_real(start, word, &out[count])) return -1;
    }
    return count;
}

int crd_take_ints(const char *text, size_t length, int64_t *out, int most)
{
    size_t word;
    int count = 0;
    for (const char *start; (start = crd_next_word(&text, &length, &word)) != NULL; count++) {
        if (count == most || !crd_parse_int(start, word, &out[count])) return -1;
    }
    return count;
}

bool crd_is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

bool crd_names_several(const char *text, size_t length)
{
    size_t word;
    if (memchr(text, '%', length) != NULL) return true;
    const char *first = crd_next_word(&text, &length, &word);
    return first != NULL && crd_is_word(first, word, "LIST");
}
