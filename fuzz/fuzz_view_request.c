/* Any bytes as a request to the viewer: "METHOD TARGET", then headers, a line each. It is refused, or answered from a
 * small scan without a fault; nothing is answered to who hasn't the key. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "view/view.h"

static crd_view view;
static crd_reader reader = {.layers = &view.layers};

static void must(int good)
{
    if (!good) abort();
}

/* A scan and a label of a few voxels, in more than one level. */
static void open_volumes(void)
{
    static char name[] = "/tmp/credence-fuzz-view-XXXXXX";
    crd_view_options options;
    crd_volume *volume = NULL;
    crd_looker *looker = NULL;
    char path[64];
    static uint8_t voxels[2 * 3 * 300];
    const crd_volume_info info = {.shape = {2, 3, 300}, .type = CRD_U8, .scale = 1.0};
    const crd_box box = {.size = {2, 3, 300}};
    for (size_t i = 0; i < sizeof voxels; i++) voxels[i] = (uint8_t)(i % 7);
    must(pthread_mutex_init(&view.lock, NULL) == 0 && pthread_cond_init(&view.arrived, NULL) == 0);
    must(mkdtemp(name) != NULL);
    snprintf(path, sizeof path, "%s/a.npy", name);
    must(crd_volume_create(path, &info, NULL, &volume) == CRD_OK && crd_volume_write(volume, &box, voxels) == CRD_OK &&
         crd_volume_commit(volume) == CRD_OK);
    crd_volume_close(&volume);
    must(crd_settings_default(&crd_view_settings, &options) == CRD_OK);
    must(crd_settings_set(&crd_view_settings, &options, "input", path) == CRD_OK);
    must(crd_settings_set(&crd_view_settings, &options, "label", path) == CRD_OK);
    must(crd_layers_open(&options, NULL, &view.layers) == CRD_OK);
    crd_settings_clear(&crd_view_settings, &options);
    must(crd_tile_cache_open(1 << 20, &view.tiles) == CRD_OK && crd_events_open(&view.events) == CRD_OK);
    must(crd_alloc(1, sizeof *view.sampled, "greys", &view.sampled) == CRD_OK);
    must(crd_greys_sample(view.layers.items[0].source, view.sampled, NULL) == CRD_OK);
    must(crd_project_open(name, true, &view.project) == CRD_OK);
    must(crd_labels_open(view.project, &view.layers.items[0].info, 1 << 20, NULL, &view.labels) == CRD_OK);
    must(crd_labels_show(view.labels, &view.layers, &view.label_layer) == CRD_OK);
    must(crd_loop_open(view.project, &view.layers.items[0].info, NULL, &view.loop) == CRD_OK);
    must(crd_scout_open(&view.scout) == CRD_OK);
    must(crd_runs_open(&view.runs) == CRD_OK && crd_jobs_open(&view) == CRD_OK);
    must(crd_looker_open(&view.layers, &looker) == CRD_OK);
    atomic_store(&view.looker, looker);
    view.window[1] = 7.0;
    memset(view.guard.key, 'a', CRD_KEY_BYTES - 1);
}

/* The next line, as text of its own; NULL behind the last. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = line != NULL ? strchr(line, '\n') : NULL;
    if (end != NULL) *end = '\0';
    *rest = end != NULL ? end + 1 : NULL;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    crd_wire_header headers[16];
    crd_wire_request wire = {.headers = headers, .body = "{}", .body_bytes = (int64_t)(size % 3)};
    crd_request request, copy;
    crd_response response = {0};
    if (view.layers.count == 0) open_volumes();
    char *text = malloc(size + 1), *rest = text;
    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    char *first = next_line(&rest), *blank = strchr(first, ' ');
    wire.method = first;
    wire.target = blank != NULL ? blank + 1 : "";
    if (blank != NULL) *blank = '\0';
    for (char *line; wire.header_count < 16 && (line = next_line(&rest)) != NULL;) {
        char *colon = strstr(line, ": ");
        if (colon == NULL) continue;
        *colon = '\0';
        headers[wire.header_count++] = (crd_wire_header){.name = line, .value = colon + 2};
    }
    if (crd_request_read(&wire, &request) == 0) {
        crd_request_copy(&request, &copy);
        memset(&request, 0, sizeof request);
        crd_view_answer(&view, &reader, &copy, &response);
        must(response.status >= 200 && response.status < 600);
        const int asked = copy.part_count > 0 && strcmp(copy.parts[0], "api") == 0;
        must(!(asked && response.status < 400) || strcmp(copy.key, view.guard.key) == 0);
        must(response.count == 0 || response.bytes != NULL);
        crd_response_free(&response);
    }
    free(text);
    return 0;
}
