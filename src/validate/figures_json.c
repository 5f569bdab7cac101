/* Figures as JSON and back. One table serves both ways. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "validate/figures.h"

/* FLAG: true, false, or null for -1. COUNT: null for less than 0. CLASSES and CONFUSION are lists of their own forms,
 * in which several fields of crd_validation.classes stand together. */
typedef enum kind { REAL, COUNT, SHAPE, WORD, REALS, WORDS, FLAG, CLASSES, CONFUSION } kind;

/* In the order of the file; a section is an object of its own. */
typedef struct field {
    const char *section, *key;
    kind kind;
    size_t offset;
} field;

#define AT(MEMBER) offsetof(crd_validation, MEMBER)
#define IN(SECTION, KEY, KIND)                                                                                         \
    {                                                                                                                  \
#SECTION, #KEY, KIND, AT(SECTION.KEY)                                                                          \
    }

static const field fields[] = {
    {NULL, "shape", SHAPE, AT(shape)},
    {NULL, "voxels", COUNT, AT(voxels)},
    {NULL, "ignored", COUNT, AT(ignored)},
    {NULL, "accuracy", REAL, AT(accuracy)},
    {NULL, "dice", REAL, AT(dice)},
    {NULL, "iou", REAL, AT(iou)},
    {NULL, "tp", COUNT, AT(tp)},
    {NULL, "fp", COUNT, AT(fp)},
    {NULL, "fn", COUNT, AT(fn)},
    {NULL, "tn", COUNT, AT(tn)},
    {NULL, "volume_fraction", REAL, AT(volume_fraction)},
    {NULL, "label_fraction", REAL, AT(label_fraction)},
    {NULL, "classes", CLASSES, AT(classes)},
    {NULL, "confusion", CONFUSION, AT(classes)},
    {NULL, "seen_in_training", FLAG, AT(seen_in_training)},
    {NULL, "measure", WORD, AT(measure)},
    IN(unseen, voxels, COUNT),
    IN(unseen, accuracy, REAL),
    IN(unseen, dice, REAL),
    IN(unseen, iou, REAL),
    IN(unseen, ece, REAL),
    IN(unseen, nll, REAL),
    IN(unseen, p_accurate_given_certain, REAL),
    IN(unseen, p_uncertain_given_inaccurate, REAL),
    IN(uncertainty, mean, REAL),
    IN(uncertainty, variance, REAL),
    IN(uncertainty, min, REAL),
    IN(uncertainty, max, REAL),
    IN(pavpu, edge, COUNT),
    IN(pavpu, stride, COUNT),
    IN(pavpu, accuracy_threshold, REAL),
    IN(pavpu, uncertainty_threshold, REAL),
    IN(pavpu, n_ac, COUNT),
    IN(pavpu, n_au, COUNT),
    IN(pavpu, n_ic, COUNT),
    IN(pavpu, n_iu, COUNT),
    IN(pavpu, p_accurate_given_certain, REAL),
    IN(pavpu, p_uncertain_given_inaccurate, REAL),
    IN(pavpu, pavpu3d, REAL),
    IN(calibration, ece, REAL),
    IN(calibration, brier, REAL),
    IN(calibration, nll, REAL),
    IN(calibration, aurc, REAL),
    IN(geometry, autocorrelation, REAL),
    IN(geometry, along_z, REAL),
    IN(geometry, along_y, REAL),
    IN(geometry, along_x, REAL),
    IN(geometry, gradient, REAL),
    IN(geometry, gradient_over_mean, REAL),
    IN(growth, threshold, REAL),
    IN(growth, map, WORDS),
    IN(growth, mean, REALS),
    IN(growth, share_above, REALS),
    IN(growth, correlation, REALS),
    IN(pavpu_curve, threshold, REALS),
    IN(pavpu_curve, n_ac, REALS),
    IN(pavpu_curve, n_au, REALS),
    IN(pavpu_curve, n_ic, REALS),
    IN(pavpu_curve, n_iu, REALS),
    IN(pavpu_curve, p_accurate_given_certain, REALS),
    IN(pavpu_curve, p_uncertain_given_inaccurate, REALS),
    IN(pavpu_curve, pavpu3d, REALS),
    IN(reliability, low, REALS),
    IN(reliability, high, REALS),
    IN(reliability, count, REALS),
    IN(reliability, confidence, REALS),
    IN(reliability, accuracy, REALS),
    IN(risk_coverage, coverage, REALS),
    IN(risk_coverage, risk, REALS),
    IN(histogram, high, REAL),
    IN(histogram, right, REALS),
    IN(histogram, wrong, REALS),
    IN(distance, from, REALS),
    IN(distance, count, REALS),
    IN(distance, uncertainty, REALS),
    IN(distance, error, REALS),
    IN(slices, accuracy, REALS),
    IN(slices, uncertainty, REALS),
    IN(slices, volume_fraction, REALS),
    IN(slices, label_fraction, REALS),
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static void *field_of(const field *f, crd_validation *v)
{
    return (char *)v + f->offset;
}

crd_status crd_validation_create(crd_validation **out)
{
    CRD_PASS(crd_alloc(1, sizeof **out, "the figures", out));
    for (size_t i = 0; i < FIELDS; i++) {
        if (fields[i].kind == REAL) *(double *)field_of(&fields[i], *out) = (double)NAN;
        if (fields[i].kind == FLAG) *(int64_t *)field_of(&fields[i], *out) = -1;
    }
    return CRD_OK;
}

static void free_words(crd_text_list *list)
{
    for (int64_t k = 0; list->items != NULL && k < list->count; k++) crd_free(&list->items[k]);
    crd_free(&list->items);
}

/* The numbers of a class, in the order of the file. */
static const struct {
    const char *key;
    size_t offset;
} class_fields[] = {{"value", AT(classes.value)},
                    {"dice", AT(classes.dice)},
                    {"iou", AT(classes.iou)},
                    {"volume_fraction", AT(classes.volume_fraction)},
                    {"label_fraction", AT(classes.label_fraction)}},
  slice_fields[] = {{"slice_volume_fraction", AT(classes.slice_volume_fraction)},
                    {"slice_label_fraction", AT(classes.slice_label_fraction)}};
enum {
    CLASS_FIELDS = sizeof class_fields / sizeof class_fields[0],
    SLICE_FIELDS = sizeof slice_fields / sizeof slice_fields[0]
};

static crd_real_list *list_at(const crd_validation *v, size_t offset)
{
    return (crd_real_list *)(void *)((char *)v + offset);
}

static void free_classes(crd_validation *v)
{
    free_words(&v->classes.name);
    for (int i = 0; i < CLASS_FIELDS; i++) crd_free(&list_at(v, class_fields[i].offset)->items);
    for (int i = 0; i < SLICE_FIELDS; i++) crd_free(&list_at(v, slice_fields[i].offset)->items);
    crd_free(&v->classes.confusion.items);
}

void crd_validation_free(crd_validation **pointer)
{
    crd_validation *v = *pointer;
    if (v != NULL) free_classes(v);
    for (size_t i = 0; v != NULL && i < FIELDS; i++) {
        void *at = field_of(&fields[i], v);
        if (fields[i].kind == REALS) crd_free(&((crd_real_list *)at)->items);
        if (fields[i].kind == WORDS) free_words(at);
    }
    crd_free(pointer);
}

static void write_reals(crd_text *text, const double *items, int64_t count, int64_t stride)
{
    crd_text_add(text, "[");
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) crd_text_add(text, ", ");
        crd_text_real(text, items[i * stride]);
    }
    crd_text_add(text, "]");
}

