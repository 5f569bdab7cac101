/* Norms frozen at given statistics: those of several pieces together, and a network that no longer sees its chunk,
 * against the textbook in double on every instruction path of this CPU. */
#include "base/memory.h"
#include "base/random/philox.h"
#include "harness.h"
#include "net/engine.h"
#include "net/reference_net.h"

static const char *const paths[] = {"portable", "avx2", "avx512"};
enum { PATHS = sizeof paths / sizeof paths[0], PIECES = 3 };
static const int64_t piece[3] = {16, 16, 24};
enum { PIECE_VOXELS = 16 * 16 * 24 };

static void *room(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    if (memory == NULL) exit(1);
    return memory;
}

static void fill(uint32_t layer, int64_t count, double height, float *out)
{
    const crd_stream stream = {.seed = 4, .purpose = CRD_PURPOSE_PHANTOM, .layer = layer};
    for (int64_t i = 0; i < count; i++) out[i] = (float)(height * (double)crd_random_normal(&stream, (uint64_t)i));
}

static double *widen(const float *from, int64_t count)
{
    double *to = room(count, sizeof *to);
    for (int64_t i = 0; i < count; i++) to[i] = from[i];
    return to;
}

typedef struct example { /* a network with weights of any size, and pieces of which each is unlike the others */
    crd_net net;
    float *weights, *masks, *inputs;
    double *exact_weights, *exact_masks, *exact_inputs;
    double *moments; /* by the textbook */
} example;

static crd_status make(crd_kind kind, example *e)
{
    CRD_PASS(crd_net_describe(kind, 8, 4, &e->net));
    const crd_net *net = &e->net;
    e->weights = room(net->point.total, sizeof(float));
    e->masks = room(net->mask_total + 1, sizeof(float));
    e->inputs = room(PIECES * PIECE_VOXELS, sizeof(float));
    e->moments = room(2 * crd_net_moments(net), sizeof(double));
    fill(1, net->point.total, 0.1, e->weights);
    for (int p = 0; p < net->point.count; p++) {
        const crd_parameter *parameter = &net->point.parameters[p];
        for (int64_t i = 0; i < parameter->count && parameter->role == CRD_ROLE_GAMMA; i++) {
            e->weights[parameter->offset + i] += 1.0f;
        }
    }
    for (int64_t i = 0; i < net->mask_total; i++) e->masks[i] = i % 3 == 0 ? 0.0f : 2.0f;
    fill(2, PIECES * PIECE_VOXELS, 1.0, e->inputs);
    for (int k = 0; k < PIECES; k++) {
        for (int64_t i = 0; i < PIECE_VOXELS; i++) {
            float *value = &e->inputs[k * PIECE_VOXELS + i];
            *value = *value * (0.5f + 0.5f * (float)k) + 0.7f * (float)k;
        }
    }
    e->exact_weights = widen(e->weights, net->point.total);
    e->exact_masks = widen(e->masks, net->mask_total);
    e->exact_inputs = widen(e->inputs, PIECES * PIECE_VOXELS);
    const double *masks = kind == CRD_MCDN ? e->exact_masks : NULL;
    return crd_ref_net_measure_d(net, piece, e->exact_weights, masks, PIECES, e->exact_inputs, e->moments);
}

static void drop(example *e)
{
    free(e->weights);
    free(e->masks);
    free(e->inputs);
    free(e->moments);
    free(e->exact_weights);
    free(e->exact_masks);
    free(e->exact_inputs);
}

static crd_status make_engine(const crd_net *net, const int64_t chunk[3], const char *path, crd_pool *pool,
                              crd_engine **out)
{
    crd_engine_plan plan = {.net = net, .chunk = {chunk[0], chunk[1], chunk[2]}, .keep_from = 1, .pool = pool};
    CRD_PASS(crd_ops_select(path, &plan.ops));
    return crd_engine_create(&plan, out);
}

