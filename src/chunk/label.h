/* A label volume as training and validation see it: a class from 0 on or no label, voxel by voxel.
 *
 * Two values: the larger is foreground, which is class 1. More: each is a class, in rising order, where as many are
 * allowed, or the caller says what they are: those of the foreground (`foreground`), or one for each class (`classes`).
 * `ignore` marks voxels that nobody labelled. Labels that belong together are decided together, since one of them may
 * hold the background only. The monitor is told how the values were understood. */
#ifndef CRD_CHUNK_LABEL_H
#define CRD_CHUNK_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/model.h"
#include "credence/volume.h"

enum { CRD_LABEL_NONE = 255 };

typedef struct crd_label crd_label;

typedef struct crd_label_options {
    const crd_volume_options *volume; /* raw shape and type; may be NULL */
    const double *foreground;         /* values that mean 1; NULL: the larger of two */
    int64_t foreground_count;
    const double *classes; /* the value of each class, in their order; NULL: as above. Any other is refused */
    int64_t class_count;
    int64_t classes_most; /* without either, so many values may be as many classes; 0: two */
    bool needed;          /* a value of `foreground` or `classes` that no label has is refused */
    const double *ignore; /* values that mean "no label" */
    int64_t ignore_count;
} crd_label_options;

/* Of a raw label: what the options say; without that u8, unless a file beside it says otherwise (NULL). */
const char *crd_label_type(const char *path, const crd_volume_options *options);
/* Reads the whole volume once to learn its values; `shape` is the scan's. What they mean is for crd_label_decide. */
crd_status crd_label_learn(const char *path, const int64_t shape[3], const crd_volume_options *options,
                           const crd_monitor *monitor, crd_label **out);
/* Gives the values of all these labels their classes. Labels of one class only are fine here: see crd_label_counts. */
crd_status crd_label_decide(crd_label *const *labels, int64_t count, const crd_label_options *options,
                            const crd_monitor *monitor);
/* Both, for a label that stands alone. */
crd_status crd_label_open(const char *path, const int64_t shape[3], const crd_label_options *options,
                          const crd_monitor *monitor, crd_label **out);
/* The same label again, for another thread, without reading it all. */
crd_status crd_label_reopen(const crd_label *label, crd_label **out);
void crd_label_close(crd_label **label);

const crd_volume_info *crd_label_info(const crd_label *label);
/* Voxels of class 0, of all other classes, and without a label. */
void crd_label_counts(const crd_label *label, int64_t counts[3]);

/* What was decided: the same for all labels of one call. */
typedef struct crd_label_classes {
    int count;                      /* at least two */
    double values[CRD_CLASSES_MAX]; /* of each class in the label; of the background and the foreground, the first */
} crd_label_classes;
const crd_label_classes *crd_label_meaning(const crd_label *label);
/* Voxels of each class. */
void crd_label_class_counts(const crd_label *label, int64_t counts[CRD_CLASSES_MAX]);

crd_status crd_label_read(crd_label *label, const crd_box *box, uint8_t *classes);
/* How many slices of the box from z on a caller does well to ask for at once: see volume/format.h. */
int64_t crd_label_slices_at_once(const crd_label *label, const crd_box *box, int64_t z);
/* How many of so many classes aren't CRD_LABEL_NONE. */
int64_t crd_label_count(const uint8_t *classes, int64_t count);

#endif
