#include "view/looker.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

crd_status crd_looker_open(const crd_layers *layers, crd_looker **out)
{
    crd_status status = CRD_OK;
    crd_looker *looker = NULL;
    CRD_TRY(crd_alloc(1, sizeof *looker, "the survey", &looker));
    looker->uncertainty = looker->segmentation = -1;
    for (int i = 0; i < layers->count; i++) {
        const crd_layer *layer = &layers->items[i];
        if (layer->run[0] == '\0' || layer->written != NULL || layer->aside) continue;
        if (strcmp(layer->id, "uncertainty") == 0) looker->uncertainty = i;
        if (strcmp(layer->id, "segmentation") == 0) looker->segmentation = i;
    }
    if (looker->uncertainty >= 0) {
        const crd_layer *map = &layers->items[looker->uncertainty];
        const bool same = looker->segmentation >= 0 && strcmp(layers->items[looker->segmentation].run, map->run) == 0;
        if (!same) looker->segmentation = -1;
        snprintf(looker->run, sizeof looker->run, "%s", map->run);
        CRD_TRY(crd_alloc(1, sizeof *looker->survey, "the survey", &looker->survey));
    }
    *out = looker;
    looker = NULL;
done:
    crd_looker_close(&looker);
    return status;
}

void crd_looker_close(crd_looker **looker)
{
    while (*looker != NULL) {
        crd_looker *before = (*looker)->before;
        crd_free(&(*looker)->survey);
        crd_free(looker);
        *looker = before;
    }
}

const crd_look_region *crd_looker_region(const crd_looker *looker, int64_t number)
{
    const int64_t order = number / 1000, place = number % 1000;
    if (!atomic_load(&looker->ready) || number < 0 || order >= CRD_LOOK_ORDERS) return NULL;
    return place < looker->survey->counts[order] ? &looker->survey->regions[order][place] : NULL;
}

crd_box crd_looker_box(const crd_looker *looker, const crd_layers *layers, const crd_look_region *region)
{
    const int64_t *origin = layers->items[looker->uncertainty].origin;
    crd_box box;
    for (int i = 0; i < 3; i++) {
        box.origin[i] = region->place.low[i] + origin[i];
        box.size[i] = region->place.high[i] - region->place.low[i];
    }
    return box;
}
