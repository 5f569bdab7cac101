#include "view/tiles/layers.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "credence/number.h"
#include "run/read.h"
#include "view/tiles/label_values.h"
#include "view/tiles/layers_inside.h"
#include "view/tiles/levels.h"
#include "view/tiles/preview.h"
#include "view/tiles/written_slices.h"
#include "volume/types.h"
#include "volume/zarr/zarr.h"

crd_layer *crd_layer_begin(crd_layers *layers, const char *id, const char *name, crd_layer_kind kind)
{
    if (layers->made == CRD_VIEW_LAYERS) return NULL;
    crd_layer *layer = &layers->items[layers->made++];
    layer->kind = kind;
    layer->scale = 1.0;
    atomic_store(&layer->revision, 1);
    snprintf(layer->id, sizeof layer->id, "%s", id);
    snprintf(layer->name, sizeof layer->name, "%s", name);
    return layer;
}

enum { PAGE_BYTES = 4096, TILE_BYTES = 32 << 20 };

int crd_layer_fastest(const crd_layer *layer)
{
    return layer->source->z_fastest ? 0 : 2;
}

/* Bytes that the disk reads for a tile across the rows of a plain file: a page of each row, or all of it. */
static int64_t bytes_across(const crd_layer *layer)
{
    const int64_t *shape = layer->info.shape;
    const int fastest = crd_layer_fastest(layer);
    const int64_t row = shape[fastest] * (int64_t)crd_type_size(layer->info.type);
    int64_t bytes = row < PAGE_BYTES ? row : PAGE_BYTES;
    for (int i = 0; i < 3; i++) {
        if (i != fastest) bytes *= shape[i] < CRD_TILE_EDGE ? shape[i] : CRD_TILE_EDGE;
    }
    return bytes;
}

/* Does a plane across y or x touch all of the file? So it is with slices that are packed, and with files that the
 * machine can't keep in its memory. Of what is packed, reading a voxel leaves decoded data behind; files in blocks may
 * do that, too. */
static crd_status find_slow_across(crd_layer *layer)
{
    const crd_volume_info *info = &layer->info;
    const crd_box first = {.size = {1, 1, 1}};
    const int64_t bytes = info->shape[0] * info->shape[1] * info->shape[2] * (int64_t)crd_type_size(info->type);
    double value;
    if (layer->levels == 1 || layer->source->layer > 1) return CRD_OK;
    CRD_PASS(crd_volume_read(layer->source, &first, CRD_F64, &value));
    const bool packed = layer->source->cache != NULL && crd_block_cache_bytes(layer->source->cache) > 0;
    layer->slow_across = packed || bytes > crd_available_memory() / 2;
    layer->in_blocks = layer->slow_across || bytes_across(layer) > TILE_BYTES;
    return CRD_OK;
}

/* Levels that the file has itself, as far as they are halves. */
static crd_status open_pyramid(crd_layer *layer)
{
    crd_status status = CRD_OK;
    char name[8], *path = NULL;
    if (crd_zarr_version(layer->info.format) == 0 || layer->kind == CRD_LAYER_CLASSES) return CRD_OK;
    for (int n = 1; n < layer->levels; n++) {
        crd_volume *volume = NULL;
        struct stat about;
        snprintf(name, sizeof name, "%d", n);
        crd_free(&path);
        CRD_TRY(crd_join_path(layer->source->file, name, "", &path));
        if (stat(path, &about) != 0 || crd_volume_open(path, NULL, NULL, &volume) != CRD_OK) break;
        const crd_volume_info *info = crd_volume_describe(volume);
        if (memcmp(info->shape, layer->shapes[n], sizeof info->shape) != 0 || info->type != layer->info.type) {
            crd_volume_close(&volume);
            break;
        }
        layer->pyramid[n] = volume;
    }
done:
    crd_free(&path);
    return status;
}

