/* Listens to what a run says: warnings are kept for the manifest, everything goes to log.jsonl and on to the caller. */
#ifndef CRD_RUN_LOG_H
#define CRD_RUN_LOG_H

#include "credence/monitor.h"
#include "credence/settings.h"

typedef struct crd_run_log {
    const crd_monitor *outer;
    crd_monitor monitor; /* to be given to everything that reports; valid while the log stays where it is */
    crd_text_list warnings;
    bool lost; /* there was no memory for one of them */
    int fd;    /* -1 until crd_run_log_open */
    double started;
} crd_run_log;

void crd_run_log_begin(const crd_monitor *outer, crd_run_log *log);
/* Writes to the file from now on, what was said before first; `append` keeps what it holds. */
crd_status crd_run_log_open(crd_run_log *log, const char *path, bool append);
/* One line of the log: {"event": event, <fields>, "times": {<times>, "seconds": since the beginning}}. Both are JSON
 * without braces, or "". What may differ between equal runs belongs to the times. */
void crd_run_log_event(crd_run_log *log, const char *event, const char *fields, const char *times);
double crd_run_log_seconds(const crd_run_log *log);
void crd_run_log_end(crd_run_log *log);

#endif
