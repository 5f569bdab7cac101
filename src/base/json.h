/* JSON texts whose numbers come back as they were: cJSON's own printing drops the last digit of some. */
#ifndef CRD_BASE_JSON_H
#define CRD_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/error.h"

/* On one line, or indented; free with crd_free. `root` may be NULL, as cJSON's functions answer where memory is short:
 * an error then. */
crd_status crd_json_print(const cJSON *root, bool one_line, char **out);

#endif
