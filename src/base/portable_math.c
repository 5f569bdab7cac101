#include "base/portable_math.h"

#include "base/portable_math_inline.h"

double crd_exp(double x)
{
    return crd_exp_inline(x);
}

double crd_log(double x)
{
    return crd_log_inline(x);
}

double crd_tanh(double x)
{
    return crd_tanh_inline(x);
}

double crd_softplus(double x)
{
    return crd_softplus_inline(x);
}

double crd_sigmoid(double x)
{
    return crd_sigmoid_inline(x);
}

float crd_expf(float x)
{
    return crd_expf_inline(x);
}

float crd_logf(float x)
{
    return crd_logf_inline(x);
}

float crd_sigmoidf(float x)
{
    return crd_sigmoidf_inline(x);
}
