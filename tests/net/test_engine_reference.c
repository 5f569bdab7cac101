/* The engine on every instruction path of this CPU against the numbers of an independent implementation. */
#include "engine_tools.h"
#include "net/reference_net.h"

typedef struct tolerances { /* of gradients */
    double values, cosine;
} tolerances;

static const double output_tolerance = 1e-4;
static const tolerances gradient_tolerance = {1e-2, 0.9999};

static void check_probabilities(const reference_case *c, const double *model, bool noisy, const char *path)
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
    CHECK(relative_error(&all) <= output_tolerance);
    tear_down(&b);
    free(point);
    free(probability);
}

typedef struct expectation { /* of the batch, with noise */
    const uint8_t *label;
    double bce; /* of the labelled voxels' sum, as a part of all voxels */
    const reference_tensor *gradient;
} expectation;

static expectation in_the_file(const reference_case *c)
{
    return (expectation){c->label, c->noisy_bce, c->gradient_bce};
}

static void check_gradients(const reference_case *c, const double *model, const expectation *expected,
                            const tolerances *allowed, const char *path)
{
    bench b;
    const crd_net *net = &c->net;
    float *point = room(net->point.total, sizeof *point), *own = room(net->point.total, sizeof *own);
    double *gradient = room(net->model.total, sizeof *gradient), bce = 0;
    CHECK_OK(set_up(&b, net, c->chunk, true, path, 2));
    for (int example = 0; example < REFERENCE_BATCH; example++) {
        crd_loss loss;
        const uint8_t *label = expected->label + example * c->voxels;
        int64_t labelled = 0;
        for (int64_t v = 0; v < c->voxels; v++) labelled += label[v] != CRD_NO_LABEL;
        draw(c, model, example, true, point);
        crd_engine_loss(b.engine, point, c->masks[example], c->input + example * c->voxels, label,
                        1.0f / (float)(REFERENCE_BATCH * c->voxels), own, &loss);
        CHECK(loss.labelled == labelled && !loss.head_dead);
        bce += loss.bce_sum / (double)(REFERENCE_BATCH * c->voxels);
        double *exact = widen(own, net->point.total);
        crd_ref_draw_backward(net, model, &c->noise[example], exact, gradient);
        free(exact);
    }
    printf("       %-9s noisy/bce %.2e\n", path, fabs(bce / expected->bce - 1));
    CHECK(fabs(bce / expected->bce - 1) <= 1e-4);
    for (int i = 0; i < net->model.count; i++) {
        const crd_parameter *parameter = &net->model.parameters[i];
        const reference_error error = reference_compare(&expected->gradient[i], gradient + parameter->offset);
        printf("       %-9s gradient_bce %-26s %.2e, norm and sum %.2e, 1 - cosine %.1e\n", path, parameter->path,
               error.values, error.measure, 1 - error.cosine);
        CHECK(error.values <= allowed->values);
        CHECK(error.measure <= allowed->values);
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
    const expectation expected = in_the_file(c);
    for (int i = 0; i < PATHS && !harness_failed; i++) {
        if (!tried_here(i)) continue;
        check_probabilities(c, model, false, paths[i]);
        check_probabilities(c, model, true, paths[i]);
        check_gradients(c, model, &expected, allowed, paths[i]);
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

static void test_bf16_reference(void)
{
    check_bf16(CRD_BCNN);
    check_bf16(CRD_MCDN);
}

static void test_bcnn_reference(void)
{
    check_reference(reference_load(CRD_BCNN), &gradient_tolerance);
}

static void test_mcdn_reference(void)
{
    check_reference(reference_load(CRD_MCDN), &gradient_tolerance);
}

/* The batch's gradients by the textbook in double; the tensors are the caller's to free, by the first one's values. */
static double textbook_gradients(const reference_case *c, const double *model, const uint8_t *label,
                                 reference_tensor tensors[CRD_PARAMETERS_MAX])
{
    const crd_net *net = &c->net;
    double *point = room(net->point.total, sizeof *point), *own = room(net->point.total, sizeof *own);
    double *gradient = room(net->model.total, sizeof *gradient), bce = 0;
    const double scale = 1.0 / (double)(REFERENCE_BATCH * c->voxels);
    for (int b = 0; b < REFERENCE_BATCH; b++) {
        double *input = widen(c->input + b * c->voxels, c->voxels), sum;
        double *masks = c->masks[b] != NULL ? widen(c->masks[b], net->mask_total) : NULL;
        int64_t labelled;
        crd_ref_draw(net, model, &c->noise[b], point);
        if (crd_ref_net_loss_d(net, c->chunk, point, masks, input, label + b * c->voxels, scale, own, &sum,
                               &labelled) != CRD_OK)
            exit(1);
        crd_ref_draw_backward(net, model, &c->noise[b], own, gradient);
        bce += scale * sum;
        free(input), free(masks);
    }
    for (int i = 0; i < net->model.count; i++)
        tensors[i] = reference_whole_tensor(gradient + net->model.parameters[i].offset, net->model.parameters[i].count);
    free(point), free(own);
    return bce;
}

/* What the head's ReLU gets in each voxel, [voxels][classes]: with ones in place of the last layer's weights the logits
 * are what it gives, and with head/spatial's signs turned what it holds back. */
static double *head_inputs(const reference_case *c, const double *model, int b)
{
    const crd_net *net = &c->net;
    const int64_t classes = net->classes, kernel = 27 * net->layers[net->head].channels_in * classes;
    double *point = room(net->point.total, sizeof *point), *input = widen(c->input + b * c->voxels, c->voxels);
    double *masks = c->masks[b] != NULL ? widen(c->masks[b], net->mask_total) : NULL;
    double *given = room(c->voxels * classes, sizeof *given), *total = room(c->voxels * classes, sizeof *total);
    crd_ref_draw(net, model, &c->noise[b], point);
    for (int64_t i = 0; i < classes * classes; i++) point[net->point.kernel[net->last] + i] = i % (classes + 1) == 0;
    for (int64_t i = 0; i < classes; i++) point[net->point.bias[net->last] + i] = 0;
    for (int sign = 1; sign >= -1; sign -= 2) {
        if (crd_ref_net_forward_d(net, c->chunk, point, masks, input, given) != CRD_OK) exit(1);
        for (int64_t i = 0; i < c->voxels * classes; i++) total[i] += sign * given[i];
        for (int64_t i = 0; i < kernel; i++) point[net->point.kernel[net->head] + i] *= -1;
        for (int64_t i = 0; i < classes; i++) point[net->point.bias[net->head] + i] *= -1;
    }
    free(point), free(input), free(masks), free(given);
    return total;
}

/* The batch's labels without those of voxels in which an input of the head's ReLU is so near 0 that its sign can't be
 * told in float32: nearer than outputs must be right, of the largest. */
static uint8_t *labels_of_clear_voxels(const reference_case *c, const double *model, int64_t *unclear)
{
    uint8_t *label = room(REFERENCE_BATCH * c->voxels, 1);
    memcpy(label, c->label, (size_t)(REFERENCE_BATCH * c->voxels));
    *unclear = 0;
    for (int b = 0; b < REFERENCE_BATCH; b++) {
        const int64_t classes = c->net.classes;
        double *inputs = head_inputs(c, model, b), largest = 0;
        for (int64_t i = 0; i < c->voxels * classes; i++) largest = worse(largest, fabs(inputs[i]));
        for (int64_t i = 0; i < c->voxels * classes; i++) {
            uint8_t *own = &label[b * c->voxels + i / classes];
            if (fabs(inputs[i]) > output_tolerance * largest || *own == CRD_NO_LABEL) continue;
            *own = CRD_NO_LABEL;
            ++*unclear;
        }
        free(inputs);
    }
    return label;
}

/* Gradients where no ReLU of the head can fall the other way, against the textbook, which is held to the file. */
static void check_clear_voxels(const reference_case *c)
{
    double *model = widen(c->model, c->net.model.total);
    reference_tensor all[CRD_PARAMETERS_MAX], clear[CRD_PARAMETERS_MAX];
    int64_t unclear;
    uint8_t *label = labels_of_clear_voxels(c, model, &unclear);
    CHECK_NEAR(textbook_gradients(c, model, c->label, all), c->noisy_bce, 1e-6);
    for (int i = 0; i < c->net.model.count; i++) {
        const reference_error error = reference_compare(&c->gradient_bce[i], all[i].values);
        CHECK(error.values <= 1e-6 && error.measure <= 1e-6 && error.cosine >= 1 - 1e-9);
    }
    const expectation expected = {label, textbook_gradients(c, model, label, clear), clear};
    printf("       without %lld of %lld voxels\n", (long long)unclear, (long long)(REFERENCE_BATCH * c->voxels));
    CHECK(unclear > 0 && unclear <= REFERENCE_BATCH * c->voxels / 100);
    for (int i = 0; i < PATHS && !harness_failed; i++)
        if (tried_here(i)) check_gradients(c, model, &expected, &gradient_tolerance, paths[i]);
    free(model), free(label), free(all[0].values), free(clear[0].values);
}

/* In one voxel the ReLU of the BCNN's head gets 4e-7 of its largest input. In float32 that falls the other way and
 * moves whole tensors by up to 2.5e-2, so that its gradients are bounded twice: those of all voxels together, and at
 * the bar without the voxels that may fall. */
static void test_three_classes_reference(void)
{
    static const tolerances one_fell = {4e-2, 0.9997};
    check_reference(reference_load_named(CRD_MCDN, "f8_k3"), &gradient_tolerance);
    check_reference(reference_load_named(CRD_BCNN, "f8_k3"), &one_fell);
    if (!harness_failed) check_clear_voxels(reference_load_named(CRD_BCNN, "f8_k3"));
}

TEST_MAIN(TEST(test_bcnn_reference), TEST(test_mcdn_reference), TEST(test_bf16_reference),
          TEST(test_three_classes_reference))
