/* One thread's way to the voxels of all layers. */
#include "base/memory.h"
#include "view/tiles/layers.h"
#include "view/tiles/levels.h"
#include "view/tiles/written_slices.h"

void crd_reader_close(crd_reader *reader)
{
    for (int i = 0; i < CRD_VIEW_LAYERS; i++) {
        for (int n = 0; n < CRD_VIEW_LEVELS; n++) {
            crd_volume_close(&reader->source[i][n]);
            crd_volume_close(&reader->store[i][n]);
        }
    }
    crd_free(&reader->voxels);
    reader->room = 0;
}

crd_status crd_reader_room(crd_reader *reader, int64_t bytes, void *out)
{
    if (bytes > reader->room) {
        crd_free(&reader->voxels);
        reader->room = 0;
        CRD_PASS(crd_alloc(bytes, 1, "a tile", &reader->voxels));
        reader->room = bytes;
    }
    *(void **)out = reader->voxels;
    return CRD_OK;
}

crd_status crd_reader_source(crd_reader *reader, int layer, crd_volume **out)
{
    if (reader->source[layer][0] == NULL) {
        CRD_PASS(crd_volume_open_again(reader->layers->items[layer].source, &reader->source[layer][0]));
    }
    *out = reader->source[layer][0];
    return CRD_OK;
}

crd_status crd_reader_find(crd_reader *reader, int layer, int level, const crd_box *box, crd_volume **out)
{
    const crd_layer *of = &reader->layers->items[layer];
    *out = NULL;
    if (of->pyramid[level] != NULL) {
        if (reader->source[layer][level] == NULL) {
            CRD_PASS(crd_volume_open_again(of->pyramid[level], &reader->source[layer][level]));
        }
        *out = reader->source[layer][level];
        return CRD_OK;
    }
    /* In a plain file whole rows of a plane are found faster than in blocks, if the store has those. */
    const bool rows = level == 0 && !of->slow_across && box->size[crd_layer_fastest(of)] > 1;
    if (!rows && of->store != NULL && crd_levels_ready(of->store, level, box)) {
        if (reader->store[layer][level] == NULL) {
            CRD_PASS(crd_levels_reopen(of->store, level, &reader->store[layer][level]));
        }
        *out = reader->store[layer][level];
        return CRD_OK;
    }
    if (level == 0 && of->written != NULL &&
        !crd_written_slices_ready(of->written, box->origin[0], box->origin[0] + box->size[0])) {
        return CRD_OK;
    }
    if (level == 0 && !(of->slow_across && of->store != NULL && crd_levels_building(of->store))) {
        return crd_reader_source(reader, layer, out);
    }
    return CRD_OK;
}
