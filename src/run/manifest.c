#include "run/manifest.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "volume/views/lent.h"

enum { MANIFEST_LIMIT = 1 << 28 };
static const char format[] = "credence-run";

typedef enum field_kind {
    FIELD_TEXT,  /* const char *, left out where it is NULL */
    FIELD_PATH,  /* the same */
    FIELD_REAL,  /* double */
    FIELD_COUNT, /* int64_t */
    FIELD_ITEM,  /* cJSON * */
    FIELD_OWN    /* its own functions */
} field_kind;

typedef enum field_mode { ALL_RUNS, OF_CHUNKS, OF_TILES } field_mode;

typedef struct field {
    const char *group, *key; /* group NULL: a key of the document itself */
    field_kind kind;
    size_t offset; /* in crd_manifest */
    int count;     /* of numbers; more than one are an array */
    field_mode of; /* which runs have it */
    /* OWN. `parent` is the group's object; false: no memory. */
    bool (*write)(const crd_manifest *m, cJSON *parent, const char *key);
    crd_status (*read)(const cJSON *item, crd_manifest *m); /* `item` may be anything, or NULL */
} field;

static bool add_text(cJSON *parent, const char *key, const char *value)
{
    return cJSON_AddStringToObject(parent, key, value) != NULL;
}

/* NaN and infinities become null. */
static bool add_real(cJSON *parent, const char *key, double value)
{
    return cJSON_AddNumberToObject(parent, key, value) != NULL;
}

static bool add_reals(cJSON *parent, const char *key, const double *values, int64_t count)
{
    cJSON *array = cJSON_CreateDoubleArray(values, (int)count);
    return array != NULL && cJSON_AddItemToObject(parent, key, array);
}

/* A path that also holds from another folder. */
static bool add_path(cJSON *parent, const char *key, const char *path)
{
    char *whole = NULL;
    if (crd_is_lent(path)) return add_text(parent, key, path);
    const bool added = crd_absolute_path(path, &whole) == CRD_OK && add_text(parent, key, whole);
    crd_free(&whole);
    return added;
}

static bool add_outputs(cJSON *parent, const char *key, const crd_output *outputs, int64_t count)
{
    cJSON *list = cJSON_AddArrayToObject(parent, key);
    bool fine = list != NULL;
    for (int64_t i = 0; fine && i < count; i++) {
        const double *percents = outputs[i].percents;
        cJSON *o = cJSON_CreateObject();
        fine = cJSON_AddItemToArray(list, o) && add_text(o, "file", outputs[i].file) &&
               add_text(o, "role", crd_output_role_name(outputs[i].role)) &&
               add_text(o, "type", crd_type_name(outputs[i].type)) && add_real(o, "scale", outputs[i].scale);
        if (fine && outputs[i].class_name != NULL) fine = add_text(o, "class", outputs[i].class_name);
        if (fine && !isnan(percents[0])) {
            fine = add_reals(o, "percentiles", percents, percents[0] == percents[1] ? 1 : 2);
        }
    }
    return fine;
}

static bool write_outputs(const crd_manifest *m, cJSON *parent, const char *key)
{
    return add_outputs(parent, key, m->outputs, m->output_count);
}

static bool add_interval(cJSON *o, const crd_run_interval *interval, int64_t inside)
{
    return add_real(o, "mean", interval->mean) && add_real(o, "min", interval->least) &&
           add_real(o, "max", interval->most) && add_real(o, "count", (double)inside) &&
           add_text(o, "sum_q32", interval->sum);
}

static bool write_uncertainty(const crd_manifest *m, cJSON *parent, const char *key)
{
    cJSON *o = cJSON_AddObjectToObject(parent, key);
    bool fine = add_text(o, "interval", m->uncertainty.text) && add_interval(o, &m->uncertainty, m->inside);
    cJSON *all = cJSON_AddObjectToObject(o, "intervals");
    for (int64_t i = 0; fine && i < m->interval_count; i++) {
        cJSON *one = cJSON_AddObjectToObject(all, m->intervals[i].text);
        fine = add_interval(one, &m->intervals[i], m->inside);
    }
    return fine && all != NULL;
}

