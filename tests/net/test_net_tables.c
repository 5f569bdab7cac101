/* Networks by other tables than the usual one, forward and backward: the engine against the textbook network in double,
 * on every instruction path of this CPU; and tables that are refused. */
#include "base/random/philox.h"
#include "compare.h"
#include "harness.h"
#include "net/engine.h"
#include "net/reference_net.h"
#include "net_tables.h"

static const crd_net_table tables[] = {TABLE(three_levels), TABLE(uneven), TABLE(flat)};
enum { TABLES = sizeof tables / sizeof tables[0] };

static void *room(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    if (memory == NULL) exit(1);
    return memory;
}

static double *widen(const float *from, int64_t count)
{
    double *to = room(count, sizeof *to);
    for (int64_t i = 0; i < count; i++) to[i] = from[i];
    return to;
}

static double error_of(const float *computed, const double *expected, int64_t count)
{
    comparison all = {0};
    for (int64_t i = 0; i < count; i++) compare(&all, computed[i], expected[i]);
    return relative_error(&all);
}

enum { DEPTH = 8, HEIGHT = 12, WIDTH = 16, VOXELS = DEPTH * HEIGHT * WIDTH, MASKS = 2 };
static const int64_t chunk[3] = {DEPTH, HEIGHT, WIDTH};

/* A random network, masks and partly labelled data, and what the textbook makes of them. */
typedef struct expectation {
    crd_net net;
    float *weights, *masks[MASKS], *input;
    uint8_t *label;
    double *probability[MASKS], *gradient, bce;
    int64_t labelled;
} expectation;

static void fill(expectation *e)
{
    const crd_stream stream = {.seed = 7, .purpose = CRD_PURPOSE_INIT_KERNEL};
    crd_random_fill_normal(&stream, 0, e->net.point.total, e->weights);
    for (int i = 0; i < e->net.point.count; i++) {
        const crd_parameter *parameter = &e->net.point.parameters[i];
        const double fan = parameter->rank == 5 ? (double)(parameter->count / parameter->shape[4]) : 100.0;
        for (int64_t k = 0; k < parameter->count; k++) {
            float *value = &e->weights[parameter->offset + k];
            *value *= (float)(1.0 / sqrt(fan));
            if (parameter->role == CRD_ROLE_GAMMA) *value += 1.0f;
        }
    }
    e->weights[e->net.point.kernel[e->net.last]] = 0.7f;
    e->weights[e->net.point.bias[e->net.head]] = 0.5f;
    for (int m = 0; m < MASKS; m++)
        for (int64_t i = 0; i < e->net.mask_total; i++) e->masks[m][i] = i % 3 == m ? 0.0f : 2.0f;
    crd_random_fill_normal(&stream, 1 << 28, VOXELS, e->input);
    for (int64_t i = 0; i < VOXELS; i++) e->label[i] = i % 11 == 0 ? CRD_NO_LABEL : (uint8_t)(e->input[i] > 0.3f);
}

static expectation expect(const crd_net_table *table, crd_kind kind, int filters, int groups)
{
    expectation e = {0};
    if (crd_net_describe_table(table, kind, filters, groups, &e.net) != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        exit(1);
    }
    const int64_t total = e.net.point.total;
    e.weights = room(total, sizeof *e.weights);
    e.input = room(VOXELS, sizeof *e.input);
    e.label = room(VOXELS, 1);
    e.gradient = room(total, sizeof *e.gradient);
    for (int m = 0; m < MASKS; m++) {
        e.masks[m] = room(e.net.mask_total, sizeof *e.masks[m]);
        e.probability[m] = room(VOXELS, sizeof *e.probability[m]);
    }
    fill(&e);
    double *weights = widen(e.weights, total), *input = widen(e.input, VOXELS);
    bool done = true;
    for (int m = 0; m < MASKS; m++) {
        double *masks = widen(e.masks[m], e.net.mask_total);
        done = done && crd_ref_net_forward_d(&e.net, chunk, weights, masks, input, e.probability[m]) == CRD_OK;
        crd_ref_sigmoid_d(VOXELS, e.probability[m], e.probability[m]);
        if (m == 0)
            done = done && crd_ref_net_loss_d(&e.net, chunk, weights, masks, input, e.label, 1.0 / VOXELS, e.gradient,
                                              &e.bce, &e.labelled) == CRD_OK;
        free(masks);
    }
    free(weights);
    free(input);
    if (!done) exit(1);
    return e;
}

