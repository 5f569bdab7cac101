#include "train/checkpoint.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

static const char GROUP[] = "state";
enum { COUNTERS = 6, VALUES = 8 };

typedef struct content {
    const char *path;
    const crd_net *net;
    crd_trainer_state *state;
    crd_train_progress *progress;
    const crd_train_identity *identity;
    char **isa; /* only this and the place are wanted, where not NULL */
} content;

static crd_status put(void *context, crd_store *store)
{
    const content *c = context;
    const crd_train_progress *p = c->progress;
    const int64_t counters[COUNTERS] = {p->steps,  p->epoch_steps,       p->best_epoch,
                                        p->rising, c->identity->batches, p->dead};
    const double values[VALUES] = {p->epoch_bce,
                                   p->first_valid_bce,
                                   p->best_valid_bce,
                                   p->last_valid_bce,
                                   p->last_valid_accuracy,
                                   p->last_bce,
                                   p->bce,
                                   p->kl};
    const int64_t data = (int64_t)c->identity->data, heads[2] = {p->redrawn, p->redrawn_after};
    CRD_PASS(crd_store_put_layout(store, "optimizer/m", &c->net->model, c->state->m));
    CRD_PASS(crd_store_put_layout(store, "optimizer/v", &c->net->model, c->state->v));
    CRD_PASS(crd_store_put_integers(store, CRD_CHECKPOINT_PLACE, COUNTERS, counters));
    CRD_PASS(crd_store_put_reals(store, GROUP, "values", VALUES, values));
    CRD_PASS(crd_store_put_numbers(store, GROUP, "data", 1, &data));
    if (p->redrawn > 0) CRD_PASS(crd_store_put_numbers(store, GROUP, "heads_redrawn", 2, heads));
    CRD_PASS(crd_store_put_text(store, GROUP, "isa", c->identity->isa));
    CRD_PASS(crd_store_put_text(store, GROUP, "init", c->identity->init));
    return crd_store_put_text(store, GROUP, "settings", c->identity->settings);
}

crd_status crd_checkpoint_save(const char *path, const crd_model *model, const crd_trainer_state *state,
                               const crd_train_progress *progress, const crd_train_identity *identity)
{
    crd_trainer_state lent = *state;
    crd_train_progress place = *progress;
    content c = {.path = path, .net = &model->net, .state = &lent, .progress = &place, .identity = identity};
    return crd_model_write(model, path, put, &c);
}

/* Names the first setting that differs. One that isn't said has its default, as has one that a checkpoint of an earlier
 * version doesn't know. */
static crd_status compare_settings(const char *path, const char *own, const char *wanted)
{
    crd_status status = CRD_OK;
    cJSON *a = cJSON_Parse(own), *b = cJSON_Parse(wanted);
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, a)
    {
        if (cJSON_GetObjectItemCaseSensitive(b, item->string) != NULL || cJSON_IsNull(item)) continue;
        char *was = NULL;
        const bool told = crd_json_print(item, true, &was) == CRD_OK;
        status = crd_fail(CRD_ERR_MISMATCH,
                          "%s was made with --%s %s, now it is unset; resume with the same settings, or start anew "
                          "without --resume",
                          path, item->string, told ? was : "set");
        crd_free(&was);
        goto done;
    }
    cJSON_ArrayForEach(item, b)
    {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(a, item->string);
        /* Settings that a checkpoint of an earlier version doesn't know weren't given. */
        if (other != NULL ? cJSON_Compare(item, other, 1) : cJSON_IsNull(item)) continue;
        char *was = NULL, *is = NULL;
        const bool told = other != NULL && crd_json_print(other, true, &was) == CRD_OK;
        const bool asked = crd_json_print(item, true, &is) == CRD_OK;
        status = crd_fail(CRD_ERR_MISMATCH,
                          "%s was made with --%s %s, now it is %s; resume with the same settings, or start anew "
                          "without --resume",
                          path, item->string, told ? was : "unset", asked ? is : "unset");
        crd_free(&was);
        crd_free(&is);
        goto done;
    }
done:
    cJSON_Delete(a);
    cJSON_Delete(b);
    return status;
}

static const char *init_in_words(const char *init)
{
    return strcmp(init, "none") == 0 ? "without --init" : "with --init";
}

