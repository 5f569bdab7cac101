/* What a model's file says of how far the network errs on whole scans (/intervals). It is no part of the file's
 * checksum, which programs that don't know it compute as well: it has one of its own in that the median is that of the
 * offsets. */
#ifndef CRD_NET_STORE_SYSTEMATIC_H
#define CRD_NET_STORE_SYSTEMATIC_H

#include "credence/model.h"
#include "net/store/store.h"

/* Fills the medians from the offsets. */
void crd_systematic_conclude(int classes, crd_systematic *systematic);

/* Nothing where nothing is known. */
crd_status crd_systematic_write(crd_store *store, int classes, const crd_systematic *systematic);
/* All zero where the file has none. */
crd_status crd_systematic_read(crd_store *store, int classes, crd_systematic *out);

#endif
