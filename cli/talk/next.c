#include "talk/next.h"

#include <stdio.h>
#include <string.h>

#include "credence/status.h"

bool cli_next_wanted(const cli_context *context)
{
    const cli_common *common = context->common;
    return !common->quiet && !common->json && strcmp(common->progress, "json") != 0;
}

void cli_next_begin(const char *words)
{
    printf("Next%s%s:\n", words != NULL ? ", " : "", words != NULL ? words : "");
}

void cli_next_command(const char *command)
{
    printf("  credence %s", command);
}

void cli_next_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+=@%-";
    putchar(' ');
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        fputs(word, stdout);
        return;
    }
    putchar('\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            fputs("'\\''", stdout);
        } else {
            putchar(*word);
        }
    }
    putchar('\'');
}

void cli_next_option(const char *name, const char *text)
{
    if (text == NULL || text[0] == '\0') return;
    printf(" --%s", name);
    cli_next_word(text);
}

void cli_next_output(const char *file)
{
    printf(" -o");
    cli_next_word(file);
}

void cli_next_end(void)
{
    putchar('\n');
}

bool cli_next_can_view(void)
{
    return strstr(crd_build_description(), "page in the browser (view): yes") != NULL;
}
