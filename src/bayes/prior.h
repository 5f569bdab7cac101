/* Priors of the weights, as a small table of functions: the KL of a posterior N(loc, sigma^2) from the prior, and its
 * gradient. One with a closed form ignores the noise; one without estimates the KL at the drawn weight
 * loc + sigma * eps. */
#ifndef CRD_BAYES_PRIOR_H
#define CRD_BAYES_PRIOR_H

#include "bayes/noise.h"
#include "bayes/posterior.h"
#include "bayes/prior_law.h"

typedef struct crd_prior_weights { /* some weights of one layer */
    int64_t count;
    const float *loc, *sigma, *slope;
    const float
        *eps; /* their noise, without flipout's signs (which change no law); NULL unless the prior asks for it */
} crd_prior_weights;

typedef struct crd_prior {
    const char *name;
    bool needs_noise;
    /* The sum over the weights. */
    double (*kl_value)(const crd_prior_settings *settings, const crd_prior_weights *weights);
    /* Adds scale * the derivative by loc and by rho. */
    void (*kl_gradient)(const crd_prior_settings *settings, const crd_prior_weights *weights, double scale, float *dloc,
                        float *drho);
} crd_prior;

extern const crd_prior crd_prior_normal;  /* N(0, std^2) */
extern const crd_prior crd_prior_mixture; /* bayes/prior_law.h */
const crd_prior *crd_prior_of(const crd_prior_settings *settings);

/* The KL of every block of Bayesian weights, in double, to posterior->sums. `posterior` is up to date with `model`;
 * `noise` may be NULL unless prior->needs_noise. */
void crd_kl_blocks(const crd_posterior *posterior, crd_pool *pool, const crd_posterior_part *part,
                   const crd_prior *prior, const crd_prior_settings *settings, const float *model,
                   const crd_noise *noise);
/* Their sum over all blocks, in their order, from posterior->sums. */
double crd_kl_total(const crd_posterior *posterior);
/* Adds scale * its gradient to model_gradient. */
void crd_kl_gradient(const crd_posterior *posterior, crd_pool *pool, const crd_posterior_part *part,
                     const crd_prior *prior, const crd_prior_settings *settings, const float *model,
                     const crd_noise *noise, double scale, float *model_gradient);

#endif