static void forget(expectation *e)
{
    free(e->weights);
    free(e->input);
    free(e->label);
    free(e->gradient);
    for (int m = 0; m < MASKS; m++) {
        free(e->masks[m]);
        free(e->probability[m]);
    }
}

static void check_samples(const expectation *e, crd_engine_plan plan, double tolerance)
{
    crd_engine *engine = NULL;
    float *probability = room(VOXELS, sizeof *probability);
    CHECK_OK(crd_engine_create(&plan, &engine));
    for (int again = 0; again < 2; again++) {
        crd_engine_encode(engine, e->weights, e->input);
        for (int m = 0; m < MASKS; m++) {
            crd_engine_decode(engine, e->weights + crd_decoder_offset(&e->net), e->masks[m], 1.0f, probability);
            const double error = error_of(probability, e->probability[m], VOXELS);
            if (!(error <= tolerance)) CHECK_FAILED("the probabilities are off by %.2e", error);
        }
    }
    crd_engine_free(&engine);
    free(probability);
}

static void check_gradients(const expectation *e, crd_engine_plan plan)
{
    crd_engine *engine = NULL;
    crd_loss loss;
    float *gradient = room(e->net.point.total, sizeof *gradient);
    double worst = 0;
    plan.training = true;
    CHECK_OK(crd_engine_create(&plan, &engine));
    for (int again = 0; again < 2; again++) {
        crd_engine_loss(engine, e->weights, e->masks[0], e->input, e->label, 1.0f / VOXELS, gradient, &loss);
        CHECK(loss.labelled == e->labelled && !loss.head_dead);
        CHECK(fabs(loss.bce_sum / e->bce - 1) <= 1e-4);
        for (int i = 0; i < e->net.point.count; i++) {
            const crd_parameter *parameter = &e->net.point.parameters[i];
            const double error =
                error_of(gradient + parameter->offset, e->gradient + parameter->offset, parameter->count);
            if (!(error <= 1e-3)) CHECK_FAILED("the gradient of %s is off by %.2e", parameter->path, error);
            worst = worse(worst, error);
        }
    }
    printf("       %-9s %d layers, %d levels, f %d: worst gradient tensor %.2e\n", plan.ops->name, e->net.layer_count,
           e->net.levels, e->net.filters, worst);
    crd_engine_free(&engine);
    free(gradient);
}

static void check_path(const crd_ops *ops, bool gradients, double tolerance)
{
    static const int filters[] = {4, 16};
    crd_engine_plan plan = {.chunk = {DEPTH, HEIGHT, WIDTH}, .ops = ops};
    CHECK_OK(crd_pool_create(2, &plan.pool));
    for (int i = 0; i < 2 * TABLES && !harness_failed; i += sparse(3, "tables")) { /* both kinds all the same */
        expectation e = expect(&tables[i / 2], i % 2 == 0 ? CRD_BCNN : CRD_MCDN, filters[i % 2], 4);
        plan.net = &e.net;
        for (plan.keep_from = 0; plan.keep_from <= e.net.levels; plan.keep_from++) check_samples(&e, plan, tolerance);
        plan.keep_from = 0;
        if (gradients) check_gradients(&e, plan);
        forget(&e);
    }
    crd_pool_free(&plan.pool);
}

static void check_isa(const char *isa)
{
    const crd_ops *ops;
    if (crd_ops_select(isa, &ops) != CRD_OK) SKIP(crd_last_error()->message);
    check_path(ops, true, 1e-4);
}

static void test_portable(void)
{
    check_isa("portable");
}

static void test_avx2(void)
{
    check_isa("avx2");
}

static void test_avx512(void)
{
    check_isa("avx512");
}

/* Eight bits of precision: a slip in the walk shows all the same. */
static void test_bf16(void)
{
    const crd_ops *ops;
    if (crd_ops_select_bf16(NULL, &ops) != CRD_OK) SKIP(crd_last_error()->message);
    check_path(ops, false, 0.2);
}

