/* The fused operations a backend implements, and the tensors they work on.
 *
 * The textbook versions (ops/reference.h) are the oracle; these are what runs. Three ideas make them fast on any
 * device, and keep them exact:
 *
 * 1. A tensor is stored as the convolution left it: after bias and ReLU, before the group norm. The norm is a scale
 *    and a shift per channel (from the sums that the convolution's epilogue leaves), and they are folded into the next
 *    layer's kernel and bias (net/fold.h). With zero padding the folded shift differs near the border, so a bias has
 *    one row per border class.
 * 2. Every tensor carries one voxel of zeros all around, so no kernel checks borders.
 * 3. Concatenation is two input pointers.
 *
 * A NaN or an infinity never gets lost on the way to the probabilities. A value that is not finite leaves a ReLU or
 * the sigmoid as NaN: both add 0 * x, which is 0 for a finite x. A NaN in a tensor is one in its sums, so in
 * the norm's scale and shift, so in all that comes after; a variance that isn't finite has no scale either.
 *
 * Work is divided into fixed blocks of voxels whatever the number of threads, and sums run over blocks in order: the
 * same bits for any number of threads.
 */
#ifndef CRD_OPS_OPS_H
#define CRD_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/parallel.h"

/* (depth, height, width, channels), channels last, with a halo of one voxel of zeros on all six sides. `data` points at
 * voxel (0, 0, 0); voxel (z, y, x) begins at data + z * plane + y * row + x * channels. Voxels -1 and size exist in
 * every axis and are zero; around a part of a larger tensor they are that one's. At least CRD_TENSOR_SLACK floats
 * before the first and after the last halo voxel may be read (their values must not matter). Operations write interior
 * voxels only. */
enum { CRD_TENSOR_SLACK = 1024 };
typedef struct crd_tensor {
    float *data;
    int64_t depth, height, width, channels;
    int64_t row, plane; /* strides in floats: (width + 2) * channels and (height + 2) * row, of the whole tensor */
} crd_tensor;

/* Floats of storage that a tensor needs, halo and slack included, and a tensor laid into such (zeroed) storage. */
int64_t crd_tensor_floats(int64_t depth, int64_t height, int64_t width, int64_t channels);
crd_tensor crd_tensor_in(float *storage, int64_t depth, int64_t height, int64_t width, int64_t channels);
/* A box of it, which lies inside; it may be written where the rest isn't needed. */
crd_tensor crd_tensor_part(const crd_tensor *tensor, const int64_t origin[3], const int64_t size[3]);

/* Border class of a voxel: per axis, bit 0 = it is the first, bit 1 = it is the last (both in an axis of one voxel). */
enum { CRD_BORDER_CLASSES = 64 };
static inline int crd_border_axis(int64_t i, int64_t n)
{
    return (i == 0) | ((i == n - 1) << 1);
}
static inline int crd_border_class(int z_axis, int y_axis, int x_axis)
{
    return (z_axis << 4) | (y_axis << 2) | x_axis;
}

/* y = act(conv(concat(x[0], x[1]), kernel) + bias[class]).
 * 3x3x3, stride 1, zero padding: kernel [27][cin][cout], taps in (z, y, x) order, offsets -1, 0, 1; cin = the inputs'
 * channels together. Also the data gradient (flipped taps, swapped channels), with bias NULL and relu false. */
typedef struct crd_conv {
    const crd_tensor *x[2]; /* x[1] may be NULL */
    const float *kernel;
    const float *bias; /* [CRD_BORDER_CLASSES][cout], or NULL for none */
    bool relu;
    bool exact; /* what is made of the kernel before it is multiplied is rounded once */
    crd_tensor *y;
    double *sums;     /* NULL, or [2][cout]: sum and sum of squares of y over all voxels, per channel */
    void *scratch;    /* at least conv_scratch bytes, 64-byte aligned */
    const void *kept; /* NULL, or what conv_keep made of x[0], whose voxels aren't read then */
} crd_conv;

/* y = act(conv2(upsample2(x), kernel) + bias[class]): y has twice x's edges. 2x2x2, padded at the end only: kernel
 * [8][cin][cout], offsets 0, 1. The class is that of the voxel of y. Where x is a part of a tensor, the last voxels of
 * y along x may be computed as if that ended there. */
typedef struct crd_up {
    const crd_tensor *x;
    const float *kernel;
    const float *bias;
    bool relu;
    crd_tensor *y;
    double *sums;
    void *scratch;
} crd_up;

typedef enum crd_op {
    CRD_OP_CONV,        /* conv_forward */
    CRD_OP_CONV_KERNEL, /* conv_kernel_gradient */
    CRD_OP_UP,          /* up_forward */
    CRD_OP_UP_DATA,     /* up_data_gradient */
    CRD_OP_UP_KERNEL    /* up_kernel_gradient */
} crd_op;

/* Sizes of one convolution: the output's voxels, and channels. */
typedef struct crd_conv_size {
    int64_t depth, height, width;
    int64_t channels_in[2];
    int64_t channels_out;
} crd_conv_size;

enum { CRD_OPS_VERSION = 6 };
enum { CRD_SOFTMAX_CLASSES = 16, CRD_SOFTMAX_RESULTS = 3 + CRD_SOFTMAX_CLASSES * (CRD_SOFTMAX_CLASSES + 1) };

/* One instruction path: "portable", "avx2", "avx512". An empty slot is filled from the portable table. None of these
 * allocates, and none can fail: sizes are checked when the network is planned. */
