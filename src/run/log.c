#include "run/log.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"

static void keep_warning(crd_run_log *log, const char *text)
{
    char **longer = NULL;
    crd_text_list *list = &log->warnings;
    if (crd_alloc(list->count + 1, sizeof *longer, "a warning", &longer) != CRD_OK ||
        crd_strdup(text, &longer[list->count]) != CRD_OK) {
        crd_free(&longer);
        log->lost = true;
        return;
    }
    if (list->count > 0) memcpy(longer, list->items, (size_t)list->count * sizeof *longer);
    crd_free(&list->items);
    list->items = longer;
    list->count++;
}

static void log_text(crd_run_log *log, const char *event, const char *text)
{
    cJSON *string = cJSON_CreateString(text);
    char *quoted = NULL;
    char fields[2300];
    const bool told = crd_json_print(string, true, &quoted) == CRD_OK;
    snprintf(fields, sizeof fields, "\"text\": %s", told ? quoted : "null");
    crd_run_log_event(log, event, fields, "");
    crd_free(&quoted);
    cJSON_Delete(string);
}

static void message(void *context, crd_level level, const char *text)
{
    crd_run_log *log = context;
    if (level == CRD_LEVEL_WARNING) keep_warning(log, text);
    log_text(log, level == CRD_LEVEL_WARNING ? "warning" : "info", text);
    if (log->outer != NULL && log->outer->message != NULL) log->outer->message(log->outer->context, level, text);
}

static bool progress(void *context, const crd_progress *state)
{
    const crd_run_log *log = context;
    if (log->outer == NULL || log->outer->progress == NULL) return true;
    return log->outer->progress(log->outer->context, state);
}

void crd_run_log_begin(const crd_monitor *outer, crd_run_log *log)
{
    memset(log, 0, sizeof *log);
    log->outer = outer;
    log->monitor = (crd_monitor){.context = log, .message = message, .progress = progress};
    log->started = crd_seconds();
}

crd_status crd_run_log_open(crd_run_log *log, const char *path, bool append)
{
    log->file = fopen(path, append ? "a" : "w");
    if (log->file == NULL) return crd_fail_errno("can't write %s", path);
    for (int64_t i = 0; i < log->warnings.count; i++) log_text(log, "warning", log->warnings.items[i]);
    return CRD_OK;
}

void crd_run_log_event(crd_run_log *log, const char *event, const char *fields, const char *times)
{
    const int64_t ms = (int64_t)(1e3 * crd_run_log_seconds(log));
    if (log->file == NULL) return;
    fprintf(log->file, "{\"event\": \"%s\"%s%s, \"times\": {%s%s\"seconds\": %" PRId64 ".%03d}}\n", event,
            fields[0] != '\0' ? ", " : "", fields, times, times[0] != '\0' ? ", " : "", ms / 1000, (int)(ms % 1000));
    (void)fflush(log->file);
}

double crd_run_log_seconds(const crd_run_log *log)
{
    return crd_seconds() - log->started;
}

void crd_run_log_end(crd_run_log *log)
{
    if (log->file != NULL) (void)fclose(log->file);
    for (int64_t i = 0; i < log->warnings.count; i++) crd_free(&log->warnings.items[i]);
    crd_free(&log->warnings.items);
    log->warnings.count = 0;
    log->file = NULL;
}
