/* The training program: data in, steps, epochs, checkpoints, models out. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/report.h"
#include "credence/train.h"
#include "train/checkpoint.h"
#include "train/diagnosis.h"
#include "train/feeder.h"
#include "train/log.h"
#include "train/schedule.h"
#include "train/validation.h"

typedef struct run {
    const crd_train_options *options;
    const crd_monitor *monitor;
    crd_train_result *result;
    char *best_path, *checkpoint_path, *log_path, *lock_path;
    char *settings;            /* that shape the result, as JSON */
    char *isa;                 /* of the checkpoint that is resumed, or NULL */
    crd_lock *lock;
    crd_model *model;
    crd_dataset *training, *validation;
    crd_trainer *trainer;
    crd_feeder *feeder;
    crd_train_log *log;
    float *input;              /* one chunk, for validation */
    uint8_t *label;
    int64_t batches, end_step;
    double kl_divisor;
    crd_train_progress progress;
    crd_train_identity identity;
    double begin;
} run;

/* "dir/model.h5" and ".best.h5" give "dir/model.best.h5". */
static crd_status beside(const char *output, const char *suffix, char **out)
{
    const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
    const size_t stem = dot != NULL && (slash == NULL || dot > slash + 1) ? (size_t)(dot - output) : strlen(output);
    CRD_PASS(crd_alloc((int64_t)(stem + strlen(suffix) + 1), 1, "a file name", out));
    memcpy(*out, output, stem);
    strcpy(*out + stem, suffix);
    return CRD_OK;
}

/* Settings that name files or say how to run don't shape the result; how long to go on may change. */
static crd_status shaping_settings(const crd_train_options *options, char **out)
{
    static const char *const others[] = {"scan", "label", "valid-scan", "valid-label", "output", "log", "preset",
                                         "checkpoint-every", "resume", "threads", "isa", "epochs", "max-steps", "init",
                                         "shape", "type"};
    crd_status status = CRD_OK;
    char *all = NULL, *text = NULL;
    cJSON *json = NULL;
    CRD_TRY(crd_settings_to_json(&crd_train_settings, options, &all));
    json = cJSON_Parse(all);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) cJSON_DeleteItemFromObject(json, others[i]);
    if (options->mask != NULL && strcmp(options->mask, "cylinder") != 0) {
        cJSON_ReplaceItemInObject(json, "mask", cJSON_CreateString("file"));
    }
    text = cJSON_PrintUnformatted(json);
    if (text == NULL) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the settings");
    CRD_TRY(crd_strdup(text, out));
done:
    crd_settings_free_text(&all);
    cJSON_Delete(json);
    cJSON_free(text);
    return status;
}

static crd_status check_options(const crd_train_options *o)
{
    if (o->output == NULL) return crd_fail(CRD_ERR_ARGUMENT, "say where the model goes: -o model.h5");
    if (o->scan.count == 0 || o->scan.count != o->label.count) {
        return crd_fail(CRD_ERR_ARGUMENT, "give one --label for every --scan: there are %" PRId64 " scans and %" PRId64
                        " labels", o->scan.count, o->label.count);
    }
    if (o->valid_scan.count != o->valid_label.count) {
        return crd_fail(CRD_ERR_ARGUMENT, "give one --valid-label for every --valid-scan: there are %" PRId64
                        " scans and %" PRId64 " labels", o->valid_scan.count, o->valid_label.count);
    }
    return crd_net_check_chunk(o->chunk);
}

