/* Upsampling by two, then 2x2x2. Along an axis, output 2i reads input i with both weights, k0 + k1; output 2i + 1 reads
 * input i with k0 and input i + 1 with k1. So there are three sums of weights per axis, 27 in all, and the upsampled
 * tensor is never made. */
#include "ops/portable.h"
#include "ops/portable_rows.h"

#include <string.h>

enum { BOTH, FIRST, SECOND }; /* k0 + k1, k0, k1 */

typedef struct axis_tap {
    int sum;   /* which of the three */
    int input; /* reads input i + this */
} axis_tap;
static const axis_tap axis_taps[2][2] = {{{BOTH, 0}}, {{FIRST, 0}, {SECOND, 1}}}; /* by parity of the output */
static const int axis_output[3] = {0, 1, -1}; /* input i is read by output 2i + this with that sum */

typedef struct up_work {
    const crd_up *up;
    const float *kernel; /* [8][in][out] */
    int64_t in, out;
    float *summed; /* [27][in][out], or [27][out][in] for the data gradient */
    double *row_sums;
    const crd_tensor *x, *dy;
    crd_tensor *dx;
    int64_t slabs;
    float *partial; /* [slabs][27][in][out] */
    float *dkernel;
} up_work;

static void sum_weights(const up_work *work, int64_t item, bool transposed)
{
    const int64_t in = work->in, out = work->out, count = in * out;
    const int sum[3] = {(int)item / 9, (int)item / 3 % 3, (int)item % 3};
    float *summed = work->summed + item * count;
    memset(summed, 0, (size_t)count * sizeof *summed);
    for (int t = 0; t < 8; t++) {
        bool used = true;
        for (int a = 0; a < 3; a++) used = used && (sum[a] == BOTH || sum[a] == ((t >> (2 - a) & 1) ? SECOND : FIRST));
        if (!used) continue;
        const float *kernel = work->kernel + t * count;
        if (!transposed)
            for (int64_t i = 0; i < count; i++) summed[i] += kernel[i];
        else
            for (int64_t c = 0; c < in; c++)
                for (int64_t o = 0; o < out; o++) summed[o * in + c] += kernel[c * out + o];
    }
}

static void sum_weights_item(void *context, int64_t item, int worker)
{
    (void)worker;
    sum_weights(context, item, false);
}

static void sum_weights_transposed_item(void *context, int64_t item, int worker)
{
    (void)worker;
    sum_weights(context, item, true);
}

static void up_row(void *context, int64_t item, int worker)
{
    (void)worker;
    const up_work *work = context;
    const crd_tensor *x = work->up->x, *y = work->up->y;
    const int64_t row_z = item / y->height, row_y = item % y->height;
    const int pz = (int)(row_z & 1), py = (int)(row_y & 1);
    const float *low = x->data + row_z / 2 * x->plane + row_y / 2 * x->row;
    float *row = y->data + row_z * y->plane + row_y * y->row;
    for (int px = 0; px < 2; px++) {
        crd_tap taps[8];
        int count = 0;
        for (int a = 0; a <= pz; a++)
            for (int b = 0; b <= py; b++)
                for (int c = 0; c <= px; c++) {
                    const axis_tap z = axis_taps[pz][a], t = axis_taps[py][b], u = axis_taps[px][c];
                    taps[count++] =
                        (crd_tap){.x = low + z.input * x->plane + t.input * x->row + u.input * x->channels,
                                  .weights = work->summed + ((z.sum * 3 + t.sum) * 3 + u.sum) * work->in * work->out,
                                  .channels = work->in,
                                  .step = work->in};
                }
        crd_gather_row(taps, count, x->width, work->out, row + px * work->out, 2 * work->out);
    }
    double *sums = work->row_sums != NULL ? work->row_sums + item * 2 * work->out : NULL;
    crd_finish_row(y, row_z, row_y, work->up->bias, work->up->relu, sums);
}

