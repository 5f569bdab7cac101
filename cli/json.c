#include "json.h"

#include <assert.h>
#include <inttypes.h>

#include "credence/number.h"

/* Every byte below a space, and the two that JSON's strings give a meaning. Everything else passes as it is: names of
 * files are UTF-8 nearly everywhere. */
static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        const unsigned char letter = (unsigned char)*text;
        if (letter == '"' || letter == '\\') {
            fprintf(out, "\\%c", letter);
        } else if (letter == '\n') {
            fputs("\\n", out);
        } else if (letter == '\t') {
            fputs("\\t", out);
        } else if (letter < ' ') {
            fprintf(out, "\\u%04x", letter);
        } else {
            fputc(letter, out);
        }
    }
    fputc('"', out);
}

static bool on_one_line(const cli_json *json)
{
    return json->one_line || (json->depth > 0 && json->levels[json->depth - 1].compact);
}

static void new_line(cli_json *json)
{
    fprintf(json->out, "\n%*s", 2 * (int)json->depth, "");
}

/* The comma, the place and the key of the next value. */
static void begin_value(cli_json *json, const char *key)
{
    if (json->depth > 0) {
        const bool filled = json->levels[json->depth - 1].filled;
        if (filled) fputc(',', json->out);
        if (!on_one_line(json)) {
            new_line(json);
        } else if (filled) {
            fputc(' ', json->out);
        }
        json->levels[json->depth - 1].filled = true;
    }
    if (key != NULL) {
        put_string(json->out, key);
        fputs(": ", json->out);
    }
}

void cli_json_open(cli_json *json, const char *key, char bracket)
{
    const bool compact = on_one_line(json) || (key != NULL && bracket == '[');
    assert(json->depth < CLI_JSON_DEPTH);
    begin_value(json, key);
    fputc(bracket, json->out);
    json->levels[json->depth++] = (cli_json_level){.closing = bracket == '{' ? '}' : ']', .compact = compact};
}

void cli_json_close(cli_json *json)
{
    assert(json->depth > 0);
    const cli_json_level level = json->levels[--json->depth];
    if (level.filled && !level.compact && !json->one_line) new_line(json);
    fputc(level.closing, json->out);
    if (json->depth == 0) fputc('\n', json->out);
}

void cli_json_text(cli_json *json, const char *key, const char *value)
{
    begin_value(json, key);
    if (value != NULL) {
        put_string(json->out, value);
    } else {
        fputs("null", json->out);
    }
}

void cli_json_int(cli_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void cli_json_real(cli_json *json, const char *key, double value)
{
    char text[CRD_NUMBER_BYTES];
    begin_value(json, key);
    fputs(crd_format_real(value, text), json->out);
}

void cli_json_raw(cli_json *json, const char *key, const char *text)
{
    begin_value(json, key);
    fputs(text != NULL ? text : "null", json->out);
}

void cli_json_ints(cli_json *json, const char *key, const int64_t *values, int64_t count)
{
    cli_json_open(json, key, '[');
    for (int64_t i = 0; i < count; i++) cli_json_int(json, NULL, values[i]);
    cli_json_close(json);
}

void cli_json_reals(cli_json *json, const char *key, const double *values, int64_t count)
{
    cli_json_open(json, key, '[');
    for (int64_t i = 0; i < count; i++) cli_json_real(json, NULL, values[i]);
    cli_json_close(json);
}
