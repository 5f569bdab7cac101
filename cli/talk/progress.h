/* How the program draws what the library reports: a bar on a terminal, a line now and then elsewhere, or lines of JSON
 * for another program. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include "credence/monitor.h"

typedef enum cli_line { CLI_INFO, CLI_HINT, CLI_WARNING, CLI_ERROR } cli_line;

/* Looks at stderr, TERM and NO_COLOR. `json`: lines for a program, whatever stderr is. */
void cli_progress_setup(bool quiet, bool json);
/* No line and no bar from now on, not even for an error: another process of the job says it. */
void cli_progress_mute(void);
/* Borrowed; stays valid. Also turns a signal into a cancelled call. */
const crd_monitor *cli_progress_monitor(void);
/* One line of talk on stderr, above a bar that is being drawn. Without an earlier setup it is plain. */
void cli_progress_line(cli_line kind, const char *text);
/* Ends a bar that is still there. */
void cli_progress_finish(void);

#endif
