/* Who may ask. A page of another site in the same browser, another name for this machine, another user of it: none of
 * them gets anything but the refusal. Looked at before the path is. */
#ifndef CRD_VIEW_GUARD_H
#define CRD_VIEW_GUARD_H

#include "view/http/request.h"

enum { CRD_KEY_BYTES = 33 }; /* 32 hexadecimal digits and the final zero */

typedef struct crd_guard {
    char key[CRD_KEY_BYTES];
    const char *const *hosts; /* names allowed beside those of the loopback */
    int64_t host_count;
} crd_guard;

typedef struct crd_refusal {
    int status;
    const char *code, *sentence;
} crd_refusal;

/* NULL, or why not. Only what lies under /api needs the key. */
const crd_refusal *crd_guard_check(const crd_guard *guard, const crd_request *request);

/* Name and value of what every answer says to the browser; ends in NULL. */
extern const char *const crd_guard_headers[][2];

#endif
