/* Where finished voxels leave a run that has no folder: the caller's sink (credence/sink.h). */
#ifndef CRD_PREDICT_OUTLET_H
#define CRD_PREDICT_OUTLET_H

#include "credence/sink.h"
#include "predict/sums/accumulate.h"

typedef struct crd_outlet crd_outlet;

/* Borrows the request and the sink. The request's outputs are known. */
crd_status crd_outlet_open(const crd_request *request, const crd_sink *sink, crd_outlet **out);
void crd_outlet_close(crd_outlet **outlet);

/* `box` in the scan; the voxels are of the output's type. Any thread; of one output one at a time. */
crd_status crd_outlet_put(crd_outlet *outlet, int64_t output, const crd_box *box, const void *voxels);
/* All outputs of a finished slice; one thread. */
crd_status crd_outlet_put_slice(crd_outlet *outlet, const crd_slice *slice);
/* All is there, and the run's manifest and other small files lie in the folder. */
crd_status crd_outlet_end(crd_outlet *outlet, const char *folder);

/* A new folder below $TMPDIR for what a run without one keeps on the disk. Free the path with crd_free. */
crd_status crd_outlet_make_folder(char **path);
/* Removes it with all that is in it. */
void crd_outlet_remove_folder(const char *path);

#endif
