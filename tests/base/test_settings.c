#include "base/number.h"
#include "comma_locale.h"
#include "credence/phantom.h"
#include "credence/predict.h"
#include "credence/report.h"
#include "credence/settings.h"
#include "credence/train.h"
#include "credence/validate.h"
#include "harness.h"

#include <float.h>

typedef struct options {
    bool std;
    int64_t samples;
    int64_t seed;
    double lr;
    char *scan;
    char *kind;
    crd_text_list labels;
    int64_t chunk[3];
    int64_t shape[3];
    crd_real_list percentiles;
    crd_pair_list intervals;
} options;

#define AT(field) offsetof(options, field)
static const crd_setting rows[] = {
    {.name = "std", .kind = CRD_SETTING_FLAG, .offset = AT(std), .help = "adds the standard deviation"},
    {.name = "samples", .kind = CRD_SETTING_INT, .offset = AT(samples), .initial = "48", .low = 1, .high = 4096},
    {.name = "seed", .kind = CRD_SETTING_INT, .offset = AT(seed)},
    {.name = "kl-lr", .kind = CRD_SETTING_REAL, .offset = AT(lr), .initial = "1e-4", .low = 0, .high = 1},
    {.name = "scan", .kind = CRD_SETTING_TEXT, .offset = AT(scan)},
    {.name = "kind", .kind = CRD_SETTING_CHOICE, .offset = AT(kind), .initial = "bcnn", .choices = "bcnn|mcdn|both"},
    {.name = "label", .kind = CRD_SETTING_LIST, .offset = AT(labels)},
    {.name = "chunk",
     .kind = CRD_SETTING_TRIPLE,
     .offset = AT(chunk),
     .initial = "auto",
     .choices = "auto",
     .low = 8,
     .high = 1024},
    {.name = "shape", .kind = CRD_SETTING_TRIPLE, .offset = AT(shape)},
    {.name = "percentiles",
     .kind = CRD_SETTING_REALS,
     .offset = AT(percentiles),
     .initial = "33,67",
     .low = 0,
     .high = 100},
    {.name = "intervals",
     .kind = CRD_SETTING_PAIRS,
     .offset = AT(intervals),
     .initial = "33-67",
     .low = 0,
     .high = 100},
};
static const crd_settings table = {.title = "test", .rows = rows, .count = sizeof rows / sizeof rows[0]};

static void test_defaults(void)
{
    options o;
    memset(&o, 0xa5, sizeof o);
    CHECK_OK(crd_settings_default(&table, &o));
    CHECK(!o.std && o.samples == 48 && o.seed == 0 && o.lr == 1e-4 && o.scan == NULL);
    CHECK(strcmp(o.kind, "bcnn") == 0 && o.labels.count == 0 && o.labels.items == NULL);
    CHECK(o.chunk[0] == 0 && o.chunk[1] == 0 && o.chunk[2] == 0);
    CHECK(o.percentiles.count == 2 && o.percentiles.items[0] == 33 && o.percentiles.items[1] == 67);
    CHECK(o.intervals.count == 1 && o.intervals.items[0].low == 33 && o.intervals.items[0].high == 67);
    crd_settings_clear(&table, &o);
    CHECK(o.kind == NULL && o.percentiles.items == NULL && o.intervals.items == NULL && o.samples == 0 && o.lr == 0);
    crd_settings_clear(&table, &o);
}

static void test_a_default_outside_its_range_is_refused(void)
{
    static const crd_setting wrong[] = {
        {.name = "kind", .kind = CRD_SETTING_CHOICE, .offset = AT(kind), .initial = "bcnn", .choices = "bcnn|mcdn"},
        {.name = "samples", .kind = CRD_SETTING_INT, .offset = AT(samples), .initial = "0", .low = 1, .high = 9}};
    const crd_settings small = {.title = "wrong", .rows = wrong, .count = 2};
    options o;
    CHECK_FAILS(crd_settings_default(&small, &o), CRD_ERR_ARGUMENT, "samples must lie between 1 and 9, not be 0");
    CHECK(o.kind == NULL);
}

