/* What components.c and components_slice.c share: the state of one realisation between two slices. */
#ifndef CRD_MEASURE_COMPONENTS_STATE_H
#define CRD_MEASURE_COMPONENTS_STATE_H

#include "measure/counts/components.h"

/* A slice's runs, row after row. */
typedef struct run_list {
    uint32_t *labels;
    int64_t room;
    int64_t *rows; /* where each row begins; one more for the end */
} run_list;

/* Components by their numbers. What is counted of one lies in several places, of which `parents` leads to the first,
 * until all of it is gathered there. */
typedef struct crd_component_state {
    run_list before, here;
    uint32_t *parents, *fresh; /* fresh: new numbers, while they are given */
    int64_t *voxels;
    uint8_t *faces;
    int64_t count, room;
    uint16_t *edges, *touches[2]; /* of the row in hand */
    uint64_t *some;               /* bits of it */
    crd_status status;
    crd_error error;
} crd_component_state;

/* Slice z, the index-th of a call. */
crd_status crd_components_slice(crd_components *c, int bit, int64_t z, int64_t index);
/* Behind the last slice: counts the components that are left. */
void crd_components_finish(crd_components *c, int bit);

#endif
