/* What is said of all of a network's Bayesian weights together; all 0 where it has none. */
#ifndef CRD_BAYES_SUMMARY_H
#define CRD_BAYES_SUMMARY_H

typedef struct crd_posterior_summary {
    double mean_sigma;
    double certain_share; /* of weights with |loc| > sigma */
} crd_posterior_summary;

#endif