static void test_values_from_text(void)
{
    options o;
    CHECK_OK(crd_settings_default(&table, &o));
    CHECK_OK(crd_settings_set(&table, &o, "std", NULL));
    CHECK(o.std);
    CHECK_OK(crd_settings_set(&table, &o, "std", "false"));
    CHECK(!o.std);
    CHECK_OK(crd_settings_set(&table, &o, "samples", "7"));
    CHECK_OK(crd_settings_set(&table, &o, "seed", "-9223372036854775808"));
    CHECK(o.samples == 7 && o.seed == INT64_MIN);
    CHECK_OK(crd_settings_set(&table, &o, "kl_lr", "0.1"));
    CHECK(o.lr == 0.1);
    CHECK_OK(crd_settings_set(&table, &o, "scan", "a b,c.tif"));
    CHECK(strcmp(o.scan, "a b,c.tif") == 0);
    CHECK_OK(crd_settings_set(&table, &o, "kind", "both"));
    CHECK(strcmp(o.kind, "both") == 0);
    CHECK_OK(crd_settings_set(&table, &o, "label", "one"));
    CHECK_OK(crd_settings_set(&table, &o, "label", "two,three"));
    CHECK(o.labels.count == 2 && strcmp(o.labels.items[1], "two,three") == 0);
    CHECK_OK(crd_settings_set(&table, &o, "chunk", "8, 16,1024"));
    CHECK(o.chunk[0] == 8 && o.chunk[1] == 16 && o.chunk[2] == 1024);
    CHECK_OK(crd_settings_set(&table, &o, "chunk", "auto"));
    CHECK(o.chunk[0] == 0 && o.chunk[2] == 0);
    CHECK_OK(crd_settings_set(&table, &o, "percentiles", "5,20.5,1e1"));
    CHECK(o.percentiles.count == 3 && o.percentiles.items[1] == 20.5 && o.percentiles.items[2] == 10);
    CHECK_OK(crd_settings_set(&table, &o, "percentiles", ""));
    CHECK(o.percentiles.count == 0);
    CHECK_OK(crd_settings_set(&table, &o, "intervals", "20-80, 2.5 - 97.5"));
    CHECK(o.intervals.count == 2 && o.intervals.items[0].high == 80 && o.intervals.items[1].low == 2.5);
    CHECK_OK(crd_settings_set(&table, &o, "intervals", ""));
    CHECK(o.intervals.count == 0 && o.intervals.items == NULL);
    crd_settings_clear(&table, &o);
}

