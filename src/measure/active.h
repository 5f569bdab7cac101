/* Inside src/measure: active triple lines, where three phases meet that each join both end faces of the window. */
#ifndef CRD_MEASURE_ACTIVE_H
#define CRD_MEASURE_ACTIVE_H

#include "measure/slow.h"

/* Adds them, of every three phases and along every axis of the plan. */
crd_status crd_active_add(const crd_slow_plan *plan, crd_measurement *m);

/* Bytes that it takes. */
int64_t crd_active_bytes(const crd_realisations_info *info);

/* Can they be measured: three to CRD_TRIPLES_MAX phases, joined across faces, within the memory? */
crd_status crd_active_check(const crd_realisations_info *info, int64_t connectivity, int64_t memory_bytes);

#endif
