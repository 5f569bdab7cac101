/* The server as its parts see it. */
#ifndef CRD_VIEW_VIEW_H
#define CRD_VIEW_VIEW_H

#include <pthread.h>

#include "view/http/events.h"
#include "view/http/guard.h"
#include "view/http/response.h"
#include "view/http/server.h"
#include "view/http/sockets.h"
#include "view/jobs/jobs.h"
#include "view/labels/exporter.h"
#include "view/labels/painter.h"
#include "view/looker.h"
#include "view/loop/loop.h"
#include "view/loop/scout.h"
#include "view/project.h"
#include "view/runs.h"
#include "view/tiles/cache_folder.h"
#include "view/tiles/histogram.h"
#include "view/tiles/layers.h"
#include "view/tiles/tile.h"
#include "view/watch.h"

enum { CRD_VIEW_WAITING = 256, CRD_VIEW_WORKERS = 64 };

/* A request that waits for a worker. */
typedef struct crd_waiting {
    crd_exchange *exchange;
    crd_request request;
} crd_waiting;

struct crd_view {
    crd_layers layers;
    crd_guard guard;
    crd_sockets sockets;
    const char *socket_path; /* borrowed; NULL: a port */
    char address[256], title[1200], tunnel[512];
    crd_tile_cache *tiles;
    crd_cache_folder *cache;
    crd_events *events;
    const crd_http *http;
    crd_http_server *server;

    crd_project *project;
    crd_labels *labels;
    crd_seed_source seed;
    crd_painter *painter;
    crd_exporter *exporter;
    int label_layer;                 /* number of the layer that shows them; */
    atomic_llong label_base;         /* its revision is this and that of the labels; */
    int64_t label_told;              /* and this the one that was told last */
    crd_looker *_Atomic looker;      /* never NULL */
    crd_looker *_Atomic next_looker; /* of a run that has just come, until the builder takes it */
    crd_looker *surveyed;            /* the builder's */
    int first_layers;                /* those that were there at the start */
    size_t layer_cache;              /* bytes of the cache of decoded blocks that are a layer's */
    crd_runs *runs;
    crd_loop *loop;
    crd_scout *scout;
    crd_jobs *jobs;
    crd_watch watch;    /* of the scan's file */
    char *model, *mask; /* for jobs; NULL: none was given */
    bool run_given;
    char job_words[200]; /* of crd_view_job */
    crd_greys *sampled;  /* of the first layer; */
    bool sampled_all;    /* it is so small that these are all its voxels */
    double window[2];    /* grey values for black and white, from the sample */

    pthread_mutex_t lock; /* of the ring */
    pthread_cond_t arrived;
    crd_waiting *ring;
    int64_t head, tail; /* of requests taken, and come */
    bool stopping;
    pthread_t workers[CRD_VIEW_WORKERS], builder, follower;
    int worker_count;
    bool builder_runs, follower_runs;
    atomic_int busy; /* workers that make an answer: the builder lets them go first */
    atomic_bool stop;
};

/* Answers one request with a worker's own reader; needs no socket. */
void crd_view_answer(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response);

/* What of /state is about labels, and about the loop. */
void crd_api_add_labels(crd_text *text, crd_view *view);
void crd_api_add_loop(crd_text *text, crd_view *view);
/* The JSON of a body, for cJSON_Delete; NULL: it is none. */
cJSON *crd_api_body(const crd_request *request);
/* False, and answered, where the viewer only looks. */
bool crd_api_may_write(const crd_view *view, crd_response *response);
/* Classes or boxes have changed. */
void crd_view_tell_classes(crd_view *view);
/* Labels have changed: their layer, and whoever listens. */
void crd_view_tell_labels(crd_view *view);

/* The library's last sentence, to whoever listens. */
void crd_view_complain(crd_view *view);

/* What lies behind the paths (view/routes.c). */
typedef void crd_view_handler(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response);
crd_view_handler crd_api_page, crd_api_state, crd_api_tile, crd_api_voxel, crd_api_box, crd_api_histogram,
    crd_api_events, crd_api_regions, crd_api_look, crd_api_thumbnail, crd_api_label, crd_api_export, crd_api_undo,
    crd_api_redo, crd_api_history, crd_api_classes, crd_api_boxes, crd_api_add_box, crd_api_remove_box, crd_api_loop,
    crd_api_anew, crd_api_proposals, crd_api_plan, crd_api_jobs, crd_api_job, crd_api_job_log, crd_api_job_cancel,
    crd_api_job_resume, crd_api_job_show, crd_api_iterations;

/* The thread that fills the stores (view/tiles/builder.c): they are opened before anybody may look for them. */
crd_status crd_builder_open(crd_view *view, size_t cache_bytes, const crd_monitor *monitor);
crd_status crd_builder_start(crd_view *view);
void crd_builder_stop(crd_view *view);
/* Lets whoever waits for a tile go first; false: the viewer ends. */
bool crd_builder_pause(void *view);

#endif