static bool write_fraction(const crd_manifest *m, cJSON *parent, const char *key)
{
    if (m->class_count > 2) return true; /* each has its own */
    cJSON *o = cJSON_AddObjectToObject(parent, key);
    const bool sampled = m->fraction.samples.items != NULL;
    bool fine = add_real(o, "segmentation", m->fraction.segmentation);
    if (sampled) fine = fine && add_real(o, "mean", m->fraction.mean) && add_real(o, "mean_cut", m->fraction.mean_cut);
    fine = fine && add_real(o, "mean_probability", m->fraction.mean_probability);
    if (!sampled) return fine;
    cJSON *intervals = cJSON_AddObjectToObject(o, "intervals");
    for (int64_t i = 0; fine && i < m->interval_count; i++) {
        fine = add_reals(intervals, m->intervals[i].text, m->intervals[i].fractions, 2);
    }
    return fine && add_reals(o, "interval90", m->fraction.interval90, 2) &&
           add_real(o, "interval_systematic", m->fraction.systematic) &&
           add_reals(o, "samples", m->fraction.samples.items, m->fraction.samples.count);
}

static bool add_class_intervals(cJSON *o, const crd_manifest *m, const crd_run_class *c)
{
    cJSON *intervals = cJSON_AddObjectToObject(o, "intervals");
    bool fine = add_real(o, "mean_cut", c->mean);
    for (int64_t i = 0; fine && i < m->interval_count; i++) {
        fine = add_reals(intervals, m->intervals[i].text, c->intervals[i], 2);
    }
    return fine;
}

static bool write_classes(const crd_manifest *m, cJSON *parent, const char *key)
{
    cJSON *list = cJSON_AddArrayToObject(parent, key);
    bool fine = list != NULL;
    for (int64_t i = 0; fine && i < m->class_count; i++) {
        const crd_run_class *c = &m->classes[i];
        cJSON *o = cJSON_CreateObject();
        fine = cJSON_AddItemToArray(list, o) && add_text(o, "name", c->name) && add_real(o, "value", c->value) &&
               add_real(o, "segmentation", c->segmentation);
        if (fine && m->class_count > 2) fine = add_real(o, "mean_probability", c->mean_probability);
        if (fine && m->class_count > 2 && c->intervals != NULL) fine = add_class_intervals(o, m, c);
        if (c->samples.items == NULL) continue;
        fine = fine && add_real(o, "mean", c->mean) && add_reals(o, "interval90", c->interval90, 2) &&
               add_real(o, "interval_systematic", c->systematic) &&
               add_reals(o, "samples", c->samples.items, c->samples.count);
    }
    return fine;
}

static bool write_warnings(const crd_manifest *m, cJSON *parent, const char *key)
{
    cJSON *list = cJSON_AddArrayToObject(parent, key);
    bool fine = list != NULL;
    for (int64_t i = 0; fine && i < m->warnings.count; i++) {
        fine = cJSON_AddItemToArray(list, cJSON_CreateString(m->warnings.items[i]));
    }
    return fine;
}