void crd_portable_up_forward(crd_pool *pool, const crd_up *up)
{
    up_work work = {.up = up, .kernel = up->kernel, .in = up->x->channels, .out = up->y->channels};
    const int64_t rows = up->y->depth * up->y->height;
    if (up->sums != NULL) work.row_sums = up->scratch;
    work.summed = (float *)((double *)up->scratch + rows * 2 * work.out);
    crd_pool_run(pool, 27, sum_weights_item, &work);
    crd_pool_run(pool, rows, up_row, &work);
    if (up->sums != NULL) crd_add_row_sums(work.row_sums, rows, work.out, up->sums);
}

static void up_data_row(void *context, int64_t item, int worker)
{
    (void)worker;
    const up_work *work = context;
    const crd_tensor *dy = work->dy, *dx = work->dx;
    const int64_t row_z = item / dx->height, row_y = item % dx->height;
    crd_tap taps[27];
    for (int t = 0; t < 27; t++)
        taps[t] = (crd_tap){.x = dy->data + (2 * row_z + axis_output[t / 9]) * dy->plane +
                                 (2 * row_y + axis_output[t / 3 % 3]) * dy->row + axis_output[t % 3] * work->out,
                            .weights = work->summed + t * work->in * work->out,
                            .channels = work->out,
                            .step = 2 * work->out};
    crd_gather_row(taps, 27, dx->width, work->in, dx->data + row_z * dx->plane + row_y * dx->row, work->in);
}

void crd_portable_up_data_gradient(crd_pool *pool, const crd_tensor *dy, const float *kernel, crd_tensor *dx,
                                   void *scratch)
{
    up_work work = {.kernel = kernel, .in = dx->channels, .out = dy->channels, .summed = scratch, .dy = dy, .dx = dx};
    crd_pool_run(pool, 27, sum_weights_transposed_item, &work);
    crd_pool_run(pool, dx->depth * dx->height, up_data_row, &work);
}

static void up_kernel_slab(void *context, int64_t slab, int worker)
{
    (void)worker;
    const up_work *work = context;
    const crd_tensor *x = work->x, *dy = work->dy;
    const int64_t count = work->in * work->out, rows = x->depth * x->height;
    float *partial = work->partial + slab * 27 * count;
    memset(partial, 0, 27 * (size_t)count * sizeof *partial);
    for (int64_t r = rows * slab / work->slabs; r < rows * (slab + 1) / work->slabs; r++) {
        const int64_t row_z = r / x->height, row_y = r % x->height;
        for (int t = 0; t < 27; t++)
            crd_outer_row(x->data + row_z * x->plane + row_y * x->row, work->in, work->in,
                          dy->data + (2 * row_z + axis_output[t / 9]) * dy->plane +
                              (2 * row_y + axis_output[t / 3 % 3]) * dy->row + axis_output[t % 3] * work->out,
                          2 * work->out, work->out, x->width, partial + t * count, work->out);
    }
}

static void up_kernel_add(void *context, int64_t tap, int worker)
{
    (void)worker;
    const up_work *work = context;
    const int64_t count = work->in * work->out;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int t = 0; t < 27; t++) {
            const int part[3] = {t / 9, t / 3 % 3, t % 3};
            bool used = true;
            for (int a = 0; a < 3; a++)
                used = used && (part[a] == BOTH || part[a] == ((tap >> (2 - a) & 1) ? SECOND : FIRST));
            if (!used) continue;
            for (int64_t s = 0; s < work->slabs; s++) sum += work->partial[(s * 27 + t) * count + i];
        }
        work->dkernel[tap * count + i] = (float)sum;
    }
}

void crd_portable_up_kernel_gradient(crd_pool *pool, const crd_tensor *x, const crd_tensor *dy, float *dkernel,
                                     void *scratch)
{
    up_work work = {.in = x->channels, .out = dy->channels, .x = x, .dy = dy, .partial = scratch, .dkernel = dkernel};
    work.slabs = crd_portable_slabs(x->depth * x->height, 27 * work.in * work.out);
    crd_pool_run(pool, work.slabs, up_kernel_slab, &work);
    crd_pool_run(pool, 8, up_kernel_add, &work);
}
