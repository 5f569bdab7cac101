/* The engine on every instruction path of this CPU: against the reference numbers, and against the textbook network in
 * double at other widths and sizes; the same bytes for any number of threads. */
#include "base/memory.h"
#include "base/random/philox.h"
#include "bayes/reference_bayes.h"
#include "harness.h"
#include "net/engine.h"
#include "net/reference_net.h"
#include "reference_data.h"

static const char *const paths[] = {"portable", "avx2", "avx512"};
enum { PATHS = sizeof paths / sizeof paths[0] };

/* Sanitizers and valgrind slow the textbook down a hundred times: there the fastest path and small networks must do. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static bool slow(void)
{
    return SANITIZED || emulated();
}

static bool tried_here(int path)
{
    const crd_ops *ops, *best;
    if (!have_path(paths[path], crd_ops_select(paths[path], &ops) == CRD_OK)) return false;
    if (!slow() || (crd_ops_select(NULL, &best) == CRD_OK && ops == best)) return true;
    skip_part(paths[path], "too slow with sanitizers and valgrind");
    return false;
}

typedef struct bench { /* an engine and what it stands on */
    crd_pool *pool;
    crd_engine *engine;
} bench;

static crd_status set_up(bench *b, const crd_net *net, const int64_t chunk[3], bool training, const char *path,
                         int threads)
{
    crd_engine_plan plan = {.net = net, .chunk = {chunk[0], chunk[1], chunk[2]}, .training = training};
    memset(b, 0, sizeof *b);
    CRD_PASS(crd_ops_select(path, &plan.ops));
    CRD_PASS(crd_pool_create(threads, &b->pool));
    plan.pool = b->pool;
    return crd_engine_create(&plan, &b->engine);
}

static void tear_down(bench *b)
{
    crd_engine_free(&b->engine);
    crd_pool_free(&b->pool);
}

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

/* Point weights of example b of the reference batch, drawn by the textbook. */
static void draw(const reference_case *c, const double *model, int b, bool noisy, float *point)
{
    double *exact = room(c->net.point.total, sizeof *exact);
    crd_ref_draw(&c->net, model, noisy ? &c->noise[b] : NULL, exact);
    for (int64_t i = 0; i < c->net.point.total; i++) point[i] = (float)exact[i];
    free(exact);
}

typedef struct tolerances {
    double mean, noisy; /* outputs */
    double gradients, cosine;
} tolerances;

static const tolerances two_classes = {1e-4, 1e-4, 1e-2, 0.9999};

static void check_probabilities(const reference_case *c, const double *model, bool noisy, double allowed,
                                const char *path)
{
    bench b;
    const int64_t values = c->voxels * crd_net_planes(&c->net);
    float *point = room(c->net.point.total, sizeof *point), *probability = room(values, sizeof *probability);
    comparison all = {0};
    CHECK_OK(set_up(&b, &c->net, c->chunk, false, path, 2));
    for (int example = 0; example < REFERENCE_BATCH; example++) {
        const double *expected = (noisy ? c->noisy_probability : c->mean_probability) + example * values;
        draw(c, model, example, noisy, point);
        crd_engine_encode(b.engine, point, c->input + example * c->voxels);
        /* A decode with other weights in between must leave nothing behind. */
        const int64_t decoder = crd_decoder_offset(&c->net);
        crd_engine_decode(b.engine, (c->net.kind == CRD_MCDN ? c->model : point) + decoder, c->masks[0], 1.0f,
                          probability);
        crd_engine_decode(b.engine, point + decoder, noisy ? c->masks[example] : NULL, 1.0f, probability);
        for (int64_t i = 0; i < values; i++) compare(&all, probability[i], expected[i]);
    }
    printf("       %-9s %s %-32s %.2e\n", path, c->net.kind == CRD_BCNN ? "bcnn" : "mcdn",
           noisy ? "noisy/probability" : "mean/probability", relative_error(&all));
    CHECK(relative_error(&all) <= allowed);
    tear_down(&b);
    free(point);
    free(probability);
}

static void check_gradients(const reference_case *c, const double *model, const tolerances *allowed, const char *path)
{
    bench b;
    const crd_net *net = &c->net;
    float *point = room(net->point.total, sizeof *point), *own = room(net->point.total, sizeof *own);
    double *gradient = room(net->model.total, sizeof *gradient), bce = 0;
    CHECK_OK(set_up(&b, net, c->chunk, true, path, 2));
    for (int example = 0; example < REFERENCE_BATCH; example++) {
        crd_loss loss;
        draw(c, model, example, true, point);
        crd_engine_loss(b.engine, point, c->masks[example], c->input + example * c->voxels,
                        c->label + example * c->voxels, 1.0f / (float)(REFERENCE_BATCH * c->voxels), own, &loss);
        CHECK(loss.labelled == c->voxels && !loss.head_dead);
        bce += loss.bce_sum / (double)(REFERENCE_BATCH * c->voxels);
        double *exact = widen(own, net->point.total);
        crd_ref_draw_backward(net, model, &c->noise[example], exact, gradient);
        free(exact);
    }
    printf("       %-9s noisy/bce %.2e\n", path, fabs(bce / c->noisy_bce - 1));
    CHECK(fabs(bce / c->noisy_bce - 1) <= 1e-4);
    for (int i = 0; i < net->model.count; i++) {
        const crd_parameter *parameter = &net->model.parameters[i];
        const reference_error error = reference_compare(&c->gradient_bce[i], gradient + parameter->offset);
        printf("       %-9s gradient_bce %-26s %.2e, norm and sum %.2e, 1 - cosine %.1e\n", path, parameter->path,
               error.values, error.measure, 1 - error.cosine);
        CHECK(error.values <= allowed->gradients);
        CHECK(error.measure <= allowed->gradients);
        CHECK(error.cosine >= allowed->cosine);
    }
    tear_down(&b);
    free(point);
    free(own);
    free(gradient);
}

