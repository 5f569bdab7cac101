/* A part of a window: which box of it every layer must compute, and an engine that computes no more, against one that
 * computes the whole window, on every instruction path of this CPU. */
#include "base/random/philox.h"
#include "compare.h"
#include "harness.h"
#include "net/crop.h"
#include "net/engine.h"
#include "net/reference_net.h"
#include "net_tables.h"

static const crd_net_table tables[] = {TABLE(three_levels), TABLE(uneven), TABLE(flat)};

static void *room(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    if (memory == NULL) exit(1);
    return memory;
}

/* A network of random weights, with its norms frozen at random moments. */
typedef struct example {
    crd_net net;
    float *weights, *masks;
    crd_moments *moments;
} example;

/* table NULL: the usual one. */
static void make(const crd_net_table *table, crd_kind kind, int filters, example *e)
{
    const crd_stream stream = {.seed = 7, .purpose = CRD_PURPOSE_INIT_KERNEL};
    if (table != NULL)
        CHECK_OK(crd_net_describe_table(table, kind, filters, 4, &e->net));
    else
        CHECK_OK(crd_net_describe(kind, filters, 4, &e->net));
    const crd_net *net = &e->net;
    e->weights = room(net->point.total, sizeof *e->weights);
    e->masks = room(net->mask_total + 1, sizeof *e->masks);
    e->moments = room(crd_net_moments(net), sizeof *e->moments);
    crd_random_fill_normal(&stream, 0, net->point.total, e->weights);
    for (int i = 0; i < net->point.count; i++) {
        const crd_parameter *parameter = &net->point.parameters[i];
        const double fan = parameter->rank == 5 ? (double)(parameter->count / parameter->shape[4]) : 10.0;
        for (int64_t k = 0; k < parameter->count; k++) {
            float *value = &e->weights[parameter->offset + k];
            *value *= (float)(1.0 / sqrt(fan));
            if (parameter->role == CRD_ROLE_GAMMA) *value += 1.0f;
        }
    }
    e->weights[net->point.kernel[net->last]] = 0.7f;
    e->weights[net->point.bias[net->head]] = 0.5f; /* few voxels die in the head's ReLU */
    for (int64_t i = 0; i < net->mask_total; i++) e->masks[i] = i % 3 == 0 ? 0.0f : 2.0f;
    for (int64_t i = 0; i < crd_net_moments(net); i++) {
        const double mean = 0.3 + 0.1 * (double)crd_random_normal(&stream, (1u << 28) + (uint64_t)i);
        e->moments[i] = (crd_moments){mean, mean * mean + 0.5};
    }
}

static void drop(example *e)
{
    free(e->weights);
    free(e->masks);
    free(e->moments);
}

static float *make_input(const int64_t window[3])
{
    const crd_stream stream = {.seed = 8, .purpose = CRD_PURPOSE_PHANTOM};
    const int64_t voxels = window[0] * window[1] * window[2];
    float *input = room(voxels, sizeof *input);
    crd_random_fill_normal(&stream, 0, voxels, input);
    return input;
}

static int64_t end_of(const crd_box *box, int axis)
{
    return box->origin[axis] + box->size[axis];
}

static int64_t voxels_of(const int64_t size[3])
{
    return size[0] * size[1] * size[2];
}

/* ---- the boxes ---- */

