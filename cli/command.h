/* What a command is, and what the program gives it. A new command is one file cmd_NAME.c with one cli_command, and one
 * line in the table of main.c: parsing, --config, --help and the man page follow from its table of settings. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "credence/monitor.h"
#include "credence/settings.h"

/* Exit codes of the program. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* Options that every command takes. Where a command's own table has a row of the same name, that one is used. */
typedef struct cli_common {
    char *device; /* "auto", "cpu", "cuda" or "cuda:2" */
    char *precision;
    char *isa;
    int64_t threads; /* 0: one per core */
    int64_t seed;
    bool json;
    bool quiet;
    char *progress; /* "text" or "json" */
    char *config;
    bool trust;
    bool help;
} cli_common;

/* Which of them matter to a command. The others are accepted, so that one set of flags fits a whole script, but --help
 * doesn't show them; --precision and --isa are refused where no network runs. */
enum { CLI_USES_NETWORK = 1, CLI_USES_THREADS = 2, CLI_USES_SEED = 4, CLI_USES_JSON = 8, CLI_USES_FILES = 16 };

typedef struct cli_context cli_context;

typedef struct cli_command {
    const char *name;
    const char *summary;      /* half a line, without capital and dot */
    const char *arguments;    /* what stands after the options: "FILE...", or NULL */
    int least, most;          /* how many of them; most < 0: any number */
    const char *arguments_of; /* the option that they are values of, as is each that is given by its flag; or NULL */
    const crd_settings *settings; /* the command's own options, or NULL */
    size_t options_size;          /* of the struct the table describes */
    unsigned uses;                /* CLI_USES_... */
    bool shared;                  /* processes of an MPI job share its work; else rank 0 does it */
    const char *details;          /* paragraphs for --help and the man page, each one line, with \n between; or NULL */
    const char *examples;         /* command lines, with \n between; a line that starts with # explains the next */
    int (*run)(cli_context *context); /* returns an exit code */
} cli_command;

struct cli_context {
    const cli_command *command;
    const cli_common *common;
    void *options; /* the command's own struct */
    const char **arguments;
    int argument_count;
    const crd_monitor *monitor;
    const crd_settings *table; /* the command's own and the common rows together, as given[] counts them */
    const bool *given;         /* rows set by a flag or by the config file */
};

/* The check of an option (crd_setting.check) that `predict` has by the same name. */
crd_status cli_check_as_predict(const char *name, const char *text);

/* Whether an option was set, by a flag or by the config file. */
bool cli_given(const cli_context *context, const char *name);

/* The table of main.c, in the order --help shows it; ends in NULL. */
extern const cli_command *const cli_commands[];
const cli_command *cli_find_command(const char *name);

/* talk.c. Each prints "credence: <sentence>" on stderr and returns the exit code to leave with. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Wrong usage; `command` may be NULL. Adds where to find help. */
int cli_usage(const cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The library's last error. */
int cli_library_failed(void);
/* Wrong usage unless the option was given: what must be there and isn't. `return` it where it isn't CLI_DONE. */
int cli_require(const cli_context *context, const char *name);
/* Flushes stdout; a full disk or a closed pipe there is a failure as well. */
int cli_finish_output(int code);

#endif
