/* Where training starts, and how it steps. */
#include "base/random/philox.h"
#include "harness.h"
#include "net/adam.h"
#include "net/init.h"
#include "ops/reference.h"

typedef struct moments {
    double mean, std, largest;
} moments;

static moments moments_of(const crd_parameter *parameter, const float *values)
{
    moments result = {0};
    const double count = (double)parameter->count;
    for (int64_t i = 0; i < parameter->count; i++) result.mean += values[parameter->offset + i] / count;
    for (int64_t i = 0; i < parameter->count; i++) {
        const double difference = values[parameter->offset + i] - result.mean;
        result.std += difference * difference / count;
        result.largest = worse(result.largest, fabs((double)values[parameter->offset + i]));
    }
    result.std = sqrt(result.std);
    return result;
}

/* Every parameter by its law; means and deviations within 5 of their own standard errors. */
static void check_initial_values(crd_kind kind)
{
    crd_net net;
    CHECK_OK(crd_net_describe(kind, 16, 4, &net));
    float *values = calloc((size_t)net.model.total, sizeof(float));
    crd_net_init(&net, 3, values);
    for (int p = 0; p < net.model.count; p++) {
        const crd_parameter *parameter = &net.model.parameters[p];
        const moments found = moments_of(parameter, values);
        const bool bayesian = parameter->layer < net.layer_count && net.model.rho[parameter->layer] >= 0;
        const double count = (double)parameter->count, taps = pow((double)parameter->shape[0], 3);
        const double glorot =
            parameter->rank == 5 ? sqrt(6 / (taps * (double)(parameter->shape[3] + parameter->shape[4]))) : 0;
        double mean = 0, std = 0.1;
        switch (parameter->role) {
        case CRD_ROLE_LOC:
            break;
        case CRD_ROLE_RHO:
            mean = -3;
            break;
        case CRD_ROLE_KERNEL:
            std = glorot / sqrt(3);
            CHECK(found.largest <= glorot);
            break;
        case CRD_ROLE_BIAS:
            std = bayesian ? 0.1 : 0;
            break;
        case CRD_ROLE_GAMMA:
            mean = 1;
            std = 0;
            break;
        case CRD_ROLE_BETA:
            std = 0;
            break;
        }
        CHECK_NEAR(found.mean, mean, 5 * std / sqrt(count) + 1e-6);
        if (parameter->count >= 16) CHECK_NEAR(found.std, std, 5 * std / sqrt(2 * count) + 1e-6);
    }
    free(values);
}

static void test_initial_values_bcnn(void)
{
    check_initial_values(CRD_BCNN);
}

static void test_initial_values_mcdn(void)
{
    check_initial_values(CRD_MCDN);
}

static void test_initial_values_follow_the_seed(void)
{
    crd_net net;
    CHECK_OK(crd_net_describe(CRD_BCNN, 4, 4, &net));
    const size_t bytes = (size_t)net.model.total * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    crd_net_init(&net, 3, a);
    crd_net_init(&net, 3, b);
    crd_net_init(&net, 4, c);
    CHECK(memcmp(a, b, bytes) == 0);
    CHECK(memcmp(a, c, bytes) != 0);
    enum { D2A = 12 }; /* decoder/2/a: the numbers of streams are part of the contract */
    const crd_stream stream = {.seed = 3, .layer = D2A, .purpose = CRD_PURPOSE_INIT_LOC};
    CHECK(a[net.model.kernel[D2A] + 9] == (float)(0.1 * (double)crd_random_normal(&stream, 9)));
    free(a);
    free(b);
    free(c);
}

/* The head alone, from another place of the same streams for every draw. */
static void test_head_drawn_anew(void)
{
    for (int kind = CRD_BCNN; kind <= CRD_MCDN; kind++) {
        crd_net net;
        CHECK_OK(crd_net_describe((crd_kind)kind, 8, 4, &net));
        const size_t bytes = (size_t)net.model.total * sizeof(float);
        float *initial = malloc(bytes), *drawn = calloc(1, bytes);
        crd_net_init(&net, 3, initial);
        memcpy(drawn, initial, bytes);
        crd_net_init_head(&net, 3, 0, drawn);
        CHECK(memcmp(initial, drawn, bytes) == 0);
        crd_net_init_head(&net, 3, 109, drawn);
        for (int p = 0; p < net.model.count; p++) {
            const crd_parameter *parameter = &net.model.parameters[p];
            const bool constant = kind == CRD_MCDN && parameter->role == CRD_ROLE_BIAS;
            int64_t same = 0;
            for (int64_t i = 0; i < parameter->count; i++)
                same += initial[parameter->offset + i] == drawn[parameter->offset + i];
            CHECK(same == (strncmp(parameter->path, "head/", 5) == 0 && !constant ? 0 : parameter->count));
        }
        const crd_stream stream = {
            .seed = 3, .layer = (uint32_t)net.head, .purpose = CRD_PURPOSE_INIT_LOC, .step = 109};
        CHECK(kind == CRD_MCDN ||
              drawn[net.model.kernel[net.head] + 9] == (float)(0.1 * (double)crd_random_normal(&stream, 9)));
        free(initial);
        free(drawn);
    }
}

enum { COUNT = 100001, STEPS = 20 };

static void run_adam(int threads, float *w)
{
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(threads, &pool));
    float *m = calloc(COUNT, sizeof(float)), *v = calloc(COUNT, sizeof(float)), *g = calloc(COUNT, sizeof(float));
    for (int i = 0; i < COUNT; i++) w[i] = (float)(i % 13) - 6;
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COUNT; i++) g[i] = (float)((i * step) % 101 - 50) * 1e-4f;
        crd_adam_step(pool, COUNT, step, 1e-3, g, m, v, w);
    }
    free(m);
    free(v);
    free(g);
    crd_pool_free(&pool);
}

static void test_adam_is_the_textbook(void)
{
    float *w = calloc(COUNT, sizeof(float));
    double *expected = calloc(COUNT, sizeof(double)), *m = calloc(COUNT, sizeof(double));
    double *v = calloc(COUNT, sizeof(double)), *g = calloc(COUNT, sizeof(double)), worst = 0;
    run_adam(2, w);
    for (int i = 0; i < COUNT; i++) expected[i] = i % 13 - 6;
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COUNT; i++) g[i] = (float)((i * step) % 101 - 50) * 1e-4f;
        crd_ref_adam_d(COUNT, step, 1e-3, g, m, v, expected);
    }
    for (int i = 0; i < COUNT; i++) worst = worse(worst, apart(w[i], expected[i]));
    printf("       largest difference %.2e after %d steps of 1e-3\n", worst, STEPS);
    CHECK(worst < 4e-6); /* 20 roundings of numbers up to 6 */
    free(w);
    free(expected);
    free(m);
    free(v);
    free(g);
}

static void test_adam_same_bytes_for_any_threads(void)
{
    float *w[3];
    static const int threads[3] = {1, 2, 5};
    for (int t = 0; t < 3; t++) {
        w[t] = calloc(COUNT, sizeof(float));
        run_adam(threads[t], w[t]);
    }
    CHECK(memcmp(w[0], w[1], COUNT * sizeof(float)) == 0);
    CHECK(memcmp(w[0], w[2], COUNT * sizeof(float)) == 0);
    for (int t = 0; t < 3; t++) free(w[t]);
}

TEST_MAIN(TEST(test_initial_values_bcnn), TEST(test_initial_values_mcdn), TEST(test_initial_values_follow_the_seed),
          TEST(test_head_drawn_anew), TEST(test_adam_is_the_textbook), TEST(test_adam_same_bytes_for_any_threads))
