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

/* The label that the viewer was given is taken in before the first change. `out` must stay as long as the labels;
 * without such a layer nothing is done. */
typedef struct crd_seed_source {
    const crd_layer *layer;
    crd_volume *volume;
    crd_label_seed seed;
} crd_seed_source;
crd_status crd_labels_seed_from(crd_labels *labels, const crd_layers *layers, crd_seed_source *out);

/* Adds the layer "labels" behind the others: its classes are 0 to 15. */
crd_status crd_labels_show(crd_labels *labels, crd_layers *layers, int *number);
/* Grey values, segmentation and uncertainty as a reader finds them; `context` is the reader's. */
crd_paint_sources crd_painter_sources(crd_reader *reader);

#endif
