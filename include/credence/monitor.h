/* How the library talks to its caller: messages, progress and cancelling, through callbacks of the caller.
 *
 * A crd_monitor is borrowed for the duration of the call it is given to. Callbacks run on the thread that made the
 * call, never on a worker; calls in several threads that are given the same monitor run its callbacks at the same time.
 * Any of them may be NULL, and a NULL monitor is a silent one.
 */
#ifndef CREDENCE_MONITOR_H
#define CREDENCE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum crd_level { CRD_LEVEL_INFO = 0, CRD_LEVEL_WARNING = 1 } crd_level;

typedef struct crd_progress {
    const char *stage; /* "predicting", "converting", ...: changes when a new bar begins */
    const char *unit;  /* what is counted: "slices", "chunks", "steps" */
    int64_t done;
    int64_t total;    /* 0: not known, and there is nothing to draw; the call only asks whether to continue */
    const char *note; /* a few words on the latest state ("loss 0.231"), or NULL */
} crd_progress;

typedef struct crd_monitor {
    void *context;                                                     /* handed to the callbacks */
    void (*message)(void *context, crd_level level, const char *text); /* one sentence, no newline */
    bool (*progress)(void *context, const crd_progress *progress);     /* false cancels the call */
} crd_monitor;

#ifdef __cplusplus
}
#endif
#endif
