#include "view/jobs/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "view/jobs/jobs_inside.h"
#include "view/jobs/scoring.h"
#include "view/jobs/steps.h"
#include "view/view.h"
#include "volume/zarr/zarr.h"

/* ---- what the project has ---- */

static crd_status keep(crd_jobs *jobs, const crd_job *job)
{
    crd_job *kept = NULL;
    if (jobs->count == CRD_JOBS_MOST) return crd_fail(CRD_ERR_UNSUPPORTED, "the project has too many jobs");
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

bool crd_jobs_exists(const crd_jobs *jobs, const char *name)
{
    char *path = NULL;
    const bool there = crd_join_path(jobs->project, name, "", &path) == CRD_OK && access(path, F_OK) == 0;
    crd_free(&path);
    return there;
}

/* Number k of the runs, or the exams, of an iteration; false: there is none. */
static bool find_in(crd_jobs *jobs, int iteration, const char *kind, int k)
{
    char folder[CRD_JOB_FOLDER];
    snprintf(folder, sizeof folder, "iterations/%03d/%s/%d", iteration, kind, k);
    if (!crd_jobs_exists(jobs, folder)) return false;
    find_job(jobs, folder);
    return true;
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
    for (int i = 0; i < CRD_ITERATIONS_MOST; i++) {
        char *path = NULL;
        snprintf(folder, sizeof folder, "iterations/%03d", i);
        const bool there = crd_join_path(jobs->project, folder, "", &path) == CRD_OK && stat(path, &about) == 0;
        crd_free(&path);
        if (!there && i > 0) break;
        find_job(jobs, folder);
        for (int k = 1; there && find_in(jobs, i, "runs", k); k++) {
        }
        for (int k = 1; there && find_in(jobs, i, "exam", k); k++) {
        }
    }
    qsort(jobs->items, (size_t)jobs->count, sizeof jobs->items[0], by_number);
}

crd_job *crd_jobs_find(crd_jobs *jobs, int64_t number)
{
    for (int i = 0; i < jobs->count; i++) {
        if (jobs->items[i]->number == number) return jobs->items[i];
    }
    return NULL;
}

crd_job *crd_jobs_now(crd_jobs *jobs)
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
    if (job->parts.count > 0) {
        if (crd_steps_show_all(view, job) != CRD_OK) crd_view_complain(view);
        return;
    }
    if (job->kind == CRD_JOB_PREDICT && crd_job_path(view->jobs->project, job, "run", &folder) == CRD_OK &&
        crd_runs_follow(view, folder, job->folder) != CRD_OK) {
        crd_view_complain(view);
    }
    crd_free(&folder);
}

/* A job that ended while nobody looked is known as such from the start; of several steps the follower takes the next
 * one. */
static void settle(crd_view *view)
{
    crd_job *job = crd_jobs_now(view->jobs);
    bool progressed;
    if (job == NULL || job->parts.count > 0 || crd_process_runs(&job->process)) return;
    crd_job_follow(view->jobs->project, job, &progressed);
    crd_job_end(view->jobs->project, job); /* the record is for the server that writes to the project */
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
    settle(view);
    const crd_job *shown = crd_jobs_now(jobs), *parts = NULL;
    if (shown != NULL && (shown->kind != CRD_JOB_PREDICT || shown->parts.count > 0)) shown = NULL;
    for (int i = jobs->count - 1; i >= 0 && shown == NULL; i--) { /* else the latest that there is */
        const crd_job *job = jobs->items[i];
        if (job->kind != CRD_JOB_PREDICT || job->state != CRD_JOB_DONE) continue;
        if (job->parts.count == 0) shown = job;
        if (job->parts.count > 0 && parts == NULL) parts = job; /* seen over it, which what leads the user goes by */
    }
    if (shown != NULL && (shown->state == CRD_JOB_RUNNING || !view->run_given)) show_run(view, shown);
    if (parts != NULL && !view->run_given) show_run(view, parts);
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

/* ---- starting ---- */

static int64_t next_number(const crd_jobs *jobs)
{
    return jobs->count > 0 ? jobs->items[jobs->count - 1]->number + 1 : 1;
}

static crd_status is_free(crd_jobs *jobs)
{
    const crd_job *job = crd_jobs_now(jobs);
    if (job == NULL) return CRD_OK;
    return crd_fail(CRD_ERR_BUSY, "job %lld is running; one at a time", (long long)job->number);
}

/* What it works on is fixed now: labels as they are, in its folder. */
static crd_status fix(crd_view *view, const crd_wishes *wishes, crd_job *job, const char *folder)
{
    crd_learnable learnable;
    if (job->kind == CRD_JOB_SCORE) CRD_PASS(crd_scoring_begin(view, job, folder));
    if (job->kind == CRD_JOB_TRAIN) {
        if (!crd_command_trainable(view)) return crd_command_train(view, job); /* it says so */
        CRD_PASS(crd_labels_begin(view->labels)); /* a label that the viewer was given is taken in */
        CRD_PASS(crd_loop_take(view->loop, view->labels, folder, &learnable));
        job->learnt = learnable.voxels;
        job->boxes = learnable.boxes;
        job->check = learnable.check;
    }
    return crd_job_words_of(view, wishes, job);
}

/* Nothing but what was just made. */
static void take_back(const char *folder)
{
    static const char *const made[] = {"label.zarr", "check.zarr", "exam.zarr"};
    const crd_error before = *crd_last_error();
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        char *path = NULL;
        if (crd_join_path(folder, made[i], "", &path) == CRD_OK) (void)crd_zarr_remove(path);
        crd_free(&path);
    }
    (void)rmdir(folder);
    (void)crd_error_adopt(&before);
}

