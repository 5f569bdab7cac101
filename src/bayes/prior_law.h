/* A prior of weights that is a mixture of two normals around 0, a wide and a narrow one:
 *
 *     p(w) = share * N(w; 0, wide^2) + (1 - share) * N(w; 0, narrow^2)
 *
 * It is the scale mixture of Blundell et al. 2015 and, with a narrow one that is hardly more than zero, the spike and
 * slab of George and McCulloch 1993. Its KL has no closed form: the posterior's entropy is exact, and -log p is taken
 * at one drawn weight. All of it is in this header, because plug-ins compute it, too. */
#ifndef CRD_BAYES_PRIOR_LAW_H
#define CRD_BAYES_PRIOR_LAW_H

#include "base/portable_math_inline.h"

typedef enum crd_prior_kind {
    CRD_PRIOR_NORMAL = 0, /* N(0, std^2) */
    CRD_PRIOR_MIXTURE = 1
} crd_prior_kind;

typedef struct crd_prior_settings {
    crd_prior_kind kind;
    double std;    /* of the normal prior, or of the wide normal */
    double narrow; /* standard deviation of the narrow one; mixture only */
    double share;  /* of the wide one, in (0, 1); mixture only */
} crd_prior_settings;

/* Draws for the KL are those of an example that no mini-batch has. */
#define CRD_PRIOR_EXAMPLE UINT32_MAX

typedef struct crd_mixture {
    double height[2];    /* log(share / std) of each */
    double precision[2]; /* 1 / std^2 */
} crd_mixture;

static inline crd_mixture crd_mixture_of(const crd_prior_settings *settings)
{
    crd_mixture law;
    law.height[0] = crd_log_inline(settings->share / settings->std);
    law.height[1] = crd_log_inline((1 - settings->share) / settings->narrow);
    law.precision[0] = 1 / (settings->std * settings->std);
    law.precision[1] = 1 / (settings->narrow * settings->narrow);
    return law;
}

/* -log p(w), without the half logarithm of 2 pi that it shares with the posterior's, and its slope. */
CRD_PORTABLE double crd_mixture_surprise(const crd_mixture *law, double w, double *slope)
{
    const double half_square = 0.5 * w * w;
    const double wide = law->height[0] - crd_mul(half_square, law->precision[0]);
    const double narrow = law->height[1] - crd_mul(half_square, law->precision[1]);
    const double larger = crd_select(wide > narrow, wide, narrow), e = crd_exp_inline(-fabs(wide - narrow));
    const double of_wide = crd_select(wide > narrow, 1, e) / (1 + e); /* the chance that w is the wide one's */
    *slope = w * (crd_mul(of_wide, law->precision[0]) + crd_mul(1 - of_wide, law->precision[1]));
    return -(larger + crd_log1p_unit(e));
}

#endif
