#include "train/member.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "draw/picture.h"
#include "train/diagnosis.h"
#include "train/progress_picture.h"
#include "train/run.h"
#include "train/schedule.h"

static const double SAVE_SECONDS = 5; /* at least between the ends of epochs that save */
enum { LINES_MOST = 50 };             /* about epochs of a training */

crd_model crd_member_model(const crd_member *m)
{
    crd_model own = *m->run->model;
    own.parameters = crd_model_member(m->run->model, m->number);
    own.info.members = 1;
    return own;
}

/* The trainer's state is that of the last step. Collective, as all that calls it. */
static crd_status fetch(crd_member *m, bool moments)
{
    if (m->shared != NULL) CRD_PASS(crd_shared_step_collect(m->shared, moments));
    return crd_trainer_fetch(m->trainer, moments);
}

static crd_status copy_parameters(crd_member *m)
{
    const crd_trainer_state *state = crd_trainer_state_of(m->trainer);
    CRD_PASS(fetch(m, false));
    memcpy(crd_model_member(m->run->model, m->number), state->parameters, (size_t)state->count * sizeof(float));
    return CRD_OK;
}

static crd_status save_checkpoint(crd_member *m)
{
    m->saved_at = crd_seconds();
    CRD_PASS(fetch(m, true));
    if (m->saver == NULL) return CRD_OK;
    return crd_saver_checkpoint(m->saver, crd_trainer_state_of(m->trainer), &m->progress);
}

/* What was saved is on the disk. */
static crd_status finish_saving(crd_member *m)
{
    return m->saver != NULL ? crd_saver_wait(m->saver) : CRD_OK;
}

static double weight_of(const crd_member *m, int64_t epoch)
{
    return crd_kl_weight(epoch, m->run->options->kl_initial, m->run->options->kl_step, m->run->options->kl_start);
}

static double rate_of(const crd_member *m, int64_t epoch)
{
    return crd_learning_rate(epoch, m->run->options->lr, m->run->options->lr_decay_start);
}

/* Logs the step taken last; `ending` is NULL unless it ended an epoch. */
static crd_status log_step(crd_member *m, const crd_log_epoch *ending)
{
    const crd_train_progress *p = &m->progress;
    const int64_t epoch = crd_train_epoch(m->run, p->steps - 1);
    const double weight = weight_of(m, epoch);
    const crd_log_step line = {.member = m->number,
                               .step = p->steps,
                               .epoch = epoch,
                               .bce = p->bce,
                               .kl = p->kl,
                               .kl_weight = weight,
                               .loss = p->bce + weight * p->kl / m->run->kl_divisor,
                               .head_redrawn = p->redrawn > 0 && p->redrawn_after == p->steps,
                               .seconds = crd_seconds() - m->run->begin};
    if (!crd_train_first(m->run)) return CRD_OK;
    crd_history_add(m->history, &line, ending);
    return crd_log_add(m->run->log, &line, ending, m->rank_speeds, crd_dist_size(m->run->dist));
}

/* Hands the next mini-batch to the trainer; its losses are for `losses`. */
static crd_status add_batch(crd_member *m, crd_batch *batch, crd_loss *losses)
{
    const int64_t voxels = crd_trainer_chunk_voxels(m->trainer);
    double waited;
    CRD_PASS(crd_feeder_next(m->feeder, batch, &waited));
    m->waited_seconds += waited;
    if (m->shared != NULL) CRD_PASS(crd_shared_step_begin(m->shared, batch));
    const float scale = (float)(1.0 / (double)batch->labelled);
    for (int64_t i = batch->first; i < batch->end; i++) {
        const float *input = batch->inputs + (i - batch->first) * voxels;
        const uint8_t *label = batch->labels + (i - batch->first) * voxels;
        CRD_PASS(m->shared != NULL ? crd_shared_step_add(m->shared, i, input, label, scale)
                                   : crd_trainer_add(m->trainer, (uint32_t)i, input, label, scale, &losses[i]));
    }
    return m->shared != NULL ? crd_shared_step_finish(m->shared, batch, losses) : CRD_OK;
}

