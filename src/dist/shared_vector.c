/* A vector that all ranks fill together. */
#include "base/memory.h"
#include "dist/internal.h"

struct crd_shared_vector {
    crd_dist *dist;
    float *values;
    crd_flight *flights;
};

crd_status crd_shared_vector_create(crd_dist *dist, int64_t length, crd_shared_vector **out)
{
    crd_status status = CRD_OK;
    crd_shared_vector *vector = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *vector, "a vector of all ranks", &vector));
    vector->dist = dist;
    CRD_TRY(crd_alloc(length, sizeof(float), "a vector of all ranks", &vector->values));
    CRD_TRY(crd_alloc(2 * crd_dist_size(dist), sizeof *vector->flights, "messages", &vector->flights));
    *out = vector;
    vector = NULL;
done:
    crd_shared_vector_free(&vector);
    return status;
}

void crd_shared_vector_free(crd_shared_vector **pointer)
{
    crd_shared_vector *vector = *pointer;
    if (vector == NULL) return;
    crd_dist_release(vector->dist, &vector->values);
    crd_free(&vector->flights);
    crd_free(pointer);
}

float *crd_shared_vector_values(crd_shared_vector *vector)
{
    return vector->values;
}

static int64_t bytes_of(const int64_t *bounds, int rank)
{
    return (bounds[rank + 1] - bounds[rank]) * (int64_t)sizeof(float);
}

crd_status crd_shared_vector_share(crd_shared_vector *vector, const int64_t *bounds)
{
    crd_dist *dist = vector->dist;
    const int rank = crd_dist_rank(dist), size = crd_dist_size(dist);
    int64_t flights = 0;
    CRD_PASS(crd_dist_check(dist));
    for (int other = 0; other < size; other++) {
        if (other == rank || bytes_of(bounds, other) == 0) continue;
        CRD_PASS(crd_dist_receive(dist, other, CRD_TAG_VECTOR, vector->values + bounds[other], bytes_of(bounds, other),
                                  &vector->flights[flights++]));
    }
    for (int step = 1; step < size && bytes_of(bounds, rank) > 0; step++) { /* not all to the same one at once */
        CRD_PASS(crd_dist_send(dist, (rank + step) % size, CRD_TAG_VECTOR, vector->values + bounds[rank],
                               bytes_of(bounds, rank), &vector->flights[flights++]));
    }
    return crd_dist_wait(dist, vector->flights, flights);
}
