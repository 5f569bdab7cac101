/* A page in the browser in which a scan and a run are looked at, served by the library itself.
 *
 *     crd_view_options options;
 *     crd_settings_default(&crd_view_settings, &options);
 *     crd_settings_set(&crd_view_settings, &options, "input", "scan.tif");
 *     crd_view *view = NULL;
 *     if (crd_view_start(&options, NULL, &view) != CRD_OK) fail(crd_last_error()->message);
 *     puts(crd_view_address(view));          // for a browser on this machine
 *     crd_view_wait(view, NULL);             // until the monitor's progress callback returns false
 *     crd_view_stop(&view);
 *     crd_settings_clear(&crd_view_settings, &options);
 *
 * The server listens on this machine only unless it is told otherwise, connects to nothing, and asks for a key with
 * everything but the page itself. Volumes are only read. Needs libcredence_http.so, which is built where libmicrohttpd
 * is installed.
 *
 * Threads: a server has threads of its own; start, wait and stop are called by one thread.
 */
#ifndef CREDENCE_VIEW_H
#define CREDENCE_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every option; crd_view_settings describes and fills it. Strings and lists are owned by the struct. */
typedef struct crd_view_options {
    size_t size;        /* of this struct: crd_settings_default fills it in */
    char *input;        /* a scan, or a run folder of `predict` */
    char *run;          /* a run folder, where the input is its scan; or NULL */
    char *label;        /* a label of the scan; or NULL */
    char *project;      /* folder of the user's own work; NULL: NAME.view in the current folder */
    bool read_only;     /* nothing is kept there */
    int64_t port;       /* the first one that is tried */
    bool port_given;    /* only that one */
    char *socket;       /* path of a Unix socket in place of a port; or NULL */
    char *listen;       /* an address that isn't the loopback's; or NULL */
    crd_text_list host; /* further names that the server answers to */
    char *cache;        /* folder for coarser levels, "auto" or "none" */
    char *cache_size;   /* "20G", or "auto" */
    char *max_memory;   /* "1G" */
    int64_t threads;
    bool no_browser;  /* for the program: crd_view_start opens none */
    int64_t shape[3]; /* of raw data, as in credence/volume.h */
    char *type;
    int64_t offset;
    char *spacing;
    char *model; /* to predict with; or NULL */
    char *mask;  /* of trainings and predictions: a file, "cylinder", or NULL */
} crd_view_options;

CRD_API extern const crd_settings crd_view_settings;

typedef struct crd_view crd_view;

/* Opens the volumes and begins to serve. `monitor` may be NULL. */
CRD_API crd_status crd_view_start(const crd_view_options *options, const crd_monitor *monitor, crd_view **out);
/* "http://127.0.0.1:8471/#key=..."; with a Unix socket, the address behind a tunnel to it. Borrowed. */
CRD_API const char *crd_view_address(const crd_view *view);
/* What there is to see, in a line: "scan.tif: 1000 x 1000 x 1000 voxels (z, y, x), u16". Borrowed. */
CRD_API const char *crd_view_title(const crd_view *view);
/* How to see the page from another machine: a command for a terminal there. Borrowed. */
CRD_API const char *crd_view_tunnel(const crd_view *view);
/* Opens the address in the browser of this machine's desktop, where there is one (*opened). The key isn't seen by other
 * users of the machine on the way. */
CRD_API crd_status crd_view_browse(const crd_view *view, bool *opened);
/* Until the monitor cancels, which is CRD_OK here; a NULL monitor never does. */
CRD_API crd_status crd_view_wait(crd_view *view, const crd_monitor *monitor);
/* A training or prediction that was started from the page and runs; it outlives the server. A sentence says
 * what it is and how to see it again. Borrowed until the next call; NULL: there is none. */
CRD_API const char *crd_view_job(crd_view *view);
/* Asks it to end in good order, and waits for that, 30 s at most. */
CRD_API crd_status crd_view_end_job(crd_view *view);
/* Ends the server and frees it. NULL is fine. */
CRD_API void crd_view_stop(crd_view **view);

#ifdef __cplusplus
}
#endif
#endif
