/* Any text as a config file: refused with a sentence, or taken and then written and read again without a change. */
#include <stdlib.h>
#include <string.h>

#include "credence/settings.h"

typedef struct options {
    bool flag;
    int64_t whole;
    double real;
    char *text, *choice;
    crd_text_list list;
    int64_t triple[3];
    crd_real_list reals;
    crd_pair_list pairs;
} options;

#define AT(field) offsetof(options, field)
static const crd_setting rows[] = {
    {.name = "flag", .kind = CRD_SETTING_FLAG, .offset = AT(flag)},
    {.name = "whole-number", .kind = CRD_SETTING_INT, .offset = AT(whole), .initial = "3"},
    {.name = "real", .kind = CRD_SETTING_REAL, .offset = AT(real), .initial = "0.5", .low = -1e300, .high = 1e300},
    {.name = "text", .kind = CRD_SETTING_TEXT, .offset = AT(text)},
    {.name = "choice", .kind = CRD_SETTING_CHOICE, .offset = AT(choice), .initial = "a", .choices = "a|bc|def"},
    {.name = "list", .kind = CRD_SETTING_LIST, .offset = AT(list)},
    {.name = "triple", .kind = CRD_SETTING_TRIPLE, .offset = AT(triple), .choices = "auto"},
    {.name = "pairs", .kind = CRD_SETTING_PAIRS, .offset = AT(pairs), .initial = "1-2", .low = 0, .high = 1e9},
    {.name = "reals", .kind = CRD_SETTING_REALS, .offset = AT(reals), .initial = "1,2"},
};
static const crd_setting_alias aliases[] = {{.key = "other", .name = "whole-number", .add = -1}, {.key = "unused"}};
static const crd_settings table = {
    .title = "fuzz", .rows = rows, .count = sizeof rows / sizeof rows[0], .aliases = aliases, .alias_count = 2};

static void must(int good)
{
    if (!good) abort();
}

static void read_again(const char *json)
{
    options again;
    char *second = NULL;
    must(crd_settings_default(&table, &again) == CRD_OK);
    must(crd_settings_from_json(&table, &again, json, "again", NULL) == CRD_OK);
    must(crd_settings_to_json(&table, &again, CRD_SCOPE_PROCESS, &second) == CRD_OK);
    must(strcmp(json, second) == 0);
    crd_settings_free_text(&second);
    crd_settings_clear(&table, &again);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    options read;
    char *json = NULL, *text = malloc(size + 1);
    if (text == NULL) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    must(crd_settings_default(&table, &read) == CRD_OK);
    if (crd_settings_from_json(&table, &read, text, "input", NULL) == CRD_OK) {
        must(crd_settings_to_json(&table, &read, CRD_SCOPE_PROCESS, &json) == CRD_OK);
        read_again(json);
        crd_settings_free_text(&json);
    }
    crd_settings_clear(&table, &read);
    free(text);
    return 0;
}
