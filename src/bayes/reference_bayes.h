/* Textbook posterior, draws and KL in double: the oracle of bayes/. Parameters are flat buffers in the layouts of
 * net/net.h. */
#ifndef CRD_BAYES_REFERENCE_BAYES_H
#define CRD_BAYES_REFERENCE_BAYES_H

#include "bayes/noise.h"

/* Point weights from model parameters: a Bayesian kernel is loc + sign_in * (sigma * eps) * sign_out, everything else a
 * copy. noise NULL: all kernels are their means. */
void crd_ref_draw(const crd_net *net, const double *model, const crd_noise *noise, double *point);

/* The chain rule backwards: adds to model_gradient what point_gradient says about the model's parameters. */
void crd_ref_draw_backward(const crd_net *net, const double *model, const crd_noise *noise,
                           const double *point_gradient, double *model_gradient);

/* KL of the posterior from a prior N(0, prior_std^2), over all Bayesian weights; adds scale * its gradient to
 * model_gradient unless that is NULL. */
double crd_ref_kl(const crd_net *net, const double *model, double prior_std, double scale, double *model_gradient);

#endif