static crd_status open_data(run *r)
{
    const crd_train_options *o = r->options;
    const crd_volume_options raw = {.shape = {o->shape[0], o->shape[1], o->shape[2]}, .type = o->type};
    crd_dataset_options data = {.chunk = {o->chunk[0], o->chunk[1], o->chunk[2]}, .step = o->step, .mask = o->mask,
                                .label = {.foreground = o->foreground.items, .foreground_count = o->foreground.count,
                                          .ignore = o->ignore.items, .ignore_count = o->ignore.count},
                                .volume = &raw, .augment = strcmp(o->augment, "flips") == 0,
                                .seed = (uint64_t)o->seed};
    int64_t classes[2];
    CRD_PASS(crd_norm_parse(o->norm, &data.norm));
    CRD_PASS(crd_dataset_create(&data, &r->training));
    const double held_back = o->valid_scan.count > 0 ? 0.0 : o->valid_fraction;
    for (int64_t i = 0; i < o->scan.count; i++) {
        CRD_PASS(crd_dataset_add(r->training, o->scan.items[i], o->label.items[i], held_back, r->monitor));
    }
    data.augment = 0;
    data.step = 1;
    data.mask = o->mask;
    CRD_PASS(crd_dataset_create(&data, &r->validation));
    for (int64_t i = 0; i < o->valid_scan.count; i++) {
        CRD_PASS(crd_dataset_add(r->validation, o->valid_scan.items[i], o->valid_label.items[i], 0.0, r->monitor));
    }
    if (held_back > 0.0) CRD_PASS(crd_dataset_add_rest(r->validation, r->training, r->monitor));
    crd_dataset_classes(r->training, classes);
    CRD_PASS(crd_diagnose_labels(classes, crd_dataset_count(r->training)));
    r->batches = crd_feeder_batches(crd_dataset_count(r->training), o->batch);
    crd_info(r->monitor, "%" PRId64 " chunks of %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x) to learn from in %" PRId64
             " mini-batches an epoch, %" PRId64 " to check on", crd_dataset_count(r->training), o->chunk[0],
             o->chunk[1], o->chunk[2], r->batches, crd_dataset_count(r->validation));
    return CRD_OK;
}

static crd_status make_model(run *r)
{
    crd_status status = CRD_OK;
    const crd_train_options *o = r->options;
    crd_model *from = NULL;
    crd_model_info info = {.kind = strcmp(o->kind, "mcdn") == 0 ? CRD_MCDN : CRD_BCNN, .filters = (int)o->filters,
                           .groups = (int)o->groups, .chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                           .config = r->settings};
    snprintf(info.norm, sizeof info.norm, "%s", o->norm);
    crd_dataset_record(r->training, &info.training);
    CRD_TRY(crd_model_create(&info, (uint64_t)o->seed, &r->model));
    if (o->init != NULL) {
        CRD_TRY(crd_model_load(o->init, &from));
        if (from->net.kind != r->model->net.kind || from->net.filters != r->model->net.filters ||
            from->net.groups != r->model->net.groups) {
            CRD_FAIL(CRD_ERR_MISMATCH,
                     "%s is a %s with %d filters and %d groups, and a %s with %d filters and %d groups is wanted; set "
                     "--kind, --filters and --groups to the model's", o->init, crd_kind_name(from->net.kind),
                     from->net.filters, from->net.groups, o->kind, r->model->net.filters, r->model->net.groups);
        }
        memcpy(r->model->parameters, from->parameters, (size_t)from->net.model.total * sizeof(float));
    }
done:
    crd_model_free(&from);
    return status;
}

static crd_status make_trainer(run *r)
{
    const crd_train_options *o = r->options;
    const char *asked = o->isa == NULL || strcmp(o->isa, "auto") == 0 ? NULL : o->isa;
    crd_trainer_plan plan = {.net = &r->model->net, .chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                                   .prior_std = o->prior_std,
                                   .seed = (uint64_t)o->seed, .threads = (int)o->threads,
                                   .isa = r->isa != NULL ? r->isa : asked};
    const int64_t voxels = o->chunk[0] * o->chunk[1] * o->chunk[2];
    CRD_PASS(crd_estimator_parse(o->estimator, &plan.estimator));
    CRD_PASS(crd_trainer_create(&plan, &r->trainer));
    CRD_PASS(crd_alloc(voxels, sizeof(float), "a chunk", &r->input));
    CRD_PASS(crd_alloc(voxels, 1, "a chunk", &r->label));
    crd_trainer_state *state = crd_trainer_state_of(r->trainer);
    memcpy(state->parameters, r->model->parameters, (size_t)state->count * sizeof(float));
    r->identity = (crd_train_identity){.settings = r->settings, .isa = crd_trainer_isa(r->trainer),
                                       .batches = r->batches, .data = crd_dataset_digest(r->training)};
    return CRD_OK;
}

