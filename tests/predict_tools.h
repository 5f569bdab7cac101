/* Models for the tests of prediction. */
#ifndef CRD_TESTS_PREDICT_TOOLS_H
#define CRD_TESTS_PREDICT_TOOLS_H

#include <math.h>

#include "net/model.h"

/* A new network answers with nearly the same probability everywhere. A larger last weight and a bias against it spread
 * the answers over (0, 1), so that segmentations and volume fractions have something to show. */
static inline void tools_enliven(crd_model *model)
{
    const crd_net *net = &model->net;
    model->parameters[net->model.kernel[net->last]] = 6.0f;
    model->parameters[net->model.bias[net->last]] = -3.0f;
    model->parameters[net->model.bias[net->head]] = 0.5f;
}

/* A last weight that overflows with some draws only, and an input of it so small that the others stay finite. */
static inline void tools_break_some_draws(crd_model *model)
{
    for (int p = 0; p < model->net.model.count; p++) {
        const crd_parameter *parameter = &model->net.model.parameters[p];
        float *values = model->parameters + parameter->offset;
        for (int64_t i = 0; i < parameter->count; i++) {
            if (parameter->layer == model->net.last) {
                values[i] = parameter->role == CRD_ROLE_LOC ? 1e38f : parameter->role == CRD_ROLE_RHO ? 2e38f : 0.0f;
            } else if (parameter->layer == model->net.head) {
                values[i] = parameter->role == CRD_ROLE_RHO ? -40.0f : values[i] * 1e-9f;
            }
        }
    }
}

/* What a backend must have counted in these samples: how many samples have values that aren't finite. */
static inline int64_t tools_count_nonfinite(const float *samples, int64_t count, int64_t voxels, int64_t *values,
                                            int64_t *first)
{
    int64_t broken = 0;
    *values = 0;
    *first = -1;
    for (int64_t s = 0; s < count; s++) {
        const int64_t before = *values;
        for (int64_t v = 0; v < voxels; v++) *values += !isfinite(samples[s * voxels + v]);
        if (*values == before) continue;
        if (broken++ == 0) *first = s;
    }
    return broken;
}

/* No voxel gets through the ReLU of the head. */
static inline void tools_kill_head(crd_model *model)
{
    const crd_net *net = &model->net;
    for (int m = 0; m < model->info.members; m++) {
        float *bias = crd_model_member(model, m) + net->model.bias[net->head];
        for (int c = 0; c < net->layers[net->head].channels_out; c++) bias[c] = -100;
    }
}

/* `prepare` changes the weights that it begins with. */
static inline crd_status tools_save_prepared(const char *path, const crd_model_info *info, uint64_t seed,
                                             void (*prepare)(crd_model *))
{
    crd_model *model = NULL;
    crd_status status = crd_model_create(info, seed, &model);
    if (status == CRD_OK) {
        prepare(model);
        status = crd_model_save(model, path);
    }
    crd_model_free(&model);
    return status;
}

static inline crd_status tools_save_model(const char *path, const crd_model_info *info, uint64_t seed)
{
    return tools_save_prepared(path, info, seed, tools_enliven);
}

#endif
