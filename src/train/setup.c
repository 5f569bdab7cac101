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
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/settings/whole.h"
#include "dist/agree.h"
#include "draw/picture.h"
#include "net/class_names.h"
#include "train/diagnosis.h"
#include "train/masks.h"
#include "train/run.h"
#include "volume/choose.h"
#include "volume/format.h"

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
    if (json == NULL || !crd_train_record_masks(options, json)) {
        CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the settings of train");
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

/* Whoever writes -o seg.tif takes the model for a segmentation. */
static crd_status check_output(const char *output)
{
    for (size_t i = 0; output != NULL && crd_formats[i] != NULL; i++) {
        if (crd_formats[i] == &crd_format_hdf5 || !crd_format_has_suffix(crd_formats[i], output)) continue;
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--output is the model, an HDF5 file, and %s would be taken for a volume; call it model.h5",
                        output);
    }
    return CRD_OK;
}

static crd_status check_together(const crd_train_options *o)
{
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
    CRD_PASS(crd_train_check_masks(o));
    CRD_PASS(check_output(o->output));
    if (o->groups < 1 || o->filters % o->groups != 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "--filters must be a multiple of --groups: %" PRId64 " isn't one of %" PRId64,
                        o->filters, o->groups);
    }
    return check_prior(o);
}

crd_status crd_train_check(const crd_train_options *options)
{
    crd_train_options whole;
    CRD_PASS(crd_settings_whole(&crd_train_settings, options, &whole));
    const crd_status status = check_together(&whole);
    crd_settings_whole_free(&crd_train_settings, options, &whole);
    return status;
}

static crd_status check_options(const crd_train_options *o)
{
    const crd_device_choice choice = {
        .device = o->device, .precision = o->precision, .isa = o->isa, .threads = o->threads, .training = true};
    const crd_backend *backend;
    crd_device_settings device;
    if (o->output == NULL) return crd_fail(CRD_ERR_ARGUMENT, "say where the model goes: -o model.h5");
    CRD_PASS(check_together(o));
    if (o->members < 1 || o->members > CRD_MEMBERS_MAX) {
        return crd_fail(CRD_ERR_ARGUMENT, "an ensemble has 1 to %d members, not %" PRId64, (int)CRD_MEMBERS_MAX,
                        o->members);
    }
    CRD_PASS(crd_backend_choose(&choice, &backend, &device));
    return crd_net_check_chunk(NULL, o->chunk);
}

/* No name that is written may be one that is read. `input` may be NULL. */
static crd_status spare_input(const crd_train_run *r, const char *input)
{
    const char *dataset, *lost = NULL;
    char *file;
    if (input == NULL) return CRD_OK;
    CRD_PASS(crd_split_dataset(input, false, &file, &dataset));
    if (crd_same_file(file, r->options->output)) lost = r->options->output;
    if (crd_same_file(file, r->log_path)) lost = r->log_path;
    for (int64_t i = 0; i < r->options->members; i++) {
        const crd_member *m = &r->members[i];
        const char *const written[] = {m->best_path, m->checkpoint_path, m->picture_path};
        for (size_t k = 0; k < sizeof written / sizeof written[0]; k++) {
            if (crd_same_file(file, written[k])) lost = written[k];
        }
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

static crd_status spare_masks(const crd_train_run *r, const crd_text_list *masks)
{
    for (int64_t i = 0; i < masks->count; i++) {
        if (crd_mask_is_file(masks->items[i])) CRD_PASS(spare_input(r, masks->items[i]));
    }
    return CRD_OK;
}

/* Where the model goes, a folder is made that isn't there. */
static crd_status make_folder(crd_train_run *r)
{
    crd_status status = CRD_OK;
    char *folder = NULL;
    CRD_TRY(crd_folder_of(r->options->output, &folder));
    r->made_folder = access(folder, F_OK) != 0;
    if (r->made_folder) CRD_TRY(crd_make_lasting_folders(folder));
done:
    crd_free(&folder);
    return status;
}

/* One that was made for a training that came to nothing. */
static void remove_empty_folder(const crd_train_run *r)
{
    char *folder = NULL;
    if (!r->made_folder || crd_folder_of(r->options->output, &folder) != CRD_OK) return;
    (void)rmdir(folder); /* fails, as it should, where something was written */
    crd_free(&folder);
}

/* A long training must not end without a place for its result, nor in the place of somebody's file. */
static crd_status check_places(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    struct stat about;
    CRD_PASS(make_folder(r));
    CRD_PASS(crd_check_target(o->output));
    CRD_PASS(crd_check_target(r->log_path));
    CRD_PASS(spare_inputs(r, &o->scan));
    CRD_PASS(spare_inputs(r, &o->label));
    CRD_PASS(spare_inputs(r, &o->valid_scan));
    CRD_PASS(spare_inputs(r, &o->valid_label));
    CRD_PASS(spare_input(r, o->init));
    CRD_PASS(spare_masks(r, &o->mask));
    CRD_PASS(spare_masks(r, &o->valid_mask));
    if (stat(o->output, &about) == 0 && about.st_size > 0 && !crd_model_recognise(o->output)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is there already and is no model of credence; give -o another name",
                        o->output);
    }
    if (crd_file_is_other(r->log_path, "{")) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is there already and is no log; give --log another name", r->log_path);
    }
    return CRD_OK;
}

