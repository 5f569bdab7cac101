/* The layers of a run: one that is complete, and one that is still being computed. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "chunk/mask.h"
#include "run/paths.h"
#include "run/read.h"
#include "view/labels/learnt.h"
#include "view/tiles/histogram.h"
#include "view/tiles/layers_inside.h"
#include "view/tiles/written_slices.h"
#include "volume/zarr/zarr.h"

static void name_classes(crd_layer *layer, const crd_manifest *run)
{
    const bool known = run != NULL && run->class_count > 1 && run->class_count <= CRD_VIEW_CLASSES;
    layer->class_count = known ? (int)run->class_count : 2;
    for (int k = 0; k < layer->class_count; k++) {
        const char *name = known ? run->classes[k].name : k == 0 ? "background" : "foreground";
        layer->class_values[k] = known && isfinite(run->classes[k].value) ? run->classes[k].value : k;
        if (name != NULL && name[0] != '\0') {
            snprintf(layer->class_names[k], sizeof layer->class_names[k], "%s", name);
        } else {
            snprintf(layer->class_names[k], sizeof layer->class_names[k], "class %d", k);
        }
    }
}

/* Of a volume that grows, what is there of it is sampled in the middle of its first slices. */
static crd_status sample_first(const crd_layer *layer, crd_greys *greys)
{
    enum { MOST = 512 };
    crd_status status = CRD_OK;
    void *voxels = NULL;
    const int64_t *shape = layer->info.shape;
    int64_t begin = 0, end = 0;
    greys->type = layer->info.type;
    if (!crd_written_slices_next(layer->written, shape[0], &begin, &end)) return CRD_OK;
    crd_box box = {.origin = {(begin + end) / 2, 0, 0}, .size = {1, 1, 1}};
    for (int i = 1; i < 3; i++) {
        box.size[i] = shape[i] < MOST ? shape[i] : MOST;
        box.origin[i] = (shape[i] - box.size[i]) / 2;
    }
    CRD_TRY(crd_alloc(box.size[1] * box.size[2], crd_type_size(greys->type), "values of a map", &voxels));
    CRD_TRY(crd_volume_read(layer->source, &box, greys->type, voxels));
    crd_greys_add(greys, voxels, box.size[1] * box.size[2]);
done:
    crd_free(&voxels);
    return status;
}

/* Of uncertainty that is nowhere near 1, 99.9 % lie below the highest colour: else little would be seen of it. */
crd_status crd_layer_find_high(crd_layer *layer)
{
    crd_status status = CRD_OK;
    crd_greys *greys = NULL;
    if (!layer->spread) return CRD_OK;
    CRD_TRY(crd_alloc(1, sizeof *greys, "values of a map", &greys));
    CRD_TRY(layer->written != NULL ? sample_first(layer, greys) : crd_greys_sample(layer->source, greys, NULL));
    const double high = crd_greys_percentile(greys, 0.999) * layer->scale;
    if (high > 0.0 && high < 1.0) atomic_store(&layer->high, ceil(100.0 * high) / 100.0);
done:
    crd_free(&greys);
    return status;
}

/* What all layers of a run share. */
typedef struct adding {
    crd_layers *layers;
    const crd_manifest *run;
    const char *folder, *name;
    bool grows, aside;
    const crd_monitor *monitor;
} adding;

/* A mask that has moved away since, or is of another shape, isn't the end of looking. */
static crd_status open_mask(const adding *a, crd_layer *layer)
{
    const char *mask = a->layers->items[0].kind == CRD_LAYER_SCAN ? crd_manifest_mask(a->run) : NULL;
    if (mask == NULL || crd_mask_open(mask, a->layers->items[0].info.shape, &layer->mask) == CRD_OK) return CRD_OK;
    crd_warn(a->monitor, "the run's mask can't be read (%s): outside of it the segmentation can be accepted, too",
             crd_last_error()->message);
    return CRD_OK;
}

static crd_status add_output(const adding *a, const crd_output *output, const char *id, const char *name)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    int64_t origin[3];
    if (output == NULL) return CRD_OK;
    const crd_layer_kind kind = output->role == CRD_OUTPUT_SEGMENTATION ? CRD_LAYER_CLASSES : CRD_LAYER_MAP;
    crd_layer *layer = crd_layer_begin(a->layers, id, name, kind);
    if (layer == NULL) return CRD_OK; /* of dozens of intervals the first are shown */
    CRD_TRY(crd_join_path(a->folder, output->file, "", &path));
    CRD_TRY(crd_layer_fill(a->layers, layer, path, NULL, a->grows ? NULL : a->monitor));
    snprintf(layer->run, sizeof layer->run, "%s", a->name);
    layer->aside = a->aside;
    if (a->grows) CRD_TRY(crd_written_slices_open(layer->source, &layer->written));
    const crd_volume_info *info = &layer->info;
    const bool narrow = info->type == CRD_U8 || info->type == CRD_U16;
    layer->scale = narrow && info->scale == 1.0 ? (info->type == CRD_U8 ? 1.0 / 255.0 : 1.0 / 65535.0) : info->scale;
    atomic_store(&layer->high, 1.0);
    layer->spread = output->role == CRD_OUTPUT_UNCERTAINTY;
    if (kind == CRD_LAYER_CLASSES) {
        name_classes(layer, a->run);
        CRD_TRY(crd_labels_learnt(a->folder, layer));
        CRD_TRY(open_mask(a, layer));
    }
    CRD_TRY(crd_layer_find_high(layer));
    CRD_TRY(a->layers->items[0].kind == CRD_LAYER_SCAN && crd_manifest_place(a->run, origin)
                ? crd_layer_place(a->layers, layer, origin, path)
                : crd_layer_place_by_file(a->layers, layer, path));
