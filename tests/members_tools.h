/* A small training of an ensemble, so many members at a time. */
#ifndef CRD_TESTS_MEMBERS_TOOLS_H
#define CRD_TESTS_MEMBERS_TOOLS_H

#include "base/random/philox.h"
#include "harness.h"
#include "train/members.h"
#include "volume_tools.h"

enum { MEMBERS = 3, STEPS = 8, EDGE_Z = 24, EDGE_Y = 32, EDGE_X = 32, SCAN_VOXELS = EDGE_Z * EDGE_Y * EDGE_X };

static inline crd_status save_voxels(const char *name, const uint8_t *voxels)
{
    const crd_volume_info info = {.shape = {EDGE_Z, EDGE_Y, EDGE_X}, .type = CRD_U8, .scale = 1.0};
    const crd_box whole = {.size = {EDGE_Z, EDGE_Y, EDGE_X}};
    crd_volume *volume = NULL;
    crd_status status = crd_volume_create(scratch(name), &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &whole, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

/* Balls in noise. */
static inline crd_status save_scan(void)
{
    static uint8_t scan[SCAN_VOXELS], label[SCAN_VOXELS];
    const crd_stream noise = {.seed = 8, .purpose = CRD_PURPOSE_PHANTOM};
    for (int i = 0; i < SCAN_VOXELS; i++) {
        const int dz = i / EDGE_X / EDGE_Y % 12 - 6, dy = i / EDGE_X % EDGE_Y % 13 - 6, dx = i % EDGE_X % 12 - 6;
        label[i] = dz * dz + dy * dy + dx * dx < 26;
        scan[i] = (uint8_t)(90.0 + 50.0 * label[i] + 20.0 * crd_random_normal(&noise, (uint64_t)i));
    }
    CRD_PASS(save_voxels("scan.npy", scan));
    return save_voxels("label.npy", label);
}

typedef struct pool_case {
    const char *output, *kind, *device, *precision, *filters;
    bool resume;
    int64_t at_once;
    const crd_monitor *monitor;
} pool_case;

static inline crd_status set_pool(const pool_case *c, crd_train_options *options)
{
    char steps[16];
    snprintf(steps, sizeof steps, "%d", STEPS);
    const struct {
        const char *name, *value;
    } settings[] = {{"scan", scratch("scan.npy")},
                    {"label", scratch("label.npy")},
                    {"output", scratch(c->output)},
                    {"kind", c->kind},
                    {"device", c->device},
                    {"precision", c->precision},
                    {"members", "3"},
                    {"filters", c->filters},
                    {"chunk", "16,16,16"},
                    {"step", "2"},
                    {"batch", "2"},
                    {"max-steps", steps},
                    {"checkpoint-every", "2"},
                    {"augment", "full"},
                    {"readers", "2"},
                    {"resume", c->resume ? "true" : "false"}};
    CRD_PASS(crd_settings_default(&crd_train_settings, options));
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        CRD_PASS(crd_settings_set(&crd_train_settings, options, settings[i].name, settings[i].value));
    }
    return CRD_OK;
}

/* Trains them and gives the parameters of all, to be freed. */
static inline crd_status train_pool(const pool_case *c, float **parameters, int64_t *count)
{
    crd_status status = CRD_OK;
    crd_train_options options;
    crd_train_result result = {0};
    crd_train_run run = {.options = &options, .monitor = c->monitor, .result = &result, .dist = crd_dist_current()};
    CRD_TRY(set_pool(c, &options));
    CRD_TRY(crd_train_run_open(&run));
    CRD_TRY(crd_members_train(&run, c->at_once));
    *count = MEMBERS * run.model->net.model.total;
    *parameters = malloc((size_t)*count * sizeof **parameters);
    if (*parameters == NULL) exit(1);
    memcpy(*parameters, run.model->parameters, (size_t)*count * sizeof **parameters);
done:
    crd_train_run_close(&run);
    crd_settings_clear(&crd_train_settings, &options);
    return status;
}

#endif
