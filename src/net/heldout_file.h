/* The figures of what was held back, in a model's file. */
#ifndef CRD_NET_HELDOUT_FILE_H
#define CRD_NET_HELDOUT_FILE_H

#include "credence/model.h"
#include "net/store/store.h"

/* Nothing where nothing was held back. */
crd_status crd_heldout_write(crd_store *store, const crd_heldout *heldout);
/* All zero where the file has none. */
crd_status crd_heldout_read(crd_store *store, crd_heldout *out);

#endif
