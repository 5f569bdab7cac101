/* --progress json: what the library reports as lines of JSON on stderr, for programs that start this one. */
#ifndef CLI_PROGRESS_JSON_H
#define CLI_PROGRESS_JSON_H

#include "credence/monitor.h"
#include "progress.h"

/* {"event": "message", "level": "warning", "text": "..."} */
void cli_progress_json_message(cli_line kind, const char *text);
/* {"event": "progress", "stage": "predicting", "unit": "slices", "done": 12, "total": 96, "seconds": 3.1, "left": 21.7,
 * "note": null}, at most five times a second. */
void cli_progress_json_show(const crd_progress *progress);
/* The latest state, where it was too soon for it. */
void cli_progress_json_finish(void);

#endif
