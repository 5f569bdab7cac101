/* The statistics that a run's norms are frozen at: measured once, kept in the run folder as norms.h5, the same for all
 * processes and for a run that is resumed. */
#ifndef CRD_PREDICT_NORMS_H
#define CRD_PREDICT_NORMS_H

#include "predict/run.h"

/* Fills r->moments and their fingerprint, and of rank 0's r->match what the model's pieces say; nothing where every
 * chunk has its own. All processes call it together, before the run is identified: a run that is resumed goes on with
 * the same. */
crd_status crd_norms_prepare(crd_predict_run *r);
/* Writes the file where they are new, once the folder is ready for it. Rank 0. */
crd_status crd_norms_keep(crd_predict_run *r);
/* Of a run that is complete, as far as its folder still has them. Rank 0. */
crd_status crd_norms_of_complete(crd_predict_run *r);

#endif
