/* Priors without a closed form: their KL against numerical integration, its gradient against differences, and draws
 * that depend on the step alone. */
#include "base/random/philox.h"
#include "bayes/draw.h"
#include "bayes/prior.h"
#include "harness.h"

static const crd_prior_settings laws[] = {
    {CRD_PRIOR_MIXTURE, 1.0, 0.0025, 0.5},
    {CRD_PRIOR_MIXTURE, 1.0, 0.01, 0.2},
    {CRD_PRIOR_MIXTURE, 0.3, 0.1, 0.9},
};
enum { LAWS = sizeof laws / sizeof laws[0] };

static double sigma_of(double rho)
{
    return log1p(exp(rho)) + 1.1920929e-7;
}

/* -log sigma - 1/2 - log p(w), by the definition. */
static double exact_value(const crd_prior_settings *law, double loc, double rho, double eps)
{
    const double sigma = sigma_of(rho), w = loc + sigma * eps;
    const double wide = law->share / law->std * exp(-0.5 * w * w / (law->std * law->std));
    const double narrow = (1 - law->share) / law->narrow * exp(-0.5 * w * w / (law->narrow * law->narrow));
    return -log(sigma) - 0.5 - log(wide + narrow);
}

/* A grid of weights from far inside the spike to far out in the slab. */
enum { WEIGHTS = 6 * 5 * 5 };
typedef struct weights {
    float loc[WEIGHTS], rho[WEIGHTS], sigma[WEIGHTS], slope[WEIGHTS], eps[WEIGHTS];
} weights;

static crd_prior_weights fill(weights *w)
{
    static const float locs[] = {0, 0.001f, -0.004f, 0.05f, -0.4f, 1.5f}, rhos[] = {-7, -4, -3, -1, 0.5f};
    static const float draws[] = {-2.5f, -0.3f, 0, 0.9f, 3};
    for (int i = 0; i < WEIGHTS; i++) {
        w->loc[i] = locs[i / 25];
        w->rho[i] = rhos[i / 5 % 5];
        w->eps[i] = draws[i % 5];
        w->sigma[i] = (float)sigma_of(w->rho[i]);
        w->slope[i] = (float)(1 / (1 + exp(-w->rho[i])));
    }
    return (crd_prior_weights){WEIGHTS, w->loc, w->sigma, w->slope, w->eps};
}

static void test_value(void)
{
    weights w;
    const crd_prior_weights all = fill(&w);
    for (int k = 0; k < LAWS; k++) {
        double expected = 0;
        for (int i = 0; i < WEIGHTS; i++) expected += exact_value(&laws[k], w.loc[i], w.rho[i], w.eps[i]);
        const double value = crd_prior_mixture.kl_value(&laws[k], &all);
        printf("       law %d: %.9g, %.1e off\n", k, value, fabs(value / expected - 1));
        CHECK_NEAR(value / expected, 1, 1e-6); /* sigma is a float */
    }
    CHECK(crd_prior_of(&laws[0]) == &crd_prior_mixture &&
          crd_prior_of(&(crd_prior_settings){.std = 1}) == &crd_prior_normal);
}

static void test_gradient(void)
{
    weights w;
    const crd_prior_weights all = fill(&w);
    const double scale = 0.25, step = 1e-6;
    for (int k = 0; k < LAWS; k++) {
        float dloc[WEIGHTS] = {0}, drho[WEIGHTS] = {0};
        double worst = 0;
        crd_prior_mixture.kl_gradient(&laws[k], &all, scale, dloc, drho);
        for (int i = 0; i < WEIGHTS; i++) {
            const double loc = w.loc[i], rho = w.rho[i], eps = w.eps[i];
            const double by_loc =
                (exact_value(&laws[k], loc + step, rho, eps) - exact_value(&laws[k], loc - step, rho, eps)) /
                (2 * step) * scale;
            const double by_rho =
                (exact_value(&laws[k], loc, rho + step, eps) - exact_value(&laws[k], loc, rho - step, eps)) /
                (2 * step) * scale;
            worst = worse(worst, apart((double)dloc[i], by_loc) / (1 + fabs(by_loc)));
            worst = worse(worst, apart((double)drho[i], by_rho) / (1 + fabs(by_rho)));
        }
        printf("       law %d: %.1e\n", k, worst);
        CHECK(worst < 1e-4);
    }
}

/* The mean over draws is the KL: the integral of q (log q - log p). */
static void test_mean_over_draws(void)
{
    enum { DRAWS = 20000 };
    static float loc[DRAWS], sigma[DRAWS], slope[DRAWS], eps[DRAWS];
    const double mean = 0.02, rho = -4;
    for (int k = 0; k < LAWS; k++) {
        double integral = 0, weight = 0;
        for (double e = -8; e <= 8; e += 1e-4) {
            const double density = exp(-0.5 * e * e);
            integral += density * exact_value(&laws[k], mean, rho, e);
            weight += density;
        }
        integral /= weight;
        const crd_stream stream = {.seed = 3, .purpose = CRD_PURPOSE_WEIGHT_NOISE};
        crd_random_fill_normal(&stream, 0, DRAWS, eps);
        for (int i = 0; i < DRAWS; i++) {
            loc[i] = (float)mean;
            sigma[i] = (float)sigma_of(rho);
            slope[i] = 0;
        }
        const crd_prior_weights all = {DRAWS, loc, sigma, slope, eps};
        const double drawn = crd_prior_mixture.kl_value(&laws[k], &all) / DRAWS;
        printf("       law %d: %.4f, integral %.4f\n", k, drawn, integral);
        CHECK_NEAR(drawn, integral, 0.05 * (1 + fabs(integral)));
    }
}

/* Two normals of the same width are one: -log p is exact then, and the rest is the normal's KL but for the draw. */
static void test_equal_widths(void)
{
    weights w;
    const crd_prior_weights all = fill(&w);
    const crd_prior_settings both = {CRD_PRIOR_MIXTURE, 0.7, 0.7, 0.3};
    double expected = 0;
    for (int i = 0; i < WEIGHTS; i++) {
        const double drawn = (double)w.loc[i] + (double)w.sigma[i] * (double)w.eps[i];
        expected += -log((double)w.sigma[i]) - 0.5 + log(0.7) + drawn * drawn / (2 * 0.49);
    }
    CHECK_NEAR(crd_prior_mixture.kl_value(&both, &all) / expected, 1, 1e-9);
}

TEST_MAIN(TEST(test_value), TEST(test_gradient), TEST(test_mean_over_draws), TEST(test_equal_widths))
