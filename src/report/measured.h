/* The section of a report about properties of the realisations. */
#ifndef CRD_REPORT_MEASURED_H
#define CRD_REPORT_MEASURED_H

#include "report/page.h"

/* Is there a measure.json in its folder? */
bool crd_page_is_measured(const crd_reported_run *run);
/* What measure.json in a run folder says; nothing where credence measure wasn't called. */
crd_status crd_page_measured(crd_text *page, const crd_reported_run *runs, int count);

#endif
