/* The world behind a phantom: what is where, before any camera. A scene is made once and then only read, by any number
 * of threads; a voxel's values depend on the options, the seed and its position alone. */
#ifndef CRD_PHANTOM_SCENE_H
#define CRD_PHANTOM_SCENE_H

#include "base/parallel.h"
#include "credence/phantom.h"
#include "phantom/objects.h"
#include "phantom/weld.h"

/* Numbers of the random streams (crd_stream.layer). A phantom and a seed are a result: only ever add to these. */
enum crd_phantom_layer {
    CRD_LAYER_OBJECTS = 1,
    CRD_LAYER_FINES = 2,
    CRD_LAYER_ROUGH_COARSE = 3,
    CRD_LAYER_ROUGH_FINE = 4,
    CRD_LAYER_TEXTURE = 5,
    CRD_LAYER_WAVER = 6,
    CRD_LAYER_JITTER = 7,
    CRD_LAYER_DRIFT = 8,
    CRD_LAYER_RINGS = 9,
    CRD_LAYER_WHITE = 10,
    CRD_LAYER_CORRELATED = 11,
    CRD_LAYER_SURFACES = 12,
    CRD_LAYER_CALIBRATION = 13,
    CRD_LAYER_BINDER = 14,
    CRD_LAYER_BINDER_WAVER = 15,
    CRD_LAYER_SIDE_JITTER = 16
};

enum { CRD_MAX_POPULATIONS = 2 };
enum { CRD_GROWTH_LIMIT = 1 }; /* voxels */

/* Not to be copied: the populations point at the weld. */
typedef struct crd_scene {
    crd_phantom_kind kind;
    crd_phantom_options options; /* without its strings */
    uint64_t seed;
    crd_population populations[CRD_MAX_POPULATIONS];
    double share[CRD_MAX_POPULATIONS]; /* of the volume of all objects */
    int population_count;
    crd_field rough[2], texture, waver, jitter;
    float rough_scale[2];
    float far_limit;                /* distances are known up to here */
    float growth;                   /* all objects grow by this many voxels, so that the fraction is met */
    crd_weld weld;                  /* weld only */
    crd_field binder, binder_waver; /* electrode only: of the binder's surface, and of its label */
    float binder_growth;            /* it fills what lies this close to two particles */
} crd_scene;

/* Makes the scene and fits the number and the growth of its objects to options->fraction (in calibrate.c). */
crd_status crd_scene_make(crd_phantom_kind kind, const crd_phantom_options *options, crd_pool *pool, crd_scene *out);

/* The steps of it: everything but the objects' number; the number, by the sum of the objects' volumes over the volume
 * of space; and the growth at which each voxel of a window becomes foreground (scratch as for crd_scene_look). Binder
 * grows where no particle is, which is settled before: inside one it never does. */
void crd_scene_prepare(crd_phantom_kind kind, const crd_phantom_options *options, crd_scene *out);
void crd_scene_crowd(crd_scene *scene, double crowding);
void crd_scene_raw(const crd_scene *scene, const crd_window *window, float *scratch, float *raw);
void crd_scene_raw_binder(const crd_scene *scene, const crd_window *window, float *scratch, float *raw);

/* Values of one window. Distances are signed, in voxels, negative inside: [0] those to phase 1, [1] to phase 2, which
 * is where phase 1 isn't. A kind of two phases leaves [1] alone. */
enum { CRD_SCENE_DISTANCES = 2 };
typedef struct crd_view {
    float *truth[CRD_SCENE_DISTANCES]; /* to the true boundary */
    float *label[CRD_SCENE_DISTANCES]; /* to the hand label's */
    float *grey;                       /* the ideal scan: partial volume, no blur, no noise */
} crd_view;

/* Floats of scratch for crd_scene_look at windows of up to rows * columns. */
int64_t crd_scene_scratch(int64_t rows, int64_t columns);
void crd_scene_look(const crd_scene *scene, const crd_window *window, float *scratch, const crd_view *out);

#endif
