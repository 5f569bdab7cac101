/* Listens to what a run says: warnings are kept for the manifest, everything goes to log.jsonl and on to the caller. */
#ifndef CRD_PREDICT_NOTES_H
#define CRD_PREDICT_NOTES_H

#include <stdio.h>

#include "credence/monitor.h"
#include "credence/settings.h"

typedef struct crd_notes {
    const crd_monitor *outer;
    crd_monitor monitor; /* to be given to everything that reports; valid while the notes stay where they are */
    crd_text_list warnings;
    bool lost; /* there was no memory for one of them */
    FILE *log; /* NULL until crd_notes_log */
    double started;
} crd_notes;

void crd_notes_begin(const crd_monitor *outer, crd_notes *notes);
/* Writes to the file from now on, what was said before first; `append` keeps what it holds. */
crd_status crd_notes_log(crd_notes *notes, const char *path, bool append);
/* One line of the log: {"event": event, <fields>, "times": {<times>, "seconds": since the beginning}}. Both are JSON
 * without braces, or "". What may differ between equal runs belongs to the times. */
void crd_notes_event(crd_notes *notes, const char *event, const char *fields, const char *times);
double crd_notes_seconds(const crd_notes *notes);
void crd_notes_end(crd_notes *notes);

#endif