static void test_sizes(void)
{
    /* By hand, for the usual table: how many voxels of its level a layer computes before and behind what is kept. */
    static const struct {
        const char *path;
        int before, behind;
    } expected[] = {{"head/point", 0, 0},    {"head/spatial", 0, 0},  {"decoder/1/b", 1, 1},  {"decoder/1/a", 2, 2},
                    {"decoder/1/up", 4, 4},  {"decoder/2/b", 2, 2},   {"decoder/2/a", 3, 3},  {"decoder/2/up", 4, 6},
                    {"decoder/3/b", 2, 3},   {"decoder/3/a", 3, 4},   {"decoder/3/up", 4, 6}, {"encoder/4/b", 2, 3},
                    {"encoder/4/a", 3, 4},   {"encoder/3/b", 8, 10},  {"encoder/3/a", 9, 11}, {"encoder/2/b", 20, 24},
                    {"encoder/2/a", 21, 25}, {"encoder/1/b", 44, 52}, {"encoder/1/a", 45, 53}};
    const int64_t window[3] = {256, 512, 1024};
    const crd_box keep = {{128, 128, 504}, {16, 24, 40}};
    crd_net net;
    crd_crop crop, most;
    CHECK_OK(crd_net_describe(CRD_BCNN, 8, 4, &net));
    crd_crop_make(&net, window, &keep, &crop);
    crd_crop_most(&net, window, keep.size, &most);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const int layer = crd_net_find(&net, expected[i].path), by = net.layers[layer].level - 1;
        for (int axis = 0; axis < 3; axis++) {
            CHECK(crop.layers[layer].origin[axis] == (keep.origin[axis] >> by) - expected[i].before);
            CHECK(end_of(&crop.layers[layer], axis) == (end_of(&keep, axis) >> by) + expected[i].behind);
            CHECK(most.layers[layer].size[axis] == crop.layers[layer].size[axis]);
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        CHECK(crop.input.origin[axis] == keep.origin[axis] - 46);
        CHECK(end_of(&crop.input, axis) == end_of(&keep, axis) + 54);
    }
    /* All of a window: all of every layer. */
    const crd_box all = {{0, 0, 0}, {window[0], window[1], window[2]}};
    crd_crop_make(&net, window, &all, &crop);
    for (int layer = 0; layer < net.layer_count; layer++) {
        for (int axis = 0; axis < 3; axis++) {
            CHECK(crop.layers[layer].origin[axis] == 0);
            CHECK(crop.layers[layer].size[axis] == window[axis] >> (net.layers[layer].level - 1));
            CHECK(crd_crop_open(&crop.layers[layer], axis, window, net.layers[layer].level) == 0);
        }
    }
}

/* What the textbook says of the kept voxels. */
static void textbook(const example *e, const int64_t window[3], const crd_box *keep, const float *input, float *out)
{
    const int64_t voxels = voxels_of(window);
    float *logit = room(voxels, sizeof *logit);
    CHECK_OK(crd_ref_net_frozen_f(&e->net, window, e->weights, e->net.kind == CRD_MCDN ? e->masks : NULL,
                                  (const double *)e->moments, input, logit));
    for (int64_t z = 0; z < keep->size[0]; z++) {
        for (int64_t y = 0; y < keep->size[1]; y++) {
            for (int64_t x = 0; x < keep->size[2]; x++) {
                const int64_t row = (keep->origin[0] + z) * window[1] + keep->origin[1] + y;
                *out++ = logit[row * window[2] + keep->origin[2] + x];
            }
        }
    }
    free(logit);
}

static bool inside(const crd_box *box, int axis, int64_t at)
{
    return at >= box->origin[axis] && at < end_of(box, axis);
}

/* Other grey values in all planes of an axis beyond the box that is read change nothing that is kept; in the first or
 * last plane of the box they do. */
static void check_reach(const example *e, const int64_t window[3], const crd_box *keep, int axis)
{
    const int64_t voxels = voxels_of(window), kept = voxels_of(keep->size);
    const int64_t inner = axis == 2 ? 1 : axis == 1 ? window[2] : window[1] * window[2];
    float *input = make_input(window), *before = room(kept, sizeof *before), *after = room(kept, sizeof *after);
    crd_crop crop;
    crd_crop_make(&e->net, window, keep, &crop);
    CHECK(crop.input.origin[axis] > 0 && end_of(&crop.input, axis) < window[axis]);
    textbook(e, window, keep, input, before);
    for (int64_t i = 0; i < voxels; i++) {
        if (!inside(&crop.input, axis, i / inner % window[axis])) input[i] = 100.0f - input[i];
    }
    textbook(e, window, keep, input, after);
    CHECK(memcmp(before, after, (size_t)kept * sizeof *before) == 0);
    for (int side = 0; side < 2; side++) {
        const int64_t plane = side == 0 ? crop.input.origin[axis] : end_of(&crop.input, axis) - 1;
        float *other = make_input(window);
        for (int64_t i = 0; i < voxels; i++) {
            if (i / inner % window[axis] == plane) other[i] = 100.0f - other[i];
        }
        textbook(e, window, keep, other, after);
        CHECK(memcmp(before, after, (size_t)kept * sizeof *before) != 0);
        free(other);
    }
    free(input);
    free(before);
    free(after);
}