typedef struct crd_ops {
    uint32_t version;
    const char *name;
    crd_cpu level; /* what a processor must have to run it */

    /* Bytes of scratch for an operation of that size with that many threads, and for all that are smaller. */
    size_t (*scratch_bytes)(crd_op op, const crd_conv_size *size, int threads);

    void (*conv_forward)(crd_pool *pool, const crd_conv *conv);
    /* What a convolution of that size makes of x[0] alone, to be kept for all that have the same x[0]: they are faster
     * with it, and give the same bytes. keep_bytes: its size, 0 where there is nothing worth keeping. */
    size_t (*keep_bytes)(const crd_conv_size *size);
    void (*conv_keep)(crd_pool *pool, const crd_tensor *x, const crd_conv_size *size, void *kept);
    /* dkernel [27][cin][cout] = sum over voxels v of concat(x)[v + tap] * dy[v]. Overwrites. */
    void (*conv_kernel_gradient)(crd_pool *pool, const crd_tensor *x0, const crd_tensor *x1, const crd_tensor *dy,
                                 float *dkernel, void *scratch);

    void (*up_forward)(crd_pool *pool, const crd_up *up);
    /* dx (low resolution) from dy (high): the adjoint of upsample2 + conv2 without its bias. Overwrites. */
    void (*up_data_gradient)(crd_pool *pool, const crd_tensor *dy, const float *kernel, crd_tensor *dx, void *scratch);
    void (*up_kernel_gradient)(crd_pool *pool, const crd_tensor *x, const crd_tensor *dy, float *dkernel,
                               void *scratch);

    /* y = max over 2x2x2 of (scale[c] * x + shift[c]). */
    void (*pool_forward)(crd_pool *pool, const crd_tensor *x, const float *scale, const float *shift, crd_tensor *y);
    /* dx += dy at the first maximum (z, y, x order) of scale[c] * x + shift[c] in each 2x2x2. */
    void (*pool_backward)(crd_pool *pool, const crd_tensor *x, const float *scale, const float *shift,
                          const crd_tensor *dy, crd_tensor *dx);

    /* sums [2][channels]: sum of g, and sum of g * x, per channel. */
    void (*gradient_sums)(crd_pool *pool, const crd_tensor *g, const crd_tensor *x, double *sums);
    /* out = a[c] * g + b[c] * x + c0[c], zero where relu and x <= 0. out may be g. */
    void (*gradient_apply)(crd_pool *pool, const crd_tensor *g, const crd_tensor *x, const float *a, const float *b,
                           const float *c0, bool relu, crd_tensor *out);
    /* sums [CRD_BORDER_CLASSES][channels]: sum of g over the voxels of each border class. */
    void (*border_sums)(crd_pool *pool, const crd_tensor *g, double *sums);

    /* probability[v] = sigmoid((weight * x[v] + bias) * inverse_temperature), x of one channel; v without halo. NaN
     * where the logit isn't finite. */
    void (*head_probability)(crd_pool *pool, const crd_tensor *x, float weight, float bias, float inverse_temperature,
                             float *probability);
    /* Cross entropy of logit = weight * x + bias (x >= 0, one channel, after a ReLU) against labels 0, 1 or 255 (no
     * label). result: [0] sum of the BCE over labelled voxels, [1] their number, [2] d/dweight, [3] d/dbias,
     * [4] voxels classified right (logit > 0 is foreground); gradients are multiplied by `scale`. dx, where not NULL,
     * = scale * dBCE/dx, zero where x <= 0. */
    void (*head_loss)(crd_pool *pool, const crd_tensor *x, float weight, float bias, const uint8_t *label, float scale,
                      crd_tensor *dx, double result[5]);

    /* The same two for more than two classes: logits[o] = sum over i of x[i] * weight[i][o] + bias[o], x of as many
     * channels as there are classes, then a softmax. probability [classes][voxels], all NaN where a logit isn't finite.
     * Labels are 0 .. classes - 1 or 255. result: [0] sum of the cross entropy over labelled voxels, [1] their number,
     * [2] voxels whose first largest logit is the label's, then d/dweight [in][out] and d/dbias [out]. */
    void (*softmax_probability)(crd_pool *pool, const crd_tensor *x, const float *weight, const float *bias,
                                float inverse_temperature, float *probability);
    void (*softmax_loss)(crd_pool *pool, const crd_tensor *x, const float *weight, const float *bias,
                         const uint8_t *label, float scale, crd_tensor *dx, double *result);

    /* samples [count][stride]: `voxels` columns. Per voxel: mean -> out row 0, population standard deviation -> row 1,
     * then the `percentiles` (0..100, linear interpolation between order statistics) -> rows 2...; rows are `stride`
     * apart; `samples` may be overwritten. */
    void (*summarise)(crd_pool *pool, float *samples, int64_t count, int64_t stride, int64_t voxels,
                      const double *percentiles, int64_t percentile_count, float *out);

    /* samples [count][planes][voxels] of probabilities: the mean over the samples of each voxel's entropy, in bits. One
     * plane is that of one of two classes. */
    void (*entropy)(crd_pool *pool, const float *samples, int64_t count, int planes, int64_t voxels, float *out);
} crd_ops;

/* The table for `name` (NULL or "auto": the best this CPU has), complete: no slot is empty. A name that is unknown or
 * that this CPU can't run is an error. */
crd_status crd_ops_select(const char *name, const crd_ops **out);
/* The same for prediction in bfloat16, which the path avx512 has on some CPUs. */
crd_status crd_ops_select_bf16(const char *name, const crd_ops **out);

#endif
