/* What a prediction is, once every option has been read and checked against model and scan. Nothing here depends on
 * threads, memory or what was done before. */
#ifndef CRD_PREDICT_REQUEST_H
#define CRD_PREDICT_REQUEST_H

#include "backend/backend.h"
#include "chunk/plan.h"
#include "chunk/scan.h"
#include "credence/predict.h"
#include "net/model.h"
#include "run/outputs.h"
#include "volume/format.h"

/* A number per voxel that finished slices hold. */
typedef enum crd_quantity_kind {
    /* Averaged over the chunks that keep a voxel. */
    CRD_PROBABILITY,
    CRD_WIDTH, /* of an interval of percentiles */
    CRD_PERCENTILE,
    CRD_DEVIATION,
    CRD_SAMPLE,    /* one realisation */
    CRD_ALEATORIC, /* the mean of the samples' entropies, in bits; the last of those that are averaged */
    /* Made of those, once they are final (predict/quantities/derive.h). */
    CRD_CLASS,       /* the most probable class, as its value in the labels */
    CRD_CLASS_WIDTH, /* WIDTH of that class */
    CRD_ENTROPY,     /* of the probabilities, in bits */
    CRD_EPISTEMIC,   /* what ALEATORIC is less than that */
    /* Made of the samples. */
    CRD_SAMPLE_BITS /* 64 of them, a bit each: where it is above one half, or a bit of its class's number */
} crd_quantity_kind;

typedef struct crd_quantity {
    crd_quantity_kind kind;
    int plane; /* of the network's (crd_net_planes); BITS: of the class's number; 0 where it is of all of them */
    int64_t low, high; /* WIDTH: rows of request.percentiles; PERCENTILE: its row, twice; SAMPLE: from 0, twice; BITS:
                          from 0, the first and the last */
    crd_type stored;   /* in a finished slice: f32, a sample's u8 or u16, u64 of bits, or that of the labels' values */
    bool passing;      /* others are made of it, and no volume: it isn't kept */
    char name[96];     /* of its file among the finished slices */
} crd_quantity;

/* A phase that the network tells from the others. */
typedef struct crd_class {
    char name[CRD_CLASS_NAME_TEXT];
    double value; /* in the segmentation */
} crd_class;

typedef struct crd_interval {
    int64_t low, high;             /* rows of request.percentiles */
    char text[CRD_INTERVAL_BYTES]; /* "33-67" */
} crd_interval;

typedef enum crd_norms { CRD_NORMS_CHUNK, CRD_NORMS_TRAINING, CRD_NORMS_SCAN } crd_norms;
enum { CRD_HALO_USUAL = 40 };

typedef struct crd_request {
    const crd_predict_options *options; /* borrowed */
    crd_model *model;
    bool model_lent;           /* it isn't the request's to free */
    bool unfiled;              /* the results are no files */
    struct crd_outlet *outlet; /* where finished voxels go in place of files; NULL: into the run folder. Borrowed */
    const crd_backend *backend;
    crd_device_settings device;

    crd_volume_options reading; /* of the scan; its strings lie in options and `unit` */
    char unit[16];
    crd_volume_info scan;
    crd_norm_setting norm;

    crd_class classes[CRD_CLASSES_MAX];
    int class_count;
    int planes; /* probabilities of a voxel: of the second of two classes alone, else one for each */

    int64_t samples, first_sample;
    uint64_t seed;
    crd_estimator estimator;
    bool draws_per_chunk, aggregate_samples, save_samples, save_bits;
    float inverse_temperature;
    double *percentiles; /* rising */
    int64_t percentile_count;
    crd_interval *intervals;
    int64_t interval_count;

    bool seamless;   /* tiles; else overlapping chunks */
    crd_norms norms; /* where their statistics come from */
    int64_t halo;
    int64_t step;
    crd_plan plan;    /* of the whole scan */
    crd_box box;      /* what is written */
    int64_t first[3]; /* the windows that touch the box: first + [0, count) along each axis */
    int64_t count[3];
    int64_t chunks; /* their product */

    crd_quantity *quantities; /* the probabilities first; what is averaged, what is made of it, and last bits */
    int64_t quantity_count;
    int64_t averaged_count; /* of them */
    crd_output *outputs;
    int64_t output_count;
    char *name; /* the scan's, without folder and extension */
    const char *format;
    char suffix[CRD_SUFFIX_BYTES]; /* of the volumes' files: ".tif" */
} crd_request;

/* Loads the model and the scan's header. Free with crd_request_free in any case. */
crd_status crd_request_make(const crd_predict_options *options, const crd_monitor *monitor, crd_request *out);
/* The same of a model that is loaded already, for results that are no files. */
crd_status crd_request_make_unfiled(const crd_predict_options *options, const crd_model *model,
                                    const crd_monitor *monitor, crd_request *out);
void crd_request_free(crd_request *request);
/* For who has options, model, backend, device, scan and norm of a request already: chooses method, mode, plan and
 * windows as crd_request_make does, but no outputs. */
crd_status crd_request_settle(crd_request *request, const crd_monitor *monitor);

/* quantities.c: fills percentiles, intervals, quantities and outputs; naming.c: name, format and suffix, before them.
 */
crd_status crd_request_outputs(crd_request *request);
crd_status crd_request_name(crd_request *request);

/* The volume that says which voxels count; NULL where all do, or a cylinder. */
const char *crd_request_mask_file(const crd_request *request);

/* The same run with another chunk, to see what that would need. Borrows all from `request`: not to be freed. */
crd_status crd_request_with_chunk(const crd_request *request, const int64_t chunk[3], crd_request *out);

/* Chunk `index` of the run, z slowest: its number in the plan of the whole scan. */
int64_t crd_request_chunk(const crd_request *request, int64_t index);
/* The same backwards. */
int64_t crd_request_index(const crd_request *request, int64_t number);
/* Chunks of a unit of work, which are computed and finished together: a row of overlapping chunks, or one tile. */
int64_t crd_request_unit(const crd_request *request);
/* Slices that row `row` of chunks (0 .. count[0] - 1) keeps, clipped to the box; in the scan's coordinates. */
void crd_request_row(const crd_request *request, int64_t row, int64_t *begin, int64_t *end);

/* All of a chunk is asked for. */
void crd_request_predictor(const crd_request *request, crd_predictor_plan *out);
/* Of tiles only what they keep. */
void crd_request_keep(const crd_request *request, crd_predictor_plan *plan);
/* Which part of a chunk the predictor is asked for, in the scan: all of it, or of a tile what it keeps. */
void crd_request_asked(const crd_request *request, int64_t chunk_number, crd_box *out);

#endif
