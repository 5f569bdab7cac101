#include "predict/notes.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"

static void keep_warning(crd_notes *notes, const char *text)
{
    char **longer = NULL;
    crd_text_list *list = &notes->warnings;
    if (crd_alloc(list->count + 1, sizeof *longer, "a warning", &longer) != CRD_OK ||
        crd_strdup(text, &longer[list->count]) != CRD_OK) {
        crd_free(&longer);
        notes->lost = true;
        return;
    }
    if (list->count > 0) memcpy(longer, list->items, (size_t)list->count * sizeof *longer);
    crd_free(&list->items);
    list->items = longer;
    list->count++;
}

static void log_text(crd_notes *notes, const char *event, const char *text)
{
    cJSON *string = cJSON_CreateString(text);
    char *quoted = NULL;
    char fields[2300];
    const bool told = crd_json_print(string, true, &quoted) == CRD_OK;
    snprintf(fields, sizeof fields, "\"text\": %s", told ? quoted : "null");
    crd_notes_event(notes, event, fields, "");
    crd_free(&quoted);
    cJSON_Delete(string);
}

static void message(void *context, crd_level level, const char *text)
{
    crd_notes *notes = context;
    if (level == CRD_LEVEL_WARNING) keep_warning(notes, text);
    log_text(notes, level == CRD_LEVEL_WARNING ? "warning" : "info", text);
    if (notes->outer != NULL && notes->outer->message != NULL)
        notes->outer->message(notes->outer->context, level, text);
}

static bool progress(void *context, const crd_progress *state)
{
    const crd_notes *notes = context;
    if (notes->outer == NULL || notes->outer->progress == NULL) return true;
    return notes->outer->progress(notes->outer->context, state);
}

void crd_notes_begin(const crd_monitor *outer, crd_notes *notes)
{
    memset(notes, 0, sizeof *notes);
    notes->outer = outer;
    notes->monitor = (crd_monitor){.context = notes, .message = message, .progress = progress};
    notes->started = crd_seconds();
}

crd_status crd_notes_log(crd_notes *notes, const char *path, bool append)
{
    notes->log = fopen(path, append ? "a" : "w");
    if (notes->log == NULL) return crd_fail_errno("can't write %s", path);
    for (int64_t i = 0; i < notes->warnings.count; i++) log_text(notes, "warning", notes->warnings.items[i]);
    return CRD_OK;
}

void crd_notes_event(crd_notes *notes, const char *event, const char *fields, const char *times)
{
    const int64_t ms = (int64_t)(1e3 * crd_notes_seconds(notes));
    if (notes->log == NULL) return;
    fprintf(notes->log, "{\"event\": \"%s\"%s%s, \"times\": {%s%s\"seconds\": %" PRId64 ".%03d}}\n", event,
            fields[0] != '\0' ? ", " : "", fields, times, times[0] != '\0' ? ", " : "", ms / 1000, (int)(ms % 1000));
    (void)fflush(notes->log);
}

double crd_notes_seconds(const crd_notes *notes)
{
    return crd_seconds() - notes->started;
}

void crd_notes_end(crd_notes *notes)
{
    if (notes->log != NULL) (void)fclose(notes->log);
    for (int64_t i = 0; i < notes->warnings.count; i++) crd_free(&notes->warnings.items[i]);
    crd_free(&notes->warnings.items);
    notes->warnings.count = 0;
    notes->log = NULL;
}
