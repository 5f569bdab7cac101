#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credence/predict.h"
#include "talk/progress.h"

#define AT(field) offsetof(cli_common, field)

typedef struct common_row {
    crd_setting row;
    unsigned shown_with; /* CLI_USES_... any of which makes help show it; 0: always shown */
    bool needs;          /* refused, not only hidden, without them */
} common_row;

static const common_row common_rows[] = {
    {.row = {.name = "device",
             .kind = CRD_SETTING_TEXT,
             .scope = CRD_SCOPE_MACHINE,
             .offset = AT(device),
             .check = cli_check_as_predict,
             .initial = "auto",
             .argument = "auto|cpu|cuda[:N]",
             .help = "where the network runs; cuda:0,1 or cuda:all: several GPUs share the chunks of a prediction, or "
                     "the examples of a mini-batch",
             .group = "Common options"},
     .shown_with = CLI_USES_NETWORK},
    {.row = {.name = "precision",
             .kind = CRD_SETTING_CHOICE,
             .scope = CRD_SCOPE_MACHINE,
             .offset = AT(precision),
             .initial = "auto",
             .choices = "auto|f32|bf16|fp16",
             .help = "arithmetic of the network; auto: what suits the device",
             .group = "Common options"},
     .shown_with = CLI_USES_NETWORK,
     .needs = true},
    {.row = {.name = "isa",
             .kind = CRD_SETTING_CHOICE,
             .scope = CRD_SCOPE_MACHINE,
             .offset = AT(isa),
             .initial = "auto",
             .choices = "auto|portable|avx2|avx512|sm80|sm90",
             .argument = "NAME",
             .help =
                 "instruction path: portable, avx2 or avx512 on the CPU, sm80 or sm90 on a GPU; the same path gives "
                 "the same bytes on any machine",
             .group = "Common options"},
     .shown_with = CLI_USES_NETWORK,
     .needs = true},
    {.row = {.name = "threads",
             .kind = CRD_SETTING_INT,
             .scope = CRD_SCOPE_PROCESS,
             .offset = AT(threads),
             .initial = "0",
             .low = 0,
             .high = 4096,
             .argument = "N",
             .help = "threads on the CPU; 0: one per core that this process may use. The result "
                     "doesn't depend on it",
             .group = "Common options"},
     .shown_with = CLI_USES_NETWORK | CLI_USES_THREADS},
    {.row = {.name = "seed",
             .kind = CRD_SETTING_INT,
             .offset = AT(seed),
             .initial = "0",
             .low = 0,
             .high = 9007199254740991.0,
             .argument = "N",
             .help = "start of all random numbers, below 2^53: the same seed gives the same result (phantom, train: 1)",
             .group = "Common options"},
     .shown_with = CLI_USES_SEED},
    {.row = {.name = "json",
             .kind = CRD_SETTING_FLAG,
             .scope = CRD_SCOPE_PLACE,
             .offset = AT(json),
             .help = "print the result as JSON on standard output",
             .group = "Common options"},
     .shown_with = CLI_USES_JSON},
    {.row = {.name = "quiet",
             .kind = CRD_SETTING_FLAG,
             .scope = CRD_SCOPE_PLACE,
             .offset = AT(quiet),
             .short_name = 'q',
             .help = "say nothing but warnings and errors",
             .group = "Common options"}},
    {.row = {.name = "progress",
             .kind = CRD_SETTING_CHOICE,
             .scope = CRD_SCOPE_PLACE,
             .offset = AT(progress),
             .initial = "text",
             .choices = "text|json",
             .help = "json: messages and progress as one JSON object a line on standard error, for another program",
             .group = "Common options"}},
    {.row = {.name = "config",
             .kind = CRD_SETTING_TEXT,
             .scope = CRD_SCOPE_PLACE,
             .offset = AT(config),
             .argument = "FILE.json",
             .help = "options from a JSON object that takes their names as keys; flags win over it",
             .group = "Common options"}},
    {.row = {.name = "trust",
             .kind = CRD_SETTING_FLAG,
             .scope = CRD_SCOPE_PROCESS,
             .offset = AT(trust),
             .help = "read HDF5 files without a process of their own, whose crash on a broken file harms nothing",
             .group = "Common options"},
     .shown_with = CLI_USES_FILES},
    {.row = {.name = "help",
             .kind = CRD_SETTING_FLAG,
             .scope = CRD_SCOPE_PLACE,
             .offset = AT(help),
             .short_name = 'h',
             .help = "show this help",
             .group = "Common options"}},
};
enum {
    COMMON_COUNT = sizeof common_rows / sizeof common_rows[0],
    /* The command's struct follows the common one; 16 bytes suit every member it can have. */
    OWN_OFFSET = (sizeof(cli_common) + 15) / 16 * 16,
    CONFIG_LIMIT = 16 << 20
};

crd_status cli_check_as_predict(const char *name, const char *text)
{
    return crd_settings_find(&crd_predict_settings, name)->check(name, text);
}

static int out_of_memory(void)
{
    return cli_fail("not enough memory to start");
}

