/* Where a training's data meet what the model that it begins with has learnt from (net/provenance.h). */
#ifndef CRD_TRAIN_HELDOUT_LEARNT_H
#define CRD_TRAIN_HELDOUT_LEARNT_H

#include "net/provenance.h"
#include "train/data/dataset.h"

/* The fingerprint of every scan of a data set; freed with crd_free. */
typedef char crd_scan_name[CRD_SHA256_TEXT];
crd_status crd_learnt_names(const crd_dataset *data, const crd_monitor *monitor, crd_scan_name **out);

/* Before the data set is settled: pairs with the same scan are told so, and the blocks that an earlier training held
 * back from these scans are held back again. */
void crd_learnt_keep_blocks(const crd_provenance *earlier, const crd_scan_name *names, crd_dataset *data);

/* What the model has learnt from when this training ends: that of before and this data set. */
crd_status crd_learnt_join(const crd_provenance *earlier, const crd_scan_name *names, const crd_dataset *data,
                           crd_provenance *out);

/* Whether no exam block of the data set was learnt from before. Of an earlier model that doesn't say, it isn't known:
 * false. */
bool crd_learnt_unseen(const crd_provenance *earlier, const crd_scan_name *names, const crd_dataset *data);

#endif
