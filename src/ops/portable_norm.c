/* Pooling, the sums and the pass of the group norm's gradient, and sums by border class. */
#include "ops/blocks.h"
#include "ops/portable.h"

#include <string.h>

typedef struct pool_work {
    const crd_tensor *x, *dy;
    const float *scale, *shift;
    crd_tensor *y, *dx;
} pool_work;

/* The eight inputs of one pooled voxel, in (z, y, x) order. */
static void pool_offsets(const crd_tensor *x, int64_t offset[8])
{
    for (int i = 0; i < 8; i++) offset[i] = (i >> 2 & 1) * x->plane + (i >> 1 & 1) * x->row + (i & 1) * x->channels;
}

static void pool_row(void *context, int64_t item, int worker)
{
    (void)worker;
    const pool_work *work = context;
    const crd_tensor *x = work->x, *y = work->y;
    const int64_t row_z = item / y->height, row_y = item % y->height, channels = y->channels;
    const float *scale = work->scale, *shift = work->shift;
    int64_t offset[8];
    pool_offsets(x, offset);
    for (int64_t i = 0; i < y->width; i++) {
        const float *from = x->data + 2 * row_z * x->plane + 2 * row_y * x->row + 2 * i * channels;
        float *to = y->data + row_z * y->plane + row_y * y->row + i * channels;
        for (int64_t c = 0; c < channels; c++) to[c] = scale[c] * from[c] + shift[c];
        for (int k = 1; k < 8; k++)
            for (int64_t c = 0; c < channels; c++) {
                const float value = scale[c] * from[offset[k] + c] + shift[c];
                to[c] = value > to[c] ? value : to[c];
            }
    }
}

void crd_portable_pool_forward(crd_pool *pool, const crd_tensor *x, const float *scale, const float *shift,
                               crd_tensor *y)
{
    pool_work work = {.x = x, .scale = scale, .shift = shift, .y = y};
    crd_pool_run(pool, y->depth * y->height, pool_row, &work);
}

static void pool_backward_row(void *context, int64_t item, int worker)
{
    (void)worker;
    const pool_work *work = context;
    const crd_tensor *x = work->x, *dy = work->dy, *dx = work->dx;
    const int64_t row_z = item / dy->height, row_y = item % dy->height, channels = dy->channels;
    int64_t offset[8];
    pool_offsets(x, offset);
    for (int64_t i = 0; i < dy->width; i++) {
        const int64_t corner = 2 * row_z * x->plane + 2 * row_y * x->row + 2 * i * channels;
        const float *from = x->data + corner, *g = dy->data + row_z * dy->plane + row_y * dy->row + i * channels;
        float *to = dx->data + corner;
        for (int64_t c = 0; c < channels; c++) {
            float best = work->scale[c] * from[c] + work->shift[c];
            int64_t at = c;
            for (int k = 1; k < 8; k++) {
                const float value = work->scale[c] * from[offset[k] + c] + work->shift[c];
                at = value > best ? offset[k] + c : at;
                best = value > best ? value : best;
            }
            to[at] += g[c];
        }
    }
}

void crd_portable_pool_backward(crd_pool *pool, const crd_tensor *x, const float *scale, const float *shift,
                                const crd_tensor *dy, crd_tensor *dx)
{
    pool_work work = {.x = x, .scale = scale, .shift = shift, .dy = dy, .dx = dx};
    crd_pool_run(pool, dy->depth * dy->height, pool_backward_row, &work);
}

enum {
    CHANNELS = 64
}; /* channels summed in one pass over the tensor: bounds the partial sums, which lie on the stack */

typedef struct sums_work {
    const crd_tensor *g, *x;
    int64_t first, channels; /* of this pass */
    double sums[CRD_BLOCKS][2][CHANNELS];
} sums_work;

static void sums_block(void *context, int64_t block, int worker)
{
    (void)worker;
    sums_work *work = context;
    const crd_tensor *g = work->g, *x = work->x;
    double *sum = work->sums[block][0], *product = work->sums[block][1];
    memset(work->sums[block], 0, sizeof work->sums[block]);
    const int64_t rows = g->depth * g->height;
    for (int64_t r = crd_block_first(rows, block); r < crd_block_first(rows, block + 1); r++) {
        const int64_t row = r / g->height * g->plane + r % g->height * g->row + work->first;
        for (int64_t i = 0; i < g->width; i++) {
            const float *a = g->data + row + i * g->channels, *b = x->data + row + i * g->channels;
            for (int64_t c = 0; c < work->channels; c++) {
                sum[c] += (double)a[c];
                product[c] += (double)a[c] * (double)b[c];
            }
        }
    }
}

