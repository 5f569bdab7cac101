#include "net/init.h"

#include <math.h>

#include "base/random/philox.h"

typedef struct normal_law {
    enum crd_purpose purpose;
    double mean, std;
} normal_law;

static const normal_law law_of_loc = {CRD_PURPOSE_INIT_LOC, 0, 0.1};
static const normal_law law_of_rho = {CRD_PURPOSE_INIT_RHO, -3, 0.1};
static const normal_law law_of_bias = {CRD_PURPOSE_INIT_BIAS, 0, 0.1};

static void fill_normal(const crd_parameter *parameter, const normal_law *law, uint64_t seed, float *values)
{
    const crd_stream stream = {.seed = seed, .layer = (uint32_t)parameter->layer, .purpose = law->purpose};
    crd_random_fill_normal(&stream, 0, parameter->count, values);
    for (int64_t i = 0; i < parameter->count; i++) values[i] = (float)(law->mean + law->std * values[i]);
}

static void fill_glorot(const crd_parameter *parameter, uint64_t seed, float *values)
{
    const crd_stream stream = {.seed = seed, .layer = (uint32_t)parameter->layer, .purpose = CRD_PURPOSE_INIT_KERNEL};
    const int64_t taps = parameter->shape[0] * parameter->shape[1] * parameter->shape[2];
    const double limit = sqrt(6.0 / (double)(taps * (parameter->shape[3] + parameter->shape[4])));
    for (int64_t i = 0; i < parameter->count; i++)
        values[i] = (float)((2 * crd_random_uniform(&stream, (uint64_t)i) - 1) * limit);
}

static void fill_constant(const crd_parameter *parameter, float value, float *values)
{
    for (int64_t i = 0; i < parameter->count; i++) values[i] = value;
}

void crd_net_init(const crd_net *net, uint64_t seed, float *parameters)
{
    for (int p = 0; p < net->model.count; p++) {
        const crd_parameter *parameter = &net->model.parameters[p];
        float *values = parameters + parameter->offset;
        switch (parameter->role) {
        case CRD_ROLE_LOC:
            fill_normal(parameter, &law_of_loc, seed, values);
            break;
        case CRD_ROLE_RHO:
            fill_normal(parameter, &law_of_rho, seed, values);
            break;
        case CRD_ROLE_KERNEL:
            fill_glorot(parameter, seed, values);
            break;
        case CRD_ROLE_BIAS:
            if (net->model.rho[parameter->layer] >= 0)
                fill_normal(parameter, &law_of_bias, seed, values);
            else
                fill_constant(parameter, 0, values);
            break;
        case CRD_ROLE_GAMMA:
            fill_constant(parameter, 1, values);
            break;
        case CRD_ROLE_BETA:
            fill_constant(parameter, 0, values);
            break;
        }
    }
}