/* What the others have learnt stays: a dead head alone keeps gradients from them. */
static crd_status redraw_head(crd_member *m)
{
    crd_train_progress *p = &m->progress;
    CRD_PASS(fetch(m, true));
    CRD_PASS(crd_trainer_redraw_head(m->trainer, m->run->classes[1] > m->run->classes[0]));
    crd_diagnose_redraw(p->steps, &m->monitor);
    p->dead = 0;
    p->redrawn++;
    p->redrawn_after = p->steps;
    return CRD_OK;
}

static crd_status take_step(crd_member *m)
{
    crd_train_progress *p = &m->progress;
    double bce = 0.0, kl;
    bool dead = true;
    if (!m->ahead) CRD_PASS(add_batch(m, &m->batch, m->losses[0]));
    const crd_batch batch = m->batch;
    const crd_loss *losses = m->losses[0];
    const int64_t epoch = crd_train_epoch(m->run, batch.step);
    const double kl_scale = weight_of(m, epoch) / m->run->kl_divisor, rate = rate_of(m, epoch);
    CRD_PASS(m->shared != NULL ? crd_shared_step_start(m->shared, kl_scale, rate)
                               : crd_trainer_start(m->trainer, kl_scale, rate));
    m->ahead = m->shared == NULL && crd_trainer_backend(m->trainer)->overlaps && batch.step + 1 < m->run->end_step;
    if (m->ahead) CRD_PASS(add_batch(m, &m->batch, m->losses[1])); /* while the device computes */
    CRD_PASS(crd_trainer_wait(m->trainer, &kl));
    for (int64_t i = 0; i < batch.count; i++) {
        bce += losses[i].bce_sum / (double)batch.labelled;
        dead = dead && losses[i].head_dead;
    }
    crd_loss *spare = m->losses[0];
    m->losses[0] = m->losses[1];
    m->losses[1] = spare;
    CRD_PASS(crd_diagnose_step(p, batch.step + 1, bce, kl, dead, m->checkpoint_path));
    p->steps++;
    p->epoch_steps++;
    p->epoch_bce += bce;
    p->bce = bce;
    p->kl = kl;
    return crd_head_is_dead(p) ? redraw_head(m) : CRD_OK;
}

/* Every how many epochs their end is checked with samples; 0 where nothing is held back. That is to cost a tenth of the
 * steps at most, so not every epoch is where labels are few and epochs short. A sample costs an example's way forward,
 * a step three of them. */
static int64_t epochs_between_samples(const crd_member *m)
{
    const crd_train_options *o = m->run->options;
    const int64_t checked = crd_dataset_count(m->validation) * crd_train_check_samples(o);
    const int64_t learnt = 3 * crd_dataset_count(m->run->training), every = (10 * checked + learnt - 1) / learnt;
    return checked > 0 && o->valid_samples > 0 ? 1 : every;
}

static bool samples_are_due(const crd_member *m, int64_t epoch)
{
    const int64_t every = epochs_between_samples(m);
    return every > 0 && epoch % every == 0;
}

static crd_status check(crd_member *m, int64_t epoch, crd_log_epoch *line)
{
    crd_check_result v;
    if (crd_dataset_count(m->validation) == 0) return CRD_OK;
    m->checker.done = m->progress.steps - 1; /* the epoch's last is done when it is checked */
    m->checker.total = m->run->end_step;
    CRD_PASS(crd_check_mean(&m->checker, &v));
    line->valid_bce = v.bce;
    line->valid_accuracy = v.accuracy;
    if (!samples_are_due(m, epoch)) return CRD_OK;
    CRD_PASS(crd_check_samples(&m->checker, crd_train_check_samples(m->run->options), &v));
    line->sample_bce = v.bce;
    line->sample_accuracy = v.accuracy;
    line->sample_dice = v.dice;
    return CRD_OK;
}

