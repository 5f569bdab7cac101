/* exp, log and tanh that give the same bits on every CPU and GPU: polynomials of individually rounded operations,
 * no libm, no fused multiply-add. For the paths on which results must agree. Infinities, NaN, signed zeros and
 * denormals come out as in libm. Largest errors: exp and log 0.85 ulp, tanh 1.5, softplus 2.25, sigmoid 2.5; float ones
 * 0.501. Loops should call the forms of portable_math_inline.h (crd_sigmoidf_inline, ...): equal bits, in vector code.
 */
#ifndef CRD_BASE_PORTABLE_MATH_H
#define CRD_BASE_PORTABLE_MATH_H

double crd_exp(double x);
double crd_log(double x);
double crd_tanh(double x);
double crd_softplus(double x); /* log(1 + exp(x)), no overflow */
double crd_sigmoid(double x);
float crd_expf(float x);
float crd_logf(float x);
float crd_sigmoidf(float x);

#endif
