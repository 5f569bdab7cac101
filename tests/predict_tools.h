/* Models for the tests of prediction. */
#ifndef CRD_TESTS_PREDICT_TOOLS_H
#define CRD_TESTS_PREDICT_TOOLS_H

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

static inline crd_status tools_save_model(const char *path, const crd_model_info *info, uint64_t seed)
{
    crd_model *model = NULL;
    crd_status status = crd_model_create(info, seed, &model);
    if (status == CRD_OK) {
        tools_enliven(model);
        status = crd_model_save(model, path);
    }
    crd_model_free(&model);
    return status;
}

#endif