/* NaN where there is none, or null, which is how NaN is written. */
static double real_of(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static int64_t count_of(const cJSON *item)
{
    const double number = real_of(item);
    return number >= 0.0 && number <= 0x1p53 ? (int64_t)number : 0;
}

static const cJSON *item_at(const cJSON *parent, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(parent, key);
}

/* The name of a file in the run folder itself, and not of a hidden one: no other is believed. */
static bool is_plain_name(const char *name)
{
    return name != NULL && name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

static crd_status read_outputs(const cJSON *list, crd_manifest *m)
{
    const cJSON *item = NULL;
    CRD_PASS(crd_alloc(cJSON_GetArraySize(list), sizeof *m->outputs, "the list of volumes", &m->outputs));
    cJSON_ArrayForEach(item, list)
    {
        crd_output *output = &m->outputs[m->output_count];
        const char *file = cJSON_GetStringValue(item_at(item, "file"));
        const char *type = cJSON_GetStringValue(item_at(item, "type"));
        const cJSON *percents = item_at(item, "percentiles");
        const int last = cJSON_GetArraySize(percents) - 1;
        if (!is_plain_name(file)) continue;
        output->role = crd_output_role_of(cJSON_GetStringValue(item_at(item, "role")));
        if (type != NULL) (void)crd_type_parse(type, &output->type, NULL);
        output->scale = real_of(item_at(item, "scale"));
        output->class_name = cJSON_GetStringValue(item_at(item, "class"));
        output->percents[0] = real_of(cJSON_GetArrayItem(percents, 0));
        output->percents[1] = real_of(cJSON_GetArrayItem(percents, last));
        CRD_PASS(crd_strdup(file, &output->file));
        m->output_count++;
    }
    return CRD_OK;
}

/* 33-67, 2.5-97.5: two numbers. The manifest may be anybody's, and what is kept of it goes into pages and tables. */
static bool is_interval(const char *text)
{
    const size_t low = strspn(text, "0123456789.");
    const size_t high = text[low] == '-' ? strspn(text + low + 1, "0123456789.") : 0;
    return low > 0 && high > 0 && text[low + 1 + high] == '\0' && low + high + 1 < CRD_INTERVAL_BYTES;
}

static void read_interval(const cJSON *item, const char *text, crd_run_interval *out)
{
    const char *sum = cJSON_GetStringValue(item_at(item, "sum_q32"));
    *out = (crd_run_interval){.mean = real_of(item_at(item, "mean")),
                              .least = real_of(item_at(item, "min")),
                              .most = real_of(item_at(item, "max")),
                              .fractions = {(double)NAN, (double)NAN}};
    if (text != NULL && is_interval(text)) strcpy(out->text, text);
    if (sum != NULL && strlen(sum) < sizeof out->sum) strcpy(out->sum, sum);
}

static crd_status read_uncertainty(const cJSON *item, crd_manifest *m)
{
    const cJSON *all = item_at(item, "intervals"), *one = NULL;
    m->inside = count_of(item_at(item, "count"));
    read_interval(item, cJSON_GetStringValue(item_at(item, "interval")), &m->uncertainty);
    CRD_PASS(crd_alloc(cJSON_GetArraySize(all), sizeof *m->intervals, "the intervals", &m->intervals));
    cJSON_ArrayForEach(one, all) read_interval(one, one->string, &m->intervals[m->interval_count++]);
    return CRD_OK;
}

static void read_pair(const cJSON *list, double out[2])
{
    for (int i = 0; i < 2; i++) out[i] = real_of(cJSON_GetArrayItem(list, i));
}

static crd_status read_reals(const cJSON *array, crd_real_list *list)
{
    const cJSON *one = NULL;
    CRD_PASS(crd_alloc(cJSON_GetArraySize(array), sizeof *list->items, "the volume fractions", &list->items));
    cJSON_ArrayForEach(one, array)
    {
        if (cJSON_IsNumber(one)) list->items[list->count++] = one->valuedouble;
    }
    return CRD_OK;
}

/* Earlier versions knew one estimate only. */
static crd_status read_fraction(const cJSON *item, crd_manifest *m)
{
    const cJSON *intervals = item_at(item, "intervals"), *cut = item_at(item, "mean_cut");
    m->fraction.segmentation = real_of(item_at(item, "segmentation"));
    m->fraction.mean = real_of(item_at(item, "mean"));
    m->fraction.mean_cut = cut != NULL ? real_of(cut) : m->fraction.mean;
    m->fraction.mean_probability = real_of(item_at(item, "mean_probability"));
    read_pair(item_at(item, "interval90"), m->fraction.interval90);
    m->fraction.systematic = real_of(item_at(item, "interval_systematic"));
    read_pair(item_at(intervals, m->uncertainty.text), m->uncertainty.fractions);
    for (int64_t i = 0; i < m->interval_count; i++) {
        read_pair(item_at(intervals, m->intervals[i].text), m->intervals[i].fractions);
    }
    return read_reals(item_at(item, "samples"), &m->fraction.samples);
}

static crd_status read_class_intervals(const cJSON *item, const crd_manifest *m, crd_run_class *c)
{
    if (!cJSON_IsObject(item)) return CRD_OK;
    CRD_PASS(crd_alloc(m->interval_count, sizeof *c->intervals, "the volume fractions", &c->intervals));
    for (int64_t i = 0; i < m->interval_count; i++) read_pair(item_at(item, m->intervals[i].text), c->intervals[i]);
    return CRD_OK;
}

static crd_status read_classes(const cJSON *list, crd_manifest *m)
{
    const cJSON *item = NULL;
    CRD_PASS(crd_alloc(cJSON_GetArraySize(list), sizeof *m->classes, "the classes", &m->classes));
    cJSON_ArrayForEach(item, list)
    {
        crd_run_class *c = &m->classes[m->class_count];
        c->name = cJSON_GetStringValue(item_at(item, "name"));
        if (c->name == NULL) continue;
        m->class_count++;
        c->value = real_of(item_at(item, "value"));
        c->segmentation = real_of(item_at(item, "segmentation"));
        c->mean = real_of(item_at(item, "mean"));
        c->mean_probability = real_of(item_at(item, "mean_probability"));
        read_pair(item_at(item, "interval90"), c->interval90);
        c->systematic = real_of(item_at(item, "interval_systematic"));
        CRD_PASS(read_class_intervals(item_at(item, "intervals"), m, c));
        CRD_PASS(read_reals(item_at(item, "samples"), &c->samples));
    }
    return CRD_OK;
}

static bool write_certificate(const crd_manifest *m, cJSON *parent, const char *key)
{
    if (m->certificate.places < 0) return cJSON_AddNullToObject(parent, key) != NULL;
    cJSON *item = cJSON_AddObjectToObject(parent, key);
    return add_real(item, "places", (double)m->certificate.places) &&
           add_real(item, "largest_probability", m->certificate.largest_probability) &&
           add_real(item, "mean_probability", m->certificate.mean_probability) &&
           add_real(item, "largest_uncertainty", m->certificate.largest_uncertainty);
}

static crd_status read_certificate(const cJSON *item, crd_manifest *m)
{
    m->certificate.places = cJSON_IsObject(item) ? count_of(item_at(item, "places")) : -1;
    m->certificate.largest_probability = real_of(item_at(item, "largest_probability"));
    m->certificate.mean_probability = real_of(item_at(item, "mean_probability"));
    m->certificate.largest_uncertainty = real_of(item_at(item, "largest_uncertainty"));
    return CRD_OK;
}

static crd_status read_warnings(const cJSON *list, crd_manifest *m)
{
    const cJSON *item = NULL;
    crd_text_list *warnings = &m->warnings;
    CRD_PASS(crd_alloc(cJSON_GetArraySize(list), sizeof *warnings->items, "the warnings", &warnings->items));
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item)) warnings->items[warnings->count++] = item->valuestring;
    }
    return CRD_OK;
}

