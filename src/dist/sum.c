/* Ordered sums. Every rank adds up one range of the elements, over all vectors and in their order, and gives its range
 * to all the others: so the work of adding and the traffic are shared evenly, and the order never changes. */
#include <string.h>

#include "base/memory.h"
#include "dist/internal.h"

struct crd_dist_sum {
    crd_dist *dist;
    int64_t most, length;
    int64_t begin, end; /* elements that this rank adds up */
    float *own;         /* [part of the vectors][length] */
    float *parts;       /* [vectors][end - begin]: this rank's range of everybody's */
    float *whole;       /* the sum; alone, a process writes to `out` at once */
    crd_flight *flights;
};

crd_status crd_dist_sum_create(crd_dist *dist, int64_t most, int64_t length, crd_dist_sum **out)
{
    crd_status status = CRD_OK;
    crd_dist_sum *sum = NULL;
    const int rank = crd_dist_rank(dist), size = crd_dist_size(dist);
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *sum, "a sum over ranks", &sum));
    *sum = (crd_dist_sum){.dist = dist, .most = most, .length = length};
    crd_dist_part(length, size, rank, &sum->begin, &sum->end);
    CRD_TRY(crd_alloc((most + size - 1) / size * length, sizeof(float), "gradients", &sum->own));
    if (size > 1) {
        CRD_TRY(crd_alloc(most * (sum->end - sum->begin), sizeof(float), "gradients", &sum->parts));
        CRD_TRY(crd_alloc(length, sizeof(float), "the gradient", &sum->whole));
        CRD_TRY(crd_alloc((most + 2) * size, sizeof *sum->flights, "messages", &sum->flights));
    }
    *out = sum;
    sum = NULL;
done:
    crd_dist_sum_free(&sum);
    return status;
}

void crd_dist_sum_free(crd_dist_sum **pointer)
{
    crd_dist_sum *sum = *pointer;
    if (sum == NULL) return;
    crd_dist_release(sum->dist, &sum->own);
    crd_dist_release(sum->dist, &sum->parts);
    crd_dist_release(sum->dist, &sum->whole);
    crd_free(&sum->flights);
    crd_free(pointer);
}

float *crd_dist_sum_own(crd_dist_sum *sum)
{
    return sum->own;
}

/* parts = this rank's range of all vectors. */
static crd_status exchange_parts(crd_dist_sum *sum, int64_t count)
{
    const int rank = crd_dist_rank(sum->dist), size = crd_dist_size(sum->dist);
    const int64_t range = sum->end - sum->begin;
    int64_t flights = 0, first, end;
    for (int other = 0; other < size; other++) {
        crd_dist_part(count, size, other, &first, &end);
        for (int64_t v = first; v < end; v++) {
            float *part = sum->parts + v * range;
            if (other == rank) {
                memcpy(part, sum->own + (v - first) * sum->length + sum->begin, (size_t)range * sizeof(float));
            } else {
                CRD_PASS(crd_dist_receive(sum->dist, other, CRD_TAG_PART, part, range * (int64_t)sizeof(float),
                                          &sum->flights[flights++]));
            }
        }
    }
    crd_dist_part(count, size, rank, &first, &end);
    for (int64_t v = first; v < end; v++) {
        for (int other = 0; other < size; other++) {
            int64_t low, high;
            crd_dist_part(sum->length, size, other, &low, &high);
            if (other == rank) continue;
            CRD_PASS(crd_dist_send(sum->dist, other, CRD_TAG_PART, sum->own + (v - first) * sum->length + low,
                                   (high - low) * (int64_t)sizeof(float), &sum->flights[flights++]));
        }
    }
    return crd_dist_wait(sum->dist, sum->flights, flights);
}

/* Everybody's range of the sum to everybody. */
static crd_status exchange_whole(crd_dist_sum *sum)
{
    const int rank = crd_dist_rank(sum->dist), size = crd_dist_size(sum->dist);
    int64_t flights = 0;
    for (int other = 0; other < size; other++) {
        int64_t low, high;
        crd_dist_part(sum->length, size, other, &low, &high);
        if (other == rank) continue;
        CRD_PASS(crd_dist_receive(sum->dist, other, CRD_TAG_WHOLE, sum->whole + low,
                                  (high - low) * (int64_t)sizeof(float), &sum->flights[flights++]));
        CRD_PASS(crd_dist_send(sum->dist, other, CRD_TAG_WHOLE, sum->whole + sum->begin,
                               (sum->end - sum->begin) * (int64_t)sizeof(float), &sum->flights[flights++]));
    }
    return crd_dist_wait(sum->dist, sum->flights, flights);
}

static void add_in_order(const float *vectors, int64_t count, int64_t length, float *out)
{
    memset(out, 0, (size_t)length * sizeof *out);
    for (int64_t v = 0; v < count; v++) {
        const float *vector = vectors + v * length;
        for (int64_t i = 0; i < length; i++) out[i] += vector[i];
    }
}

crd_status crd_dist_sum_all(crd_dist_sum *sum, int64_t count, float *out)
{
    if (count > sum->most) return crd_fail(CRD_ERR_INTERNAL, "more vectors than a sum has room for");
    if (crd_dist_size(sum->dist) == 1) {
        add_in_order(sum->own, count, sum->length, out);
        return CRD_OK;
    }
    CRD_PASS(crd_dist_check(sum->dist));
    CRD_PASS(exchange_parts(sum, count));
    add_in_order(sum->parts, count, sum->end - sum->begin, sum->whole + sum->begin);
    CRD_PASS(exchange_whole(sum));
    memcpy(out, sum->whole, (size_t)sum->length * sizeof *out);
    return CRD_OK;
}
