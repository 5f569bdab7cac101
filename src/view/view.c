/* The server from its beginning to its end: volumes, sockets, threads. */
#include "view/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/settings/whole.h"
#include "base/text.h"
#include "base/thread.h"
#include "credence/model.h"
#include "view/http/key.h"

/* Limits of what strangers can make the server do. */
enum { CONNECTIONS = 64, HEADER_BYTES = 32 << 10, BODY_BYTES = 1 << 20, IDLE_SECONDS = 30, MOST_WORKERS = 4 };
enum { ALIVE_SECONDS = 15, WATCH_SECONDS = 2 };

/* ---- requests, from the server's thread to the workers ---- */

static void arrived(void *context, crd_exchange *exchange, const crd_wire_request *wire)
{
    crd_view *view = context;
    crd_response response = {0};
    crd_request request;
    const int refused = crd_request_read(wire, &request);
    if (refused != 0) {
        crd_response_error(&response, refused, "malformed", "The request can't be understood.");
        view->http->answer(exchange, &response);
        return;
    }
    if (crd_painter_wants(&request) && crd_painter_take(view->painter, exchange, &request)) return;
    pthread_mutex_lock(&view->lock);
    const bool room = !crd_painter_wants(&request) && !view->stopping && view->tail - view->head < CRD_VIEW_WAITING;
    if (room) {
        crd_waiting *slot = &view->ring[view->tail++ % CRD_VIEW_WAITING];
        slot->exchange = exchange;
        crd_request_copy(&request, &slot->request);
        pthread_cond_signal(&view->arrived);
    }
    pthread_mutex_unlock(&view->lock);
    if (room) return;
    crd_response_error(&response, 503, "busy", "Too many requests are waiting; ask again.");
    response.retry_after = 1;
    view->http->answer(exchange, &response);
}

static int64_t read_events(void *context, int64_t *position, char *bytes, int64_t room)
{
    return crd_events_read(((crd_view *)context)->events, position, bytes, room);
}

static void answer_one(crd_view *view, crd_reader *reader, crd_exchange *exchange, const crd_request *request)
{
    crd_response response = {0};
    atomic_fetch_add(&view->busy, 1);
    crd_view_answer(view, reader, request, &response);
    atomic_fetch_sub(&view->busy, 1);
    view->http->answer(exchange, &response);
}

static void *work(void *context)
{
    crd_view *view = context;
    crd_reader reader = {.layers = &view->layers};
    for (;;) {
        pthread_mutex_lock(&view->lock);
        while (view->head == view->tail && !view->stopping) pthread_cond_wait(&view->arrived, &view->lock);
        if (view->head == view->tail) { /* and stopping: all that came has been answered */
            pthread_mutex_unlock(&view->lock);
            break;
        }
        const crd_waiting *slot = &view->ring[view->head % CRD_VIEW_WAITING];
        crd_exchange *exchange = slot->exchange;
        crd_request request;
        crd_request_copy(&slot->request, &request);
        view->head++;
        pthread_mutex_unlock(&view->lock);
        answer_one(view, &reader, exchange, &request);
    }
    crd_reader_close(&reader);
    return NULL;
}

/* ---- what goes on beside requests ---- */

static void warn(crd_view *view, const char *sentence)
{
    char *json = NULL;
    crd_text text = {0};
    crd_text_add(&text, "{\"level\":\"warning\",\"text\":");
    crd_text_json(&text, sentence);
    crd_text_add(&text, "}");
    if (crd_text_finish(&text, &json) == CRD_OK) crd_events_add(view->events, "message", json);
    crd_free(&json);
    view->http->wake(view->server);
}

void crd_view_complain(crd_view *view)
{
    warn(view, crd_last_error()->message);
}

/* Runs that grow, the scan's file, and a sign of life for those who listen. */
static void *follow(void *context)
{
    crd_view *view = context;
    for (int64_t i = 1; !atomic_load(&view->stop); i++) {
        const struct timespec time = {.tv_sec = 0, .tv_nsec = 200000000L};
        (void)nanosleep(&time, NULL);
        if (i % 2 == 0) crd_runs_look(view);
        crd_jobs_look(view);
        const char *changed = i % (WATCH_SECONDS * 5) == 0 ? crd_watch_look(&view->watch) : NULL;
        if (changed != NULL) warn(view, changed);
        if (i % (ALIVE_SECONDS * 5) != 0) continue;
        crd_events_keep_alive(view->events);
        view->http->wake(view->server);
    }
    return NULL;
}

/* ---- starting ---- */

static crd_status start_thread(pthread_t *thread, void *(*body)(void *), crd_view *view)
{
    const int cause = crd_thread_start(thread, body, view);
    return cause == 0 ? CRD_OK : crd_fail(CRD_ERR_SYSTEM, "can't start a thread: %s", strerror(cause));
}

