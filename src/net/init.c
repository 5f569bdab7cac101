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

/* What an initial value is drawn from: the seed, and which draw. */
typedef struct source {
    uint64_t seed;
    uint32_t draw;
} source;

static crd_stream stream_of(const crd_parameter *parameter, enum crd_purpose purpose, source from)
{
    return (crd_stream){.seed = from.seed, .layer = (uint32_t)parameter->layer, .purpose = purpose, .step = from.draw};
}

static void fill_normal(const crd_parameter *parameter, const normal_law *law, source from, float *values)
{
    const crd_stream stream = stream_of(parameter, law->purpose, from);
    crd_random_fill_normal(&stream, 0, parameter->count, values);
    for (int64_t i = 0; i < parameter->count; i++) values[i] = (float)(law->mean + law->std * values[i]);
}

static void fill_glorot(const crd_parameter *parameter, source from, float *values)
{
    const crd_stream stream = stream_of(parameter, CRD_PURPOSE_INIT_KERNEL, from);
    const int64_t taps = parameter->shape[0] * parameter->shape[1] * parameter->shape[2];
    const double limit = sqrt(6.0 / (double)(taps * (parameter->shape[3] + parameter->shape[4])));
    for (int64_t i = 0; i < parameter->count; i++)
        values[i] = (float)((2 * crd_random_uniform(&stream, (uint64_t)i) - 1) * limit);
}

static void fill_constant(const crd_parameter *parameter, float value, float *values)
{
    for (int64_t i = 0; i < parameter->count; i++) values[i] = value;
}

static void fill(const crd_net *net, const crd_parameter *parameter, source from, float *values)
{
    switch (parameter->role) {
    case CRD_ROLE_LOC:
        fill_normal(parameter, &law_of_loc, from, values);
        break;
    case CRD_ROLE_RHO:
        fill_normal(parameter, &law_of_rho, from, values);
        break;
    case CRD_ROLE_KERNEL:
        fill_glorot(parameter, from, values);
        break;
    case CRD_ROLE_BIAS:
        if (net->model.rho[parameter->layer] >= 0)
            fill_normal(parameter, &law_of_bias, from, values);
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

void crd_net_init(const crd_net *net, uint64_t seed, float *parameters)
{
    for (int p = 0; p < net->model.count; p++) {
        const crd_parameter *parameter = &net->model.parameters[p];
        fill(net, parameter, (source){.seed = seed}, parameters + parameter->offset);
    }
}

void crd_net_init_head(const crd_net *net, uint64_t seed, uint32_t draw, float *parameters)
{
    for (int p = 0; p < net->model.count; p++) {
        const crd_parameter *parameter = &net->model.parameters[p];
        if (!crd_net_in_head(net, parameter)) continue;
        fill(net, parameter, (source){seed, draw}, parameters + parameter->offset);
    }
}
