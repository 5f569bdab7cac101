/* Options of programs that were built with older headers: shorter structs that end anywhere. */
#include <stddef.h>

#include "base/memory.h"
#include "base/settings/whole.h"
#include "credence/credence.h"
#include "harness.h"
#include "volume_tools.h"

typedef struct then { /* version 1 of the options below */
    size_t size;
    int64_t count;
    char *name;
} then;

typedef struct now {
    size_t size;
    int64_t count;
    char *name;
    double share;
    char *colour;
    crd_text_list files;
    bool careful, share_given;
} now;

#define AT(FIELD) .offset = offsetof(now, FIELD)
static const crd_setting rows[] = {
    {.name = "count", .kind = CRD_SETTING_INT, AT(count), .initial = "3"},
    {.name = "name", .kind = CRD_SETTING_TEXT, AT(name), .initial = "Anna"},
    {.name = "share", .kind = CRD_SETTING_REAL, AT(share), .initial = "0.25", .mark = offsetof(now, share_given)},
    {.name = "colour", .kind = CRD_SETTING_CHOICE, AT(colour), .initial = "red", .choices = "red|blue"},
    {.name = "files", .kind = CRD_SETTING_LIST, AT(files)},
    {.name = "careful", .kind = CRD_SETTING_FLAG, AT(careful)},
};
static const crd_settings table = {
    .title = "try", .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(now)};

static void test_shorter(void)
{
    now whole;
    char *json = NULL;
    struct {
        then options;
        unsigned char beyond[sizeof(now)]; /* nobody may write there */
    } old;
    memset(&old, 0xa5, sizeof old);
    CHECK_OK(crd_settings_default(&table, &old.options));
    CHECK(old.options.size == sizeof(then) && old.options.count == 3 && strcmp(old.options.name, "Anna") == 0);
    CHECK_OK(crd_settings_set(&table, &old.options, "name", "Berta"));
    CHECK_FAILS(crd_settings_set(&table, &old.options, "colour", "blue"), CRD_ERR_UNSUPPORTED, "build it again");
    CHECK_FAILS(crd_settings_from_json(&table, &old.options, "{\"share\": 0.5}", "a.json", NULL), CRD_ERR_UNSUPPORTED,
                "share");
    CHECK_OK(crd_settings_from_json(&table, &old.options, "{\"count\": 7}", "a.json", NULL));
    CHECK_OK(crd_settings_to_json(&table, &old.options, CRD_SCOPE_PROCESS, &json));
    CHECK(strstr(json, "\"count\":") != NULL && strstr(json, "Berta") != NULL && strstr(json, "share") == NULL);
    crd_settings_free_text(&json);
    CHECK_OK(crd_settings_whole(&table, &old.options, &whole));
    CHECK(whole.size == sizeof(now) && whole.count == 7 && whole.name == old.options.name);
    CHECK(whole.share == 0.25 && strcmp(whole.colour, "red") == 0 && whole.files.count == 0 && !whole.careful);
    crd_settings_whole_free(&table, &old.options, &whole);
    crd_settings_clear(&table, &old.options);
    for (size_t i = 0; i < sizeof old.beyond; i++) CHECK(old.beyond[i] == 0xa5);
}

static void test_refused(void)
{
    struct {
        now options;
        double future;
    } newer;
    now whole, unfilled = {.count = 1};
    CHECK_FAILS(crd_settings_begin(&table, &newer, sizeof newer), CRD_ERR_UNSUPPORTED, "newer credence");
    CHECK_FAILS(crd_settings_begin(&table, &newer, 3), CRD_ERR_ARGUMENT, "try");
    CHECK_FAILS(crd_settings_whole(&table, &unfilled, &whole), CRD_ERR_ARGUMENT, "crd_settings_default");
    crd_settings_clear(&table, &unfilled); /* nothing is there */
    CHECK(unfilled.count == 1);
}

/* Every struct of the library, cut behind each of its rows: functions take it, and get as far as they do with the
 * whole one. */
static crd_status predict(const void *options)
{
    return crd_predict(options, NULL, NULL);
}
static crd_status train(const void *options)
{
    return crd_train(options, NULL, NULL);
}
static crd_status measure(const void *options)
{
    return crd_measure(options, NULL, NULL);
}
static crd_status validate(const void *options)
{
    return crd_validate(options, NULL, NULL);
}
static crd_status report(const void *options)
{
    return crd_report(options, NULL);
}
static crd_status surface(const void *options)
{
    return crd_surface(options, NULL, NULL);
}
static crd_status export_files(const void *options)
{
    return crd_export(options, NULL, NULL);
}
static crd_status propagate(const void *options)
{
    return crd_propagate(options, NULL, NULL);
}
static crd_status phantom(const void *options)
{
    return crd_phantom_write(CRD_PHANTOM_WELD, options, NULL, NULL);
}

static void test_all_functions(void)
{
    const struct {
        const crd_settings *table;
        crd_status (*run)(const void *options);
    } functions[] = {
        {&crd_predict_settings, predict},
        {&crd_train_settings, train},
        {&crd_measure_settings, measure},
        {&crd_validate_settings, validate},
        {&crd_report_settings, report},
        {&crd_surface_settings, surface},
        {&crd_export_settings, export_files},
        {&crd_propagate_settings, propagate},
        {crd_phantom_settings(CRD_PHANTOM_WELD), phantom},
    };
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        const crd_settings *t = functions[f].table;
        char *sentence = NULL;
        for (size_t i = 0; i <= t->count; i++) {
            /* On the heap, with its exact size: a sanitizer sees every byte beyond. The whole one first. */
            const size_t size = i == 0 ? t->size : t->rows[i - 1].offset;
            void *options = NULL;
            CHECK(size >= sizeof(size_t));
            CHECK_OK(crd_alloc((int64_t)size, 1, "options", &options));
            CHECK_OK(crd_settings_begin(t, options, size));
            CHECK(functions[f].run(options) != CRD_OK); /* nothing was named yet */
            if (i == 0) CHECK_OK(crd_strdup(crd_last_error()->message, &sentence));
            CHECK(strcmp(sentence, crd_last_error()->message) == 0);
            crd_settings_clear(t, options);
            crd_free(&options);
        }
        crd_free(&sentence);
    }
}

/* A whole run of a program that knows a part of the options: the same result as with the defaults of the others. */
static void test_whole_run(void)
{
    const crd_settings *t = crd_phantom_settings(CRD_PHANTOM_WELD);
    const size_t cut = offsetof(crd_phantom_options, threads) + sizeof(int64_t);
    crd_phantom_result found[2];
    CHECK(cut < t->size);
    for (int older = 0; older < 2; older++) {
        const size_t size = older ? cut : t->size;
        void *options = NULL;
        CHECK_OK(crd_alloc((int64_t)size, 1, "options", &options));
        CHECK_OK(crd_settings_begin(t, options, size));
        CHECK_OK(crd_settings_set(t, options, "shape", "8,40,40"));
        CHECK_OK(crd_settings_set(t, options, "output", scratch(".")));
        CHECK_OK(crd_settings_set(t, options, "format", "npy"));
        CHECK_OK(crd_phantom_write(CRD_PHANTOM_WELD, options, NULL, &found[older]));
        crd_settings_clear(t, options);
        crd_free(&options);
    }
    CHECK(found[0].foreground > 0 && found[0].foreground == found[1].foreground);
    CHECK(found[0].threshold == found[1].threshold && found[0].label_errors == found[1].label_errors);
}

TEST_MAIN(TEST(test_whole_run), TEST(test_shorter), TEST(test_refused), TEST(test_all_functions))
