/* Writes labels into a file of the project folder, in a thread of its own: from a snapshot, so that painting goes on.
 */
#ifndef CRD_VIEW_LABELS_EXPORTER_H
#define CRD_VIEW_LABELS_EXPORTER_H

#include <stdbool.h>

#include "view/labels/labels.h"

typedef struct crd_exporter crd_exporter;
struct crd_view;

crd_status crd_exporter_open(struct crd_view *view, crd_exporter **out);
/* What is being written is given up. NULL is fine. */
void crd_exporter_close(crd_exporter **exporter);

/* May a file of that name be written there? Letters, digits, . _ -, no dot at its beginning, and nothing that the
 * project has itself. */
bool crd_exporter_may_write(const char *name);
/* Begins; CRD_ERR_BUSY while one is being written. `box` may be NULL: all. From the painter's thread. */
crd_status crd_exporter_begin(crd_exporter *exporter, const char *name, const crd_box *box);

#endif