crd_status crd_layer_fill(const crd_layers *layers, crd_layer *layer, const char *path,
                          const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_volume_options bounded = options != NULL ? *options : (crd_volume_options){0};
    bounded.cache_bytes = layers->cache_bytes;
    CRD_PASS(crd_volume_open(path, &bounded, monitor, &layer->source));
    layer->info = *crd_volume_describe(layer->source);
    layer->levels = crd_levels_plan(layer->info.shape, layer->shapes);
    CRD_PASS(find_slow_across(layer));
    return open_pyramid(layer);
}

crd_status crd_layer_place(const crd_layers *layers, crd_layer *layer, const int64_t origin[3], const char *path)
{
    const crd_layer *first = &layers->items[0];
    if (layer == first) return CRD_OK;
    for (int i = 0; i < 3; i++) {
        layer->origin[i] = origin[i];
        if (origin[i] < 0 || origin[i] + layer->info.shape[i] > first->info.shape[i]) {
            return crd_fail(CRD_ERR_MISMATCH,
                            "%s has %lld x %lld x %lld voxels (z, y, x) and doesn't lie inside %s, which has %lld x "
                            "%lld x %lld",
                            path, (long long)layer->info.shape[0], (long long)layer->info.shape[1],
                            (long long)layer->info.shape[2], first->source->path, (long long)first->info.shape[0],
                            (long long)first->info.shape[1], (long long)first->info.shape[2]);
        }
    }
    return CRD_OK;
}

crd_status crd_layer_place_by_file(const crd_layers *layers, crd_layer *layer, const char *path)
{
    const crd_volume_info *first = &layers->items[0].info;
    const bool whole = memcmp(layer->info.shape, first->shape, sizeof first->shape) == 0;
    int64_t origin[3];
    for (int i = 0; i < 3; i++) origin[i] = whole ? 0 : layer->info.origin[i] - first->origin[i];
    return crd_layer_place(layers, layer, origin, path);
}

/* ---- scan and label ---- */

/* As the commands take it, for whoever starts one on the same scan. */
static void note_reading(crd_layers *layers, const crd_volume_options *options)
{
    memcpy(layers->reading.shape, options->shape, sizeof options->shape);
    layers->reading.offset = options->offset;
    snprintf(layers->reading.type, sizeof layers->reading.type, "%s", options->type != NULL ? options->type : "");
    if (!(options->spacing[0] > 0.0)) return;
    char edges[3][CRD_NUMBER_BYTES];
    for (int i = 0; i < 3; i++) (void)crd_format_real(options->spacing[i], edges[i]);
    snprintf(layers->reading.spacing, sizeof layers->reading.spacing, "%s,%s,%s%s%s", edges[0], edges[1], edges[2],
             options->unit != NULL ? "," : "", options->unit != NULL ? options->unit : "");
}

static crd_status add_scan(crd_layers *layers, const char *path, const crd_volume_options *options,
                           const crd_monitor *monitor)
{
    crd_layer *layer = crd_layer_begin(layers, "scan", "scan", CRD_LAYER_SCAN);
    if (options != NULL) note_reading(layers, options);
    return crd_layer_fill(layers, layer, path, options, monitor);
}

static crd_status add_label(crd_layers *layers, const char *path, const crd_monitor *monitor)
{
    crd_layer *layer = crd_layer_begin(layers, "label", "label", CRD_LAYER_CLASSES);
    if (layer == NULL) return crd_fail(CRD_ERR_ARGUMENT, "there are too many volumes to show the label %s, too", path);
    const crd_volume_options raw = {
        .shape = {layers->items[0].info.shape[0], layers->items[0].info.shape[1], layers->items[0].info.shape[2]},
        .type = "u8"};
    const bool plain = crd_raw_voxel_bytes(path, layers->items[0].info.shape) == 1;
    CRD_PASS(crd_layer_fill(layers, layer, path, plain ? &raw : NULL, monitor));
    CRD_PASS(crd_label_values_find(layer, monitor));
    return crd_layer_place_by_file(layers, layer, path);
}

static bool is_run(const char *path)
{
    struct stat about;
    crd_volume *volume = NULL;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) return false;
    const bool zarr = crd_volume_open(path, NULL, NULL, &volume) == CRD_OK;
    crd_volume_close(&volume);
    return !zarr;
}