static void test_wrong_values_keep_the_old_ones(void)
{
    static const struct {
        const char *name, *text, *words;
    } cases[] = {
        {"std", "maybe", "std must be true or false, not 'maybe'"},
        {"samples", "0", "samples must lie between 1 and 4096, not be 0"},
        {"samples", "4097", "not be 4097"},
        {"samples", "48x", "samples must be a whole number, not '48x'"},
        {"samples", "4.5", "whole number"},
        {"samples", "", "whole number"},
        {"samples", NULL, "samples needs a value"},
        {"seed", "9223372036854775808", "whole number"},
        {"kl-lr", "fast", "kl-lr must be a number, not 'fast'"},
        {"kl-lr", "nan", "must be a number"},
        {"kl-lr", "inf", "must be a number"},
        {"kl-lr", "0x1p-3", "must be a number"},
        {"kl-lr", "1e400", "must be a number"},
        {"kl-lr", "1.5", "kl-lr must lie between 0 and 1, not be 1.5"},
        {"kind", "bcn", "kind must be bcnn, mcdn or both, not 'bcn'"},
        {"kind", "bcnn|mcdn", "must be bcnn"},
        {"kind", "", "must be bcnn"},
        {"chunk", "8,8", "chunk must be three whole numbers z,y,x or auto, not '8,8'"},
        {"chunk", "8,8,8,8", "three whole numbers"},
        {"chunk", "8,8,", "three whole numbers"},
        {"chunk", "8,8,7", "chunk must lie between 8 and 1024, not be 8,8,7"},
        {"shape", "auto", "shape must be three whole numbers z,y,x, not 'auto'"},
        {"percentiles", "5,,7", "percentiles must be numbers with commas"},
        {"percentiles", "5,101", "between 0 and 100"},
        {"percentiles", "5,", "numbers with commas"},
        {"intervals", "33", "intervals must be pairs of numbers such as 33-67, not '33'"},
        {"intervals", "33-67,", "pairs of numbers"},
        {"intervals", "-5-67", "between 0 and 100"},
        {"intervals", "33-101", "intervals must lie between 0 and 100, not be 33-101"},
        {"sample", "5", "no setting 'sample'; did you mean 'samples'?"},
        {"kl_lt", "5", "did you mean 'kl-lr'?"},
        {"percent", "5", "did you mean 'percentiles'?"},
        {"zebra", "5", "there is no setting 'zebra'"},
    };
    options o;
    CHECK_OK(crd_settings_default(&table, &o));
    CHECK_OK(crd_settings_set(&table, &o, "chunk", "16,16,16"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_FAILS(crd_settings_set(&table, &o, cases[i].name, cases[i].text), CRD_ERR_ARGUMENT, cases[i].words);
    }
    CHECK(o.samples == 48 && o.lr == 1e-4 && strcmp(o.kind, "bcnn") == 0 && o.chunk[2] == 16 &&
          o.percentiles.count == 2);
    crd_settings_clear(&table, &o);
}

static void test_json_sets_what_flags_did_not(void)
{
    static const char json[] =
        "{\"samples\": 12, \"kl_lr\": 0.25, \"std\": true, \"scan\": \"s.tif\", \"label\": [\"a\", \"b,c\"],\n"
        " \"chunk\": [48, 96, 96], \"shape\": \"1,2,3\", \"percentiles\": [5, 95], \"seed\": 9007199254740991}";
    options o;
    bool given[sizeof rows / sizeof rows[0]] = {0};
    given[1] = true;
    CHECK_OK(crd_settings_default(&table, &o));
    CHECK_OK(crd_settings_set(&table, &o, "label", "replaced"));
    CHECK_OK(crd_settings_from_json(&table, &o, json, "c.json", given));
    CHECK(o.samples == 48 && o.lr == 0.25 && o.std && strcmp(o.scan, "s.tif") == 0);
    CHECK(o.labels.count == 2 && strcmp(o.labels.items[1], "b,c") == 0);
    CHECK(o.chunk[0] == 48 && o.shape[2] == 3 && o.percentiles.items[1] == 95 && o.seed == 9007199254740991);
    CHECK_OK(crd_settings_from_json(&table, &o, json, "c.json", NULL));
    CHECK(o.samples == 12 && o.labels.count == 2);
    CHECK_OK(
        crd_settings_from_json(&table, &o, "{\"scan\": null, \"label\": \"one\", \"chunk\": \"auto\"}", "c", NULL));
    CHECK(o.scan == NULL && o.labels.count == 1 && o.chunk[1] == 0);
    CHECK_OK(crd_settings_from_json(&table, &o, "{\"kind\": \"mcdn\", \"percentiles\": [1]}", "c", NULL));
    CHECK(strcmp(o.kind, "mcdn") == 0 && o.percentiles.count == 1);
    CHECK_OK(crd_settings_from_json(&table, &o, "{\"kind\": null, \"percentiles\": null}", "c", NULL));
    CHECK(o.kind != NULL && strcmp(o.kind, "bcnn") == 0 && o.percentiles.count == 2);
    CHECK_OK(crd_settings_from_json(&table, &o, "{\"version\": 3, \"settings\": {\"samples\": 9}}", "m.json", NULL));
    CHECK(o.samples == 9);
    CHECK_OK(crd_settings_from_json(&table, &o, "{}", "c.json", NULL));
    crd_settings_clear(&table, &o);
}

static void test_json_may_use_other_names(void)
{
    static const crd_setting_alias aliases[] = {{.key = "mc_samples", .name = "draws"},
                                                {.key = "mc_samples", .name = "samples"},
                                                {.key = "first_seed", .name = "seed", .add = -1},
                                                {.key = "gpus"},
                                                {.key = "draws", .name = "draws"},
                                                {.key = "low", .name = "scan", .upper = "high"},
                                                {.key = "high"}};
    crd_settings with_aliases = table;
    options o;
    with_aliases.aliases = aliases;
    with_aliases.alias_count = sizeof aliases / sizeof aliases[0];
    bool given[sizeof rows / sizeof rows[0]] = {0};
    CHECK_OK(crd_settings_default(&table, &o));
    CHECK_OK(crd_settings_from_json(&with_aliases, &o, "{\"mc-samples\": 5, \"first_seed\": 2, \"gpus\": [0, 1]}", "c",
                                    given));
    CHECK(o.samples == 5 && o.seed == 1);
    for (size_t i = 0; i < table.count; i++) CHECK(given[i] == (i == 1 || i == 2));
    CHECK_OK(crd_settings_from_json(&table, &o, "{\"samples\": 7, \"kl-lr\": 1}", "preset", given));
    CHECK(o.samples == 5 && o.lr == 1 && given[3]);
    CHECK_FAILS(crd_settings_from_json(&with_aliases, &o, "{\"mc_samples\": 5, \"samples\": 5}", "c", NULL),
                CRD_ERR_ARGUMENT, "samples stands there twice");
    CHECK_OK(crd_settings_from_json(&with_aliases, &o, "{\"draws\": 9, \"high\": 66.5, \"low\": 33}", "c", NULL));
    CHECK(o.scan != NULL && strcmp(o.scan, "33-66.5") == 0);
    CHECK_FAILS(crd_settings_from_json(&with_aliases, &o, "{\"low\": 33, \"high\": \"x\"}", "c", NULL),
                CRD_ERR_ARGUMENT, "low and high must be two numbers");
    CHECK_FAILS(crd_settings_from_json(&with_aliases, &o, "{\"low\": 33}", "c", NULL), CRD_ERR_ARGUMENT,
                "low and high must be two numbers");
    CHECK_FAILS(crd_settings_from_json(&with_aliases, &o, "{\"high\": 67}", "c", NULL), CRD_ERR_ARGUMENT,
                "low and high must be two numbers");
    /* Where the range is given already, a flag say, the file's ends don't count, whichever are there. */
    memset(given, 1, sizeof given);
    CHECK_OK(crd_settings_from_json(&with_aliases, &o, "{\"high\": 67}", "c", given));
    CHECK_OK(crd_settings_from_json(&with_aliases, &o, "{\"low\": 33}", "c", given));
    CHECK(strcmp(o.scan, "33-66.5") == 0);
    crd_settings_clear(&table, &o);
}

static void test_wrong_json_is_refused(void)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        {"{\"samples\": 1,\n \"std\" true}", "c.json is not valid JSON: line 2"},
        {"", "not valid JSON"},
        {"{} trailing", "not valid JSON"},
        {"[1, 2]", "c.json must hold a JSON object"},
        {"{\"smaples\": 1}", "c.json: there is no setting 'smaples'; did you mean 'samples'?"},
        {"{\"samples\": 0}", "c.json: samples must lie between 1 and 4096, not be 0"},
        {"{\"samples\": 1.5}", "samples must be a whole number, not '1.5'"},
        {"{\"samples\": true}", "samples must be a whole number, not 'true'"},
        {"{\"samples\": null}", "samples must be a whole number"},
        {"{\"samples\": [1]}", "samples must be a whole number"},
        {"{\"seed\": 9007199254740993}", "seed must be less than 2^53"},
        {"{\"chunk\": [8, 8]}", "chunk must be three whole numbers"},
        {"{\"chunk\": [8, 8, \"8\"]}", "chunk must be an array of three whole numbers"},
        {"{\"label\": [1]}", "label must be a string or an array of strings"},
        {"{\"label\": {}}", "label must be a string or an array of strings"},
        {"{\"scan\": {}}", "scan must be a string"},
        {"{\"kl-lr\": 0.5, \"kl_lr\": 0.5}", "kl-lr stands there twice"},
    };
    options o;
    CHECK_OK(crd_settings_default(&table, &o));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const crd_status status = crd_settings_from_json(&table, &o, cases[i].json, "c.json", NULL);
        CHECK(status == CRD_ERR_ARGUMENT || status == CRD_ERR_FORMAT);
        if (strstr(crd_last_error()->message, cases[i].words) == NULL) {
            CHECK_FAILED("%s: \"%s\"", cases[i].json, crd_last_error()->message);
        }
    }
    crd_settings_clear(&table, &o);
}

