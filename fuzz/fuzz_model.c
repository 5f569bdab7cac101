/* Model files, checkpoints and probes whose structure is sound (fuzz_hdf5 is for that) and whose content is anything:
 * the input is a list of changes to a small good file. Each is refused with a sentence, or read; what was read as a
 * model is written, and read again as the same. */
#include <math.h>

#include "base/file.h"
#include "base/memory.h"
#include "common.h"
#include "net/model.h"
#include "report/convergence.h"
#include "train/checkpoint.h"

/* Texts, whole numbers, reals as attributes of a group; arrays as datasets of floats, doubles, whole numbers. */
enum { TEXT, NUMBERS, REALS, FLOATS, DOUBLES, INTEGERS, KINDS };

typedef struct entry {
    const char *group, *name;
    int kind;
    const char *values; /* of the good file, with commas between them; NULL: it has none of this name */
} entry;

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
static const entry entries[] = {
    {"", "format", TEXT, "credence-model"},
    {"", "version", NUMBERS, "2"},
    {"", "kind", TEXT, "bcnn"},
    {"", "filters", NUMBERS, "1"},
    {"", "groups", NUMBERS, "1"},
    {"", "members", NUMBERS, NULL},
    {"", "classes", NUMBERS, "2"},
    {"", "class_names", TEXT, "pore,solid"},
    {"", "class_values", REALS, "0,255"},
    {"", "chunk", NUMBERS, "8,16,16"},
    {"", "calibration", REALS, "1.25"},
    {"", "norm", TEXT, "levels"},
    {"", "config", TEXT, "{\"estimator\":\"mean\"}"},
    {"", "checksum", TEXT, NULL},
    {"heldout", "blocks", NUMBERS, "4"},
    {"heldout", "voxels", NUMBERS, "4096"},
    {"heldout", "exam_blocks", NUMBERS, "2"},
    {"heldout", "exam_voxels", NUMBERS, "2048"},
    {"heldout", "samples", NUMBERS, "8"},
    {"heldout", "accuracy", REALS, "0.9"},
    {"heldout", "dice", REALS, "0.8"},
    {"heldout", "nll", REALS, "0.1"},
    {"heldout", "accuracy_interval", REALS, "0.8,0.95"},
    {"heldout", "dice_interval", REALS, "0.7,0.9"},
    {"heldout", "nll_interval", REALS, "0.05,0.2"},
    {"heldout", "foreground_share", REALS, "0.4"},
    {"heldout", "majority_accuracy", REALS, "0.6"},
    {"heldout", "threshold_accuracy", REALS, "0.7"},
    {"heldout", "threshold_dice", REALS, "0.7"},
    {"heldout", "unseen", NUMBERS, "1"},
    {"provenance", "scans", NUMBERS, "1"},
    {"provenance/0", "sha256", TEXT, DIGEST},
    {"provenance/0", "shape", NUMBERS, "16,16,16"},
    {"provenance/0", "cells", INTEGERS, "255"},
    {"provenance/0", "blocks", INTEGERS, "0,0,0,8,8,8,2,1"},
    {"intervals", "offsets", DOUBLES, "2x2:0.1,-0.1,0.3,-0.3"},
    {"intervals", "median", REALS, "0.2,0.2"},
    {"intervals", "voxels", NUMBERS, "4096"},
    {"intervals", "samples", NUMBERS, "8"},
    {"intervals", "names", TEXT, "none;blur 1"},
    {"training", "voxels", NUMBERS, "4096"},
    {"training", "unit", TEXT, "um"},
    {"training", "minimum", REALS, "0"},
    {"training", "maximum", REALS, "255"},
    {"training", "mean", REALS, "100"},
    {"training", "std", REALS, "30"},
    {"training", "histogram_low", REALS, "0"},
    {"training", "histogram_high", REALS, "255"},
    {"training", "spacing", REALS, "1,1,1"},
    {"state", "place", INTEGERS, "3,1,0,0,5,0"},
    {"state", "values", REALS, "1,1,1,1,1,1,1,1"},
    {"state", "data", NUMBERS, "7"},
    {"state", "isa", TEXT, "avx2"},
    {"state", "init", TEXT, "none"},
    {"state", "settings", TEXT, "{\"rate\":0.1}"},
    {"", "probability", FLOATS, "2x4:0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8"},
    {"pieces", "voxels", FLOATS, NULL},
    {"encoder/1/a", "bias", FLOATS, NULL},
    {"member/1/head/point", "bias", FLOATS, NULL},
};
enum { ENTRIES = sizeof entries / sizeof entries[0], VALUES = 64, TEXT_BYTES = 200 };

