#include <string.h>

#include "command.h"
#include "credence/cluster.h"
#include "credence/status.h"
#include "credence/volume.h"
#include "help.h"
#include "options.h"
#include "signals.h"
#include "talk/progress.h"

extern const cli_command cli_info, cli_convert, cli_phantom, cli_train, cli_predict, cli_validate, cli_compare,
    cli_measure, cli_surface, cli_export, cli_propagate, cli_report, cli_view, cli_bench;

const cli_command *const cli_commands[] = {&cli_info,      &cli_convert, &cli_phantom, &cli_train,   &cli_predict,
                                           &cli_validate,  &cli_compare, &cli_measure, &cli_surface, &cli_export,
                                           &cli_propagate, &cli_report,  &cli_view,    &cli_bench,   NULL};

const cli_command *cli_find_command(const char *name)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (strcmp(cli_commands[i]->name, name) == 0) return cli_commands[i];
    }
    return NULL;
}

static int unknown_command(const char *word)
{
    static const char *const others[] = {"help", "--help", "--version"};
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) names[count++] = others[i];
    for (size_t i = 0; cli_commands[i] != NULL && count < sizeof names / sizeof names[0]; i++) {
        names[count++] = cli_commands[i]->name;
    }
    const char *nearest = crd_nearest_name(word, names, count);
    if (nearest != NULL) return cli_usage(NULL, "there is no command '%s'; did you mean '%s'?", word, nearest);
    if (word[0] == '-') return cli_usage(NULL, "the command comes first and options such as '%s' after it", word);
    return cli_usage(NULL, "there is no command '%s'", word);
}

static int show_version(void)
{
    printf("credence %s\n%s\n", crd_version(), crd_build_description());
    return CLI_DONE;
}

/* "credence help train", "credence --help-man train": `name` is NULL for the program itself. */
static int show_help(const char *name, int (*show)(const cli_command *command, FILE *out))
{
    const cli_command *command = name != NULL ? cli_find_command(name) : NULL;
    if (name != NULL && command == NULL) return unknown_command(name);
    return show(command, stdout);
}

static int help_page(const cli_command *command, FILE *out)
{
    return command != NULL ? cli_help_command(command, out) : cli_help_program(out);
}

/* Processes of one MPI job share the work of a command that can be shared; of others rank 0 does all. Only rank 0
 * talks. */
static int join_cluster(const cli_command *command, bool *take_part)
{
    *take_part = true;
    if (crd_cluster_join() != CRD_OK) return cli_library_failed();
    if (crd_cluster_rank() == 0) return CLI_DONE;
    *take_part = command->shared;
    cli_progress_mute();
    if (freopen("/dev/null", "w", stdout) == NULL) return CLI_FAILED;
    return CLI_DONE;
}

static int run_command(const cli_command *command, int count, char **words)
{
    cli_options options;
    int code = cli_options_open(command, &options);
    if (code == CLI_DONE) code = cli_options_parse(&options, count, words);
    if (code == CLI_DONE && options.common->help) {
        code = cli_help_command(command, stdout);
    } else if (code == CLI_DONE) {
        cli_progress_setup(options.common->quiet, strcmp(options.common->progress, "json") == 0);
        cli_signals_install();
        crd_trust_files(options.common->trust);
        cli_context context = {.command = command,
                               .common = options.common,
                               .options = options.own_options,
                               .arguments = options.arguments,
                               .argument_count = options.argument_count,
                               .monitor = cli_progress_monitor(),
                               .table = &options.table,
                               .given = options.given};
        code = command->run(&context);
        cli_progress_finish();
    }
    cli_options_close(&options);
    return code;
}

/* Whether --progress json is among the words: what is wrong with the others is said that way, too. */
static bool wants_json(int count, char **words)
{
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++) {
        if (strcmp(words[i], "--progress=json") == 0) return true;
        if (strcmp(words[i], "--progress") == 0 && i + 1 < count && strcmp(words[i + 1], "json") == 0) return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    cli_progress_setup(false, wants_json(argc - 1, argv + 1));
    if (argc < 2) {
        (void)cli_help_program(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1], *next = argc > 2 ? argv[2] : NULL;
    int code;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        code = show_help(next, help_page);
    } else if (strcmp(word, "--help-man") == 0) {
        code = show_help(next, cli_man_page);
    } else if (strcmp(word, "--completion") == 0) {
        code = cli_completion(next, stdout);
    } else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        code = show_version();
    } else {
        const cli_command *command = cli_find_command(word);
        bool take_part;
        code = command != NULL ? join_cluster(command, &take_part) : unknown_command(word);
        if (command != NULL && code == CLI_DONE && take_part) code = run_command(command, argc - 2, argv + 2);
        crd_cluster_leave();
    }
    return cli_finish_output(code);
}
