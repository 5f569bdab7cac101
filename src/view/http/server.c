/* HTTP by libmicrohttpd: libcredence_http.so. The only file that knows it.
 *
 * A connection whose request was handed over is suspended until the answer is there, and an event stream while there is
 * nothing to say; so neither takes a thread. */
#include "view/http/server.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const crd_http_host *host;

#define FAIL(code, sentence) host->fail((code), __FILE__, __LINE__, (sentence))

enum { MOST_HEADERS = 64, STREAM_BYTES = 4096 };

typedef struct stream {
    crd_http_server *server;
    struct MHD_Connection *connection;
    int64_t position;
    bool waiting; /* suspended; under the server's lock, as is the list */
    struct stream *next, *before;
} stream;

struct crd_http_server {
    crd_http_plan plan;
    struct MHD_Daemon *daemons[CRD_HTTP_SOCKETS];
    pthread_mutex_t lock;
    stream *streams;
    bool closing;
};

struct crd_exchange {
    crd_http_server *server;
    struct MHD_Connection *connection;
    char *target; /* as it stood in the request */
    char *body;
    int64_t body_bytes;
    bool begun, too_large, handed_over, answered;
    crd_wire_header headers[MOST_HEADERS];
    int header_count;
    crd_response response;
};

/* ---- event streams ---- */

static void unlink_stream(stream *s)
{
    if (s->before != NULL) s->before->next = s->next;
    if (s->before == NULL) s->server->streams = s->next;
    if (s->next != NULL) s->next->before = s->before;
}

static ssize_t read_stream(void *context, uint64_t offset, char *bytes, size_t room)
{
    stream *s = context;
    (void)offset;
    pthread_mutex_lock(&s->server->lock);
    const crd_http_plan *plan = &s->server->plan;
    int64_t got = s->server->closing ? -1 : plan->stream(plan->context, &s->position, bytes, (int64_t)room);
    if (got == 0) { /* what comes from here on finds it waiting, since it takes the same lock */
        s->waiting = true;
        MHD_suspend_connection(s->connection);
    }
    pthread_mutex_unlock(&s->server->lock);
    return got < 0 ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)got;
}

static void end_stream(void *context)
{
    stream *s = context;
    pthread_mutex_lock(&s->server->lock);
    unlink_stream(s);
    pthread_mutex_unlock(&s->server->lock);
    free(s);
}

static void wake(crd_http_server *server)
{
    pthread_mutex_lock(&server->lock);
    for (stream *s = server->streams; s != NULL; s = s->next) {
        if (s->waiting) {
            s->waiting = false;
            MHD_resume_connection(s->connection);
        }
    }
    pthread_mutex_unlock(&server->lock);
}

static struct MHD_Response *stream_response(crd_exchange *e)
{
    stream *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->server = e->server;
    s->connection = e->connection;
    s->position = e->response.from_event;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, read_stream, s, end_stream);
    if (response == NULL) {
        free(s);
        return NULL;
    }
    pthread_mutex_lock(&e->server->lock);
    s->next = e->server->streams;
    if (s->next != NULL) s->next->before = s;
    e->server->streams = s;
    pthread_mutex_unlock(&e->server->lock);
    return response;
}

/* ---- answers ---- */

static void free_kept(void *kept)
{
    host->free_response(kept);
    free(kept);
}

/* The bytes go with the response, which outlives the exchange. */
static struct MHD_Response *plain_response(crd_exchange *e)
{
    crd_response *kept = malloc(sizeof *kept);
    if (kept == NULL) return NULL;
    *kept = e->response;
    e->response = (crd_response){0};
    /* It is only read: the library's function has no const. */
    void *bytes;
    memcpy(&bytes, &kept->bytes, sizeof bytes);
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback_cls((size_t)kept->count, bytes, free_kept, kept);
    if (response == NULL) free_kept(kept);
    return response;
}

static bool add(struct MHD_Response *response, const char *name, const char *value)
{
    return value[0] == '\0' || MHD_add_response_header(response, name, value) == MHD_YES;
}

static bool add_headers(const crd_http_plan *plan, const crd_response *r, struct MHD_Response *response)
{
    static const char *const keeping[] = {[CRD_KEEP_NOT] = "no-store",
                                          [CRD_KEEP_ASK] = "no-cache",
                                          [CRD_KEEP_LONG] = "private, max-age=31536000, immutable"};
    char seconds[16] = "";
    bool good = true;
    for (int i = 0; plan->headers[i][0] != NULL; i++) {
        good = good && add(response, plan->headers[i][0], plan->headers[i][1]);
    }
    if (r->retry_after > 0) snprintf(seconds, sizeof seconds, "%d", r->retry_after);
    return good && add(response, "Content-Type", r->type != NULL ? r->type : "") &&
           add(response, "Cache-Control", keeping[r->keep]) && add(response, "ETag", r->etag) &&
           add(response, "X-Tile", r->tile) && add(response, "Content-Encoding", r->deflated ? "deflate" : "") &&
           add(response, "Retry-After", seconds);
}

static enum MHD_Result send_answer(crd_exchange *e)
{
    const crd_response about = e->response; /* its words; the bytes may be gone from `e` in a moment */
    struct MHD_Response *response = about.stream ? stream_response(e) : plain_response(e);
    if (response == NULL) return MHD_NO;
    enum MHD_Result queued = MHD_NO;
    if (add_headers(&e->server->plan, &about, response)) {
        queued = MHD_queue_response(e->connection, (unsigned)about.status, response);
    }
    MHD_destroy_response(response);
    return queued;
}

static void answer(crd_exchange *exchange, crd_response *response)
{
    exchange->response = *response;
    *response = (crd_response){0};
    exchange->answered = true;
    MHD_resume_connection(exchange->connection); /* from here on the exchange is the server thread's */
}

