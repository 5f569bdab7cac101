/* The training program: its members trained, what they come to together, the model out. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/settings/whole.h"
#include "train/diagnosis.h"
#include "train/heldout/exam.h"
#include "train/intervals/tries.h"
#include "train/members.h"
#include "train/run.h"

/* Its trainer is there until the end. */
static crd_member *last_member(const crd_train_run *r)
{
    return &r->members[r->model->info.members - 1];
}

/* As many of every member. */
static int64_t calibration_samples(const crd_train_run *r)
{
    const int64_t members = r->model->info.members;
    if (crd_train_at_means(r->options)) return members;
    return (CRD_CALIBRATION_SAMPLES + members - 1) / members * members;
}

/* Of the networks in the model, together. */
static crd_status calibrate(crd_train_run *r, double *calibration)
{
    crd_member *last = last_member(r);
    if (r->model->info.members > 1) {
        last->checker.monitor = r->monitor; /* no one member is at work, and steps are none of it */
        crd_trainer_pool(last->trainer, &(crd_trainer_networks){.parameters = r->model->parameters,
                                                                .members = r->model->info.members,
                                                                .seed = (uint64_t)r->options->seed,
                                                                .at_means = crd_train_at_means(r->options)});
    }
    const crd_status status = crd_calibrate(&last->checker, calibration_samples(r), calibration);
    if (status == CRD_ERR_CANCELLED) {
        return crd_fail(status,
                        "stopped while calibrating: all steps are done, and the same command with --resume finishes");
    }
    CRD_PASS(status);
    return crd_model_set_calibration(r->model, *calibration);
}

static crd_status save(const crd_train_run *r, const char *path)
{
    return crd_train_first(r) ? crd_model_save(r->model, path) : CRD_OK;
}

/* A step computes an example forward and twice backward; a tenth of all of them, of all members, in voxels computed
 * forward. */
static double tenth_of_work(const crd_train_run *r)
{
    const double voxels = (double)crd_trainer_chunk_voxels(last_member(r)->trainer) * (double)r->options->batch;
    return 0.3 * voxels * (double)(r->end_step * r->model->info.members);
}

/* The exam of the model as it is now, and what it comes to. */
static crd_status hold_exam(crd_train_run *r)
{
    crd_status status = CRD_OK;
    const crd_held_blocks *blocks = crd_dataset_blocks(r->training);
    crd_heldout *figures = &r->model->info.heldout;
    int64_t check[CRD_CLASSES_MAX], exam_counts[CRD_CLASSES_MAX];
    crd_exam *exam = NULL;
    if (blocks->count == 0) return CRD_OK;
    CRD_TRY(crd_alloc(1, sizeof *exam, "the exam", &exam));
    const crd_exam_plan plan = {.data = r->training,
                                .model = r->model,
                                .backend = r->plan.backend,
                                .device = &r->plan.device,
                                .baseline = r->baseline,
                                .dist = r->dist,
                                .monitor = r->monitor,
                                .work = tenth_of_work(r)};
    status = crd_exam_hold(&plan, exam);
    if (status == CRD_ERR_CANCELLED) {
        CRD_FAIL(status, "stopped in the exam: all steps are done, and the same command with --resume finishes");
    }
    if (status != CRD_OK) goto done;
    if (exam->broken) {
        crd_warn(r->monitor, "the network gives what isn't a finite number where it was to be examined: there is no "
                             "figure of how good it is, and predictions will fail; start anew with a smaller --lr");
        goto done;
    }
    if (crd_blocks_counts(blocks, true, exam_counts) == 0) {
        crd_warn(r->monitor, "the blocks that an earlier training held back hold no labels now: how good the model is "
                             "can't be said; label some of them, or give a second labelled scan (--valid-scan)");
        goto done;
    }
    figures->blocks = blocks->count;
    figures->voxels = crd_blocks_counts(blocks, false, check) + crd_blocks_counts(blocks, true, exam_counts);
    figures->samples = exam->samples;
    figures->unseen = crd_learnt_unseen(crd_train_earlier(r), r->scan_names, r->training);
    crd_heldout_figures(exam->blocks, exam->count, crd_baseline_classes(r->baseline),
                        crd_baseline_majority(r->baseline), figures);
    crd_diagnose_exam(exam, r->baseline, figures, r->monitor);
    crd_diagnose_classes(exam, &r->model->info, r->monitor);
done:
    crd_free(&exam);
    return status;
}

/* How far the model as it is now errs on made-up changes of the scans: what predictions widen intervals by. */
static crd_status try_changes(crd_train_run *r)
{
    static const char *const why[] = {
        [CRD_TRIES_TOO_DEAR] = "the training was too short to pay for it",
        [CRD_TRIES_UNLABELLED] = "no label that was learnt from lies where it could be tried",
        [CRD_TRIES_BROKEN] = "it gives what isn't a finite number there",
    };
    const crd_tries_plan plan = {.data = r->training,
                                 .model = r->model,
                                 .backend = r->plan.backend,
                                 .device = &r->plan.device,
                                 .dist = r->dist,
                                 .monitor = r->monitor,
                                 .seed = (uint64_t)r->options->seed,
                                 .work = tenth_of_work(r)};
    crd_tries_outcome outcome;
    if (r->options->no_intervals) return CRD_OK;
    const crd_status status = crd_tries_make(&plan, &r->model->info.systematic, &outcome);
    if (status == CRD_ERR_CANCELLED) {
        return crd_fail(status, "stopped while trying made-up changes of the scans: all steps are done, and the same "
                                "command with --resume finishes");
    }
    CRD_PASS(status);
    if (outcome == CRD_TRIES_DONE) return CRD_OK;
    crd_info(r->monitor,
             "the network wasn't tried on made-up changes of its scans, as %s: the 90 %% intervals of its volume "
             "fractions will be those of the samples, which are too narrow",
             why[outcome]);
    return CRD_OK;
}

