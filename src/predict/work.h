/* How much a network has to compute, in floating-point operations: what tiles are chosen by, and times foretold by. */
#ifndef CRD_PREDICT_WORK_H
#define CRD_PREDICT_WORK_H

#include "chunk/plan.h"
#include "net/cost.h"
#include "predict/request.h"

/* Tiles are chosen as if for so many samples: the same scan and model have the same tiles, whatever is asked of them.
 */
enum { CRD_USUAL_SAMPLES = 16 };

/* Of tiles with frozen norms, in which a layer computes what the kept part needs (net/crop.h). Borrows the net. */
void crd_tiles_work(const crd_net *net, int64_t samples, crd_tile_work *out);
/* Of all chunks or tiles of a run. */
double crd_run_work(const crd_request *request);
/* Of one chunk that isn't cropped. */
double crd_chunk_work(const crd_net *net, const int64_t chunk[3], int64_t samples);

#endif
