/* The training program: steps, epochs, checkpoints, models out. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/settings/whole.h"
#include "draw/picture.h"
#include "train/diagnosis.h"
#include "train/heldout/exam.h"
#include "train/progress_picture.h"
#include "train/run.h"
#include "train/schedule.h"

/* The trainer's state is that of the last step. Collective, as all that calls it. */
static crd_status fetch(crd_train_run *r, bool moments)
{
    if (r->shared != NULL) CRD_PASS(crd_shared_step_collect(r->shared, moments));
    return crd_trainer_fetch(r->trainer);
}

static crd_status copy_parameters(crd_train_run *r, bool moments)
{
    const crd_trainer_state *state = crd_trainer_state_of(r->trainer);
    CRD_PASS(fetch(r, moments));
    memcpy(r->model->parameters, state->parameters, (size_t)state->count * sizeof(float));
    return CRD_OK;
}

static crd_status save_checkpoint(crd_train_run *r)
{
    CRD_PASS(copy_parameters(r, true));
    if (!crd_train_first(r)) return CRD_OK;
    CRD_PASS(crd_log_flush(r->log));
    return crd_checkpoint_save(r->checkpoint_path, r->model, crd_trainer_state_of(r->trainer), &r->progress,
                               &r->identity);
}

static double weight_of(const crd_train_run *r, int64_t epoch)
{
    return crd_kl_weight(epoch, r->options->kl_initial, r->options->kl_step, r->options->kl_start);
}

static double rate_of(const crd_train_run *r, int64_t epoch)
{
    return crd_learning_rate(epoch, r->options->lr, r->options->lr_decay_start);
}

/* Logs the step taken last; `ending` is NULL unless it ended an epoch. */
static crd_status log_step(crd_train_run *r, const crd_log_epoch *ending)
{
    const crd_train_progress *p = &r->progress;
    const int64_t epoch = crd_train_epoch(r, p->steps - 1);
    const double weight = weight_of(r, epoch);
    const crd_log_step line = {.step = p->steps,
                               .epoch = epoch,
                               .bce = p->bce,
                               .kl = p->kl,
                               .kl_weight = weight,
                               .loss = p->bce + weight * p->kl / r->kl_divisor,
                               .seconds = crd_seconds() - r->begin};
    if (!crd_train_first(r)) return CRD_OK;
    crd_history_add(r->history, &line, ending);
    return crd_log_add(r->log, &line, ending, r->rank_speeds, crd_dist_size(r->dist));
}

/* Hands the next mini-batch to the trainer; its losses are for `losses`. */
static crd_status add_batch(crd_train_run *r, crd_batch *batch, crd_loss *losses)
{
    const int64_t voxels = crd_trainer_chunk_voxels(r->trainer);
    double waited;
    CRD_PASS(crd_feeder_next(r->feeder, batch, &waited));
    r->result->waited_seconds += waited;
    if (r->shared != NULL) CRD_PASS(crd_shared_step_begin(r->shared, batch));
    const float scale = (float)(1.0 / (double)batch->labelled);
    for (int64_t i = batch->first; i < batch->end; i++) {
        const float *input = batch->inputs + (i - batch->first) * voxels;
        const uint8_t *label = batch->labels + (i - batch->first) * voxels;
        CRD_PASS(r->shared != NULL ? crd_shared_step_add(r->shared, i, input, label, scale)
                                   : crd_trainer_add(r->trainer, (uint32_t)i, input, label, scale, &losses[i]));
    }
    return r->shared != NULL ? crd_shared_step_finish(r->shared, batch, losses) : CRD_OK;
}