static crd_status start_server(crd_view *view)
{
    crd_http_plan plan = {.socket_count = view->sockets.count,
                          .connections = CONNECTIONS,
                          .header_bytes = HEADER_BYTES,
                          .body_bytes = BODY_BYTES,
                          .idle_seconds = IDLE_SECONDS,
                          .wanted = crd_request_wanted,
                          .wanted_count = crd_request_wanted_count,
                          .headers = crd_guard_headers,
                          .context = view,
                          .arrived = arrived,
                          .stream = read_events};
    memcpy(plan.sockets, view->sockets.fds, sizeof plan.sockets);
    view->sockets.count = 0; /* the server's from here on */
    return view->http->open(&plan, &view->server);
}

static crd_status start_threads(crd_view *view, int64_t threads)
{
    const int cores = crd_available_cores();
    const int wanted = threads > 0 ? (int)threads : cores < MOST_WORKERS ? cores : MOST_WORKERS;
    for (; view->worker_count < wanted && view->worker_count < CRD_VIEW_WORKERS; view->worker_count++) {
        CRD_PASS(start_thread(&view->workers[view->worker_count], work, view));
    }
    CRD_PASS(crd_exporter_open(view, &view->exporter));
    CRD_PASS(crd_painter_start(view, &view->painter));
    CRD_PASS(start_server(view));
    CRD_PASS(start_thread(&view->follower, follow, view));
    view->follower_runs = true;
    return CRD_OK;
}

static crd_status look_at_greys(crd_view *view)
{
    CRD_PASS(crd_alloc(1, sizeof *view->sampled, "grey values", &view->sampled));
    const crd_layer *first = &view->layers.items[0];
    if (first->kind != CRD_LAYER_SCAN) return CRD_OK;
    CRD_PASS(crd_greys_sample(first->source, view->sampled, &view->sampled_all));
    view->window[0] = crd_greys_percentile(view->sampled, 0.005);
    view->window[1] = crd_greys_percentile(view->sampled, 0.995);
    if (!(view->window[0] < view->window[1])) { /* all are alike, or none is a number */
        if (!(view->window[0] == view->window[0])) view->window[0] = 0.0;
        view->window[1] = view->window[0] + 1.0;
    }
    return CRD_OK;
}

static void say_title(crd_view *view)
{
    const crd_volume_info *info = &view->layers.items[0].info;
    const char *path = crd_volume_path(view->layers.items[0].source);
    int length = snprintf(view->title, sizeof view->title, "%s: %lld x %lld x %lld voxels (z, y, x), %s", path,
                          (long long)info->shape[0], (long long)info->shape[1], (long long)info->shape[2],
                          crd_type_name(info->type));
    if (info->spacing[0] > 0.0 && length > 0 && length < (int)sizeof view->title) {
        char edges[3][CRD_NUMBER_BYTES];
        for (int i = 0; i < 3; i++) (void)crd_short_number(info->spacing[i], 6, edges[i]);
        snprintf(view->title + length, sizeof view->title - (size_t)length, ", of %s x %s x %s %s", edges[0], edges[1],
                 edges[2], info->unit);
    }
}

static crd_status say_address(crd_view *view, const crd_view_options *options)
{
    crd_status status = CRD_OK;
    char *path = NULL, here[256] = "HOST";
    const char *reached = options->listen != NULL && options->host.count > 0 ? options->host.items[0] : NULL;
    if (gethostname(here, sizeof here - 1) != 0) snprintf(here, sizeof here, "HOST");
    CRD_TRY(crd_key_make(crd_volume_path(view->layers.items[0].source), view->sockets.port, view->guard.key));
    view->guard.hosts = (const char *const *)options->host.items;
    view->guard.host_count = options->host.count;
    if (view->socket_path != NULL) {
        CRD_TRY(crd_absolute_path(view->socket_path, &path));
        snprintf(view->address, sizeof view->address, "http://localhost:%d/#key=%s", (int)options->port,
                 view->guard.key);
        snprintf(view->tunnel, sizeof view->tunnel, "ssh -L %d:%s %s", (int)options->port, path, here);
    } else {
        const char *shown = reached != NULL ? reached : view->sockets.address;
        char port[16] = "";
        if (reached != NULL) snprintf(port, sizeof port, ":%d", view->sockets.port);
        snprintf(view->address, sizeof view->address, "http://%.120s%s/#key=%s", shown, port, view->guard.key);
        snprintf(view->tunnel, sizeof view->tunnel, "ssh -L %d:127.0.0.1:%d %s", view->sockets.port, view->sockets.port,
                 here);
    }
done:
    crd_free(&path);
    return status;
}