/* "2:05 left", as long as the steps so far took. Of members that follow each other it is this one's. */
static void time_left(const crd_member *m, char *text, size_t bytes)
{
    const crd_train_progress *p = &m->progress;
    const double taken = (double)(p->steps - m->resumed_at), more = (double)(m->run->end_step - p->steps);
    const int64_t left = taken > 0.0 ? (int64_t)((crd_seconds() - m->begin) / taken * more + 0.5) : 0;
    text[0] = '\0';
    if (more == 0.0) return;
    if (left >= 3600) {
        snprintf(text, bytes, ", %" PRId64 ":%02" PRId64 ":%02" PRId64 " left", left / 3600, left / 60 % 60, left % 60);
    } else {
        snprintf(text, bytes, ", %" PRId64 ":%02" PRId64 " left", left / 60, left % 60);
    }
}

/* Has this epoch a line? Of many most go without. Where some are checked with samples only they have one: all lines
 * then say the same of the network, its Dice. */
static bool epoch_is_said(const crd_member *m, int64_t epoch, int64_t epochs)
{
    const int64_t every = (epochs + LINES_MOST - 1) / LINES_MOST, sampled = epochs_between_samples(m);
    if (sampled <= 1 || sampled > epochs) return epoch == 1 || epoch == epochs || epoch % every == 0;
    return epoch % ((every + sampled - 1) / sampled * sampled) == 0;
}

/* For people, who want to know how good it is by now, and how long it takes; the log has the rest. */
static void say_epoch(const crd_member *m, int64_t epoch, double bce, const crd_log_epoch *line)
{
    const int64_t epochs = crd_train_epoch(m->run, m->run->end_step - 1);
    const char *where = m->run->options->valid_scan.count > 0 ? "validation" : "held-back";
    char checked[96] = "", left[32];
    if (!epoch_is_said(m, epoch, epochs)) return;
    if (!isnan(line->sample_dice)) {
        snprintf(checked, sizeof checked, "%s Dice %.3f, ", where, line->sample_dice);
    } else if (!isnan(line->valid_accuracy)) {
        snprintf(checked, sizeof checked, "%s labels %.1f %% right, ", where, 100.0 * line->valid_accuracy);
    }
    time_left(m, left, sizeof left);
    crd_info(&m->monitor, "epoch %" PRId64 " of %" PRId64 ": %scross entropy %.4f%s", epoch, epochs, checked, bce,
             left);
}

/* While its weight still grows, the KL term has not done its work: such a state is sharper than it should be. */
static bool kl_is_whole(const crd_member *m, int64_t epoch)
{
    return m->run->model->net.kind != CRD_BCNN || m->run->options->kl_step == 0.0 || weight_of(m, epoch) >= 1.0;
}

/* May the state after the last step become the best so far? Only at the end of an epoch, because a training that goes
 * on from here would never have stopped to look at another, and only where it was looked at as the best is chosen. */
static bool is_candidate(const crd_member *m)
{
    const int64_t epoch = crd_train_epoch(m->run, m->progress.steps - 1);
    return m->progress.steps % m->run->batches == 0 && kl_is_whole(m, epoch) &&
           (crd_train_at_means(m->run->options) || samples_are_due(m, epoch));
}

/* The best is that of the loss with all weights at their means or, where it is what the training is for, with samples,
 * as a prediction has them. */
static crd_status keep_best(crd_member *m, int64_t epoch, const crd_log_epoch *line)
{
    crd_train_progress *p = &m->progress;
    const bool wanted = crd_train_keeps_best(m->run->options);
    const double loss = wanted && !crd_train_at_means(m->run->options) ? line->sample_bce : line->valid_bce;
    if (isnan(line->valid_bce)) return CRD_OK;
    p->last_valid_bce = line->valid_bce;
    p->last_valid_accuracy = line->valid_accuracy;
    if (wanted && !is_candidate(m)) return CRD_OK;
    if (loss >= p->best_valid_bce) return CRD_OK; /* false where there is none yet */
    p->best_valid_bce = loss;
    p->best_epoch = epoch;
    CRD_PASS(fetch(m, false));
    return m->saver != NULL ? crd_saver_best(m->saver, crd_trainer_state_of(m->trainer)->parameters) : CRD_OK;
}

