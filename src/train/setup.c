/* From options to a run that can take its first step, new or resumed. */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/choose.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "dist/agree.h"
#include "draw/picture.h"
#include "net/class_names.h"
#include "train/diagnosis.h"
#include "train/progress_picture.h"
#include "train/run.h"
#include "volume/choose.h"

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

/* As JSON; a mask's file has no name there, as scans and labels have none. */
static crd_status record_settings(const crd_train_options *options, crd_setting_scope widest, char **out)
{
    crd_status status = CRD_OK;
    char *all = NULL;
    cJSON *json = NULL;
    CRD_TRY(crd_settings_to_json(&crd_train_settings, options, widest, &all));
    json = cJSON_Parse(all);
    if (options->mask != NULL && strcmp(options->mask, "cylinder") != 0) {
        cJSON_ReplaceItemInObject(json, "mask", cJSON_CreateString("file"));
    }
    CRD_TRY(crd_json_print(json, true, out));
done:
    crd_settings_free_text(&all);
    cJSON_Delete(json);
    return status;
}

static crd_status check_prior(const crd_train_options *o)
{
    if (strcmp(o->prior, "normal") != 0) {
        if (o->prior_narrow < o->prior_std) return CRD_OK;
        return crd_fail(CRD_ERR_ARGUMENT, "--prior-narrow (%g) must be below --prior-std (%g)", o->prior_narrow,
                        o->prior_std);
    }
    if (o->prior_narrow == 0.0 && o->prior_share == 0.5) return CRD_OK;
    return crd_fail(
        CRD_ERR_ARGUMENT,
        "--prior-narrow and --prior-share are those of --prior mixture and spike-slab; the normal prior has "
        "neither");
}

static crd_status check_options(const crd_train_options *o)
{
    const crd_device_choice choice = {
        .device = o->device, .precision = o->precision, .isa = o->isa, .threads = o->threads, .training = true};
    const crd_backend *backend;
    crd_device_settings device;
    if (o->output == NULL) return crd_fail(CRD_ERR_ARGUMENT, "say where the model goes: -o model.h5");
    if (o->scan.count == 0 || o->scan.count != o->label.count) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "give one --label for every --scan: scans there are %" PRId64 ", labels %" PRId64,
                        o->scan.count, o->label.count);
    }
    if (o->valid_scan.count != o->valid_label.count) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "give one --valid-label for every --valid-scan: scans there are %" PRId64 ", labels %" PRId64,
                        o->valid_scan.count, o->valid_label.count);
    }
    CRD_PASS(check_prior(o));
    CRD_PASS(crd_backend_choose(&choice, &backend, &device));
    return crd_net_check_chunk(NULL, o->chunk);
}

/* No name that is written may be one that is read. `input` may be NULL. */
static crd_status spare_input(const crd_train_run *r, const char *input)
{
    const char *const written[] = {r->options->output, r->best_path, r->checkpoint_path, r->log_path, r->picture_path};
    const char *dataset, *lost = NULL;
    char *file;
    if (input == NULL) return CRD_OK;
    CRD_PASS(crd_split_dataset(input, false, &file, &dataset));
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        if (crd_same_file(file, written[i])) lost = written[i];
    }
    crd_free(&file);
    if (lost == NULL) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT,
                    "%s is to be read, and writing %s would replace it; give -o or --log another name", input, lost);
}

static crd_status spare_inputs(const crd_train_run *r, const crd_text_list *inputs)
{
    for (int64_t i = 0; i < inputs->count; i++) CRD_PASS(spare_input(r, inputs->items[i]));
    return CRD_OK;
}

/* A long training must not end without a place for its result, nor in the place of somebody's file. */
static crd_status check_places(const crd_train_run *r)
{
    const crd_train_options *o = r->options;
    struct stat about;
    CRD_PASS(crd_check_target(o->output));
    CRD_PASS(crd_check_target(r->log_path));
    CRD_PASS(spare_inputs(r, &o->scan));
    CRD_PASS(spare_inputs(r, &o->label));
    CRD_PASS(spare_inputs(r, &o->valid_scan));
    CRD_PASS(spare_inputs(r, &o->valid_label));
    CRD_PASS(spare_input(r, o->init));
    if (o->mask != NULL && strcmp(o->mask, "cylinder") != 0) CRD_PASS(spare_input(r, o->mask));
    if (stat(o->output, &about) == 0 && about.st_size > 0 && !crd_model_recognise(o->output)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is there already and is no model of credence; give -o another name",
                        o->output);
    }
    if (crd_file_is_other(r->log_path, "{")) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is there already and is no log; give --log another name", r->log_path);
    }
    return CRD_OK;
}

