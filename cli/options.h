/* From the words of a command line to filled structs. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "command.h"

/* One command's own rows and the common ones as one table over one block of memory, so that flags, config file, help
 * and man page all go through the same list. */
typedef struct cli_options {
    const cli_command *command;
    crd_settings table;
    crd_setting *rows;
    bool *given;  /* per row */
    bool *hidden; /* per row: accepted, but not shown in help */
    size_t own;   /* rows from here on are the common ones */
    void *block;
    cli_common *common;     /* inside the block */
    void *own_options;      /* inside the block */
    const char **arguments; /* positional; the strings belong to argv */
    int argument_count;
} cli_options;

/* Builds the table and fills in the defaults. All return an exit code and have said why where it isn't CLI_DONE. */
int cli_options_open(const cli_command *command, cli_options *options);
/* Reads the words after the command's name, then the config file for what they left open. */
int cli_options_parse(cli_options *options, int count, char **words);
void cli_options_close(cli_options *options);

#endif