/* What the input makes of an entry. */
typedef struct content {
    bool changed, there;
    int kind, rank;
    int64_t shape[4], count;
    double values[VALUES];
    char text[TEXT_BYTES];
} content;

static void must(int good)
{
    if (!good) abort();
}

static void take_good(const entry *e, content *c)
{
    const char *at = e->values;
    *c = (content){.there = at != NULL, .kind = e->kind, .rank = 1};
    if (at == NULL) return;
    snprintf(c->text, sizeof c->text, "%s", at);
    if (e->kind == TEXT) return;
    if (sscanf(at, "%ldx%ld:", &c->shape[0], &c->shape[1]) == 2) {
        c->rank = 2;
        at = strchr(at, ':') + 1;
    }
    for (char *end; *at != '\0'; at = *end == ',' ? end + 1 : end) c->values[c->count++] = strtod(at, &end);
    if (c->rank == 1) c->shape[0] = c->count;
}

static uint8_t next(const uint8_t **at, const uint8_t *end)
{
    return *at < end ? *(*at)++ : 0;
}

/* Small whole numbers are likelier than others. */
static double next_value(const uint8_t **at, const uint8_t *end)
{
    const uint8_t how = next(at, end);
    uint64_t bits = 0;
    double value;
    if (how < 128) return (double)next(at, end) - 16.0;
    if (how < 160) return ldexp((double)next(at, end) - 128.0, how - 128);
    for (int i = 0; i < 8; i++) bits = bits << 8 | next(at, end);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* One change: the entry, what it becomes, and its content. */
static void change(const uint8_t **at, const uint8_t *end, content *all)
{
    content *c = &all[next(at, end) % ENTRIES];
    const uint8_t how = next(at, end);
    c->there = how % 8 != 0;
    if (how % 8 > 4) c->kind = how / 8 % KINDS; /* of another kind */
    c->changed = true;
    if (c->kind == TEXT) {
        const size_t length = next(at, end) % TEXT_BYTES;
        for (size_t i = 0; i < length; i++) c->text[i] = (char)next(at, end);
        c->text[length] = '\0';
        return;
    }
    c->rank = c->kind == FLOATS || c->kind == DOUBLES ? 1 + next(at, end) % 4 : 1;
    c->count = 1;
    for (int i = 0; i < c->rank; i++) {
        const int64_t room = VALUES / c->count;
        c->shape[i] = 1 + next(at, end) % room;
        c->count *= c->shape[i];
    }
    for (int64_t i = 0; i < c->count; i++) c->values[i] = next_value(at, end);
}

static int64_t whole(double value)
{
    if (!(value > -9e18)) return INT64_MIN;
    return value < 9e18 ? (int64_t)value : INT64_MAX;
}

static crd_status put(crd_store *store, const entry *e, const content *c)
{
    char name[96];
    float floats[VALUES];
    int64_t numbers[VALUES];
    for (int64_t i = 0; i < c->count; i++) {
        floats[i] = (float)c->values[i];
        numbers[i] = whole(c->values[i]);
    }
    snprintf(name, sizeof name, "%s%s%s", e->group, e->group[0] != '\0' ? "/" : "", e->name);
    switch (c->kind) {
    case TEXT:
        return crd_store_put_text(store, e->group, e->name, c->text);
    case NUMBERS:
        return crd_store_put_numbers(store, e->group, e->name, c->count, numbers);
    case REALS:
        return crd_store_put_reals(store, e->group, e->name, c->count, c->values);
    case FLOATS:
        return crd_store_put_floats(store, name, c->rank, c->shape, floats);
    case DOUBLES:
        return crd_store_put_doubles(store, name, c->rank, c->shape, c->values);
    default:
        return crd_store_put_integers(store, name, c->count, numbers);
    }
}

static const crd_net *good_net(void)
{
    static crd_net net;
    static bool made;
    if (!made) must(crd_net_describe(CRD_BCNN, 1, 1, &net) == CRD_OK);
    made = true;
    return &net;
}

/* The parameters but for those that the input has; libhdf5 refuses what doesn't go together, such as a dataset twice.
 */
static bool write_file(const char *path, const content *all)
{
    crd_store *store = NULL;
    const crd_layout *layout = &good_net()->model;
    static float zeros[4096];
    bool fine = true;
    must(crd_store_create(path, &store) == CRD_OK);
    for (int i = 0; fine && i < ENTRIES; i++) {
        if (all[i].there) fine = put(store, &entries[i], &all[i]) == CRD_OK;
    }
    for (int p = 0; fine && p < layout->count; p++) {
        const crd_parameter *q = &layout->parameters[p];
        char name[160];
        must(q->count <= (int64_t)(sizeof zeros / sizeof *zeros));
        if (!crd_store_has(store, q->path)) {
            fine = crd_store_put_floats(store, q->path, q->rank, q->shape, zeros) == CRD_OK;
        }
        for (int moment = 0; fine && moment < 2; moment++) {
            snprintf(name, sizeof name, "optimizer/%c/%s", moment == 0 ? 'm' : 'v', q->path);
            fine = crd_store_put_floats(store, name, q->rank, q->shape, zeros) == CRD_OK;
        }
    }
    fine = fine && crd_store_commit(store) == CRD_OK;
    crd_store_close(&store);
    return fine;
}

static void must_be_a_sentence(void)
{
    const char *message = crd_last_error()->message;
    must(message[0] != '\0' && strchr(message, '\n') == NULL);
}

static void read_model(const char *path, const char *again)
{
    crd_model *model = NULL, *second = NULL;
    char text[1024];
    if (crd_model_load(path, &model) != CRD_OK) {
        must_be_a_sentence();
        must(model == NULL);
        return;
    }
    crd_model_summary(model, text, sizeof text);
    must(text[0] != '\0');
    must(crd_model_save(model, again) == CRD_OK);
    must(crd_model_load(again, &second) == CRD_OK);
    const crd_model_info *a = crd_model_describe(model), *b = crd_model_describe(second);
    must(a->parameters == b->parameters && a->members == b->members && a->classes == b->classes &&
         a->calibration == b->calibration && strcmp(a->class_names, b->class_names) == 0);
    must(memcmp(model->parameters, second->parameters,
                (size_t)(a->members * a->parameters) * sizeof *model->parameters) == 0);
    crd_model_free(&second);
    crd_model_free(&model);
}

static void read_checkpoint(const char *path)
{
    const crd_train_identity identity = {
        .settings = "{\"rate\":0.1}", .isa = "avx2", .batches = 5, .data = 7, .init = "none"};
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 1, .groups = 1};
    crd_model *model = NULL;
    crd_train_progress progress;
    crd_trainer_state state = {0};
    int64_t steps;
    char *isa = NULL;
    if (crd_checkpoint_place(path, &steps, &isa) != CRD_OK) must_be_a_sentence();
    crd_free(&isa);
    must(crd_model_make_empty(&info, &model) == CRD_OK);
    state.count = model->net.model.total;
    must(crd_alloc(3 * state.count, sizeof(float), "a state", &state.parameters) == CRD_OK);
    state.m = state.parameters + state.count;
    state.v = state.m + state.count;
    if (crd_checkpoint_load(path, &identity, model, &state, &progress) != CRD_OK) must_be_a_sentence();
    crd_free(&state.parameters);
    crd_model_free(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static content all[ENTRIES];
    const uint8_t *at = data, *end = data + size;
    crd_convergence probe;
    crd_trust_files(true); /* what goes wrong is to be seen here */
    for (int i = 0; i < ENTRIES; i++) take_good(&entries[i], &all[i]);
    for (int i = 0; at < end && i < 8; i++) change(&at, end, all);
    const char *path = fuzz_path("probe.h5");
    if (!write_file(path, all)) return 0;
    read_model(path, fuzz_path("again.h5"));
    read_checkpoint(path);
    if (crd_convergence_read(fuzz_folder, 1, 5, 95, &probe) != CRD_OK) must_be_a_sentence();
    crd_convergence_free(&probe);
    return 0;
}
