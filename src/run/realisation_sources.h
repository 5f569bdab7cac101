/* Inside src/run: which volumes the bits of realisations come from. */
#ifndef CRD_RUN_REALISATION_SOURCES_H
#define CRD_RUN_REALISATION_SOURCES_H

#include "chunk/label.h"
#include "run/realisations.h"

typedef struct crd_realisation_source {
    crd_volume *volume;   /* NULL: the label */
    int64_t bit, count;   /* the bits it fills: of a volume of one realisation, one */
    bool packed;          /* it holds words of bits, of which `shift` is the first that is wanted, */
    int64_t shift, plane; /* of this plane of the phases' numbers */
    bool valued;          /* its values are those of the phases; else it is phase 1 above `threshold` */
    double threshold;
    int64_t classes; /* more than 0: this and the sources behind it, which fill no bits of their own, are so many
                        probabilities, and the first of the largest says the phase */
} crd_realisation_source;

struct crd_realisations {
    crd_realisations_info info;
    char *name;
    int64_t box_origin[3];  /* in the volumes, */
    int64_t scan_origin[3]; /* and of those in the run's scan */
    crd_realisation_source *sources;
    int64_t source_count;
    crd_volume *mask;        /* of the scan's shape, or of the volumes'; NULL: none */
    int64_t mask_origin[3];  /* of the box in it */
    uint8_t *table;          /* phase by the value of a byte */
    crd_label *label;        /* its classes are the phases' numbers; NULL: none */
    int64_t label_origin[3]; /* of the box in it */

    crd_volume **handles; /* of packed sources, for each thread of a pool: [source * threads + thread] */
    int handle_threads;
};

/* realisation_label.c: opens the label, whose bit comes last; the phases are known. `volumes` is their shape, `scan`
 * that of the scan, or 0. */
crd_status crd_realisations_add_label(crd_realisations *r, const crd_realisations_options *options,
                                      const int64_t volumes[3], const int64_t scan[3], const crd_monitor *monitor);
/* The phases' numbers that the label has in a box; CRD_LABEL_NONE: not labelled. */
crd_status crd_realisations_read_label(crd_realisations *r, const crd_box *box, uint8_t *phases);
/* Takes those voxels of a box out of `inside` that the label leaves out. */
crd_status crd_realisations_clear_unlabelled(crd_realisations *r, const crd_box *box, uint8_t *inside);

/* Where the probability is cut, when the mask is open: the offset is the systematic term over the mean of p (1 - p), as
 * in the prediction. */
crd_status crd_realisations_settle_cuts(crd_realisations *r);

/* The phase of a value, or CRD_PHASE_OUTSIDE. */
uint8_t crd_realisations_phase_of(const crd_realisations_info *info, double value);

#endif