static void check_round_trip(const options *o)
{
    options again;
    char *json = NULL, *second = NULL;
    CHECK_OK(crd_settings_to_json(&table, o, CRD_SCOPE_PROCESS, &json));
    CHECK_OK(crd_settings_default(&table, &again));
    CHECK_OK(crd_settings_from_json(&table, &again, json, "round trip", NULL));
    CHECK(again.seed == o->seed);
    CHECK(memcmp(&again.lr, &o->lr, sizeof o->lr) == 0);
    CHECK(again.percentiles.count == o->percentiles.count);
    for (int64_t i = 0; i < o->percentiles.count; i++) CHECK(again.percentiles.items[i] == o->percentiles.items[i]);
    CHECK(again.intervals.count == o->intervals.count && again.intervals.items[0].low == o->intervals.items[0].low);
    CHECK(memcmp(again.chunk, o->chunk, sizeof o->chunk) == 0);
    CHECK_OK(crd_settings_to_json(&table, &again, CRD_SCOPE_PROCESS, &second));
    CHECK(strcmp(json, second) == 0);
    crd_settings_free_text(&json);
    crd_settings_free_text(&second);
    CHECK(json == NULL);
    crd_settings_clear(&table, &again);
}

static void test_json_round_trip_is_exact(void)
{
    static const int64_t seeds[] = {0,         -1,       1000000, 4294967296, 9007199254740991, 9007199254740993,
                                    INT64_MAX, INT64_MIN};
    uint64_t state = 12345;
    options o;
    CHECK_OK(crd_settings_default(&table, &o));
    CHECK_OK(crd_settings_set(&table, &o, "scan", "caf\xc3\xa9 \"quoted\"\n\\.tif"));
    CHECK_OK(crd_settings_set(&table, &o, "label", "l"));
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        o.seed = seeds[i];
        check_round_trip(&o);
    }
    CHECK_OK(crd_settings_set(&table, &o, "chunk", "8,16,24"));
    for (int i = 0; i < 20000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        o.lr = (double)(state >> 11) / 9007199254740992.0;
        o.percentiles.items[0] = o.lr * 100;
        o.percentiles.items[1] = i % 101;
        o.intervals.items[0] = (crd_pair){o.lr * 1e-9, i % 101};
        check_round_trip(&o);
        if (harness_failed) return;
    }
    o.lr = DBL_TRUE_MIN;
    check_round_trip(&o);
    crd_settings_clear(&table, &o);
}