static double smaller(double a, double b)
{
    return b < a || isnan(a) ? b : a;
}

/* Of several members means, and of their best states the earliest and the least. */
static void fill_result(crd_train_run *r)
{
    const int members = r->model->info.members;
    crd_train_result *result = r->result;
    result->classes = r->model->net.classes;
    result->members = members;
    result->steps = r->end_step;
    result->epochs = crd_train_epoch(r, r->end_step - 1);
    result->best_valid_bce = (double)NAN;
    for (int i = 0; i < members; i++) {
        const crd_member *m = &r->members[i];
        const crd_train_progress *p = &m->progress;
        result->bce += p->last_bce / members;
        result->valid_bce += p->last_valid_bce / members;
        result->valid_accuracy += p->last_valid_accuracy / members;
        result->best_valid_bce = smaller(result->best_valid_bce, p->best_valid_bce);
        if (i == 0 || p->best_epoch < result->best_epoch) result->best_epoch = p->best_epoch;
        if (i == 0 || crd_member_kept_epoch(m) < result->kept_epoch) result->kept_epoch = crd_member_kept_epoch(m);
        result->mean_sigma += m->mean_sigma / members;
        result->certain_share += m->certain_share / members;
        result->waited_seconds += m->waited_seconds;
        result->reading_seconds += m->reading_seconds;
    }
}

/* The best state beside the model, where it is another. An ensemble is one model: the best states of its members stay
 * as the training left them. */
static crd_status save_best(crd_train_run *r)
{
    crd_member *m = &r->members[0];
    const crd_train_progress *p = &m->progress;
    double other;
    if (r->model->info.members > 1 || isnan(p->last_valid_bce)) return CRD_OK; /* nothing was checked */
    const bool last_is_best = !crd_train_keeps_best(r->options) && p->best_valid_bce >= p->last_valid_bce &&
                              p->best_epoch == crd_train_epoch(r, p->steps - 1);
    const bool only_the_last = isnan(p->best_valid_bce); /* no epoch's end was looked at with samples */
    if (m->kept_best || last_is_best || only_the_last) return save(r, m->best_path); /* the same */
    CRD_PASS(crd_member_load_best(m));
    CRD_PASS(calibrate(r, &other));
    memset(&r->model->info.heldout, 0, sizeof r->model->info.heldout);       /* the exam was the other's, */
    memset(&r->model->info.systematic, 0, sizeof r->model->info.systematic); /* and so were the tries */
    return save(r, m->best_path);
}

/* What the model says of its members. */
static void describe_members(crd_train_run *r)
{
    for (int64_t i = 0; i < r->model->info.members; i++) r->model->info.heads_redrawn += r->members[i].progress.redrawn;
    for (int64_t i = 0; i < r->model->info.members && r->model->info.members > 1; i++) {
        const crd_member *m = &r->members[i];
        const crd_train_progress *p = &m->progress;
        r->model->info.member[i] = (crd_member_info){.seed = (int64_t)m->seed,
                                                     .epoch = crd_member_kept_epoch(m),
                                                     .check_nll = m->kept_best ? p->best_valid_bce : p->last_valid_bce};
    }
}

/* The model with its calibration and figures, then the best state, if it is another. */
static crd_status save_models(crd_train_run *r)
{
    CRD_PASS(calibrate(r, &r->result->calibration));
    crd_diagnose_calibration(r->result->calibration, r->monitor);
    fill_result(r);
    describe_members(r);
    CRD_PASS(hold_exam(r));
    r->result->heldout = r->model->info.heldout;
    CRD_PASS(try_changes(r));
    CRD_PASS(save(r, r->options->output));
    return save_best(r);
}

static crd_status train(const crd_train_options *options, const crd_monitor *monitor, crd_train_result *out)
{
    crd_status status = CRD_OK;
    const double begin = crd_seconds();
    crd_train_result result = {0};
    crd_train_run r = {.options = options, .monitor = monitor, .result = &result, .dist = crd_dist_current()};
    r.monitor = crd_dist_watch(r.dist, monitor);
    CRD_TRY(crd_train_run_open(&r));
    CRD_TRY(crd_members_train(&r, crd_members_at_once(&r)));
    CRD_TRY(save_models(&r));
    CRD_TRY(crd_dist_barrier(r.dist)); /* what goes wrong in the saving of models is everybody's failure */
done:
    if (status != CRD_OK) crd_dist_fail(r.dist);
    (void)crd_dist_watch(r.dist, NULL);
    result.seconds = crd_seconds() - begin;
    if (out != NULL) *out = result;
    crd_train_run_close(&r);
    return status;
}

crd_status crd_train(const crd_train_options *options, const crd_monitor *monitor, crd_train_result *out)
{
    crd_train_options whole;
    CRD_PASS(crd_settings_whole(&crd_train_settings, options, &whole));
    const crd_status status = train(&whole, monitor, out);
    crd_settings_whole_free(&crd_train_settings, options, &whole);
    return status;
}
