/* The textbook network and posterior against the numbers of an independent float64 implementation: outputs, cross
 * entropy, KL, the gradients of both apart, and six steps of Adam. */
#include "bayes/reference_bayes.h"
#include "harness.h"
#include "net/reference_net.h"
#include "reference_data.h"

typedef struct tolerances {
    double outputs, gradients, cosine;
} tolerances;

/* Under a sanitizer or valgrind everything takes ten times as long, and the float version is the same source. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static bool slow(void)
{
    return SANITIZED || emulated();
}

static const tolerances in_double = {1e-6, 1e-6, 1 - 1e-9}, in_float = {1e-4, 1e-2, 0.9999};

static double *doubles(int64_t count)
{
    double *values = calloc((size_t)count, sizeof *values);
    if (values == NULL) exit(1);
    return values;
}

static float *floats(int64_t count, const double *from)
{
    float *values = calloc((size_t)count, sizeof *values);
    if (values == NULL) exit(1);
    for (int64_t i = 0; from != NULL && i < count; i++) values[i] = (float)from[i];
    return values;
}

static double *widen(int64_t count, const float *from)
{
    double *values = doubles(count);
    for (int64_t i = 0; i < count; i++) values[i] = from[i];
    return values;
}

/* One example of a case, in the precision asked for; numbers go in and come out as doubles. */
typedef struct example {
    const reference_case *c;
    const double *weights; /* point layout */
    const float *masks;
    int number;
    bool single;
} example;

static crd_status run_forward(const example *e, double *probability)
{
    const crd_net *net = &e->c->net;
    const int64_t voxels = e->c->voxels, planes = crd_net_planes(net);
    const float *input = e->c->input + e->number * voxels;
    double *own = doubles(voxels * planes); /* [voxels][planes] */
    crd_status status;
    if (e->single) {
        float *weights = floats(net->point.total, e->weights), *logit = floats(voxels * planes, NULL);
        status = crd_ref_net_forward_f(net, e->c->chunk, weights, e->masks, input, logit);
        if (planes == 1)
            crd_ref_sigmoid_f(voxels, logit, logit);
        else
            crd_ref_softmax_f(voxels, planes, logit, logit);
        for (int64_t i = 0; i < voxels * planes; i++) own[i] = logit[i];
        free(weights);
        free(logit);
    } else {
        double *x = widen(voxels, input), *masks = e->masks != NULL ? widen(net->mask_total, e->masks) : NULL;
        status = crd_ref_net_forward_d(net, e->c->chunk, e->weights, masks, x, own);
        if (planes == 1)
            crd_ref_sigmoid_d(voxels, own, own);
        else
            crd_ref_softmax_d(voxels, planes, own, own);
        free(x);
        free(masks);
    }
    for (int64_t i = 0; i < voxels * planes; i++) probability[i % planes * voxels + i / planes] = own[i];
    free(own);
    return status;
}

static crd_status run_loss(const example *e, double scale, double *gradient, double *bce)
{
    const crd_net *net = &e->c->net;
    const int64_t voxels = e->c->voxels;
    const float *input = e->c->input + e->number * voxels;
    const uint8_t *label = e->c->label + e->number * voxels;
    int64_t labelled = 0;
    crd_status status;
    if (e->single) {
        float *weights = floats(net->point.total, e->weights), *own = floats(net->point.total, NULL);
        status =
            crd_ref_net_loss_f(net, e->c->chunk, weights, e->masks, input, label, (float)scale, own, bce, &labelled);
        for (int64_t i = 0; i < net->point.total; i++) gradient[i] = own[i];
        free(weights);
        free(own);
    } else {
        double *x = widen(voxels, input), *masks = e->masks != NULL ? widen(net->mask_total, e->masks) : NULL;
        status = crd_ref_net_loss_d(net, e->c->chunk, e->weights, masks, x, label, scale, gradient, bce, &labelled);
        free(x);
        free(masks);
    }
    *bce *= scale;
    return status;
}

