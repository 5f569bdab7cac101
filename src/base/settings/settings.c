#include "credence/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/settings/row.h"

bool crd_setting_same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        if ((*a == '_' ? '-' : *a) != (*b == '_' ? '-' : *b)) return false;
        if (*a == '\0') return true;
    }
}

const crd_setting *crd_settings_find(const crd_settings *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (crd_setting_same_name(table->rows[i].name, name)) return &table->rows[i];
    }
    return NULL;
}

static crd_status check_range(const crd_setting *row, double value, const char *text)
{
    char low[CRD_NUMBER_BYTES], high[CRD_NUMBER_BYTES];
    if ((row->low == 0 && row->high == 0) || (value >= row->low && value <= row->high)) return CRD_OK;
    if (row->kind == CRD_SETTING_INT || row->kind == CRD_SETTING_TRIPLE) {
        snprintf(low, sizeof low, "%.0f", row->low);
        snprintf(high, sizeof high, "%.0f", row->high);
    } else {
        (void)crd_format_real(row->low, low);
        (void)crd_format_real(row->high, high);
    }
    return crd_fail(CRD_ERR_ARGUMENT, "%s must lie between %s and %s, not be %s", row->name, low, high, text);
}

static crd_status assign_flag(const crd_setting *row, bool *field, const char *text)
{
    static const char *const on[] = {"", "1", "true", "yes", "on"}, *const off[] = {"0", "false", "no", "off"};
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        if (text != NULL && strcmp(text, on[i]) != 0) continue;
        *field = true;
        return CRD_OK;
    }
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        if (strcmp(text, off[i]) != 0) continue;
        *field = false;
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be true or false, not '%s'", row->name, text);
}

static crd_status assign_int(const crd_setting *row, int64_t *field, const char *text)
{
    int64_t value = 0;
    if (!crd_parse_int(text, strlen(text), &value)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s must be a whole number, not '%s'", row->name, text);
    }
    CRD_PASS(check_range(row, (double)value, text));
    if (row->check != NULL) CRD_PASS(row->check(row->name, text));
    *field = value;
    return CRD_OK;
}

static crd_status assign_real(const crd_setting *row, double *field, const char *text)
{
    double value = 0;
    if (!crd_parse_real(text, strlen(text), &value)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s must be a number, not '%s'", row->name, text);
    }
    CRD_PASS(check_range(row, value, text));
    *field = value;
    return CRD_OK;
}

static crd_status assign_text(const crd_setting *row, char **field, const char *text)
{
    char *copy = NULL;
    if (row->check != NULL && text[0] != '\0') CRD_PASS(row->check(row->name, text));
    CRD_PASS(crd_strdup(text, &copy));
    crd_free(field);
    *field = copy;
    return CRD_OK;
}

static bool is_choice(const char *choices, const char *text)
{
    const size_t length = strlen(text);
    for (const char *at = choices; at != NULL; at = strchr(at, '|')) {
        if (*at == '|') at++;
        const size_t width = strcspn(at, "|");
        if (width == length && memcmp(at, text, length) == 0) return true;
    }
    return false;
}

static crd_status assign_choice(const crd_setting *row, char **field, const char *text)
{
    if (is_choice(row->choices, text)) return assign_text(row, field, text);
    char listed[512];
    size_t used = 0;
    for (const char *at = row->choices; *at != '\0' && used < sizeof listed - 8; at++) {
        if (*at != '|') {
            listed[used++] = *at;
            continue;
        }
        const char *joint = strchr(at + 1, '|') == NULL ? " or " : ", ";
        memcpy(listed + used, joint, strlen(joint));
        used += strlen(joint);
    }
    listed[used] = '\0';
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be %s, not '%s'", row->name, listed, text);
}

static crd_status append_text(crd_text_list *list, const char *text)
{
    crd_status status = CRD_OK;
    char **items = NULL, *copy = NULL;
    CRD_TRY(crd_strdup(text, &copy));
    CRD_TRY(crd_alloc(list->count + 1, sizeof *items, "a list", &items));
    if (list->count > 0) memcpy(items, list->items, (size_t)list->count * sizeof *items);
    items[list->count] = copy;
    copy = NULL;
    crd_free(&list->items);
    list->items = items;
    list->count++;
done:
    crd_free(&copy);
    return status;
}

