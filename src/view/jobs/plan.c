/* From what is wanted to a job, and what it would take. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "view/jobs/command.h"
#include "view/jobs/estimate.h"
#include "view/jobs/jobs_inside.h"
#include "view/jobs/steps.h"
#include "view/view.h"

static const double plan_seconds = 120.0;

/* The training whose model it is: of the iteration that was asked for, else the latest; NULL: the model that the viewer
 * was given. */
static crd_status find_model(crd_view *view, const crd_wishes *wishes, const crd_job **out)
{
    const crd_jobs *jobs = view->jobs;
    char name[CRD_JOB_FOLDER];
    *out = NULL;
    for (int i = jobs->count - 1; i >= 0; i--) {
        const crd_job *job = jobs->items[i];
        snprintf(name, sizeof name, "iterations/%03lld/model.h5", (long long)job->iteration);
        const bool wanted = wishes->iteration < 0 || wishes->iteration == job->iteration;
        if (job->kind != CRD_JOB_TRAIN || job->state != CRD_JOB_DONE || !wanted || !crd_jobs_exists(jobs, name)) {
            continue;
        }
        *out = job;
        return CRD_OK;
    }
    if (wishes->iteration <= 0 && view->model != NULL) return CRD_OK;
    if (wishes->iteration >= 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "iteration %lld has no model", (long long)wishes->iteration);
    }
    return crd_fail(CRD_ERR_ARGUMENT, "there is no model yet: train one first, or start with --model FILE");
}

static void choose_folder(const crd_jobs *jobs, crd_job *job)
{
    if (job->kind == CRD_JOB_TRAIN) {
        job->iteration = 1;
        while (snprintf(job->folder, sizeof job->folder, "iterations/%03lld", (long long)job->iteration) > 0 &&
               crd_jobs_exists(jobs, job->folder)) {
            job->iteration++;
        }
        return;
    }
    for (int k = 1;; k++) {
        snprintf(job->folder, sizeof job->folder, "iterations/%03lld/%s/%d", (long long)job->iteration,
                 job->kind == CRD_JOB_SCORE ? "exam" : "runs", k);
        if (!crd_jobs_exists(jobs, job->folder)) return;
    }
}

static crd_status choose_model(crd_view *view, const crd_wishes *wishes, crd_job *job)
{
    const crd_job *from;
    if (job->kind == CRD_JOB_TRAIN && wishes->iteration < 0) return CRD_OK;
    CRD_PASS(find_model(view, wishes, &from));
    const int64_t iteration = from != NULL ? from->iteration : 0;
    if (job->kind != CRD_JOB_PREDICT && from != NULL && from->loop != job->loop) {
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "iteration %lld belongs to an earlier loop: it may have learnt from what is held out now; train "
            "from scratch",
            (long long)iteration);
    }
    if (from != NULL) snprintf(job->model, sizeof job->model, "@/iterations/%03lld/model.h5", (long long)iteration);
    job->warm = job->kind == CRD_JOB_TRAIN;
    job->from = iteration;
    if (!job->warm) job->iteration = iteration;
    return CRD_OK;
}

crd_status crd_job_prepare(crd_view *view, const crd_wishes *wishes, crd_job *job)
{
    crd_loop_facts facts;
    memset(job, 0, sizeof *job);
    job->kind = wishes->kind;
    job->examine = wishes->examine;
    job->left = NAN;
    if (view->layers.items[0].kind != CRD_LAYER_SCAN) {
        return crd_fail(CRD_ERR_ARGUMENT, "there is no scan here to work on");
    }
    if (crd_project_read_only(view->project)) {
        return crd_fail(CRD_ERR_ARGUMENT, "the viewer was started with --read-only: it starts no jobs");
    }
    CRD_PASS(crd_loop_describe(view->loop, &facts));
    job->loop = facts.number;
    job->check = facts.check > 0;
    CRD_PASS(choose_model(view, wishes, job));
    choose_folder(view->jobs, job);
    return CRD_OK;
}