/* No pairs at all are something else than the default ones. */
static void test_empty_pairs_come_back(void)
{
    options first, second;
    char *json = NULL;
    CHECK_OK(crd_settings_default(&table, &first));
    CHECK_OK(crd_settings_default(&table, &second));
    CHECK_OK(crd_settings_set(&table, &first, "intervals", ""));
    CHECK_OK(crd_settings_to_json(&table, &first, CRD_SCOPE_PROCESS, &json));
    CHECK_OK(crd_settings_from_json(&table, &second, json, "again", NULL));
    CHECK(first.intervals.count == 0 && second.intervals.count == 0);
    crd_settings_free_text(&json);
    crd_settings_clear(&table, &first);
    crd_settings_clear(&table, &second);
}

static void test_json_has_the_table_s_order(void)
{
    options o;
    char *json = NULL;
    CHECK_OK(crd_settings_default(&table, &o));
    CHECK_OK(crd_settings_to_json(&table, &o, CRD_SCOPE_PROCESS, &json));
    const char *at = json;
    for (size_t i = 0; i < table.count; i++) {
        char key[64];
        snprintf(key, sizeof key, "\"%s\":", rows[i].name);
        at = strstr(at, key);
        CHECK(at != NULL);
    }
    CHECK(strstr(json, "0.0001") != NULL && strstr(json, "\"auto\"") != NULL && strstr(json, "null") != NULL);
    crd_settings_free_text(&json);
    crd_settings_clear(&table, &o);
}

static void test_numbers_as_text(void)
{
    static const double values[] = {0,         1,           -1,      0.1,          1.0 / 3, 1e21,
                                    123456789, DBL_MAX,     DBL_MIN, DBL_TRUE_MIN, 5e-324,  0.30000000000000004,
                                    1e-7,      1.1920929e-7};
    char text[CRD_NUMBER_BYTES];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        double back = 0;
        (void)crd_format_real(values[i], text);
        CHECK(crd_parse_real(text, strlen(text), &back));
        CHECK(back == values[i]);
    }
    CHECK(strcmp(crd_format_real(0.1, text), "0.1") == 0);
    CHECK(strcmp(crd_format_real(NAN, text), "null") == 0);
    CHECK(strcmp(crd_format_real(-INFINITY, text), "null") == 0);
    int64_t whole = 0;
    CHECK(crd_parse_int("12,13", 2, &whole) && whole == 12);
    CHECK(!crd_parse_int("--12", 4, &whole) && !crd_parse_int("", 0, &whole) && !crd_parse_int("1 2", 3, &whole));
}

