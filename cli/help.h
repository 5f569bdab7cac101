/* Help, man pages and what shells complete, all made from the tables of the commands. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"

int cli_help_program(FILE *out);
int cli_help_command(const cli_command *command, FILE *out);
/* A man page in troff; NULL: that of the program. */
int cli_man_page(const cli_command *command, FILE *out);

/* The script with which "bash", "zsh" or "fish" completes command lines. */
int cli_completion(const char *shell, FILE *out);

/* Shared by help and man pages: "-o, --output FILE", and the sentence with default and the like. */
void cli_option_words(const crd_setting *row, char *text, size_t bytes);
void cli_option_sentence(const crd_setting *row, char *text, size_t bytes);
/* The heading a row stands under. */
const char *cli_option_group(const cli_options *options, size_t index);

#define CLI_DESCRIPTION "segments 3D CT scans and says where the segmentation can't be trusted"

#endif