static crd_status assign_triple(const crd_setting *row, int64_t *field, const char *text)
{
    int64_t value[3] = {0, 0, 0};
    if (row->choices == NULL || strcmp(text, row->choices) != 0) {
        const char *at = text;
        for (int i = 0; i < 3; i++) {
            const size_t width = strcspn(at, ",");
            if (!crd_parse_int(at, width, &value[i]) || (at[width] == ',') != (i < 2)) {
                return crd_fail(CRD_ERR_ARGUMENT, "%s must be three whole numbers z,y,x%s%s, not '%s'", row->name,
                                row->choices != NULL ? " or " : "", row->choices != NULL ? row->choices : "", text);
            }
            CRD_PASS(check_range(row, (double)value[i], text));
            at += width + (i < 2);
        }
        if (row->check != NULL) CRD_PASS(row->check(row->name, text));
    }
    memcpy(field, value, sizeof value);
    return CRD_OK;
}

static crd_status assign_reals(const crd_setting *row, crd_real_list *field, const char *text)
{
    crd_status status = CRD_OK;
    crd_real_list list = {NULL, 0};
    int64_t commas = 0;
    for (const char *at = text; *at != '\0'; at++) commas += *at == ',';
    if (*text != '\0') {
        CRD_TRY(crd_alloc(commas + 1, sizeof *list.items, "a list of numbers", &list.items));
        for (const char *at = text; list.count <= commas; list.count++) {
            const size_t width = strcspn(at, ",");
            if (!crd_parse_real(at, width, &list.items[list.count])) {
                CRD_FAIL(CRD_ERR_ARGUMENT, "%s must be numbers with commas between them, not '%s'", row->name, text);
            }
            CRD_TRY(check_range(row, list.items[list.count], text));
            at += width + (at[width] == ',');
        }
    }
    crd_free(&field->items);
    *field = list;
    list.items = NULL;
done:
    crd_free(&list.items);
    return status;
}

/* The dash between two numbers is the first that leaves a number on both sides: 1e-5-2 and 5--2 are pairs, too. */
static bool parse_pair(const char *text, size_t length, crd_pair *out)
{
    for (size_t dash = strcspn(text, "-"); dash < length; dash += 1 + strcspn(text + dash + 1, "-")) {
        if (crd_parse_real(text, dash, &out->low) && crd_parse_real(text + dash + 1, length - dash - 1, &out->high))
            return true;
    }
    return false;
}

crd_status crd_pairs_parse(const char *name, const char *text, crd_pair_list *out)
{
    crd_status status = CRD_OK;
    crd_pair_list list = {NULL, 0};
    int64_t commas = 0;
    for (const char *at = text; *at != '\0'; at++) commas += *at == ',';
    CRD_TRY(crd_alloc(commas + 1, sizeof *list.items, "a list of pairs", &list.items));
    for (const char *at = text; list.count <= commas; list.count++) {
        const size_t width = strcspn(at, ",");
        if (!parse_pair(at, width, &list.items[list.count])) {
            CRD_FAIL(CRD_ERR_ARGUMENT, "%s must be pairs of numbers such as 33-67, not '%s'", name, text);
        }
        at += width + (at[width] == ',');
    }
    *out = list;
    list.items = NULL;
done:
    crd_free(&list.items);
    return status;
}

static crd_status assign_pairs(const crd_setting *row, crd_pair_list *field, const char *text)
{
    crd_status status = CRD_OK;
    crd_pair_list list = {NULL, 0};
    if (*text != '\0') {
        if (row->check != NULL) CRD_PASS(row->check(row->name, text));
        CRD_PASS(crd_pairs_parse(row->name, text, &list));
        for (int64_t i = 0; i < list.count; i++) {
            CRD_TRY(check_range(row, list.items[i].low, text));
            CRD_TRY(check_range(row, list.items[i].high, text));
        }
    }
    crd_free(&field->items);
    *field = list;
    list.items = NULL;
done:
    crd_free(&list.items);
    return status;
}

crd_status crd_setting_assign(const crd_setting *row, void *options, const char *text)
{
    void *field = crd_setting_field(row, options);
    if (text == NULL && row->kind != CRD_SETTING_FLAG) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s needs a value", row->name);
    }
    switch (row->kind) {
    case CRD_SETTING_FLAG:
        return assign_flag(row, field, text);
    case CRD_SETTING_INT:
        return assign_int(row, field, text);
    case CRD_SETTING_REAL:
        return assign_real(row, field, text);
    case CRD_SETTING_TEXT:
        return assign_text(row, field, text);
    case CRD_SETTING_CHOICE:
        return assign_choice(row, field, text);
    case CRD_SETTING_LIST:
        return append_text(field, text);
    case CRD_SETTING_TRIPLE:
        return assign_triple(row, field, text);
    case CRD_SETTING_REALS:
        return assign_reals(row, field, text);
    case CRD_SETTING_PAIRS:
        return assign_pairs(row, field, text);
    }
    return crd_fail(CRD_ERR_INTERNAL, "the table of settings gives %s the unknown kind %d", row->name, (int)row->kind);
}

