#include "bayes/reference_bayes.h"

#include <math.h>
#include <stddef.h>

static const double sigma_floor = 1.1920929e-7;

static double sigma_of(double rho)
{
    return (rho > 0 ? rho : 0) + log1p(exp(-fabs(rho))) + sigma_floor;
}

static double slope_of(double rho) /* d sigma / d rho */
{
    return 1 / (1 + exp(-rho));
}

/* The noise of one weight, signs folded in. */
static double noise_at(const crd_net *net, const crd_noise *noise, int layer, int64_t element)
{
    if (noise == NULL || noise->eps[layer] == NULL) return 0;
    const int64_t out = net->layers[layer].channels_out, in = net->layers[layer].channels_in;
    double value = noise->eps[layer][element];
    if (noise->sign_in[layer] != NULL) value *= noise->sign_in[layer][element / out % in];
    if (noise->sign_out[layer] != NULL) value *= noise->sign_out[layer][element % out];
    return value;
}

/* Where a parameter of the model layout acts in the point layout. */
static int64_t point_offset(const crd_net *net, const crd_parameter *parameter)
{
    switch (parameter->role) {
    case CRD_ROLE_BIAS:
        return net->point.bias[parameter->layer];
    case CRD_ROLE_GAMMA:
        return net->point.gamma[parameter->layer];
    case CRD_ROLE_BETA:
        return net->point.beta[parameter->layer];
    case CRD_ROLE_KERNEL:
    case CRD_ROLE_LOC:
    case CRD_ROLE_RHO:
        break;
    }
    return net->point.kernel[parameter->layer];
}

void crd_ref_draw(const crd_net *net, const double *model, const crd_noise *noise, double *point)
{
    for (int p = 0; p < net->model.count; p++) {
        const crd_parameter *parameter = &net->model.parameters[p];
        const int layer = parameter->layer;
        const double *values = model + parameter->offset;
        double *out = point + point_offset(net, parameter);
        if (parameter->role == CRD_ROLE_RHO) continue;
        for (int64_t i = 0; i < parameter->count; i++) {
            out[i] = values[i];
            if (parameter->role == CRD_ROLE_LOC)
                out[i] += sigma_of(model[net->model.rho[layer] + i]) * noise_at(net, noise, layer, i);
        }
    }
}

void crd_ref_draw_backward(const crd_net *net, const double *model, const crd_noise *noise,
                           const double *point_gradient, double *model_gradient)
{
    for (int p = 0; p < net->model.count; p++) {
        const crd_parameter *parameter = &net->model.parameters[p];
        const double *gradient = point_gradient + point_offset(net, parameter);
        double *out = model_gradient + parameter->offset;
        for (int64_t i = 0; i < parameter->count; i++) {
            double factor = 1;
            if (parameter->role == CRD_ROLE_RHO)
                factor = slope_of(model[parameter->offset + i]) * noise_at(net, noise, parameter->layer, i);
            out[i] += gradient[i] * factor;
        }
    }
}

double crd_ref_kl(const crd_net *net, const double *model, double prior_std, double scale, double *model_gradient)
{
    const double variance = prior_std * prior_std;
    double sum = 0;
    for (int p = 0; p < net->model.count; p++) {
        const crd_parameter *parameter = &net->model.parameters[p];
        if (parameter->role != CRD_ROLE_RHO) continue;
        const int64_t loc = net->model.kernel[parameter->layer], rho = parameter->offset;
        for (int64_t i = 0; i < parameter->count; i++) {
            const double mean = model[loc + i], sigma = sigma_of(model[rho + i]);
            sum += log(prior_std / sigma) + (sigma * sigma + mean * mean) / (2 * variance) - 0.5;
            if (model_gradient == NULL) continue;
            model_gradient[loc + i] += scale * mean / variance;
            model_gradient[rho + i] += scale * (sigma / variance - 1 / sigma) * slope_of(model[rho + i]);
        }
    }
    return sum;
}
