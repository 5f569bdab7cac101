#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/settings/row.h"
#include "credence/number.h"

/* From here on not every whole number is a double, and JSON readers keep numbers in doubles. */
static const double exact_limit = 9007199254740992.0;

enum { NUMBER_TEXT = 8192 }; /* room for the numbers of an array as text */

static const char *number_text(double value, char text[CRD_NUMBER_BYTES])
{
    if (value == floor(value) && fabs(value) < exact_limit) {
        snprintf(text, CRD_NUMBER_BYTES, "%.0f", value);
        return text;
    }
    return crd_format_real(value, text);
}

/* A scalar as it would stand on the command line, or NULL for what has no such form. */
static const char *scalar_text(const cJSON *item, char text[CRD_NUMBER_BYTES])
{
    if (cJSON_IsString(item)) return item->valuestring;
    if (cJSON_IsNumber(item)) return number_text(item->valuedouble, text);
    if (cJSON_IsBool(item)) return cJSON_IsTrue(item) ? "true" : "false";
    return NULL;
}

static crd_status wrong_kind(const crd_setting *row)
{
    static const char *const wanted[] = {
        [CRD_SETTING_FLAG] = "true or false",
        [CRD_SETTING_INT] = "a whole number",
        [CRD_SETTING_REAL] = "a number",
        [CRD_SETTING_TEXT] = "a string",
        [CRD_SETTING_CHOICE] = "a string",
        [CRD_SETTING_LIST] = "a string or an array of strings",
        [CRD_SETTING_TRIPLE] = "an array of three whole numbers",
        [CRD_SETTING_REALS] = "an array of numbers",
        [CRD_SETTING_PAIRS] = "a string of pairs such as 33-67",
    };
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be %s", row->name, wanted[row->kind]);
}

/* A whole number that the reader of JSON may have rounded already. */
static bool may_be_rounded(const crd_setting *row, const cJSON *item)
{
    const bool whole = row->kind == CRD_SETTING_INT || row->kind == CRD_SETTING_TRIPLE;
    return whole && cJSON_IsNumber(item) && fabs(item->valuedouble) >= exact_limit;
}

/* [48, 96, 96] becomes "48,96,96". */
static crd_status assign_array(const crd_setting *row, void *options, const cJSON *array)
{
    char joined[NUMBER_TEXT];
    size_t used = 0;
    const cJSON *item = NULL;
    joined[0] = '\0';
    cJSON_ArrayForEach(item, array)
    {
        char text[CRD_NUMBER_BYTES];
        if (!cJSON_IsNumber(item) || may_be_rounded(row, item)) return wrong_kind(row);
        const char *number = number_text(item->valuedouble, text);
        const size_t length = strlen(number);
        if (used + length + 2 > sizeof joined) return crd_fail(CRD_ERR_ARGUMENT, "%s has too many numbers", row->name);
        if (used > 0) joined[used++] = ',';
        memcpy(joined + used, number, length + 1);
        used += length;
    }
    return crd_setting_assign(row, options, joined);
}

static crd_status assign_list(const crd_setting *row, void *options, const cJSON *item)
{
    const cJSON *entry = NULL;
    if (!cJSON_IsArray(item) && !cJSON_IsString(item)) return wrong_kind(row);
    cJSON_ArrayForEach(entry, item)
    {
        if (!cJSON_IsString(entry)) return wrong_kind(row);
    }
    crd_setting_clear(row, options);
    if (cJSON_IsString(item)) return crd_setting_assign(row, options, item->valuestring);
    cJSON_ArrayForEach(entry, item)
    {
        CRD_PASS(crd_setting_assign(row, options, entry->valuestring));
    }
    return CRD_OK;
}

