/* What a model keeps about the scans it was trained on. */
#ifndef CRD_TRAIN_RECORD_H
#define CRD_TRAIN_RECORD_H

#include "chunk/scan.h"
#include "credence/model.h"

/* Adds a scan's statistics to those of the scans before it. Histograms of other ranges are moved over bin by bin. */
void crd_record_join(crd_training_record *record, const crd_scan *scan);

#endif
