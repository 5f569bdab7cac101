#include "view/jobs/scoring.h"

#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/jobs/command.h"
#include "view/loop/score.h"
#include "view/view.h"

crd_status crd_scoring_begin(crd_view *view, crd_job *job, const char *folder)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t count = 0;
    CRD_TRY(crd_loop_examine(view->loop, view->labels, folder, &boxes, &count));
    for (int64_t i = 0; i < count; i++) {
        char words[CRD_BOX_WORDS];
        crd_box_words(&boxes[i].box, words);
        CRD_TRY(crd_words_add(&job->parts, words));
    }
done:
    crd_free(&boxes);
    return status;
}

int64_t crd_scoring_steps(const crd_job *job)
{
    return 2 * job->parts.count;
}

crd_status crd_scoring_words(crd_view *view, crd_job *job)
{
    char run[40];
    const int64_t box = job->step / 2;
    if (box >= job->parts.count) return crd_fail(CRD_ERR_INTERNAL, "a step that isn't one");
    snprintf(run, sizeof run, "box-%lld", (long long)(box + 1));
    crd_words_free(&job->words);
    if (job->step % 2 == 0) return crd_command_exam(view, job, job->parts.items[box], run);
    return crd_command_validate(view, job, run);
}

crd_status crd_scoring_end(const char *project, const crd_job *job)
{
    crd_status status = CRD_OK;
    crd_exam_box *boxes = NULL;
    crd_score score;
    char name[64], *path = NULL;
    CRD_TRY(crd_alloc(job->parts.count + 1, sizeof *boxes, "the exam boxes", &boxes));
    for (int64_t i = 0; i < job->parts.count; i++) {
        snprintf(name, sizeof name, "box-%lld/validation.json", (long long)(i + 1));
        crd_free(&path);
        CRD_TRY(crd_job_path(project, job, name, &path));
        CRD_TRY(crd_exam_box_read(path, &boxes[i]));
    }
    crd_score_of(boxes, job->parts.count, &score);
    crd_free(&path);
    snprintf(name, sizeof name, "iterations/%03lld/score.json", (long long)job->iteration);
    CRD_TRY(crd_join_path(project, name, "", &path));
    CRD_TRY(crd_score_write(path, &score));
done:
    crd_free(&boxes);
    crd_free(&path);
    return status;
}
