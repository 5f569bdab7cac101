#include "view/looker.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

crd_status crd_looker_open(const crd_layers *layers, const char *run, crd_looker *out)
{
    out->uncertainty = out->segmentation = -1;
    for (int i = 0; i < layers->count; i++) {
        if (strcmp(layers->items[i].id, "uncertainty") == 0) out->uncertainty = i;
        if (strcmp(layers->items[i].id, "segmentation") == 0) out->segmentation = i;
    }
    if (out->uncertainty < 0 || run == NULL) return CRD_OK;
    size_t length = strlen(run);
    while (length > 1 && run[length - 1] == '/') length--;
    const char *name = run;
    for (size_t i = 0; i + 1 < length; i++) {
        if (run[i] == '/') name = run + i + 1;
    }
    snprintf(out->run, sizeof out->run, "%.*s", (int)(length - (size_t)(name - run)), name);
    return crd_alloc(1, sizeof *out->survey, "the survey", &out->survey);
}

void crd_looker_close(crd_looker *looker)
{
    crd_free(&looker->survey);
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