/* Files of a member: "model.best.h5", or of several "model.2.best.h5". */
static crd_status name_member(crd_train_run *r, int64_t number, const char *suffix, char **out)
{
    char own[64];
    if (r->options->members == 1) return beside(r->options->output, suffix, out);
    snprintf(own, sizeof own, ".%" PRId64 "%s", number, suffix);
    return beside(r->options->output, own, out);
}

static crd_status name_files(crd_train_run *r)
{
    const char *output = r->options->output, *log = r->options->log;
    CRD_PASS(crd_alloc(r->options->members, sizeof *r->members, "the members", &r->members));
    for (int64_t i = 0; i < r->options->members; i++) {
        crd_member *m = &r->members[i];
        m->run = r;
        m->number = i;
        m->seed = crd_member_seed((uint64_t)r->options->seed, i);
        CRD_PASS(name_member(r, i, ".best.h5", &m->best_path));
        CRD_PASS(name_member(r, i, ".ckpt.h5", &m->checkpoint_path));
        CRD_PASS(name_member(r, i, ".progress.png", &m->picture_path));
    }
    CRD_PASS(beside(output, ".lock", &r->lock_path));
    return log != NULL ? crd_strdup(log, &r->log_path) : beside(output, ".log.jsonl", &r->log_path);
}

/* Removes what a killed run was about to write to `path`: with the lock in hand, nobody else is writing there. */
static void remove_unfinished(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(name);
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 2, slash != NULL ? path : "./");
    DIR *list = crd_open_folder(folder);
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
                           .members = (int)o->members,
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
        if (from->info.members != 1 && from->info.members != r->model->info.members) {
            CRD_FAIL(CRD_ERR_MISMATCH,
                     "%s has %d members and %d are wanted; set --members to as many, or begin with a "
                     "model that is one network, which all members can start from",
                     o->init, from->info.members, r->model->info.members);
        }
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
        for (int m = 0; m < r->model->info.members; m++) {
            memcpy(crd_model_member(r->model, m), crd_model_member(from, from->info.members > 1 ? m : 0),
                   (size_t)from->net.model.total * sizeof(float));
        }
        if (from->info.members < r->model->info.members) {
            crd_info(r->monitor,
                     "all members start from the one network in %s: they will differ in the order, the augmentation "
                     "and the noise of their steps alone, and less than members that start from random weights",
                     o->init);
        }
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

/* What the user asks for and, for the rest, what the checkpoint says: r->isa is "avx512", or "sm90" of a GPU, which
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
    if (plan->device.in_f32 != NULL) crd_warn(r->monitor, "%s", plan->device.in_f32);
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
                 r->members[0].checkpoint_path, from_gpu ? "a GPU" : "the CPU", from_gpu ? "the CPU" : "a GPU");
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

/* Which device, and what is the same for all members' trainers. */
static crd_status plan_trainers(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    const int64_t samples = o->valid_samples > CRD_CALIBRATION_SAMPLES ? o->valid_samples : CRD_CALIBRATION_SAMPLES;
    crd_trainer_plan plan = {.learner = {.net = &r->model->net,
                                         .chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                                         .batch = o->batch,
                                         .prior = prior_of(o),
                                         .samples = crd_dataset_count(r->validation) > 0 ? samples : 0,
                                         .rank = crd_dist_rank(r->dist),
                                         .size = crd_dist_size(r->dist)}};
    char device[256];
    CRD_PASS(choose_device(r, &plan));
    CRD_PASS(crd_estimator_parse(o->estimator, &plan.learner.estimator));
    CRD_PASS(plan.backend->describe(&plan.device, device, sizeof device));
    crd_info(r->monitor, "training on %s", device);
    r->plan = plan;
    return CRD_OK;
}