static crd_status open_cache(crd_view *view, const crd_view_options *options)
{
    int64_t limit = -1;
    const bool chosen = strcmp(options->cache, "auto") != 0;
    if (strcmp(options->cache, "none") == 0) return CRD_OK;
    if (strcmp(options->cache_size, "auto") != 0) {
        CRD_PASS(crd_parse_bytes(options->cache_size, "cache-size", &limit));
    }
    return crd_cache_folder_open(chosen ? options->cache : NULL, limit, &view->cache);
}

/* NAME.view in the current folder, after the scan, unless the user names one. */
static crd_status open_project(crd_view *view, const crd_view_options *options)
{
    crd_status status = CRD_OK;
    char *name = NULL, *project = NULL;
    const char *path = crd_volume_path(view->layers.items[0].source);
    if (options->project != NULL) return crd_project_open(options->project, options->read_only, &view->project);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    const char *first = path;
    for (size_t i = 0; i + 1 < length; i++) {
        if (path[i] == '/') first = path + i + 1;
    }
    CRD_TRY(crd_strdup(first, &name));
    name[length - (size_t)(first - path)] = '\0';
    char *dot = strchr(name + 1, '.');
    if (dot != NULL) *dot = '\0';
    CRD_TRY(crd_join_path(".", name, ".view", &project));
    CRD_TRY(crd_project_open(project, options->read_only, &view->project));
done:
    crd_free(&name);
    crd_free(&project);
    return status;
}

/* What jobs will be given: better known now than when the first one fails. */
static crd_status check_inputs(const crd_view_options *options)
{
    if (options->model != NULL) {
        crd_model *model = NULL;
        CRD_PASS(crd_model_load(options->model, &model));
        crd_model_free(&model);
    }
    if (options->mask != NULL && strcmp(options->mask, "cylinder") != 0) {
        crd_volume *mask = NULL;
        if (crd_raw_voxel_bytes(options->mask, options->shape) > 0) return CRD_OK;
        CRD_PASS(crd_volume_open(options->mask, NULL, NULL, &mask));
        crd_volume_close(&mask);
    }
    return CRD_OK;
}

static crd_status open_labels(crd_view *view, int64_t memory, const crd_monitor *monitor)
{
    CRD_PASS(crd_labels_open(view->project, &view->layers.items[0].info, (size_t)(memory / 8), monitor, &view->labels));
    CRD_PASS(crd_labels_seed_from(view->labels, &view->layers, &view->seed));
    CRD_PASS(crd_labels_show(view->labels, &view->layers, &view->label_layer));
    atomic_store(&view->label_base, (int64_t)time(NULL) << 10);
    view->label_told = atomic_load(&view->label_base) + crd_labels_revision(view->labels);
    atomic_store(&view->layers.items[view->label_layer].revision, view->label_told);
    return CRD_OK;
}

