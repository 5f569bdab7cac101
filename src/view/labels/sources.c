/* What operations ask of other layers, and the layer that shows the labels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "view/labels/painter.h"
#include "view/tiles/layers_inside.h"
#include "view/tiles/levels.h"

/* The latest complete layer of that name; -1: none. */
static int find_layer(const crd_layers *layers, const char *id)
{
    for (int i = layers->count - 1; i >= 0; i--) {
        const crd_layer *layer = &layers->items[i];
        if (strcmp(layer->id, id) == 0 && layer->written == NULL && !layer->aside) return i;
    }
    return -1;
}

/* The values of a layer in a box of the scan; NaN where it has none. */
static crd_status read_layer(crd_reader *reader, int number, const crd_box *box, double *values)
{
    crd_status status = CRD_OK;
    const crd_layer *layer = &reader->layers->items[number];
    crd_box part = *box;
    crd_volume *volume = NULL;
    double *read = NULL;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    for (int64_t i = 0; i < count; i++) values[i] = NAN;
    for (int i = 0; i < 3; i++) {
        int64_t first = box->origin[i] - layer->origin[i], end = first + box->size[i];
        if (first < 0) first = 0;
        if (end > layer->info.shape[i]) end = layer->info.shape[i];
        if (end <= first) return CRD_OK;
        part.origin[i] = first;
        part.size[i] = end - first;
    }
    CRD_TRY(crd_alloc(part.size[0] * part.size[1] * part.size[2], sizeof *read, "values", &read));
    /* Of the store only grey values are as they are in the file. */
    if (layer->kind != CRD_LAYER_CLASSES) CRD_TRY(crd_reader_find(reader, number, 0, &part, &volume));
    if (volume == NULL) CRD_TRY(crd_reader_source(reader, number, &volume));
    CRD_TRY(crd_volume_read(volume, &part, CRD_F64, read));
    const int64_t shift[3] = {part.origin[0] + layer->origin[0] - box->origin[0],
                              part.origin[1] + layer->origin[1] - box->origin[1],
                              part.origin[2] + layer->origin[2] - box->origin[2]};
    for (int64_t z = 0; z < part.size[0]; z++) {
        for (int64_t y = 0; y < part.size[1]; y++) {
            memcpy(values + ((z + shift[0]) * box->size[1] + y + shift[1]) * box->size[2] + shift[2],
                   read + (z * part.size[1] + y) * part.size[2], (size_t)part.size[2] * sizeof *read);
        }
    }
done:
    crd_free(&read);
    return status;
}

static crd_status read_grey(void *context, const crd_box *box, double *values)
{
    return read_layer(context, 0, box, values);
}

static crd_status read_classes(void *context, const crd_box *box, uint8_t *classes)
{
    crd_status status = CRD_OK;
    crd_reader *reader = context;
    const int number = find_layer(reader->layers, "segmentation");
    const crd_layer *layer = &reader->layers->items[number];
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    double *values = NULL;
    uint8_t *inside = NULL;
    CRD_TRY(crd_alloc(count, sizeof *values, "classes", &values));
    if (layer->mask != NULL) {
        CRD_TRY(crd_alloc(count, 1, "classes", &inside));
        CRD_TRY(crd_volume_read(layer->mask, box, CRD_U8, inside));
    }
    CRD_TRY(read_layer(reader, number, box, values));
    for (int64_t i = 0; i < count; i++) {
        const int class = isnan(values[i]) ? CRD_NO_CLASS : crd_layer_class(layer, values[i]);
        const bool known = class < layer->class_count && (inside == NULL || inside[i] != 0);
        classes[i] = known ? layer->class_labels[class] : CRD_UNLABELLED;
    }
done:
    crd_free(&values);
    crd_free(&inside);
    return status;
}

