/* The values of a propagation while it runs and when it is over: kept in a folder, so that it can be resumed, and
 * gathered into an interval. */
#ifndef CRD_PROPAGATE_RESULTS_H
#define CRD_PROPAGATE_RESULTS_H

#include <stdatomic.h>

#include "credence/propagate.h"
#include "propagate/form.h"

/* The segmentation, where there is one, then the realisations. */
typedef struct crd_result {
    int64_t bit;
    double value, seconds; /* a value that isn't defined is NaN */
    atomic_bool done;      /* set by who works on it, after the others */
} crd_result;

typedef struct crd_results {
    crd_result *items;
    int64_t count;
    char *identity; /* what must be the same to go on: command, run, form */
    char *folder;
} crd_results;

crd_status crd_results_open(const crd_propagate_options *options, const crd_export_plan *plan, crd_results *out);
void crd_results_close(crd_results *results);

/* What is done, for a later call. */
crd_status crd_results_save(const crd_results *results, const crd_export_plan *plan);

/* Statistics over what is done, and propagate.json and propagate.csv. */
crd_status crd_results_gather(const crd_results *results, const crd_propagate_options *options,
                              const crd_export_plan *plan, crd_propagation **out);

#endif
