/* The engine on every instruction path of this CPU against the textbook network in double, at many widths and sizes;
 * the same bytes for any number of threads, and with what is kept. Against the reference numbers:
 * test_engine_reference.c. */
#include "base/random/philox.h"
#include "engine_tools.h"
#include "net/reference_net.h"

/* With what is kept of the skips: the same bytes, sample after sample, chunk after chunk. */
static void check_kept(crd_kind kind, const crd_ops *ops)
{
    const reference_case *c = reference_load(kind);
    double *model = widen(c->model, c->net.model.total);
    crd_engine_plan plan = {.net = &c->net, .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]}, .ops = ops};
    bench b = {0};
    float *point = room(c->net.point.total, sizeof *point), *expected[3][2];
    float *probability = room(REFERENCE_VOXELS, sizeof *probability), *other = room(REFERENCE_VOXELS, sizeof *other);
    const float *const inputs[3] = {c->input, other, c->input};
    for (int64_t v = 0; v < REFERENCE_VOXELS; v++) other[v] = 1.0f - c->input[v];
    CHECK_OK(crd_pool_create(2, &b.pool));
    plan.pool = b.pool;
    for (plan.keep_from = 0; plan.keep_from < 4; plan.keep_from++) {
        CHECK_OK(crd_engine_create(&plan, &b.engine));
        for (int chunk = 0; chunk < 3; chunk++) {
            draw(c, model, 0, true, point);
            crd_engine_encode(b.engine, point, inputs[chunk]);
            for (int i = 0; i < 2; i++) {
                draw(c, model, i, true, point);
                crd_engine_decode(b.engine, point + crd_decoder_offset(&c->net), c->masks[i], 1.0f, probability);
                if (plan.keep_from == 0) {
                    expected[chunk][i] = room(REFERENCE_VOXELS, sizeof *probability);
                    memcpy(expected[chunk][i], probability, REFERENCE_VOXELS * sizeof *probability);
                }
                CHECK(memcmp(expected[chunk][i], probability, REFERENCE_VOXELS * sizeof *probability) == 0);
            }
        }
        crd_engine_free(&b.engine);
    }
    CHECK(memcmp(expected[0][0], expected[0][1], REFERENCE_VOXELS * sizeof *probability) != 0);
    CHECK(memcmp(expected[0][0], expected[1][0], REFERENCE_VOXELS * sizeof *probability) != 0);
    tear_down(&b);
    for (int i = 0; i < 6; i++) free(expected[i / 2][i % 2]);
    free(probability), free(other), free(point), free(model);
}

static void test_kept(void)
{
    const crd_ops *ops;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (!have_path(paths[i], crd_ops_select(paths[i], &ops) == CRD_OK)) continue;
        check_kept(CRD_BCNN, ops);
        check_kept(CRD_MCDN, ops);
    }
    if (have_path("avx512, bf16", crd_ops_select_bf16(NULL, &ops) == CRD_OK)) check_kept(CRD_BCNN, ops);
}

/* A random network: point weights of the right spread, gammas and betas that matter, masks, partly unlabelled data. */
typedef struct random_case {
    crd_net net;
    int64_t chunk[3], voxels;
    float *weights, *masks, *input;
    uint8_t *label;
} random_case;

/* By grey value: nearly as many voxels of each class. */
static uint8_t class_of(float grey, int classes)
{
    if (classes == 2) return grey > 0.3f;
    const int class = (int)((erff(grey / sqrtf(2)) + 1) / 2 * (float)classes);
    return (uint8_t)(class < classes ? class : classes - 1);
}

static random_case make_case(int filters, int groups, int classes, int64_t depth, int64_t height, int64_t width)
{
    random_case c = {.chunk = {depth, height, width}, .voxels = depth * height * width};
    const crd_stream stream = {.seed = 7, .purpose = CRD_PURPOSE_INIT_KERNEL};
    if (crd_net_describe_classes(CRD_MCDN, filters, groups, classes, &c.net) != CRD_OK) exit(1);
    c.weights = room(c.net.point.total, sizeof *c.weights);
    crd_random_fill_normal(&stream, 0, c.net.point.total, c.weights);
    for (int i = 0; i < c.net.point.count; i++) {
        const crd_parameter *parameter = &c.net.point.parameters[i];
        const double fan = parameter->rank == 5 ? (double)(parameter->count / parameter->shape[4]) : 100.0;
        for (int64_t k = 0; k < parameter->count; k++) {
            float *value = &c.weights[parameter->offset + k];
            *value *= (float)(1.0 / sqrt(fan));
            if (parameter->role == CRD_ROLE_GAMMA) *value += 1.0f;
        }
    }
    if (classes == 2) c.weights[c.net.point.kernel[c.net.last]] = 0.7f;
    c.masks = room(c.net.mask_total, sizeof *c.masks);
    for (int64_t i = 0; i < c.net.mask_total; i++) c.masks[i] = i % 3 == 0 ? 0.0f : 2.0f;
    c.input = room(c.voxels, sizeof *c.input);
    crd_random_fill_normal(&stream, 1 << 28, c.voxels, c.input);
    c.label = room(c.voxels, 1);
    for (int64_t i = 0; i < c.voxels; i++) c.label[i] = i % 11 == 0 ? CRD_NO_LABEL : class_of(c.input[i], classes);
    return c;
}

static void free_case(random_case *c)
{
    free(c->weights);
    free(c->masks);
    free(c->input);
    free(c->label);
}