static crd_status take_step(crd_train_run *r)
{
    crd_train_progress *p = &r->progress;
    double bce = 0.0, kl;
    bool dead = true;
    if (!r->ahead) CRD_PASS(add_batch(r, &r->batch, r->losses[0]));
    const crd_batch batch = r->batch;
    const crd_loss *losses = r->losses[0];
    const int64_t epoch = crd_train_epoch(r, batch.step);
    const double kl_scale = weight_of(r, epoch) / r->kl_divisor, rate = rate_of(r, epoch);
    CRD_PASS(r->shared != NULL ? crd_shared_step_start(r->shared, kl_scale, rate)
                               : crd_trainer_start(r->trainer, kl_scale, rate));
    r->ahead = r->shared == NULL && crd_trainer_backend(r->trainer)->overlaps && batch.step + 1 < r->end_step;
    if (r->ahead) CRD_PASS(add_batch(r, &r->batch, r->losses[1])); /* while the device computes */
    CRD_PASS(crd_trainer_wait(r->trainer, &kl));
    for (int64_t i = 0; i < batch.count; i++) {
        bce += losses[i].bce_sum / (double)batch.labelled;
        dead = dead && losses[i].head_dead;
    }
    crd_loss *spare = r->losses[0];
    r->losses[0] = r->losses[1];
    r->losses[1] = spare;
    CRD_PASS(crd_diagnose_step(p, batch.step + 1, bce, kl, dead, r->checkpoint_path));
    p->steps++;
    p->epoch_steps++;
    p->epoch_bce += bce;
    p->bce = bce;
    p->kl = kl;
    return CRD_OK;
}

static crd_status check(crd_train_run *r, crd_log_epoch *line)
{
    crd_check_result v;
    if (crd_dataset_count(r->validation) == 0) return CRD_OK;
    r->checker.done = r->progress.steps - 1; /* the epoch's last is done when it is checked */
    r->checker.total = r->end_step;
    CRD_PASS(crd_check_mean(&r->checker, &v));
    line->valid_bce = v.bce;
    line->valid_accuracy = v.accuracy;
    const int64_t samples = crd_train_check_samples(r->options);
    if (samples == 0) return CRD_OK;
    CRD_PASS(crd_check_samples(&r->checker, samples, &v));
    line->sample_bce = v.bce;
    line->sample_accuracy = v.accuracy;
    return CRD_OK;
}

static void say_epoch(const crd_train_run *r, int64_t epoch, double bce, const crd_log_epoch *line)
{
    char checked[96] = "", weights[96] = "";
    if (!isnan(line->valid_bce)) {
        snprintf(checked, sizeof checked, ", validation bce %.4f, accuracy %.4f", line->valid_bce,
                 line->valid_accuracy);
    }
    if (!isnan(line->mean_sigma)) {
        snprintf(weights, sizeof weights, ", mean sigma %.4f, %.1f %% of weights certain", line->mean_sigma,
                 100.0 * line->certain_share);
    }
    crd_info(r->monitor, "epoch %" PRId64 ": bce %.4f%s%s", epoch, bce, checked, weights);
}

/* While its weight still grows, the KL term has not done its work: such a state is sharper than it should be. */
static bool kl_is_whole(const crd_train_run *r, int64_t epoch)
{
    return r->model->net.kind != CRD_BCNN || r->options->kl_step == 0.0 || weight_of(r, epoch) >= 1.0;
}

/* The best is that of the loss with all weights at their means or, where it is what the training is for, with samples,
 * as a prediction has them. */
static crd_status keep_best(crd_train_run *r, int64_t epoch, const crd_log_epoch *line)
{
    crd_train_progress *p = &r->progress;
    const bool wanted = crd_train_keeps_best(r->options);
    const double loss = wanted ? line->sample_bce : line->valid_bce;
    if (isnan(line->valid_bce)) return CRD_OK;
    p->last_valid_bce = line->valid_bce;
    p->last_valid_accuracy = line->valid_accuracy;
    if (wanted && (!kl_is_whole(r, epoch) || p->steps % r->batches != 0)) return CRD_OK; /* save_models knows why */
    if (loss >= p->best_valid_bce) return CRD_OK; /* false where there is none yet */
    p->best_valid_bce = loss;
    p->best_epoch = epoch;
    CRD_PASS(copy_parameters(r, false));
    return crd_train_first(r) ? crd_model_save(r->model, r->best_path) : CRD_OK;
}

static crd_status measure_weights(crd_train_run *r, crd_log_epoch *line)
{
    crd_posterior_summary summary;
    if (r->model->net.kind != CRD_BCNN) return CRD_OK;
    CRD_PASS(fetch(r, false));
    CRD_PASS(crd_trainer_summarise(r->trainer, &summary));
    line->mean_sigma = summary.mean_sigma;
    line->certain_share = summary.certain_share;
    return CRD_OK;
}

