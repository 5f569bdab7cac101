/* Posterior, draws, KL and dropout: against the textbook in double and the reference files, by their moments, by the
 * streams they are promised to come from, and byte by byte for several numbers of threads. */
#include "base/random/philox.h"
#include "bayes/draw.h"
#include "bayes/prior.h"
#include "bayes/reference_bayes.h"
#include "bayes/weight_math.h"
#include "harness.h"
#include "net/init.h"
#include "ops/reference.h"
#include "reference_data.h"

static const crd_prior_settings unit_prior = {.std = 1};

/* Everything that a draw needs, for one network. */
typedef struct fixture {
    crd_net net;
    crd_pool *pool;
    crd_posterior *posterior;
    crd_noise_source *source;
    float *model, *point;
} fixture;

static crd_status set_up(crd_kind kind, int filters, int groups, int threads, fixture *f)
{
    memset(f, 0, sizeof *f);
    CRD_PASS(crd_net_describe(kind, filters, groups, &f->net));
    CRD_PASS(crd_pool_create(threads, &f->pool));
    CRD_PASS(crd_posterior_create(&f->net, &f->posterior));
    CRD_PASS(crd_noise_source_create(f->posterior, &f->source));
    f->model = calloc((size_t)f->net.model.total, sizeof(float));
    f->point = calloc((size_t)f->net.point.total, sizeof(float));
    if (f->model == NULL || f->point == NULL) return CRD_ERR_MEMORY;
    crd_net_init(&f->net, 11, f->model);
    crd_posterior_update(f->posterior, f->pool, NULL, f->model);
    return CRD_OK;
}

static void tear_down(fixture *f)
{
    crd_noise_source_free(&f->source);
    crd_posterior_free(&f->posterior);
    crd_pool_free(&f->pool);
    free(f->model);
    free(f->point);
}

static void draw(fixture *f, crd_estimator estimator, uint32_t step, uint32_t example)
{
    const crd_noise *noise = crd_noise_draw(f->source, f->pool, NULL, estimator, 5, step, example);
    crd_draw_points(f->posterior, f->pool, f->model, f->point);
    crd_draw_kernels(f->posterior, f->pool, f->model, noise, f->point);
}

static double kl_of(const fixture *f, const crd_prior *prior, const crd_prior_settings *settings,
                    const crd_noise *noise)
{
    crd_kl_blocks(f->posterior, f->pool, NULL, prior, settings, f->model, noise);
    return crd_kl_total(f->posterior);
}

static double *widen(int64_t count, const float *from)
{
    double *values = calloc((size_t)count, sizeof *values);
    if (values == NULL) exit(1);
    for (int64_t i = 0; from != NULL && i < count; i++) values[i] = from[i];
    return values;
}

/* Largest difference of two flat buffers, of the largest value, parameter by parameter. */
static double layout_error(const crd_layout *layout, const float *computed, const double *expected)
{
    double worst = 0;
    for (int p = 0; p < layout->count; p++) {
        const crd_parameter *parameter = &layout->parameters[p];
        comparison c = {0};
        for (int64_t i = parameter->offset; i < parameter->offset + parameter->count; i++)
            compare(&c, computed[i], expected[i]);
        worst = worse(worst, relative_error(&c));
    }
    return worst;
}

static void test_sigma(void)
{
    fixture f;
    CHECK_OK(set_up(CRD_BCNN, 8, 4, 2, &f));
    const float rhos[5] = {-100, -3, 0, 0.5f, 50};
    float *rho = f.model + f.posterior->layers[0].rho;
    memcpy(rho, rhos, sizeof rhos);
    crd_posterior_update(f.posterior, f.pool, NULL, f.model);
    for (int64_t i = 0; i < f.posterior->layers[0].count; i++) {
        const double sigma = log1p(exp(-fabs((double)rho[i]))) + fmax(rho[i], 0) + 1.1920929e-7;
        CHECK_NEAR(f.posterior->sigma[i] / sigma, 1, 1.2e-7);
        CHECK_NEAR(f.posterior->slope[i], 1 / (1 + exp(-(double)rho[i])), 6e-8);
    }
    CHECK(f.posterior->sigma[0] > 0); /* never zero, so that 1 / sigma stays finite */
    CHECK(f.posterior->weights == 482292 - 351707);
    tear_down(&f);
}