static crd_status assign_json(const crd_setting *row, void *options, const cJSON *item)
{
    const bool may_be_empty = row->kind == CRD_SETTING_TEXT || row->kind == CRD_SETTING_CHOICE ||
                              row->kind == CRD_SETTING_LIST || row->kind == CRD_SETTING_REALS ||
                              row->kind == CRD_SETTING_PAIRS;
    if (cJSON_IsNull(item) && may_be_empty) {
        if (row->initial != NULL) return crd_setting_assign(row, options, row->initial);
        crd_setting_clear(row, options);
        return CRD_OK;
    }
    if (row->kind == CRD_SETTING_LIST) return assign_list(row, options, item);
    const bool may_be_array =
        row->kind == CRD_SETTING_TRIPLE || row->kind == CRD_SETTING_REALS || row->kind == CRD_SETTING_TEXT;
    if (cJSON_IsArray(item) && may_be_array) return assign_array(row, options, item);
    if (may_be_rounded(row, item)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s must be less than 2^53 as a JSON number; a string can hold it",
                        row->name);
    }
    char text[CRD_NUMBER_BYTES];
    const char *scalar = scalar_text(item, text);
    return scalar != NULL ? crd_setting_assign(row, options, scalar) : wrong_kind(row);
}

static crd_status parse(const char *json, const char *source, cJSON **out)
{
    const char *end = NULL;
    *out = cJSON_ParseWithOpts(json, &end, 1);
    if (*out != NULL) return CRD_OK;
    int line = 1;
    for (const char *at = json; end != NULL && at < end; at++) line += *at == '\n';
    return crd_fail(CRD_ERR_FORMAT, "%s is not valid JSON: line %d can't be understood", source, line);
}

typedef struct target {
    const crd_setting *row;         /* NULL: the key is unknown, or has no meaning here */
    const crd_setting_alias *alias; /* that led to it, or NULL */
    bool known;
} target;

static bool alias_fits(const crd_setting_alias *alias, const cJSON *item)
{
    const char *key = item->string;
    if (alias->words[0] != NULL && !cJSON_IsBool(item)) return false;
    if (alias->key[0] != '*') return crd_setting_same_name(alias->key, key);
    const size_t tail = strlen(alias->key + 1), length = strlen(key);
    return length >= tail && crd_setting_same_name(alias->key + 1, key + length - tail);
}

static target find_target(const crd_settings *table, const cJSON *item)
{
    bool known = false;
    for (size_t i = 0; i < table->alias_count; i++) {
        const crd_setting_alias *alias = &table->aliases[i];
        if (!alias_fits(alias, item)) continue;
        const crd_setting *meant = alias->name != NULL ? crd_settings_find(table, alias->name) : NULL;
        if (meant != NULL) return (target){meant, alias, true};
        known = true;
    }
    if (known) return (target){.known = true};
    const crd_setting *row = crd_settings_find(table, item->string);
    return (target){row, NULL, row != NULL};
}

static bool set_before(const crd_settings *table, const cJSON *object, const cJSON *item, const crd_setting *row)
{
    const cJSON *earlier = NULL;
    cJSON_ArrayForEach(earlier, object)
    {
        if (earlier == item) return false;
        if (find_target(table, earlier).row == row) return true;
    }
    return false;
}

static const cJSON *find_member(const cJSON *object, const char *key)
{
    const cJSON *found = NULL, *item = NULL;
    cJSON_ArrayForEach(item, object)
    {
        if (crd_setting_same_name(item->string, key)) found = item;
    }
    return found;
}

static crd_status wrong_range(const crd_setting_alias *alias)
{
    return crd_fail(CRD_ERR_ARGUMENT, "%s and %s must be two numbers", alias->key, alias->upper);
}

/* 33 and, at the other key, 67 become "33-67". */
static crd_status assign_range(const target *found, void *options, const cJSON *object, const cJSON *item)
{
    const cJSON *upper = find_member(object, found->alias->upper);
    char low[CRD_NUMBER_BYTES], high[CRD_NUMBER_BYTES], text[2 * CRD_NUMBER_BYTES];
    if (!cJSON_IsNumber(item) || !cJSON_IsNumber(upper)) return wrong_range(found->alias);
    snprintf(text, sizeof text, "%s-%s", number_text(item->valuedouble, low), number_text(upper->valuedouble, high));
    return crd_setting_assign(found->row, options, text);
}