static crd_status finish_epoch(crd_train_run *r)
{
    crd_train_progress *p = &r->progress;
    const int64_t epoch = crd_train_epoch(r, p->steps - 1);
    const double bce = p->epoch_bce / (double)p->epoch_steps;
    crd_log_epoch line = {rate_of(r, epoch), (double)NAN, (double)NAN, (double)NAN,
                          (double)NAN,       (double)NAN, (double)NAN};
    CRD_PASS(measure_weights(r, &line));
    CRD_PASS(check(r, &line));
    say_epoch(r, epoch, bce, &line);
    crd_diagnose_epoch(p, epoch, bce, &line, isnan(line.valid_bce) ? r->classes : r->check_classes, r->monitor);
    CRD_PASS(keep_best(r, epoch, &line));
    p->epoch_bce = 0.0;
    p->epoch_steps = 0;
    p->last_bce = bce;
    if (r->shared != NULL) CRD_PASS(crd_shared_step_speeds(r->shared, r->rank_speeds));
    CRD_PASS(log_step(r, &line));
    CRD_PASS(save_checkpoint(r));
    if (crd_train_first(r) && crd_png_possible() && crd_progress_picture(r->picture_path, r->history) != CRD_OK) {
        crd_warn(r->monitor, "%s", crd_last_error()->message); /* no reason to stop a training */
    }
    return CRD_OK;
}

static bool epoch_is_over(const crd_train_run *r)
{
    const crd_train_progress *p = &r->progress;
    return p->epoch_steps > 0 && (p->steps % r->batches == 0 || p->steps == r->end_step);
}

static crd_status stopped(const crd_train_run *r)
{
    return crd_fail(CRD_ERR_CANCELLED,
                    "stopped after step %" PRId64 " of %" PRId64 "; the same command with --resume goes on from %s",
                    r->progress.steps, r->end_step, r->checkpoint_path);
}

/* The end of an epoch, where it is time for it. A request to stop while it goes on leaves it to the resumed run. */
static crd_status end_epoch_if_over(crd_train_run *r)
{
    if (!epoch_is_over(r)) return CRD_OK;
    const crd_status status = finish_epoch(r);
    if (status != CRD_ERR_CANCELLED) return status;
    CRD_PASS(save_checkpoint(r));
    return stopped(r);
}

/* Steps until the end; a request to stop leaves a checkpoint behind. */
static crd_status take_steps(crd_train_run *r)
{
    crd_train_progress *p = &r->progress;
    CRD_PASS(end_epoch_if_over(r)); /* resumed between an epoch's last step and its end */
    while (p->steps < r->end_step) {
        char note[64];
        CRD_PASS(take_step(r));
        snprintf(note, sizeof note, "epoch %" PRId64 ", bce %.4f", crd_train_epoch(r, p->steps - 1),
                 p->epoch_bce / (double)p->epoch_steps);
        const bool over = epoch_is_over(r);
        if (!over) CRD_PASS(log_step(r, NULL));
        CRD_PASS(end_epoch_if_over(r));
        bool asked = crd_advance(r->monitor, "training", "steps", p->steps, r->end_step, note) != CRD_OK;
        CRD_PASS(crd_dist_any(r->dist, asked, &asked));
        if (!over && (asked || p->steps % r->options->checkpoint_every == 0)) CRD_PASS(save_checkpoint(r));
        if (asked) return stopped(r);
    }
    return CRD_OK;
}

/* The best state so far becomes the trainer's, as rank 0 reads it. */
static crd_status load_best(crd_train_run *r)
{
    crd_status status = CRD_OK;
    crd_model *best = NULL;
    crd_trainer_state *state = crd_trainer_state_of(r->trainer);
    if (crd_train_first(r)) {
        CRD_TRY(crd_model_load(r->best_path, &best));
        if (best->net.model.total != state->count) {
            CRD_FAIL(CRD_ERR_MISMATCH, "%s holds another network than this training; remove it", r->best_path);
        }
        memcpy(state->parameters, best->parameters, (size_t)state->count * sizeof(float));
    }
    CRD_TRY(crd_dist_broadcast(r->dist, state->parameters, state->count * (int64_t)sizeof(float)));
    CRD_TRY(crd_trainer_parameters_changed(r->trainer));
done:
    crd_model_free(&best);
    return status;
}