static crd_status measure_weights(crd_member *m, crd_log_epoch *line)
{
    crd_posterior_summary summary;
    if (m->run->model->net.kind != CRD_BCNN) return CRD_OK;
    if (m->shared != NULL) CRD_PASS(crd_shared_step_collect(m->shared, false));
    CRD_PASS(crd_trainer_summarise(m->trainer, &summary));
    line->mean_sigma = summary.mean_sigma;
    line->certain_share = summary.certain_share;
    return CRD_OK;
}

/* Epochs of a small scan can be over sooner than their state and picture are saved: then most go without. What a kill
 * takes from a training is computed again. */
static crd_status time_to_save(crd_member *m, bool *out)
{
    const bool due = m->progress.steps == m->run->end_step || crd_seconds() - m->saved_at >= SAVE_SECONDS;
    return crd_dist_any(m->run->dist, due, out);
}

static crd_status finish_epoch(crd_member *m)
{
    crd_train_progress *p = &m->progress;
    bool save;
    const int64_t epoch = crd_train_epoch(m->run, p->steps - 1);
    const double bce = p->epoch_bce / (double)p->epoch_steps;
    crd_log_epoch line = {rate_of(m, epoch), (double)NAN, (double)NAN, (double)NAN,
                          (double)NAN,       (double)NAN, (double)NAN, (double)NAN};
    CRD_PASS(measure_weights(m, &line));
    CRD_PASS(check(m, epoch, &line));
    crd_diagnose_epoch(p, epoch, bce, &line, isnan(line.valid_bce) ? m->run->classes : m->run->check_classes,
                       &m->monitor);
    CRD_PASS(keep_best(m, epoch, &line));
    say_epoch(m, epoch, bce, &line);
    p->epoch_bce = 0.0;
    p->epoch_steps = 0;
    p->last_bce = bce;
    if (m->shared != NULL) CRD_PASS(crd_shared_step_speeds(m->shared, m->rank_speeds));
    CRD_PASS(log_step(m, &line));
    CRD_PASS(time_to_save(m, &save));
    if (!save) return CRD_OK;
    CRD_PASS(save_checkpoint(m));
    if (crd_train_first(m->run) && crd_png_possible() && crd_progress_picture(m->picture_path, m->history) != CRD_OK) {
        crd_warn(&m->monitor, "%s", crd_last_error()->message); /* no reason to stop a training */
    }
    return CRD_OK;
}

static bool epoch_is_over(const crd_member *m)
{
    const crd_train_progress *p = &m->progress;
    return p->epoch_steps > 0 && (p->steps % m->run->batches == 0 || p->steps == m->run->end_step);
}

/* A request to stop leaves a checkpoint behind. */
static crd_status stop(crd_member *m)
{
    CRD_PASS(save_checkpoint(m));
    CRD_PASS(finish_saving(m));
    return crd_fail(CRD_ERR_CANCELLED,
                    "stopped after step %" PRId64 " of %" PRId64 "; the same command with --resume goes on from %s",
                    m->progress.steps, m->run->end_step, m->checkpoint_path);
}

/* The end of an epoch, where it is time for it. A request to stop while it goes on leaves it to the resumed run. */
static crd_status end_epoch_if_over(crd_member *m)
{
    if (!epoch_is_over(m)) return CRD_OK;
    const crd_status status = finish_epoch(m);
    return status == CRD_ERR_CANCELLED ? stop(m) : status;
}

