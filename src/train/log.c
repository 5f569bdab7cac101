#include "train/log.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "credence/number.h"

struct crd_train_log {
    FILE *file;
    char *path;
    int64_t members;
    pthread_mutex_t lock; /* of a line */
};

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
                               number(line, "seconds")};
        *epoch =
            (crd_log_epoch){number(line, "lr"),         number(line, "valid_bce"),       number(line, "valid_accuracy"),
                            number(line, "sample_bce"), number(line, "sample_accuracy"), number(line, "sample_dice"),
                            number(line, "mean_sigma"), number(line, "certain_share")};
    }
    cJSON_Delete(line);
    return at >= 1.0 && at < 1e15;
}

/* Lines that stay move to the front of the file, over those that don't. */
static bool move(FILE *file, const char *line, size_t length, off_t to)
{
    const off_t at = ftello(file);
    return at == to + (off_t)length || (fseeko(file, to, SEEK_SET) == 0 && fwrite(line, 1, length, file) == length &&
                                        fseeko(file, at, SEEK_SET) == 0);
}

/* A run that was killed may have logged more steps than its checkpoint has, the last one half: those come again. */
static crd_status keep_until(crd_train_log *log, const int64_t *resumed_at, crd_log_reader *reader, void *context,
                             double *seconds)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    off_t keep = 0;
    bool fine = true;
    while (fine && (length = getline(&line, &room, log->file)) > 0) {
        crd_log_step step;
        crd_log_epoch epoch;
        bool ends_epoch;
        if (line[length - 1] != '\n' || !parse(line, &step, &epoch, &ends_epoch)) break;
        if (step.member >= log->members || step.step > resumed_at[step.member]) continue;
        fine = move(log->file, line, (size_t)length, keep);
        keep += length;
        *seconds = isfinite(step.seconds) ? step.seconds : *seconds;
        if (reader != NULL) reader(context, &step, ends_epoch ? &epoch : NULL);
    }
    free(line);
    if (!fine || ferror(log->file) || fseeko(log->file, keep, SEEK_SET) != 0 ||
        ftruncate(fileno(log->file), keep) != 0) {
        return crd_fail_errno("the log %s can't be continued", log->path);
    }
    return CRD_OK;
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
    pthread_mutex_init(&log->lock, NULL);
    CRD_TRY(crd_strdup(path, &log->path));
    log->file = fopen(path, go_on ? "r+e" : "we");
    if (log->file == NULL) {
        status = crd_fail_errno("the log %s can't be written", path);
        goto done;
    }
    (void)setvbuf(log->file, NULL, _IOLBF, 0); /* people look at it while it grows */
    if (go_on) CRD_TRY(keep_until(log, resumed_at, reader, context, seconds));
    *out = log;
    log = NULL;
done:
    crd_log_close(&log);
    return status;
}

void crd_log_close(crd_train_log **log)
{
    if (*log == NULL) return;
    if ((*log)->file != NULL) (void)fclose((*log)->file); /* line by line it is written, and checked */
    pthread_mutex_destroy(&(*log)->lock);
    crd_free(&(*log)->path);
    crd_free(log);
}

static void add_speeds(crd_train_log *log, const double *speeds, int ranks)
{
    fprintf(log->file, ",\"examples_per_second\":[");
    for (int rank = 0; rank < ranks; rank++) {
        char number[CRD_NUMBER_BYTES];
        fprintf(log->file, "%s%s", rank > 0 ? "," : "", crd_short_number(speeds[rank], 4, number));
    }
    fprintf(log->file, "]");
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
    pthread_mutex_lock(&log->lock);
    fputs("{", log->file);
    if (log->members > 1) fprintf(log->file, "\"member\":%" PRId64 ",", step->member);
    fprintf(log->file, "\"step\":%" PRId64 ",\"epoch\":%" PRId64, step->step, step->epoch);
    for (size_t i = 0; i < count; i++) {
        char text[CRD_NUMBER_BYTES];
        fprintf(log->file, ",\"%s\":%s", fields[i].name, crd_format_real(fields[i].value, text));
    }
    if (epoch != NULL && speeds != NULL) add_speeds(log, speeds, ranks);
    fprintf(log->file, ",\"seconds\":%" PRId64 ".%03d}\n", (int64_t)step->seconds,
            (int)(1e3 * (step->seconds - floor(step->seconds))));
    const bool failed = ferror(log->file) != 0;
    pthread_mutex_unlock(&log->lock);
    if (failed) return crd_fail_errno("the log %s can't be written", log->path);
    return CRD_OK;
}

crd_status crd_log_flush(crd_train_log *log)
{
    if (fflush(log->file) == 0 && (fsync(fileno(log->file)) == 0 || errno == EINVAL)) return CRD_OK;
    return crd_fail_errno("the log %s can't be written", log->path);
}
