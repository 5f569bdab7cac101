#include "phantom/image.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

crd_status crd_image_look_ahead(const char *path, int64_t shape[3], double spacing[3], char unit[16])
{
    crd_volume *volume = NULL;
    CRD_PASS(crd_volume_open(path, NULL, NULL, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    memcpy(shape, info->shape, sizeof info->shape);
    memcpy(spacing, info->spacing, sizeof info->spacing);
    snprintf(unit, 16, "%s", info->unit);
    crd_volume_close(&volume);
    return CRD_OK;
}

static crd_status take_phases(const crd_phantom_options *o, crd_image *image)
{
    const crd_label_classes *found = crd_label_meaning(image->label);
    int64_t counts[CRD_CLASSES_MAX];
    crd_label_class_counts(image->label, counts);
    image->phases = found->count;
    if (counts[0] == 0 || counts[1] == 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "the truth %s holds one value only; a phantom has two phases and more",
                        o->truth);
    }
    if (o->greys.count > 0 && o->greys.count != image->phases) {
        return crd_fail(CRD_ERR_ARGUMENT, "greys has %lld values and %s has %lld phases; give one for each",
                        (long long)o->greys.count, o->truth, (long long)image->phases);
    }
    for (int64_t k = 0; k < image->phases; k++) {
        const double value = found->values[k], place = (double)k / (double)(image->phases - 1) - 0.5;
        if (!(value >= 0.0 && value <= 255.0) || value != floor(value)) {
            return crd_fail(CRD_ERR_ARGUMENT, "the truth %s holds the value %g; phases are whole numbers from 0 to 255",
                            o->truth, value);
        }
        image->values[k] = value;
        image->greys[k] = (float)(o->greys.count > 0 ? o->greys.items[k] : o->brightness + place * o->contrast);
    }
    return CRD_OK;
}

crd_status crd_image_open(const crd_phantom_options *o, int64_t slots, crd_image *image)
{
    static const uint32_t aside[2] = {CRD_LAYER_WAVER, CRD_LAYER_BINDER_WAVER};
    static const uint32_t redrawn[2] = {CRD_LAYER_JITTER, CRD_LAYER_SIDE_JITTER};
    const crd_label_options reading = {.classes_most = CRD_PHANTOM_PHASES};
    int64_t room = 0;
    memcpy(image->shape, o->shape, sizeof image->shape);
    CRD_PASS(crd_label_open(o->truth, o->shape, &reading, NULL, &image->label));
    CRD_PASS(take_phases(o, image));
    CRD_PASS(crd_product(slots, o->shape[1], o->shape[2], &room));
    CRD_PASS(crd_alloc(room, 1, "slices of the truth", &image->slices));
    for (int axis = 0; axis < 2; axis++) {
        const uint64_t seed = (uint64_t)o->seed;
        image->aside[axis] = (crd_field){.seed = seed, .layer = aside[axis], .spacing = {7, 9, 9}};
        image->redrawn[axis] = (crd_field){.seed = seed, .layer = redrawn[axis], .spacing = {0, 6, 6}};
    }
    return CRD_OK;
}

void crd_image_close(crd_image *image)
{
    crd_label_close(&image->label);
    crd_free(&image->slices);
}

void crd_image_order(const crd_image *image, int order[CRD_PHANTOM_PHASES])
{
    for (int k = 0; k < (int)image->phases; k++) {
        int at = k;
        for (; at > 0 && image->greys[order[at - 1]] > image->greys[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
}

static int64_t within(int64_t i, int64_t count)
{
    return i < 0 ? 0 : i < count ? i : count - 1;
}

crd_status crd_image_read(crd_image *image, int64_t z, uint8_t *slice)
{
    const crd_box box = {{within(z, image->shape[0]), 0, 0}, {1, image->shape[1], image->shape[2]}};
    return crd_label_read(image->label, &box, slice);
}

void crd_image_look(const crd_image *image, const crd_scene *scene, const uint8_t *slice, const crd_window *w,
                    float *scratch, float *grey)
{
    for (int64_t i = 0; i < w->rows; i++) {
        const uint8_t *row = slice + within(w->y0 + i, image->shape[1]) * image->shape[2];
        for (int64_t j = 0; j < w->columns; j++) {
            grey[i * w->columns + j] = image->greys[row[within(w->x0 + j, image->shape[2])]];
        }
    }
    if (scene->options.texture > 0.0) {
        crd_field_add(&scene->texture, w, (float)scene->options.texture, scratch, grey);
    }
}

void crd_image_mark(const crd_image *image, const crd_scene *scene, const uint8_t *slice, const crd_window *tile,
                    float *scratch, uint8_t *truth, uint8_t *label)
{
    const crd_phantom_options *o = &scene->options;
    const int64_t count = tile->rows * tile->columns, stride = image->shape[2];
    float *moved[2] = {scratch, scratch + count}, *rest = scratch + 2 * count;
    for (int axis = 0; axis < 2; axis++) {
        memset(moved[axis], 0, (size_t)count * sizeof *moved[axis]);
        if (o->label_waver > 0.0) {
            crd_field_add(&image->aside[axis], tile, (float)o->label_waver, rest, moved[axis]);
        }
        if (o->label_jitter > 0.0) {
            crd_field_add(&image->redrawn[axis], tile, (float)o->label_jitter, rest, moved[axis]);
        }
    }
    for (int64_t i = 0; i < tile->rows; i++) {
        for (int64_t j = 0; j < tile->columns; j++) {
            const int64_t at = i * tile->columns + j, y = tile->y0 + i, x = tile->x0 + j;
            const int64_t from_y = within(y + (int64_t)floorf(moved[0][at] + 0.5f), image->shape[1]);
            const int64_t from_x = within(x + (int64_t)floorf(moved[1][at] + 0.5f), image->shape[2]);
            truth[i * stride + j] = slice[y * stride + x];
            label[i * stride + j] = slice[from_y * stride + from_x];
        }
    }
}
