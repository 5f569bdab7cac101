#include "view/jobs/steps.h"

#include <stdio.h>

#include "base/memory.h"
#include "view/jobs/command.h"
#include "view/jobs/jobs_inside.h"
#include "view/jobs/scoring.h"
#include "view/loop/boxes.h"
#include "view/runs.h"
#include "view/view.h"

crd_status crd_steps_held_out(crd_view *view, crd_job *job)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t count = 0;
    CRD_TRY(crd_boxes_read(view->project, &boxes, &count));
    for (int64_t i = 0; i < count; i++) {
        char words[CRD_BOX_WORDS];
        if (boxes[i].role == CRD_BOX_TRAIN) continue;
        crd_box_words(&boxes[i].box, words);
        CRD_TRY(crd_words_add(&job->parts, words));
    }
    if (job->parts.count == 0) CRD_FAIL(CRD_ERR_ARGUMENT, "there is no held-out box yet: add one first");
done:
    crd_free(&boxes);
    return status;
}

int64_t crd_steps_count(const crd_job *job)
{
    if (job->parts.count == 0) return 1;
    return job->kind == CRD_JOB_SCORE ? crd_scoring_steps(job) : job->parts.count;
}

static void name_run(int64_t step, char name[CRD_JOB_RUN])
{
    snprintf(name, CRD_JOB_RUN, "box-%lld", (long long)step + 1);
}

crd_status crd_steps_words(crd_view *view, crd_job *job)
{
    char run[CRD_JOB_RUN];
    if (job->kind == CRD_JOB_SCORE) return crd_scoring_words(view, job);
    if (job->step >= job->parts.count) return crd_fail(CRD_ERR_INTERNAL, "a step that isn't one");
    name_run(job->step, run);
    crd_words_free(&job->words);
    return crd_command_box(view, job, job->parts.items[job->step], "zarr", run);
}

crd_status crd_steps_show(crd_view *view, const crd_job *job, int64_t step)
{
    crd_status status = CRD_OK;
    char run[CRD_JOB_RUN], *folder = NULL;
    if (job->kind != CRD_JOB_PREDICT) return CRD_OK;
    name_run(step, run);
    CRD_TRY(crd_job_path(view->jobs->project, job, run, &folder));
    if (crd_run_look(folder) == CRD_RUN_COMPLETE) status = crd_runs_show_part(view, folder, job->folder);
done:
    crd_free(&folder);
    return status;
}

crd_status crd_steps_show_all(crd_view *view, const crd_job *job)
{
    for (int64_t step = 0; step < job->parts.count; step++) CRD_PASS(crd_steps_show(view, job, step));
    return CRD_OK;
}

crd_status crd_steps_end(crd_view *view, const crd_job *job)
{
    return job->kind == CRD_JOB_SCORE ? crd_scoring_end(view->jobs->project, job) : CRD_OK;
}
