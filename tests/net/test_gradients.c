/* Every reference operation's backward pass against finite differences in double, and its forward pass where a value is
 * known without it. */
#include "harness.h"
#include "ops/reference.h"

/* Numbers that repeat the same way on every machine. */
static uint32_t random_state;

static double random_value(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (double)random_state / 2147483648.0 - 1;
}

static double *random_values(int64_t count)
{
    double *values = malloc((size_t)count * sizeof *values);
    for (int64_t i = 0; values != NULL && i < count; i++) values[i] = random_value();
    return values;
}

/* An operation as a function of a list of inputs: forward fills y, backward fills the gradients of all inputs from dy.
 * The scalar that is differentiated is sum(y * dy) for a random dy. */
enum { INPUTS_MAX = 4 };
typedef struct operation {
    const char *name;
    int64_t outputs;
    int inputs;
    int64_t counts[INPUTS_MAX];
    void (*forward)(const struct operation *op, double *const *x, double *y);
    void (*backward)(const struct operation *op, double *const *x, const double *dy, double *const *dx);
    crd_ref_conv conv;
    int64_t size[3], channels, groups;
} operation;

static double objective(const operation *op, double *const *x, const double *dy, double *y)
{
    double sum = 0;
    op->forward(op, x, y);
    for (int64_t i = 0; i < op->outputs; i++) sum += y[i] * dy[i];
    return sum;
}

/* The largest difference between both gradients, of the largest value, over all inputs. */
static double gradient_error(const operation *op)
{
    double *x[INPUTS_MAX] = {NULL}, *dx[INPUTS_MAX] = {NULL};
    double *y = random_values(op->outputs), *dy = random_values(op->outputs);
    for (int k = 0; k < op->inputs; k++) {
        x[k] = random_values(op->counts[k]);
        dx[k] = random_values(op->counts[k]);
    }
    op->backward(op, x, dy, dx);
    double worst = 0;
    for (int k = 0; k < op->inputs; k++) {
        comparison c = {0};
        for (int64_t i = 0; i < op->counts[k]; i++) {
            const double step = 1e-5, value = x[k][i];
            x[k][i] = value + step;
            const double up = objective(op, x, dy, y);
            x[k][i] = value - step;
            const double down = objective(op, x, dy, y);
            x[k][i] = value;
            compare(&c, (up - down) / (2 * step), dx[k][i]);
        }
        printf("       %-24s input %d: %.2e\n", op->name, k, relative_error(&c));
        worst = worse(worst, relative_error(&c));
    }
    for (int k = 0; k < op->inputs; k++) {
        free(x[k]);
        free(dx[k]);
    }
    free(y);
    free(dy);
    return worst;
}

static void conv_forward(const operation *op, double *const *x, double *y)
{
    crd_ref_conv_forward_d(&op->conv, x[0], op->inputs > 3 ? x[3] : NULL, x[1], x[2], y);
}

static void conv_backward(const operation *op, double *const *x, const double *dy, double *const *dx)
{
    const int two = op->inputs > 3;
    crd_ref_conv_backward_d(&op->conv, x[0], two ? x[3] : NULL, x[1], dy, dx[0], two ? dx[3] : NULL, dx[1], dx[2]);
}

static operation convolution(const char *name, crd_conv_size size, int edge, int enlarge)
{
    const int64_t voxels = size.depth * size.height * size.width;
    const int64_t voxels_in = voxels / (enlarge * enlarge * enlarge);
    const int64_t in = size.channels_in[0] + size.channels_in[1];
    return (operation){.name = name,
                       .outputs = voxels * size.channels_out,
                       .inputs = size.channels_in[1] > 0 ? 4 : 3,
                       .counts = {voxels_in * size.channels_in[0], edge * edge * edge * in * size.channels_out,
                                  size.channels_out, voxels_in * size.channels_in[1]},
                       .forward = conv_forward,
                       .backward = conv_backward,
                       .conv = {.size = size, .edge = edge, .enlarge = enlarge}};
}

static void test_convolutions(void)
{
    random_state = 1;
    const operation cases[] = {
        convolution("3x3x3", (crd_conv_size){3, 4, 2, {2, 0}, 3}, 3, 1),
        convolution("3x3x3 of two inputs", (crd_conv_size){2, 3, 4, {2, 3}, 2}, 3, 1),
        convolution("3x3x3 of one voxel", (crd_conv_size){1, 1, 1, {2, 0}, 2}, 3, 1),
        convolution("2x2x2", (crd_conv_size){3, 2, 3, {2, 0}, 3}, 2, 1),
        convolution("1x1x1", (crd_conv_size){2, 2, 3, {3, 0}, 2}, 1, 1),
        convolution("enlarge, 2x2x2", (crd_conv_size){4, 2, 6, {3, 0}, 2}, 2, 2),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) CHECK(gradient_error(&cases[i]) < 1e-8);
}

