#include "view/jobs/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "view/jobs/command.h"
#include "view/jobs/estimate.h"
#include "view/view.h"

enum { MOST_JOBS = 2048, ITERATIONS = 1000 };
static const double plan_seconds = 120.0;

struct crd_jobs {
    pthread_mutex_t lock;
    char *project;
    crd_job *items[MOST_JOBS];
    int count;
};

/* ---- what the project has ---- */

static crd_status keep(crd_jobs *jobs, const crd_job *job)
{
    crd_job *kept = NULL;
    if (jobs->count == MOST_JOBS) return crd_fail(CRD_ERR_UNSUPPORTED, "the project has too many jobs");
    CRD_PASS(crd_alloc(1, sizeof *kept, "a job", &kept));
    *kept = *job;
    jobs->items[jobs->count++] = kept;
    return CRD_OK;
}

/* A folder may be anybody's, and may be half made: what can't be read is passed over. */
static void find_job(crd_jobs *jobs, const char *folder)
{
    crd_job job;
    struct stat about;
    char *path = NULL;
    memset(&job, 0, sizeof job);
    snprintf(job.folder, sizeof job.folder, "%s", folder);
    const bool there = crd_job_path(jobs->project, &job, "job.json", &path) == CRD_OK && stat(path, &about) == 0;
    crd_free(&path);
    if (there && crd_job_read(jobs->project, folder, &job) == CRD_OK && keep(jobs, &job) != CRD_OK) crd_job_free(&job);
}

static int by_number(const void *a, const void *b)
{
    const crd_job *const *first = a, *const *second = b;
    return ((*first)->number > (*second)->number) - ((*first)->number < (*second)->number);
}

static void find_jobs(crd_jobs *jobs)
{
    char folder[CRD_JOB_FOLDER];
    struct stat about;
    for (int i = 0; i < ITERATIONS; i++) {
        char *path = NULL;
        snprintf(folder, sizeof folder, "iterations/%03d", i);
        const bool there = crd_join_path(jobs->project, folder, "", &path) == CRD_OK && stat(path, &about) == 0;
        crd_free(&path);
        if (!there && i > 0) break;
        find_job(jobs, folder);
        for (int k = 1; there; k++) {
            snprintf(folder, sizeof folder, "iterations/%03d/runs/%d", i, k);
            if (crd_join_path(jobs->project, folder, "", &path) != CRD_OK || stat(path, &about) != 0) {
                crd_free(&path);
                break;
            }
            crd_free(&path);
            find_job(jobs, folder);
        }
    }
    qsort(jobs->items, (size_t)jobs->count, sizeof jobs->items[0], by_number);
}

static crd_job *find(crd_jobs *jobs, int64_t number)
{
    for (int i = 0; i < jobs->count; i++) {
        if (jobs->items[i]->number == number) return jobs->items[i];
    }
    return NULL;
}

static crd_job *running(crd_jobs *jobs)
{
    for (int i = 0; i < jobs->count; i++) {
        if (jobs->items[i]->state == CRD_JOB_RUNNING) return jobs->items[i];
    }
    return NULL;
}

/* Its result is shown from now on, as far as it is there. */
static void show_run(crd_view *view, const crd_job *job)
{
    char *folder = NULL;
    if (!job->train && crd_job_path(view->jobs->project, job, "run", &folder) == CRD_OK &&
        crd_runs_follow(view, folder, job->folder) != CRD_OK) {
        crd_view_complain(view);
    }
    crd_free(&folder);
}

crd_status crd_jobs_open(crd_view *view)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = NULL;
    CRD_PASS(crd_alloc(1, sizeof *jobs, "the jobs", &jobs));
    if (pthread_mutex_init(&jobs->lock, NULL) != 0) {
        crd_free(&jobs);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    view->jobs = jobs;
    CRD_TRY(crd_strdup(crd_project_folder(view->project), &jobs->project));
    find_jobs(jobs);
    const crd_job *shown = running(jobs);
    for (int i = jobs->count - 1; i >= 0 && shown == NULL; i--) { /* else the latest that there is */
        if (!jobs->items[i]->train && jobs->items[i]->state == CRD_JOB_DONE) shown = jobs->items[i];
    }
    if (shown != NULL && (shown->state == CRD_JOB_RUNNING || !view->run_given)) show_run(view, shown);
done:
    return status;
}

