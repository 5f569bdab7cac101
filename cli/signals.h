/* SIGINT, SIGTERM and SIGUSR1 ask the running command to stop; the progress callback passes that on to the library. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

void cli_signals_install(void);
/* The signal that asked to stop, or 0. */
int cli_signals_received(void);
/* As if none had come: the next one only asks again. */
void cli_signals_forget(void);

#endif
