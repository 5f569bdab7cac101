/* Where the network is tried on made-up changes of its training scans: some windows with labels, all of one size, held
 * in memory as the scans are. Labels that are held back aren't among them. */
#ifndef CRD_TRAIN_INTERVALS_WINDOWS_H
#define CRD_TRAIN_INTERVALS_WINDOWS_H

#include "predict/request.h"
#include "train/data/dataset.h"

typedef struct crd_try_window {
    int64_t scan;
    crd_box box;
} crd_try_window;

typedef struct crd_try_windows {
    int64_t count;   /* those of a scan follow each other; 0: not even one can be paid for, or holds a label */
    int64_t size[3]; /* of each */
    crd_try_window *windows;
    float *voxels;   /* [count][z][y][x], normalised */
    uint8_t *inside; /* the scans' masks there */
    uint8_t *labels; /* CRD_LABEL_NONE also near a border where the network of a prediction would see farther */
    int64_t labelled;
} crd_try_windows;

/* As many as may hold `voxels` voxels together. `request` says how a prediction would go about such scans. */
crd_status crd_try_windows_read(const crd_dataset *data, const crd_request *request, double voxels,
                                crd_try_windows *out);
/* Outside the mask a changed window is as it was: a prediction has the same there, whatever the scan is like. */
void crd_try_window_keep_outside(const crd_try_windows *windows, int64_t number, float *changed);
void crd_try_windows_free(crd_try_windows *windows);

static inline int64_t crd_try_window_voxels(const crd_try_windows *windows)
{
    return windows->size[0] * windows->size[1] * windows->size[2];
}

#endif