static void check_outputs(const reference_case *c, bool noisy, bool single, double tolerance)
{
    const crd_net *net = &c->net;
    double *model = widen(net->model.total, c->model), *point = doubles(net->point.total);
    const int64_t values = c->voxels * crd_net_planes(net);
    double *probability = doubles(values);
    comparison all = {0};
    for (int b = 0; b < REFERENCE_BATCH; b++) {
        crd_ref_draw(net, model, noisy ? &c->noise[b] : NULL, point);
        const example e = {c, point, noisy ? c->masks[b] : NULL, b, single};
        CHECK_OK(run_forward(&e, probability));
        const double *expected = (noisy ? c->noisy_probability : c->mean_probability) + b * values;
        for (int64_t i = 0; i < values; i++) compare(&all, probability[i], expected[i]);
    }
    printf("       %-32s %.2e\n", noisy ? "noisy/probability" : "mean/probability", relative_error(&all));
    CHECK(relative_error(&all) <= tolerance);
    free(model);
    free(point);
    free(probability);
}

static void check_tensors(const char *what, const reference_case *c, const reference_tensor *tensors,
                          const double *computed, const tolerances *allowed)
{
    for (int i = 0; i < c->net.model.count; i++) {
        const crd_parameter *parameter = &c->net.model.parameters[i];
        if (tensors[i].count == 0) continue;
        const reference_error error = reference_compare(&tensors[i], computed + parameter->offset);
        printf("       %-13s %-26s %.2e, norm and sum %.2e, 1 - cosine %.1e\n", what, parameter->path, error.values,
               error.measure, 1 - error.cosine);
        CHECK(error.values <= allowed->gradients);
        CHECK(error.measure <= allowed->gradients);
        CHECK(error.cosine >= allowed->cosine);
    }
}

/* BCE of the batch at the given model, and its gradient in the model layout (overwritten). */
static double batch_gradient(const reference_case *c, const double *model, bool noisy, bool single, double *gradient)
{
    const crd_net *net = &c->net;
    double *point = doubles(net->point.total), *own = doubles(net->point.total), bce = 0;
    memset(gradient, 0, (size_t)net->model.total * sizeof *gradient);
    for (int b = 0; b < REFERENCE_BATCH; b++) {
        const crd_noise *noise = noisy ? &c->noise[b] : NULL;
        double sum = 0;
        crd_ref_draw(net, model, noise, point);
        const example e = {c, point, noisy ? c->masks[b] : NULL, b, single};
        if (run_loss(&e, 1.0 / (double)(REFERENCE_BATCH * c->voxels), own, &sum) != CRD_OK) bce = NAN;
        bce += sum;
        crd_ref_draw_backward(net, model, noise, own, gradient);
    }
    free(point);
    free(own);
    return bce;
}

static void check_case(const reference_case *c, bool single, const tolerances *allowed)
{
    const crd_net *net = &c->net;
    double *model = widen(net->model.total, c->model), *gradient = doubles(net->model.total);

    check_outputs(c, false, single, allowed->outputs);
    check_outputs(c, true, single, allowed->outputs);
    const double bce = batch_gradient(c, model, true, single, gradient);
    printf("       %-32s %.2e\n", "noisy/bce", fabs(bce / c->noisy_bce - 1));
    CHECK(fabs(bce / c->noisy_bce - 1) <= allowed->outputs);
    check_tensors("gradient_bce", c, c->gradient_bce, gradient, allowed);
    free(model);
    free(gradient);
}

static void test_bcnn_in_double(void)
{
    check_case(reference_load(CRD_BCNN), false, &in_double);
}

static void test_mcdn_in_double(void)
{
    check_case(reference_load(CRD_MCDN), false, &in_double);
}