/* The upper end of a range is read with the lower one: alone it would be dropped without a word. */
static crd_status check_upper_end(const crd_settings *table, const cJSON *object, const cJSON *item, const bool *given)
{
    for (size_t i = 0; i < table->alias_count; i++) {
        const crd_setting_alias *alias = &table->aliases[i];
        if (alias->upper == NULL || !crd_setting_same_name(alias->upper, item->string)) continue;
        const crd_setting *row = crd_settings_find(table, alias->name);
        if (row == NULL || (given != NULL && given[row - table->rows])) continue;
        if (find_member(object, alias->key) == NULL) return wrong_range(alias);
    }
    return CRD_OK;
}

static crd_status set_member(const crd_settings *table, void *options, cJSON *object, cJSON *item, bool *given)
{
    const target found = find_target(table, item);
    if (!found.known) return crd_settings_set(table, options, item->string, NULL);
    if (found.row == NULL) return check_upper_end(table, object, item, given);
    if (set_before(table, object, item, found.row)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s stands there twice", found.row->name);
    }
    if (given != NULL && given[found.row - table->rows]) return CRD_OK;
    CRD_PASS(crd_setting_check_there(table, found.row, options));
    if (found.alias != NULL && cJSON_IsNumber(item)) {
        cJSON_SetNumberHelper(item, item->valuedouble + found.alias->add);
    }
    if (found.alias != NULL && found.alias->upper != NULL) {
        CRD_PASS(assign_range(&found, options, object, item));
    } else if (found.alias != NULL && found.alias->words[0] != NULL) {
        CRD_PASS(crd_setting_assign(found.row, options, found.alias->words[cJSON_IsTrue(item) ? 1 : 0]));
    } else {
        CRD_PASS(assign_json(found.row, options, item));
    }
    crd_setting_mark(found.row, options, !cJSON_IsNull(item));
    if (given != NULL) given[found.row - table->rows] = true;
    return CRD_OK;
}

crd_status crd_settings_from_json(const crd_settings *table, void *options, const char *json, const char *source,
                                  bool *given)
{
    crd_status status = CRD_OK;
    cJSON *root = NULL, *item = NULL;
    CRD_TRY(parse(json, source, &root));
    cJSON *inner =
        crd_settings_find(table, "settings") == NULL ? cJSON_GetObjectItemCaseSensitive(root, "settings") : NULL;
    cJSON *object = cJSON_IsObject(inner) ? inner : root;
    if (!cJSON_IsObject(object)) CRD_FAIL(CRD_ERR_FORMAT, "%s must hold a JSON object {...} of settings", source);
    cJSON_ArrayForEach(item, object)
    {
        status = set_member(table, options, object, item, given);
        if (status != CRD_OK) CRD_FAIL(status, "%s: %s", source, crd_last_error()->message);
    }
done:
    cJSON_Delete(root);
    return status;
}

static cJSON *int_json(int64_t value)
{
    char text[CRD_NUMBER_BYTES];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return fabs((double)value) < exact_limit ? cJSON_CreateRaw(text) : cJSON_CreateString(text);
}

/* cJSON's own printing drops the last digits of some doubles. */
static cJSON *real_json(double value)
{
    char text[CRD_NUMBER_BYTES];
    return cJSON_CreateRaw(crd_format_real(value, text));
}

static bool append(cJSON *array, cJSON *item)
{
    if (item != NULL && cJSON_AddItemToArray(array, item)) return true;
    cJSON_Delete(item);
    return false;
}

static cJSON *array_json(const crd_setting *row, const void *field)
{
    const crd_text_list *texts = row->kind == CRD_SETTING_LIST ? field : NULL;
    const crd_real_list *reals = row->kind == CRD_SETTING_REALS ? field : NULL;
    const int64_t count = texts != NULL ? texts->count : reals != NULL ? reals->count : 3;
    cJSON *array = cJSON_CreateArray();
    bool good = array != NULL;
    for (int64_t i = 0; i < count && good; i++) {
        good = append(array, texts != NULL   ? cJSON_CreateString(texts->items[i])
                             : reals != NULL ? real_json(reals->items[i])
                                             : int_json(((const int64_t *)field)[i]));
    }
    if (good) return array;
    cJSON_Delete(array);
    return NULL;
}