static crd_status calibrate(crd_train_run *r, double *calibration)
{
    CRD_PASS(copy_parameters(r, false));
    const crd_status status = crd_calibrate(&r->checker, calibration);
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
    /* A step computes an example forward and twice backward; a tenth of all of them. */
    const double voxels = (double)crd_trainer_chunk_voxels(r->trainer) * (double)r->options->batch;
    const crd_exam_plan plan = {.data = r->training,
                                .model = r->model,
                                .backend = crd_trainer_backend(r->trainer),
                                .device = crd_trainer_device(r->trainer),
                                .baseline = r->baseline,
                                .dist = r->dist,
                                .monitor = r->monitor,
                                .work = 0.3 * voxels * (double)r->progress.steps};
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
done:
    crd_free(&exam);
    return status;
}

static crd_status fill_result(crd_train_run *r)
{
    const crd_train_progress *p = &r->progress;
    crd_train_result *result = r->result;
    crd_log_epoch line = {.mean_sigma = (double)NAN, .certain_share = (double)NAN};
    CRD_PASS(measure_weights(r, &line));
    result->classes = r->model->net.classes;
    result->steps = p->steps;
    result->epochs = crd_train_epoch(r, p->steps - 1);
    result->bce = p->last_bce;
    result->valid_bce = p->last_valid_bce;
    result->valid_accuracy = p->last_valid_accuracy;
    result->best_valid_bce = p->best_valid_bce;
    result->best_epoch = p->best_epoch;
    result->mean_sigma = line.mean_sigma;
    result->certain_share = line.certain_share;
    result->reading_seconds = crd_feeder_seconds(r->feeder);
    return CRD_OK;
}

/* Whether the best state so far is to be the model. The last state of a training that ends within an epoch may be
 * better: it is no candidate before, because a training that goes on from here would never have stopped to look at it.
 */
static crd_status choose_state(crd_train_run *r, bool *best)
{
    const crd_train_progress *p = &r->progress;
    crd_check_result last;
    *best = crd_train_keeps_best(r->options) && !isnan(p->best_valid_bce);
    if (!*best || p->steps % r->batches == 0) return CRD_OK;
    const crd_status status = crd_check_samples(&r->checker, crd_train_check_samples(r->options), &last);
    if (status == CRD_ERR_CANCELLED) {
        return crd_fail(status,
                        "stopped while checking: all steps are done, and the same command with --resume finishes");
    }
    CRD_PASS(status);
    *best = p->best_valid_bce <= last.bce;
    return CRD_OK;
}

/* The model with its calibration and figures, then the best state, if it is another. */
static crd_status save_models(crd_train_run *r)
{
    const crd_train_progress *p = &r->progress;
    const int64_t last = crd_train_epoch(r, p->steps - 1);
    bool best;
    double other;
    CRD_PASS(choose_state(r, &best));
    if (best) CRD_PASS(load_best(r));
    r->result->kept_epoch = best ? p->best_epoch : last;
    CRD_PASS(calibrate(r, &r->result->calibration));
    crd_diagnose_calibration(r->result->calibration, r->monitor);
    CRD_PASS(fill_result(r));
    CRD_PASS(hold_exam(r));
    r->result->heldout = r->model->info.heldout;
    CRD_PASS(save(r, r->options->output));
    if (isnan(p->best_valid_bce)) {
        if (crd_train_first(r)) (void)unlink(r->best_path); /* an earlier training's: it would pass for this one's */
        return CRD_OK;
    }
    const bool last_is_best =
        !crd_train_keeps_best(r->options) && p->best_epoch == last && p->best_valid_bce >= p->last_valid_bce;
    if (best || last_is_best) return save(r, r->best_path); /* the same */
    CRD_PASS(load_best(r));
    CRD_PASS(calibrate(r, &other));
    memset(&r->model->info.heldout, 0, sizeof r->model->info.heldout); /* the exam was the other's */
    return save(r, r->best_path);
}

static crd_status train(const crd_train_options *options, const crd_monitor *monitor, crd_train_result *out)
{
    crd_status status = CRD_OK;
    const double begin = crd_seconds();
    crd_train_result result = {0};
    crd_train_run r = {.options = options, .monitor = monitor, .result = &result, .dist = crd_dist_current()};
    r.monitor = crd_dist_watch(r.dist, monitor);
    CRD_TRY(crd_train_run_open(&r));
    CRD_TRY(take_steps(&r));
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