static crd_status name_files(crd_train_run *r)
{
    const char *output = r->options->output, *log = r->options->log;
    CRD_PASS(beside(output, ".best.h5", &r->best_path));
    CRD_PASS(beside(output, ".ckpt.h5", &r->checkpoint_path));
    CRD_PASS(beside(output, ".lock", &r->lock_path));
    CRD_PASS(beside(output, ".progress.png", &r->picture_path));
    return log != NULL ? crd_strdup(log, &r->log_path) : beside(output, ".log.jsonl", &r->log_path);
}

/* Removes what a killed run was about to write to `path`: with the lock in hand, nobody else is writing there. */
static void remove_unfinished(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(name);
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 2, slash != NULL ? path : "./");
    DIR *list = opendir(folder);
    if (list == NULL) return;
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        const char *found = entry->d_name;
        if (found[0] != '.' || strncmp(found + 1, name, length) != 0 || strncmp(found + 1 + length, ".tmp.", 5) != 0)
            continue;
        (void)unlinkat(dirfd(list), found, 0);
    }
    (void)closedir(list);
}

static crd_status make_model(crd_train_run *r)
{
    crd_status status = CRD_OK;
    const crd_train_options *o = r->options;
    const crd_model *from = r->ancestor;
    const crd_label_classes *classes = crd_dataset_meaning(r->training);
    crd_model_info info = {.kind = strcmp(o->kind, "mcdn") == 0 ? CRD_MCDN : CRD_BCNN,
                           .filters = (int)o->filters,
                           .groups = (int)o->groups,
                           .classes = classes->count,
                           .chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                           .config = r->config};
    snprintf(info.norm, sizeof info.norm, "%s", o->norm);
    memcpy(info.class_values, classes->values, sizeof info.class_values);
    if (o->class_names != NULL) snprintf(info.class_names, sizeof info.class_names, "%s", o->class_names);
    if (info.class_names[0] != '\0' && crd_class_names_count(info.class_names) != info.classes)
        return crd_fail(CRD_ERR_ARGUMENT, "--class-names %s names %d classes, and the labels have %d", info.class_names,
                        crd_class_names_count(info.class_names), info.classes);
    crd_dataset_record(r->training, &info.training);
    CRD_TRY(crd_model_create(&info, (uint64_t)o->seed, &r->model));
    snprintf(r->init, sizeof r->init, "none");
    if (from != NULL) {
        CRD_TRY(crd_sha256_file(o->init, r->init));
        if (from->net.kind != r->model->net.kind || from->net.filters != r->model->net.filters ||
            from->net.groups != r->model->net.groups) {
            CRD_FAIL(CRD_ERR_MISMATCH,
                     "%s is a %s with %d filters and %d groups, and a %s with %d filters and %d groups is wanted; set "
                     "--kind, --filters and --groups to the model's",
                     o->init, crd_kind_name(from->net.kind), from->net.filters, from->net.groups, o->kind,
                     r->model->net.filters, r->model->net.groups);
        }
        if (from->net.classes != r->model->net.classes) {
            CRD_FAIL(CRD_ERR_MISMATCH,
                     "%s tells %d classes apart, and the labels have %d; see --classes and --foreground", o->init,
                     from->net.classes, r->model->net.classes);
        }
        memcpy(r->model->parameters, from->parameters, (size_t)from->net.model.total * sizeof(float));
    }
    CRD_TRY(crd_learnt_join(crd_train_earlier(r), r->scan_names, r->training, &r->model->provenance));
done:
    return status;
}

static crd_status take_pieces(crd_train_run *r)
{
    crd_pieces pieces;
    CRD_PASS(crd_dataset_pieces(r->training, crd_net_step(&r->model->net), &pieces));
    crd_model_take_pieces(r->model, &pieces);
    return CRD_OK;
}