/* Numbers and pointers have eight bytes. */
#define WORDS(member) (int)(sizeof((crd_manifest *)NULL)->member / sizeof(int64_t))
#define FIELD(g, k, what, member, ...)                                                                                 \
    {                                                                                                                  \
        .group = g, .key = k, .kind = FIELD_##what, .offset = offsetof(crd_manifest, member), .count = WORDS(member),  \
        __VA_ARGS__                                                                                                    \
    }
#define OWN(what) .kind = FIELD_OWN, .write = write_##what, .read = read_##what
/* The keys of a manifest in their order, for writing and for reading. */
static const field fields[] = {
    FIELD(NULL, "program", TEXT, program),
    FIELD(NULL, "device", TEXT, device),
    FIELD(NULL, "seed", REAL, seed),

    FIELD("model", "path", PATH, model.path),
    FIELD("model", "sha256", TEXT, model.sha256),
    FIELD("model", "kind", TEXT, model.kind),
    FIELD("model", "filters", COUNT, model.filters),
    FIELD("model", "groups", COUNT, model.groups),
    FIELD("model", "calibration", REAL, model.calibration),

    FIELD("scan", "path", PATH, scan.path),
    FIELD("scan", "sha256", TEXT, scan.sha256),
    FIELD("scan", "shape", COUNT, scan.shape),
    FIELD("scan", "type", TEXT, scan.type),
    FIELD("scan", "spacing", REAL, scan.spacing),
    FIELD("scan", "unit", TEXT, scan.unit),
    FIELD("scan", "mean", REAL, scan.mean),
    FIELD("scan", "std", REAL, scan.std),
    FIELD("scan", "nonfinite", COUNT, scan.nonfinite),
    FIELD("scan", "normalised_by", REAL, scan.normalised_by),
    FIELD("scan", "name", TEXT, scan.name),

    FIELD("mask", "path", PATH, mask.path),
    FIELD("mask", "sha256", TEXT, mask.sha256),

    FIELD("plan", "chunk", COUNT, plan.chunk),
    FIELD("plan", "step", COUNT, plan.step, .of = OF_CHUNKS),
    FIELD("plan", "trim", REAL, plan.trim, .of = OF_CHUNKS),
    FIELD("plan", "tile", COUNT, plan.tile, .of = OF_TILES),
    FIELD("plan", "halo", COUNT, plan.halo, .of = OF_TILES),
    FIELD("plan", "origin", COUNT, plan.origin),
    FIELD("plan", "shape", COUNT, plan.shape),
    FIELD("plan", "chunks", COUNT, plan.chunks),
    FIELD("plan", "min_coverage", COUNT, plan.min_coverage),
    FIELD("plan", "max_coverage", COUNT, plan.max_coverage),
    FIELD("plan", "samples", COUNT, plan.samples),

    FIELD(NULL, "mode", TEXT, mode),
    FIELD(NULL, "norms", TEXT, norms),
    {.key = "certificate", OWN(certificate)},
    FIELD("likeness", "expected_error", REAL, match.expected_error),
    FIELD("likeness", "training_expected_error", REAL, match.training_expected_error),
    FIELD("likeness", "histogram_distance", REAL, match.histogram_distance),

    {.key = "outputs", OWN(outputs)},
    {.key = "uncertainty", OWN(uncertainty)},
    {.key = "volume_fraction", OWN(fraction)},
    {.key = "classes", OWN(classes)},
    FIELD("seams", "mean_step_at_seams", REAL, seams.at),
    FIELD("seams", "mean_step_elsewhere", REAL, seams.elsewhere),
    FIELD("seams", "ratio", REAL, seams.ratio),

    {.key = "warnings", OWN(warnings)},
    FIELD(NULL, "settings", ITEM, settings),
    FIELD(NULL, "identity", ITEM, identity),

    FIELD("times", "finished", TEXT, finished),
    FIELD("times", "seconds", REAL, seconds),
    FIELD("times", "preparing", REAL, times.preparing),
    FIELD("times", "starting", REAL, times.starting),
    FIELD("times", "waiting_for_the_scan", REAL, times.waiting),
    FIELD("times", "network", REAL, times.network),
    FIELD("times", "summarising", REAL, times.summarising),
    FIELD("times", "adding", REAL, times.adding),
    FIELD("times", "finishing_slices", REAL, times.finishing),
    FIELD("times", "writing", REAL, times.writing),
    FIELD("times", "chunks_computed", COUNT, computed),
    FIELD("times", "memory_bytes", COUNT, memory_bytes),
    FIELD("times", "scratch_bytes", COUNT, scratch_bytes),
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static cJSON *group_of(cJSON *document, const char *group)
{
    if (group == NULL) return document;
    cJSON *there = cJSON_GetObjectItemCaseSensitive(document, group);
    return there != NULL ? there : cJSON_AddObjectToObject(document, group);
}

static bool write_field(const crd_manifest *m, const field *f, cJSON *document)
{
    const void *value = (const char *)m + f->offset;
    const bool text = f->kind == FIELD_TEXT || f->kind == FIELD_PATH;
    if (text && *(const char *const *)value == NULL) return true;
    if (f->of != ALL_RUNS && (f->of == OF_TILES) != (m->plan.tile[0] > 0)) return true;
    cJSON *parent = group_of(document, f->group);
    double reals[3];
    switch (f->kind) {
    case FIELD_TEXT:
        return add_text(parent, f->key, *(const char *const *)value);
    case FIELD_PATH:
        return add_path(parent, f->key, *(const char *const *)value);
    case FIELD_REAL:
    case FIELD_COUNT:
        for (int i = 0; i < f->count; i++) {
            reals[i] = f->kind == FIELD_REAL ? ((const double *)value)[i] : (double)((const int64_t *)value)[i];
        }
        return f->count == 1 ? add_real(parent, f->key, reals[0]) : add_reals(parent, f->key, reals, f->count);
    case FIELD_ITEM:
        return cJSON_AddItemReferenceToObject(parent, f->key, *(cJSON *const *)value);
    case FIELD_OWN:
        return f->write(m, parent, f->key);
    }
    return false;
}

/* `fine`: the document could be put together. It is freed. */
static crd_status save(cJSON *document, bool fine, const char *path)
{
    crd_status status = CRD_OK;
    char *printed = NULL;
    if (!fine) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the manifest");
    CRD_TRY(crd_json_print(document, false, &printed));
    CRD_TRY(crd_write_file(path, printed, strlen(printed)));
done:
    crd_free(&printed);
    cJSON_Delete(document);
    return status;
}

crd_status crd_manifest_write(const crd_manifest *m, const char *path)
{
    cJSON *document = cJSON_CreateObject();
    bool fine = add_text(document, "format", format) && add_real(document, "version", 1);
    for (int i = 0; fine && i < FIELDS; i++) fine = write_field(m, &fields[i], document);
    return save(document, fine, path);
}

crd_status crd_manifest_write_list(const crd_output *outputs, int64_t count, const char *path)
{
    cJSON *document = cJSON_CreateObject();
    const bool fine = add_text(document, "format", format) && add_outputs(document, "outputs", outputs, count);
    return save(document, fine, path);
}

static crd_status read_field(const field *f, cJSON *document, crd_manifest *m)
{
    void *value = (char *)m + f->offset;
    cJSON *parent = f->group != NULL ? cJSON_GetObjectItemCaseSensitive(document, f->group) : document;
    cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, f->key);
    switch (f->kind) {
    case FIELD_TEXT:
    case FIELD_PATH:
        *(const char **)value = cJSON_GetStringValue(item);
        break;
    case FIELD_REAL:
        for (int i = 0; i < f->count; i++)
            ((double *)value)[i] = real_of(f->count == 1 ? item : cJSON_GetArrayItem(item, i));
        break;
    case FIELD_COUNT:
        for (int i = 0; i < f->count; i++)
            ((int64_t *)value)[i] = count_of(f->count == 1 ? item : cJSON_GetArrayItem(item, i));
        break;
    case FIELD_ITEM:
        *(cJSON **)value = item;
        break;
    case FIELD_OWN:
        return f->read(item, m);
    }
    return CRD_OK;
}