static void test_reach(void)
{
    static const int64_t windows[][3] = {{64, 8, 8}, {8, 64, 8}, {8, 8, 64}};
    for (int t = 0; t < 3; t += sparse(2, "tables")) {
        example e = {0};
        make(&tables[t], CRD_MCDN, 4, &e);
        for (int axis = 0; axis < 3; axis++) {
            crd_box keep = {{0, 0, 0}, {8, 8, 8}};
            keep.origin[axis] = 28;
            keep.size[axis] = 5;
            check_reach(&e, windows[axis], &keep, axis);
        }
        drop(&e);
    }
}

/* ---- the engine ---- */

static crd_engine *engine_of(const example *e, const int64_t window[3], const int64_t *most, int keep_from,
                             const char *path, crd_pool *pool)
{
    crd_engine *engine = NULL;
    crd_engine_plan plan = {
        .net = &e->net, .chunk = {window[0], window[1], window[2]}, .keep_from = keep_from, .pool = pool};
    if (most != NULL) memcpy(plan.keep, most, sizeof plan.keep);
    if (crd_ops_select(path, &plan.ops) != CRD_OK || crd_engine_create(&plan, &engine) != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        exit(1);
    }
    crd_engine_freeze(engine, e->moments);
    return engine;
}

static void run(const example *e, crd_engine *engine, const float *input, float *probability)
{
    crd_engine_encode(engine, e->weights, input);
    for (int again = 0; again < 2; again++) {
        crd_engine_decode(engine, e->weights + crd_decoder_offset(&e->net), e->net.kind == CRD_MCDN ? e->masks : NULL,
                          1.0f, probability);
    }
}

enum { BOXES = 8 };

/* Parts of a window: at its beginning, in the middle, at its end, of odd lengths, thin ones; all begin at multiples of
 * 8, and none is longer than `most`. */
static void choose_boxes(const int64_t window[3], const int64_t most[3], crd_box boxes[BOXES])
{
    for (int i = 0; i < BOXES; i++) {
        for (int axis = 0; axis < 3; axis++) {
            const int64_t last = (window[axis] - most[axis]) / 8 * 8;
            const int place = (i + axis * (i / 3)) % 3;
            boxes[i].origin[axis] = place == 0 ? 0 : place == 1 ? last / 16 * 8 : last;
            boxes[i].size[axis] = i % 4 == 3 ? 1 + (most[axis] - 1) / (2 + axis) : most[axis];
        }
    }
}

static void check_boxes(const example *e, const int64_t window[3], const int64_t most[3], const char *path)
{
    const int64_t voxels = voxels_of(window);
    float *input = make_input(window), *whole = room(voxels, sizeof *whole), *part = room(voxels, sizeof *part);
    float *again = room(voxels, sizeof *again);
    crd_box boxes[BOXES];
    crd_pool *pool = NULL;
    const double tolerance = strcmp(path, "portable") == 0 ? 0.0 : 2e-5; /* Winograd's tiles lie elsewhere */
    double worst = 0.0;
    choose_boxes(window, most, boxes);
    CHECK_OK(crd_pool_create(2, &pool));
    crd_engine *all = engine_of(e, window, NULL, 1, path, pool);
    run(e, all, input, whole);
    crd_engine_free(&all);
    for (int keep_from = 0; keep_from < 2; keep_from++) {
        crd_engine *engine = engine_of(e, window, most, keep_from, path, pool);
        for (int i = 0; i < BOXES; i += sparse(3, "boxes")) {
            const crd_box *box = &boxes[i];
            const float *value = part;
            crd_engine_keep(engine, box);
            run(e, engine, input, part);
            for (int64_t z = box->origin[0]; z < end_of(box, 0); z++) {
                for (int64_t y = box->origin[1]; y < end_of(box, 1); y++) {
                    for (int64_t x = box->origin[2]; x < end_of(box, 2); x++) {
                        const double error = apart(*value++, whole[(z * window[1] + y) * window[2] + x]);
                        CHECK(error <= tolerance);
                        worst = worse(worst, error);
                    }
                }
            }
            /* Nothing is left of the boxes before. */
            crd_engine *fresh = engine_of(e, window, box->size, keep_from, path, pool);
            crd_engine_keep(fresh, box);
            run(e, fresh, input, again);
            CHECK(memcmp(again, part, (size_t)voxels_of(box->size) * sizeof *again) == 0);
            crd_engine_free(&fresh);
        }
        crd_engine_free(&engine);
    }
    printf("       %-9s %s %d filters, %d layers: off by %.1e\n", path, e->net.kind == CRD_BCNN ? "bcnn" : "mcdn",
           e->net.filters, e->net.layer_count, worst);
    crd_pool_free(&pool);
    free(input);
    free(whole);
    free(part);
    free(again);
}

