#include "train/log.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "credence/number.h"

struct crd_train_log {
    int fd;
    char *path;
    int64_t members;
    pthread_mutex_t lock; /* of a line */
};

#define LOG_LIMIT ((size_t)1 << 32)

static double number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

/* false: the line is not whole. */
static bool parse(const char *text, crd_log_step *step, crd_log_epoch *epoch, bool *ends_epoch)
{
    cJSON *line = cJSON_Parse(text);
    const double at = number(line, "step");
    *ends_epoch = cJSON_HasObjectItem(line, "lr") != 0;
    if (at >= 1.0 && at < 1e15) {
        const double member = number(line, "member"), in_epoch = number(line, "epoch");
        *step = (crd_log_step){member >= 0.0 && member < 1e9 ? (int64_t)member : 0,
                               (int64_t)at,
                               in_epoch >= 0.0 && in_epoch < 1e15 ? (int64_t)in_epoch : 0,
                               number(line, "bce"),
                               number(line, "kl"),
                               number(line, "kl_weight"),
                               number(line, "loss"),
                               number(line, "seconds"),
                               cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(line, "head_redrawn")) != 0};
        *epoch =
            (crd_log_epoch){number(line, "lr"),         number(line, "valid_bce"),       number(line, "valid_accuracy"),
                            number(line, "sample_bce"), number(line, "sample_accuracy"), number(line, "sample_dice"),
                            number(line, "mean_sigma"), number(line, "certain_share")};
    }
    cJSON_Delete(line);
    return at >= 1.0 && at < 1e15;
}

/* A run that was killed may have logged more steps than its checkpoint has, the last one half: those come again. What
 * stays moves to the front of the text, over what doesn't; *length is its own. */
static void keep_until(const crd_train_log *log, const int64_t *resumed_at, crd_log_reader *reader, void *context,
                       char *text, size_t *length, double *seconds)
{
    size_t kept = 0;
    for (char *line = text, *end; (end = memchr(line, '\n', *length - (size_t)(line - text))) != NULL; line = end + 1) {
        const size_t bytes = (size_t)(end + 1 - line);
        crd_log_step step;
        crd_log_epoch epoch;
        bool ends_epoch;
        *end = '\0';
        const bool whole = parse(line, &step, &epoch, &ends_epoch);
        *end = '\n';
        if (!whole) break;
        if (step.member >= log->members || step.step > resumed_at[step.member]) continue;
        memmove(text + kept, line, bytes);
        kept += bytes;
        *seconds = isfinite(step.seconds) ? step.seconds : *seconds;
        if (reader != NULL) reader(context, &step, ends_epoch ? &epoch : NULL);
    }
    *length = kept;
}

/* The file takes its new content whole: a kill must not leave a line twice. */
static crd_status go_on_with(crd_train_log *log, const int64_t *resumed_at, crd_log_reader *reader, void *context,
                             double *seconds)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    size_t length = 0, before;
    CRD_TRY(crd_read_file(log->path, LOG_LIMIT, &text, &length));
    before = length;
    keep_until(log, resumed_at, reader, context, text, &length, seconds);
    if (length != before) CRD_TRY(crd_write_file(log->path, text, length));
done:
    crd_free(&text);
    return status;
}

crd_status crd_log_open(const char *path, int64_t members, const int64_t *resumed_at, crd_log_reader *reader,
                        void *context, crd_train_log **out, double *seconds)
{
    crd_status status = CRD_OK;
    crd_train_log *log = NULL;
    bool go_on = false;
    for (int64_t i = 0; i < members; i++) go_on = go_on || resumed_at[i] > 0;
    go_on = go_on && access(path, F_OK) == 0;
    *out = NULL;
    *seconds = 0.0;
    CRD_TRY(crd_alloc(1, sizeof *log, "the log", &log));
    log->members = members;
    log->fd = -1;
    pthread_mutex_init(&log->lock, NULL);
    CRD_TRY(crd_strdup(path, &log->path));
    if (go_on) CRD_TRY(go_on_with(log, resumed_at, reader, context, seconds));
    log->fd = crd_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (go_on ? 0 : O_TRUNC));
    if (log->fd < 0) {
        status = crd_fail_errno("the log %s can't be written", path);
        goto done;
    }
    *out = log;
    log = NULL;
done:
    crd_log_close(&log);
    return status;
}

void crd_log_close(crd_train_log **log)
{
    if (*log == NULL) return;
    if ((*log)->fd >= 0) (void)close((*log)->fd);
    pthread_mutex_destroy(&(*log)->lock);
    crd_free(&(*log)->path);
    crd_free(log);
}

static void add_speeds(crd_text *line, const double *speeds, int ranks)
{
    crd_text_print(line, ",\"examples_per_second\":[");
    for (int rank = 0; rank < ranks; rank++) {
        char number[CRD_NUMBER_BYTES];
        crd_text_print(line, "%s%s", rank > 0 ? "," : "", crd_short_number(speeds[rank], 4, number));
    }
    crd_text_print(line, "]");
}

crd_status crd_log_add(crd_train_log *log, const crd_log_step *step, const crd_log_epoch *epoch, const double *speeds,
                       int ranks)
{
    const struct {
        const char *name;
        double value;
    } fields[] = {{"bce", step->bce},
                  {"kl", step->kl},
                  {"kl_weight", step->kl_weight},
                  {"loss", step->loss},
                  {"lr", epoch != NULL ? epoch->lr : 0.0},
                  {"valid_bce", epoch != NULL ? epoch->valid_bce : 0.0},
                  {"valid_accuracy", epoch != NULL ? epoch->valid_accuracy : 0.0},
                  {"sample_bce", epoch != NULL ? epoch->sample_bce : 0.0},
                  {"sample_accuracy", epoch != NULL ? epoch->sample_accuracy : 0.0},
                  {"sample_dice", epoch != NULL ? epoch->sample_dice : 0.0},
                  {"mean_sigma", epoch != NULL ? epoch->mean_sigma : 0.0},
                  {"certain_share", epoch != NULL ? epoch->certain_share : 0.0}};
    const size_t count = epoch != NULL ? sizeof fields / sizeof fields[0] : 4;
    crd_status status = CRD_OK;
    crd_text line = {0};
    char *words = NULL;
    crd_text_add(&line, "{");
    if (log->members > 1) crd_text_print(&line, "\"member\":%" PRId64 ",", step->member);
    crd_text_print(&line, "\"step\":%" PRId64 ",\"epoch\":%" PRId64, step->step, step->epoch);
    for (size_t i = 0; i < count; i++) {
        char text[CRD_NUMBER_BYTES];
        crd_text_print(&line, ",\"%s\":%s", fields[i].name, crd_format_real(fields[i].value, text));
    }
    if (step->head_redrawn) crd_text_print(&line, ",\"head_redrawn\":true");
    if (epoch != NULL && speeds != NULL) add_speeds(&line, speeds, ranks);
    crd_text_print(&line, ",\"seconds\":%" PRId64 ".%03d}\n", (int64_t)step->seconds,
                   (int)(1e3 * (step->seconds - floor(step->seconds))));
    CRD_TRY(crd_text_finish(&line, &words));
    pthread_mutex_lock(&log->lock);
    status = crd_write_on(log->fd, log->path, words, strlen(words));
    pthread_mutex_unlock(&log->lock);
done:
    crd_text_free(&line);
    crd_free(&words);
    return status;
}

crd_status crd_log_flush(crd_train_log *log)
{
    if (crd_sync_data(log->fd) == 0 || errno == EINVAL) return CRD_OK;
    return crd_fail_errno("the log %s can't be written", log->path);
}