static void norm_forward(const operation *op, double *const *x, double *y)
{
    crd_ref_norm_forward_d(op->size[0], op->channels, op->groups, x[0], x[1], x[2], y);
}

static void norm_backward(const operation *op, double *const *x, const double *dy, double *const *dx)
{
    crd_ref_norm_backward_d(op->size[0], op->channels, op->groups, x[0], x[1], dy, dx[0], dx[1], dx[2]);
}

static void test_norm(void)
{
    random_state = 2;
    const operation op = {.name = "group norm",
                          .outputs = 10 * 8,
                          .inputs = 3,
                          .counts = {10 * 8, 8, 8},
                          .forward = norm_forward,
                          .backward = norm_backward,
                          .size = {10},
                          .channels = 8,
                          .groups = 4};
    CHECK(gradient_error(&op) < 1e-7);
}

static void pool_forward(const operation *op, double *const *x, double *y)
{
    crd_ref_pool_forward_d(op->size[0], op->size[1], op->size[2], op->channels, x[0], y);
}

static void pool_backward(const operation *op, double *const *x, const double *dy, double *const *dx)
{
    crd_ref_pool_backward_d(op->size[0], op->size[1], op->size[2], op->channels, x[0], dy, dx[0]);
}

static void relu_forward(const operation *op, double *const *x, double *y)
{
    crd_ref_relu_forward_d(op->outputs, x[0], y);
}

static void relu_backward(const operation *op, double *const *x, const double *dy, double *const *dx)
{
    crd_ref_relu_backward_d(op->outputs, x[0], dy, dx[0]);
}

static void test_pool_and_relu(void)
{
    random_state = 3;
    const operation pool = {.name = "max pool",
                            .outputs = 2 * 1 * 2 * 3,
                            .inputs = 1,
                            .counts = {4 * 2 * 4 * 3},
                            .forward = pool_forward,
                            .backward = pool_backward,
                            .size = {4, 2, 4},
                            .channels = 3};
    const operation relu = {
        .name = "ReLU", .outputs = 64, .inputs = 1, .counts = {64}, .forward = relu_forward, .backward = relu_backward};
    CHECK(gradient_error(&pool) < 1e-8);
    CHECK(gradient_error(&relu) < 1e-8);
}

static void merge_forward(const operation *op, double *const *x, double *y)
{
    crd_ref_concat_d(op->size[0], op->channels, x[0], op->channels + 1, x[1], y);
}

static void merge_backward(const operation *op, double *const *x, const double *dy, double *const *dx)
{
    (void)x;
    crd_ref_split_d(op->size[0], op->channels, dx[0], op->channels + 1, dx[1], dy);
}

static const double dropout_mask[3] = {2, 0, 2};

static void mask_forward(const operation *op, double *const *x, double *y)
{
    crd_ref_mask_d(op->size[0], op->channels, dropout_mask, x[0], y);
}

static void mask_backward(const operation *op, double *const *x, const double *dy, double *const *dx)
{
    (void)x;
    crd_ref_mask_d(op->size[0], op->channels, dropout_mask, dy, dx[0]);
}

static void test_concatenation_and_mask(void)
{
    random_state = 4;
    const operation merge = {.name = "concatenation",
                             .outputs = 4 * 5,
                             .inputs = 2,
                             .counts = {4 * 2, 4 * 3},
                             .forward = merge_forward,
                             .backward = merge_backward,
                             .size = {4},
                             .channels = 2};
    const operation mask = {.name = "dropout mask",
                            .outputs = 4 * 3,
                            .inputs = 1,
                            .counts = {4 * 3},
                            .forward = mask_forward,
                            .backward = mask_backward,
                            .size = {4},
                            .channels = 3};
    CHECK(gradient_error(&merge) < 1e-8);
    CHECK(gradient_error(&mask) < 1e-8);
}

static const uint8_t some_labels[6] = {0, 1, CRD_NO_LABEL, 1, 0, CRD_NO_LABEL};

static void loss_forward(const operation *op, double *const *x, double *y)
{
    int64_t labelled = 0;
    y[0] = crd_ref_bce_d(op->counts[0], x[0], some_labels, 1, NULL, &labelled);
}

static void loss_backward(const operation *op, double *const *x, const double *dy, double *const *dx)
{
    int64_t labelled = 0;
    crd_ref_bce_d(op->counts[0], x[0], some_labels, dy[0], dx[0], &labelled);
}

