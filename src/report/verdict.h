/* One sentence on a run, from its figures alone. */
#ifndef CRD_REPORT_VERDICT_H
#define CRD_REPORT_VERDICT_H

#include "base/text.h"
#include "report/reported_run.h"

/* Above this step of the probability the borders of tiles can be seen, */
#define CRD_VERDICT_BORDER 0.01
/* and from these on a scan is unlike the training scans, as a prediction warns. */
#define CRD_VERDICT_ERRORS 1.5
#define CRD_VERDICT_GREYS  0.1

/* "class " before the name of one that is called as its label's value, else "". */
const char *crd_verdict_class(const char *name);
/* The share of the foreground in the segmentation. */
double crd_verdict_fraction(const crd_reported_run *run);
/* Whether the manifest has an interval that holds what the network gets wrong as a whole. */
bool crd_verdict_interval_known(const crd_reported_run *run);
/* The range of the samples' volume fractions, and of how many percent of them ("90", or "33-67" between those
 * percentiles; borrowed); false where the manifest has none. */
bool crd_verdict_samples_range(const crd_reported_run *run, double range[2], const char **percent);

/* What there is, and what can be said for it; of two runs what both say, and where they agree. Into HTML. */
crd_status crd_verdict_say(crd_text *page, crd_reported_run *runs, int count);

#endif
