/* What is answered to a request. */
#ifndef CRD_VIEW_RESPONSE_H
#define CRD_VIEW_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

typedef enum crd_keeping {
    CRD_KEEP_NOT,  /* no-store */
    CRD_KEEP_ASK,  /* may be kept, and is asked for again by its ETag */
    CRD_KEEP_LONG, /* never changes under this address */
} crd_keeping;

/* Begins as {0}; frees with crd_response_free. */
typedef struct crd_response {
    int status;       /* 200, 404, ... */
    const char *type; /* "application/json"; static */
    const void *bytes;
    int64_t count;
    void *owner;                   /* what the bytes lie in, */
    void (*release)(void **owner); /* and how that is freed; NULL: static */
    crd_keeping keep;
    char etag[72]; /* with its quotes, or "" */
    char tile[24]; /* X-Tile: "rows,columns", or "" */
    bool deflated; /* Content-Encoding */
    bool stream;   /* events, without an end, from this one on: */
    int64_t from_event;
    int retry_after; /* seconds, or 0 */
} crd_response;

void crd_response_free(crd_response *response);

/* An error with a code for programs and a sentence for people. Never fails: short of memory, the body is left out. */
void crd_response_error(crd_response *response, int status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* What the library itself refused: its own sentence. */
void crd_response_failed(crd_response *response);
/* Takes the text, which is JSON. */
void crd_response_json(crd_response *response, int status, crd_text *text);
/* Bytes of crd_alloc, which the response frees. */
void crd_response_bytes(crd_response *response, const char *type, uint8_t **bytes, int64_t count);

#endif