static void test_cross_entropy(void)
{
    random_state = 5;
    const operation loss = {.name = "cross entropy",
                            .outputs = 1,
                            .inputs = 1,
                            .counts = {6},
                            .forward = loss_forward,
                            .backward = loss_backward};
    CHECK(gradient_error(&loss) < 1e-8);

    /* Far out it stays finite: log(1 + exp(-x)) at -1000 is 1000. */
    const double logits[3] = {-1000, 1000, 0};
    const uint8_t labels[3] = {1, 1, CRD_NO_LABEL};
    double gradient[3];
    int64_t labelled = 0;
    CHECK_NEAR(crd_ref_bce_d(3, logits, labels, 0.5, gradient, &labelled), 1000, 1e-9);
    CHECK(labelled == 2 && gradient[0] == -0.5 && gradient[1] == 0 && gradient[2] == 0);
    double probability[3];
    crd_ref_sigmoid_d(3, logits, probability);
    CHECK(probability[0] == 0 && probability[1] == 1 && probability[2] == 0.5);
}

enum { CLASSES = 3 };

static void softmax_loss_forward(const operation *op, double *const *x, double *y)
{
    static const uint8_t labels[] = {2, 0, CRD_NO_LABEL, 1};
    int64_t labelled = 0;
    y[0] = crd_ref_cross_entropy_d(op->counts[0] / CLASSES, CLASSES, x[0], labels, 1, NULL, &labelled);
}

static void softmax_loss_backward(const operation *op, double *const *x, const double *dy, double *const *dx)
{
    static const uint8_t labels[] = {2, 0, CRD_NO_LABEL, 1};
    int64_t labelled = 0;
    crd_ref_cross_entropy_d(op->counts[0] / CLASSES, CLASSES, x[0], labels, dy[0], dx[0], &labelled);
}

static void test_cross_entropy_of_classes(void)
{
    random_state = 6;
    const operation loss = {.name = "cross entropy of three",
                            .outputs = 1,
                            .inputs = 1,
                            .counts = {4 * CLASSES},
                            .forward = softmax_loss_forward,
                            .backward = softmax_loss_backward};
    CHECK(gradient_error(&loss) < 1e-8);

    /* Far out it stays finite, and with two classes of which one has the logit 0 it is that of the sigmoid. */
    const double far[CLASSES] = {-1000, 1000, 0}, two[4] = {0, -1.5, 0, 40};
    const uint8_t label = 0, labels[2] = {1, 0};
    double gradient[CLASSES], probability[4], other[2];
    int64_t labelled = 0;
    CHECK_NEAR(crd_ref_cross_entropy_d(1, CLASSES, far, &label, 0.5, gradient, &labelled), 2000, 1e-9);
    CHECK(labelled == 1 && gradient[0] == -0.5 && gradient[1] == 0.5 && gradient[2] == 0);
    CHECK_NEAR(crd_ref_cross_entropy_d(2, 2, two, labels, 1, NULL, &labelled),
               crd_ref_bce_d(2, (double[]){-1.5, 40}, labels, 1, NULL, &labelled), 1e-13);
    crd_ref_softmax_d(2, 2, two, probability);
    crd_ref_sigmoid_d(2, (double[]){-1.5, 40}, other);
    CHECK_NEAR(probability[1], other[0], 1e-15);
    CHECK_NEAR(probability[3], other[1], 1e-15);
}

/* Padding and orientation of the kernel, by hand: one input voxel lit, so the output shows the kernel turned round. */
static void test_padding_by_hand(void)
{
    double x[3] = {0, 1, 0}, kernel[27], y[6];
    for (int i = 0; i < 27; i++) kernel[i] = i;
    const crd_ref_conv three = {.size = {1, 1, 3, {1, 0}, 1}, .edge = 3, .enlarge = 1};
    crd_ref_conv_forward_d(&three, x, NULL, kernel, NULL, y);
    CHECK(y[0] == 14 && y[1] == 13 && y[2] == 12); /* the middle row of the kernel: taps 12, 13, 14 */

    const crd_ref_conv two = {.size = {1, 1, 3, {1, 0}, 1}, .edge = 2, .enlarge = 1};
    crd_ref_conv_forward_d(&two, x, NULL, kernel, NULL, y);
    CHECK(y[0] == 1 && y[1] == 0 && y[2] == 0); /* offsets 0 and 1 only: nothing is padded before */

    const double low[2] = {10, 1}, bias[1] = {0.5};
    const crd_ref_conv up = {.size = {2, 2, 4, {1, 0}, 1}, .edge = 2, .enlarge = 2};
    double high[16];
    for (int i = 0; i < 8; i++) kernel[i] = i % 2 == 0 ? 1 : 100; /* sums over z and y, weighs x by 1 and 100 */
    crd_ref_conv_forward_d(&up, low, NULL, kernel, bias, high);
    CHECK(high[0] == 4 * (10 + 1000) + 0.5); /* 10, 10 */
    CHECK(high[1] == 4 * (10 + 100) + 0.5);  /* 10, 1 */
    CHECK(high[2] == 4 * (1 + 100) + 0.5);   /* 1, 1 */
    CHECK(high[3] == 4 * 1 + 0.5);           /* 1 and padding */
    CHECK(high[12] == 1010 + 0.5);           /* the last voxel in z and y has one tap of each */
}

