/* One row of a settings table and its field in the options struct; shared by settings.c and json.c. */
#ifndef CRD_BASE_SETTINGS_ROW_H
#define CRD_BASE_SETTINGS_ROW_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/settings.h"

/* Bytes of the field. */
size_t crd_setting_bytes(crd_setting_kind kind);

/* Has the struct, which may be that of an older program, room for the row? */
static inline bool crd_setting_there(const crd_settings *table, const crd_setting *row, const void *options)
{
    if (table->size == 0) return true;
    const size_t size = *(const size_t *)options;
    return row->offset + crd_setting_bytes(row->kind) <= size && row->mark < size;
}

/* A sentence where it has none. */
crd_status crd_setting_check_there(const crd_settings *table, const crd_setting *row, const void *options);

/* The field of the row; the kind says what type lies there. */
static inline void *crd_setting_field(const crd_setting *row, void *options)
{
    return (char *)options + row->offset;
}

static inline const void *crd_setting_value(const crd_setting *row, const void *options)
{
    return (const char *)options + row->offset;
}

/* Says whether the setting has been set, where somebody wants to know. */
static inline void crd_setting_mark(const crd_setting *row, void *options, bool set)
{
    if (row->mark != 0) *(bool *)((char *)options + row->mark) = set;
}

/* Sets the field from text, and no mark; on failure the old value stays and the sentence begins with the row's name. */
crd_status crd_setting_assign(const crd_setting *row, void *options, const char *text);

/* "33-67,5-95"; free the items with crd_free. `name` is the setting's, for the sentence. */
crd_status crd_pairs_parse(const char *name, const char *text, crd_pair_list *out);

/* Frees what the field owns and zeroes it. */
void crd_setting_clear(const crd_setting *row, void *options);

/* Equal, when '_' and '-' are. */
bool crd_setting_same_name(const char *a, const char *b);

#endif
