/* Pooling, and the sums and the pass of the group norm's gradient. */
#include "ops/portable.h"
#include "ops/sums.h"

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

static void row_products(const float *a, const float *b, int64_t step, int64_t voxels, int64_t channels, double *sum,
                         double *product)
{
    for (int64_t i = 0; i < voxels; i++)
        for (int64_t c = 0; c < channels; c++) {
            sum[c] += (double)a[i * step + c];
            product[c] += (double)a[i * step + c] * (double)b[i * step + c];
        }
}

void crd_portable_gradient_sums(crd_pool *pool, const crd_tensor *g, const crd_tensor *x, double *sums)
{
    crd_gradient_sums_by(row_products, pool, g, x, sums);
}

static void row_sums(const float *a, int64_t step, int64_t voxels, int64_t channels, double *sum)
{
    for (int64_t i = 0; i < voxels; i++)
        for (int64_t c = 0; c < channels; c++) sum[c] += (double)a[i * step + c];
}

void crd_portable_border_sums(crd_pool *pool, const crd_tensor *g, double *sums)
{
    crd_border_sums_by(row_sums, pool, g, sums);
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