static void test_ties(void)
{
    const double x[8] = {1, 3, 3, 3, 0, 3, 2, 1}, dy[1] = {7};
    double dx[8];
    crd_ref_pool_backward_d(2, 2, 2, 1, x, dy, dx);
    for (int i = 0; i < 8; i++) CHECK(dx[i] == (i == 1 ? 7 : 0));
    const double zero[1] = {0};
    crd_ref_relu_backward_d(1, zero, dy, dx);
    CHECK(dx[0] == 0);
}

/* A norm of channels, not of slabs of depth: each group's output has mean 0 and variance 1 over all voxels. */
static void test_norm_is_per_group_of_channels(void)
{
    random_state = 6;
    enum { VOXELS = 50, CHANNELS = 8, GROUPS = 4, WIDTH = CHANNELS / GROUPS };
    double x[VOXELS * CHANNELS], y[VOXELS * CHANNELS], gamma[CHANNELS], beta[CHANNELS];
    for (int i = 0; i < VOXELS * CHANNELS; i++) x[i] = random_value() * (1 + i % CHANNELS) + 3 * (i % CHANNELS);
    for (int c = 0; c < CHANNELS; c++) {
        gamma[c] = 1;
        beta[c] = 0;
    }
    crd_ref_norm_forward_d(VOXELS, CHANNELS, GROUPS, x, gamma, beta, y);
    for (int g = 0; g < GROUPS; g++) {
        double values[VOXELS * WIDTH], mean, deviation;
        for (int v = 0; v < VOXELS; v++)
            for (int c = 0; c < WIDTH; c++) values[v * WIDTH + c] = y[v * CHANNELS + g * WIDTH + c];
        crd_ref_moments_d(VOXELS * WIDTH, values, &mean, &deviation);
        CHECK_NEAR(mean, 0, 1e-12);
        CHECK_NEAR(deviation, 1, 1e-4); /* epsilon makes it a little less */
        CHECK(deviation < 1);
    }
}

/* numpy.percentile(v, p) and numpy.std(v), computed with numpy 1.24. */
static void test_statistics(void)
{
    double v[5] = {0.9, 0.1, 0.4, 0.3, 0.75}, mean, deviation;
    crd_ref_moments_d(5, v, &mean, &deviation);
    CHECK_NEAR(mean, 0.49, 1e-15);
    CHECK_NEAR(deviation, 0.29393876913398137, 1e-15);
    CHECK_NEAR(crd_ref_percentile_d(5, v, 33), 0.332, 1e-15);
    CHECK_NEAR(crd_ref_percentile_d(5, v, 67), 0.638, 1e-15);
    CHECK(crd_ref_percentile_d(5, v, 0) == 0.1 && crd_ref_percentile_d(5, v, 100) == 0.9);
    CHECK(crd_ref_percentile_d(5, v, 50) == 0.4);
    double one[1] = {3};
    CHECK(crd_ref_percentile_d(1, one, 42) == 3);
}

/* The first steps of Algorithm 1 by hand. With a constant gradient the bias-corrected moments are g and g^2. */
static void test_adam(void)
{
    double w[2] = {1, -2}, m[2] = {0, 0}, v[2] = {0, 0};
    const double gradient[2] = {0.5, -1e-7};
    for (int step = 1; step <= 5; step++) crd_ref_adam_d(2, step, 1e-3, gradient, m, v, w);
    CHECK_NEAR(w[0], 1 - 5 * 1e-3 * 0.5 / (0.5 + 1e-7), 1e-12);
    CHECK_NEAR(w[1], -2 + 5 * 1e-3 * 0.5, 1e-12); /* epsilon is as large as the root here, and added after it */
}

TEST_MAIN(TEST(test_convolutions), TEST(test_norm), TEST(test_pool_and_relu), TEST(test_concatenation_and_mask),
          TEST(test_cross_entropy), TEST(test_cross_entropy_of_classes), TEST(test_padding_by_hand), TEST(test_ties),
          TEST(test_norm_is_per_group_of_channels), TEST(test_statistics), TEST(test_adam))
