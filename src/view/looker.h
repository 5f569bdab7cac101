/* The survey of the run that is shown, made in the background. A newer run's takes its place once it is ready. */
#ifndef CRD_VIEW_LOOKER_H
#define CRD_VIEW_LOOKER_H

#include "view/project.h"
#include "view/survey.h"

typedef struct crd_looker {
    int uncertainty, segmentation; /* numbers of layers; -1: there is none */
    char run[256];                 /* the run's name, by which ticks are kept */
    crd_look_survey *survey;
    atomic_int share; /* thousandths that are done; */
    atomic_bool ready, failed;
    struct crd_looker *before; /* that of the run before, which a request may still look at */
} crd_looker;

/* Of the latest run that is complete; without one there is no survey. */
crd_status crd_looker_open(const crd_layers *layers, crd_looker **out);
/* And all before it. */
void crd_looker_close(crd_looker **looker);
/* Region `number`: those by excess come from 0 on, those by mean from 1000 on. NULL: there is none. */
const crd_look_region *crd_looker_region(const crd_looker *looker, int64_t number);
/* Its box in the scan. */
crd_box crd_looker_box(const crd_looker *looker, const crd_layers *layers, const crd_look_region *region);

#endif
