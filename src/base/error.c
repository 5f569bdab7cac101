#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static _Thread_local crd_error last_error;

const crd_error *crd_last_error(void)
{
    return &last_error;
}

crd_status crd_set_error(crd_status status, const char *sentence)
{
    return crd_fail(status, "%s", sentence);
}

const char *crd_status_name(crd_status status)
{
    static const char *const names[] = {
        [CRD_OK] = "ok",
        [CRD_ERR_ARGUMENT] = "argument",
        [CRD_ERR_SYSTEM] = "system",
        [CRD_ERR_FORMAT] = "format",
        [CRD_ERR_UNSUPPORTED] = "unsupported",
        [CRD_ERR_MEMORY] = "memory",
        [CRD_ERR_MISMATCH] = "mismatch",
        [CRD_ERR_BUSY] = "busy",
        [CRD_ERR_CANCELLED] = "cancelled",
        [CRD_ERR_NUMERIC] = "numeric",
        [CRD_ERR_INTERNAL] = "internal",
    };
    if ((size_t)status >= sizeof names / sizeof names[0] || names[status] == NULL) return "unknown";
    return names[status];
}

/* The bytes of the UTF-8 character that begins there, or 0. */
static int character(const unsigned char *c)
{
    const int bytes = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0;
    }
    return bytes;
}

void crd_clean_line(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0';) {
        const int bytes = character(c);
        const bool control = bytes == 1 ? *c < 0x20 || *c == 0x7f : bytes == 2 && c[0] == 0xc2 && c[1] < 0xa0;
        if (control || (bytes == 0 && *c < 0xa0)) memset(c, ' ', bytes > 1 ? (size_t)bytes : 1);
        c += bytes > 1 ? bytes : 1;
    }
}

static void record(crd_status code, const char *file, int line, const char *message)
{
    last_error.status = code;
    last_error.file = file;
    last_error.line = line;
    snprintf(last_error.message, sizeof last_error.message, "%s", message);
    crd_clean_line(last_error.message);
}

/* The message may quote the record it replaces, so it is put together elsewhere first. */
crd_status crd_error_set(crd_status code, const char *file, int line, const char *format, ...)
{
    char message[sizeof last_error.message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    record(code, file, line, message);
    return code;
}

crd_status crd_error_set_errno(const char *file, int line, const char *format, ...)
{
    const int cause = errno;
    char message[sizeof last_error.message];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const char *reason =
        cause == ENOSPC ? "the disk is full; free some space or choose another folder" : strerror(cause);
    if (used >= 0 && (size_t)used < sizeof message) {
        snprintf(message + used, sizeof message - (size_t)used, ": %s", reason);
    }
    record(CRD_ERR_SYSTEM, file, line, message);
    return CRD_ERR_SYSTEM;
}

crd_status crd_error_adopt(const crd_error *error)
{
    last_error = *error;
    return error->status;
}