done:
    crd_free(&path);
    return status;
}

static crd_status add_outputs(const adding *a)
{
    static const struct {
        crd_output_role role;
        const char *id;
    } single[] = {{CRD_OUTPUT_PROBABILITY, "probability"}, {CRD_OUTPUT_SEGMENTATION, "segmentation"}};
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) {
        CRD_PASS(add_output(a, crd_manifest_output(a->run, single[i].role, 0), single[i].id, single[i].id));
    }
    for (int64_t i = 0;; i++) {
        const crd_output *map = crd_manifest_output(a->run, CRD_OUTPUT_UNCERTAINTY, i);
        char interval[CRD_INTERVAL_BYTES], id[48] = "uncertainty", name[48] = "uncertainty";
        if (map == NULL || a->layers->made == CRD_VIEW_LAYERS) return CRD_OK;
        if (i > 0) {
            crd_interval_text(map->percents, interval);
            snprintf(id, sizeof id, "uncertainty-%.32s", interval);
            snprintf(name, sizeof name, "uncertainty %.32s %%", interval);
        }
        CRD_PASS(add_output(a, map, id, name));
    }
}

crd_run_stage crd_run_look(const char *folder)
{
    crd_manifest run = {0};
    char *path = NULL;
    crd_run_stage stage = CRD_RUN_NOTHING;
    if (!crd_run_interrupted(folder)) {
        const bool there = crd_run_path(folder, CRD_RUN_MANIFEST, &path) == CRD_OK && access(path, F_OK) == 0;
        crd_free(&path);
        return there ? CRD_RUN_COMPLETE : CRD_RUN_NOTHING;
    }
    if (crd_run_path(folder, CRD_RUN_LIST, &path) == CRD_OK && access(path, F_OK) == 0 &&
        crd_manifest_read(path, &run) == CRD_OK && run.output_count > 0) {
        stage = CRD_RUN_GROWS;
    }
    for (int64_t i = 0; i < run.output_count && stage == CRD_RUN_GROWS; i++) {
        crd_volume *volume = NULL;
        crd_free(&path);
        if (crd_join_path(folder, run.outputs[i].file, "", &path) != CRD_OK ||
            crd_volume_open(path, NULL, NULL, &volume) != CRD_OK ||
            crd_zarr_version(crd_volume_describe(volume)->format) == 0) {
            stage = CRD_RUN_NOTHING;
        }
        crd_volume_close(&volume);
    }
    crd_manifest_free(&run);
    crd_free(&path);
    return stage;
}

/* The volumes of a run that grows; what else is to be known of it comes with its end. */
static crd_status read_list(const char *folder, crd_manifest *out)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_run_path(folder, CRD_RUN_LIST, &path));
    CRD_TRY(crd_manifest_read(path, out));
done:
    crd_free(&path);
    return status;
}

static const char *last_word(const char *folder, char word[256])
{
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') end--;
    size_t first = end;
    while (first > 0 && folder[first - 1] != '/') first--;
    snprintf(word, 256, "%.*s", (int)(end - first), folder + first);
    return word;
}

crd_status crd_layers_add_run(crd_layers *layers, const char *folder, const char *name, bool aside,
                              const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_manifest run = {0};
    char word[256];
    const int before = layers->made;
    const bool grows = crd_run_look(folder) == CRD_RUN_GROWS;
    CRD_TRY(grows ? read_list(folder, &run) : crd_run_read(folder, &run));
    const adding a = {.layers = layers,
                      .run = &run,
                      .folder = folder,
                      .name = name != NULL ? name : last_word(folder, word),
                      .grows = grows,
                      .aside = aside,
                      .monitor = monitor};
    if (before == CRD_VIEW_LAYERS) {
        CRD_FAIL(CRD_ERR_UNSUPPORTED, "there are too many runs to show %s, too; start the viewer anew", a.name);
    }
    CRD_TRY(add_outputs(&a));
    atomic_store(&layers->count, layers->made);
done:
    while (status != CRD_OK && layers->made > before) crd_layer_close(&layers->items[--layers->made]);
    crd_manifest_free(&run);
    return status;
}