static const char *unless_auto(const char *text)
{
    return text == NULL || strcmp(text, "auto") == 0 ? NULL : text;
}

/* What the user asks for and, for the rest, what the checkpoint says: r->isa is "avx512", or "sm80" of a GPU, which
 * then has a `precision`, too. */
static crd_status choose_as_before(const crd_train_run *r, crd_device_choice choice, const char *precision,
                                   crd_trainer_plan *plan)
{
    const bool any = unless_auto(choice.device) == NULL, from_gpu = precision != NULL;
    if (r->isa != NULL) {
        if (any && !from_gpu) choice.device = "cpu";
        crd_device_choice same = choice;
        if (any && from_gpu) same.device = "cuda";
        if (same.precision == NULL) same.precision = precision;
        if (same.isa == NULL || !from_gpu) same.isa = r->isa;
        const crd_status status = crd_backend_choose(&same, &plan->backend, &plan->device);
        if (status == CRD_OK && plan->backend->on_host != from_gpu) return CRD_OK;
    }
    return crd_backend_choose(&choice, &plan->backend, &plan->device);
}

/* A checkpoint goes on where it was made unless something else is asked for; on the other kind of device it goes on as
 * well, but not to the same bytes. All processes of a job take the same kind. */
static crd_status choose_device(crd_train_run *r, crd_trainer_plan *plan)
{
    const crd_train_options *o = r->options;
    crd_device_choice choice = {.device = o->device,
                                .precision = unless_auto(o->precision),
                                .isa = unless_auto(o->isa),
                                .threads = o->threads,
                                .training = true,
                                .local_rank = crd_dist_place(r->dist)->local_rank};
    char *precision = r->isa != NULL ? strchr(r->isa, ' ') : NULL;
    const bool from_gpu = precision != NULL;
    if (from_gpu) *precision++ = '\0';
    CRD_PASS(choose_as_before(r, choice, precision, plan));
    bool lacking = plan->backend->on_host;
    CRD_PASS(crd_dist_any(r->dist, lacking, &lacking));
    if (lacking && !plan->backend->on_host) {
        if (unless_auto(o->device) != NULL) return crd_fail(CRD_ERR_UNSUPPORTED, "not all processes have a GPU");
        choice.device = "cpu";
        CRD_PASS(crd_backend_choose(&choice, &plan->backend, &plan->device));
    }
    if (crd_backend_settle(plan->backend, r->model->info.filters, true, &plan->device)) {
        crd_info(r->monitor, "a network of %d filters is trained in f32 on the GPU", r->model->info.filters);
    }
    plan->device.threads = (int)r->threads;
    if (lacking && plan->device.isa == NULL) {
        CRD_PASS(crd_dist_agree_isa(r->dist, r->monitor, &plan->device.isa));
    }
    if (r->isa != NULL && from_gpu == plan->backend->on_host) {
        crd_warn(r->monitor,
                 "%s was made on %s and goes on on %s: the model will be as good, but not byte for byte the same",
                 r->checkpoint_path, from_gpu ? "a GPU" : "the CPU", from_gpu ? "the CPU" : "a GPU");
    }
    return CRD_OK;
}

/* The narrow normal where the user doesn't say: Blundell's exp(-6), and for a spike hundredth of the slab. */
static crd_prior_settings prior_of(const crd_train_options *o)
{
    const bool spike = strcmp(o->prior, "spike-slab") == 0;
    return (crd_prior_settings){.kind = strcmp(o->prior, "normal") == 0 ? CRD_PRIOR_NORMAL : CRD_PRIOR_MIXTURE,
                                .std = o->prior_std,
                                .narrow = o->prior_narrow > 0.0 ? o->prior_narrow
                                          : spike               ? 0.01 * o->prior_std
                                                                : 0.0024787521766663585 * o->prior_std,
                                .share = o->prior_share};
}