crd_status crd_manifest_parse(const char *text, const char *path, crd_manifest *m)
{
    crd_status status = CRD_OK;
    memset(m, 0, sizeof *m);
    if (text != NULL && !cJSON_IsObject(m->document = cJSON_Parse(text))) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s isn't JSON", path);
    }
    for (int i = 0; i < FIELDS; i++) CRD_TRY(read_field(&fields[i], m->document, m));
    const char *kind = m->model.kind;
    if (kind == NULL || (strcmp(kind, "bcnn") != 0 && strcmp(kind, "mcdn") != 0)) m->model.kind = "";
done:
    if (status != CRD_OK) crd_manifest_free(m);
    return status;
}

crd_status crd_manifest_read(const char *path, crd_manifest *m)
{
    char *text = NULL;
    memset(m, 0, sizeof *m);
    CRD_PASS(crd_read_file(path, MANIFEST_LIMIT, &text, NULL));
    const crd_status status = crd_manifest_parse(text, path, m);
    crd_free(&text);
    const char *own = status == CRD_OK ? cJSON_GetStringValue(item_at(m->document, "format")) : NULL;
    if (own != NULL && strcmp(own, format) == 0) return CRD_OK;
    crd_manifest_free(m);
    return status == CRD_ERR_MEMORY ? status
                                    : crd_fail(CRD_ERR_FORMAT, "%s isn't the manifest of a run of credence", path);
}

