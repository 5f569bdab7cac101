/* The statistics that a run's norms are frozen at: measured once, kept in the run folder as norms.h5, the same for all
 * processes and for a run that is resumed. */
#ifndef CRD_PREDICT_NORMS_H
#define CRD_PREDICT_NORMS_H

#include "predict/run.h"

/* Fills r->moments, and of r->likeness what the model's pieces say; nothing where every chunk has its own. All
 * processes call it together. */
crd_status crd_norms_prepare(crd_predict_run *r);

#endif