void crd_setting_clear(const crd_setting *row, void *options)
{
    void *field = crd_setting_field(row, options);
    crd_text_list *list = NULL;
    crd_setting_mark(row, options, false);
    switch (row->kind) {
    case CRD_SETTING_FLAG:
        *(bool *)field = false;
        break;
    case CRD_SETTING_INT:
        *(int64_t *)field = 0;
        break;
    case CRD_SETTING_REAL:
        *(double *)field = 0;
        break;
    case CRD_SETTING_TEXT:
    case CRD_SETTING_CHOICE:
        crd_free((char **)field);
        break;
    case CRD_SETTING_LIST:
        list = field;
        for (int64_t i = 0; i < list->count; i++) crd_free(&list->items[i]);
        crd_free(&list->items);
        list->count = 0;
        break;
    case CRD_SETTING_TRIPLE:
        memset(field, 0, 3 * sizeof(int64_t));
        break;
    case CRD_SETTING_REALS:
        crd_free(&((crd_real_list *)field)->items);
        ((crd_real_list *)field)->count = 0;
        break;
    case CRD_SETTING_PAIRS:
        crd_free(&((crd_pair_list *)field)->items);
        ((crd_pair_list *)field)->count = 0;
        break;
    }
}

size_t crd_setting_bytes(crd_setting_kind kind)
{
    static const size_t bytes[] = {
        [CRD_SETTING_FLAG] = sizeof(bool),           [CRD_SETTING_INT] = sizeof(int64_t),
        [CRD_SETTING_REAL] = sizeof(double),         [CRD_SETTING_TEXT] = sizeof(char *),
        [CRD_SETTING_CHOICE] = sizeof(char *),       [CRD_SETTING_LIST] = sizeof(crd_text_list),
        [CRD_SETTING_TRIPLE] = 3 * sizeof(int64_t),  [CRD_SETTING_REALS] = sizeof(crd_real_list),
        [CRD_SETTING_PAIRS] = sizeof(crd_pair_list),
    };
    return bytes[kind];
}

crd_status crd_setting_check_there(const crd_settings *table, const crd_setting *row, const void *options)
{
    if (crd_setting_there(table, row, options)) return CRD_OK;
    return crd_fail(CRD_ERR_UNSUPPORTED,
                    "%s: the calling program was built before credence had this option; build it again", row->name);
}

crd_status crd_settings_begin(const crd_settings *table, void *options, size_t size)
{
    if (table->size > 0) {
        if (size > table->size) {
            return crd_fail(CRD_ERR_UNSUPPORTED,
                            "the calling program was built for a newer credence than this one (%s); install that",
                            crd_version());
        }
        if (size < sizeof size) return crd_fail(CRD_ERR_ARGUMENT, "%zu bytes are no options of %s", size, table->title);
        memset(options, 0, size);
        *(size_t *)options = size;
    }
    /* All fields are made empty first, so that a failure half-way leaves something that can be cleared. */
    for (size_t i = 0; i < table->count && table->size == 0; i++) {
        memset(crd_setting_field(&table->rows[i], options), 0, crd_setting_bytes(table->rows[i].kind));
        crd_setting_mark(&table->rows[i], options, false);
    }
    for (size_t i = 0; i < table->count; i++) {
        const crd_setting *row = &table->rows[i];
        if (row->initial == NULL || !crd_setting_there(table, row, options)) continue;
        const crd_status status = crd_setting_assign(row, options, row->initial);
        if (status != CRD_OK) {
            crd_settings_clear(table, options);
            return status;
        }
    }
    return CRD_OK;
}

void crd_settings_clear(const crd_settings *table, void *options)
{
    for (size_t i = 0; i < table->count; i++) {
        if (crd_setting_there(table, &table->rows[i], options)) crd_setting_clear(&table->rows[i], options);
    }
}

crd_status crd_settings_set(const crd_settings *table, void *options, const char *name, const char *text)
{
    crd_status status = CRD_OK;
    const char **names = NULL;
    const crd_setting *row = crd_settings_find(table, name);
    if (row != NULL) {
        CRD_PASS(crd_setting_check_there(table, row, options));
        CRD_PASS(crd_setting_assign(row, options, text));
        crd_setting_mark(row, options, true);
        return CRD_OK;
    }
    CRD_TRY(crd_alloc((int64_t)table->count, sizeof *names, "a list of names", &names));
    for (size_t i = 0; i < table->count; i++) names[i] = table->rows[i].name;
    const char *nearest = crd_nearest_name(name, names, table->count);
    if (nearest != NULL) CRD_FAIL(CRD_ERR_ARGUMENT, "there is no setting '%s'; did you mean '%s'?", name, nearest);
    CRD_FAIL(CRD_ERR_ARGUMENT, "there is no setting '%s'", name);
done:
    crd_free(&names);
    return status;
}
