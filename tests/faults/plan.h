/* Which calls fail, and how: as told on the command line, one word for each fault. */
#ifndef FAULTS_PLAN_H
#define FAULTS_PLAN_H

#include "calls.h"

typedef enum effect { NOTHING, FAIL, SHORTEN, STOP } effect;

/* What is asked about a call. */
typedef struct request {
    family family;
    const char *path; /* below the folder, steady */
    bool makes;       /* makes a file, or makes one larger */
    int64_t bytes;    /* of a read or write */
} request;

/* "FAMILY:PATH:FIRST:WHAT:TIMES": the call of that family (* all) to files of that name (as of fnmatch), counted from
 * 0 over those that can fail so, fails with WHAT = an errno's name, SHORT (less is moved) or STOP (kill -9 of the whole
 * program before the call). TIMES: so many in a row, * all that follow, %K every K-th. False: it isn't understood. */
bool plan_add(const char *word);

/* Goes through the plan. FAIL: *error is what the call returns. */
effect plan_ask(const request *call, int *error);

/* How often each file was met by each family: one line each. */
void census_count(const request *call);
bool census_write(const char *path);

#endif
