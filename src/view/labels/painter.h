/* The thread that answers what changes the project: labels, classes, boxes. One request after the other, in the order
 * in which they came; several that wait are brought onto the disk together, and only then answered. Between them it
 * stores what was painted. */
#ifndef CRD_VIEW_LABELS_PAINTER_H
#define CRD_VIEW_LABELS_PAINTER_H

#include "view/http/server.h"
#include "view/labels/labels.h"
#include "view/tiles/layers.h"

typedef struct crd_painter crd_painter;
struct crd_view;

crd_status crd_painter_start(struct crd_view *view, crd_painter **out);
/* All that came has been answered, and is stored. NULL is fine. */
void crd_painter_stop(crd_painter **painter);
/* Is it a request for this thread? */
bool crd_painter_wants(const crd_request *request);
/* False: too many are waiting. */
bool crd_painter_take(crd_painter *painter, crd_exchange *exchange, const crd_request *request);

/* Adds the layer "labels" behind the others: its classes are 0 to 15. */
crd_status crd_labels_show(crd_labels *labels, crd_layers *layers, int *number);
/* Grey values, segmentation and uncertainty as a reader finds them; `context` is the reader's. */
crd_paint_sources crd_painter_sources(crd_reader *reader);

#endif
