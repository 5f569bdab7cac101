#include "train/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "credence/number.h"

struct crd_train_log {
    FILE *file;
    char *path;
};

/* The step that a line is about; -1 where it has none. */
static int64_t step_of(const char *line)
{
    const char *at = strstr(line, "\"step\":");
    return at != NULL ? strtoll(at + 7, NULL, 10) : -1;
}

/* A run that was killed may have logged more steps than its checkpoint has: those come again. */
static crd_status cut_after(const char *path, int64_t step)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    size_t bytes, keep = 0;
    if (access(path, F_OK) != 0) return CRD_OK;
    CRD_TRY(crd_read_file(path, (size_t)1 << 34, &text, &bytes));
    while (keep < bytes) {
        const char *end = memchr(text + keep, '\n', bytes - keep);
        const int64_t line = end != NULL ? step_of(text + keep) : -1;
        if (line < 0 || line > step) break;
        keep = (size_t)(end - text) + 1;
    }
    if (keep < bytes) CRD_TRY(crd_write_file(path, text, keep));
done:
    crd_free(&text);
    return status;
}

crd_status crd_log_open(const char *path, int64_t resumed_at, crd_train_log **out)
{
    crd_status status = CRD_OK;
    crd_train_log *log = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *log, "the log", &log));
    CRD_TRY(crd_strdup(path, &log->path));
    if (resumed_at > 0) CRD_TRY(cut_after(path, resumed_at));
    log->file = fopen(path, resumed_at > 0 ? "ae" : "we");
    if (log->file == NULL) {
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
    if ((*log)->file != NULL) fclose((*log)->file);
    crd_free(&(*log)->path);
    crd_free(log);
}

static crd_status check(crd_train_log *log, int printed)
{
    if (printed >= 0 && !ferror(log->file)) return CRD_OK;
    return crd_fail_errno("the log %s can't be written", log->path);
}

crd_status crd_log_add_step(crd_train_log *log, const crd_log_step *line)
{
    char bce[CRD_NUMBER_BYTES], kl[CRD_NUMBER_BYTES], weight[CRD_NUMBER_BYTES], loss[CRD_NUMBER_BYTES];
    return check(log, fprintf(log->file,
                              "{\"step\":%" PRId64 ",\"epoch\":%" PRId64
                              ",\"bce\":%s,\"kl\":%s,\"kl_weight\":%s,\"loss\":%s,\"seconds\":%.3f}\n",
                              line->step, line->epoch, crd_format_real(line->bce, bce), crd_format_real(line->kl, kl),
                              crd_format_real(line->kl_weight, weight), crd_format_real(line->loss, loss),
                              line->seconds));
}

crd_status crd_log_add_epoch(crd_train_log *log, const crd_log_epoch *line)
{
    const struct {
        const char *name;
        double value;
    } fields[] = {{"valid_bce", line->valid_bce}, {"valid_accuracy", line->valid_accuracy},
                  {"sample_bce", line->sample_bce}, {"sample_accuracy", line->sample_accuracy},
                  {"mean_sigma", line->mean_sigma}, {"certain_share", line->certain_share}, {"kl", line->kl},
                  {"kl_weight", line->kl_weight}, {"lr", line->lr}};
    CRD_PASS(check(log, fprintf(log->file, "{\"event\":\"epoch\",\"step\":%" PRId64 ",\"epoch\":%" PRId64, line->step,
                                line->epoch)));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char number[CRD_NUMBER_BYTES];
        CRD_PASS(check(log, fprintf(log->file, ",\"%s\":%s", fields[i].name, crd_format_real(fields[i].value, number))));
    }
    return check(log, fprintf(log->file, "}\n"));
}

crd_status crd_log_flush(crd_train_log *log)
{
    if (fflush(log->file) == 0 && (fsync(fileno(log->file)) == 0 || errno == EINVAL)) return CRD_OK;
    return crd_fail_errno("the log %s can't be written", log->path);
}