static void write_classes(crd_text *text, const crd_validation *v)
{
    const int64_t count = v->classes.name.count;
    crd_text_add(text, "[");
    for (int64_t k = 0; k < count; k++) {
        crd_text_print(text, "%s\n    {\"name\": ", k > 0 ? "," : "");
        crd_text_json(text, v->classes.name.items[k]);
        for (int i = 0; i < CLASS_FIELDS; i++) {
            const crd_real_list *list = list_at(v, class_fields[i].offset);
            crd_text_print(text, ", \"%s\": ", class_fields[i].key);
            crd_text_real(text, k < list->count ? list->items[k] : (double)NAN);
        }
        for (int i = 0; i < SLICE_FIELDS; i++) {
            const crd_real_list *list = list_at(v, slice_fields[i].offset);
            if (list->count == 0) continue;
            crd_text_print(text, ",\n     \"%s\": ", slice_fields[i].key);
            write_reals(text, list->items + k, list->count / count, count);
        }
        crd_text_add(text, "}");
    }
    crd_text_add(text, count > 0 ? "\n  ]" : "]");
}

static void write_confusion(crd_text *text, const crd_validation *v)
{
    const int64_t count = v->classes.name.count;
    crd_text_add(text, "[");
    for (int64_t k = 0; k < count && v->classes.confusion.count == count * count; k++) {
        if (k > 0) crd_text_add(text, ", ");
        write_reals(text, v->classes.confusion.items + k * count, count, 1);
    }
    crd_text_add(text, "]");
}

