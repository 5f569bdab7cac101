/* The phases of a label volume, as the camera and the hand that labels see them. */
#ifndef CRD_PHANTOM_IMAGE_H
#define CRD_PHANTOM_IMAGE_H

#include "chunk/label.h"
#include "phantom/scene.h"

typedef struct crd_image {
    crd_label *label;
    int64_t shape[3];
    int64_t phases; /* 0: the phantom is of another kind */
    double values[CRD_PHANTOM_PHASES];
    float greys[CRD_PHANTOM_PHASES];
    uint8_t *slices;                /* [slots][y][x]: numbers of phases */
    crd_field aside[2], redrawn[2]; /* how far the label's voxels lie from where they should, along y and x */
} crd_image;

/* The label volume's header: the phantom's shape, and its spacing where nobody gave one. */
crd_status crd_image_look_ahead(const char *path, int64_t shape[3], double spacing[3], char unit[16]);

/* Opens options->truth, whose shape is options->shape, with room for so many slices. `image` is zeroed before, and
 * closed whatever happens. */
crd_status crd_image_open(const crd_phantom_options *options, int64_t slots, crd_image *image);
void crd_image_close(crd_image *image);
/* The phases from dark to light. */
void crd_image_order(const crd_image *image, int order[CRD_PHANTOM_PHASES]);

/* Slice z; beyond the first and the last the volume goes on as it ends. */
crd_status crd_image_read(crd_image *image, int64_t z, uint8_t *slice);
/* The ideal scan of a window, and truth and label of a tile inside the volume, whose rows lie `shape[2]` apart. Scratch
 * as for crd_scene_look. */
void crd_image_look(const crd_image *image, const crd_scene *scene, const uint8_t *slice, const crd_window *window,
                    float *scratch, float *grey);
void crd_image_mark(const crd_image *image, const crd_scene *scene, const uint8_t *slice, const crd_window *tile,
                    float *scratch, uint8_t *truth, uint8_t *label);

#endif
