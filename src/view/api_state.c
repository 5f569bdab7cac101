/* What there is to see. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "draw/colour.h"
#include "view/jobs/command.h"
#include "view/tiles/levels.h"
#include "view/tiles/written_slices.h"
#include "view/view.h"

static void add_triple(crd_text *text, const char *name, const int64_t values[3])
{
    crd_text_print(text, ",\"%s\":[%lld,%lld,%lld]", name, (long long)values[0], (long long)values[1],
                   (long long)values[2]);
}

static void add_reals(crd_text *text, const char *name, const double *values, int count)
{
    crd_text_print(text, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        if (i > 0) crd_text_add(text, ",");
        crd_text_real(text, values[i]);
    }
    crd_text_add(text, "]");
}

static void add_layer(crd_text *text, const crd_view *view, int number)
{
    static const char *const kinds[] = {
        [CRD_LAYER_SCAN] = "scan", [CRD_LAYER_MAP] = "map", [CRD_LAYER_CLASSES] = "classes"};
    const crd_layer *layer = &view->layers.items[number];
    crd_text_print(text, "%s{\"number\":%d,\"id\":", number > 0 ? "," : "", number);
    crd_text_json(text, layer->id);
    crd_text_add(text, ",\"name\":");
    crd_text_json(text, layer->name);
    crd_text_print(text, ",\"kind\":\"%s\",\"type\":\"%s\"", kinds[layer->kind], crd_type_name(layer->info.type));
    add_triple(text, "shape", layer->info.shape);
    add_triple(text, "origin", layer->origin);
    crd_text_print(text, ",\"levels\":%d,\"revision\":%lld,\"scale\":", layer->levels,
                   (long long)atomic_load(&layer->revision));
    crd_text_real(text, layer->scale);
    if (layer->kind == CRD_LAYER_MAP) {
        crd_text_add(text, ",\"high\":");
        crd_text_real(text, atomic_load(&layer->high));
    }
    const crd_levels *store = atomic_load(&layer->store);
    crd_text_add(text, ",\"there\":");
    crd_text_real(text, store != NULL ? crd_levels_share(store) : 1.0);
    if (layer->run[0] != '\0') {
        crd_text_add(text, ",\"run\":");
        crd_text_json(text, layer->run);
    }
    if (layer->written != NULL) crd_written_slices_describe(layer->written, layer->info.shape[0], text);
    if (number == 0) add_reals(text, "window", view->window, 2);
    if (layer->kind == CRD_LAYER_CLASSES) {
        crd_text_add(text, ",\"classes\":[");
        for (int k = 0; k < layer->class_count; k++) {
            crd_text_add(text, k > 0 ? ",{\"value\":" : "{\"value\":");
            crd_text_real(text, layer->class_values[k]);
            crd_text_add(text, ",\"name\":");
            crd_text_json(text, layer->class_names[k]);
            crd_text_add(text, "}");
        }
        crd_text_add(text, "]");
    }
    crd_text_add(text, "}");
}

/* The colours of maps, as one word of hexadecimal digits: the page has them from where the report has them. */
static void add_colours(crd_text *text)
{
    uint8_t rgb[CRD_COLOURS][3];
    crd_colour_map(rgb);
    crd_text_add(text, ",\"map\":\"");
    for (int i = 0; i < CRD_COLOURS; i++) crd_text_print(text, "%02x%02x%02x", rgb[i][0], rgb[i][1], rgb[i][2]);
    crd_text_add(text, "\"");
}

/* Where it lies, from whichever folder one looks. */
static void add_project(crd_text *text, const char *folder)
{
    char *path = NULL;
    if (strncmp(folder, "./", 2) == 0) folder += 2;
    crd_text_json(text, crd_absolute_path(folder, &path) == CRD_OK ? path : folder);
    crd_free(&path);
}

void crd_api_state(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_text text = {0};
    const crd_layer *scan = &view->layers.items[0];
    const char *path = crd_volume_path(scan->source), *slash = strrchr(path, '/');
    (void)reader, (void)request;
    crd_text_add(&text, "{\"version\":");
    crd_text_json(&text, crd_version());
    crd_text_add(&text, ",\"scan\":{\"name\":");
    crd_text_json(&text, slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    add_triple(&text, "shape", scan->info.shape);
    add_reals(&text, "spacing", scan->info.spacing, 3);
    crd_text_add(&text, ",\"unit\":");
    crd_text_json(&text, scan->info.unit);
    crd_text_print(&text, ",\"type\":\"%s\"},\"tile\":%d,\"event\":%lld", crd_type_name(scan->info.type), CRD_TILE_EDGE,
                   (long long)crd_events_last(view->events));
    crd_text_print(&text,
                   ",\"regions\":%s,\"project\":", atomic_load(&view->looker)->survey != NULL ? "true" : "false");
    add_project(&text, crd_project_folder(view->project));
    add_colours(&text);
    crd_text_add(&text, ",\"layers\":[");
    for (int i = 0, count = view->layers.count; i < count; i++) add_layer(&text, view, i);
    crd_text_add(&text, "]");
    crd_api_add_labels(&text, view);
    crd_api_add_loop(&text, view);
    crd_text_add(&text, ",\"job\":");
    crd_jobs_describe(view, 0, &text);
    crd_text_print(&text, ",\"trainable\":%s,\"model\":%s}\n", crd_command_trainable(view) ? "true" : "false",
                   view->model != NULL ? "true" : "false");
    crd_response_json(response, 200, &text);
}

void crd_api_histogram(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    static const double shares[] = {0.0, 0.005, 0.5, 0.995, 1.0};
    crd_text text = {0};
    crd_grey_picture picture;
    int64_t number;
    double percentiles[5];
    (void)reader;
    if (!crd_request_int(request->parts[3], 0, view->layers.count - 1, &number) ||
        view->layers.items[number].kind != CRD_LAYER_SCAN) {
        crd_response_error(response, 404, "not_found", "There is no scan of that number.");
        return;
    }
    const crd_levels *store = atomic_load(&view->layers.items[number].store);
    const crd_greys *all = store != NULL ? crd_levels_greys(store) : NULL, *greys = all != NULL ? all : view->sampled;
    crd_greys_show(greys, &picture);
    crd_text_print(&text, "{\"exact\":%s,\"count\":%lld,\"low\":", all != NULL || view->sampled_all ? "true" : "false",
                   (long long)picture.count);
    crd_text_real(&text, picture.low);
    crd_text_add(&text, ",\"high\":");
    crd_text_real(&text, picture.high);
    for (int i = 0; i < 5; i++) percentiles[i] = crd_greys_percentile(greys, shares[i]);
    add_reals(&text, "percentiles", percentiles, 5);
    crd_text_add(&text, ",\"bins\":[");
    for (int i = 0; i < CRD_GREY_SHOWN; i++) {
        crd_text_print(&text, "%s%lld", i > 0 ? "," : "", (long long)picture.bins[i]);
    }
    crd_text_add(&text, "]}\n");
    crd_response_json(response, 200, &text);
}
