/* A program of the user's as a child process: its words go to it as they are, through no shell. */
#ifndef CRD_PROPAGATE_COMMAND_H
#define CRD_PROPAGATE_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/settings.h"

/* What stands for what in a command's words: "{}" or "{sample}", and the text in its place. */
typedef struct crd_placeholder {
    const char *name, *text;
} crd_placeholder;

/* The words with their placeholders replaced; ends in NULL. Free each and the list with crd_command_free. */
crd_status crd_command_fill(const crd_text_list *words, const crd_placeholder *placeholders, int count, char ***out);
void crd_command_free(char ***words);
/* Does a word hold the placeholder? */
bool crd_command_has(const crd_text_list *words, const char *placeholder);

typedef struct crd_command_run {
    char *const *words;
    const char *output, *errors; /* files that what it prints goes to */
    double timeout;              /* seconds; 0: any */
    const atomic_bool *stop;     /* ends it early */
} crd_command_run;

typedef enum crd_command_end {
    CRD_COMMAND_EXITED, /* with `code` */
    CRD_COMMAND_KILLED, /* by signal `code` */
    CRD_COMMAND_TIMED_OUT,
    CRD_COMMAND_STOPPED
} crd_command_end;

typedef struct crd_command_result {
    crd_command_end end;
    int code;
    double seconds;
} crd_command_result;

/* Waits for its end. Its processes are a group of their own, all of which end with it when time is up or `stop` is set:
 * they are asked first, and killed two seconds later. Fails where it can't be started. */
crd_status crd_command_wait(const crd_command_run *run, crd_command_result *out);

#endif
