/* The volumes that are validated: which they are, and one set of open files per thread. */
#ifndef CRD_VALIDATE_INPUTS_H
#define CRD_VALIDATE_INPUTS_H

#include <stdbool.h>

#include "chunk/label.h"
#include "chunk/mask.h"
#include "credence/validate.h"
#include "validate/tally.h"

/* A class of the segmentation and of the label. */
typedef struct crd_input_class {
    char *name;
    double value; /* in the segmentation, and in the label unless --foreground says otherwise */
} crd_input_class;

typedef struct crd_inputs {
    crd_input_class classes[CRD_CLASSES_MAX];
    int class_count;              /* two at least */
    char *probs[CRD_CLASSES_MAX]; /* of the foreground of two classes, else of each class */
    int prob_count;               /* 0: missing */
    char *seg, *unc;              /* NULL: missing */
    char *maps[CRD_MAPS_MAX], *map_names[CRD_MAPS_MAX];
    int64_t map_count;
    char *unc_name; /* "33-67", or "std" */
    double prob_scales[CRD_CLASSES_MAX], unc_scale, map_scales[CRD_MAPS_MAX];
    int64_t raw_shape[3];  /* of raw files, as the options give it; 0, 0, 0: not given */
    int64_t shape[3];      /* of the maps */
    int64_t origin[3];     /* of the maps inside the label and the mask */
    bool boxed;            /* the maps are of a box of the scan, */
    int64_t scan[3];       /* which has this shape; 0, 0, 0: nothing says it */
    int64_t own_origin[3]; /* what the maps' own files say */
    crd_label *label;      /* NULL: none (a sweep over the map alone) */
    char *mask;
    int64_t mask_shape[3];
    bool all_count;                       /* no mask, and every voxel is labelled */
    const struct crd_learnt_scan *learnt; /* voxels that it names don't count; NULL: all do */
    int64_t learnt_origin[3];             /* of the maps in the scan that was learnt from */
    double mean; /* of the uncertainty over the voxels that count, where the run's manifest says it; else NaN */
} crd_inputs;

/* Resolves the options. `inputs` is zeroed before, and closed by the caller whatever happens. */
crd_status crd_inputs_open(const crd_validate_options *options, const crd_monitor *monitor, crd_inputs *inputs);
void crd_inputs_close(crd_inputs *inputs);

typedef struct crd_input_reader {
    const crd_inputs *inputs;
    crd_volume *probs[CRD_CLASSES_MAX], *seg, *unc, *maps[CRD_MAPS_MAX];
    crd_label *label;
    crd_volume *mask;
    float *spare; /* room for one slice of a segmentation that isn't u8 */
    int64_t spare_count;
} crd_input_reader;

crd_status crd_input_reader_open(const crd_inputs *inputs, crd_input_reader *reader);
void crd_input_reader_close(crd_input_reader *reader);

/* All boxes are in the maps' coordinates. `prob` is needed where there is no segmentation; it has been read then. Two
 * classes: 0 is background. More: the number of the class, from 0 on. */
crd_status crd_input_reader_segmentation(crd_input_reader *reader, const crd_box *box, const float *prob, uint8_t *seg);
crd_status crd_input_reader_label(crd_input_reader *reader, const crd_box *box, uint8_t *classes);
/* Only where inputs->mask isn't NULL. */
crd_status crd_input_reader_mask(crd_input_reader *reader, const crd_box *box, uint8_t *inside);

#endif