static void check_paths(const crd_net_table *table, crd_kind kind, int filters, const int64_t window[3],
                        const int64_t most[3])
{
    static const char *const paths[] = {"portable", "avx2", "avx512"};
    example e = {0};
    make(table, kind, filters, &e);
    for (int i = 0; i < 3 && !harness_failed; i++) {
        const crd_ops *ops;
        if (crd_ops_select(paths[i], &ops) == CRD_OK)
            check_boxes(&e, window, most, paths[i]);
        else
            printf("       skipped: this processor has no %s\n", paths[i]);
    }
    drop(&e);
}

static void test_usual(void)
{
    check_paths(NULL, CRD_BCNN, 8, (int64_t[]){24, 40, 48}, (int64_t[]){8, 16, 15});
}

static void test_three_levels(void)
{
    check_paths(&tables[0], CRD_MCDN, 8, (int64_t[]){24, 36, 40}, (int64_t[]){8, 12, 16});
}

static void test_uneven(void)
{
    check_paths(&tables[1], CRD_MCDN, 4, (int64_t[]){18, 24, 32}, (int64_t[]){6, 8, 13});
}

static void test_flat(void)
{
    check_paths(&tables[2], CRD_BCNN, 16, (int64_t[]){17, 23, 33}, (int64_t[]){1, 9, 10});
}

/* An engine that keeps a part takes less, and says how much. */
static void test_bytes(void)
{
    crd_net net;
    crd_pool *pool = NULL;
    int64_t whole, part;
    CHECK_OK(crd_net_describe(CRD_BCNN, 16, 4, &net));
    CHECK_OK(crd_pool_create(1, &pool));
    crd_engine_plan plan = {.net = &net, .chunk = {96, 96, 96}, .keep_from = 1, .pool = pool};
    CHECK_OK(crd_ops_select("auto", &plan.ops));
    CHECK_OK(crd_engine_bytes(&plan, &whole));
    plan.keep[0] = plan.keep[1] = plan.keep[2] = 16;
    CHECK_OK(crd_engine_bytes(&plan, &part));
    CHECK(part < whole * 2 / 3);
    plan.keep[2] = 97;
    CHECK_FAILS(crd_engine_bytes(&plan, &part), CRD_ERR_INTERNAL, "97 voxels");
    crd_pool_free(&pool);
}

/* Scratch for a size serves all that are smaller. */
static void test_scratch(void)
{
    static const char *const paths[] = {"portable", "avx2", "avx512"};
    for (int i = 0; i < 3; i++) {
        const crd_ops *ops;
        if (crd_ops_select(paths[i], &ops) != CRD_OK) continue;
        for (int64_t channels = 8; channels <= 128; channels *= 4) {
            for (int op = 0; op < 2; op++) {
                crd_conv_size size = {2, 2, 2, {channels, op == 0 ? channels : 0}, channels};
                size_t before = 0;
                for (int64_t edge = 2; edge <= 160; edge += 2) {
                    size.depth = size.height = size.width = edge;
                    const size_t bytes = ops->scratch_bytes(op == 0 ? CRD_OP_CONV : CRD_OP_UP, &size, 3);
                    CHECK(bytes >= before);
                    before = bytes;
                }
            }
        }
    }
}

TEST_MAIN(TEST(test_sizes), TEST(test_reach), TEST(test_usual), TEST(test_three_levels), TEST(test_uneven),
          TEST(test_flat), TEST(test_bytes), TEST(test_scratch))