static void check_against_textbook(int filters, int groups, int classes, int64_t depth, int64_t height, int64_t width)
{
    random_case c = make_case(filters, groups, classes, depth, height, width);
    const int64_t total = c.net.point.total;
    double *weights = widen(c.weights, total), *masks = widen(c.masks, c.net.mask_total);
    double *input = widen(c.input, c.voxels), *expected = room(total, sizeof *expected), bce;
    float *gradient = room(total, sizeof *gradient);
    int64_t labelled;
    const float scale = 1.0f / (float)c.voxels;
    CHECK_OK(crd_ref_net_loss_d(&c.net, c.chunk, weights, masks, input, c.label, scale, expected, &bce, &labelled));
    for (int i = 0; i < PATHS && !harness_failed; i++) {
        bench b;
        crd_loss loss;
        double worst = 0;
        if (!tried_here(i)) continue;
        CHECK_OK(set_up(&b, &c.net, c.chunk, true, paths[i], 2));
        crd_engine_loss(b.engine, c.weights, c.masks, c.input, c.label, scale, gradient, &loss);
        CHECK(loss.labelled == labelled);
        CHECK(fabs(loss.bce_sum / bce - 1) <= 1e-4);
        for (int k = 0; k < c.net.point.count; k++) {
            const crd_parameter *parameter = &c.net.point.parameters[k];
            comparison tensor = {0};
            for (int64_t n = parameter->offset; n < parameter->offset + parameter->count; n++)
                compare(&tensor, gradient[n], expected[n]);
            worst = worse(worst, relative_error(&tensor));
            if (relative_error(&tensor) > 1e-2) {
                CHECK_FAILED("%s: %s is off by %.2e of %.2e", paths[i], parameter->path, tensor.error, tensor.largest);
            }
        }
        printf("       %-9s f %d, groups %d, %d classes, %lldx%lldx%lld: worst gradient tensor %.2e\n", paths[i],
               filters, groups, classes, (long long)depth, (long long)height, (long long)width, worst);
        tear_down(&b);
    }
    free(weights);
    free(masks);
    free(input);
    free(expected);
    free(gradient);
    free_case(&c);
}

static void test_widths_and_sizes(void)
{
    check_against_textbook(4, 4, 2, 8, 24, 16);
    if (!slow()) check_against_textbook(16, 4, 2, 16, 24, 40);
    check_against_textbook(16, 1, 2, 8, 8, 8);
    if (!slow()) check_against_textbook(32, 8, 2, 8, 16, 24);
    check_against_textbook(12, 3, 2, 16, 8, 16); /* groups that straddle the merge */
}

/* Heads that fill no vector, that fill one, and one as wide as the decoder. */
static void test_numbers_of_classes(void)
{
    check_against_textbook(4, 4, 4, 8, 8, 16);
    check_against_textbook(8, 4, 5, 8, 16, 8);
    check_against_textbook(16, 4, 16, 8, 8, 16);
    if (slow()) return;
    check_against_textbook(16, 4, 3, 8, 16, 24);
    check_against_textbook(16, 4, 8, 8, 16, 8);
    check_against_textbook(16, 4, 15, 8, 8, 24);
}

static void check_same_bytes(int classes)
{
    random_case c = make_case(16, 4, classes, 16, 16, 24);
    const size_t bytes = (size_t)c.net.point.total * sizeof(float);
    float *first = room(c.net.point.total, sizeof *first), *other = room(c.net.point.total, sizeof *other);
    static const int threads[] = {1, 2, 5};
    for (int i = 0; i < PATHS; i++) {
        if (!tried_here(i)) continue;
        for (int t = 0; t < 3; t++) {
            bench b;
            crd_loss loss;
            CHECK_OK(set_up(&b, &c.net, c.chunk, true, paths[i], threads[t]));
            crd_engine_loss(b.engine, c.weights, c.masks, c.input, c.label, 1e-3f, t == 0 ? first : other, &loss);
            CHECK(t == 0 || memcmp(first, other, bytes) == 0);
            tear_down(&b);
        }
    }
    free(first);
    free(other);
    free_case(&c);
}

static void test_same_bytes_for_any_number_of_threads(void)
{
    check_same_bytes(2);
    check_same_bytes(3);
}

static void test_memory_within_bounds(void)
{
    crd_net net;
    crd_engine_plan plan = {.net = &net, .chunk = {48, 88, 88}, .training = true};
    crd_pool *pool = NULL;
    int64_t bytes;
    CHECK_OK(crd_net_describe(CRD_BCNN, 16, 4, &net));
    CHECK_OK(crd_pool_create(2, &pool));
    CHECK_OK(crd_ops_select(NULL, &plan.ops));
    plan.pool = pool;
    CHECK_OK(crd_engine_bytes(&plan, &bytes));
    printf("       training 48x88x88: %.0f MiB\n", (double)bytes / 1048576);
    CHECK(bytes < INT64_C(3) << 30);
    plan.training = false;
    CHECK_OK(crd_engine_bytes(&plan, &bytes));
    printf("       predicting 48x88x88: %.0f MiB\n", (double)bytes / 1048576);
    CHECK(bytes < INT64_C(1) << 30);
    plan.chunk[1] = 172;
    CHECK_FAILS(crd_engine_bytes(&plan, &bytes), CRD_ERR_ARGUMENT, "176");
    crd_pool_free(&pool);
}

TEST_MAIN(TEST(test_kept), TEST(test_widths_and_sizes), TEST(test_numbers_of_classes),
          TEST(test_same_bytes_for_any_number_of_threads), TEST(test_memory_within_bounds))