static crd_status read_uncertainty(void *context, const crd_box *box, double *values)
{
    crd_reader *reader = context;
    const int number = find_layer(reader->layers, "uncertainty");
    CRD_PASS(read_layer(reader, number, box, values));
    const double scale = reader->layers->items[number].scale;
    for (int64_t i = 0; i < box->size[0] * box->size[1] * box->size[2]; i++) values[i] *= scale;
    return CRD_OK;
}

crd_paint_sources crd_painter_sources(crd_reader *reader)
{
    return (crd_paint_sources){
        .context = reader,
        .grey = read_grey,
        .classes = find_layer(reader->layers, "segmentation") >= 0 ? read_classes : NULL,
        .uncertainty = find_layer(reader->layers, "uncertainty") >= 0 ? read_uncertainty : NULL,
    };
}

/* ---- a label that is there already ---- */

/* A sample may miss a rare value: small whole numbers are the classes that they say where all others are. */
static uint8_t seed_class(const crd_layer *layer, double value, bool plain)
{
    const int class = crd_layer_class(layer, value);
    if (class < CRD_PAINT_CLASSES) return (uint8_t) class;
    return plain && value >= 0.0 && value < CRD_PAINT_CLASSES && value == floor(value) ? (uint8_t)value
                                                                                       : CRD_UNLABELLED;
}

static crd_status read_seed(void *context, const crd_box *box, uint8_t *classes)
{
    crd_status status = CRD_OK;
    const crd_seed_source *source = context;
    const crd_layer *layer = source->layer;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    double *values = NULL;
    bool plain = true;
    for (int k = 0; k < layer->class_count; k++) plain = plain && layer->class_values[k] == (double)k;
    CRD_TRY(crd_alloc(count, sizeof *values, "a label", &values));
    CRD_TRY(crd_volume_read(source->volume, box, CRD_F64, values));
    for (int64_t i = 0; i < count; i++) classes[i] = seed_class(layer, values[i], plain);
done:
    crd_free(&values);
    return status;
}

crd_status crd_labels_seed_from(crd_labels *labels, const crd_layers *layers, crd_seed_source *out)
{
    const int number = find_layer(layers, "label");
    if (number < 0 || layers->items[0].kind != CRD_LAYER_SCAN) return CRD_OK;
    const crd_layer *layer = &layers->items[number];
    if (memcmp(layer->info.shape, layers->items[0].info.shape, sizeof layer->info.shape) != 0) return CRD_OK;
    CRD_PASS(crd_volume_open_again(layer->source, &out->volume));
    out->layer = layer;
    out->seed = (crd_label_seed){.read = read_seed,
                                 .context = out,
                                 .file = crd_volume_path(layer->source),
                                 .values = layer->class_values,
                                 .count = layer->class_count};
    crd_labels_seed(labels, &out->seed);
    return CRD_OK;
}

/* ---- the layer ---- */

static crd_status read_labels(void *context, const crd_box *box, void *voxels)
{
    return crd_labels_read(context, box, voxels);
}

crd_status crd_labels_show(crd_labels *labels, crd_layers *layers, int *number)
{
    const crd_volume_source source = {.size = sizeof source, .read = read_labels, .context = labels};
    crd_layer *layer = crd_layer_begin(layers, "labels", "labels", CRD_LAYER_CLASSES);
    if (layer == NULL) return crd_fail(CRD_ERR_ARGUMENT, "there are too many volumes to paint over them");
    crd_volume_info info = layers->items[0].info;
    info.type = CRD_U8;
    info.scale = 1.0;
    CRD_PASS(crd_volume_from_callback(&source, &info, NULL, &layer->source));
    layer->info = *crd_volume_describe(layer->source);
    layer->levels = crd_levels_plan(layer->info.shape, layer->shapes);
    layer->painted = true;
    layer->class_count = CRD_PAINT_CLASSES;
    for (int k = 0; k < CRD_PAINT_CLASSES; k++) {
        layer->class_values[k] = k;
        snprintf(layer->class_names[k], sizeof layer->class_names[k], "class %d", k);
    }
    *number = layers->made - 1;
    atomic_store(&layers->count, layers->made);
    return CRD_OK;
}