/* Checkpoints from before it was kept don't say what they began with, and may go on. */
static crd_status check_init(const content *c, crd_store *store)
{
    crd_status status = CRD_OK;
    char *init = NULL;
    if (!crd_store_has_attribute(store, GROUP, "init")) return CRD_OK;
    CRD_TRY(crd_store_get_text(store, GROUP, "init", &init));
    if (strcmp(init, c->identity->init) != 0) {
        const char *was = init_in_words(init), *is = init_in_words(c->identity->init);
        CRD_FAIL(CRD_ERR_MISMATCH,
                 "%s was made %s, now it is %s%s; resume with the same settings, or start anew without --resume",
                 c->path, was, is, was == is ? " and another model" : "");
    }
done:
    crd_free(&init);
    return status;
}

static crd_status check_identity(const content *c, crd_store *store, int64_t batches)
{
    crd_status status = CRD_OK;
    char *settings = NULL;
    int64_t data;
    CRD_TRY(crd_store_get_text(store, GROUP, "settings", &settings));
    CRD_TRY(crd_store_get_numbers(store, GROUP, "data", 1, &data));
    CRD_TRY(compare_settings(c->path, settings, c->identity->settings));
    CRD_TRY(check_init(c, store));
    if ((uint64_t)data != c->identity->data || batches != c->identity->batches) {
        CRD_FAIL(CRD_ERR_MISMATCH,
                 "%s was made with other scans or labels; resume with the same files, or start anew without --resume",
                 c->path);
    }
done:
    crd_free(&settings);
    return status;
}

static crd_status get(void *context, crd_store *store)
{
    content *c = context;
    int64_t counters[COUNTERS], heads[2] = {0};
    double values[VALUES];
    if (!crd_store_has(store, "optimizer") || !crd_store_has(store, GROUP)) {
        return crd_fail(CRD_ERR_FORMAT, "%s is a model but not a checkpoint: it has no optimizer state", c->path);
    }
    CRD_PASS(crd_store_get_integers(store, CRD_CHECKPOINT_PLACE, COUNTERS, "a checkpoint", counters));
    if (c->isa != NULL) {
        c->progress->steps = counters[0];
        return crd_store_get_text(store, GROUP, "isa", c->isa);
    }
    CRD_PASS(crd_store_get_reals(store, GROUP, "values", VALUES, values));
    if (crd_store_has_attribute(store, GROUP, "heads_redrawn"))
        CRD_PASS(crd_store_get_numbers(store, GROUP, "heads_redrawn", 2, heads));
    CRD_PASS(check_identity(c, store, counters[4]));
    CRD_PASS(crd_store_get_layout(store, "optimizer/m", &c->net->model, "its own model", c->state->m));
    CRD_PASS(crd_store_get_layout(store, "optimizer/v", &c->net->model, "its own model", c->state->v));
    if (counters[0] < 0 || counters[1] < 0) return crd_fail(CRD_ERR_FORMAT, "%s has a negative step count", c->path);
    *c->progress = (crd_train_progress){.steps = counters[0],
                                        .epoch_steps = counters[1],
                                        .best_epoch = counters[2],
                                        .rising = counters[3],
                                        .dead = counters[5],
                                        .redrawn = heads[0],
                                        .redrawn_after = heads[1],
                                        .epoch_bce = values[0],
                                        .first_valid_bce = values[1],
                                        .best_valid_bce = values[2],
                                        .last_valid_bce = values[3],
                                        .last_valid_accuracy = values[4],
                                        .last_bce = values[5],
                                        .bce = values[6],
                                        .kl = values[7]};
    c->state->steps = counters[0];
    return CRD_OK;
}

crd_status crd_checkpoint_load(const char *path, const crd_train_identity *identity, const crd_model *model,
                               crd_trainer_state *state, crd_train_progress *progress)
{
    crd_status status = CRD_OK;
    crd_model *stored = NULL;
    content c = {.path = path, .net = &model->net, .state = state, .progress = progress, .identity = identity};
    CRD_TRY(crd_model_read(path, get, &c, &stored));
    if (stored->net.model.total != model->net.model.total || stored->net.kind != model->net.kind ||
        stored->info.members != 1) {
        CRD_FAIL(CRD_ERR_MISMATCH, "%s holds another network than the settings describe", path);
    }
    memcpy(state->parameters, stored->parameters, (size_t)state->count * sizeof *state->parameters);
done:
    crd_model_free(&stored);
    return status;
}

crd_status crd_checkpoint_place(const char *path, int64_t *steps, char **isa)
{
    crd_model *stored = NULL;
    crd_train_progress progress = {0};
    content c = {.path = path, .isa = isa, .progress = &progress};
    *isa = NULL;
    const crd_status status = crd_model_read(path, get, &c, &stored);
    crd_model_free(&stored);
    *steps = progress.steps;
    return status;
}
