/* Kernels from a posterior and a noise, and the chain rule back.
 *
 *     crd_posterior_update(posterior, pool, NULL, model);        // after every change of the parameters
 *     crd_draw_points(posterior, pool, model, point);            // what isn't drawn: once per state of the parameters
 *     for each example:
 *         noise = crd_noise_draw(source, pool, NULL, estimator, seed, step, example);
 *         crd_draw_kernels(posterior, pool, model, noise, point);
 *         ... forward and backward in the point layout give point_gradient ...
 *         crd_draw_backward(posterior, pool, NULL, noise, point_gradient, model_gradient);
 */
#ifndef CRD_BAYES_DRAW_H
#define CRD_BAYES_DRAW_H

#include "bayes/noise.h"
#include "bayes/posterior.h"

/* Memory for one noise at a time. The posterior is borrowed: it must outlive the source. */
typedef struct crd_noise_source crd_noise_source;
crd_status crd_noise_source_create(const crd_posterior *posterior, crd_noise_source **out);
void crd_noise_source_free(crd_noise_source **source);
/* Bytes of a posterior and its source of noise. */
int64_t crd_draw_bytes(const crd_net *net);

/* The noise of one example: of a training step, or of a sample (its number is `step`) in a prediction, where `example`
 * is the chunk's number or 0 for draws that all chunks share. Borrowed until the next call with this source. Flipout's
 * eps is example 0's for the whole mini-batch, and kept from one call to the next within a step. Outside the part, eps
 * is undefined. */
const crd_noise *crd_noise_draw(crd_noise_source *source, crd_pool *pool, const crd_posterior_part *part,
                                crd_estimator estimator, uint64_t seed, uint32_t step, uint32_t example);

/* Copies all parameters that are points in both layouts. */
void crd_draw_points(const crd_posterior *posterior, crd_pool *pool, const float *model, float *point);
/* Writes the kernels of the Bayesian layers, and nothing else. */
void crd_draw_kernels(const crd_posterior *posterior, crd_pool *pool, const float *model, const crd_noise *noise,
                      float *point);
/* Adds one example's gradient to the model's: float32 sums, in the order of the calls. point_gradient is that of the
 * part alone, model_gradient always the whole one. */
void crd_draw_backward(const crd_posterior *posterior, crd_pool *pool, const crd_posterior_part *part,
                       const crd_noise *noise, const float *point_gradient, float *model_gradient);

/* One set of dropout masks (0 or 2 per channel, p = 0.5), laid out by net->mask_offset; step and example as above. */
void crd_dropout_draw(const crd_net *net, uint64_t seed, uint32_t step, uint32_t example, float *masks);

#endif
