/* Vectors to be added in a fixed order. Every rank gets one range of the elements, of all vectors: so the work of
 * adding and the traffic are shared evenly, and the order never changes. */
#include "base/memory.h"
#include "dist/internal.h"

struct crd_dist_sum {
    crd_dist *dist;
    int64_t most, length;
    int64_t *bounds;     /* rank r gets [bounds[r], bounds[r + 1]) */
    float *own;          /* [part of the vectors][length] */
    float *received;     /* [vectors][this rank's range]: of the others' */
    const float **parts; /* by vector: in own or received */
    crd_flight *flights;
    int64_t flight_count;
    int64_t count, first, end; /* vectors now, and those that are here */
};

crd_status crd_dist_sum_create(crd_dist *dist, int64_t most, int64_t length, const int64_t *bounds, crd_dist_sum **out)
{
    crd_status status = CRD_OK;
    crd_dist_sum *sum = NULL;
    const int rank = crd_dist_rank(dist), size = crd_dist_size(dist);
    const int64_t here = (most + size - 1) / size;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *sum, "a sum over ranks", &sum));
    *sum = (crd_dist_sum){.dist = dist, .most = most, .length = length};
    CRD_TRY(crd_alloc(size + 1, sizeof *sum->bounds, "a sum over ranks", &sum->bounds));
    for (int i = 0; i <= size; i++) sum->bounds[i] = bounds[i];
    CRD_TRY(crd_alloc(here * length, sizeof(float), "gradients", &sum->own));
    CRD_TRY(
        crd_alloc(size > 1 ? most * (bounds[rank + 1] - bounds[rank]) : 0, sizeof(float), "gradients", &sum->received));
    CRD_TRY(crd_alloc(most, sizeof *sum->parts, "gradients", &sum->parts));
    CRD_TRY(crd_alloc(most + here * size, sizeof *sum->flights, "messages", &sum->flights));
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
    crd_dist_release(sum->dist, &sum->received);
    crd_free(&sum->bounds);
    crd_free(&sum->parts);
    crd_free(&sum->flights);
    crd_free(pointer);
}

/* The receives are posted in the order in which the vectors are sent. */
crd_status crd_dist_sum_begin(crd_dist_sum *sum, int64_t count)
{
    const int rank = crd_dist_rank(sum->dist), size = crd_dist_size(sum->dist);
    const int64_t begin = sum->bounds[rank], range = sum->bounds[rank + 1] - begin;
    if (count > sum->most) return crd_fail(CRD_ERR_INTERNAL, "more vectors than a sum has room for");
    sum->count = count;
    sum->flight_count = 0;
    crd_dist_part(count, size, rank, &sum->first, &sum->end);
    for (int other = 0; other < size; other++) {
        int64_t first, end;
        crd_dist_part(count, size, other, &first, &end);
        for (int64_t v = first; v < end; v++) {
            float *part = other == rank ? sum->own + (v - first) * sum->length + begin : sum->received + v * range;
            sum->parts[v] = part;
            if (other == rank || range == 0) continue;
            CRD_PASS(crd_dist_receive(sum->dist, other, CRD_TAG_PART, part, range * (int64_t)sizeof(float),
                                      &sum->flights[sum->flight_count++]));
        }
    }
    return CRD_OK;
}

float *crd_dist_sum_vector(crd_dist_sum *sum, int64_t v)
{
    return sum->own + (v - sum->first) * sum->length;
}

crd_status crd_dist_sum_put(crd_dist_sum *sum, int64_t v)
{
    const int rank = crd_dist_rank(sum->dist), size = crd_dist_size(sum->dist);
    const float *vector = crd_dist_sum_vector(sum, v);
    bool done;
    for (int step = 1; step < size; step++) { /* not all to the same one at once */
        const int to = (rank + step) % size;
        const int64_t begin = sum->bounds[to], range = sum->bounds[to + 1] - begin;
        if (range == 0) continue;
        CRD_PASS(crd_dist_send(sum->dist, to, CRD_TAG_PART, vector + begin, range * (int64_t)sizeof(float),
                               &sum->flights[sum->flight_count++]));
    }
    return crd_dist_test(sum->dist, sum->flights, sum->flight_count, &done); /* moves what can be moved */
}

crd_status crd_dist_sum_parts(crd_dist_sum *sum, const float *const **parts)
{
    CRD_PASS(crd_dist_check(sum->dist));
    CRD_PASS(crd_dist_wait(sum->dist, sum->flights, sum->flight_count));
    *parts = sum->parts;
    return CRD_OK;
}
