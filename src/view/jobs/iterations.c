/* Iterations: each training with what came of it. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/jobs/jobs_inside.h"
#include "view/loop/score.h"
#include "view/view.h"

enum { SCORE_BYTES = 1 << 16 };

/* Those of the loop that goes on now that were judged. */
typedef struct history {
    double errors[CRD_ITERATIONS_MOST];
    bool warm[CRD_ITERATIONS_MOST];
    int64_t count;
} history;

static cJSON *read_score(const crd_jobs *jobs, int64_t iteration)
{
    char name[64], *path = NULL, *words = NULL;
    cJSON *score = NULL;
    snprintf(name, sizeof name, "iterations/%03lld/score.json", (long long)iteration);
    if (crd_join_path(jobs->project, name, "", &path) == CRD_OK && access(path, F_OK) == 0 &&
        crd_read_file(path, SCORE_BYTES, &words, NULL) == CRD_OK) {
        score = cJSON_Parse(words);
    }
    crd_free(&path);
    crd_free(&words);
    return score;
}

static void add_score(const crd_jobs *jobs, int64_t iteration, const crd_job *training, int64_t loop, history *past,
                      crd_text *text)
{
    char *words = NULL;
    cJSON *score = read_score(jobs, iteration);
    const cJSON *error = cJSON_GetObjectItem(score, "error");
    const bool known = cJSON_IsNumber(error) && crd_json_print(score, true, &words) == CRD_OK;
    crd_text_add(text, ",\"score\":");
    crd_text_add(text, known ? words : "null");
    if (known && training != NULL && training->loop == loop) {
        past->errors[past->count] = error->valuedouble;
        past->warm[past->count++] = training->warm;
    }
    cJSON_Delete(score);
    crd_free(&words);
}

static void add_facts(const crd_view *view, int64_t iteration, const crd_job *training, int64_t loop, history *past,
                      crd_text *text)
{
    char model[64];
    snprintf(model, sizeof model, "iterations/%03lld/model.h5", (long long)iteration);
    const bool there = iteration == 0
                           ? view->model != NULL
                           : training != NULL && training->state == CRD_JOB_DONE && crd_jobs_exists(view->jobs, model);
    crd_text_print(text, ",\"model\":%s", there ? "true" : "false");
    if (training != NULL) {
        crd_text_print(text, ",\"loop\":%lld,\"warm\":%s,\"from\":", (long long)training->loop,
                       training->warm ? "true" : "false");
        if (training->warm) crd_text_int(text, training->from);
        if (!training->warm) crd_text_add(text, "null");
        if (training->learnt > 0) {
            crd_text_print(text, ",\"labels\":{\"voxels\":%lld,\"boxes\":%lld}", (long long)training->learnt,
                           (long long)training->boxes);
        } else {
            crd_text_add(text, ",\"labels\":null");
        }
    }
    add_score(view->jobs, iteration, training, loop, past, text);
}

static bool add_jobs(const crd_jobs *jobs, int64_t iteration, const char *comma, const crd_job **training,
                     crd_text *text)
{
    bool any = false;
    *training = NULL;
    for (int i = 0; i < jobs->count; i++) {
        const crd_job *job = jobs->items[i];
        if (job->iteration != iteration) continue;
        if (!any) crd_text_print(text, "%s{\"number\":%lld,\"jobs\":[", comma, (long long)iteration);
        if (any) crd_text_add(text, ",");
        crd_job_describe(jobs->project, job, text);
        if (job->kind == CRD_JOB_TRAIN) *training = job;
        any = true;
    }
    if (any) crd_text_add(text, "]");
    return any;
}

crd_status crd_jobs_iterations(crd_view *view, crd_text *text)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    crd_loop_facts facts;
    history *past = NULL;
    const char *comma = "";
    CRD_TRY(crd_loop_describe(view->loop, &facts));
    CRD_TRY(crd_alloc(1, sizeof *past, "the iterations", &past));
    pthread_mutex_lock(&jobs->lock);
    crd_text_add(text, "{\"iterations\":[");
    for (int64_t n = 0; n < CRD_ITERATIONS_MOST; n++) {
        const crd_job *training;
        if (!add_jobs(jobs, n, comma, &training, text)) continue;
        add_facts(view, n, training, facts.number, past, text);
        crd_text_add(text, "}");
        comma = ",";
    }
    pthread_mutex_unlock(&jobs->lock);
    crd_text_print(text, "],\"loop\":%lld,\"scratch\":%s}\n", (long long)facts.number,
                   crd_score_rises(past->errors, past->warm, past->count) ? "true" : "false");
done:
    crd_free(&past);
    return status;
}