/* A host program may have set a locale with a decimal comma. */
static void test_the_locale_does_not_matter(void)
{
    if (!set_comma_locale()) SKIP("no locale with a decimal comma is installed");
    options o;
    char *json = NULL;
    CHECK_OK(crd_settings_default(&table, &o));
    CHECK_OK(crd_settings_set(&table, &o, "kl-lr", "0.125"));
    CHECK(o.lr * 8 == 1);
    CHECK_OK(crd_settings_to_json(&table, &o, CRD_SCOPE_PROCESS, &json));
    CHECK(strstr(json, "0.125") != NULL);
    CHECK_OK(crd_settings_from_json(&table, &o, "{\"kl-lr\": 0.5}", "c.json", NULL));
    CHECK(o.lr * 2 == 1);
    setlocale(LC_ALL, "C");
    crd_settings_free_text(&json);
    crd_settings_clear(&table, &o);
}

static void test_nearest_names(void)
{
    static const char *const names[] = {"info", "convert", "phantom", "train", "predict", "validate", "compare"};
    static const struct {
        const char *word, *expected;
    } cases[] = {{"inof", "info"},   {"predit", "predict"},    {"pred", "predict"}, {"trian", "train"},
                 {"Train", "train"}, {"valdiate", "validate"}, {"x", NULL},         {"", NULL},
                 {"segment", NULL},  {"conver_t", "convert"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = crd_nearest_name(cases[i].word, names, sizeof names / sizeof names[0]);
        if ((found == NULL) != (cases[i].expected == NULL) ||
            (found != NULL && strcmp(found, cases[i].expected) != 0)) {
            CHECK_FAILED("'%s' gave '%s'", cases[i].word, found != NULL ? found : "nothing");
        }
    }
    char endless[200];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    CHECK(crd_nearest_name(endless, names, sizeof names / sizeof names[0]) == NULL);
}

enum { SCOPES = CRD_SCOPE_PROCESS + 1 };

static const char predict_result[] =
    "preview norm mask bbox samples first-sample seed chunk step trim mode norms halo "
    "tile estimator draws aggregate no-calibration "
    "intervals percentiles std entropy unc-by-class bounds save-samples dtype shape type offset";
static const char train_result[] =
    "valid-fraction classes class-names foreground ignore mask valid-mask norm spacing kind filters groups prior "
    "prior-std "
    "prior-narrow prior-share estimator members "
    "chunk step batch lr "
    "lr-decay-start kl-initial kl-step kl-start kl-batches kl-temperature no-shuffle augment no-pieces no-intervals "
    "valid-samples "
    "keep "
    "seed";

/* Everything that the library's tables have outside CRD_SCOPE_RESULT, and for those whose runs are resumed also what is
 * inside: a row that joins a table must be given its place here. */
static const struct {
    const crd_settings *table; /* NULL: those of both kinds of phantom */
    const char *names[SCOPES]; /* in table order; [CRD_SCOPE_RESULT] NULL: all others */
} scopes[] = {
    {&crd_predict_settings,
     {predict_result, "format spacing", "model scan", "device precision isa",
      "output overwrite resume dry-run max-memory max-gpu-memory repeats", "threads"}},
    {&crd_train_settings,
     {train_result, "epochs max-steps",
      "scan label valid-scan valid-label shape type label-type offset label-offset preset init", "device precision isa",
      "output log checkpoint-every resume", "threads readers at-once"}},
    {&crd_phantom_all_settings, {NULL, "", "", "", "output", "threads"}},
    {NULL, {NULL, "", "", "", "output", "threads"}},
    {&crd_validate_settings,
     {NULL, "", "run prob seg unc intervals label shape type offset", "", "output csv", "threads"}},
    {&crd_report_settings, {NULL, "", "run second scan label", "", "output", "threads"}},
};

static void check_scopes(const crd_settings *settings, const char *const names[SCOPES])
{
    static char text[SCOPES][2048];
    memset(text, 0, sizeof text);
    for (size_t i = 0; i < settings->count; i++) {
        char *own = text[settings->rows[i].scope];
        if (own[0] != '\0') strcat(own, " ");
        strcat(own, settings->rows[i].name);
    }
    for (int scope = 0; scope < SCOPES; scope++) {
        if (names[scope] == NULL || strcmp(text[scope], names[scope]) == 0) continue;
        printf("%s, scope %d: %s\n", settings->title, scope, text[scope]);
        CHECK(false);
    }
}

static void test_every_setting_has_its_scope(void)
{
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        if (scopes[i].table != NULL) {
            check_scopes(scopes[i].table, scopes[i].names);
            continue;
        }
        check_scopes(crd_phantom_settings(CRD_PHANTOM_GRAPHITE), scopes[i].names);
        check_scopes(crd_phantom_settings(CRD_PHANTOM_WELD), scopes[i].names);
    }
}

