/* The volumes of a run folder: what each is, and what its file is called. */
#ifndef CRD_RUN_OUTPUTS_H
#define CRD_RUN_OUTPUTS_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"

typedef enum crd_output_role {
    CRD_OUTPUT_UNKNOWN, /* another program's word */
    CRD_OUTPUT_PROBABILITY,
    CRD_OUTPUT_SEGMENTATION,
    CRD_OUTPUT_UNCERTAINTY, /* width of an interval of percentiles, with more than two classes of the voxel's class; the
                               first of a run is the one it goes by */
    CRD_OUTPUT_CLASS_UNCERTAINTY, /* the same of one class */
    CRD_OUTPUT_PERCENTILE,
    CRD_OUTPUT_DEVIATION,
    CRD_OUTPUT_ENTROPY,   /* of the probabilities, in bits, */
    CRD_OUTPUT_ALEATORIC, /* and its parts: the mean of the samples' entropies, */
    CRD_OUTPUT_EPISTEMIC, /* and the rest */
    CRD_OUTPUT_LOWER_BOUND,
    CRD_OUTPUT_UPPER_BOUND,
    CRD_OUTPUT_SAMPLE,      /* one realisation; in the order of their numbers, of one those of all classes together */
    CRD_OUTPUT_SAMPLE_BITS, /* 64 of them, a bit each; the same, bit after bit of the class's number */
    CRD_OUTPUT_ROLES
} crd_output_role;

typedef struct crd_output {
    crd_output_role role;
    char *file; /* in the run folder: "scan_unc_5-95.tif" */
    crd_type type;
    double scale;           /* stored * scale = the quantity */
    double percents[2];     /* of the interval, or of the percentile twice; NaN, NaN where there are none */
    const char *class_name; /* of the class that it is of; NULL: of all, or of the foreground. Borrowed */
    /* While it is being made; not recorded. */
    int64_t quantity; /* which of a voxel's numbers it holds, as predict counts them */
    double largest;   /* that the number can be: what the largest of u8 or u16 stands for */
    bool cut;         /* it is 1 where that number is above one half, and else 0 */
} crd_output;

/* "probability", as a manifest calls it; and back. */
const char *crd_output_role_name(crd_output_role role);
crd_output_role crd_output_role_of(const char *name);

/* What marks it in a file's name, behind the scan's: "_prob". */
const char *crd_output_role_tag(crd_output_role role);

/* Does it hold phases, not parts of 1? */
bool crd_output_labels(const crd_output *output);

/* "33-67" */
enum { CRD_INTERVAL_BYTES = 40 };
char *crd_interval_text(const double percents[2], char text[CRD_INTERVAL_BYTES]);

/* The name of a volume's file: the scan's name, the role, `which` of several it is ("5-95", "7", "pore"; "" where that
 * isn't said), and the format's suffix. Free with crd_free. */
crd_status crd_output_name(const char *scan, crd_output_role role, const char *which, const char *suffix, char **out);

void crd_outputs_free(crd_output **outputs, int64_t count);

#endif
