/* Boxes to label next, for the latest run of the whole scan: measured in the background, proposed when asked. */
#ifndef CRD_VIEW_LOOP_SCOUT_H
#define CRD_VIEW_LOOP_SCOUT_H

#include "base/text.h"
#include "view/loop/proposals.h"

typedef struct crd_view crd_view;
typedef struct crd_scout crd_scout;

crd_status crd_scout_open(crd_scout **out);
void crd_scout_close(crd_scout **scout);
/* From the builder's thread: measures where there is a new run, or boxes have another size; else it costs nothing. */
void crd_scout_advance(crd_view *view);
/* As JSON. */
crd_status crd_scout_propose(crd_view *view, crd_proposal_order order, int most, crd_text *text);

#endif