static void build_rows(cli_options *options)
{
    const cli_command *command = options->command;
    size_t count = 0;
    for (size_t i = 0; command->settings != NULL && i < command->settings->count; i++) {
        options->rows[count] = command->settings->rows[i];
        options->rows[count].offset += OWN_OFFSET;
        if (options->rows[count].mark != 0) options->rows[count].mark += OWN_OFFSET;
        count++;
    }
    options->own = count;
    for (size_t i = 0; i < COMMON_COUNT; i++) {
        const common_row *common = &common_rows[i];
        const bool wanted = common->shown_with == 0 || (common->shown_with & command->uses) != 0;
        const bool replaced =
            command->settings != NULL && crd_settings_find(command->settings, common->row.name) != NULL;
        if (replaced || (common->needs && !wanted)) continue;
        options->hidden[count] = !wanted;
        options->rows[count++] = common->row;
    }
    options->table = (crd_settings){.title = command->name, .rows = options->rows, .count = count};
    if (command->settings != NULL) {
        options->table.aliases = command->settings->aliases;
        options->table.alias_count = command->settings->alias_count;
    }
}

/* Structs of the library begin with their size. */
static bool sized(const cli_command *command)
{
    return command->settings != NULL && command->settings->size > 0;
}

/* A library that is newer than the program may have options that it didn't know. */
static size_t own_bytes(const cli_command *command)
{
    const bool larger = sized(command) && command->settings->size > command->options_size;
    return larger ? command->settings->size : command->options_size;
}

int cli_options_open(const cli_command *command, cli_options *options)
{
    const size_t own = command->settings != NULL ? command->settings->count : 0;
    memset(options, 0, sizeof *options);
    options->command = command;
    options->rows = calloc(own + COMMON_COUNT, sizeof *options->rows);
    options->given = calloc(own + COMMON_COUNT, sizeof *options->given);
    options->hidden = calloc(own + COMMON_COUNT, sizeof *options->hidden);
    const size_t block = own_bytes(command);
    options->block = calloc(1, OWN_OFFSET + block);
    if (options->rows == NULL || options->given == NULL || options->hidden == NULL || options->block == NULL) {
        return out_of_memory();
    }
    options->common = options->block;
    options->own_options = (char *)options->block + OWN_OFFSET;
    build_rows(options);
    if (crd_settings_begin(&options->table, options->block, OWN_OFFSET + block) != CRD_OK) return cli_library_failed();
    if (sized(command)) *(size_t *)options->own_options = block;
    return CLI_DONE;
}

void cli_options_close(cli_options *options)
{
    if (options->block != NULL && options->table.rows != NULL) crd_settings_clear(&options->table, options->block);
    free(options->rows);
    free(options->given);
    free(options->hidden);
    free(options->block);
    free(options->arguments);
    memset(options, 0, sizeof *options);
}