void crd_portable_gradient_sums(crd_pool *pool, const crd_tensor *g, const crd_tensor *x, double *sums)
{
    const int64_t channels = g->channels;
    memset(sums, 0, 2 * (size_t)channels * sizeof *sums);
    sums_work work = {.g = g, .x = x};
    for (int64_t first = 0; first < channels; first += CHANNELS) {
        work.first = first;
        work.channels = channels - first < CHANNELS ? channels - first : CHANNELS;
        crd_pool_run(pool, CRD_BLOCKS, sums_block, &work);
        for (int b = 0; b < CRD_BLOCKS; b++)
            for (int64_t c = 0; c < work.channels; c++) {
                sums[first + c] += work.sums[b][0][c];
                sums[channels + first + c] += work.sums[b][1][c];
            }
    }
}

typedef struct apply_work {
    const crd_tensor *g, *x;
    const float *a, *b, *c0;
    bool relu;
    crd_tensor *out;
} apply_work;

static void apply_row(void *context, int64_t item, int worker)
{
    (void)worker;
    const apply_work *work = context;
    const crd_tensor *g = work->g;
    const int64_t row = item / g->height * g->plane + item % g->height * g->row, channels = g->channels;
    const float *a = work->a, *b = work->b, *c0 = work->c0;
    for (int64_t i = 0; i < g->width; i++) {
        const float *gradient = g->data + row + i * channels, *x = work->x->data + row + i * channels;
        float *out = work->out->data + row + i * channels;
        for (int64_t c = 0; c < channels; c++) {
            const float value = a[c] * gradient[c] + b[c] * x[c] + c0[c];
            out[c] = work->relu && !(x[c] > 0) ? 0 : value;
        }
    }
}

void crd_portable_gradient_apply(crd_pool *pool, const crd_tensor *g, const crd_tensor *x, const float *a,
                                 const float *b, const float *c0, bool relu, crd_tensor *out)
{
    apply_work work = {.g = g, .x = x, .a = a, .b = b, .c0 = c0, .relu = relu, .out = out};
    crd_pool_run(pool, g->depth * g->height, apply_row, &work);
}

/* The rows of one class in z and y form a box; along x there are at most three runs, one per class. */
typedef struct border_work {
    const crd_tensor *g;
    crd_border_run z, y, x[3];
    int x_runs;
    int64_t first, channels;
    double sums[CRD_BLOCKS][3][CHANNELS];
} border_work;

static void border_block(void *context, int64_t block, int worker)
{
    (void)worker;
    border_work *work = context;
    const crd_tensor *g = work->g;
    const int64_t height = work->y.end - work->y.begin, rows = (work->z.end - work->z.begin) * height;
    memset(work->sums[block], 0, sizeof work->sums[block]);
    for (int64_t r = crd_block_first(rows, block); r < crd_block_first(rows, block + 1); r++) {
        const float *row = g->data + (work->z.begin + r / height) * g->plane + (work->y.begin + r % height) * g->row;
        for (int run = 0; run < work->x_runs; run++) {
            double *sum = work->sums[block][run];
            for (int64_t i = work->x[run].begin; i < work->x[run].end; i++)
                for (int64_t c = 0; c < work->channels; c++) sum[c] += (double)row[i * g->channels + work->first + c];
        }
    }
}

void crd_portable_border_sums(crd_pool *pool, const crd_tensor *g, double *sums)
{
    const int64_t channels = g->channels;
    memset(sums, 0, CRD_BORDER_CLASSES * (size_t)channels * sizeof *sums);
    crd_border_run z_runs[3], y_runs[3];
    const int z_count = crd_border_runs(g->depth, z_runs), y_count = crd_border_runs(g->height, y_runs);
    border_work work = {.g = g};
    work.x_runs = crd_border_runs(g->width, work.x);
    for (int z = 0; z < z_count; z++)
        for (int y = 0; y < y_count; y++)
            for (int64_t first = 0; first < channels; first += CHANNELS) {
                work.z = z_runs[z];
                work.y = y_runs[y];
                work.first = first;
                work.channels = channels - first < CHANNELS ? channels - first : CHANNELS;
                crd_pool_run(pool, CRD_BLOCKS, border_block, &work);
                for (int run = 0; run < work.x_runs; run++) {
                    double *sum =
                        sums + crd_border_class(work.z.axis, work.y.axis, work.x[run].axis) * channels + first;
                    for (int b = 0; b < CRD_BLOCKS; b++)
                        for (int64_t c = 0; c < work.channels; c++) sum[c] += work.sums[b][run][c];
                }
            }
}
