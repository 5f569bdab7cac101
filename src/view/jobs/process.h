/* A program that outlives the server: started in a process group of its own, with files for what it says, and known by
 * its number together with the time at which the kernel says it began. */
#ifndef CRD_VIEW_PROCESS_H
#define CRD_VIEW_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { CRD_BOOT_BYTES = 40 };

typedef struct crd_process {
    int64_t number;            /* 0: none */
    int64_t began;             /* in the kernel's ticks, of this start of the machine: */
    char boot[CRD_BOOT_BYTES]; /* "" where the kernel doesn't say */
} crd_process;

/* `words` end in NULL, words[0] is the program's file. Standard output replaces the file `result`, standard error is
 * added to `log`; input is empty. It runs at low priority, which its own children share. */
crd_status crd_process_start(char *const *words, const char *result, const char *log, crd_process *out);
/* Is that very process still there? Asked by whoever started it, this also lets a process that has ended go. */
bool crd_process_runs(const crd_process *process);
/* To the whole group. One that isn't there any more is fine. */
void crd_process_signal(const crd_process *process, int number);

/* Runs it to its end, `seconds` at most, and gives back what it printed, *out, to be freed with crd_free. Where it
 * fails the error is what it said; CRD_ERR_BUSY: it took longer. */
crd_status crd_process_ask(char *const *words, double seconds, char **out);

/* The file of the program that runs, if that is credence itself; free with crd_free. */
crd_status crd_process_program(char **out);

#endif
