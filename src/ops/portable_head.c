/* The last layer: one channel, a weight and a bias, then the sigmoid or the loss. */
#include "base/portable_math.h"
#include "ops/blocks.h"
#include "ops/portable.h"

#include <string.h>

typedef struct head_work {
    const crd_tensor *x;
    float weight, bias, scale; /* scale: the inverse temperature, or what gradients are multiplied by */
    float *probability;
    const uint8_t *label;
    crd_tensor *dx;
    double result[CRD_BLOCKS][5];
} head_work;

static void probability_row(void *context, int64_t item, int worker)
{
    (void)worker;
    const head_work *work = context;
    const crd_tensor *x = work->x;
    const float *row = x->data + item / x->height * x->plane + item % x->height * x->row;
    float *out = work->probability + item * x->width;
    for (int64_t i = 0; i < x->width; i++) out[i] = crd_sigmoidf((work->weight * row[i] + work->bias) * work->scale);
}

void crd_portable_head_probability(crd_pool *pool, const crd_tensor *x, float weight, float bias,
                                   float inverse_temperature, float *probability)
{
    head_work work = {.x = x, .weight = weight, .bias = bias, .scale = inverse_temperature, .probability = probability};
    crd_pool_run(pool, x->depth * x->height, probability_row, &work);
}

static void loss_row(const head_work *work, int64_t row, double result[5])
{
    const crd_tensor *x = work->x;
    const int64_t offset = row / x->height * x->plane + row % x->height * x->row;
    const uint8_t *label = work->label + row * x->width;
    for (int64_t i = 0; i < x->width; i++) {
        const float value = x->data[offset + i];
        float gradient = 0; /* of the BCE, by the logit */
        if (label[i] != 255) {
            const float logit = work->weight * value + work->bias;
            gradient = crd_sigmoidf(logit) - (float)label[i];
            result[0] += crd_softplus((double)logit) - (label[i] ? (double)logit : 0);
            result[1] += 1;
            result[2] += (double)gradient * (double)value;
            result[3] += (double)gradient;
            result[4] += (logit > 0) == (label[i] == 1);
        }
        if (work->dx != NULL) work->dx->data[offset + i] = value > 0 ? work->scale * work->weight * gradient : 0;
    }
}

static void loss_block(void *context, int64_t block, int worker)
{
    (void)worker;
    head_work *work = context;
    memset(work->result[block], 0, sizeof work->result[block]);
    const int64_t rows = work->x->depth * work->x->height;
    for (int64_t r = crd_block_first(rows, block); r < crd_block_first(rows, block + 1); r++)
        loss_row(work, r, work->result[block]);
}

void crd_portable_head_loss(crd_pool *pool, const crd_tensor *x, float weight, float bias, const uint8_t *label,
                            float scale, crd_tensor *dx, double result[5])
{
    head_work work = {.x = x, .weight = weight, .bias = bias, .scale = scale, .label = label, .dx = dx};
    crd_pool_run(pool, CRD_BLOCKS, loss_block, &work);
    memset(result, 0, 5 * sizeof *result);
    for (int b = 0; b < CRD_BLOCKS; b++)
        for (int i = 0; i < 5; i++) result[i] += work.result[b][i];
    result[2] *= (double)scale;
    result[3] *= (double)scale;
}
