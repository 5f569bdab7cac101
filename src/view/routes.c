/* Which path is answered by what. */
#include <string.h>

#include "view/view.h"

typedef struct route {
    crd_method method;
    const char *path; /* a word, or * for any one word */
    crd_view_handler *handler;
} route;

static const route routes[] = {
    {CRD_GET, "", crd_api_page},
    {CRD_GET, "web/*", crd_api_page},
    {CRD_GET, "web/*/*", crd_api_page},
    {CRD_GET, "api/1/state", crd_api_state},
    {CRD_GET, "api/1/tile/*/*/*/*/*/*/*", crd_api_tile},
    {CRD_GET, "api/1/voxel", crd_api_voxel},
    {CRD_GET, "api/1/box/*", crd_api_box},
    {CRD_GET, "api/1/histogram/*", crd_api_histogram},
    {CRD_GET, "api/1/regions", crd_api_regions},
    {CRD_PUT, "api/1/regions/*", crd_api_look},
    {CRD_GET, "api/1/thumbnail/*", crd_api_thumbnail},
    {CRD_POST, "api/1/labels", crd_api_label},
    {CRD_POST, "api/1/labels/undo", crd_api_undo},
    {CRD_POST, "api/1/labels/redo", crd_api_redo},
    {CRD_POST, "api/1/labels/export", crd_api_export},
    {CRD_GET, "api/1/labels/history", crd_api_history},
    {CRD_PUT, "api/1/classes", crd_api_classes},
    {CRD_GET, "api/1/boxes", crd_api_boxes},
    {CRD_POST, "api/1/boxes", crd_api_add_box},
    {CRD_DELETE, "api/1/boxes/*", crd_api_remove_box},
    {CRD_PUT, "api/1/loop", crd_api_loop},
    {CRD_POST, "api/1/loop/anew", crd_api_anew},
    {CRD_GET, "api/1/proposals", crd_api_proposals},
    {CRD_GET, "api/1/events", crd_api_events},
    {CRD_GET, "api/1/plan", crd_api_plan},
    {CRD_POST, "api/1/jobs", crd_api_jobs},
    {CRD_GET, "api/1/jobs/*", crd_api_job},
    {CRD_GET, "api/1/jobs/*/log", crd_api_job_log},
    {CRD_POST, "api/1/jobs/*/cancel", crd_api_job_cancel},
    {CRD_POST, "api/1/jobs/*/resume", crd_api_job_resume},
    {CRD_POST, "api/1/jobs/*/show", crd_api_job_show},
    {CRD_GET, "api/1/iterations", crd_api_iterations},
};

static bool fits(const char *path, const crd_request *request)
{
    for (int i = 0; i < request->part_count; i++) {
        const size_t length = strcspn(path, "/");
        const bool any = length == 1 && path[0] == '*';
        if (length == 0 ||
            (!any && (strlen(request->parts[i]) != length || strncmp(request->parts[i], path, length) != 0))) {
            return false;
        }
        path += length + (path[length] == '/');
    }
    return *path == '\0';
}

void crd_view_answer(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const crd_refusal *refusal = crd_guard_check(&view->guard, request);
    bool known = false;
    if (refusal != NULL) {
        crd_response_error(response, refusal->status, refusal->code, "%s", refusal->sentence);
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (!fits(routes[i].path, request)) continue;
        known = true;
        if (routes[i].method != request->method) continue;
        routes[i].handler(view, reader, request, response);
        return;
    }
    if (known) {
        crd_response_error(response, 405, "method", "This path doesn't take that method.");
    } else {
        crd_response_error(response, 404, "not_found", "There is nothing at this path.");
    }
}