/* ---- requests ---- */

static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    crd_exchange *e = context;
    (void)kind;
    const crd_http_plan *plan = &e->server->plan;
    for (int i = 0; i < plan->wanted_count && e->header_count < MOST_HEADERS; i++) {
        if (strcasecmp(name, plan->wanted[i]) != 0) continue;
        e->headers[e->header_count++] = (crd_wire_header){.name = name, .value = value != NULL ? value : ""};
    }
    return MHD_YES;
}

/* The target as it came, before anything in it is decoded; the exchange begins here. */
static void *note_target(void *context, const char *target, struct MHD_Connection *connection)
{
    crd_exchange *e = calloc(1, sizeof *e);
    if (e == NULL) return NULL;
    e->server = context;
    e->connection = connection;
    e->target = strdup(target);
    if (e->target != NULL) return e;
    free(e);
    return NULL;
}

static enum MHD_Result take_body(crd_exchange *e, const char *data, size_t *size)
{
    if (!e->too_large && e->body_bytes + (int64_t)*size <= e->server->plan.body_bytes) {
        char *more = realloc(e->body, (size_t)e->body_bytes + *size + 1);
        if (more == NULL) return MHD_NO;
        memcpy(more + e->body_bytes, data, *size);
        e->body = more;
        e->body_bytes += (int64_t)*size;
        e->body[e->body_bytes] = '\0';
    } else {
        e->too_large = true;
    }
    *size = 0;
    return MHD_YES;
}

static void hand_over(crd_exchange *e, const char *method)
{
    (void)MHD_get_connection_values(e->connection, MHD_HEADER_KIND, note_header, e);
    const crd_wire_request wire = {.method = method,
                                   .target = e->target,
                                   .headers = e->headers,
                                   .header_count = e->header_count,
                                   .body = e->body,
                                   .body_bytes = e->body_bytes};
    e->handed_over = true;
    MHD_suspend_connection(e->connection);
    e->server->plan.arrived(e->server->plan.context, e, &wire);
}

static enum MHD_Result refuse_body(crd_exchange *e)
{
    static char words[] =
        "{\"error\":{\"code\":\"too_large\",\"message\":\"The body of the request is too large.\"}}\n";
    e->response =
        (crd_response){.status = 413, .type = "application/json", .bytes = words, .count = (int64_t)sizeof words - 1};
    return send_answer(e);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    crd_exchange *e = *state;
    (void)context, (void)url, (void)version;
    if (e == NULL) return MHD_NO;
    if (e->answered) return send_answer(e);
    if (e->handed_over) return MHD_YES;
    if (!e->begun) { /* The first call has the headers only. Who announces too much is refused before it is sent. */
        const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
        e->begun = true;
        return length != NULL && strtoll(length, NULL, 10) > e->server->plan.body_bytes ? refuse_body(e) : MHD_YES;
    }
    if (*size > 0) return take_body(e, data, size);
    if (e->too_large) return refuse_body(e);
    hand_over(e, method);
    return MHD_YES;
}

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode how)
{
    crd_exchange *e = *state;
    (void)context, (void)connection, (void)how;
    if (e == NULL) return;
    host->free_response(&e->response);
    free(e->target);
    free(e->body);
    free(e);
    *state = NULL;
}

/* Decoding is not ours to leave to others: see view/http/request.c. */
static size_t leave_as_is(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    return strlen(text);
}

/* ---- beginning and end ---- */

static void close_server(crd_http_server **server)
{
    crd_http_server *s = *server;
    if (s == NULL) return;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_mutex_unlock(&s->lock);
    wake(s);
    for (int i = 0; i < CRD_HTTP_SOCKETS; i++) {
        if (s->daemons[i] != NULL) MHD_stop_daemon(s->daemons[i]);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
    *server = NULL;
}

static crd_status open_server(const crd_http_plan *plan, crd_http_server **out)
{
    crd_http_server *s = calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return FAIL(CRD_ERR_MEMORY, "there is no memory for the web server");
    }
    s->plan = *plan;
    for (int i = 0; i < plan->socket_count; i++) {
        /* poll, not epoll: of so few connections it costs the same, and with epoll's edges libmicrohttpd 0.9.75 misses
         * the end of a line that was cut in the middle of a request, and holds it for half a minute. */
        s->daemons[i] = MHD_start_daemon(
            MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL, NULL, handle, s,
            MHD_OPTION_LISTEN_SOCKET, plan->sockets[i], MHD_OPTION_CONNECTION_LIMIT, (unsigned)plan->connections,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)plan->header_bytes, MHD_OPTION_CONNECTION_TIMEOUT,
            (unsigned)plan->idle_seconds, MHD_OPTION_URI_LOG_CALLBACK, note_target, s, MHD_OPTION_UNESCAPE_CALLBACK,
            leave_as_is, NULL, MHD_OPTION_NOTIFY_COMPLETED, completed, s, MHD_OPTION_END);
        if (s->daemons[i] == NULL) {
            for (int k = i; k < plan->socket_count; k++) (void)close(plan->sockets[k]);
            close_server(&s);
            return FAIL(CRD_ERR_SYSTEM, "the web server can't be started");
        }
    }
    *out = s;
    return CRD_OK;
}

__attribute__((visibility("default"))) crd_http_entry crd_http_plugin;

const crd_http *crd_http_plugin(const crd_http_host *library)
{
    static const crd_http table = {
        .version = CRD_HTTP_VERSION, .open = open_server, .answer = answer, .wake = wake, .close = close_server};
    static const crd_build_mark own = CRD_HTTP_MARK;
    if (!crd_same_build(&library->mark, &own)) return NULL;
    host = library;
    return &table;
}
