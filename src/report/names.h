/* Names in place of absolute paths: a page is handed on, and nobody needs to know whose folders these were. */
#ifndef CRD_REPORT_NAMES_H
#define CRD_REPORT_NAMES_H

#include <cjson/cJSON.h>

#include "base/text.h"

/* The last part of a path, without slashes at its end; "" of NULL. Free with crd_free. */
crd_status crd_name_of(const char *path, char **out);
/* A copy in which every absolute path is reduced to its last part; free with crd_free. */
crd_status crd_names_in(const char *words, char **out);
/* The same for all texts of a JSON document. */
crd_status crd_names_in_json(cJSON *root);
/* Into HTML: the last part of a path; words with names in place of paths. */
void crd_text_name(crd_text *text, const char *path);
void crd_text_names(crd_text *text, const char *words);

#endif