static crd_status start_or_resume(run *r, bool resume)
{
    crd_train_progress *p = &r->progress;
    *p = (crd_train_progress){.first_valid_bce = (double)NAN, .best_valid_bce = (double)NAN,
                              .last_valid_bce = (double)NAN, .last_valid_accuracy = (double)NAN};
    if (resume) {
        CRD_PASS(crd_checkpoint_load(r->checkpoint_path, &r->identity, r->model, crd_trainer_state_of(r->trainer), p));
        crd_info(r->monitor, "going on from %s after step %" PRId64, r->checkpoint_path, p->steps);
    }
    crd_trainer_parameters_changed(r->trainer);
    return CRD_OK;
}

static void copy_parameters(run *r)
{
    const crd_trainer_state *state = crd_trainer_state_of(r->trainer);
    memcpy(r->model->parameters, state->parameters, (size_t)state->count * sizeof(float));
}

static crd_status save_checkpoint(run *r)
{
    copy_parameters(r);
    CRD_PASS(crd_log_flush(r->log));
    return crd_checkpoint_save(r->checkpoint_path, r->model, crd_trainer_state_of(r->trainer), &r->progress,
                               &r->identity);
}

static int64_t epoch_of(const run *r, int64_t step)
{
    return step / r->batches + 1;
}

static crd_status take_step(run *r)
{
    const crd_train_options *o = r->options;
    crd_train_progress *p = &r->progress;
    crd_batch batch;
    double bce = 0.0, kl;
    bool dead = true;
    CRD_PASS(crd_feeder_next(r->feeder, &batch, NULL));
    const int64_t epoch = epoch_of(r, batch.step), voxels = crd_trainer_chunk_voxels(r->trainer);
    const double weight = crd_kl_weight(epoch, o->kl_initial, o->kl_step, o->kl_start);
    crd_trainer_begin(r->trainer);
    for (int64_t i = 0; i < batch.count; i++) {
        crd_loss loss;
        crd_trainer_add(r->trainer, (uint32_t)i, batch.inputs + i * voxels, batch.labels + i * voxels,
                        (float)(1.0 / (double)batch.labelled), &loss);
        bce += loss.bce_sum / (double)batch.labelled;
        dead = dead && loss.head_dead;
    }
    crd_trainer_finish(r->trainer, weight / r->kl_divisor, crd_learning_rate(epoch, o->lr, o->lr_decay_start), &kl);
    const double loss = bce + weight * kl / r->kl_divisor;
    CRD_PASS(crd_diagnose_step(batch.step + 1, bce, kl, dead, r->checkpoint_path, p->steps > 0));
    p->steps++;
    p->epoch_steps++;
    p->epoch_bce += bce;
    const crd_log_step line = {batch.step + 1, epoch, bce, kl, weight, loss, crd_seconds() - r->begin};
    return crd_log_add_step(r->log, &line);
}

static crd_status check_samples(run *r, crd_log_epoch *line)
{
    const int64_t samples = r->options->valid_samples;
    if (samples == 0 || crd_dataset_count(r->validation) == 0) return CRD_OK;
    line->sample_bce = line->sample_accuracy = 0.0;
    for (int64_t s = 0; s < samples; s++) {
        crd_validation v;
        CRD_PASS(crd_validate_chunks(r->trainer, r->validation, s, r->input, r->label, &v));
        line->sample_bce += v.bce / (double)samples;
        line->sample_accuracy += v.accuracy / (double)samples;
    }
    return CRD_OK;
}

