/* Following the job that runs: what it says, what becomes of it, and what comes after it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "view/jobs/jobs_inside.h"
#include "view/jobs/steps.h"
#include "view/view.h"

static const double patience =
    10.0; /* seconds in which the server that writes to the project says what became of a job */

void crd_jobs_tell(crd_view *view, const crd_job *job, const char *event)
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

/* A step of several is done: the next one, or what all of them say. */
static crd_status go_on(crd_view *view, crd_job *job, bool cancelled)
{
    crd_jobs *jobs = view->jobs;
    CRD_PASS(crd_steps_show(view, job, job->step));
    if (job->step + 1 >= crd_steps_count(job)) return crd_steps_end(view, job);
    if (cancelled) {
        job->state = CRD_JOB_CANCELLED;
        return CRD_OK;
    }
    const double began = job->began;
    job->step++;
    CRD_PASS(crd_steps_words(view, job));
    CRD_PASS(crd_job_start(jobs->project, job, false));
    job->began = began;
    return crd_job_write(jobs->project, job);
}

/* It has ended, and no step of it comes after. */
static void over(crd_view *view, const crd_job *job)
{
    if (job->kind == CRD_JOB_PREDICT && job->state != CRD_JOB_DONE) crd_runs_forget(view, job->folder);
    crd_jobs_tell(view, job, "job");
}

static void end(crd_view *view, crd_job *job)
{
    crd_jobs *jobs = view->jobs;
    const bool cancelled = job->kill_at > 0.0;
    crd_job_end(jobs->project, job);
    if (job->parts.count > 0 && job->state == CRD_JOB_DONE && go_on(view, job, cancelled) != CRD_OK) {
        job->state = CRD_JOB_FAILED;
        snprintf(job->error, sizeof job->error, "%.590s", crd_last_error()->message);
    }
    if (job->state == CRD_JOB_RUNNING) return;
    if (crd_job_write(jobs->project, job) != CRD_OK) crd_view_complain(view);
    over(view, job);
}

/* Another server writes to the project, or this one only looks: what became of the job stands in its record. Two that
 * went on with one would do each step twice. */
static void look_on(crd_view *view, crd_job *job)
{
    crd_jobs *jobs = view->jobs;
    crd_job now;
    if (job->gone_at == 0.0) job->gone_at = crd_seconds();
    const bool read = crd_job_read(jobs->project, job->folder, &now) == CRD_OK;
    const bool news = read && now.number == job->number &&
                      (now.state != CRD_JOB_RUNNING || now.process.number != job->process.number);
    if (news) {
        crd_job_free(job);
        *job = now;
    } else {
        if (read) crd_job_free(&now);
        if (crd_seconds() < job->gone_at + patience) return;
        crd_job_end(jobs->project, job); /* nobody is there who would say so */
        if (job->parts.count > 0) job->state = CRD_JOB_INTERRUPTED;
    }
    if (job->state != CRD_JOB_RUNNING) over(view, job);
}

/* A training that was wished to be judged is, once it is done, also where the server of before didn't live to see it.
 * What has no exam to pass is left alone. */
static void examine(crd_view *view)
{
    crd_jobs *jobs = view->jobs;
    crd_job *training = NULL;
    crd_loop_facts facts;
    int64_t number;
    for (int i = jobs->count - 1; i >= 0 && training == NULL; i--) {
        if (jobs->items[i]->examine && jobs->items[i]->state == CRD_JOB_DONE) training = jobs->items[i];
    }
    if (training == NULL || crd_project_read_only(view->project) || crd_project_claim(view->project) != CRD_OK) return;
    training->examine = false; /* once, whatever comes of it */
    const crd_wishes wishes = {.kind = CRD_JOB_SCORE, .iteration = training->iteration, .words = training->exam};
    if (crd_job_write(jobs->project, training) != CRD_OK || crd_loop_describe(view->loop, &facts) != CRD_OK ||
        (facts.exam > 0 && facts.number == training->loop && crd_jobs_begin(view, &wishes, &number) != CRD_OK)) {
        crd_view_complain(view);
    }
}

void crd_jobs_look(crd_view *view)
{
    crd_jobs *jobs = view->jobs;
    bool progressed = false;
    pthread_mutex_lock(&jobs->lock);
    crd_job *job = crd_jobs_now(jobs);
    if (job != NULL) {
        const bool there = crd_process_runs(&job->process); /* before the log: what it says last is read, too */
        crd_job_follow(jobs->project, job, &progressed);
        if (progressed) crd_jobs_tell(view, job, "progress");
        if (there && job->kill_at > 0.0 && crd_seconds() > job->kill_at) crd_process_signal(&job->process, SIGKILL);
        const bool ours = !there && !crd_project_read_only(view->project) && crd_project_claim(view->project) == CRD_OK;
        if (ours) end(view, job);
        if (!there && !ours) look_on(view, job);
    } else {
        examine(view);
    }
    pthread_mutex_unlock(&jobs->lock);
}
