/* The thread that fills the stores, one layer after the other, and lets whoever waits for a tile go first. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/thread.h"
#include "view/tiles/levels.h"
#include "view/tiles/preview.h"
#include "view/view.h"

enum { NICENESS = 10 };

static void sleep_milliseconds(int milliseconds)
{
    const struct timespec time = {.tv_sec = 0, .tv_nsec = milliseconds * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* For a while at most: who pans without end shall see sharp planes some day, too. */
bool crd_builder_pause(void *context)
{
    crd_view *view = context;
    for (int i = 0; i < 50 && atomic_load(&view->busy) > 0 && !atomic_load(&view->stop); i++) sleep_milliseconds(2);
    return !atomic_load(&view->stop);
}

static void tell(crd_view *view, int number, const char *name, double there)
{
    char json[160];
    snprintf(json, sizeof json, "{\"layer\":%d,\"revision\":%lld,\"there\":%.3f}", number,
             (long long)atomic_load(&view->layers.items[number].revision), there);
    crd_events_add(view->events, name, json);
    view->http->wake(view->server);
}

static void build(crd_view *view, int number)
{
    crd_layer *layer = &view->layers.items[number];
    crd_levels *store = atomic_load(&layer->store);
    crd_volume *source = NULL;
    double told = crd_seconds();
    bool more = crd_levels_building(store);
    bool began = more;
    crd_status status = more ? crd_volume_open_again(layer->source, &source) : CRD_OK;
    if (status == CRD_OK && more && layer->preview != NULL) {
        status = crd_preview_fill(layer->preview, layer, source, crd_builder_pause, view);
        if (!atomic_load(&view->stop)) tell(view, number, "cache", crd_levels_share(store));
    }
    while (status == CRD_OK && more && !atomic_load(&view->stop)) {
        status = crd_levels_advance(store, layer, source, crd_builder_pause, view, &more);
        if (crd_seconds() - told >= 0.25 || !more) {
            told = crd_seconds();
            tell(view, number, "cache", crd_levels_share(store));
        }
    }
    if (status != CRD_OK) {
        crd_levels_give_up(store);
        crd_view_complain(view);
    }
    crd_volume_close(&source);
    if (began && !atomic_load(&view->stop)) {
        atomic_fetch_add(&layer->revision, 1); /* coarse tiles are means over slices now */
        tell(view, number, "layer", crd_levels_share(store));
    }
}

static bool pause_in_survey(void *context, double share)
{
    crd_view *view = context;
    atomic_store(&view->surveyed->share, (int)(1000.0 * share));
    return crd_builder_pause(view);
}

static void tell_regions(crd_view *view)
{
    crd_events_add(view->events, "regions", "{\"ready\":true}");
    view->http->wake(view->server);
}

/* Where to look first, once the scan itself is there. */
static void survey(crd_view *view)
{
    crd_looker *looker = view->surveyed;
    const crd_layer *unc = &view->layers.items[looker->uncertainty], *seg = NULL;
    crd_volume *maps[2] = {NULL, NULL};
    bool done = false;
    if (looker->segmentation >= 0) seg = &view->layers.items[looker->segmentation];
    crd_status status = crd_volume_open_again(unc->source, &maps[0]);
    if (status == CRD_OK && seg != NULL) status = crd_volume_open_again(seg->source, &maps[1]);
    if (status == CRD_OK) {
        status = crd_look_survey_make(maps[0], unc->scale, maps[1], pause_in_survey, view, looker->survey, &done);
    }
    crd_volume_close(&maps[0]);
    crd_volume_close(&maps[1]);
    if (status != CRD_OK) {
        crd_view_complain(view);
    } else if (done) {
        atomic_store(&looker->ready, true);
        if (looker == atomic_load(&view->looker)) tell_regions(view);
    }
}

static bool wants_store(const crd_layer *layer)
{
    if (layer->levels == 1 || layer->written != NULL || layer->painted) return false;
    return layer->slow_across || layer->pyramid[layer->levels - 1] == NULL;
}

/* `share` of the cache's bytes is this layer's. */
static crd_status take_store(crd_view *view, crd_layer *layer, size_t share, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    char *folder = NULL;
    crd_levels *store = NULL;
    int64_t bytes = crd_levels_bytes(layer);
    CRD_TRY(crd_cache_folder_take(view->cache, layer, bytes, &folder));
    if (folder == NULL && layer->in_blocks && !layer->slow_across) { /* coarser levels alone, then */
        layer->in_blocks = false;
        bytes = crd_levels_bytes(layer);
        CRD_TRY(crd_cache_folder_take(view->cache, layer, bytes, &folder));
    }
    if (folder == NULL) {
        crd_warn(monitor,
                 "the cache has no room for the %.1f GiB of coarser levels of %s, or another viewer works on them; "
                 "it is looked at without, and slower (--cache-size gives more)",
                 (double)bytes / (double)(1 << 30), layer->source->path);
        goto done;
    }
    if (layer->slow_across) CRD_TRY(crd_preview_open(layer, &layer->preview));
    CRD_TRY(crd_levels_open(layer, folder, share, &store));
    atomic_store(&layer->store, store);
done:
    crd_free(&folder);
    return status;
}

/* Of a layer that came later: without a store it is looked at all the same. */
static void open_store(crd_view *view, int number)
{
    crd_layer *layer = &view->layers.items[number];
    if (view->cache == NULL || layer->slow_across || !wants_store(layer)) return;
    if (take_store(view, layer, view->layer_cache / 4, NULL) != CRD_OK) crd_view_complain(view);
}

static void *body(void *context)
{
    crd_view *view = context;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS); /* of this thread alone, on Linux */
    view->surveyed = atomic_load(&view->looker);
    int built = 0;
    while (!atomic_load(&view->stop)) {
        for (; built < view->layers.count && !atomic_load(&view->stop); built++) {
            if (built >= view->first_layers) open_store(view, built);
            if (view->layers.items[built].store != NULL) build(view, built);
            if (built == 0 && view->surveyed->survey != NULL && !atomic_load(&view->stop)) survey(view);
        }
        crd_looker *next = atomic_exchange(&view->next_looker, NULL);
        if (next != NULL) {
            view->surveyed = next;
            survey(view);
            if (atomic_load(&next->ready)) {
                next->before = atomic_load(&view->looker);
                atomic_store(&view->looker, next);
                tell_regions(view);
            } else {
                crd_looker_close(&next);
            }
        }
        crd_scout_advance(view);
        sleep_milliseconds(100);
    }
    return NULL;
}

crd_status crd_builder_open(crd_view *view, size_t cache_bytes, const crd_monitor *monitor)
{
    view->first_layers = view->layers.count;
    view->layer_cache = cache_bytes / (size_t)view->layers.count;
    for (int i = 0; i < view->first_layers && view->cache != NULL; i++) {
        crd_layer *layer = &view->layers.items[i];
        if (wants_store(layer)) CRD_PASS(take_store(view, layer, view->layer_cache, monitor));
    }
    return CRD_OK;
}

crd_status crd_builder_start(crd_view *view)
{
    const int cause = crd_thread_start(&view->builder, body, view);
    if (cause != 0) return crd_fail(CRD_ERR_SYSTEM, "can't start a thread: %s", strerror(cause));
    view->builder_runs = true;
    return CRD_OK;
}

void crd_builder_stop(crd_view *view)
{
    if (view->builder_runs) (void)pthread_join(view->builder, NULL);
    view->builder_runs = false;
}