static void test_tables(void)
{
    crd_net net;
    CHECK_OK(crd_net_describe_table(&tables[0], CRD_MCDN, 8, 4, &net));
    CHECK(net.levels == 3 && net.layer_count == 14 && net.merge_count == 2 && net.mask_count == 3);
    CHECK(net.decoder == 6 && net.head == 12 && net.last == 13);
    CHECK(net.mask_total == 8 * (4 + 2 + 1) && net.mask_offset[2] == 8 * (4 + 2));
    const crd_conv_layer *merging = &net.layers[crd_net_find(&net, "decoder/1/a")];
    CHECK(merging->merge == 1 && merging->level == 1 && merging->channels_in == 16 && merging->channels_out == 8);
    CHECK(merging->skip == crd_net_find(&net, "encoder/1/b") && merging->source == crd_net_find(&net, "decoder/1/up"));
    CHECK(crd_net_find(&net, "encoder/4/a") == CRD_NONE);
    CHECK(crd_net_step(&net) == 4 && crd_net_step(NULL) == 8);
    CHECK_OK(crd_net_check_chunk(&net, (int64_t[]){4, 12, 20}));
    CHECK_FAILS(crd_net_check_chunk(&net, (int64_t[]){4, 12, 22}), CRD_ERR_ARGUMENT,
                "two poolings need every edge to be a multiple of 4: use 4,12,20 or 4,12,24");
}

/* One row of the three levels changed at a time. */
static void test_refusals(void)
{
    enum { COUNT = sizeof three_levels / sizeof three_levels[0] };
    static const struct {
        int row;
        crd_layer_row in_place;
    } changes[] = {
        {0, {"pools the scan", CRD_LAYER_DOWN, 1, ENCODER, NULL, NULL}},
        {1, {"drops what is pooled", CRD_LAYER_CONV, 1, ENCODER | DROPOUT, NULL, NULL}},
        {2, {"doesn't pool what is skipped to", CRD_LAYER_CONV, 2, ENCODER, NULL, NULL}},
        {3, {"has no norm", CRD_LAYER_CONV, 2, 0, NULL, NULL}},
        {3, {"is as narrow as the head", CRD_LAYER_CONV, 0, ENCODER, NULL, NULL}},
        {4, {"runs once a sample, but those below don't", CRD_LAYER_DOWN, 4, DECODER, NULL, NULL}},
        {6, {"isn't as wide as its skip", CRD_LAYER_UP, 4, DECODER, NULL, NULL}},
        {7, {"skips to what isn't there", CRD_LAYER_CONV, 2, DECODER, "encoder/4/b", "decoder/2/merge"}},
        {7, {"skips to another size", CRD_LAYER_CONV, 2, DECODER, "encoder/1/b", "decoder/2/merge"}},
        {7, {"merges nothing", CRD_LAYER_CONV, 2, DECODER, NULL, NULL}},
        {8, {"leads above the top", CRD_LAYER_UP, 2, DECODER, NULL, NULL}},
        {12, {"the head's, with the filters' channels", CRD_LAYER_CONV, 1, HEAD, NULL, NULL}},
        {12, {"the head's, with a norm", CRD_LAYER_CONV, 0, DECODER, NULL, NULL}},
        {13, {"gives logits by 3x3x3", CRD_LAYER_CONV, 0, HEAD, NULL, NULL}},
    };
    crd_layer_row rows[COUNT];
    crd_net_table table = {rows, COUNT, 1};
    crd_net net;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        memcpy(rows, three_levels, sizeof rows);
        rows[changes[i].row] = changes[i].in_place;
        if (crd_net_describe_table(&table, CRD_BCNN, 8, 4, &net) != CRD_ERR_INTERNAL)
            CHECK_FAILED("taken: %s", changes[i].in_place.path);
    }
    memcpy(rows, three_levels, sizeof rows);
    table.count = CRD_LAYERS_MAX + 1;
    table.rows = (crd_layer_row[CRD_LAYERS_MAX + 1]){{"", CRD_LAYER_CONV, 1, ENCODER, NULL, NULL}};
    CHECK_FAILS(crd_net_describe_table(&table, CRD_BCNN, 8, 4, &net), CRD_ERR_INTERNAL, "no room");
    table = (crd_net_table){rows, COUNT, 2};
    CHECK_FAILS(crd_net_describe_table(&table, CRD_BCNN, 8, 4, &net), CRD_ERR_UNSUPPORTED, "head has 2 channels");
    table.head_channels = 17;
    CHECK_FAILS(crd_net_describe_table(&table, CRD_BCNN, 8, 4, &net), CRD_ERR_UNSUPPORTED, "head has 17 channels");
}

TEST_MAIN(TEST(test_portable), TEST(test_avx2), TEST(test_avx512), TEST(test_bf16), TEST(test_tables),
          TEST(test_refusals))