static crd_status finish_epoch(run *r)
{
    const crd_train_options *o = r->options;
    crd_train_progress *p = &r->progress;
    const int64_t epoch = epoch_of(r, p->steps - 1);
    crd_posterior_summary summary;
    crd_posterior_summarise(crd_trainer_posterior(r->trainer), crd_trainer_pool(r->trainer),
                            crd_trainer_state_of(r->trainer)->parameters, &summary);
    crd_log_epoch line = {.step = p->steps, .epoch = epoch, .valid_bce = (double)NAN, .valid_accuracy = (double)NAN,
                          .sample_bce = (double)NAN, .sample_accuracy = (double)NAN,
                          .mean_sigma = summary.mean_sigma, .certain_share = summary.certain_share,
                          .kl = crd_trainer_kl(r->trainer),
                          .kl_weight = crd_kl_weight(epoch, o->kl_initial, o->kl_step, o->kl_start),
                          .lr = crd_learning_rate(epoch, o->lr, o->lr_decay_start)};
    if (crd_dataset_count(r->validation) > 0) {
        crd_validation v;
        CRD_PASS(crd_validate_chunks(r->trainer, r->validation, CRD_TRAINER_MEAN, r->input, r->label, &v));
        line.valid_bce = v.bce;
        line.valid_accuracy = v.accuracy;
    }
    CRD_PASS(check_samples(r, &line));
    const double mean_bce = p->epoch_bce / (double)p->epoch_steps;
    if (isnan(line.valid_bce)) {
        crd_info(r->monitor, "epoch %" PRId64 ": bce %.4f, mean sigma %.4f, %.1f %% of weights certain", epoch, mean_bce,
                 summary.mean_sigma, 100.0 * summary.certain_share);
    } else {
        crd_info(r->monitor, "epoch %" PRId64 ": bce %.4f, validation bce %.4f, accuracy %.4f, mean sigma %.4f, "
                 "%.1f %% of weights certain", epoch, mean_bce, line.valid_bce, line.valid_accuracy, summary.mean_sigma,
                 100.0 * summary.certain_share);
        crd_diagnose_epoch(p, epoch, &line, r->monitor);
        p->last_valid_bce = line.valid_bce;
        p->last_valid_accuracy = line.valid_accuracy;
        if (!(line.valid_bce >= p->best_valid_bce)) {
            p->best_valid_bce = line.valid_bce;
            p->best_epoch = epoch;
            copy_parameters(r);
            CRD_PASS(crd_model_save(r->model, r->best_path));
        }
    }
    p->epoch_bce = 0.0;
    p->epoch_steps = 0;
    r->result->bce = mean_bce;
    r->result->mean_sigma = summary.mean_sigma;
    CRD_PASS(crd_log_add_epoch(r->log, &line));
    return save_checkpoint(r);
}

/* Steps until the end; a request to stop leaves a checkpoint behind. */
static crd_status take_steps(run *r)
{
    const crd_train_options *o = r->options;
    crd_train_progress *p = &r->progress;
    while (p->steps < r->end_step) {
        char note[64];
        CRD_PASS(take_step(r));
        snprintf(note, sizeof note, "epoch %" PRId64 ", bce %.4f", epoch_of(r, p->steps - 1),
                 p->epoch_bce / (double)p->epoch_steps);
        const bool epoch_ends = p->steps % r->batches == 0 || p->steps == r->end_step;
        if (epoch_ends) CRD_PASS(finish_epoch(r));
        const crd_status asked = crd_advance(r->monitor, "training", "steps", p->steps, r->end_step, note);
        if (asked == CRD_OK && !epoch_ends && p->steps % o->checkpoint_every == 0) CRD_PASS(save_checkpoint(r));
        if (asked != CRD_OK) {
            if (!epoch_ends) CRD_PASS(save_checkpoint(r));
            return crd_fail(CRD_ERR_CANCELLED, "stopped after step %" PRId64 " of %" PRId64
                            "; the same command with --resume goes on from %s", p->steps, r->end_step,
                            r->checkpoint_path);
        }
    }
    return CRD_OK;
}

static crd_status save_calibrated(run *r, const char *path)
{
    crd_trainer_parameters_changed(r->trainer);
    copy_parameters(r);
    CRD_PASS(crd_calibrate(r->trainer, r->validation, r->input, r->label, r->monitor, &r->result->calibration));
    CRD_PASS(crd_model_set_calibration(r->model, r->result->calibration));
    return crd_model_save(r->model, path);
}