/* All instruction paths of this CPU give the same bits, at any place of a vector. */
static void test_paths_agree(void)
{
    enum { VALUES = 1003 };
    float rho[VALUES], sigma[2][VALUES], slope[2][VALUES];
    double logarithm[2][VALUES];
    for (int i = 0; i < VALUES; i++) rho[i] = (float)(i - 500) * 0.05f;
    crd_weight_maths[0].sigmas(VALUES, rho, sigma[0], slope[0]);
    crd_weight_maths[0].logarithms(VALUES, sigma[0], logarithm[0]);
    for (int p = 1; p < CRD_CPU_PATH_COUNT; p++) {
        const crd_weight_math *path = &crd_weight_maths[p];
        if (!have_cpu(p)) continue;
        path->sigmas(VALUES, rho, sigma[1], slope[1]);
        path->logarithms(VALUES, sigma[0], logarithm[1]);
        CHECK(memcmp(sigma[0], sigma[1], sizeof sigma[0]) == 0);
        CHECK(memcmp(slope[0], slope[1], sizeof slope[0]) == 0);
        CHECK(memcmp(logarithm[0], logarithm[1], sizeof logarithm[0]) == 0);
        printf("       %s\n", crd_cpu_name((crd_cpu)p));
    }
}

/* The reference file's noise, and the reverse: with signs, without, and without any noise. */
static void test_draw_with_given_noise(void)
{
    const reference_case *c = reference_load(CRD_BCNN);
    fixture f;
    CHECK_OK(set_up(CRD_BCNN, 8, 4, 2, &f));
    memcpy(f.model, c->model, (size_t)f.net.model.total * sizeof(float));
    crd_posterior_update(f.posterior, f.pool, NULL, f.model);
    crd_noise unsigned_noise = c->noise[0];
    memset(unsigned_noise.sign_in, 0, sizeof unsigned_noise.sign_in);
    memset(unsigned_noise.sign_out, 0, sizeof unsigned_noise.sign_out);
    const crd_noise none = {0}, *noises[4] = {&c->noise[0], &c->noise[1], &unsigned_noise, &none};

    const int64_t points = f.net.point.total, parameters = f.net.model.total;
    double *model = widen(parameters, f.model), *expected = widen(points, NULL), *gradient = widen(points, NULL);
    float *point_gradient = calloc((size_t)points, sizeof(float));
    for (int64_t i = 0; i < points; i++) gradient[i] = point_gradient[i] = (float)((i * 7919) % 1000 - 500) / 500;
    for (int n = 0; n < 4; n++) {
        crd_draw_points(f.posterior, f.pool, f.model, f.point);
        crd_draw_kernels(f.posterior, f.pool, f.model, noises[n], f.point);
        crd_ref_draw(&f.net, model, noises[n], expected);
        CHECK(layout_error(&f.net.point, f.point, expected) < 2e-7);

        float *sum = calloc((size_t)parameters, sizeof(float));
        double *expected_sum = widen(parameters, NULL);
        for (int example = 0; example < 2; example++) { /* the second adds to the first */
            crd_draw_backward(f.posterior, f.pool, NULL, noises[n], point_gradient, sum);
            crd_ref_draw_backward(&f.net, model, noises[n], gradient, expected_sum);
        }
        CHECK(layout_error(&f.net.model, sum, expected_sum) < 1e-6);
        free(sum);
        free(expected_sum);
    }
    free(model);
    free(expected);
    free(gradient);
    free(point_gradient);
    tear_down(&f);
}

