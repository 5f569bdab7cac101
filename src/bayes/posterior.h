/* The posterior of a network's weights: N(loc, sigma^2) each, sigma = softplus(rho) + 1.1920929e-7.
 *
 * An object of this type knows where the Bayesian weights lie and keeps sigma and its slope for one state of the
 * parameters. All work on it is divided into fixed blocks, so results are the same for any number of threads. It serves
 * an MCDN, too, which has no Bayesian weights: then everything is a copy, and the KL is 0. */
#ifndef CRD_BAYES_POSTERIOR_H
#define CRD_BAYES_POSTERIOR_H

#include "base/parallel.h"
#include "bayes/summary.h"
#include "net/net.h"

typedef struct crd_bayes_layer {
    int number; /* of the convolution */
    int64_t channels_in, channels_out;
    int64_t count;               /* weights */
    int64_t first;               /* the first one's place among all Bayesian weights */
    int64_t first_in, first_out; /* its channels' places among all input and all output channels */
    int64_t loc, rho;            /* offsets in the model layout */
    int64_t kernel;              /* offset in the point layout */
} crd_bayes_layer;

typedef struct crd_bayes_block { /* whole rows of channels_out weights of one layer */
    const crd_bayes_layer *layer;
    int64_t first, count; /* weights within the layer */
} crd_bayes_block;

typedef struct crd_point_block { /* parameters that are points in both layouts */
    int64_t model, point, count;
} crd_point_block;

typedef struct crd_posterior {
    const crd_net *net; /* borrowed */
    int layer_count;
    crd_bayes_layer layers[CRD_LAYERS_MAX];
    int64_t weights, channels_in, channels_out; /* of all Bayesian layers together */
    int64_t block_count, point_block_count;
    crd_bayes_block *blocks;
    crd_point_block *point_blocks;
    float *sigma, *slope; /* [weights]: as of the last update; slope = d sigma / d rho */
    double *sums;         /* [block_count][2]: scratch of reductions */
    void *memory;         /* one block behind all of the above */
} crd_posterior;

crd_status crd_posterior_create(const crd_net *net, crd_posterior **out);
void crd_posterior_free(crd_posterior **posterior);
/* One without the arrays, for those who only want to know how large they would be. */
void crd_posterior_measure(const crd_net *net, crd_posterior *out);
int64_t crd_posterior_bytes(const crd_posterior *posterior);

/* A share of all parameters, for one of several processes: whole blocks that follow each other in the point layout. The
 * functions that take one do their work for its blocks only; NULL stands for everything. */
typedef struct crd_range {
    int64_t begin, end;
} crd_range;

enum { CRD_PART_RANGES = 2 * CRD_LAYERS_MAX + 2 };
typedef struct crd_posterior_part {
    crd_range blocks, point_blocks;
    crd_range points;  /* in the point layout */
    crd_range weights; /* among all Bayesian weights */
    int model_count, seen_count;
    crd_range model[CRD_PART_RANGES]; /* all its parameters, in the model layout */
    crd_range seen[CRD_PART_RANGES];  /* those of them that are also in the point layout: all but the rhos */
} crd_posterior_part;

/* Number `rank` of `size` of about the same work. */
void crd_posterior_part_make(const crd_posterior *posterior, int size, int rank, crd_posterior_part *out);

static inline crd_range crd_posterior_part_blocks(const crd_posterior *posterior, const crd_posterior_part *part)
{
    return part != NULL ? part->blocks : (crd_range){0, posterior->block_count};
}

/* Takes sigma and slope from the model's parameters: needed after every change of them. */
void crd_posterior_update(crd_posterior *posterior, crd_pool *pool, const crd_posterior_part *part, const float *model);

/* What training prints about the posterior. Both are 0 without Bayesian weights. */
void crd_posterior_summarise(const crd_posterior *posterior, crd_pool *pool, const float *model,
                             crd_posterior_summary *out);

#endif
