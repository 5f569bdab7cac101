/* Completion of command lines by shells, made from the tables that --help comes from. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdio.h>

/* The script for "bash", "zsh" or "fish". Returns an exit code. */
int cli_completion(const char *shell, FILE *out);

#endif
