#include "view/runs.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/tiles/written_slices.h"
#include "view/view.h"

enum { FOLLOWED = 64 }; /* parts of a run are many, for a moment */

typedef struct followed {
    char *folder; /* NULL: a free place */
    char name[256];
    bool shown; /* its layers grow */
    bool aside; /* it is only to be looked at */
    bool part;  /* there are others of that name */
} followed;

struct crd_runs {
    pthread_mutex_t lock;
    followed items[FOLLOWED];
};

crd_status crd_runs_open(crd_runs **out)
{
    crd_runs *runs = NULL;
    CRD_PASS(crd_alloc(1, sizeof *runs, "the runs", &runs));
    if (pthread_mutex_init(&runs->lock, NULL) != 0) {
        crd_free(&runs);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    *out = runs;
    return CRD_OK;
}

void crd_runs_close(crd_runs **runs)
{
    if (*runs == NULL) return;
    for (int i = 0; i < FOLLOWED; i++) crd_free(&(*runs)->items[i].folder);
    pthread_mutex_destroy(&(*runs)->lock);
    crd_free(runs);
}

static followed *find(crd_runs *runs, const char *name)
{
    for (int i = 0; i < FOLLOWED; i++) {
        if (runs->items[i].folder != NULL && !runs->items[i].part && strcmp(runs->items[i].name, name) == 0)
            return &runs->items[i];
    }
    return NULL;
}

static void tell_layers(crd_view *view)
{
    crd_events_add(view->events, "layers", "{}");
    view->http->wake(view->server);
}

static crd_status follow(crd_view *view, const char *folder, const char *name, bool shown, bool aside, bool part)
{
    crd_status status = CRD_OK;
    char *copy = NULL;
    CRD_PASS(crd_strdup(folder, &copy));
    pthread_mutex_lock(&view->runs->lock);
    followed *item = part ? NULL : find(view->runs, name);
    for (int i = 0; i < FOLLOWED && item == NULL; i++) {
        if (view->runs->items[i].folder == NULL) item = &view->runs->items[i];
    }
    if (item != NULL) {
        crd_free(&item->folder);
        item->folder = copy;
        item->shown = shown;
        item->aside = aside;
        item->part = part;
        snprintf(item->name, sizeof item->name, "%s", name);
    } else {
        crd_free(&copy);
        status = crd_fail(CRD_ERR_BUSY, "too many runs are computed at once to be followed");
    }
    pthread_mutex_unlock(&view->runs->lock);
    return status;
}

crd_status crd_runs_follow(crd_view *view, const char *folder, const char *name)
{
    return follow(view, folder, name, false, false, false);
}

crd_status crd_runs_show(crd_view *view, const char *folder, const char *name)
{
    pthread_mutex_lock(&view->runs->lock);
    bool known = find(view->runs, name) != NULL;
    pthread_mutex_unlock(&view->runs->lock);
    for (int i = 0, count = view->layers.count; i < count; i++) known |= strcmp(view->layers.items[i].run, name) == 0;
    if (known) {
        tell_layers(view);
        return CRD_OK;
    }
    if (crd_run_look(folder) != CRD_RUN_COMPLETE) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s isn't complete; there is nothing to show of it", name);
    }
    return follow(view, folder, name, false, true, false);
}

crd_status crd_runs_show_part(crd_view *view, const char *folder, const char *name)
{
    bool known = false;
    pthread_mutex_lock(&view->runs->lock);
    for (int i = 0; i < FOLLOWED; i++) {
        const char *other = view->runs->items[i].folder;
        known |= other != NULL && strcmp(other, folder) == 0;
    }
    pthread_mutex_unlock(&view->runs->lock);
    for (int i = 0, count = view->layers.count; i < count; i++) {
        const char *file = crd_volume_path(view->layers.items[i].source);
        const size_t length = strlen(folder);
        known |= file != NULL && strncmp(file, folder, length) == 0 && file[length] == '/';
    }
    if (!known) return follow(view, folder, name, false, true, true);
    tell_layers(view);
    return CRD_OK;
}

crd_status crd_runs_follow_first(crd_view *view, const char *folder)
{
    for (int i = 0; i < view->layers.count; i++) {
        if (view->layers.items[i].written != NULL)
            return follow(view, folder, view->layers.items[i].run, true, false, false);
    }
    return CRD_OK;
}

void crd_runs_forget(crd_view *view, const char *name)
{
    pthread_mutex_lock(&view->runs->lock);
    followed *item = find(view->runs, name);
    if (item != NULL) crd_free(&item->folder);
    pthread_mutex_unlock(&view->runs->lock);
}

static void tell_layer(crd_view *view, int number)
{
    const crd_layer *layer = &view->layers.items[number];
    crd_text text = {0};
    char *json = NULL;
    crd_text_print(&text, "{\"layer\":%d,\"revision\":%lld,\"there\":1,\"high\":", number,
                   (long long)atomic_load(&layer->revision));
    crd_text_real(&text, atomic_load(&layer->high));
    crd_written_slices_describe(layer->written, layer->info.shape[0], &text);
    crd_text_add(&text, "}");
    if (crd_text_finish(&text, &json) == CRD_OK) crd_events_add(view->events, "layer", json);
    crd_free(&json);
    view->http->wake(view->server);
}

/* What has been finished since the last look. */
static void look_at_layers(crd_view *view, const char *name)
{
    for (int i = 0; i < view->layers.count; i++) {
        crd_layer *layer = &view->layers.items[i];
        if (layer->written == NULL || strcmp(layer->run, name) != 0) continue;
        const bool none = crd_written_slices_share(layer->written) == 0.0;
        if (crd_written_slices_look(layer->written) == 0) continue;
        if (none) (void)crd_layer_find_high(layer); /* else it is seen in paler colours */
        atomic_fetch_add(&layer->revision, 1);
        tell_layer(view, i);
    }
}

/* The layers of a complete run are new ones, which take the place of those that grew. */
static void look_at(crd_view *view, followed *item)
{
    const crd_run_stage stage = crd_run_look(item->folder);
    if (stage != CRD_RUN_COMPLETE && item->shown) {
        look_at_layers(view, item->name);
        return;
    }
    if (stage == CRD_RUN_NOTHING) return;
    if (crd_layers_add_run(&view->layers, item->folder, item->name, item->aside, NULL) != CRD_OK) {
        crd_view_complain(view);
        crd_free(&item->folder);
        return;
    }
    item->shown = true;
    tell_layers(view);
    if (stage != CRD_RUN_COMPLETE) return;
    crd_free(&item->folder);
    if (item->aside) return;
    crd_looker *next = NULL;
    if (crd_looker_open(&view->layers, &next) != CRD_OK) return; /* short of memory: the list is that of the last run */
    next = next->survey != NULL ? atomic_exchange(&view->next_looker, next) : next;
    crd_looker_close(&next);
}

void crd_runs_look(crd_view *view)
{
    for (int i = 0; i < FOLLOWED; i++) {
        pthread_mutex_lock(&view->runs->lock);
        followed *item = &view->runs->items[i];
        if (item->folder != NULL) look_at(view, item);
        pthread_mutex_unlock(&view->runs->lock);
    }
}
