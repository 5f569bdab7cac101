/* JSON on standard output, written as it comes: commas, indentation, escapes and exact numbers are taken care of.
 *
 *     cli_json json = {.out = stdout};
 *     cli_json_open(&json, NULL, '{');
 *     cli_json_text(&json, "path", "scan.tif");
 *     cli_json_open(&json, "shape", '[');
 *     cli_json_int(&json, NULL, 64);
 *     cli_json_close(&json);
 *     cli_json_close(&json);                  // ends the line after the outermost one
 *
 * `key` is NULL inside an array and at the outermost level. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CLI_JSON_DEPTH = 16 };

typedef struct cli_json_level {
    char closing;
    bool filled;  /* something stands in it already */
    bool compact; /* it, or one around it, is the array of a key: all on one line */
} cli_json_level;

typedef struct cli_json {
    FILE *out;
    bool one_line; /* all of it */
    unsigned depth;
    cli_json_level levels[CLI_JSON_DEPTH];
} cli_json;

void cli_json_open(cli_json *json, const char *key, char bracket);
void cli_json_close(cli_json *json);
void cli_json_text(cli_json *json, const char *key, const char *value); /* NULL gives null */
void cli_json_int(cli_json *json, const char *key, int64_t value);
void cli_json_real(cli_json *json, const char *key, double value);    /* NaN and infinities give null */
void cli_json_raw(cli_json *json, const char *key, const char *text); /* JSON as it is; NULL gives null */
void cli_json_ints(cli_json *json, const char *key, const int64_t *values, int64_t count);
void cli_json_reals(cli_json *json, const char *key, const double *values, int64_t count);

#endif
