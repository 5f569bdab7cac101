/* How the blocks of the network hang together, beyond the chain: skips, merges and dropout sites, for the reference. */
#ifndef CRD_NET_REFERENCE_GRAPH_H
#define CRD_NET_REFERENCE_GRAPH_H

#include "net/net.h"

/* The block whose output an `up` block is merged with; -1 for all others. */
static inline int crd_ref_skip_of(int i)
{
    return i == CRD_D3UP ? CRD_E3B : i == CRD_D2UP ? CRD_E2B : i == CRD_D1UP ? CRD_E1B : -1;
}

static inline bool crd_ref_is_skip(int i)
{
    return i == CRD_E3B || i == CRD_E2B || i == CRD_E1B;
}

static inline int crd_ref_merge_after(int i)
{
    return i == CRD_D3UP ? CRD_MERGE3 : i == CRD_D2UP ? CRD_MERGE2 : i == CRD_D1UP ? CRD_MERGE1 : -1;
}

static inline int crd_ref_mask_after(int i)
{
    return i == CRD_E4B   ? CRD_MASK_LATENT
           : i == CRD_D3B ? CRD_MASK_D3
           : i == CRD_D2B ? CRD_MASK_D2
           : i == CRD_D1B ? CRD_MASK_D1
                          : -1;
}

#endif
