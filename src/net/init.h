/* The parameters a network starts from, drawn from a seed. */
#ifndef CRD_NET_INIT_H
#define CRD_NET_INIT_H

#include "net/net.h"

/* Fills parameters (model layout, net->model.total values). Bayesian layers: loc ~ N(0, 0.1^2), rho ~ N(-3, 0.1^2),
 * bias ~ N(0, 0.1^2). Plain ones: Glorot uniform, bias 0. Norms: gamma 1, beta 0. */
void crd_net_init(const crd_net *net, uint64_t seed, float *parameters);
/* Those of the head alone, drawn anew: another set for every `draw`, 0 being the one above. */
void crd_net_init_head(const crd_net *net, uint64_t seed, uint32_t draw, float *parameters);

#endif