static crd_status make_trainer(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    const int64_t samples = o->valid_samples > CRD_CALIBRATION_SAMPLES ? o->valid_samples : CRD_CALIBRATION_SAMPLES;
    crd_trainer_plan plan = {.learner = {.net = &r->model->net,
                                         .chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                                         .batch = o->batch,
                                         .prior = prior_of(o),
                                         .seed = (uint64_t)o->seed,
                                         .samples = crd_dataset_count(r->validation) > 0 ? samples : 0,
                                         .rank = crd_dist_rank(r->dist),
                                         .size = crd_dist_size(r->dist)}};
    char device[256];
    CRD_PASS(choose_device(r, &plan));
    CRD_PASS(crd_estimator_parse(o->estimator, &plan.learner.estimator));
    CRD_PASS(plan.backend->describe(&plan.device, device, sizeof device));
    crd_info(r->monitor, "training on %s", device);
    CRD_PASS(crd_trainer_create(&plan, &r->trainer));
    crd_trainer_state *state = crd_trainer_state_of(r->trainer);
    memcpy(state->parameters, r->model->parameters, (size_t)state->count * sizeof(float));
    r->identity = (crd_train_identity){.settings = r->settings,
                                       .isa = crd_trainer_isa(r->trainer),
                                       .init = r->init,
                                       .batches = r->batches,
                                       .data = crd_dataset_digest(r->training) ^
                                               (crd_dataset_digest(r->validation) * UINT64_C(0x9e3779b97f4a7c15))};
    CRD_PASS(crd_shared_step_create(r->dist, o->batch, r->trainer, &r->shared));
    for (int i = 0; i < 2; i++) CRD_PASS(crd_alloc(o->batch, sizeof(crd_loss), "the losses", &r->losses[i]));
    if (r->shared != NULL) {
        CRD_PASS(crd_alloc(crd_dist_size(r->dist), sizeof(double), "the ranks' speeds", &r->rank_speeds));
    }
    return crd_checker_open(r->trainer, r->validation, r->dist, r->monitor, &r->checker);
}

static crd_status resume(crd_train_run *r)
{
    crd_train_progress *p = &r->progress;
    CRD_PASS(crd_checkpoint_load(r->checkpoint_path, &r->identity, r->model, crd_trainer_state_of(r->trainer), p));
    if (p->steps > r->end_step) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s is after step %" PRId64 " already, and --epochs and --max-steps ask for %" PRId64
                        "; ask for more, or start anew without --resume",
                        r->checkpoint_path, p->steps, r->end_step);
    }
    if (!isnan(p->best_valid_bce) && access(r->best_path, R_OK) != 0) {
        crd_warn(r->monitor, "%s is gone: the best of the epochs to come takes its place", r->best_path);
        p->best_valid_bce = (double)NAN;
        p->best_epoch = 0;
    }
    crd_info(r->monitor, "going on from %s after step %" PRId64, r->checkpoint_path, p->steps);
    return crd_dist_broadcast(r->dist, p, (int64_t)sizeof *p); /* all see the same best state, or all miss it */
}

/* A network on the host leaves no core to readers, and one of them is faster than it; a GPU takes what several bring.
 */
static int64_t automatic_readers(const crd_train_run *r)
{
    enum { MOST = 8 };
    const int64_t threads = r->threads > 0 ? r->threads : crd_available_cores();
    if (crd_trainer_backend(r->trainer)->on_host || threads < 4) return 1;
    return threads / 2 < MOST ? threads / 2 : MOST;
}

static crd_status start_feeder(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    const crd_feeder_plan plan = {.dataset = r->training,
                                  .readers = o->readers > 0 ? o->readers : automatic_readers(r),
                                  .batch = o->batch,
                                  .chunk_voxels = crd_trainer_chunk_voxels(r->trainer),
                                  .seed = (uint64_t)o->seed,
                                  .shuffle = !o->no_shuffle,
                                  .first_step = r->progress.steps,
                                  .end_step = r->end_step,
                                  .rank = crd_dist_rank(r->dist),
                                  .size = crd_dist_size(r->dist)};
    return crd_feeder_start(&plan, &r->feeder);
}

