/* What to type next, below a result. */
#ifndef CLI_NEXT_H
#define CLI_NEXT_H

#include "command.h"

/* Only people want to know: not with --quiet, --json or --progress json. Where this is false nothing of the rest is to
 * be called. */
bool cli_next_wanted(const cli_context *context);
/* `words` says what the commands are for; NULL: that is plain. */
void cli_next_begin(const char *words);
/* One command, word by word; a name is put into quotes where a shell would take it apart. */
void cli_next_command(const char *command);
void cli_next_word(const char *word);
/* "--name TEXT"; nothing where the text is NULL or empty. */
void cli_next_option(const char *name, const char *text);
/* "-o FILE" */
void cli_next_output(const char *file);
void cli_next_end(void);

/* Whether this build has the viewer's server. */
bool cli_next_can_view(void);

#endif
