/* What speaks HTTP, as a const table: libcredence_http.so (view/http/server.c) fills it in, over libmicrohttpd. Nothing
 * else crosses the border, and nothing but `credence view` loads it.
 *
 * The server has one thread, which never waits: it hands a request over (`arrived`) and takes the answer whenever, and
 * from whichever thread, that comes (`answer`). */
#ifndef CRD_VIEW_SERVER_H
#define CRD_VIEW_SERVER_H

#include "base/build_mark.h"
#include "view/http/request.h"
#include "view/http/response.h"

enum { CRD_HTTP_VERSION = 1, CRD_HTTP_SOCKETS = 2 };

typedef struct crd_http_server crd_http_server;
typedef struct crd_exchange crd_exchange; /* a request that waits for its answer */

typedef struct crd_http_plan {
    int sockets[CRD_HTTP_SOCKETS]; /* bound and listening; the server closes them */
    int socket_count;
    int connections;           /* at most */
    int64_t header_bytes;      /* of a request, at most */
    int64_t body_bytes;        /* likewise: more is answered with 413 */
    int idle_seconds;          /* after which a connection is closed */
    const char *const *wanted; /* headers of a request that are passed on */
    int wanted_count;
    const char *const (*headers)[2]; /* that every answer has; ends in NULL */
    void *context;
    /* On the server's thread. `wire` lasts until the answer is given, which is done once. */
    void (*arrived)(void *context, crd_exchange *exchange, const crd_wire_request *wire);
    /* The next bytes of an event stream behind event *position, which it moves; 0: there are none now. */
    int64_t (*stream)(void *context, int64_t *position, char *bytes, int64_t room);
} crd_http_plan;

typedef struct crd_http {
    uint32_t version;
    crd_status (*open)(const crd_http_plan *plan, crd_http_server **out);
    /* Takes what the response owns. From any thread. */
    void (*answer)(crd_exchange *exchange, crd_response *response);
    /* There is something for event streams. From any thread. */
    void (*wake)(crd_http_server *server);
    /* All exchanges have been answered before. */
    void (*close)(crd_http_server **server);
} crd_http;

#define CRD_HTTP_MARK                                                                                                  \
    {                                                                                                                  \
        CRD_HTTP_VERSION, CRD_VERSION,                                                                                 \
        {                                                                                                              \
            sizeof(crd_http_plan), sizeof(crd_http), sizeof(crd_wire_request), sizeof(crd_response)                    \
        }                                                                                                              \
    }

typedef struct crd_http_host {
    crd_build_mark mark; /* CRD_HTTP_MARK of the library */
    /* Sets the calling thread's error record to a ready sentence, and gives the code back. */
    crd_status (*fail)(crd_status code, const char *file, int line, const char *sentence);
    void (*free_response)(crd_response *response);
} crd_http_host;

/* The symbol that the shared object exports. NULL where the marks differ. */
#define CRD_HTTP_SYMBOL "crd_http_plugin"
typedef const crd_http *crd_http_entry(const crd_http_host *host);

/* Loads it, or fails with a sentence. */
crd_status crd_http_load(const crd_http **out);

#endif