static void write_value(crd_text *text, const field *f, const crd_validation *v)
{
    const void *at = (const char *)v + f->offset;
    const crd_real_list *reals = at;
    const crd_text_list *words = at;
    switch (f->kind) {
    case REAL:
        crd_text_real(text, *(const double *)at);
        break;
    case COUNT:
        if (*(const int64_t *)at < 0)
            crd_text_add(text, "null");
        else
            crd_text_int(text, *(const int64_t *)at);
        break;
    case CLASSES:
        write_classes(text, v);
        break;
    case CONFUSION:
        write_confusion(text, v);
        break;
    case FLAG:
        crd_text_add(text, *(const int64_t *)at < 0 ? "null" : *(const int64_t *)at > 0 ? "true" : "false");
        break;
    case WORD:
        crd_text_json(text, at);
        break;
    case SHAPE:
        crd_text_print(text, "[%lld, %lld, %lld]", (long long)((const int64_t *)at)[0],
                       (long long)((const int64_t *)at)[1], (long long)((const int64_t *)at)[2]);
        break;
    case REALS:
        write_reals(text, reals->items, reals->count, 1);
        break;
    case WORDS:
        crd_text_add(text, "[");
        for (int64_t i = 0; i < words->count; i++) {
            if (i > 0) crd_text_add(text, ", ");
            crd_text_json(text, words->items[i]);
        }
        crd_text_add(text, "]");
        break;
    }
}

static bool same_section(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

crd_status crd_validation_to_json(const crd_validation *validation, const char *run, char **json)
{
    crd_text text = {0};
    const char *section = NULL;
    crd_text_add(&text, "{");
    if (run != NULL) {
        crd_text_add(&text, "\n  \"run\": ");
        crd_text_json(&text, run);
    }
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        const bool begins = !same_section(section, f->section), first = i == 0 && run == NULL;
        if (begins && section != NULL) crd_text_add(&text, "\n  }");
        if (!first && !(begins && f->section == NULL))
            crd_text_add(&text, begins || section == NULL ? ",\n  " : ",\n    ");
        if (first) crd_text_add(&text, "\n  ");
        if (begins) crd_text_print(&text, "\"%s\": {\n    ", f->section);
        section = f->section;
        crd_text_print(&text, "\"%s\": ", f->key);
        write_value(&text, f, validation);
    }
    crd_text_add(&text, section != NULL ? "\n  }\n}\n" : "\n}\n");
    return crd_text_finish(&text, json);
}

static crd_status read_list(const cJSON *item, crd_real_list *list)
{
    CRD_PASS(crd_list_make(cJSON_GetArraySize(item), list));
    int64_t i = 0;
    for (const cJSON *entry = item->child; entry != NULL && i < list->count; entry = entry->next) {
        list->items[i++] = cJSON_IsNumber(entry) ? entry->valuedouble : (double)NAN;
    }
    return CRD_OK;
}

static crd_status read_words(const cJSON *item, crd_text_list *list)
{
    const int count = cJSON_GetArraySize(item);
    CRD_PASS(crd_alloc(count > 0 ? count : 1, sizeof *list->items, "the figures", &list->items));
    list->count = count;
    int64_t i = 0;
    for (const cJSON *entry = item->child; entry != NULL && i < count; entry = entry->next) {
        CRD_PASS(crd_strdup(cJSON_IsString(entry) ? entry->valuestring : "", &list->items[i++]));
    }
    return CRD_OK;
}

static int64_t whole(const cJSON *item)
{
    const double value = cJSON_IsNumber(item) ? item->valuedouble : cJSON_IsNull(item) ? -1.0 : 0.0;
    return fabs(value) <= 0x1p62 ? (int64_t)value : 0;
}