static void test_kl(void)
{
    const reference_case *c = reference_load(CRD_BCNN);
    fixture f;
    CHECK_OK(set_up(CRD_BCNN, 8, 4, 2, &f));
    memcpy(f.model, c->model, (size_t)f.net.model.total * sizeof(float));
    crd_posterior_update(f.posterior, f.pool, NULL, f.model);
    const double kl = kl_of(&f, &crd_prior_normal, &unit_prior, NULL);
    printf("       kl: %.2e\n", fabs(kl / c->kl - 1));
    CHECK_NEAR(kl / c->kl, 1, 1e-6);

    float *gradient = calloc((size_t)f.net.model.total, sizeof(float));
    crd_kl_gradient(f.posterior, f.pool, NULL, &crd_prior_normal, &unit_prior, f.model, NULL, 1, gradient);
    double *wide = widen(f.net.model.total, gradient), worst = 0;
    for (int p = 0; p < f.net.model.count; p++) {
        if (c->gradient_kl[p].count == 0) continue;
        const reference_error error = reference_compare(&c->gradient_kl[p], wide + f.net.model.parameters[p].offset);
        worst = worse(worst, worse(error.values, error.measure));
    }
    printf("       kl_gradient: %.2e\n", worst);
    CHECK(worst < 1e-6);

    const crd_prior_settings narrow = {.std = 0.3};
    double *model = widen(f.net.model.total, f.model), *expected = widen(f.net.model.total, NULL);
    const double value = crd_ref_kl(&f.net, model, 0.3, 1e-3, expected);
    memset(gradient, 0, (size_t)f.net.model.total * sizeof(float));
    crd_kl_gradient(f.posterior, f.pool, NULL, &crd_prior_normal, &narrow, f.model, NULL, 1e-3, gradient);
    CHECK(layout_error(&f.net.model, gradient, expected) < 1e-6);
    CHECK_NEAR(kl_of(&f, &crd_prior_normal, &narrow, NULL) / value, 1, 1e-6);
    free(gradient);
    free(wide);
    free(model);
    free(expected);
    tear_down(&f);
}

/* A weight at the prior has no KL, and no gradient. */
static void test_kl_at_the_prior(void)
{
    const float loc = 0, sigma = 2, slope = 0.5f;
    float dloc = 0, drho = 0;
    const crd_prior_settings prior = {.std = 2};
    const crd_prior_weights weights = {.count = 1, .loc = &loc, .sigma = &sigma, .slope = &slope};
    CHECK_NEAR(crd_prior_normal.kl_value(&prior, &weights), 0, 1e-15);
    crd_prior_normal.kl_gradient(&prior, &weights, 1, &dloc, &drho);
    CHECK(dloc == 0 && drho == 0);
}

/* A prior without a closed form: here the normal one, as if it had none, by ln q(w) - ln p(w) at the drawn weight. */
static double sampled_value(const crd_prior_settings *settings, const crd_prior_weights *weights)
{
    double sum = 0;
    for (int64_t i = 0; i < weights->count; i++) {
        const double eps = weights->eps[i], w = weights->loc[i] + weights->sigma[i] * eps, z = w / settings->std;
        sum += log(settings->std / weights->sigma[i]) - eps * eps / 2 + z * z / 2;
    }
    return sum;
}

static void sampled_gradient(const crd_prior_settings *settings, const crd_prior_weights *weights, double scale,
                             float *dloc, float *drho)
{
    for (int64_t i = 0; i < weights->count; i++) {
        const double eps = weights->eps[i], w = weights->loc[i] + weights->sigma[i] * eps;
        const double pull = w / (settings->std * settings->std);
        dloc[i] += (float)(scale * pull);
        drho[i] += (float)(scale * (pull * eps - 1 / weights->sigma[i]) * weights->slope[i]);
    }
}

static void test_sampled_prior(void)
{
    enum { DRAWS = 400 };
    const crd_prior sampled = {"sampled", true, sampled_value, sampled_gradient};
    const crd_prior_settings prior = {.std = 0.2};
    fixture f;
    CHECK_OK(set_up(CRD_BCNN, 2, 2, 2, &f));
    float *gradient = calloc((size_t)f.net.model.total, sizeof(float));
    float *expected = calloc((size_t)f.net.model.total, sizeof(float));
    double sum = 0, squares = 0, difference = 0, size = 0;
    for (uint32_t d = 0; d < DRAWS; d++) {
        const crd_noise *noise = crd_noise_draw(f.source, f.pool, NULL, CRD_FLIPOUT, 5, d, 1);
        const double kl = kl_of(&f, &sampled, &prior, noise);
        sum += kl;
        squares += kl * kl;
        crd_kl_gradient(f.posterior, f.pool, NULL, &sampled, &prior, f.model, noise, 1.0 / DRAWS, gradient);
    }
    const double mean = sum / DRAWS, error = sqrt((squares / DRAWS - mean * mean) / DRAWS);
    const double exact = kl_of(&f, &crd_prior_normal, &prior, NULL);
    printf("       sampled %.2f +- %.2f, exact %.2f\n", mean, error, exact);
    CHECK_NEAR(mean, exact, 4 * error);
    CHECK(error < 0.01 * exact);
    crd_kl_gradient(f.posterior, f.pool, NULL, &crd_prior_normal, &prior, f.model, NULL, 1, expected);
    for (int64_t i = 0; i < f.net.model.total; i++) {
        difference += pow(gradient[i] - expected[i], 2);
        size += pow(expected[i], 2);
    }
    printf("       gradient off by %.3f of its norm\n", sqrt(difference / size));
    CHECK(difference < 0.01 * size);
    free(gradient);
    free(expected);
    tear_down(&f);
}