static void test_json_goes_up_to_a_scope(void)
{
    static const crd_setting own[] = {
        {.name = "seed", .kind = CRD_SETTING_INT, .scope = CRD_SCOPE_PROCESS, .offset = AT(seed)},
        {.name = "scan", .kind = CRD_SETTING_TEXT, .scope = CRD_SCOPE_INPUT, .offset = AT(scan)},
        {.name = "samples", .kind = CRD_SETTING_INT, .offset = AT(samples), .initial = "3"}};
    const crd_settings scoped = {.title = "scoped", .rows = own, .count = 3};
    static const struct {
        crd_setting_scope widest;
        bool scan, seed;
    } cases[] = {{CRD_SCOPE_RESULT, false, false},
                 {CRD_SCOPE_FINISH, false, false},
                 {CRD_SCOPE_INPUT, true, false},
                 {CRD_SCOPE_PLACE, true, false},
                 {CRD_SCOPE_PROCESS, true, true}};
    options o;
    CHECK_OK(crd_settings_default(&scoped, &o));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *json = NULL;
        CHECK_OK(crd_settings_to_json(&scoped, &o, cases[i].widest, &json));
        CHECK(strstr(json, "\"samples\"") != NULL);
        CHECK((strstr(json, "\"scan\"") != NULL) == cases[i].scan);
        CHECK((strstr(json, "\"seed\"") != NULL) == cases[i].seed);
        crd_settings_free_text(&json);
    }
    crd_settings_clear(&scoped, &o);
}

/* Whether a setting was set, to whatever value; not by a default, a null, or a value that was refused. */
static void test_marks(void)
{
    typedef struct marked {
        int64_t step;
        char *kind;
        bool step_set, kind_set;
    } marked;
    static const crd_setting marked_rows[] = {{.name = "step",
                                               .kind = CRD_SETTING_INT,
                                               .offset = offsetof(marked, step),
                                               .mark = offsetof(marked, step_set),
                                               .initial = "3",
                                               .low = 1,
                                               .high = 9},
                                              {.name = "kind",
                                               .kind = CRD_SETTING_CHOICE,
                                               .offset = offsetof(marked, kind),
                                               .mark = offsetof(marked, kind_set),
                                               .initial = "a",
                                               .choices = "a|b"}};
    const crd_settings own = {.title = "marks", .rows = marked_rows, .count = 2};
    marked m;
    memset(&m, 1, sizeof m);
    CHECK_OK(crd_settings_default(&own, &m));
    CHECK(!m.step_set && !m.kind_set);
    CHECK_FAILS(crd_settings_set(&own, &m, "step", "10"), CRD_ERR_ARGUMENT, "between 1 and 9");
    CHECK_OK(crd_settings_from_json(&own, &m, "{\"kind\": null}", "x.json", NULL));
    CHECK(!m.step_set && !m.kind_set);
    CHECK_OK(crd_settings_set(&own, &m, "step", "3"));
    CHECK_OK(crd_settings_from_json(&own, &m, "{\"kind\": \"a\"}", "x.json", NULL));
    CHECK(m.step_set && m.kind_set);
    crd_settings_clear(&own, &m);
    CHECK(!m.step_set && !m.kind_set);
}

TEST_MAIN(TEST(test_defaults), TEST(test_a_default_outside_its_range_is_refused), TEST(test_values_from_text),
          TEST(test_wrong_values_keep_the_old_ones), TEST(test_json_sets_what_flags_did_not),
          TEST(test_json_may_use_other_names), TEST(test_wrong_json_is_refused), TEST(test_json_round_trip_is_exact),
          TEST(test_empty_pairs_come_back), TEST(test_json_has_the_table_s_order), TEST(test_numbers_as_text),
          TEST(test_the_locale_does_not_matter), TEST(test_nearest_names), TEST(test_marks),
          TEST(test_every_setting_has_its_scope), TEST(test_json_goes_up_to_a_scope))
