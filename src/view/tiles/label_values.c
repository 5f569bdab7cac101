#include "view/tiles/label_values.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "view/tiles/histogram.h"

/* A sample may miss a rare value: small numbers are classes all the same. */
static void count_up(crd_layer *layer, const crd_greys *greys, int first)
{
    int largest = 1;
    for (int v = 0; v < CRD_VIEW_CLASSES; v++) {
        if (greys->counts[first + v] > 0 && v > largest) largest = v;
    }
    layer->class_count = largest + 1;
    for (int k = 0; k < layer->class_count; k++) layer->class_values[k] = k;
}

crd_status crd_label_values_find(crd_layer *layer, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_greys *greys = NULL;
    const crd_type type = layer->info.type;
    const bool narrow = type == CRD_U8 || type == CRD_I8 || type == CRD_U16 || type == CRD_I16;
    const int zero = type == CRD_I8 ? 128 : type == CRD_I16 ? 32768 : 0;
    bool small = true, more = false;
    CRD_TRY(crd_alloc(1, sizeof *greys, "the label's values", &greys));
    CRD_TRY(crd_greys_sample(layer->source, greys, NULL));
    if (narrow) {
        int64_t beyond_one = 0;
        for (int v = 0; v < CRD_GREY_BINS; v++) {
            const int value = v - zero;
            if (greys->counts[v] > 0 && (value < 0 || (value >= CRD_VIEW_CLASSES && value != 255))) small = false;
            if (greys->counts[v] > 0 && value > 0 && value < CRD_VIEW_CLASSES) beyond_one++;
        }
        if (small && beyond_one == 0 && zero == 0 && greys->counts[255] > 0) small = false; /* 0 and 255: two classes */
    }
    if (!narrow || small) {
        if (narrow) {
            count_up(layer, greys, zero);
        } else {
            layer->class_count = CRD_VIEW_CLASSES;
            for (int k = 0; k < layer->class_count; k++) layer->class_values[k] = k;
        }
    } else {
        for (int v = 0; v < CRD_GREY_BINS; v++) {
            if (greys->counts[v] == 0) continue;
            more = layer->class_count == CRD_VIEW_CLASSES;
            if (more) break;
            layer->class_values[layer->class_count++] = v - zero;
        }
        if (more) {
            crd_warn(monitor, "the label %s has more than %d values; the first are shown", layer->source->path,
                     CRD_VIEW_CLASSES);
        }
    }
    for (int k = 0; k < layer->class_count; k++) {
        snprintf(layer->class_names[k], sizeof layer->class_names[k], "value %g", layer->class_values[k]);
    }
done:
    crd_free(&greys);
    return status;
}
