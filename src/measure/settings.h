/* Inside src/measure: options whose text has a form of its own. */
#ifndef CRD_MEASURE_SETTINGS_H
#define CRD_MEASURE_SETTINGS_H

#include "base/error.h"
#include "credence/measure.h"

/* "fast,thickness" -> CRD_WANT_...; `name` is the setting's, for the sentence. */
crd_status crd_parse_properties(const char *name, const char *text, unsigned *wanted);
/* "0-15", or "16": the first so many, which starts at `first`. */
crd_status crd_parse_samples(const char *name, const char *text, int64_t *first, int64_t *count, bool *from_start);
/* "zyx" -> which of the axes. */
crd_status crd_parse_axes(const char *name, const char *text, bool axes[3]);
/* "0,2"; "all" gives a count of -1. Free the items with crd_free. */
crd_status crd_parse_phases(const char *name, const char *text, crd_real_list *out);

/* "1=1,2=0.3": what phases, by their values, conduct. Free `items`. */
crd_status crd_parse_conductivity(const char *name, const char *text, crd_pair_list *out);

#endif