static void test_bcnn_in_float(void)
{
    if (slow()) SKIP("under a sanitizer or valgrind the double version stands for both");
    check_case(reference_load(CRD_BCNN), true, &in_float);
}

static void test_mcdn_in_float(void)
{
    if (slow()) SKIP("under a sanitizer or valgrind the double version stands for both");
    check_case(reference_load(CRD_MCDN), true, &in_float);
}

/* More than two classes. */
static void check_three_classes(crd_kind kind)
{
    const reference_case *c = reference_load_named(kind, "f8_k3");
    check_case(c, false, &in_double);
    if (!slow()) check_case(c, true, &in_float);
}

static void test_bcnn_of_three_classes(void)
{
    check_three_classes(CRD_BCNN);
}

static void test_mcdn_of_three_classes(void)
{
    check_three_classes(CRD_MCDN);
}

static void check_kl(const reference_case *c)
{
    double *model = widen(c->net.model.total, c->model), *gradient = doubles(c->net.model.total);
    const double kl = crd_ref_kl(&c->net, model, 1, 1, gradient);
    printf("       %-32s %.2e\n", "kl", fabs(kl / c->kl - 1));
    CHECK(fabs(kl / c->kl - 1) <= 1e-6);
    check_tensors("kl_gradient", c, c->gradient_kl, gradient, &in_double);
    free(model);
    free(gradient);
}

static void test_kl(void)
{
    check_kl(reference_load(CRD_BCNN));
}

/* Six noise-free steps on the batch: BCE and loss before each. */
static void check_adam(const reference_case *c)
{
    const int64_t count = c->net.model.total;
    double *model = widen(count, c->model), *gradient = doubles(count), *m = doubles(count), *v = doubles(count);
    for (int step = 1; step <= (slow() ? 2 : REFERENCE_ADAM_STEPS); step++) {
        const double weight = 0.5 / c->adam_m, bce = batch_gradient(c, model, false, false, gradient);
        const double loss = bce + weight * crd_ref_kl(&c->net, model, 1, weight, gradient);
        const double *expected = c->adam[step - 1];
        printf("       before step %d: bce %.9f (%.2e), loss %.9f (%.2e)\n", step, bce, fabs(bce / expected[0] - 1),
               loss, fabs(loss / expected[1] - 1));
        CHECK(fabs(bce / expected[0] - 1) <= 1e-6);
        CHECK(fabs(loss / expected[1] - 1) <= 1e-6);
        crd_ref_adam_d(count, step, 1e-3, gradient, m, v, model);
    }
    free(model);
    free(gradient);
    free(m);
    free(v);
}

static void test_adam_bcnn(void)
{
    check_adam(reference_load(CRD_BCNN));
}

static void test_adam_mcdn(void)
{
    check_adam(reference_load(CRD_MCDN));
}

static void test_kl_and_adam_of_three_classes(void)
{
    check_kl(reference_load_named(CRD_BCNN, "f8_k3"));
    check_adam(reference_load_named(CRD_BCNN, "f8_k3"));
    check_adam(reference_load_named(CRD_MCDN, "f8_k3"));
}

static void test_bad_chunk(void)
{
    crd_net net;
    CHECK_OK(crd_net_describe(CRD_MCDN, 8, 4, &net));
    double logit = 0;
    CHECK_FAILS(crd_ref_net_forward_d(&net, (int64_t[]){8, 8, 12}, &logit, NULL, &logit, &logit), CRD_ERR_ARGUMENT,
                "use 8,8,8 or 8,8,16");
}

TEST_MAIN(TEST(test_bcnn_in_double), TEST(test_mcdn_in_double), TEST(test_bcnn_in_float), TEST(test_mcdn_in_float),
          TEST(test_kl), TEST(test_adam_bcnn), TEST(test_adam_mcdn), TEST(test_bcnn_of_three_classes),
          TEST(test_mcdn_of_three_classes), TEST(test_kl_and_adam_of_three_classes), TEST(test_bad_chunk))