void crd_manifest_free(crd_manifest *m)
{
    crd_outputs_free(&m->outputs, m->output_count);
    crd_free(&m->intervals);
    crd_free(&m->fraction.samples.items);
    for (int64_t i = 0; i < m->class_count; i++) {
        crd_free(&m->classes[i].samples.items);
        crd_free(&m->classes[i].intervals);
    }
    crd_free(&m->classes);
    crd_free(&m->warnings.items);
    crd_free(&m->name);
    cJSON_Delete(m->document);
    memset(m, 0, sizeof *m);
}

const crd_output *crd_manifest_output(const crd_manifest *m, crd_output_role role, int64_t number)
{
    for (int64_t i = 0; i < m->output_count; i++) {
        if (m->outputs[i].role == role && number-- == 0) return &m->outputs[i];
    }
    return NULL;
}

bool crd_manifest_boxed(const crd_manifest *m)
{
    return m->scan.shape[0] > 0 && m->plan.shape[0] > 0 &&
           memcmp(m->scan.shape, m->plan.shape, sizeof m->scan.shape) != 0;
}

bool crd_manifest_place(const crd_manifest *m, int64_t origin[3])
{
    const bool known = m->scan.shape[0] > 0 && m->plan.shape[0] > 0;
    for (int axis = 0; known && axis < 3; axis++) origin[axis] = crd_manifest_boxed(m) ? m->plan.origin[axis] : 0;
    return known;
}

const char *crd_manifest_mask(const crd_manifest *m)
{
    const char *mask = cJSON_GetStringValue(item_at(m->settings, "mask"));
    return mask != NULL && mask[0] != '\0' ? mask : NULL;
}

int64_t crd_manifest_first_sample(const crd_manifest *m)
{
    return count_of(item_at(m->settings, "first-sample"));
}

crd_volume_options crd_manifest_reading(const crd_manifest *m)
{
    crd_volume_options options = {.type = cJSON_GetStringValue(item_at(m->settings, "type")),
                                  .offset = count_of(item_at(m->settings, "offset"))};
    const cJSON *shape = item_at(m->settings, "shape");
    for (int axis = 0; axis < 3; axis++) options.shape[axis] = count_of(cJSON_GetArrayItem(shape, axis));
    return options;
}