/* Steps until the end. */
static crd_status take_steps(crd_member *m)
{
    crd_train_progress *p = &m->progress;
    m->begin = crd_seconds();
    CRD_PASS(end_epoch_if_over(m)); /* resumed between an epoch's last step and its end */
    while (p->steps < m->run->end_step) {
        char note[64];
        CRD_PASS(take_step(m));
        snprintf(note, sizeof note, "epoch %" PRId64 ", cross entropy %.4f", crd_train_epoch(m->run, p->steps - 1),
                 p->epoch_bce / (double)p->epoch_steps);
        const bool over = epoch_is_over(m);
        if (!over) CRD_PASS(log_step(m, NULL));
        CRD_PASS(end_epoch_if_over(m));
        bool asked = crd_advance(&m->monitor, "training", "steps", p->steps, m->run->end_step, note) != CRD_OK;
        CRD_PASS(crd_dist_any(m->run->dist, asked, &asked));
        if (asked) return stop(m);
        if (!over && p->steps % m->run->options->checkpoint_every == 0) CRD_PASS(save_checkpoint(m));
        if (m->saver != NULL) CRD_PASS(crd_saver_look(m->saver));
    }
    return CRD_OK;
}

crd_status crd_member_load_best(crd_member *m)
{
    crd_status status = CRD_OK;
    crd_model *best = NULL;
    crd_trainer_state *state = crd_trainer_state_of(m->trainer);
    if (crd_train_first(m->run)) {
        CRD_TRY(crd_model_load(m->best_path, &best));
        if (best->info.members != 1 || best->net.model.total != state->count) {
            CRD_FAIL(CRD_ERR_MISMATCH, "%s holds another network than this training; remove it", m->best_path);
        }
        memcpy(state->parameters, best->parameters, (size_t)state->count * sizeof(float));
    }
    CRD_TRY(crd_dist_broadcast(m->run->dist, state->parameters, state->count * (int64_t)sizeof(float)));
    CRD_TRY(crd_trainer_parameters_changed(m->trainer));
    CRD_TRY(copy_parameters(m));
done:
    crd_model_free(&best);
    return status;
}

/* Whether the best state so far is to be the model. The last one may be better where it was no candidate. */
static crd_status choose_state(crd_member *m)
{
    const crd_train_progress *p = &m->progress;
    const crd_train_options *o = m->run->options;
    crd_check_result last;
    m->kept_best = crd_train_keeps_best(o) && !isnan(p->best_valid_bce);
    if (!m->kept_best || is_candidate(m)) return CRD_OK;
    const crd_status status = crd_train_at_means(o) ? crd_check_mean(&m->checker, &last)
                                                    : crd_check_samples(&m->checker, crd_train_check_samples(o), &last);
    if (status == CRD_ERR_CANCELLED) {
        return crd_fail(status,
                        "stopped while checking: all steps are done, and the same command with --resume finishes");
    }
    CRD_PASS(status);
    m->kept_best = p->best_valid_bce <= last.bce;
    return CRD_OK;
}

int64_t crd_member_kept_epoch(const crd_member *m)
{
    return m->kept_best ? m->progress.best_epoch : crd_train_epoch(m->run, m->progress.steps - 1);
}

crd_status crd_member_train(crd_member *m)
{
    crd_log_epoch line = {.mean_sigma = (double)NAN, .certain_share = (double)NAN};
    CRD_PASS(take_steps(m));
    CRD_PASS(finish_saving(m));
    CRD_PASS(choose_state(m));
    CRD_PASS(m->kept_best ? crd_member_load_best(m) : copy_parameters(m));
    CRD_PASS(measure_weights(m, &line));
    m->mean_sigma = line.mean_sigma;
    m->certain_share = line.certain_share;
    m->reading_seconds = crd_feeder_seconds(m->feeder);
    if (isnan(m->progress.best_valid_bce) && crd_train_first(m->run)) {
        (void)unlink(m->best_path); /* an earlier training's: it would pass for this one's */
    }
    return CRD_OK;
}
