/* Schedules and settings of training, by tables. */
#include <math.h>
#include <string.h>

#include "credence/train.h"
#include "harness.h"
#include "net/cost.h"
#include "train/data/augment.h"
#include "train/schedule.h"

static void test_kl_weight(void)
{
    static const struct {
        double k0, k1;
        int64_t start, epoch;
        double weight;
    } cases[] = {
        {0.5, 0.5, 1, 1, 0.5},    {0.5, 0.5, 1, 2, 1.0},     {0.5, 0.5, 1, 3, 1.0},   {0, 0.25, 1, 1, 0},
        {0, 0.25, 1, 2, 0.25},    {0, 0.25, 1, 4, 0.75},     {0, 0.25, 1, 5, 1},      {0, 0.25, 1, 900, 1},
        {0.5, 0.05, 10, 10, 0.5}, {0.5, 0.05, 10, 11, 0.55}, {0.5, 0.05, 10, 20, 1},  {0.3, 0, 2, 7, 0.3},
        {1, 1, 0, 1, 1},          {0, 0, 0, 5, 0},           {0.25, 0.25, 0, 1, 0.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(fabs(crd_kl_weight(cases[i].epoch, cases[i].k0, cases[i].k1, cases[i].start) - cases[i].weight) < 1e-15);
    }
}

static void test_learning_rate(void)
{
    static const struct {
        double lr;
        int64_t start, epoch;
        double exponent; /* of lr * exp(-exponent) */
    } cases[] = {{1e-3, -1, 1, 0}, {1e-3, -1, 99, 0}, {1e-3, 0, 1, 0},   {1e-3, 0, 2, 1e-2}, {1e-3, 0, 11, 0.1},
                 {1e-2, 3, 3, 0},  {1e-2, 3, 4, 0},   {1e-2, 3, 5, 0.1}, {1e-2, 3, 13, 0.9}, {1e-4, 5, 105, 0.099}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double wanted = cases[i].lr * exp(-cases[i].exponent);
        CHECK(fabs(crd_learning_rate(cases[i].epoch, cases[i].lr, cases[i].start) / wanted - 1) < 1e-14);
    }
}

static void test_shuffle_is_a_permutation(void)
{
    enum { COUNT = 1000 };
    static int64_t a[COUNT], b[COUNT];
    unsigned char seen[COUNT] = {0};
    crd_shuffle(1, 1, COUNT, a);
    for (int i = 0; i < COUNT; i++) seen[a[i]]++;
    for (int i = 0; i < COUNT; i++) CHECK(seen[i] == 1);
    crd_shuffle(1, 1, COUNT, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    crd_shuffle(1, 2, COUNT, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    crd_shuffle(2, 1, COUNT, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
}

/* Each of the 16 ways to turn a chunk is drawn, moves every voxel once, and label and scan alike. */
static void test_turns(void)
{
    const int64_t size[3] = {2, 3, 3}, oblong[3] = {2, 3, 4};
    float in[24], out[24];
    uint8_t label[24], turned[24];
    unsigned drawn = 0;
    for (int i = 0; i < 24; i++) {
        in[i] = (float)i;
        label[i] = (uint8_t)i;
    }
    for (int64_t chunk = 0; chunk < 500; chunk++) {
        const crd_turn turn = crd_turn_draw(3, 1, chunk, size);
        unsigned seen = 0;
        crd_turn_apply(&turn, size, 0, 2, in, label, out, turned);
        for (int i = 0; i < 18; i++) {
            seen |= 1u << turned[i];
            CHECK(out[i] == (float)turned[i]);
        }
        CHECK(seen == (1u << 18) - 1);
        drawn |=
            1u << ((turn.flip[0] ? 1 : 0) + (turn.flip[1] ? 2 : 0) + (turn.flip[2] ? 4 : 0) + (turn.transpose ? 8 : 0));
        CHECK(!crd_turn_draw(3, 1, chunk, oblong).transpose);
    }
    CHECK(drawn == 0xffff);
}

/* A square of whole tiles and their edges, in two parts, against the definition. */
static void test_turning_large_slices(void)
{
    enum { Z = 3, N = 21, COUNT = Z * N * N };
    const int64_t size[3] = {Z, N, N};
    static float in[COUNT], out[COUNT];
    static uint8_t label[COUNT], turned[COUNT];
    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)i;
        label[i] = (uint8_t)(i * 7);
    }
    for (unsigned way = 0; way < 16; way++) {
        const crd_turn turn = {{(way & 1) != 0, (way & 2) != 0, (way & 4) != 0}, (way & 8) != 0};
        memset(out, 0, sizeof out);
        memset(turned, 0, sizeof turned);
        crd_turn_apply(&turn, size, 0, 2, in, label, out, turned);
        crd_turn_apply(&turn, size, 2, 1, in + 2 * N * N, label + 2 * N * N, out, turned);
        for (int i = 0; i < COUNT; i++) {
            const int z = turn.flip[0] ? Z - 1 - i / (N * N) : i / (N * N);
            const int y = turn.flip[1] ? N - 1 - i / N % N : i / N % N, x = turn.flip[2] ? N - 1 - i % N : i % N;
            const int from = z * N * N + (turn.transpose ? x * N + y : y * N + x);
            CHECK(out[i] == in[from] && turned[i] == label[from]);
        }
    }
}

typedef struct wanted {
    const char *json, *name, *value; /* value: the setting as JSON */
} wanted;

static char *setting_json(const crd_train_options *o, const char *name)
{
    static char value[256];
    char *all = NULL, key[64];
    value[0] = '\0';
    if (crd_settings_to_json(&crd_train_settings, o, CRD_SCOPE_PROCESS, &all) != CRD_OK) return value;
    snprintf(key, sizeof key, "\"%s\":\t", name);
    const char *at = strstr(all, key);
    if (at != NULL) snprintf(value, sizeof value, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
    const size_t length = strlen(value);
    if (length > 0 && value[length - 1] == ',') value[length - 1] = '\0';
    crd_settings_free_text(&all);
    return value;
}

static void test_config_keys(void)
{
    static const wanted cases[] = {
        {"{\"window\": [24, 48, 40]}", "chunk", "[24, 48, 40]"},
        {"{\"chunk\": \"24,48,40\"}", "chunk", "[24, 48, 40]"},
        {"{\"step\": 2}", "step", "2"},
        {"{\"batch_size\": 5}", "batch", "5"},
        {"{\"epochs\": 12}", "epochs", "12"},
        {"{\"initial_learning_rate\": 0.002}", "lr", "0.002"},
        {"{\"lr_decay_start_epoch\": 4}", "lr-decay-start", "4"},
        {"{\"kl_alpha\": 0.25}", "kl-initial", "0.25"},
        {"{\"kl_alpha_increase_per_epoch\": 0.125}", "kl-step", "0.125"},
        {"{\"kl_start_epoch\": 3}", "kl-start", "2"},
        {"{\"kl-start\": 3}", "kl-start", "3"},
        {"{\"kl_temperature\": 3}", "kl-temperature", "3"},
        {"{\"prior_std\": 2}", "prior-std", "2"},
        {"{\"weights_path\": \"w.h5\"}", "init", "\"w.h5\""},
        {"{\"weights_path\": null}", "init", "null"},
        {"{\"bayesian\": true}", "kind", "\"bcnn\""},
        {"{\"bayesian\": false}", "kind", "\"mcdn\""},
        {"{\"norm\": true}", "norm", "\"scan\""},
        {"{\"norm\": false}", "norm", "\"none\""},
        {"{\"norm\": \"3.5,2\"}", "norm", "\"3.5,2\""},
        {"{\"resume\": true}", "resume", "true"},
        {"{\"resume\": false, \"initial_epoch\": 0, \"num_gpus\": 2, \"mc_samples\": 48, \"border_trim\": 0.1,"
         " \"lower_percentile\": 33, \"upper_percentile\": 67, \"data_dir\": \"x\", \"orig_train_dir\": \"y\","
         " \"vnet\": true, \"kernel_size\": 3, \"activation\": \"relu\", \"padding\": \"SAME\", \"ensemble\": false}",
         "resume", "false"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crd_train_options o;
        CHECK_OK(crd_settings_default(&crd_train_settings, &o));
        CHECK_OK(crd_settings_from_json(&crd_train_settings, &o, cases[i].json, "config.json", NULL));
        const char *value = setting_json(&o, cases[i].name);
        if (strcmp(value, cases[i].value) != 0) printf("       %s gives %s\n", cases[i].json, value);
        CHECK(strcmp(value, cases[i].value) == 0);
        crd_settings_clear(&crd_train_settings, &o);
    }
}

static void test_wrong_config_keys(void)
{
    crd_train_options o;
    CHECK_OK(crd_settings_default(&crd_train_settings, &o));
    CHECK_FAILS(crd_settings_from_json(&crd_train_settings, &o, "{\"batch_sizes\": 3}", "c", NULL), CRD_ERR_ARGUMENT,
                "batch_sizes");
    CHECK_FAILS(crd_settings_from_json(&crd_train_settings, &o, "{\"kl_start_epoch\": 0}", "c", NULL), CRD_ERR_ARGUMENT,
                "kl-start");
    CHECK_FAILS(
        crd_settings_from_json(&crd_train_settings, &o, "{\"window\": [8, 8, 8], \"chunk\": [8, 8, 8]}", "c", NULL),
        CRD_ERR_ARGUMENT, "chunk stands there twice");
    crd_settings_clear(&crd_train_settings, &o);
}

static void test_presets(void)
{
    static const struct {
        const char *name;
        int64_t chunk, batch, epochs, kl_start;
        double lr, k0, k1, temperature;
    } cases[] = {{"graphite", 88, 3, 2, 1, 1e-4, 0.5, 0.5, 1},
                 {"weld", 88, 3, 7, 1, 1e-3, 0, 0.25, 1},
                 {"toy", 16, 16, 5, 1, 1e-3, 0, 0.5, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crd_train_options o;
        CHECK_OK(crd_settings_default(&crd_train_settings, &o));
        CHECK_OK(crd_settings_set(&crd_train_settings, &o, "preset", cases[i].name));
        CHECK_OK(crd_train_apply_preset(&o, NULL));
        CHECK(o.chunk[0] == cases[i].chunk && o.chunk[1] == 2 * cases[i].chunk && o.chunk[2] == 2 * cases[i].chunk);
        CHECK(o.batch == cases[i].batch && o.epochs == cases[i].epochs && o.kl_start == cases[i].kl_start);
        CHECK(o.lr == cases[i].lr && o.kl_initial == cases[i].k0 && o.kl_step == cases[i].k1);
        CHECK(o.kl_temperature == cases[i].temperature && o.kl_batches == 0);
        CHECK(o.chunk_given && strcmp(o.norm, "scan") == 0 && strcmp(o.augment, "none") == 0);
        crd_settings_clear(&crd_train_settings, &o);
    }
}

/* Values of `small` that go together are set together or not at all. */
static void test_preset_small(void)
{
    static const struct {
        const char *json;
        int64_t batch, max_steps, kl_batches;
        double temperature, k0;
        const char *augment, *norm;
    } cases[] = {
        {"{}", 1, 3600, 1638, 100, 1, "full", "levels"},
        {"{\"epochs\": 2}", 1, 0, 1638, 100, 1, "full", "levels"},
        {"{\"max-steps\": 7}", 1, 7, 1638, 100, 1, "full", "levels"},
        {"{\"batch\": 2}", 2, 3600, 1638, 100, 1, "full", "levels"},
        {"{\"chunk\": [48, 96, 96]}", 4, 1500, 1638, 100, 1, "full", "levels"},
        {"{\"chunk\": [48, 96, 96], \"batch\": 2, \"max-steps\": 9}", 2, 9, 1638, 100, 1, "full", "levels"},
        {"{\"norm\": \"scan\"}", 1, 3600, 1638, 100, 1, "full", "scan"},
        {"{\"kl-temperature\": 5}", 1, 3600, 0, 5, 0.5, "full", "levels"},
        {"{\"kl-batches\": 5}", 1, 3600, 5, 1, 0.5, "full", "levels"},
        {"{\"kl_alpha\": 0.25, \"epochs\": 3}", 1, 0, 0, 1, 0.25, "full", "levels"},
        {"{\"no-shuffle\": true}", 1, 3600, 1638, 100, 1, "none", "levels"},
        {"{\"estimator\": \"mean\"}", 1, 3600, 1638, 100, 1, "none", "levels"},
        {"{\"augment\": \"none\"}", 1, 3600, 1638, 100, 1, "none", "levels"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crd_train_options o;
        bool given[128] = {0};
        CHECK_OK(crd_settings_default(&crd_train_settings, &o));
        CHECK_OK(crd_settings_from_json(&crd_train_settings, &o, cases[i].json, "c", given));
        CHECK_OK(crd_train_apply_preset(&o, given));
        CHECK(o.batch == cases[i].batch && o.max_steps == cases[i].max_steps && o.kl_batches == cases[i].kl_batches);
        CHECK(o.kl_temperature == cases[i].temperature && o.kl_initial == cases[i].k0);
        CHECK(strcmp(o.augment, cases[i].augment) == 0 && strcmp(o.norm, cases[i].norm) == 0);
        CHECK(o.chunk_given == (strstr(cases[i].json, "chunk") != NULL));
        crd_settings_clear(&crd_train_settings, &o);
    }
}

/* What --help calls the defaults is what comes out when nothing is said. */
static void test_usual_values(void)
{
    crd_train_options o, said;
    char *json = NULL, *said_json = NULL;
    bool given[128] = {0};
    int usual = 0;
    CHECK_OK(crd_settings_default(&crd_train_settings, &o));
    CHECK_OK(crd_train_apply_preset(&o, given));
    CHECK_OK(crd_settings_default(&crd_train_settings, &said));
    for (size_t i = 0; i < crd_train_settings.count; i++) {
        const crd_setting *row = &crd_train_settings.rows[i];
        if (row->usual == NULL) continue;
        CHECK_OK(crd_settings_set(&crd_train_settings, &said, row->name, row->usual));
        usual++;
    }
    CHECK(usual > 0);
    CHECK_OK(crd_settings_to_json(&crd_train_settings, &o, CRD_SCOPE_PROCESS, &json));
    CHECK_OK(crd_settings_to_json(&crd_train_settings, &said, CRD_SCOPE_PROCESS, &said_json));
    CHECK(strcmp(json, said_json) == 0);
    crd_settings_free_text(&json);
    crd_settings_free_text(&said_json);
    crd_settings_clear(&crd_train_settings, &o);
    crd_settings_clear(&crd_train_settings, &said);
}

/* Known figures for a chunk of 88x176x176. */
static void test_cost(void)
{
    const int64_t chunk[3] = {88, 176, 176};
    crd_net net;
    CHECK_OK(crd_net_describe(CRD_BCNN, 16, 4, &net));
    const crd_cost cost = crd_network_cost(&net, chunk);
    CHECK(fabs(cost.encoder / 89.5e9 - 1) < 0.002);
    CHECK(fabs(cost.decoder / 217e9 - 1) < 0.002);
}

TEST_MAIN(TEST(test_kl_weight), TEST(test_learning_rate), TEST(test_shuffle_is_a_permutation), TEST(test_turns),
          TEST(test_turning_large_slices), TEST(test_config_keys), TEST(test_wrong_config_keys), TEST(test_presets),
          TEST(test_preset_small), TEST(test_usual_values), TEST(test_cost))