/* A training of one network that starts anew leaves its earlier checkpoint until it has a newer one. Of several, a
 * later member's would be taken for this training's once it is resumed. */
static void find_checkpoint(crd_train_run *r, crd_member *m)
{
    const crd_train_options *o = r->options;
    remove_unfinished(m->best_path);
    remove_unfinished(m->checkpoint_path);
    remove_unfinished(m->picture_path);
    const bool there = access(m->checkpoint_path, F_OK) == 0;
    m->go_on = o->resume && there;
    if (o->resume && !there) {
        crd_info(r->monitor, "there is no checkpoint %s yet: starting anew", m->checkpoint_path);
    }
    if (!o->resume && there) {
        crd_info(r->monitor, "starting anew; the earlier %s will be replaced (--resume would go on from it)",
                 m->checkpoint_path);
        if (o->members > 1) (void)unlink(m->checkpoint_path);
    }
}

/* Rank 0 takes the lock and looks for checkpoints; all processes go on from one, or none. */
static crd_status claim_files(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    if (crd_train_first(r)) {
        CRD_PASS(check_places(r));
        CRD_PASS(crd_lock_take(r->lock_path, r->monitor, &r->lock));
        remove_unfinished(o->output);
        for (int64_t i = 0; i < o->members; i++) find_checkpoint(r, &r->members[i]);
    }
    for (int64_t i = 0; i < o->members; i++) {
        crd_member *m = &r->members[i];
        char *isa = NULL;
        CRD_PASS(crd_dist_broadcast(r->dist, &m->go_on, (int64_t)sizeof m->go_on));
        if (!m->go_on) continue;
        CRD_PASS(crd_checkpoint_place(m->checkpoint_path, &m->resumed_at, &isa));
        if (r->isa == NULL) {
            r->isa = isa;
        } else {
            crd_free(&isa);
        }
    }
    return CRD_OK;
}

static void remember_line(void *context, const crd_log_step *step, const crd_log_epoch *epoch)
{
    crd_train_run *r = context;
    crd_history_add(r->members[step->member].history, step, epoch);
}

static crd_status open_log(crd_train_run *r)
{
    int64_t resumed_at[CRD_MEMBERS_MAX];
    double seconds;
    if (!crd_train_first(r)) return CRD_OK;
    for (int64_t i = 0; i < r->options->members; i++) {
        crd_member *m = &r->members[i];
        CRD_PASS(crd_alloc(1, sizeof *m->history, "the course of the training", &m->history));
        m->history->per_bin = m->history->every = 1;
        resumed_at[i] = m->resumed_at;
    }
    CRD_PASS(crd_log_open(r->log_path, r->options->members, resumed_at, remember_line, r, &r->log, &seconds));
    r->begin = crd_seconds() - seconds;
    if (!crd_png_possible()) {
        crd_info(r->monitor, "this build has no libpng: %s is left out, and the log has the same figures",
                 r->members[0].picture_path);
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
    CRD_PASS(check_options(r->options));
    CRD_PASS(meet(r));
    CRD_PASS(name_files(r));
    CRD_PASS(claim_files(r));
    CRD_PASS(crd_train_fit_chunk(r));
    CRD_PASS(record_settings(r->options, CRD_SCOPE_RESULT, &r->settings));
    CRD_PASS(record_settings(r->options, CRD_SCOPE_FINISH, &r->config));
    CRD_PASS(crd_train_open_data(r));
    CRD_PASS(make_model(r));
    if (!r->options->no_pieces) CRD_PASS(take_pieces(r));
    CRD_PASS(plan_trainers(r));
    return open_log(r);
}

void crd_train_run_close(crd_train_run *r)
{
    for (int64_t i = 0; r->members != NULL && i < r->options->members; i++) {
        crd_member *m = &r->members[i];
        crd_member_close(m);
        crd_free(&m->history);
        crd_free(&m->best_path);
        crd_free(&m->checkpoint_path);
        crd_free(&m->picture_path);
    }
    crd_free(&r->members);
    crd_log_close(&r->log);
    crd_baseline_free(&r->baseline);
    crd_free(&r->scan_names);
    crd_model_free(&r->ancestor);
    crd_dataset_close(&r->validation);
    crd_dataset_close(&r->training);
    crd_model_free(&r->model);
    crd_lock_release(&r->lock);
    remove_empty_folder(r);
    crd_free(&r->log_path);
    crd_free(&r->lock_path);
    crd_free(&r->settings);
    crd_free(&r->config);
    crd_free(&r->isa);
}