/* Mean and variance of every weight over many draws. Summed over n weights, z^2 has mean n and variance 2n; the sample
 * variance v of d draws has mean sigma^2 and variance 2 sigma^4 / (d - 1). */
static void check_moments(crd_estimator estimator, bool over_examples)
{
    enum { DRAWS = 2000 };
    fixture f;
    CHECK_OK(set_up(CRD_BCNN, 2, 2, 1, &f));
    const int64_t weights = f.posterior->weights;
    double *sum = widen(weights, NULL), *squares = widen(weights, NULL);
    for (uint32_t d = 0; d < DRAWS; d++) {
        draw(&f, estimator, over_examples ? 0 : d, over_examples ? d : 0);
        for (int l = 0; l < f.posterior->layer_count; l++) {
            const crd_bayes_layer *layer = &f.posterior->layers[l];
            for (int64_t i = 0; i < layer->count; i++) {
                const double z = ((double)f.point[layer->kernel + i] - f.model[layer->loc + i]) /
                                 f.posterior->sigma[layer->first + i];
                sum[layer->first + i] += z;
                squares[layer->first + i] += z * z;
            }
        }
    }
    double chi = 0, excess = 0, worst = 0;
    for (int64_t i = 0; i < weights; i++) {
        const double mean = sum[i] / DRAWS, variance = (squares[i] - DRAWS * mean * mean) / (DRAWS - 1);
        chi += mean * mean * DRAWS;
        excess += (variance - 1) / sqrt(2.0 / (DRAWS - 1));
        worst = worse(worst, fabs(mean) * sqrt(DRAWS));
    }
    const double n = (double)weights;
    printf("       %s: chi^2 of the means %.2f sigma off, variances %.2f sigma off, worst mean %.2f sigma\n",
           estimator == CRD_FLIPOUT ? "flipout" : "independent", (chi - n) / sqrt(2 * n), excess / sqrt(n), worst);
    CHECK(fabs((chi - n) / sqrt(2 * n)) < 4);
    CHECK(fabs(excess / sqrt(n)) < 4);
    CHECK(worst < 5.5);
    free(sum);
    free(squares);
    tear_down(&f);
}

static void test_moments_of_flipout(void)
{
    check_moments(CRD_FLIPOUT, false);
}

static void test_moments_of_independent(void)
{
    check_moments(CRD_INDEPENDENT, false); /* the samples of a prediction */
    check_moments(CRD_INDEPENDENT, true);  /* the examples of one step */
}

/* Within a step flipout's examples share one |eps|; averaged over their signs the noise cancels. */
static void test_flipout_over_examples(void)
{
    enum { EXAMPLES = 400 };
    fixture f;
    CHECK_OK(set_up(CRD_BCNN, 2, 2, 1, &f));
    const crd_bayes_layer *layer = &f.posterior->layers[1];
    double sum = 0;
    int64_t positive = 0;
    for (uint32_t e = 0; e < EXAMPLES; e++) {
        draw(&f, CRD_FLIPOUT, 3, e);
        const crd_noise *noise = crd_noise_draw(f.source, f.pool, NULL, CRD_FLIPOUT, 5, 3, e);
        for (int64_t i = 0; i < layer->count; i++) {
            const float noisy = f.point[layer->kernel + i] - f.model[layer->loc + i];
            const float size = f.posterior->sigma[layer->first + i] * noise->eps[layer->number][i];
            const float sign = noise->sign_in[layer->number][i / layer->channels_out % layer->channels_in] *
                               noise->sign_out[layer->number][i % layer->channels_out];
            CHECK(sign == 1 || sign == -1);
            CHECK(fabsf(noisy - sign * size) <= 1e-6f);
            positive += sign > 0;
            sum += sign;
        }
    }
    const double signs = (double)(EXAMPLES * layer->channels_in * layer->channels_out); /* distinct ones */
    CHECK(fabs(sum / (double)(EXAMPLES * layer->count)) < 4 / sqrt(signs));
    CHECK(positive > 0 && positive < EXAMPLES * layer->count);
    tear_down(&f);
}

