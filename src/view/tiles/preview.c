#include "view/tiles/preview.h"

#include <string.h>

#include "base/memory.h"
#include "view/tiles/halve.h"
#include "volume/types.h"

enum { STEP = 16 };

struct crd_preview {
    crd_type type; /* of what is kept */
    int64_t slices, height, width, top;
    char *voxels;
    atomic_bool ready;
};

crd_status crd_preview_open(const crd_layer *layer, crd_preview **out)
{
    crd_status status = CRD_OK;
    crd_preview *p = NULL;
    int64_t voxels;
    CRD_TRY(crd_alloc(1, sizeof *p, "a preview", &p));
    p->type = layer->kind == CRD_LAYER_CLASSES ? CRD_U8 : layer->info.type;
    p->top = layer->levels - 1;
    p->slices = (layer->info.shape[0] + STEP - 1) / STEP;
    p->height = layer->shapes[p->top][1];
    p->width = layer->shapes[p->top][2];
    CRD_TRY(crd_product(p->slices, p->height, p->width, &voxels));
    CRD_TRY(crd_alloc(voxels, crd_type_size(p->type), "a preview", &p->voxels));
    *out = p;
    p = NULL;
done:
    crd_preview_free(&p);
    return status;
}

void crd_preview_free(crd_preview **preview)
{
    if (*preview != NULL) crd_free(&(*preview)->voxels);
    crd_free(preview);
}

/* One slice, halved in its plane until it is of the coarsest level. `from` and `to` change roles. */
static void shrink(const crd_preview *p, const crd_layer *layer, char *from, char *to, char *out)
{
    int64_t size[3] = {1, layer->info.shape[1], layer->info.shape[2]};
    const size_t voxel = crd_type_size(p->type);
    for (int64_t n = 0; n < p->top; n++) {
        if (layer->kind == CRD_LAYER_CLASSES) {
            crd_halve_classes((const uint8_t *)from, size, (uint8_t *)to);
        } else {
            crd_halve_values(p->type, from, size, to);
        }
        size[1] = (size[1] + 1) / 2;
        size[2] = (size[2] + 1) / 2;
        char *other = from;
        from = to;
        to = other;
    }
    memcpy(out, from, (size_t)(p->height * p->width) * voxel);
}

crd_status crd_preview_fill(crd_preview *p, const crd_layer *layer, crd_volume *source, bool (*pause)(void *context),
                            void *context)
{
    crd_status status = CRD_OK;
    const int64_t *shape = layer->info.shape, count = shape[1] * shape[2];
    char *from = NULL, *to = NULL;
    CRD_TRY(crd_alloc(count, crd_type_size(layer->info.type), "a slice", &from));
    CRD_TRY(crd_alloc(count, crd_type_size(layer->info.type), "a slice", &to));
    for (int64_t i = 0; i < p->slices; i++) {
        const int64_t middle = i * STEP + STEP / 2;
        const crd_box box = {.origin = {middle < shape[0] ? middle : shape[0] - 1, 0, 0},
                             .size = {1, shape[1], shape[2]}};
        if (!pause(context)) goto done;
        CRD_TRY(crd_volume_read(source, &box, layer->info.type, from));
        if (layer->kind == CRD_LAYER_CLASSES) crd_layer_to_classes(layer, count, from);
        shrink(p, layer, from, to, p->voxels + (size_t)(i * p->height * p->width) * crd_type_size(p->type));
    }
    atomic_store(&p->ready, true);
done:
    crd_free(&from);
    crd_free(&to);
    return status;
}

bool crd_preview_ready(const crd_preview *preview)
{
    return atomic_load(&preview->ready);
}

void crd_preview_row(const crd_preview *p, int64_t z, int64_t y, float *values)
{
    int64_t slice = (z << p->top) / STEP;
    if (slice >= p->slices) slice = p->slices - 1;
    crd_to_float(p->type, p->voxels + (size_t)((slice * p->height + y) * p->width) * crd_type_size(p->type), p->width,
                 CRD_F32, values);
}
