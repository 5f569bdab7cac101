#include "view/jobs/scoring.h"

#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/jobs/command.h"
#include "view/labels/learnt.h"
#include "view/labels/operation.h"
#include "view/loop/score.h"
#include "view/view.h"

/* A class that the model never met can't be right: two classes would take it for the one that isn't looked for. */
static crd_status check_classes(const crd_view *view, const crd_job *job, const char *folder)
{
    crd_status status = CRD_OK;
    bool learnt[256] = {false}, asked[256] = {false};
    char name[64], *image = NULL;
    int count = 0;
    snprintf(name, sizeof name, "iterations/%03lld/label.zarr", (long long)job->iteration);
    CRD_TRY(crd_join_path(crd_project_folder(view->project), name, "", &image));
    CRD_TRY(crd_labels_met(image, learnt));
    crd_free(&image);
    CRD_TRY(crd_join_path(folder, "exam.zarr", "", &image));
    CRD_TRY(crd_labels_met(image, asked));
    for (int k = 0; k < CRD_PAINT_CLASSES; k++) count += learnt[k];
    for (int k = 0; k < CRD_PAINT_CLASSES && count > 0; k++) { /* none: it learnt from a file */
        if (!asked[k] || learnt[k]) continue;
        CRD_FAIL(CRD_ERR_ARGUMENT,
                 "the exam boxes hold labels of class %d, from which iteration %lld hasn't learnt: take them away, or "
                 "train with that class first",
                 k, (long long)job->iteration);
    }
done:
    crd_free(&image);
    return status;
}

crd_status crd_scoring_begin(crd_view *view, crd_job *job, const char *folder)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t count = 0;
    CRD_TRY(crd_loop_examine(view->loop, view->labels, folder, &boxes, &count));
    CRD_TRY(check_classes(view, job, folder));
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
    if (job->step % 2 == 0) return crd_command_box(view, job, job->parts.items[box], "npy", run);
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
        if (!boxes[i].seen) continue; /* as a model is that the viewer was given, and what began with it */
        CRD_FAIL(CRD_ERR_ARGUMENT,
                 "the model of iteration %lld has learnt from labels in the exam box %s, where it can't be judged: "
                 "hold out other boxes, or train from scratch",
                 (long long)job->iteration, job->parts.items[i]);
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