/* "33-67,5-95", or null for none. */
static cJSON *pairs_json(const crd_pair_list *list)
{
    enum { ROOM = 2 * CRD_NUMBER_BYTES + 2 };
    char *text = NULL;
    size_t used = 0;
    if (list->count == 0) return cJSON_CreateNull();
    if (crd_alloc(list->count, ROOM, "pairs as text", &text) != CRD_OK) return NULL;
    for (int64_t i = 0; i < list->count; i++) {
        char low[CRD_NUMBER_BYTES], high[CRD_NUMBER_BYTES];
        used += (size_t)snprintf(text + used, ROOM, "%s%s-%s", i > 0 ? "," : "", number_text(list->items[i].low, low),
                                 number_text(list->items[i].high, high));
    }
    cJSON *json = cJSON_CreateString(text);
    crd_free(&text);
    return json;
}

static cJSON *value_json(const crd_setting *row, const void *options)
{
    const void *field = crd_setting_value(row, options);
    const char *text = NULL;
    const int64_t *triple = NULL;
    switch (row->kind) {
    case CRD_SETTING_FLAG:
        return cJSON_CreateBool(*(const bool *)field);
    case CRD_SETTING_INT:
        return int_json(*(const int64_t *)field);
    case CRD_SETTING_REAL:
        return real_json(*(const double *)field);
    case CRD_SETTING_TEXT:
    case CRD_SETTING_CHOICE:
        text = *(char *const *)field;
        return text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull();
    case CRD_SETTING_TRIPLE:
        triple = field;
        if (row->choices != NULL && triple[0] == 0 && triple[1] == 0 && triple[2] == 0) {
            return cJSON_CreateString(row->choices);
        }
        return array_json(row, field);
    case CRD_SETTING_LIST:
    case CRD_SETTING_REALS:
        return array_json(row, field);
    case CRD_SETTING_PAIRS: /* null would be read as the default */
        return ((const crd_pair_list *)field)->count == 0 && row->initial != NULL ? cJSON_CreateString("")
                                                                                  : pairs_json(field);
    }
    return NULL;
}

/* Of the kinds that a row which is left out then may have. */
static bool is_default(const crd_setting *row, const void *options)
{
    const void *field = crd_setting_value(row, options);
    const char *text;
    double initial = 0;
    switch (row->kind) {
    case CRD_SETTING_FLAG:
        return !*(const bool *)field;
    case CRD_SETTING_INT:
        if (row->initial != NULL) (void)crd_parse_real(row->initial, strlen(row->initial), &initial);
        return (double)*(const int64_t *)field == initial;
    case CRD_SETTING_REAL:
        if (row->initial != NULL) (void)crd_parse_real(row->initial, strlen(row->initial), &initial);
        return *(const double *)field == initial;
    case CRD_SETTING_TEXT:
    case CRD_SETTING_CHOICE:
        text = *(char *const *)field;
        return text == NULL || text[0] == '\0' || (row->initial != NULL && strcmp(text, row->initial) == 0);
    case CRD_SETTING_REALS:
        return ((const crd_real_list *)field)->count == 0;
    case CRD_SETTING_LIST:
        return ((const crd_text_list *)field)->count == 0;
    default:
        return false;
    }
}

crd_status crd_settings_to_json(const crd_settings *table, const void *options, crd_setting_scope widest, char **json)
{
    crd_status status = CRD_OK;
    cJSON *root = cJSON_CreateObject();
    *json = NULL;
    for (size_t i = 0; i < table->count && root != NULL; i++) {
        if (table->rows[i].scope > widest || !crd_setting_there(table, &table->rows[i], options)) continue;
        if (table->rows[i].unsaid && is_default(&table->rows[i], options)) continue;
        cJSON *value = value_json(&table->rows[i], options);
        if (value != NULL && cJSON_AddItemToObject(root, table->rows[i].name, value)) continue;
        cJSON_Delete(value);
        CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the settings of %s", table->title);
    }
    CRD_TRY(crd_json_print(root, false, json));
done:
    cJSON_Delete(root);
    return status;
}

void crd_settings_free_text(char **json)
{
    crd_free(json);
}
