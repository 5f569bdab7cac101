#include "backend/host/exchange.h"

#include <string.h>

static int64_t length(const crd_range *ranges, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) sum += ranges[i].end - ranges[i].begin;
    return sum;
}

int64_t crd_exchange_values(crd_exchange exchange, const crd_posterior_part *part)
{
    if (exchange == CRD_EXCHANGE_GRADIENT) return length(&part->points, 1);
    if (exchange != CRD_EXCHANGE_STEP) return length(part->model, part->model_count);
    return length(part->seen, part->seen_count) + length(&part->weights, 1) +
           2 * length(&part->blocks, 1); /* doubles */
}

static float *pack(const crd_range *ranges, int count, const float *from, float *to)
{
    for (int i = 0; i < count; i++) {
        const int64_t size = ranges[i].end - ranges[i].begin;
        memcpy(to, from + ranges[i].begin, (size_t)size * sizeof *to);
        to += size;
    }
    return to;
}

static const float *unpack(const crd_range *ranges, int count, const float *from, float *to)
{
    for (int i = 0; i < count; i++) {
        const int64_t size = ranges[i].end - ranges[i].begin;
        memcpy(to + ranges[i].begin, from, (size_t)size * sizeof *to);
        from += size;
    }
    return from;
}

static float *values_of(crd_exchange exchange, const crd_learner_state *state)
{
    return exchange == CRD_EXCHANGE_M ? state->m : exchange == CRD_EXCHANGE_V ? state->v : state->parameters;
}

void crd_exchange_pack(crd_exchange exchange, const crd_posterior_part *part, const crd_posterior *posterior,
                       const crd_learner_state *state, float *values)
{
    if (exchange != CRD_EXCHANGE_STEP) {
        (void)pack(part->model, part->model_count, values_of(exchange, state), values);
        return;
    }
    values = pack(part->seen, part->seen_count, state->parameters, values);
    values = pack(&part->weights, 1, posterior->sigma, values);
    memcpy(values, posterior->sums + part->blocks.begin, (size_t)length(&part->blocks, 1) * sizeof(double));
}

void crd_exchange_unpack(crd_exchange exchange, const crd_posterior_part *part, const float *values,
                         crd_posterior *posterior, const crd_learner_state *state)
{
    if (exchange != CRD_EXCHANGE_STEP) {
        (void)unpack(part->model, part->model_count, values, values_of(exchange, state));
        return;
    }
    values = unpack(part->seen, part->seen_count, values, state->parameters);
    values = unpack(&part->weights, 1, values, posterior->sigma);
    memcpy(posterior->sums + part->blocks.begin, values, (size_t)length(&part->blocks, 1) * sizeof(double));
}
