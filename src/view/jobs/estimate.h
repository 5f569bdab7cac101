/* How long a training takes, from what earlier ones took. */
#ifndef CRD_VIEW_ESTIMATE_H
#define CRD_VIEW_ESTIMATE_H

#include "view/jobs/job.h"

/* Seconds, from the latest training of the project with the same options but for the number of steps; NaN: there is
 * none to go by. */
double crd_estimate_training(const char *project, const crd_job *const *jobs, int count, const crd_job *job);

/* The same from words alone: `took` seconds for `steps` steps with `before`. */
double crd_estimate_of(const crd_text_list *before, double took, double steps, const crd_text_list *now);

#endif
