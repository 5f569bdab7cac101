#include "help.h"

#include <string.h>

#include "credence/status.h"
#include "talk/wrap.h"

enum { WIDTH = 80, TEXT_COLUMN = 28, SENTENCE = 1024 };

static const char *argument_name(const crd_setting *row)
{
    if (row->argument != NULL) return row->argument;
    switch (row->kind) {
    case CRD_SETTING_FLAG:
        return NULL;
    case CRD_SETTING_INT:
        return "N";
    case CRD_SETTING_REAL:
        return "X";
    case CRD_SETTING_CHOICE:
        return row->choices;
    case CRD_SETTING_TRIPLE:
        return "z,y,x";
    case CRD_SETTING_REALS:
        return "X,X,...";
    case CRD_SETTING_PAIRS:
        return "A-B,...";
    case CRD_SETTING_TEXT:
    case CRD_SETTING_LIST:
        return "TEXT";
    }
    return NULL;
}

void cli_option_words(const crd_setting *row, char *text, size_t bytes)
{
    const char *argument = argument_name(row);
    char lead[8] = "    ";
    if (row->short_name != 0) snprintf(lead, sizeof lead, "-%c, ", row->short_name);
    snprintf(text, bytes, "%s--%s%s%s", lead, row->name, argument != NULL ? " " : "", argument != NULL ? argument : "");
}

void cli_option_sentence(const crd_setting *row, char *text, size_t bytes)
{
    const char *usual = row->usual != NULL ? row->usual : row->initial;
    const bool has_default = usual != NULL && usual[0] != '\0' && row->kind != CRD_SETTING_FLAG;
    snprintf(text, bytes, "%s%s%s%s%s", row->help != NULL ? row->help : "",
             row->kind == CRD_SETTING_LIST ? " (repeatable)" : "", has_default ? " [default: " : "",
             has_default ? usual : "", has_default ? "]" : "");
}

const char *cli_option_group(const cli_options *options, size_t index)
{
    for (size_t i = index + 1; i-- > 0;) {
        if (options->rows[i].group != NULL) return options->rows[i].group;
        if (i == options->own) break;
    }
    return "Options";
}

static void print_paragraphs(FILE *out, const char *text)
{
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, "\n");
        fputc('\n', out);
        cli_wrap(out, text, length, WIDTH, 0, 0);
        text += length + (text[length] == '\n');
    }
}

static void print_lines(FILE *out, const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        fprintf(out, "  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void print_option(FILE *out, const crd_setting *row)
{
    char words[256], sentence[SENTENCE];
    cli_option_words(row, words, sizeof words);
    cli_option_sentence(row, sentence, sizeof sentence);
    const int used = fprintf(out, "  %s", words);
    if (used < 0) return;
    if (used + 2 > TEXT_COLUMN) {
        fprintf(out, "\n%*s", TEXT_COLUMN, "");
    } else {
        fprintf(out, "%*s", TEXT_COLUMN - used, "");
    }
    cli_wrap(out, sentence, strlen(sentence), WIDTH, TEXT_COLUMN, TEXT_COLUMN);
}

static void print_options(FILE *out, const cli_options *options)
{
    const char *group = "";
    for (size_t i = 0; i < options->table.count; i++) {
        if (options->hidden[i]) continue;
        const char *here = cli_option_group(options, i);
        if (strcmp(here, group) != 0) fprintf(out, "\n%s:\n", here);
        group = here;
        print_option(out, &options->rows[i]);
    }
}

/* "credence NAME - what it does" */
static void print_title(FILE *out, const char *name, const char *words)
{
    const int column = fprintf(out, "credence %s - ", name);
    cli_wrap(out, words, strlen(words), WIDTH, 2, column > 0 ? (size_t)column : 0);
    fputc('\n', out);
}

int cli_help_command(const cli_command *command, FILE *out)
{
    cli_options options;
    int code = cli_options_open(command, &options);
    if (code == CLI_DONE) {
        print_title(out, command->name, command->summary);
        fprintf(out, "Usage: credence %s [options]%s%s\n", command->name, command->arguments != NULL ? " " : "",
                command->arguments != NULL ? command->arguments : "");
        print_paragraphs(out, command->details);
        print_options(out, &options);
        if (command->examples != NULL) {
            fprintf(out, "\nExamples:\n");
            print_lines(out, command->examples);
        }
    }
    cli_options_close(&options);
    return code;
}

/* The first example of each command, in the order in which a user takes them. */
static void print_first_examples(FILE *out)
{
    fprintf(out, "\nExamples:\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const char *line = cli_commands[i]->examples;
        while (line != NULL && line[0] == '#') line += strcspn(line, "\n") + 1;
        if (line != NULL) fprintf(out, "  %.*s\n", (int)strcspn(line, "\n"), line);
    }
}

int cli_help_program(FILE *out)
{
    static const cli_command any = {.name = "COMMAND",
                                    .uses = CLI_USES_NETWORK | CLI_USES_THREADS | CLI_USES_SEED | CLI_USES_JSON};
    cli_options options;
    const int code = cli_options_open(&any, &options);
    if (code == CLI_DONE) {
        print_title(out, crd_version(), CLI_DESCRIPTION);
        fprintf(out, "Usage: credence COMMAND [options] [arguments]\n");
        fprintf(out, "       credence help COMMAND\n       credence --version\n\nCommands:\n");
        for (size_t i = 0; cli_commands[i] != NULL; i++) {
            fprintf(out, "  %-10s", cli_commands[i]->name);
            cli_wrap(out, cli_commands[i]->summary, strlen(cli_commands[i]->summary), WIDTH, 12, 12);
        }
        print_paragraphs(out,
                         "'credence COMMAND --help' shows all options of a command, with examples. Axes are z, y, "
                         "x everywhere. Results go to standard output, talk to standard error. Exit codes: 0 done, "
                         "1 failed, 2 wrong usage.");
        print_options(out, &options);
        print_first_examples(out);
    }
    cli_options_close(&options);
    return code;
}
