/* 3x3x3 convolution: an item of work is one row of output voxels, or, for the kernel's gradient, some input channels
 * over one slab of rows. */
#include "ops/portable.h"
#include "ops/portable_rows.h"

#include <string.h>

static void conv_row(void *context, int64_t item, int worker)
{
    (void)worker;
    const crd_conv *conv = context;
    const crd_tensor *y = conv->y;
    const int64_t out = y->channels, row_z = item / y->height, row_y = item % y->height;
    const int64_t in = conv->x[0]->channels + (conv->x[1] != NULL ? conv->x[1]->channels : 0);
    float *row = y->data + row_z * y->plane + row_y * y->row;
    int64_t first_channel = 0;
    crd_tap taps[54];
    int count = 0;
    for (int input = 0; input < 2 && conv->x[input] != NULL; input++) {
        const crd_tensor *x = conv->x[input];
        for (int t = 0; t < 27; t++)
            taps[count++] = (crd_tap){.x = x->data + (row_z + t / 9 - 1) * x->plane + (row_y + t / 3 % 3 - 1) * x->row +
                                           (t % 3 - 1) * x->channels,
                                      .weights = conv->kernel + (t * in + first_channel) * out,
                                      .channels = x->channels,
                                      .step = x->channels};
        first_channel += x->channels;
    }
    crd_gather_row(taps, count, y->width, out, row, out);
    double *sums = conv->sums != NULL ? (double *)conv->scratch + item * 2 * out : NULL;
    crd_finish_row(y, row_z, row_y, conv->bias, conv->relu, sums);
}

void crd_portable_conv_forward(crd_pool *pool, const crd_conv *conv)
{
    const int64_t rows = conv->y->depth * conv->y->height;
    crd_conv copy = *conv;
    crd_pool_run(pool, rows, conv_row, &copy);
    if (conv->sums != NULL) crd_add_row_sums(conv->scratch, rows, conv->y->channels, conv->sums);
}

/* A plain sum over taps has nothing to prepare. */
size_t crd_portable_keep_bytes(const crd_conv_size *size)
{
    (void)size;
    return 0;
}

void crd_portable_conv_keep(crd_pool *pool, const crd_tensor *x, const crd_conv_size *size, void *kept)
{
    (void)pool, (void)x, (void)size, (void)kept;
}

enum { CHANNELS = 8 }; /* input channels of one item */

typedef struct gradient {
    const crd_tensor *x[2], *dy;
    int64_t in, slabs;
    int64_t groups[2]; /* groups of CHANNELS input channels in each input */
    float *partial;    /* [slabs][27][in][out] */
    float *dkernel;
} gradient;

static void gradient_slab(void *context, int64_t item, int worker)
{
    (void)worker;
    const gradient *g = context;
    const int64_t groups = g->groups[0] + g->groups[1], slab = item / groups, group = item % groups;
    const int input = group >= g->groups[0];
    const crd_tensor *x = g->x[input], *dy = g->dy;
    const int64_t first = (group - (input ? g->groups[0] : 0)) * CHANNELS, out = dy->channels;
    const int64_t channels = x->channels - first < CHANNELS ? x->channels - first : CHANNELS;
    float *partial = g->partial + (slab * 27 * g->in + (input ? g->x[0]->channels : 0) + first) * out;
    for (int t = 0; t < 27; t++) memset(partial + t * g->in * out, 0, (size_t)(channels * out) * sizeof *partial);

    const int64_t rows = dy->depth * dy->height;
    for (int64_t r = rows * slab / g->slabs; r < rows * (slab + 1) / g->slabs; r++) {
        const int64_t row_z = r / dy->height, row_y = r % dy->height;
        const float *dy_row = dy->data + row_z * dy->plane + row_y * dy->row;
        for (int t = 0; t < 27; t++) {
            const float *x_row = x->data + (row_z + t / 9 - 1) * x->plane + (row_y + t / 3 % 3 - 1) * x->row +
                                 (t % 3 - 1) * x->channels + first;
            float *sum = partial + t * g->in * out;
            if (out == 1) /* the long side of the product is the one that is vectorised */
                crd_outer_row(dy_row, 1, 1, x_row, x->channels, channels, dy->width, sum, channels);
            else
                crd_outer_row(x_row, x->channels, channels, dy_row, out, out, dy->width, sum, out);
        }
    }
}

static void gradient_add(void *context, int64_t tap, int worker)
{
    (void)worker;
    const gradient *g = context;
    const int64_t count = g->in * g->dy->channels;
    for (int64_t i = tap * count; i < (tap + 1) * count; i++) {
        double sum = 0;
        for (int64_t s = 0; s < g->slabs; s++) sum += g->partial[s * 27 * count + i];
        g->dkernel[i] = (float)sum;
    }
}

void crd_portable_conv_kernel_gradient(crd_pool *pool, const crd_tensor *x0, const crd_tensor *x1, const crd_tensor *dy,
                                       float *dkernel, void *scratch)
{
    gradient g = {.x = {x0, x1}, .dy = dy, .partial = scratch, .dkernel = dkernel};
    g.in = x0->channels + (x1 != NULL ? x1->channels : 0);
    g.groups[0] = (x0->channels + CHANNELS - 1) / CHANNELS;
    g.groups[1] = x1 != NULL ? (x1->channels + CHANNELS - 1) / CHANNELS : 0;
    g.slabs = crd_portable_slabs(dy->depth * dy->height, 27 * g.in * dy->channels);
    crd_pool_run(pool, g.slabs * (g.groups[0] + g.groups[1]), gradient_slab, &g);
    crd_pool_run(pool, 27, gradient_add, &g);
}
