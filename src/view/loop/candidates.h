/* Boxes that might be labelled next, on half their own grid, and what a run says of each: one pass over the volumes. */
#ifndef CRD_VIEW_LOOP_CANDIDATES_H
#define CRD_VIEW_LOOP_CANDIDATES_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"

enum { CRD_FEATURES = 5 }; /* mean and deviation of grey, mean probability, share of edges, mean gradient */

typedef struct crd_candidate {
    double uncertainty;            /* mean */
    double edges;                  /* share of voxels at an edge of the segmentation */
    double features[CRD_FEATURES]; /* as they are */
    bool inside;                   /* at nine tenths in the mask at least */
} crd_candidate;

typedef struct crd_candidates {
    int64_t size[3], step[3], counts[3], count; /* of a box; from one to the next; along each axis; and in all */
    crd_candidate *items;                       /* x first; NULL: nothing is known but where they are */
} crd_candidates;

/* Where they are: shape[] is the scan's. */
void crd_candidates_grid(const int64_t shape[3], const int64_t size[3], crd_candidates *out);
void crd_candidates_free(crd_candidates *candidates);
void crd_candidates_box(const crd_candidates *candidates, int64_t number, crd_box *out);

/* All of the scan's shape; segmentation, probability and mask may be NULL. Stored * scale = the quantity. */
typedef struct crd_candidate_sources {
    crd_volume *scan, *uncertainty, *probability, *segmentation, *mask;
    double uncertainty_scale, probability_scale;
} crd_candidate_sources;

/* `pause` is asked before each slice, with how far it has come; once it says false nothing more is done, and *done is
 * false. */
crd_status crd_candidates_measure(const crd_candidate_sources *sources, bool (*pause)(void *context, double share),
                                  void *context, crd_candidates *candidates, bool *done);

#endif