void crd_jobs_close(crd_jobs **jobs)
{
    if (*jobs == NULL) return;
    for (int i = 0; i < (*jobs)->count; i++) {
        crd_job_free((*jobs)->items[i]);
        crd_free(&(*jobs)->items[i]);
    }
    crd_free(&(*jobs)->project);
    pthread_mutex_destroy(&(*jobs)->lock);
    crd_free(jobs);
}

/* ---- telling ---- */

static void tell(crd_view *view, const crd_job *job, const char *event)
{
    crd_text text = {0};
    char *json = NULL;
    if (strcmp(event, "progress") == 0) {
        crd_job_progress(job, &text);
    } else {
        crd_text_print(&text, "{\"number\":%lld}", (long long)job->number);
    }
    if (crd_text_finish(&text, &json) == CRD_OK) crd_events_add(view->events, event, json);
    crd_free(&json);
    view->http->wake(view->server);
}

static void note_error(crd_view *view, crd_status status)
{
    if (status != CRD_OK) crd_view_complain(view);
}

void crd_jobs_look(crd_view *view)
{
    crd_jobs *jobs = view->jobs;
    bool progressed = false;
    pthread_mutex_lock(&jobs->lock);
    crd_job *job = running(jobs);
    if (job != NULL) {
        const bool there = crd_process_runs(&job->process); /* before the log: what it says last is read, too */
        crd_job_follow(jobs->project, job, &progressed);
        if (progressed) tell(view, job, "progress");
        if (there && job->kill_at > 0.0 && crd_seconds() > job->kill_at) crd_process_signal(&job->process, SIGKILL);
        if (!there) {
            crd_job_end(jobs->project, job);
            note_error(view, crd_job_write(jobs->project, job));
            if (!job->train && job->state != CRD_JOB_DONE) crd_runs_forget(view, job->folder);
            tell(view, job, "job");
        }
    }
    pthread_mutex_unlock(&jobs->lock);
}

/* ---- starting ---- */

static int64_t next_number(const crd_jobs *jobs)
{
    return jobs->count > 0 ? jobs->items[jobs->count - 1]->number + 1 : 1;
}

static bool exists(const crd_jobs *jobs, const char *name)
{
    char *path = NULL;
    const bool there = crd_join_path(jobs->project, name, "", &path) == CRD_OK && access(path, F_OK) == 0;
    crd_free(&path);
    return there;
}

/* "@/iterations/002/model.h5" of the iteration that was asked for, else of the latest; or the model that was given. */
static crd_status find_model(crd_view *view, const crd_wishes *wishes, char model[CRD_JOB_FOLDER], int64_t *iteration)
{
    const crd_jobs *jobs = view->jobs;
    char name[CRD_JOB_FOLDER];
    const bool given = wishes->iteration == 0 || wishes->iteration < 0;
    for (int i = jobs->count - 1; i >= 0; i--) {
        const crd_job *job = jobs->items[i];
        snprintf(name, sizeof name, "iterations/%03lld/model.h5", (long long)job->iteration);
        const bool wanted = wishes->iteration < 0 || wishes->iteration == job->iteration;
        if (!job->train || job->state != CRD_JOB_DONE || !wanted || !exists(jobs, name)) continue;
        snprintf(model, CRD_JOB_FOLDER, "@/%.40s", name);
        *iteration = job->iteration;
        return CRD_OK;
    }
    *iteration = 0;
    model[0] = '\0';
    if (given && view->model != NULL) return CRD_OK;
    if (wishes->iteration >= 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "iteration %lld has no model", (long long)wishes->iteration);
    }
    return crd_fail(CRD_ERR_ARGUMENT, "there is no model yet: train one first, or start with --model FILE");
}

static void choose_folder(const crd_jobs *jobs, crd_job *job)
{
    if (job->train) {
        job->iteration = 1;
        while (snprintf(job->folder, sizeof job->folder, "iterations/%03lld", (long long)job->iteration) > 0 &&
               exists(jobs, job->folder)) {
            job->iteration++;
        }
        return;
    }
    for (int k = 1;; k++) {
        snprintf(job->folder, sizeof job->folder, "iterations/%03lld/runs/%d", (long long)job->iteration, k);
        if (!exists(jobs, job->folder)) return;
    }
}

