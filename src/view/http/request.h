/* A request as checked data. What came over the wire is only looked at here: from here on a path is a list of plain
 * words, and a query a list of names and values. Nothing is allocated, and no socket is needed to make one. */
#ifndef CRD_VIEW_REQUEST_H
#define CRD_VIEW_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/volume.h"

enum {
    CRD_REQUEST_TARGET = 1024, /* longest path with its query */
    CRD_REQUEST_PARTS = 12,    /* words of a path */
    CRD_REQUEST_QUERIES = 12,
    CRD_REQUEST_HEADER = 512 /* longest value of a header that is looked at */
};

typedef enum crd_method { CRD_GET, CRD_POST, CRD_PUT, CRD_DELETE, CRD_OTHER_METHOD } crd_method;

/* As it came. `headers` are those of crd_request_wanted, once for each time that they were sent. */
typedef struct crd_wire_header {
    const char *name, *value;
} crd_wire_header;

typedef struct crd_wire_request {
    const char *method, *target; /* "GET", "/api/1/voxel?at=1,2,3" */
    const crd_wire_header *headers;
    int header_count;
    const char *body; /* may be NULL */
    int64_t body_bytes;
} crd_wire_request;

typedef struct crd_query {
    const char *name, *value;
} crd_query;

typedef struct crd_request {
    crd_method method;
    char target[CRD_REQUEST_TARGET]; /* what the words below lie in */
    int part_count;
    const char *parts[CRD_REQUEST_PARTS]; /* "api", "1", "voxel"; none for "/" */
    int query_count;
    crd_query queries[CRD_REQUEST_QUERIES];
    char host[CRD_REQUEST_HEADER], origin[CRD_REQUEST_HEADER]; /* "" where not sent, as those below */
    char site[32], key[64], type[64], match[80], last_event[32];
    bool deflate; /* the client takes that encoding */
    const char *body;
    int64_t body_bytes;
} crd_request;

/* The headers that count. */
extern const char *const crd_request_wanted[];
extern const int crd_request_wanted_count;

/* 0, or the status to refuse it with: 400 malformed, 414 too long, 431 a header that is too long. */
int crd_request_read(const crd_wire_request *wire, crd_request *out);

/* A request points into itself: so it isn't copied by =. */
void crd_request_copy(const crd_request *request, crd_request *out);

/* The value of a name of the query, or NULL. */
const char *crd_request_query(const crd_request *request, const char *name);
/* Whole numbers and reals, as text that is nothing else. */
bool crd_request_int(const char *text, int64_t low, int64_t high, int64_t *out);
bool crd_request_real(const char *text, double *out);
/* "4,5,6" */
bool crd_request_place(const char *text, const int64_t shape[3], int64_t out[3]);
/* "z0:z1,y0:y1,x0:x1", inside the shape and not empty */
bool crd_request_box(const char *text, const int64_t shape[3], crd_box *out);

#endif
