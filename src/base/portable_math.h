/* exp, log and tanh that give the same bits on every CPU and GPU: polynomials of individually rounded operations,
 * no libm, no fused multiply-add (contraction is off in that file). For the paths on which results must agree. */
#ifndef CRD_BASE_PORTABLE_MATH_H
#define CRD_BASE_PORTABLE_MATH_H

double crd_exp(double x);
double crd_log(double x);
double crd_tanh(double x);
double crd_softplus(double x);  /* log(1 + exp(x)), no overflow */
double crd_sigmoid(double x);
float crd_expf(float x);
float crd_logf(float x);
float crd_sigmoidf(float x);

#endif
