/* The warnings of a call, kept for the JSON at its end; they are shown as they come all the same. */
#ifndef CLI_WARNINGS_H
#define CLI_WARNINGS_H

#include <stddef.h>

#include "credence/monitor.h"
#include "json.h"

typedef struct cli_warnings {
    const crd_monitor *shown; /* may be NULL */
    crd_monitor monitor;      /* to be given to the call in its place */
    char **texts;
    size_t count, room;
} cli_warnings;

void cli_warnings_begin(cli_warnings *warnings, const crd_monitor *shown);
/* Under the key "warnings". */
void cli_warnings_json(const cli_warnings *warnings, cli_json *json);
void cli_warnings_end(cli_warnings *warnings);

#endif