/* The job as it would be started; nothing is written. */
static crd_status prepare(crd_view *view, const crd_wishes *wishes, crd_job *job)
{
    char inside[CRD_JOB_FOLDER] = "";
    int64_t from;
    memset(job, 0, sizeof *job);
    job->train = wishes->train;
    job->left = NAN;
    if (view->layers.items[0].kind != CRD_LAYER_SCAN) {
        return crd_fail(CRD_ERR_ARGUMENT, "there is no scan here to work on");
    }
    if (crd_project_read_only(view->project)) {
        return crd_fail(CRD_ERR_ARGUMENT, "the viewer was started with --read-only: it starts no jobs");
    }
    const bool wanted = !job->train || wishes->iteration >= 0;
    if (wanted) CRD_PASS(find_model(view, wishes, inside, job->train ? &from : &job->iteration));
    const char *model = !wanted ? NULL : inside[0] != '\0' ? inside : view->model;
    choose_folder(view->jobs, job);
    return job->train ? crd_command_train(view, wishes, model, job) : crd_command_predict(view, wishes, model, job);
}

static crd_status is_free(crd_jobs *jobs)
{
    const crd_job *job = running(jobs);
    if (job == NULL) return CRD_OK;
    return crd_fail(CRD_ERR_BUSY, "job %lld is running; one at a time", (long long)job->number);
}

static crd_status begin(crd_view *view, crd_job *job)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    char *folder = NULL;
    CRD_TRY(crd_project_claim(view->project));
    CRD_TRY(crd_join_path(jobs->project, job->folder, "", &folder));
    CRD_TRY(crd_make_folders(folder));
    CRD_TRY(crd_command_labels(view, job, folder));
    CRD_TRY(crd_job_start(jobs->project, job, false));
done:
    crd_free(&folder);
    return status;
}

crd_status crd_jobs_start(crd_view *view, const crd_wishes *wishes, int64_t *number)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    crd_job job = {0};
    bool kept = false;
    pthread_mutex_lock(&jobs->lock);
    CRD_TRY(is_free(jobs));
    CRD_TRY(prepare(view, wishes, &job));
    job.number = *number = next_number(jobs);
    CRD_TRY(begin(view, &job));
    CRD_TRY(keep(jobs, &job));
    kept = true;
    show_run(view, &job);
    tell(view, &job, "job");
done:
    if (!kept) crd_job_free(&job);
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

crd_status crd_jobs_resume(crd_view *view, int64_t number)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    pthread_mutex_lock(&jobs->lock);
    crd_job *job = find(jobs, number);
    CRD_TRY(is_free(jobs));
    if (crd_project_read_only(view->project)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "the viewer was started with --read-only: it starts no jobs");
    }
    if (job->state == CRD_JOB_DONE) CRD_FAIL(CRD_ERR_ARGUMENT, "job %lld is done", (long long)number);
    CRD_TRY(crd_project_claim(view->project));
    CRD_TRY(crd_job_start(jobs->project, job, true));
    show_run(view, job);
    tell(view, job, "job");
done:
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

crd_status crd_jobs_show(crd_view *view, int64_t number)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    char *folder = NULL;
    pthread_mutex_lock(&jobs->lock);
    const crd_job *job = find(jobs, number);
    if (job->train)
        CRD_FAIL(CRD_ERR_ARGUMENT, "job %lld isn't a prediction: it has nothing to show", (long long)number);
    CRD_TRY(crd_job_path(jobs->project, job, "run", &folder));
    CRD_TRY(crd_runs_show(view, folder, job->folder));
done:
    pthread_mutex_unlock(&jobs->lock);
    crd_free(&folder);
    return status;
}

crd_status crd_jobs_cancel(crd_view *view, int64_t number)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    pthread_mutex_lock(&jobs->lock);
    crd_job *job = find(jobs, number);
    if (job->state == CRD_JOB_RUNNING && job->kill_at == 0.0) { /* a second signal would end it at once */
        job->kill_at = crd_seconds() + CRD_JOB_PATIENCE;
        crd_process_signal(&job->process, SIGTERM);
        status = crd_job_write(jobs->project, job);
        tell(view, job, "job");
    }
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

/* ---- asking ---- */

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