/* The last model and the best one, each with its calibration. */
static crd_status save_models(run *r)
{
    crd_status status = CRD_OK;
    crd_model *best = NULL;
    const crd_train_progress *p = &r->progress;
    crd_trainer_state *state = crd_trainer_state_of(r->trainer);
    CRD_TRY(save_calibrated(r, r->options->output));
    const double last_calibration = r->result->calibration;
    if (!isnan(p->best_valid_bce)) {
        CRD_TRY(crd_model_load(r->best_path, &best));
        memcpy(state->parameters, best->parameters, (size_t)state->count * sizeof(float));
        CRD_TRY(save_calibrated(r, r->best_path));
    }
    r->result->calibration = last_calibration;
done:
    crd_model_free(&best);
    return status;
}

static void close_run(run *r)
{
    crd_feeder_stop(&r->feeder);
    crd_log_close(&r->log);
    crd_trainer_free(&r->trainer);
    crd_dataset_close(&r->validation);
    crd_dataset_close(&r->training);
    crd_model_free(&r->model);
    crd_lock_release(&r->lock);
    crd_free(&r->input);
    crd_free(&r->label);
    crd_free(&r->best_path);
    crd_free(&r->checkpoint_path);
    crd_free(&r->log_path);
    crd_free(&r->lock_path);
    crd_free(&r->settings);
    crd_free(&r->isa);
}

static crd_status prepare(run *r)
{
    const crd_train_options *o = r->options;
    CRD_PASS(check_options(o));
    CRD_PASS(beside(o->output, ".best.h5", &r->best_path));
    CRD_PASS(beside(o->output, ".ckpt.h5", &r->checkpoint_path));
    CRD_PASS(beside(o->output, ".lock", &r->lock_path));
    CRD_PASS(o->log != NULL ? crd_strdup(o->log, &r->log_path) : beside(o->output, ".log.jsonl", &r->log_path));
    CRD_PASS(crd_lock_take(r->lock_path, &r->lock));
    bool resume = o->resume != 0;
    if (resume && access(r->checkpoint_path, F_OK) != 0) {
        crd_info(r->monitor, "there is no checkpoint %s yet: starting anew", r->checkpoint_path);
        resume = false;
    }
    if (resume) CRD_PASS(crd_checkpoint_isa(r->checkpoint_path, &r->isa));
    CRD_PASS(shaping_settings(o, &r->settings));
    CRD_PASS(open_data(r));
    CRD_PASS(make_model(r));
    CRD_PASS(make_trainer(r));
    CRD_PASS(start_or_resume(r, resume));
    CRD_PASS(crd_log_open(r->log_path, r->progress.steps, &r->log));
    r->end_step = o->epochs * r->batches;
    if (o->max_steps > 0 && o->max_steps < r->end_step) r->end_step = o->max_steps;
    r->kl_divisor = (double)(o->kl_batches > 0 ? o->kl_batches : r->batches) * o->kl_temperature;
    const crd_feeder_plan feeder = {.dataset = r->training, .batch = o->batch,
                                    .chunk_voxels = crd_trainer_chunk_voxels(r->trainer), .seed = (uint64_t)o->seed,
                                    .shuffle = !o->no_shuffle, .first_step = r->progress.steps,
                                    .end_step = r->end_step};
    return crd_feeder_start(&feeder, &r->feeder);
}

crd_status crd_train(const crd_train_options *options, const crd_monitor *monitor, crd_train_result *result)
{
    crd_status status = CRD_OK;
    run r = {.options = options, .monitor = monitor, .result = result, .begin = crd_seconds()};
    memset(result, 0, sizeof *result);
    CRD_TRY(prepare(&r));
    CRD_TRY(take_steps(&r));
    CRD_TRY(save_models(&r));
    result->steps = r.progress.steps;
    result->epochs = epoch_of(&r, r.progress.steps - 1);
    result->valid_bce = r.progress.last_valid_bce;
    result->valid_accuracy = r.progress.last_valid_accuracy;
    result->best_valid_bce = r.progress.best_valid_bce;
    result->best_epoch = r.progress.best_epoch;
done:
    result->seconds = crd_seconds() - r.begin;
    close_run(&r);
    return status;
}
