/* The page itself, and its events. */
#include <string.h>

#include "view/http/page.h"
#include "view/view.h"

/* "/" is the page, "/web/paint/raster.js" the file of that name. */
static bool is_asked_for(const crd_page_file *file, const crd_request *request)
{
    const char *rest = file->name;
    if (request->part_count == 0) return strcmp(rest, "index.html") == 0;
    for (int i = 1; i < request->part_count; i++) {
        const size_t length = strcspn(rest, "/");
        if (strlen(request->parts[i]) != length || strncmp(request->parts[i], rest, length) != 0) return false;
        rest += length + (rest[length] == '/');
    }
    return *rest == '\0';
}

void crd_api_page(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    (void)view, (void)reader;
    for (int i = 0; i < crd_page_file_count; i++) {
        const crd_page_file *file = &crd_page_files[i];
        if (!is_asked_for(file, request)) continue;
        *response = (crd_response){.status = 200, .type = file->type, .keep = CRD_KEEP_ASK};
        memcpy(response->etag, file->etag, strlen(file->etag) + 1);
        if (strcmp(request->match, file->etag) == 0) {
            response->status = 304;
            return;
        }
        response->bytes = file->bytes;
        response->count = file->count;
        return;
    }
    crd_response_error(response, 404, "not_found", "The page has no such part.");
}

void crd_api_events(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    int64_t from;
    (void)reader;
    if (!crd_request_int(request->last_event, 0, INT64_MAX, &from)) from = crd_events_last(view->events);
    *response =
        (crd_response){.status = 200, .type = "text/event-stream; charset=utf-8", .stream = true, .from_event = from};
}