static void add_number(crd_text *text, const char *key, const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    crd_text_print(text, ",\"%s\":", key);
    crd_text_real(text, cJSON_IsNumber(item) ? item->valuedouble : NAN);
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
    status = prepare(view, wishes, &job);
    if (status == CRD_OK && job.train) {
        seconds = crd_estimate_training(jobs->project, (const crd_job *const *)jobs->items, jobs->count, &job);
    }
    pthread_mutex_unlock(&jobs->lock);
    CRD_TRY(status);
    if (!job.train) CRD_TRY(ask(jobs->project, &job, &plan));
    crd_words_shell(jobs->project, &job.words, &command);
    CRD_TRY(crd_text_finish(&command, &words));
    crd_text_print(text, "{\"do\":\"%s\",\"iteration\":%lld,\"command\":", job.train ? "train" : "predict",
                   (long long)job.iteration);
    crd_text_json(text, words);
    if (job.train) {
        crd_text_add(text, ",\"seconds\":");
        crd_text_real(text, seconds);
    } else {
        add_number(text, "seconds", plan, "eta_seconds");
    }
    add_number(text, "memory", plan, "memory_bytes");
    add_number(text, "disk", plan, "disk_bytes");
    crd_text_add(text, "}\n");
done:
    cJSON_Delete(plan);
    crd_free(&words);
    crd_job_free(&job);
    return status;
}

bool crd_jobs_known(crd_jobs *jobs, int64_t number)
{
    pthread_mutex_lock(&jobs->lock);
    const bool known = find(jobs, number) != NULL;
    pthread_mutex_unlock(&jobs->lock);
    return known;
}

void crd_jobs_describe(crd_view *view, int64_t number, crd_text *text)
{
    crd_jobs *jobs = view->jobs;
    pthread_mutex_lock(&jobs->lock);
    const crd_job *job = number > 0 ? find(jobs, number) : jobs->count > 0 ? jobs->items[jobs->count - 1] : NULL;
    if (number == 0 && running(jobs) != NULL) job = running(jobs); /* an earlier one that was resumed */
    if (job != NULL) {
        crd_job_describe(jobs->project, job, text);
    } else {
        crd_text_add(text, "null");
    }
    pthread_mutex_unlock(&jobs->lock);
}

void crd_jobs_iterations(crd_view *view, crd_text *text)
{
    crd_jobs *jobs = view->jobs;
    const char *comma = "";
    pthread_mutex_lock(&jobs->lock);
    crd_text_add(text, "[");
    for (int64_t n = 0; n < ITERATIONS; n++) {
        bool any = false;
        for (int i = 0; i < jobs->count; i++) {
            const crd_job *job = jobs->items[i];
            if (job->iteration != n) continue;
            if (!any) crd_text_print(text, "%s{\"number\":%lld,\"jobs\":[", comma, (long long)n);
            if (any) crd_text_add(text, ",");
            crd_job_describe(jobs->project, job, text);
            any = true;
            comma = ",";
        }
        if (any) crd_text_add(text, "]}");
    }
    crd_text_add(text, "]");
    pthread_mutex_unlock(&jobs->lock);
}

crd_status crd_jobs_log(crd_view *view, int64_t number, int64_t from, int64_t most, char **out, int64_t *count)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    struct stat about;
    char *path = NULL;
    int fd = -1;
    *out = NULL;
    *count = 0;
    pthread_mutex_lock(&jobs->lock);
    status = crd_job_path(jobs->project, find(jobs, number), "log.txt", &path);
    pthread_mutex_unlock(&jobs->lock);
    CRD_TRY(status);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) CRD_TRY(crd_fail_errno("can't read %s", path));
    const int64_t bytes = fd >= 0 && fstat(fd, &about) == 0 ? (int64_t)about.st_size - from : 0;
    *count = bytes < 0 ? 0 : bytes < most ? bytes : most;
    CRD_TRY(crd_alloc(*count + 1, 1, "a log", out));
    if (*count > 0) CRD_TRY(crd_read_at(fd, path, from, *out, (size_t)*count));
done:
    if (status != CRD_OK) crd_free(out);
    if (fd >= 0) (void)close(fd);
    crd_free(&path);
    return status;
}

int64_t crd_jobs_running(crd_jobs *jobs, int64_t *process, bool *train)
{
    pthread_mutex_lock(&jobs->lock);
    const crd_job *job = running(jobs);
    const int64_t number = job != NULL ? job->number : 0;
    *process = job != NULL ? job->process.number : 0;
    *train = job != NULL && job->train;
    pthread_mutex_unlock(&jobs->lock);
    return number;
}
