/* The labels of a project: what was painted, on the disk as soon as it is confirmed, and the way back.
 *
 * Operations come one after the other (view/labels/writer.h); everything else may be called by any thread. Every
 * operation, undo and redo raises the revision by one. */
#ifndef CRD_VIEW_LABELS_LABELS_H
#define CRD_VIEW_LABELS_LABELS_H

#include "base/text.h"
#include "credence/monitor.h"
#include "view/labels/paint.h"
#include "view/project.h"

typedef struct crd_labels crd_labels;

/* What a request did, or would have done if it weren't refused. */
typedef struct crd_label_change {
    bool old_revision; /* refused: it was made for labels that have changed since */
    bool nothing;      /* there is nothing to undo or redo */
    int64_t revision, undone, voxels, blocks;
    int64_t low[3], high[3];
    int64_t (*places)[3]; /* blocks whose voxels changed; freed by crd_label_change_free */
} crd_label_change;

void crd_label_change_free(crd_label_change *change);

/* `info` is the scan's. Nothing is made on the disk before the first operation. What an interruption left undone is
 * done again, and said. */
crd_status crd_labels_open(crd_project *project, const crd_volume_info *info, size_t memory, const crd_monitor *monitor,
                           crd_labels **out);
/* Stores what is left. */
void crd_labels_close(crd_labels **labels);

/* A label that the user has already: class indices in a box, 255 for what has none. */
typedef struct crd_label_seed {
    crd_status (*read)(void *context, const crd_box *box, uint8_t *classes);
    void *context;
    const char *file; /* its name, for view.json, */
    const double *values;
    int count; /* and the values of its classes */
} crd_label_seed;
/* It is taken in before the first change of a new project; must stay as it is until crd_labels_close. */
void crd_labels_seed(crd_labels *labels, const crd_label_seed *seed);
/* Makes the project, and takes in what is to be. Having done so is fine. */
crd_status crd_labels_begin(crd_labels *labels);

/* Applied at once; confirmed only when crd_labels_sync has succeeded. `revision` is the one that the request was made
 * for, -1: any. A request whose id was done before isn't done again: it gets the same answer. */
crd_status crd_labels_do(crd_labels *labels, const crd_operation *op, int64_t revision,
                         const crd_paint_sources *sources, crd_label_change *out);
crd_status crd_labels_undo(crd_labels *labels, const char *id, int64_t revision, crd_label_change *out);
crd_status crd_labels_redo(crd_labels *labels, const char *id, int64_t revision, crd_label_change *out);
/* Where it fails, all that wasn't confirmed is taken back. */
crd_status crd_labels_sync(crd_labels *labels);
/* Stores up to `most` changed blocks; when none is left of those that had changed at the first call, that is noted, and
 * *unfinished false. */
crd_status crd_labels_store(crd_labels *labels, int64_t most, bool *unfinished);
/* How much of the journal is kept, in place of 256 MiB. */
void crd_labels_keep(crd_labels *labels, int64_t bytes);

typedef struct crd_labels_facts {
    int64_t revision, undo, redo; /* steps that can be taken */
    int64_t counts[CRD_PAINT_CLASSES];
    bool writable, made; /* this server may change them; there is something on the disk */
} crd_labels_facts;

void crd_labels_describe(crd_labels *labels, crd_labels_facts *out);
int64_t crd_labels_revision(crd_labels *labels);
void crd_labels_counts(crd_labels *labels, int64_t counts[CRD_PAINT_CLASSES]);
bool crd_labels_empty(crd_labels *labels);
crd_status crd_labels_read(crd_labels *labels, const crd_box *box, uint8_t *voxels);
/* All blocks with a label in them (view/labels/blocks.h). */
crd_status crd_labels_visit(crd_labels *labels,
                            crd_status (*visit)(void *context, const int64_t index[3], const uint8_t *voxels),
                            void *context);
/* Operations as a JSON list, the newest first: `most` of them from the one that is number `from` on in that order. */
crd_status crd_labels_history(crd_labels *labels, int64_t from, int64_t most, crd_text *out);
/* All that is confirmed as an OME-Zarr at `folder`, where nothing must be. Its files are links, so it costs little. */
crd_status crd_labels_snapshot(crd_labels *labels, const char *folder);

#endif