static int unknown_option(const cli_options *options, const char *word)
{
    const char *names[512];
    size_t count = 0;
    for (size_t i = 0; i < options->table.count && count < sizeof names / sizeof names[0]; i++) {
        if (!options->hidden[i]) names[count++] = options->rows[i].name;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *nearest = word[1] == '-' ? crd_nearest_name(name, names, count) : NULL;
    if (nearest == NULL) return cli_usage(options->command, "%s has no option %s", options->command->name, word);
    return cli_usage(options->command, "%s has no option --%s; did you mean --%s?", options->command->name, name,
                     nearest);
}

static const crd_setting *find_long(const cli_options *options, const char *name, size_t length)
{
    for (size_t i = 0; i < options->table.count; i++) {
        const char *row = options->rows[i].name;
        if (strlen(row) == length && memcmp(row, name, length) == 0) return &options->rows[i];
    }
    return NULL;
}

static const crd_setting *find_short(const cli_options *options, char letter)
{
    for (size_t i = 0; i < options->table.count; i++) {
        if (options->rows[i].short_name == letter) return &options->rows[i];
    }
    return NULL;
}

/* Whether a word that follows an option is itself one, so that the option's value was forgotten. */
static bool is_option(const cli_options *options, const char *word)
{
    return strncmp(word, "--", 2) == 0 && find_long(options, word + 2, strcspn(word + 2, "=")) != NULL;
}

static int set_option(cli_options *options, const crd_setting *row, const char *value)
{
    /* A sentence about a value begins with the setting's name: with the dashes before it, it is about the flag. */
    if (crd_settings_set(&options->table, options->block, row->name, value) != CRD_OK) {
        return cli_usage(options->command, "--%s", crd_last_error()->message);
    }
    /* A later word may correct an earlier one; but of two files one isn't left out without a word. */
    if ((row->kind == CRD_SETTING_TEXT || row->kind == CRD_SETTING_PAIRS) && options->given[row - options->rows]) {
        char text[512];
        snprintf(text, sizeof text, "--%s is given twice: %s counts", row->name, value);
        cli_progress_line(CLI_WARNING, text);
    }
    options->given[row - options->rows] = true;
    return CLI_DONE;
}

/* Of a command that takes no words of its own, those behind an option that is repeatable are more of it: --scan a.tif
 * b.tif. */
static int set_more(cli_options *options, const crd_setting *row, int count, char **words, int *at)
{
    int code = CLI_DONE;
    if (row->kind != CRD_SETTING_LIST || options->command->most != 0) return CLI_DONE;
    while (code == CLI_DONE && *at + 1 < count && words[*at + 1][0] != '-') {
        code = set_option(options, row, words[++*at]);
    }
    return code;
}

static bool is_for_arguments(const cli_options *options, const crd_setting *row)
{
    const char *name = options->command->arguments_of;
    return name != NULL && strcmp(row->name, name) == 0;
}

/* Where arguments are values of an option, the first of them is the option's, and the others remain. */
static int take_first(cli_options *options)
{
    const char *name = options->command->arguments_of;
    if (name == NULL || options->argument_count == 0) return CLI_DONE;
    const int code = set_option(options, find_long(options, name, strlen(name)), options->arguments[0]);
    options->argument_count--;
    memmove(options->arguments, options->arguments + 1, (size_t)options->argument_count * sizeof *options->arguments);
    return code;
}

/* Reads the option at words[*at], and its value from the same word or the next. */
static int parse_option(cli_options *options, int count, char **words, int *at)
{
    const char *word = words[*at], *value = NULL;
    const crd_setting *row = NULL;
    if (word[1] == '-') {
        const size_t length = strcspn(word + 2, "=");
        row = find_long(options, word + 2, length);
        if (word[2 + length] == '=') value = word + 2 + length + 1;
    } else {
        row = find_short(options, word[1]);
        if (row != NULL && row->kind == CRD_SETTING_FLAG && word[2] != '\0') row = NULL;
        if (row != NULL && word[2] != '\0') value = word + 2;
    }
    if (row == NULL) return unknown_option(options, word);
    if (value == NULL && row->kind != CRD_SETTING_FLAG) {
        if (*at + 1 >= count || is_option(options, words[*at + 1])) {
            return cli_usage(options->command, "--%s needs a value", row->name);
        }
        value = words[++*at];
    }
    if (is_for_arguments(options, row)) {
        options->arguments[options->argument_count++] = value;
        return CLI_DONE;
    }
    const int code = set_option(options, row, value);
    return code == CLI_DONE ? set_more(options, row, count, words, at) : code;
}

static int parse_words(cli_options *options, int count, char **words)
{
    bool only_arguments = false;
    options->arguments = calloc((size_t)count + 1, sizeof *options->arguments);
    if (options->arguments == NULL) return out_of_memory();
    for (int i = 0; i < count; i++) {
        if (only_arguments || words[i][0] != '-' || words[i][1] == '\0') {
            options->arguments[options->argument_count++] = words[i];
        } else if (strcmp(words[i], "--") == 0) {
            only_arguments = true;
        } else {
            const int code = parse_option(options, count, words, &i);
            if (code != CLI_DONE) return code;
        }
    }
    return take_first(options);
}

static int read_config(const char *path, char **out)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return cli_fail("can't open %s: %s", path, strerror(errno));
    char *text = malloc(CONFIG_LIMIT + 1);
    if (text == NULL) {
        (void)fclose(file);
        return out_of_memory();
    }
    const size_t bytes = fread(text, 1, CONFIG_LIMIT, file);
    const bool bad = ferror(file) != 0, too_large = bytes == CONFIG_LIMIT;
    const int cause = errno;
    (void)fclose(file);
    if (bad || too_large) {
        free(text);
        if (bad) return cli_fail("can't read %s: %s", path, strerror(cause));
        return cli_fail("%s is too large to be a config file", path);
    }
    text[bytes] = '\0';
    *out = text;
    return CLI_DONE;
}

static int apply_config(cli_options *options)
{
    char *text = NULL;
    const char *path = options->common->config;
    const int code = read_config(path, &text);
    if (code != CLI_DONE) return code;
    /* A file can't name another file, or ask for help. */
    options->given[find_long(options, "config", 6) - options->rows] = true;
    options->given[find_long(options, "help", 4) - options->rows] = true;
    const crd_status status = crd_settings_from_json(&options->table, options->block, text, path, options->given);
    free(text);
    return status == CRD_OK ? CLI_DONE : cli_usage(options->command, "%s", crd_last_error()->message);
}

static int check_arguments(const cli_options *options)
{
    const cli_command *command = options->command;
    const int count = options->argument_count;
    if (count < command->least) {
        return cli_usage(command, "%s needs %s%s", command->name, command->arguments,
                         count > 0 ? "; some are missing" : "");
    }
    if (command->most >= 0 && count > command->most) {
        return cli_usage(command, "%s can't use '%s': it takes %s%s", command->name, options->arguments[command->most],
                         command->most > 0 ? "only " : "", command->most > 0 ? command->arguments : "options only");
    }
    return CLI_DONE;
}

int cli_options_parse(cli_options *options, int count, char **words)
{
    int code = parse_words(options, count, words);
    if (code != CLI_DONE || options->common->help) return code;
    if (options->common->config != NULL) code = apply_config(options);
    return code == CLI_DONE ? check_arguments(options) : code;
}
