/* The exam at the end of a training: the blocks that were held back for it are predicted as crd_predict would, with
 * samples, and compared with their labels. Nothing else ever looks at these labels. */
#ifndef CRD_TRAIN_HELDOUT_EXAM_H
#define CRD_TRAIN_HELDOUT_EXAM_H

#include "backend/backend.h"
#include "dist/dist.h"
#include "net/model.h"
#include "train/data/dataset.h"
#include "train/heldout/baseline.h"
#include "train/heldout/figures.h"

enum { CRD_EXAM_SAMPLES_LEAST = 8 };

typedef struct crd_exam_plan {
    const crd_dataset *data;
    crd_model *model; /* with its calibration and pieces */
    const crd_backend *backend;
    const crd_device_settings *device;
    const crd_baseline *baseline;
    crd_dist *dist; /* whose processes share the blocks; all call it together */
    const crd_monitor *monitor;
    const char *mode; /* of the prediction; NULL: what it chooses itself */
    /* How many voxels, each time once for every sample, it may compute. Where that is too little for all samples of a
     * prediction it takes fewer, at least CRD_EXAM_SAMPLES_LEAST; where it still is, a smaller halo, or of overlapping
     * chunks those whose middle is nearest. */
    double work;
} crd_exam_plan;

typedef struct crd_exam {
    int64_t count; /* blocks */
    crd_block_answers blocks[CRD_BLOCKS_MOST];
    int64_t samples;
    bool broken; /* the network gave what isn't a finite number: the answers mean nothing */
} crd_exam;

crd_status crd_exam_hold(const crd_exam_plan *plan, crd_exam *out);

#endif