static double real_of(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

/* At most so many as there can be, so that a strange file can't ask for more. */
static int class_count_of(const cJSON *list)
{
    const int count = cJSON_GetArraySize(list);
    return count <= CRD_CLASSES_MAX ? count : CRD_CLASSES_MAX;
}

static crd_status read_slices(const cJSON *list, int count, const char *key, crd_real_list *out)
{
    const int slices = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(list->child, key));
    if (slices == 0) return CRD_OK;
    CRD_PASS(crd_list_make((int64_t)slices * count, out));
    const cJSON *item = list->child;
    for (int k = 0; k < count; k++, item = item->next) {
        const cJSON *one = cJSON_GetObjectItemCaseSensitive(item, key);
        one = one != NULL ? one->child : NULL;
        for (int z = 0; z < slices; z++, one = one != NULL ? one->next : NULL) {
            out->items[(int64_t)z * count + k] = real_of(one);
        }
    }
    return CRD_OK;
}

static crd_status read_classes(const cJSON *list, crd_validation *v)
{
    const int count = class_count_of(list);
    if (count == 0 || v->classes.name.items != NULL) return CRD_OK;
    CRD_PASS(crd_alloc(count, sizeof *v->classes.name.items, "the figures", &v->classes.name.items));
    v->classes.name.count = count;
    for (int i = 0; i < CLASS_FIELDS; i++) CRD_PASS(crd_list_make(count, list_at(v, class_fields[i].offset)));
    const cJSON *item = list->child;
    for (int k = 0; k < count; k++, item = item->next) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
        CRD_PASS(crd_strdup(name != NULL ? name : "", &v->classes.name.items[k]));
        for (int i = 0; i < CLASS_FIELDS; i++) {
            list_at(v, class_fields[i].offset)->items[k] =
                real_of(cJSON_GetObjectItemCaseSensitive(item, class_fields[i].key));
        }
    }
    for (int i = 0; i < SLICE_FIELDS; i++) {
        CRD_PASS(read_slices(list, count, slice_fields[i].key, list_at(v, slice_fields[i].offset)));
    }
    return CRD_OK;
}

static crd_status read_confusion(const cJSON *list, crd_validation *v)
{
    const int count = class_count_of(list);
    if (count == 0 || v->classes.confusion.items != NULL) return CRD_OK;
    CRD_PASS(crd_list_make((int64_t)count * count, &v->classes.confusion));
    const cJSON *row = list->child;
    for (int k = 0; k < count; k++, row = row->next) {
        for (int i = 0; i < count; i++) {
            v->classes.confusion.items[k * count + i] = real_of(cJSON_GetArrayItem(row, i));
        }
    }
    return CRD_OK;
}

static crd_status read_value(const field *f, const cJSON *item, crd_validation *v)
{
    void *at = field_of(f, v);
    switch (f->kind) {
    case CLASSES:
        return cJSON_IsArray(item) ? read_classes(item, v) : CRD_OK;
    case CONFUSION:
        return cJSON_IsArray(item) ? read_confusion(item, v) : CRD_OK;
    case REAL:
        *(double *)at = real_of(item);
        break;
    case COUNT:
        *(int64_t *)at = whole(item);
        break;
    case FLAG:
        *(int64_t *)at = cJSON_IsBool(item) ? cJSON_IsTrue(item) : -1;
        break;
    case WORD:
        snprintf(at, sizeof((crd_validation *)NULL)->measure, "%s", cJSON_IsString(item) ? item->valuestring : "");
        break;
    case SHAPE:
        for (int axis = 0; axis < 3; axis++) ((int64_t *)at)[axis] = whole(cJSON_GetArrayItem(item, axis));
        break;
    case REALS:
        if (cJSON_IsArray(item)) return read_list(item, at);
        break;
    case WORDS:
        if (cJSON_IsArray(item)) return read_words(item, at);
        break;
    }
    return CRD_OK;
}

crd_status crd_validation_from_json(const char *json, const char *source, crd_validation **out)
{
    crd_status status = CRD_OK;
    crd_validation *v = NULL;
    *out = NULL;
    cJSON *root = cJSON_Parse(json);
    if (!cJSON_IsObject(root)) CRD_FAIL(CRD_ERR_FORMAT, "%s isn't the JSON that validate writes", source);
    CRD_TRY(crd_validation_create(&v));
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        const cJSON *object = f->section != NULL ? cJSON_GetObjectItemCaseSensitive(root, f->section) : root;
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, f->key);
        if (item != NULL) CRD_TRY(read_value(f, item, v));
    }
    *out = v;
    v = NULL;
done:
    crd_validation_free(&v);
    cJSON_Delete(root);
    return status;
}
