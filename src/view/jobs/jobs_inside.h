/* What the files about jobs share. */
#ifndef CRD_VIEW_JOBS_INSIDE_H
#define CRD_VIEW_JOBS_INSIDE_H

#include <pthread.h>

#include "view/jobs/jobs.h"

enum { CRD_JOBS_MOST = 2048, CRD_ITERATIONS_MOST = 1000 };

struct crd_jobs {
    pthread_mutex_t lock;
    char *project;
    crd_job *items[CRD_JOBS_MOST];
    int count;
};

/* All under the lock. NULL: there is none. */
crd_job *crd_jobs_find(crd_jobs *jobs, int64_t number);
crd_job *crd_jobs_now(crd_jobs *jobs);
/* Is there a file or folder of that name in the project? */
bool crd_jobs_exists(const crd_jobs *jobs, const char *name);

/* As crd_jobs_start. */
crd_status crd_jobs_begin(crd_view *view, const crd_wishes *wishes, int64_t *number);

/* view/jobs/follow.c: an event, "job" or "progress". */
void crd_jobs_tell(crd_view *view, const crd_job *job, const char *event);

/* view/jobs/plan.c: the job as it would be started; nothing is written, and it has no words yet. */
crd_status crd_job_prepare(crd_view *view, const crd_wishes *wishes, crd_job *job);
crd_status crd_job_words_of(crd_view *view, const crd_wishes *wishes, crd_job *job);

#endif