crd_status crd_job_words_of(crd_view *view, const crd_wishes *wishes, crd_job *job)
{
    for (int64_t i = 0; i < wishes->words.count; i++) CRD_PASS(crd_words_add(&job->wishes, wishes->words.items[i]));
    for (int64_t i = 0; i < wishes->exam.count; i++) CRD_PASS(crd_words_add(&job->exam, wishes->exam.items[i]));
    if (job->kind == CRD_JOB_TRAIN) return crd_command_train(view, job);
    if (wishes->held_out) CRD_PASS(crd_steps_held_out(view, job));
    return job->kind == CRD_JOB_PREDICT && job->parts.count == 0 ? crd_command_predict(view, job)
                                                                 : crd_steps_words(view, job);
}

/* ---- what it would take ---- */

static crd_status ask(const char *project, const crd_job *job, cJSON **out)
{
    crd_status status = CRD_OK;
    crd_text_list words = {0};
    char **vector = NULL, *said = NULL;
    CRD_TRY(crd_job_words(project, job, false, &words));
    CRD_TRY(crd_words_add(&words, "--dry-run"));
    CRD_TRY(crd_alloc(words.count + 1, sizeof *vector, "the words of a command", &vector));
    /* Its errors as sentences, not as JSON; and no folder, which a job may take meanwhile. */
    for (int64_t i = 0, k = 0; i < words.count; i++) {
        if (strcmp(words.items[i], "--progress") == 0 || strcmp(words.items[i], "--output") == 0) {
            i++;
        } else {
            vector[k++] = words.items[i];
        }
    }
    CRD_TRY(crd_process_ask(vector, plan_seconds, &said));
    *out = cJSON_Parse(said);
    if (*out == NULL) CRD_FAIL(CRD_ERR_SYSTEM, "the plan of the job can't be understood");
done:
    crd_free(&vector);
    crd_free(&said);
    crd_words_free(&words);
    return status;
}

static void add_number(crd_text *text, const char *key, const cJSON *object, const char *name, double times)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    crd_text_print(text, ",\"%s\":", key);
    crd_text_real(text, cJSON_IsNumber(item) ? times * item->valuedouble : NAN);
}

crd_status crd_jobs_plan(crd_view *view, const crd_wishes *wishes, crd_text *text)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    crd_job job = {0};
    crd_text command = {0};
    char *words = NULL;
    cJSON *plan = NULL;
    double seconds = NAN;
    pthread_mutex_lock(&jobs->lock);
    if (wishes->kind == CRD_JOB_SCORE) status = crd_fail(CRD_ERR_ARGUMENT, "do must be train or predict");
    if (status == CRD_OK) status = crd_job_prepare(view, wishes, &job);
    if (status == CRD_OK) status = crd_job_words_of(view, wishes, &job);
    const bool train = job.kind == CRD_JOB_TRAIN;
    if (status == CRD_OK && train) {
        seconds = crd_estimate_training(jobs->project, (const crd_job *const *)jobs->items, jobs->count, &job);
    }
    pthread_mutex_unlock(&jobs->lock);
    CRD_TRY(status);
    const double steps = (double)crd_steps_count(&job);
    if (!train) CRD_TRY(ask(jobs->project, &job, &plan));
    crd_words_shell(jobs->project, &job.words, &command);
    CRD_TRY(crd_text_finish(&command, &words));
    crd_text_print(text, "{\"do\":\"%s\",\"iteration\":%lld,\"command\":", crd_job_kinds[job.kind],
                   (long long)job.iteration);
    crd_text_json(text, words);
    if (train) {
        crd_text_add(text, ",\"seconds\":");
        crd_text_real(text, seconds);
    } else {
        add_number(text, "seconds", plan, "eta_seconds", steps); /* boxes are alike */
    }
    add_number(text, "memory", plan, "memory_bytes", 1.0);
    add_number(text, "disk", plan, "disk_bytes", steps);
    crd_text_add(text, "}\n");
done:
    cJSON_Delete(plan);
    crd_free(&words);
    crd_job_free(&job);
    return status;
}
