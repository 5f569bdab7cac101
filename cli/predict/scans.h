/* The scans of one prediction: each --scan, and the words without a flag. Several are done one after the other, each in
 * a run folder of its own below --output, and end in one table. */
#ifndef CLI_SCANS_H
#define CLI_SCANS_H

#include "command.h"

typedef struct cli_scans {
    int count;
    const char **paths; /* as they were given; the strings are borrowed */
    char **folders;     /* below the output: "a" of "scans/a.tif"; NULL where there is one scan */
    char *own;          /* the option's path */
    char *output;       /* as it was given, or NULL */
} cli_scans;

/* All return an exit code, and have said why where it isn't CLI_DONE. Close it in any case. */
int cli_scans_open(cli_context *context, cli_scans *out);
/* Number `index` becomes the options' scan and, where there is an output, its run folder their output. */
int cli_scans_choose(const cli_context *context, const cli_scans *scans, int index);
int cli_scans_predict(const cli_context *context, cli_scans *scans);
void cli_scans_close(cli_scans *scans);

#endif