/* conv(x * s_in, D) * s_out = conv(x, s_in * D * s_out): folding the signs into the kernel is flipout exactly. */
static void test_flipout_is_exact(void)
{
    enum { IN = 3, OUT = 2, VOXELS = 3 * 2 * 4 };
    const crd_ref_conv conv = {.size = {3, 2, 4, {IN, 0}, OUT}, .edge = 3, .enlarge = 1};
    const double sign_in[IN] = {1, -1, -1}, sign_out[OUT] = {-1, 1};
    double x[VOXELS * IN], flipped[VOXELS * IN], kernel[27 * IN * OUT], folded[27 * IN * OUT];
    double y[VOXELS * OUT], z[VOXELS * OUT];
    const crd_stream stream = {.seed = 9, .purpose = CRD_PURPOSE_PHANTOM};
    for (int i = 0; i < VOXELS * IN; i++) {
        x[i] = crd_random_normal(&stream, (uint64_t)i);
        flipped[i] = x[i] * sign_in[i % IN];
    }
    for (int i = 0; i < 27 * IN * OUT; i++) {
        kernel[i] = crd_random_normal(&stream, 1000 + (uint64_t)i);
        folded[i] = kernel[i] * sign_in[i / OUT % IN] * sign_out[i % OUT];
    }
    crd_ref_conv_forward_d(&conv, flipped, NULL, kernel, NULL, y);
    crd_ref_conv_forward_d(&conv, x, NULL, folded, NULL, z);
    for (int i = 0; i < VOXELS * OUT; i++) CHECK(y[i] * sign_out[i % OUT] == z[i]);
}

/* The streams are part of the contract: seed, layer, purpose, step, example. */
static void test_streams(void)
{
    enum { D3A = 9, POINT = 18 }; /* decoder/3/a, head/point */
    fixture f;
    CHECK_OK(set_up(CRD_BCNN, 4, 4, 2, &f));
    const crd_estimator estimators[2] = {CRD_FLIPOUT, CRD_INDEPENDENT};
    for (int n = 0; n < 2; n++) {
        const crd_noise *noise = crd_noise_draw(f.source, f.pool, NULL, estimators[n], 77, 12, 3);
        for (int i = 0; i < f.net.layer_count; i++) {
            CHECK((noise->eps[i] != NULL) == f.net.layers[i].bayesian);
            CHECK((noise->sign_in[i] != NULL) == (f.net.layers[i].bayesian && estimators[n] == CRD_FLIPOUT));
        }
        crd_stream stream = {.seed = 77, .layer = D3A, .purpose = CRD_PURPOSE_WEIGHT_NOISE, .step = 12};
        stream.example = estimators[n] == CRD_FLIPOUT ? 0 : 3;
        const int64_t last = 27 * 32 * 16 - 1; /* in a later block than the first */
        CHECK(noise->eps[D3A][0] == crd_random_normal(&stream, 0));
        CHECK(noise->eps[D3A][last] == crd_random_normal(&stream, (uint64_t)last));
        if (estimators[n] != CRD_FLIPOUT) continue;
        stream.example = 3;
        stream.purpose = CRD_PURPOSE_SIGN_IN;
        CHECK(noise->sign_in[D3A][5] == crd_random_sign(&stream, 5));
        stream.purpose = CRD_PURPOSE_SIGN_OUT;
        CHECK(noise->sign_out[D3A][7] == crd_random_sign(&stream, 7));
    }
    const float first = crd_noise_draw(f.source, f.pool, NULL, CRD_FLIPOUT, 77, 12, 3)->eps[POINT][0];
    CHECK(crd_noise_draw(f.source, f.pool, NULL, CRD_FLIPOUT, 77, 12, 4)->eps[POINT][0] == first);
    CHECK(crd_noise_draw(f.source, f.pool, NULL, CRD_FLIPOUT, 77, 13, 4)->eps[POINT][0] != first);
    CHECK(crd_noise_draw(f.source, f.pool, NULL, CRD_FLIPOUT, 78, 12, 4)->eps[POINT][0] != first);
    CHECK(crd_noise_draw(f.source, f.pool, NULL, CRD_INDEPENDENT, 77, 12, 0)->eps[POINT][0] == first);
    CHECK(crd_noise_draw(f.source, f.pool, NULL, CRD_MEAN, 77, 12, 0)->eps[POINT] == NULL);
    tear_down(&f);
}