static void check_reference(const reference_case *c, const tolerances *allowed)
{
    double *model = widen(c->model, c->net.model.total);
    for (int i = 0; i < PATHS && !harness_failed; i++) {
        if (!tried_here(i)) continue;
        check_probabilities(c, model, false, allowed->mean, paths[i]);
        check_probabilities(c, model, true, allowed->noisy, paths[i]);
        check_gradients(c, model, allowed, paths[i]);
    }
    free(model);
}

/* In bfloat16, where this CPU has it: rounding turns ReLUs of an untrained network over, so means are what is bounded.
 */
static void check_bf16(crd_kind kind)
{
    const reference_case *c = reference_load(kind);
    double *model = widen(c->model, c->net.model.total), difference = 0, bce = 0;
    float *point = room(c->net.point.total, sizeof *point), *probability = room(REFERENCE_VOXELS, sizeof *probability);
    crd_engine_plan plan = {.net = &c->net, .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]}};
    bench b = {0};
    if (!have_path("avx512, bf16", crd_ops_select_bf16(NULL, &plan.ops) == CRD_OK)) goto done;
    CHECK_OK(crd_pool_create(2, &b.pool));
    plan.pool = b.pool;
    CHECK_OK(crd_engine_create(&plan, &b.engine));
    for (int example = 0; example < REFERENCE_BATCH; example++) {
        const double *expected = c->noisy_probability + example * REFERENCE_VOXELS;
        const float *input = c->input + example * REFERENCE_VOXELS;
        crd_loss loss;
        draw(c, model, example, true, point);
        crd_engine_loss(b.engine, point, c->masks[example], input, c->label + example * REFERENCE_VOXELS, 1.0f, NULL,
                        &loss);
        bce += loss.bce_sum / (REFERENCE_BATCH * REFERENCE_VOXELS);
        crd_engine_encode(b.engine, point, input);
        crd_engine_decode(b.engine, point + crd_decoder_offset(&c->net), c->masks[example], 1.0f, probability);
        for (int64_t i = 0; i < REFERENCE_VOXELS; i++)
            difference += apart(probability[i], expected[i]) / (REFERENCE_BATCH * REFERENCE_VOXELS);
    }
    printf("       bf16 %s: mean difference %.2e, bce %.2e\n", kind == CRD_BCNN ? "bcnn" : "mcdn", difference,
           fabs(bce / c->noisy_bce - 1));
    CHECK(difference > 0 && difference <= 2e-2);
    CHECK(fabs(bce / c->noisy_bce - 1) <= 5e-3);
done:
    tear_down(&b);
    free(model);
    free(point);
    free(probability);
}

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

static void test_bf16_reference(void)
{
    check_bf16(CRD_BCNN);
    check_bf16(CRD_MCDN);
}

static void test_bcnn_reference(void)
{
    check_reference(reference_load(CRD_BCNN), &two_classes);
}

static void test_mcdn_reference(void)
{
    check_reference(reference_load(CRD_MCDN), &two_classes);
}

/* Of an untrained network on a chunk of half the size. Logits go up to 38, and their error grows with them: with
 * weights changed in their last bit the outputs of the textbook in double move by up to 1.4e-5, twice as much as those
 * of two classes. In one voxel the head's ReLU gets 4e-7 of its largest input; that falls the other way in float32 and
 * moves whole tensors by up to 2.5e-2. Where none falls, gradients are within 3e-5 (test_numbers_of_classes). */
static void test_three_classes_reference(void)
{
    for (int kind = CRD_BCNN; kind <= CRD_MCDN; kind++) {
        const reference_case *c = reference_load_named((crd_kind)kind, "f8_k3");
        check_reference(c, &(tolerances){1e-4, 2e-4, 4e-2, 0.9997});
    }
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

TEST_MAIN(TEST(test_bcnn_reference), TEST(test_mcdn_reference), TEST(test_bf16_reference), TEST(test_kept),
          TEST(test_three_classes_reference), TEST(test_widths_and_sizes), TEST(test_numbers_of_classes),
          TEST(test_same_bytes_for_any_number_of_threads), TEST(test_memory_within_bounds))