/* Rank 0 takes the lock and looks for a checkpoint; all go on from it, or none. */
static crd_status claim_files(crd_train_run *r, bool *go_on)
{
    const crd_train_options *o = r->options;
    *go_on = false;
    if (crd_train_first(r)) {
        CRD_PASS(check_places(r));
        CRD_PASS(crd_lock_take(r->lock_path, r->monitor, &r->lock));
        remove_unfinished(o->output);
        remove_unfinished(r->best_path);
        remove_unfinished(r->checkpoint_path);
        remove_unfinished(r->picture_path);
        const bool there = access(r->checkpoint_path, F_OK) == 0;
        *go_on = o->resume && there;
        if (o->resume && !there) {
            crd_info(r->monitor, "there is no checkpoint %s yet: starting anew", r->checkpoint_path);
        }
        if (!o->resume && there) {
            crd_info(r->monitor, "starting anew; the earlier %s will be replaced (--resume would go on from it)",
                     r->checkpoint_path);
        }
    }
    CRD_PASS(crd_dist_broadcast(r->dist, go_on, (int64_t)sizeof *go_on));
    return *go_on ? crd_checkpoint_isa(r->checkpoint_path, &r->isa) : CRD_OK;
}

static crd_status open_log(crd_train_run *r)
{
    double seconds;
    if (!crd_train_first(r)) return CRD_OK;
    CRD_PASS(crd_alloc(1, sizeof *r->history, "the course of the training", &r->history));
    r->history->per_bin = r->history->every = 1;
    CRD_PASS(crd_log_open(r->log_path, r->progress.steps, crd_history_add, r->history, &r->log, &seconds));
    r->begin = crd_seconds() - seconds;
    if (!crd_png_possible()) {
        crd_info(r->monitor, "this build has no libpng: %s is left out, and the log has the same figures",
                 r->picture_path);
    }
    return CRD_OK;
}

/* What the processes of a job must agree on, and how they share their machines. */
static crd_status meet(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    const int size = crd_dist_size(r->dist);
    char text[96];
    CRD_PASS(crd_dist_agree_options(r->dist, &crd_train_settings, o));
    CRD_PASS(crd_dist_threads(r->dist, o->threads, &r->threads));
    if (size == 1) return CRD_OK;
    CRD_PASS(crd_dist_describe(r->dist, text, (int64_t)sizeof text));
    crd_info(r->monitor, "%s share every mini-batch", text);
    if (o->batch % size != 0) {
        crd_warn(r->monitor,
                 "a mini-batch of %" PRId64 " can't be divided evenly among %d processes: some will wait for others; a "
                 "multiple would keep all busy",
                 o->batch, size);
    }
    return CRD_OK;
}

crd_status crd_train_run_open(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    bool go_on;
    CRD_PASS(check_options(o));
    CRD_PASS(meet(r));
    CRD_PASS(name_files(r));
    CRD_PASS(claim_files(r, &go_on));
    CRD_PASS(record_settings(o, CRD_SCOPE_RESULT, &r->settings));
    CRD_PASS(record_settings(o, CRD_SCOPE_FINISH, &r->config));
    CRD_PASS(crd_train_open_data(r));
    CRD_PASS(make_model(r));
    if (!r->options->no_pieces) CRD_PASS(take_pieces(r));
    CRD_PASS(make_trainer(r));
    r->progress = (crd_train_progress){.first_valid_bce = (double)NAN,
                                       .best_valid_bce = (double)NAN,
                                       .last_valid_bce = (double)NAN,
                                       .last_valid_accuracy = (double)NAN};
    if (go_on) CRD_PASS(resume(r));
    CRD_PASS(crd_trainer_parameters_changed(r->trainer));
    CRD_PASS(open_log(r));
    return start_feeder(r);
}

void crd_train_run_close(crd_train_run *r)
{
    crd_feeder_stop(&r->feeder);
    crd_log_close(&r->log);
    crd_checker_close(&r->checker);
    crd_shared_step_free(&r->shared);
    for (int i = 0; i < 2; i++) crd_free(&r->losses[i]);
    crd_free(&r->rank_speeds);
    crd_trainer_free(&r->trainer);
    crd_baseline_free(&r->baseline);
    crd_free(&r->scan_names);
    crd_model_free(&r->ancestor);
    crd_dataset_close(&r->validation);
    crd_dataset_close(&r->training);
    crd_model_free(&r->model);
    crd_free(&r->history);
    crd_lock_release(&r->lock);
    crd_free(&r->best_path);
    crd_free(&r->checkpoint_path);
    crd_free(&r->log_path);
    crd_free(&r->lock_path);
    crd_free(&r->picture_path);
    crd_free(&r->settings);
    crd_free(&r->config);
    crd_free(&r->isa);
}
