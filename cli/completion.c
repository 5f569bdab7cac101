/* Completion of command lines by shells. */
#include <string.h>

#include "help.h"

/* A shell's way to write each part of its script. */
typedef struct shell {
    const char *name;
    void (*begin)(FILE *out);
    void (*command_begins)(FILE *out, const cli_command *command);
    void (*option)(FILE *out, const cli_command *command, const crd_setting *row);
    void (*command_ends)(FILE *out, const cli_options *options);
    void (*end)(FILE *out);
} shell;

/* Words of "a|b|c" with blanks between. */
static void put_words(FILE *out, const char *choices)
{
    for (const char *at = choices; *at != '\0'; at++) fputc(*at == '|' ? ' ' : *at, out);
}

/* Between single quotes, with a backslash before each of `special`. */
static void put_quoted(FILE *out, const char *text, const char *special)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\'') {
            fputs("'\\''", out);
            continue;
        }
        if (strchr(special, *at) != NULL) fputc('\\', out);
        fputc(*at == '\n' ? ' ' : *at, out);
    }
}

static bool has_words(const crd_setting *row)
{
    return row->kind == CRD_SETTING_CHOICE && row->choices != NULL;
}

/* ---- bash ---- */

static void bash_begin(FILE *out)
{
    fputs("# bash completion for credence: what `credence --completion bash` prints.\n"
          "_credence() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options= values=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"help --help --version",
          out);
    for (size_t i = 0; cli_commands[i] != NULL; i++) fprintf(out, " %s", cli_commands[i]->name);
    fputs("\" -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n", out);
    fputs("    help)\n        values=\"", out);
    for (size_t i = 0; cli_commands[i] != NULL; i++) fprintf(out, "%s%s", i > 0 ? " " : "", cli_commands[i]->name);
    fputs("\"\n        ;;\n", out);
}

static void bash_command_begins(FILE *out, const cli_command *command)
{
    fprintf(out, "    %s)\n        case $before in\n", command->name);
}

static void bash_option(FILE *out, const cli_command *command, const crd_setting *row)
{
    (void)command;
    if (!has_words(row)) return;
    fprintf(out, "        --%s) values=\"", row->name);
    put_words(out, row->choices);
    fputs("\" ;;\n", out);
}

static void bash_command_ends(FILE *out, const cli_options *options)
{
    bool first = true;
    fputs("        esac\n        options=\"", out);
    for (size_t i = 0; i < options->table.count; i++) {
        if (options->hidden[i]) continue;
        fprintf(out, "%s--%s", first ? "" : " ", options->rows[i].name);
        first = false;
    }
    fputs("\"\n        ;;\n", out);
}

static void bash_end(FILE *out)
{
    fputs("    esac\n"
          "    if [ -n \"$values\" ]; then\n"
          "        COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
          "    elif [[ $word == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "    fi\n"
          "}\n"
          "complete -o default -F _credence credence # names of files where nothing else is known\n",
          out);
}

/* ---- zsh ---- */

static void zsh_begin(FILE *out)
{
    fputs("#compdef credence\n"
          "# zsh completion for credence: what `credence --completion zsh` prints.\n"
          "_credence() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        fprintf(out, "        '%s:", cli_commands[i]->name);
        put_quoted(out, cli_commands[i]->summary, ":");
        fputs("'\n", out);
    }
    fputs("        'help:show help'\n    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $command in\n"
          "    help) _describe command commands ;;\n",
          out);
}

static void zsh_command_begins(FILE *out, const cli_command *command)
{
    fprintf(out, "    %s)\n        _arguments \\\n", command->name);
}

static void zsh_option(FILE *out, const cli_command *command, const crd_setting *row)
{
    (void)command;
    fprintf(out, "            '%s--%s[", row->kind == CRD_SETTING_LIST ? "*" : "", row->name);
    put_quoted(out, row->help, "[]");
    fputc(']', out);
    if (has_words(row)) {
        fputs(":value:(", out);
        put_words(out, row->choices);
        fputc(')', out);
    } else if (row->kind != CRD_SETTING_FLAG) {
        fputc(':', out);
        put_quoted(out, row->argument != NULL ? row->argument : "value", ":[]");
        fputs(":_files", out);
    }
    fputs("' \\\n", out);
}

static void zsh_command_ends(FILE *out, const cli_options *options)
{
    (void)options;
    fputs("            '*:file:_files'\n        ;;\n", out);
}

static void zsh_end(FILE *out)
{
    fputs("    esac\n}\n_credence \"$@\"\n", out);
}

/* ---- fish ---- */

static void fish_begin(FILE *out)
{
    fputs("# fish completion for credence: what `credence --completion fish` prints.\n"
          "complete -c credence -n __fish_use_subcommand -f -l help -d 'show help'\n"
          "complete -c credence -n __fish_use_subcommand -f -l version -d 'version, and what it was built with'\n",
          out);
}

static void fish_command_begins(FILE *out, const cli_command *command)
{
    fprintf(out, "complete -c credence -n __fish_use_subcommand -f -a %s -d '", command->name);
    put_quoted(out, command->summary, "");
    fputs("'\n", out);
}

static void fish_option(FILE *out, const cli_command *command, const crd_setting *row)
{
    fprintf(out, "complete -c credence -n '__fish_seen_subcommand_from %s' -l %s", command->name, row->name);
    if (row->short_name != 0) fprintf(out, " -s %c", row->short_name);
    if (has_words(row)) {
        fputs(" -x -a '", out);
        put_words(out, row->choices);
        fputc('\'', out);
    } else if (row->kind != CRD_SETTING_FLAG) {
        fputs(" -r", out);
    }
    fputs(" -d '", out);
    for (const char *at = row->help; *at != '\0'; at++) { /* fish has an escape of its own for quotes */
        if (*at == '\'' || *at == '\\') fputc('\\', out);
        fputc(*at, out);
    }
    fputs("'\n", out);
}

static void fish_command_ends(FILE *out, const cli_options *options)
{
    (void)out;
    (void)options;
}

static void fish_end(FILE *out)
{
    (void)out;
}

static const shell shells[] = {
    {"bash", bash_begin, bash_command_begins, bash_option, bash_command_ends, bash_end},
    {"zsh", zsh_begin, zsh_command_begins, zsh_option, zsh_command_ends, zsh_end},
    {"fish", fish_begin, fish_command_begins, fish_option, fish_command_ends, fish_end},
};

static int put_command(const shell *s, const cli_command *command, FILE *out)
{
    cli_options options;
    const int code = cli_options_open(command, &options);
    if (code == CLI_DONE) {
        s->command_begins(out, command);
        for (size_t i = 0; i < options.table.count; i++) {
            if (!options.hidden[i]) s->option(out, command, &options.rows[i]);
        }
        s->command_ends(out, &options);
    }
    cli_options_close(&options);
    return code;
}

int cli_completion(const char *name, FILE *out)
{
    for (size_t k = 0; name != NULL && k < sizeof shells / sizeof shells[0]; k++) {
        const shell *s = &shells[k];
        int code = CLI_DONE;
        if (strcmp(s->name, name) != 0) continue;
        s->begin(out);
        for (size_t i = 0; cli_commands[i] != NULL && code == CLI_DONE; i++)
            code = put_command(s, cli_commands[i], out);
        s->end(out);
        return code;
    }
    return cli_usage(NULL, "--completion takes the name of a shell: bash, zsh or fish");
}