static void check_path(const example *e, const char *path)
{
    const crd_net *net = &e->net;
    const int64_t groups = net->groups, count = crd_net_moments(net);
    const float *masks = net->kind == CRD_MCDN ? e->masks : NULL;
    const float *decoder = e->weights + crd_decoder_offset(net);
    crd_moments *moments = room(count, sizeof *moments), *given = room(count, sizeof *given);
    crd_engine *engines[PIECES] = {NULL}, *whole = NULL;
    const float *inputs[PIECES];
    crd_pool *pool = NULL;
    double worst = 0.0;
    CHECK_OK(crd_pool_create(2, &pool));
    for (int k = 0; k < PIECES; k++) {
        CHECK_OK(make_engine(net, piece, path, pool, &engines[k]));
        inputs[k] = e->inputs + k * PIECE_VOXELS;
    }
    CHECK_OK(crd_engines_measure_encoder(engines, PIECES, e->weights, inputs, NULL, moments));
    for (int i = 0; i < 2; i++) { /* twice: nothing of the first is left */
        CHECK_OK(crd_engines_measure_decoder(engines, PIECES, decoder, masks, NULL, moments));
    }
    for (int64_t i = 0; i < count; i++) {
        if (i / groups < net->layer_count && !net->layers[i / groups].norm) continue;
        const double scale = sqrt(e->moments[2 * i + 1]);
        const double error = fmax(fabs(moments[i].mean - e->moments[2 * i]) / scale,
                                  fabs(moments[i].square - e->moments[2 * i + 1]) / (scale * scale));
        CHECK(error <= 1e-4); /* NaN fails, too */
        worst = error > worst ? error : worst;
        given[i] = (crd_moments){e->moments[2 * i], e->moments[2 * i + 1]};
    }

    /* A larger chunk with norms frozen at them. */
    const int64_t chunk[3] = {16, 24, 32};
    enum { VOXELS = 16 * 24 * 32 };
    float *input = room(VOXELS, sizeof *input), *probability = room(VOXELS, sizeof *probability);
    double *logit = room(VOXELS, sizeof *logit), off = 0.0;
    fill(3, VOXELS, 1.3, input);
    double *exact = widen(input, VOXELS);
    CHECK_OK(crd_ref_net_frozen_d(net, chunk, e->exact_weights, masks != NULL ? e->exact_masks : NULL, e->moments,
                                  exact, logit));
    CHECK_OK(make_engine(net, chunk, path, pool, &whole));
    crd_engine_freeze(whole, given);
    crd_engine_encode(whole, e->weights, input);
    crd_engine_decode(whole, decoder, masks, 1.0f, probability);
    for (int64_t i = 0; i < VOXELS; i++) {
        const double error = fabs((double)probability[i] - 1.0 / (1.0 + exp(-logit[i])));
        CHECK(error <= 1e-4);
        off = error > off ? error : off;
    }
    /* Thawed, the norms are the chunk's own again. */
    CHECK_OK(crd_ref_net_forward_d(net, chunk, e->exact_weights, masks != NULL ? e->exact_masks : NULL, exact, logit));
    crd_engine_freeze(whole, NULL);
    crd_engine_encode(whole, e->weights, input);
    crd_engine_decode(whole, decoder, masks, 1.0f, probability);
    for (int64_t i = 0; i < VOXELS; i++) CHECK_NEAR(probability[i], 1.0 / (1.0 + exp(-logit[i])), 1e-4);
    printf("       %-9s %s moments %.1e, probability %.1e\n", path, net->kind == CRD_BCNN ? "bcnn" : "mcdn", worst,
           off);
    for (int k = 0; k < PIECES; k++) crd_engine_free(&engines[k]);
    crd_engine_free(&whole);
    crd_pool_free(&pool);
    free(moments);
    free(given);
    free(input);
    free(probability);
    free(logit);
    free(exact);
}

static void check_kind(crd_kind kind)
{
    example e = {0};
    int tried = 0;
    CHECK_OK(make(kind, &e));
    for (int i = 0; i < PATHS && !harness_failed; i++) {
        const crd_ops *ops;
        if (crd_ops_select(paths[i], &ops) != CRD_OK) {
            printf("       skipped: this processor has no %s\n", paths[i]);
            continue;
        }
        check_path(&e, paths[i]);
        tried++;
    }
    CHECK(tried > 0);
    drop(&e);
}

static void test_bcnn(void)
{
    check_kind(CRD_BCNN);
}

static void test_mcdn(void)
{
    check_kind(CRD_MCDN);
}

TEST_MAIN(TEST(test_bcnn), TEST(test_mcdn))
