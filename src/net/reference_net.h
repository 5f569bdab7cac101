/* The textbook network: one example forward and backward by the operations of ops/reference.h, walking the table of
 * net/net.h. The oracle of the engine, in float (crd_ref_net_*_f) and double (crd_ref_net_*_d): see ops/reference.h for
 * how. Weights and gradients are in the point layout; `masks` is one set of dropout masks, or NULL for none. */
#ifndef CRD_NET_REFERENCE_NET_H
#define CRD_NET_REFERENCE_NET_H

#include "net/net.h"
#include "ops/reference.h"

#include "ops/real_float.h"

#include "net/reference_net_declare.h"

#include "ops/real_none.h"

#include "ops/real_double.h"

#include "net/reference_net_declare.h"

#include "ops/real_none.h"

#endif
