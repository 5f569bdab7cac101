#include "base/settings/whole.h"

#include <string.h>

#include "base/settings/row.h"

void crd_settings_whole_free(const crd_settings *table, const void *options, void *whole)
{
    for (size_t i = 0; i < table->count; i++) {
        if (!crd_setting_there(table, &table->rows[i], options)) crd_setting_clear(&table->rows[i], whole);
    }
}

crd_status crd_settings_whole(const crd_settings *table, const void *options, void *whole)
{
    crd_status status = CRD_OK;
    const size_t size = *(const size_t *)options;
    if (size < sizeof size || size > table->size) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "the options of %s don't begin with their size; crd_settings_default fills them in first",
                        table->title);
    }
    memset(whole, 0, table->size);
    memcpy(whole, options, size);
    *(size_t *)whole = table->size;
    for (size_t i = 0; i < table->count && status == CRD_OK; i++) {
        const crd_setting *row = &table->rows[i];
        if (crd_setting_there(table, row, options)) continue;
        memset(crd_setting_field(row, whole), 0, crd_setting_bytes(row->kind)); /* of one that is cut in two */
        if (row->initial != NULL) status = crd_setting_assign(row, whole, row->initial);
    }
    if (status != CRD_OK) crd_settings_whole_free(table, options, whole);
    return status;
}