static void test_dropout(void)
{
    crd_net net;
    float masks[15 * 16], others[15 * 16];
    CHECK_OK(crd_net_describe(CRD_MCDN, 16, 4, &net));
    CHECK(net.mask_total == 15 * 16);
    int64_t kept = 0, changed = 0;
    enum { SAMPLES = 200 };
    for (uint32_t s = 0; s < SAMPLES; s++) {
        crd_dropout_draw(&net, 4, s, 2, masks);
        crd_dropout_draw(&net, 4, s, 3, others);
        for (int i = 0; i < 15 * 16; i++) {
            CHECK(masks[i] == 0 || masks[i] == 2);
            kept += masks[i] == 2;
            changed += masks[i] != others[i];
        }
    }
    const double count = SAMPLES * 15 * 16, four_sigma = 4 * 0.5 / sqrt(count);
    CHECK_NEAR((double)kept / count, 0.5, four_sigma);
    CHECK_NEAR((double)changed / count, 0.5, four_sigma);
    crd_dropout_draw(&net, 4, 9, 2, masks);
    enum { SITE = 1, LAYERS = 19 }; /* behind decoder/3/b; the sites' streams follow the layers' */
    const crd_stream stream = {
        .seed = 4, .layer = LAYERS + SITE, .purpose = CRD_PURPOSE_DROPOUT, .step = 9, .example = 2};
    for (uint64_t i = 0; i < 64; i++)
        CHECK(masks[net.mask_offset[SITE] + (int64_t)i] == 1 + crd_random_sign(&stream, i));
}

static void test_summary(void)
{
    fixture f;
    CHECK_OK(set_up(CRD_BCNN, 4, 4, 2, &f));
    crd_posterior_summary summary;
    double sigma = 0, certain = 0;
    for (int l = 0; l < f.posterior->layer_count; l++)
        for (int64_t i = 0; i < f.posterior->layers[l].count; i++) {
            const float own = f.posterior->sigma[f.posterior->layers[l].first + i];
            sigma += own;
            certain += fabsf(f.model[f.posterior->layers[l].loc + i]) > own;
        }
    crd_posterior_summarise(f.posterior, f.pool, f.model, &summary);
    CHECK_NEAR(summary.mean_sigma, sigma / (double)f.posterior->weights, 1e-9);
    CHECK_NEAR(summary.certain_share, certain / (double)f.posterior->weights, 1e-12);
    CHECK_NEAR(summary.mean_sigma, log1p(exp(-3)), 1e-3); /* as it starts */
    tear_down(&f);
}

/* An MCDN has no posterior: its weights are copied, its KL is 0. */
static void test_mcdn_is_a_copy(void)
{
    fixture f;
    CHECK_OK(set_up(CRD_MCDN, 4, 4, 2, &f));
    draw(&f, CRD_INDEPENDENT, 1, 2);
    CHECK(memcmp(f.model, f.point, (size_t)f.net.model.total * sizeof(float)) == 0);
    CHECK(kl_of(&f, &crd_prior_normal, &unit_prior, NULL) == 0);
    crd_posterior_summary summary;
    crd_posterior_summarise(f.posterior, f.pool, f.model, &summary);
    CHECK(summary.mean_sigma == 0 && summary.certain_share == 0);
    float *gradient = calloc((size_t)f.net.model.total, sizeof(float));
    const crd_noise *noise = crd_noise_draw(f.source, f.pool, NULL, CRD_FLIPOUT, 5, 1, 2);
    crd_draw_backward(f.posterior, f.pool, NULL, noise, f.point, gradient);
    CHECK(memcmp(gradient, f.model, (size_t)f.net.model.total * sizeof(float)) == 0);
    free(gradient);
    tear_down(&f);
}

