#include <string.h>

#include "credence/status.h"
#include "help.h"

enum { SENTENCE = 1024 };

/* Text in troff: backslashes and dashes escaped, no line that starts with a control character. */
static void put_text(FILE *out, const char *text, size_t length)
{
    bool line_start = true;
    for (size_t i = 0; i < length; i++) {
        const char letter = text[i];
        if (line_start && (letter == '.' || letter == '\'')) fputs("\\&", out);
        if (letter == '\\') {
            fputs("\\e", out);
        } else if (letter == '-') {
            fputs("\\-", out);
        } else {
            fputc(letter, out);
        }
        line_start = letter == '\n';
    }
}

static void put_line(FILE *out, const char *text)
{
    put_text(out, text, strlen(text));
    fputc('\n', out);
}

/* The title of .TH in capitals: "CREDENCE-TRAIN". */
static void put_title(FILE *out, const char *command)
{
    fputs(".TH CREDENCE", out);
    if (command != NULL) fputs("\\-", out);
    for (const char *at = command != NULL ? command : ""; *at != '\0'; at++) {
        fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, out);
    }
    fprintf(out, " 1 \"\" \"credence %s\" \"User commands\"\n", crd_version());
}

static void put_options(FILE *out, const cli_options *options)
{
    const char *group = "";
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < options->table.count; i++) {
        if (options->hidden[i]) continue;
        const char *here = cli_option_group(options, i);
        if (strcmp(here, group) != 0) {
            fputs(".SS ", out);
            put_line(out, here);
        }
        group = here;
        char words[256], sentence[SENTENCE];
        cli_option_words(&options->rows[i], words, sizeof words);
        cli_option_sentence(&options->rows[i], sentence, sizeof sentence);
        fputs(".TP\n.B ", out);
        put_line(out, words + strspn(words, " "));
        put_line(out, sentence);
    }
}

static void put_paragraphs(FILE *out, const char *text)
{
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, "\n");
        fputs(".PP\n", out);
        put_text(out, text, length);
        fputc('\n', out);
        text += length + (text[length] == '\n');
    }
}

static void put_end(FILE *out, const char *command)
{
    fputs(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n", out);
    fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours, also on a terminal\n", out);
    fputs(".SH SEE ALSO\n", out);
    bool first = true;
    if (command != NULL) {
        fputs(".BR credence (1)", out);
        first = false;
    }
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (command != NULL && strcmp(cli_commands[i]->name, command) == 0) continue;
        fputs(first ? "" : ",\n", out);
        fprintf(out, ".BR credence\\-%s (1)", cli_commands[i]->name);
        first = false;
    }
    fputc('\n', out);
}

static int put_command(const cli_command *command, FILE *out)
{
    cli_options options;
    const int code = cli_options_open(command, &options);
    if (code == CLI_DONE) {
        put_title(out, command->name);
        fprintf(out, ".SH NAME\ncredence\\-%s \\- ", command->name);
        put_line(out, command->summary);
        fprintf(out, ".SH SYNOPSIS\n.B credence %s\n[options]", command->name);
        if (command->arguments != NULL) {
            fputc(' ', out);
            put_text(out, command->arguments, strlen(command->arguments));
        }
        fputc('\n', out);
        if (command->details != NULL) {
            fputs(".SH DESCRIPTION\n", out);
            put_paragraphs(out, command->details);
        }
        put_options(out, &options);
        if (command->examples != NULL) {
            fputs(".SH EXAMPLES\n.nf\n", out);
            put_line(out, command->examples);
            fputs(".fi\n", out);
        }
        put_end(out, command->name);
    }
    cli_options_close(&options);
    return code;
}

static int put_program(FILE *out)
{
    put_title(out, NULL);
    fputs(".SH NAME\ncredence \\- ", out);
    put_line(out, CLI_DESCRIPTION);
    fputs(".SH SYNOPSIS\n.B credence\nCOMMAND [options] [arguments]\n.br\n.B credence\nhelp COMMAND\n.br\n.B credence\n"
          "\\-\\-version\n",
          out);
    fputs(".SH DESCRIPTION\nEach command has a manual page of its own. Axes are z, y, x everywhere. Results go to "
          "standard output, talk to standard error; bars and colours appear on a terminal only.\n",
          out);
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        fprintf(out, ".TP\n.BR credence\\-%s (1)\n", cli_commands[i]->name);
        put_line(out, cli_commands[i]->summary);
    }
    put_end(out, NULL);
    return CLI_DONE;
}

int cli_man_page(const cli_command *command, FILE *out)
{
    return command != NULL ? put_command(command, out) : put_program(out);
}