static crd_status reading_of(const crd_view_options *options, char unit[16], crd_volume_options *out)
{
    *out = (crd_volume_options){.type = options->type, .offset = options->offset};
    memcpy(out->shape, options->shape, sizeof out->shape);
    if (options->spacing == NULL) return CRD_OK;
    CRD_PASS(crd_spacing_parse(options->spacing, out->spacing, unit));
    if (unit[0] != '\0') out->unit = unit;
    return CRD_OK;
}

/* The scan as the manifest names it, where it still lies there; else the run is looked at alone. */
static crd_status add_scan_of_run(crd_layers *layers, const crd_manifest *run, const char *folder,
                                  const crd_monitor *monitor)
{
    const crd_volume_options reading = crd_manifest_reading(run);
    if (run->scan.path != NULL && add_scan(layers, run->scan.path, &reading, monitor) == CRD_OK) return CRD_OK;
    if (run->scan.path != NULL) {
        crd_warn(monitor, "the scan of the run can't be opened (%s); give it first, and the run by --run %s",
                 crd_last_error()->message, folder);
    }
    const size_t cache_bytes = layers->cache_bytes;
    crd_layers_close(layers);
    layers->cache_bytes = cache_bytes;
    return CRD_OK;
}

crd_status crd_layers_open(const crd_view_options *options, const crd_monitor *monitor, crd_layers *out)
{
    crd_status status = CRD_OK;
    crd_manifest run = {0};
    crd_volume_options reading;
    char unit[16] = "";
    int64_t memory = (int64_t)1 << 30;
    memset(out, 0, sizeof *out);
    if (strcmp(options->max_memory, "auto") != 0) CRD_PASS(crd_parse_bytes(options->max_memory, "max-memory", &memory));
    out->cache_bytes = (size_t)(memory / 16);
    const bool run_alone = options->run == NULL && is_run(options->input);
    const char *folder = run_alone ? options->input : options->run;
    if (run_alone) CRD_TRY(crd_run_read(folder, &run));
    if (run_alone) {
        CRD_TRY(add_scan_of_run(out, &run, folder, monitor));
    } else {
        CRD_TRY(reading_of(options, unit, &reading));
        CRD_TRY(add_scan(out, options->input, &reading, monitor));
    }
    atomic_store(&out->count, out->made);
    if (folder != NULL) CRD_TRY(crd_layers_add_run(out, folder, NULL, false, monitor));
    if (options->label != NULL) CRD_TRY(add_label(out, options->label, monitor));
    atomic_store(&out->count, out->made);
done:
    crd_manifest_free(&run);
    if (status != CRD_OK) crd_layers_close(out);
    return status;
}

void crd_layer_close(crd_layer *layer)
{
    crd_levels *store = atomic_exchange(&layer->store, NULL);
    crd_levels_close(&store);
    crd_preview_free(&layer->preview);
    crd_written_slices_close(&layer->written);
    for (int n = 0; n < CRD_VIEW_LEVELS; n++) crd_volume_close(&layer->pyramid[n]);
    crd_volume_close(&layer->mask);
    crd_volume_close(&layer->source);
    memset(layer, 0, sizeof *layer);
}

void crd_layers_close(crd_layers *layers)
{
    for (int i = 0; i < layers->made; i++) crd_layer_close(&layers->items[i]);
    memset(layers, 0, sizeof *layers);
}

int crd_layer_class(const crd_layer *layer, double value)
{
    for (int k = 0; k < layer->class_count; k++) {
        if (layer->class_values[k] == value) return k;
    }
    return CRD_NO_CLASS;
}

void crd_layer_to_classes(const crd_layer *layer, int64_t count, char *voxels)
{
    double values[256];
    const int64_t size = (int64_t)crd_type_size(layer->info.type);
    for (int64_t done = 0; done < count; done += 256) {
        const int64_t some = count - done < 256 ? count - done : 256;
        crd_to_float(layer->info.type, voxels + done * size, some, CRD_F64, values);
        for (int64_t i = 0; i < some; i++) voxels[done + i] = (char)crd_layer_class(layer, values[i]);
    }
}