static void test_same_bytes_for_any_threads(void)
{
    static const int threads[3] = {1, 2, 5};
    float *points[3] = {NULL}, *gradients[3] = {NULL};
    double kl[3];
    crd_posterior_summary summaries[3];
    int64_t points_bytes = 0, gradient_bytes = 0;
    for (int t = 0; t < 3; t++) {
        fixture f;
        CHECK_OK(set_up(CRD_BCNN, 8, 4, threads[t], &f));
        points_bytes = f.net.point.total * (int64_t)sizeof(float);
        gradient_bytes = f.net.model.total * (int64_t)sizeof(float);
        points[t] = calloc(1, (size_t)points_bytes);
        gradients[t] = calloc(1, (size_t)gradient_bytes);
        draw(&f, CRD_FLIPOUT, 8, 1);
        memcpy(points[t], f.point, (size_t)points_bytes);
        const crd_noise *noise = crd_noise_draw(f.source, f.pool, NULL, CRD_FLIPOUT, 5, 8, 1);
        crd_draw_backward(f.posterior, f.pool, NULL, noise, f.point, gradients[t]);
        crd_kl_gradient(f.posterior, f.pool, NULL, &crd_prior_normal, &unit_prior, f.model, NULL, 1e-3, gradients[t]);
        kl[t] = kl_of(&f, &crd_prior_normal, &unit_prior, NULL);
        crd_posterior_summarise(f.posterior, f.pool, f.model, &summaries[t]);
        tear_down(&f);
    }
    for (int t = 1; t < 3; t++) {
        CHECK(memcmp(points[0], points[t], (size_t)points_bytes) == 0);
        CHECK(memcmp(gradients[0], gradients[t], (size_t)gradient_bytes) == 0);
        CHECK(kl[0] == kl[t]);
        CHECK(summaries[0].mean_sigma == summaries[t].mean_sigma);
        CHECK(summaries[0].certain_share == summaries[t].certain_share);
    }
    for (int t = 0; t < 3; t++) {
        free(points[t]);
        free(gradients[t]);
    }
}

static int64_t total(const crd_range *ranges, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) sum += ranges[i].end - ranges[i].begin;
    return sum;
}

/* Shares of any number cover everything once, also where there are more of them than blocks. */
static void test_parts(void)
{
    static const int sizes[] = {1, 2, 3, 5, 64, 5000};
    for (int kind = CRD_BCNN; kind <= CRD_MCDN; kind++) {
        fixture f;
        CHECK_OK(set_up((crd_kind)kind, 8, 4, 1, &f));
        uint8_t *seen = calloc((size_t)f.net.model.total, 1);
        for (size_t s = 0; seen != NULL && s < sizeof sizes / sizeof sizes[0]; s++) {
            crd_posterior_part part, before = {0};
            memset(seen, 0, (size_t)f.net.model.total);
            for (int rank = 0; rank < sizes[s]; rank++, before = part) {
                crd_posterior_part_make(f.posterior, sizes[s], rank, &part);
                CHECK(part.points.begin == before.points.end && part.weights.begin == before.weights.end);
                CHECK(part.blocks.begin == before.blocks.end && part.point_blocks.begin == before.point_blocks.end);
                CHECK(total(part.seen, part.seen_count) == part.points.end - part.points.begin);
                CHECK(total(part.model, part.model_count) == total(&part.points, 1) + total(&part.weights, 1));
                CHECK(sizes[s] > 1 || part.model_count == 1);
                for (int i = 0; i < part.model_count; i++) {
                    for (int64_t at = part.model[i].begin; at < part.model[i].end; at++) seen[at]++;
                }
            }
            CHECK(part.points.end == f.net.point.total && part.weights.end == f.posterior->weights);
            CHECK(part.blocks.end == f.posterior->block_count);
            CHECK(part.point_blocks.end == f.posterior->point_block_count);
            for (int64_t at = 0; at < f.net.model.total; at++) CHECK(seen[at] == 1);
        }
        free(seen);
        tear_down(&f);
    }
}

TEST_MAIN(TEST(test_sigma), TEST(test_paths_agree), TEST(test_draw_with_given_noise), TEST(test_kl),
          TEST(test_kl_at_the_prior), TEST(test_sampled_prior), TEST(test_moments_of_flipout),
          TEST(test_moments_of_independent), TEST(test_flipout_over_examples), TEST(test_flipout_is_exact),
          TEST(test_streams), TEST(test_dropout), TEST(test_summary), TEST(test_mcdn_is_a_copy),
          TEST(test_same_bytes_for_any_threads), TEST(test_parts))
