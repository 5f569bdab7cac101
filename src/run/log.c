#include "run/log.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

enum { LINE_BYTES = 4096 };

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
    log->fd = -1;
    log->monitor = (crd_monitor){.context = log, .message = message, .progress = progress};
    log->started = crd_seconds();
}

/* A last line that a kill, a full disk or a power cut has left unfinished goes. */
static void cut_last_line(int fd)
{
    struct stat about;
    char end[LINE_BYTES];
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return;
    const int64_t bytes = about.st_size, from = bytes > LINE_BYTES ? bytes - LINE_BYTES : 0;
    const int64_t got = crd_read_some(fd, from, end, (size_t)(bytes - from));
    int64_t whole = got;
    while (whole > 0 && end[whole - 1] != '\n') whole--;
    if (whole < got && (whole > 0 || from == 0)) (void)crd_resize(fd, from + whole);
}

crd_status crd_run_log_open(crd_run_log *log, const char *path, bool append)
{
    log->fd = crd_open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC));
    if (log->fd < 0) return crd_fail_errno("can't write %s", path);
    if (append) cut_last_line(log->fd);
    for (int64_t i = 0; i < log->warnings.count; i++) log_text(log, "warning", log->warnings.items[i]);
    return CRD_OK;
}

void crd_run_log_event(crd_run_log *log, const char *event, const char *fields, const char *times)
{
    const int64_t ms = (int64_t)(1e3 * crd_run_log_seconds(log));
    char line[LINE_BYTES];
    if (log->fd < 0) return;
    const int length = snprintf(
        line, sizeof line, "{\"event\": \"%s\"%s%s, \"times\": {%s%s\"seconds\": %" PRId64 ".%03d}}\n", event,
        fields[0] != '\0' ? ", " : "", fields, times, times[0] != '\0' ? ", " : "", ms / 1000, (int)(ms % 1000));
    if (length < 0 || length >= (int)sizeof line) return;
    const crd_error told = *crd_last_error(); /* why a run ends stays what is told; it doesn't end for its log */
    if (crd_write_on(log->fd, "the log", line, (size_t)length) != CRD_OK) (void)crd_error_adopt(&told);
}

double crd_run_log_seconds(const crd_run_log *log)
{
    return crd_seconds() - log->started;
}

void crd_run_log_end(crd_run_log *log)
{
    if (log->fd >= 0) (void)close(log->fd);
    for (int64_t i = 0; i < log->warnings.count; i++) crd_free(&log->warnings.items[i]);
    crd_free(&log->warnings.items);
    log->warnings.count = 0;
    log->fd = -1;
}
