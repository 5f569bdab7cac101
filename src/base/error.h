/* Raising and passing on errors. See credence/status.h for the rules.
 *
 * A function that owns something declares `crd_status status = CRD_OK;`, ends in one `done:` label that frees what it
 * owns, and uses CRD_TRY and CRD_FAIL. A function that owns nothing uses CRD_PASS and `return crd_fail(...)`.
 */
#ifndef CRD_BASE_ERROR_H
#define CRD_BASE_ERROR_H

#include "credence/status.h"

/* Record an error and give its status back. With several `%` arguments, as printf. */
#define crd_fail(code, ...) crd_error_set((code), __FILE__, __LINE__, __VA_ARGS__)

#define CRD_TRY(call)                                                                                                  \
    do {                                                                                                               \
        if ((status = (call)) != CRD_OK) goto done;                                                                    \
    } while (0)

#define CRD_FAIL(code, ...)                                                                                            \
    do {                                                                                                               \
        status = crd_fail((code), __VA_ARGS__);                                                                        \
        goto done;                                                                                                     \
    } while (0)

#define CRD_PASS(call)                                                                                                 \
    do {                                                                                                               \
        crd_status pass_status = (call);                                                                               \
        if (pass_status != CRD_OK) return pass_status;                                                                 \
    } while (0)

crd_status crd_error_set(crd_status code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* As crd_error_set, with ": <strerror(errno)>" appended. Out of disk space gets a sentence of its own. */
#define crd_fail_errno(...) crd_error_set_errno(__FILE__, __LINE__, __VA_ARGS__)
crd_status crd_error_set_errno(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a hostile file put into its names reaches a terminal through messages: one line, no escape sequences. */
void crd_clean_line(char *text);

/* Carry an error from a worker thread to the thread that waits for it: copy crd_last_error() there, adopt it here. */
crd_status crd_error_adopt(const crd_error *error);

#endif