static crd_status begin(crd_view *view, const crd_wishes *wishes, crd_job *job)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    char *folder = NULL;
    bool made = false;
    CRD_TRY(crd_project_claim(view->project));
    CRD_TRY(crd_join_path(jobs->project, job->folder, "", &folder));
    CRD_TRY(crd_make_lasting_folders(folder));
    made = true;
    CRD_TRY(fix(view, wishes, job, folder));
    CRD_TRY(crd_job_start(jobs->project, job, false));
    made = false;
done:
    if (made) take_back(folder);
    crd_free(&folder);
    return status;
}

crd_status crd_jobs_begin(crd_view *view, const crd_wishes *wishes, int64_t *number)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    crd_job job = {0};
    bool kept = false;
    CRD_TRY(is_free(jobs));
    CRD_TRY(crd_job_prepare(view, wishes, &job));
    job.number = *number = next_number(jobs);
    CRD_TRY(begin(view, wishes, &job));
    CRD_TRY(keep(jobs, &job));
    kept = true;
    show_run(view, &job);
    crd_jobs_tell(view, &job, "job");
done:
    if (!kept) crd_job_free(&job);
    return status;
}

crd_status crd_jobs_start(crd_view *view, const crd_wishes *wishes, int64_t *number)
{
    pthread_mutex_lock(&view->jobs->lock);
    const crd_status status = crd_jobs_begin(view, wishes, number);
    pthread_mutex_unlock(&view->jobs->lock);
    return status;
}

crd_status crd_jobs_resume(crd_view *view, int64_t number)
{
    crd_status status = CRD_OK;
    crd_jobs *jobs = view->jobs;
    pthread_mutex_lock(&jobs->lock);
    crd_job *job = crd_jobs_find(jobs, number);
    CRD_TRY(is_free(jobs));
    if (crd_project_read_only(view->project)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "the viewer was started with --read-only: it starts no jobs");
    }
    if (job->state == CRD_JOB_DONE) CRD_FAIL(CRD_ERR_ARGUMENT, "job %lld is done", (long long)number);
    CRD_TRY(crd_project_claim(view->project));
    CRD_TRY(crd_job_start(jobs->project, job, true));
    show_run(view, job);
    crd_jobs_tell(view, job, "job");
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
    const crd_job *job = crd_jobs_find(jobs, number);
    if (job->kind != CRD_JOB_PREDICT)
        CRD_FAIL(CRD_ERR_ARGUMENT, "job %lld isn't a prediction: it has nothing to show", (long long)number);
    if (job->parts.count > 0) {
        CRD_TRY(crd_steps_show_all(view, job));
        goto done;
    }
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
    crd_job *job = crd_jobs_find(jobs, number);
    CRD_TRY(crd_project_claim(view->project));                  /* else it is another server's */
    if (job->state == CRD_JOB_RUNNING && job->kill_at == 0.0) { /* a second signal would end it at once */
        job->kill_at = crd_seconds() + CRD_JOB_PATIENCE;
        crd_process_signal(&job->process, SIGTERM);
        status = crd_job_write(jobs->project, job);
        crd_jobs_tell(view, job, "job");
    }
done:
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

bool crd_jobs_known(crd_jobs *jobs, int64_t number)
{
    pthread_mutex_lock(&jobs->lock);
    const bool known = crd_jobs_find(jobs, number) != NULL;
    pthread_mutex_unlock(&jobs->lock);
    return known;
}

void crd_jobs_describe(crd_view *view, int64_t number, crd_text *text)
{
    crd_jobs *jobs = view->jobs;
    pthread_mutex_lock(&jobs->lock);
    const crd_job *job = number > 0        ? crd_jobs_find(jobs, number)
                         : jobs->count > 0 ? jobs->items[jobs->count - 1]
                                           : NULL;
    if (number == 0 && crd_jobs_now(jobs) != NULL) job = crd_jobs_now(jobs); /* an earlier one that was resumed */
    if (job != NULL) {
        crd_job_describe(jobs->project, job, text);
    } else {
        crd_text_add(text, "null");
    }
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
    status = crd_job_path(jobs->project, crd_jobs_find(jobs, number), "log.txt", &path);
    pthread_mutex_unlock(&jobs->lock);
    CRD_TRY(status);
    fd = crd_open(path, O_RDONLY | O_CLOEXEC);
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

int64_t crd_jobs_running(crd_jobs *jobs, int64_t *process, crd_job_kind *kind)
{
    pthread_mutex_lock(&jobs->lock);
    const crd_job *job = crd_jobs_now(jobs);
    const int64_t number = job != NULL ? job->number : 0;
    *process = job != NULL ? job->process.number : 0;
    *kind = job != NULL ? job->kind : CRD_JOB_KINDS;
    pthread_mutex_unlock(&jobs->lock);
    return number;
}
