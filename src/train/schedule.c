#include "train/schedule.h"

#include "base/portable_math.h"
#include "base/random/philox.h"

double crd_kl_weight(int64_t epoch, double k0, double k1, int64_t start)
{
    if (epoch <= start) return k0;
    const double weight = k0 + k1 * (double)(epoch - start);
    return weight < 1.0 ? weight : 1.0;
}

double crd_learning_rate(int64_t epoch, double lr, int64_t start)
{
    if (start < 0 || epoch - 1 < start) return lr;
    return lr * crd_exp(-10.0 * lr * (double)(epoch - 1 - start));
}

/* Fisher and Yates, from the top down. */
void crd_shuffle(uint64_t seed, int64_t epoch, int64_t count, int64_t *order)
{
    const crd_stream stream = {.seed = seed, .purpose = CRD_PURPOSE_SHUFFLE, .step = (uint32_t)epoch};
    for (int64_t i = 0; i < count; i++) order[i] = i;
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t j = crd_random_below(&stream, (uint64_t)i, i + 1);
        const int64_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}
