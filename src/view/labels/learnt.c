#include "view/labels/learnt.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/labels/blocks.h"
#include "view/labels/image.h"
#include "view/labels/operation.h"

static void take_values(crd_layer *layer)
{
    bool fit = true;
    for (int k = 0; k < layer->class_count; k++) {
        const double value = layer->class_values[k];
        fit = fit && value >= 0.0 && value < CRD_PAINT_CLASSES && value == (double)(int)value;
    }
    for (int k = 0; k < layer->class_count; k++)
        layer->class_labels[k] = fit ? (uint8_t)layer->class_values[k] : (uint8_t)k;
}

static crd_status meet(const char *image, const char *chunk, uint8_t *voxels, bool met[256])
{
    long long z, y, x;
    int end = 0;
    bool there = false;
    if (sscanf(chunk, "%lld.%lld.%lld%n", &z, &y, &x, &end) != 3 || chunk[end] != '\0') return CRD_OK;
    CRD_PASS(crd_image_read_chunk(image, (const int64_t[3]){z, y, x}, voxels, &there));
    for (int i = 0; there && i < CRD_BLOCK_VOXELS; i++) met[voxels[i]] = true;
    return CRD_OK;
}

crd_status crd_labels_met(const char *image, bool met[256])
{
    crd_status status = CRD_OK;
    char *chunks = NULL;
    uint8_t *voxels = NULL;
    DIR *listing = NULL;
    CRD_TRY(crd_join_path(image, "0", "", &chunks));
    listing = crd_open_folder(chunks); /* NULL: it learnt from a file */
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &voxels));
    for (const struct dirent *entry; listing != NULL && (entry = crd_next_entry(listing, chunks, &status)) != NULL;) {
        CRD_TRY(meet(image, entry->d_name, voxels, met));
    }
done:
    if (listing != NULL) (void)closedir(listing);
    crd_free(&chunks);
    crd_free(&voxels);
    return status;
}

crd_status crd_labels_learnt(const char *folder, crd_layer *layer)
{
    crd_status status = CRD_OK;
    static const char own[] = "iterations/";
    char *image = NULL;
    bool met[256] = {false};
    int count = 0, found[CRD_PAINT_CLASSES];
    take_values(layer);
    if (layer->class_count != 2 || strncmp(layer->run, own, sizeof own - 1) != 0) return CRD_OK;
    CRD_TRY(crd_join_path(folder, "../../../label.zarr", "", &image)); /* of iterations/003/runs/1/run */
    CRD_TRY(crd_labels_met(image, met));
    for (int k = 0; k < CRD_PAINT_CLASSES; k++) {
        if (met[k]) found[count++] = k;
    }
    for (int k = 0; k < 2 && count == 2; k++) layer->class_labels[k] = (uint8_t)found[k];
done:
    crd_free(&image);
    return status;
}
