/* What the processes of a job must have in common before they start, and how they share a machine. */
#ifndef CRD_DIST_AGREE_H
#define CRD_DIST_AGREE_H

#include "credence/settings.h"
#include "dist/dist.h"

/* Refuses processes whose `text` differs; `what` is named in the sentence ("settings"). Collective. */
crd_status crd_dist_agree(crd_dist *dist, const char *what, const char *text);
/* The same for a struct of options and this program's version. The number of threads may differ. Collective. */
crd_status crd_dist_agree_options(crd_dist *dist, const crd_settings *table, const void *options);

/* The instruction path that every process can take: the best of the weakest processor. Says so where it isn't this
 * one's best. Collective. */
crd_status crd_dist_agree_isa(crd_dist *dist, const crd_monitor *monitor, const char **isa);

/* `asked`, or where that is 0 this process's share of the cores that it may run on: processes on one machine that may
 * run on the same cores divide them. Collective. */
crd_status crd_dist_threads(crd_dist *dist, int64_t asked, int64_t *threads);

/* "8 processes on 2 machines", for people. Collective. */
crd_status crd_dist_describe(crd_dist *dist, char *text, int64_t bytes);

#endif