static crd_status start(const crd_view_options *options, const crd_monitor *monitor, crd_view **out)
{
    crd_status status = CRD_OK;
    crd_view *view = NULL;
    crd_looker *looker = NULL;
    int64_t memory = (int64_t)1 << 30;
    *out = NULL;
    if (options->input == NULL)
        return crd_fail(CRD_ERR_ARGUMENT, "input: say what to look at: a scan, or a run folder");
    if (strcmp(options->max_memory, "auto") != 0) CRD_PASS(crd_parse_bytes(options->max_memory, "max-memory", &memory));
    CRD_PASS(check_inputs(options));
    CRD_TRY(crd_alloc(1, sizeof *view, "the viewer", &view));
    view->sockets = (crd_sockets){.fds = {-1, -1}};
    if (pthread_mutex_init(&view->lock, NULL) != 0 || pthread_cond_init(&view->arrived, NULL) != 0) {
        crd_free(&view);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    CRD_TRY(crd_http_load(&view->http));
    CRD_TRY(crd_alloc(CRD_VIEW_WAITING, sizeof *view->ring, "waiting requests", &view->ring));
    CRD_TRY(crd_layers_open(options, monitor, &view->layers));
    crd_watch_begin(&view->watch, crd_volume_path(view->layers.items[0].source));
    CRD_TRY(look_at_greys(view));
    view->run_given = options->run != NULL;
    CRD_TRY(crd_strdup(options->model, &view->model));
    CRD_TRY(crd_strdup(options->mask, &view->mask));
    CRD_TRY(open_project(view, options));
    CRD_TRY(open_labels(view, memory, monitor));
    CRD_TRY(crd_runs_open(&view->runs));
    CRD_TRY(crd_runs_follow_first(view, options->run != NULL ? options->run : options->input));
    const bool scan = view->layers.items[0].kind == CRD_LAYER_SCAN;
    CRD_TRY(crd_loop_open(view->project, &view->layers.items[0].info, scan ? view->mask : NULL, &view->loop));
    CRD_TRY(crd_scout_open(&view->scout));
    CRD_TRY(crd_jobs_open(view));
    CRD_TRY(crd_looker_open(&view->layers, &looker));
    atomic_store(&view->looker, looker);
    CRD_TRY(crd_tile_cache_open((size_t)(memory / 16), &view->tiles));
    CRD_TRY(crd_events_open(&view->events));
    view->socket_path = options->socket;
    CRD_TRY(crd_sockets_open(options, &view->sockets));
    CRD_TRY(say_address(view, options));
    say_title(view);
    CRD_TRY(open_cache(view, options));
    CRD_TRY(crd_builder_open(view, (size_t)(memory / 8 * 3), monitor));
    CRD_TRY(start_threads(view, options->threads));
    CRD_TRY(crd_builder_start(view));
    *out = view;
    view = NULL;
done:
    crd_view_stop(&view);
    return status;
}

crd_status crd_view_start(const crd_view_options *options, const crd_monitor *monitor, crd_view **out)
{
    crd_view_options whole;
    *out = NULL;
    CRD_PASS(crd_settings_whole(&crd_view_settings, options, &whole));
    const crd_status status = start(&whole, monitor, out);
    crd_settings_whole_free(&crd_view_settings, options, &whole);
    return status;
}

const char *crd_view_address(const crd_view *view)
{
    return view->address;
}

const char *crd_view_title(const crd_view *view)
{
    return view->title;
}

const char *crd_view_tunnel(const crd_view *view)
{
    return view->tunnel;
}

crd_status crd_view_wait(crd_view *view, const crd_monitor *monitor)
{
    (void)view;
    for (;;) {
        const struct timespec time = {.tv_sec = 0, .tv_nsec = 100000000L};
        (void)nanosleep(&time, NULL);
        const crd_status status = crd_advance(monitor, "serving", "", 0, 0, NULL);
        if (status == CRD_ERR_CANCELLED) return CRD_OK;
        if (status != CRD_OK) return status;
    }
}

const char *crd_view_job(crd_view *view)
{
    static const char *const names[] = {
        [CRD_JOB_TRAIN] = "training", [CRD_JOB_PREDICT] = "prediction", [CRD_JOB_SCORE] = "exam"};
    int64_t process;
    crd_job_kind kind;
    if (crd_jobs_running(view->jobs, &process, &kind) == 0) return NULL;
    snprintf(view->job_words, sizeof view->job_words,
             "the %s goes on without the viewer (process %lld); start credence view again to see it", names[kind],
             (long long)process);
    return view->job_words;
}

crd_status crd_view_end_job(crd_view *view)
{
    int64_t process;
    crd_job_kind kind;
    const int64_t number = crd_jobs_running(view->jobs, &process, &kind);
    if (number == 0) return CRD_OK;
    CRD_PASS(crd_jobs_cancel(view, number));
    for (int i = 0; i < 10 * (CRD_JOB_PATIENCE + 5) && crd_jobs_running(view->jobs, &process, &kind) != 0; i++) {
        const struct timespec time = {.tv_sec = 0, .tv_nsec = 100000000L};
        (void)nanosleep(&time, NULL);
    }
    return CRD_OK;
}

void crd_view_stop(crd_view **view)
{
    crd_view *v = *view;
    if (v == NULL) return;
    atomic_store(&v->stop, true);
    crd_builder_stop(v);
    if (v->follower_runs) (void)pthread_join(v->follower, NULL);
    pthread_mutex_lock(&v->lock);
    v->stopping = true; /* what comes from here on is told so at once */
    pthread_cond_broadcast(&v->arrived);
    pthread_mutex_unlock(&v->lock);
    for (int i = 0; i < v->worker_count; i++) (void)pthread_join(v->workers[i], NULL);
    crd_painter_stop(&v->painter);
    crd_exporter_close(&v->exporter);
    if (v->http != NULL) v->http->close(&v->server);
    crd_sockets_close(&v->sockets);
    if (v->socket_path != NULL && v->worker_count > 0) (void)unlink(v->socket_path);
    crd_layers_close(&v->layers);
    crd_labels_close(&v->labels);
    crd_volume_close(&v->seed.volume);
    crd_looker *lookers[] = {atomic_load(&v->looker), atomic_load(&v->next_looker)};
    for (int i = 0; i < 2; i++) crd_looker_close(&lookers[i]);
    crd_jobs_close(&v->jobs);
    crd_runs_close(&v->runs);
    crd_scout_close(&v->scout);
    crd_loop_close(&v->loop);
    crd_project_close(&v->project);
    crd_tile_cache_free(&v->tiles);
    crd_cache_folder_close(&v->cache);
    crd_events_free(&v->events);
    crd_free(&v->sampled);
    crd_free(&v->model);
    crd_free(&v->mask);
    crd_free(&v->ring);
    pthread_cond_destroy(&v->arrived);
    pthread_mutex_destroy(&v->lock);
    crd_free(view);
}
