/* What is finished of a run that isn't complete: files in DIR/.partial, and a journal that says which items of the run
 * are there: slices, where chunks overlap, or tiles. An item is in the journal only after its voxels are on the disk,
 * so however the program ends, what the journal lists is good.
 *
 *     .partial/run.json      what the run is: a resumed one must be the same
 *     .partial/outputs.json  the volumes that it writes beside .partial; both are known to src/run
 *     .partial/prob, ...     slices: one file per quantity, [slices][height][width] of the box
 *     .partial/NAME_prob.tif, ...  tiles: the volumes themselves (predict/tiles/files.h)
 *     .partial/probe         [probes][samples][planes] float
 *     .partial/journal       records of fixed size: the item, its sums, a checksum
 *
 * Several processes may write, each with a journal of its own (journal.RANK); any number of them may resume the run.
 */
#ifndef CRD_PREDICT_FINISHED_PARTIAL_H
#define CRD_PREDICT_FINISHED_PARTIAL_H

#include "predict/sums/accumulate.h"

typedef struct crd_partial crd_partial;

/* Opens what is finished in `folder`/.partial, or begins anew. `identity` is a JSON object that says what the run
 * is; with `resume`, the one that is there must be the same, else the first key that differs is named. A new run may go
 * without (NULL) until crd_identity_write: before that it can't be resumed. */
crd_status crd_partial_open(const char *folder, const crd_request *request, const char *identity, bool resume,
                            crd_partial **out);
/* The same folder for another process, or again, once one process has opened it. `finished`, by item, is what that
 * one found; NULL: all journals are read anew. */
crd_status crd_partial_join(const char *folder, const crd_request *request, int rank, const uint8_t *finished,
                            crd_partial **out);
void crd_partial_close(crd_partial **partial);

/* Slices of the box, or tiles of the run. */
int64_t crd_partial_items(const crd_partial *partial);
/* By item: 1 where the journal listed it when it was opened. */
const uint8_t *crd_partial_finished(const crd_partial *partial);
/* The sums of a finished item. */
const uint64_t *crd_partial_sums(const crd_partial *partial, int64_t item);

/* Voxels first, then sync, then the journal. Another thread than the one that reads may do these three. Tiles have
 * their voxels elsewhere. */
crd_status crd_partial_write(crd_partial *partial, const crd_slice *slice);
crd_status crd_partial_sync(crd_partial *partial);
/* `number` is the slice in the scan, or the tile of the run. */
crd_status crd_partial_note(crd_partial *partial, int64_t number, const uint64_t *sums);
/* Probe values of slices that another process will note. */
crd_status crd_partial_sync_probes(crd_partial *partial);
/* The journal onto the disk. */
crd_status crd_partial_flush(crd_partial *partial);

/* `count` slices of the box from `first` on. */
crd_status crd_partial_read(crd_partial *partial, int64_t quantity, int64_t first, int64_t count, void *voxels);

/* Rows [y, y + rows) of one slice of the box. */
crd_status crd_partial_read_rows(crd_partial *partial, int64_t quantity, int64_t slice, int64_t y, int64_t rows,
                                 void *voxels);

/* All samples' values at `count` probes from `first` on. */
crd_status crd_partial_write_probes(crd_partial *partial, int64_t first, int64_t count, const float *values);
crd_status crd_partial_read_probes(crd_partial *partial, int64_t first, int64_t count, float *values);

#endif
