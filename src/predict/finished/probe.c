#include "predict/finished/probe.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random/philox.h"
#include "net/store/store.h"

typedef struct probe {
    int64_t owner; /* the first chunk that keeps it */
    int64_t voxel; /* in the scan, z slowest */
    int64_t place; /* among all probes of the box, by voxel */
} probe;

struct crd_probes {
    const crd_request *request;
    probe *items; /* by owner, then by voxel */
    int64_t count;
    int64_t *local; /* of the chunk asked for last */
};

static int by_voxel(const void *a, const void *b)
{
    const probe *x = a, *y = b;
    return (x->voxel > y->voxel) - (x->voxel < y->voxel);
}

static int by_owner(const void *a, const void *b)
{
    const probe *x = a, *y = b;
    return x->owner != y->owner ? (x->owner > y->owner) - (x->owner < y->owner) : by_voxel(a, b);
}

static void coordinates(const crd_request *request, int64_t voxel, int64_t at[3])
{
    const int64_t *shape = request->scan.shape;
    at[0] = voxel / shape[2] / shape[1];
    at[1] = voxel / shape[2] % shape[1];
    at[2] = voxel % shape[2];
}

static int64_t owner_of(const crd_request *request, const int64_t at[3])
{
    int64_t number = 0;
    for (int axis = 0; axis < 3; axis++) {
        const crd_axis_plan *plan = &request->plan.axes[axis];
        int64_t index = 0, begin, end;
        for (;; index++) {
            crd_axis_keep(plan, index, &begin, &end);
            if (at[axis] < end) break;
        }
        number = number * plan->count + index;
    }
    return number;
}

/* Voxel number `index` of the box as one of the scan. */
static int64_t voxel_of_box(const crd_request *request, int64_t index, int64_t at[3])
{
    const int64_t *size = request->box.size, *origin = request->box.origin, *shape = request->scan.shape;
    at[0] = origin[0] + index / size[2] / size[1];
    at[1] = origin[1] + index / size[2] % size[1];
    at[2] = origin[2] + index % size[2];
    return (at[0] * shape[1] + at[1]) * shape[2] + at[2];
}

/* The box's voxels are dealt into as many equal parts, in their order, and one is drawn from each: random ones, rising,
 * each once, and none of its regions left out. */
static crd_status choose(const crd_request *request, crd_probes *probes)
{
    const int64_t *size = request->box.size;
    const crd_stream stream = {.seed = request->seed, .purpose = CRD_PURPOSE_PROBE};
    int64_t voxels;
    CRD_PASS(crd_product(size[0], size[1], size[2], &voxels));
    const int64_t count = voxels < CRD_PROBE_COUNT ? voxels : CRD_PROBE_COUNT;
    CRD_PASS(crd_alloc(count, sizeof *probes->items, "the probes", &probes->items));
    CRD_PASS(crd_alloc(count, sizeof *probes->local, "the probes", &probes->local));
    for (int64_t i = 0, begin = 0, end; i < count; i++, begin = end) {
        end = (i + 1) * (voxels / count) + (i + 1) * (voxels % count) / count;
        /* 53 random bits are enough to reach every voxel of any part evenly */
        const uint64_t high = crd_random_u32(&stream, 2 * (uint64_t)i);
        const uint64_t low = crd_random_u32(&stream, 2 * (uint64_t)i + 1);
        const double share = (double)(high << 21 | low >> 11) * 0x1p-53;
        int64_t at[3];
        const int64_t voxel = voxel_of_box(request, begin + (int64_t)(share * (double)(end - begin)), at);
        probes->items[i] = (probe){.owner = owner_of(request, at), .voxel = voxel, .place = i};
    }
    probes->count = count;
    qsort(probes->items, (size_t)count, sizeof *probes->items, by_owner);
    return CRD_OK;
}

crd_status crd_probes_create(const crd_request *request, crd_probes **out)
{
    crd_status status = CRD_OK;
    crd_probes *probes = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *probes, "the probes", &probes));
    probes->request = request;
    CRD_TRY(choose(request, probes));
    *out = probes;
    probes = NULL;
done:
    crd_probes_free(&probes);
    return status;
}

void crd_probes_free(crd_probes **pointer)
{
    crd_probes *probes = *pointer;
    if (probes == NULL) return;
    crd_free(&probes->items);
    crd_free(&probes->local);
    crd_free(pointer);
}

/* Where the probes of an owner begin. */
static int64_t first_of(const crd_probes *probes, int64_t owner)
{
    int64_t low = 0, high = probes->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (probes->items[middle].owner < owner) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void crd_probes_of_chunk(crd_probes *probes, int64_t number, const int64_t **voxels, int64_t *count)
{
    const int64_t first = first_of(probes, number);
    crd_box asked;
    crd_request_asked(probes->request, number, &asked);
    *voxels = probes->local;
    for (*count = 0; first + *count < probes->count && probes->items[first + *count].owner == number; ++*count) {
        int64_t at[3];
        coordinates(probes->request, probes->items[first + *count].voxel, at);
        probes->local[*count] = ((at[0] - asked.origin[0]) * asked.size[1] + at[1] - asked.origin[1]) * asked.size[2] +
                                at[2] - asked.origin[2];
    }
}

crd_status crd_probes_keep(const crd_probes *probes, const crd_chunk_result *result, crd_partial *partial)
{
    const int64_t first = first_of(probes, result->chunk_number);
    const int64_t each = probes->request->samples * probes->request->planes;
    int64_t next;
    for (int64_t i = 0; i < result->probe_count; i = next) { /* neighbours in the file are written together */
        const probe *items = probes->items + first;
        for (next = i + 1; next < result->probe_count && items[next].place == items[i].place + next - i;) next++;
        CRD_PASS(crd_partial_write_probes(partial, items[i].place, next - i, result->probe + i * each));
    }
    return CRD_OK;
}

static crd_status is_inside(crd_scan *scan, const int64_t at[3], bool *out)
{
    uint8_t inside;
    const crd_box box = {{at[0], at[1], at[2]}, {1, 1, 1}};
    CRD_PASS(crd_scan_read_mask(scan, &box, &inside));
    *out = inside != 0;
    return CRD_OK;
}

static crd_status write_store(const char *path, const int64_t *places, const float *values, int64_t count,
                              const crd_request *request)
{
    crd_status status = CRD_OK;
    crd_store *store = NULL;
    const int64_t shape[3] = {count, request->samples, request->planes};
    CRD_TRY(crd_store_create(path, &store));
    CRD_TRY(crd_store_put_text(store, "", "format", "credence-probe"));
    CRD_TRY(crd_store_put_numbers(store, "", "version", 1, &(int64_t){1}));
    CRD_TRY(crd_store_put_numbers(store, "", "first_sample", 1, &request->first_sample));
    CRD_TRY(crd_store_put_numbers(store, "", "shape", 3, request->scan.shape));
    if (count > 0) {
        CRD_TRY(crd_store_put_integers(store, "voxel", count, places));
        CRD_TRY(crd_store_put_floats(store, "probability", request->planes > 1 ? 3 : 2, shape, values));
    }
    CRD_TRY(crd_store_commit(store));
done:
    crd_store_close(&store);
    return status;
}

crd_status crd_probes_write(const crd_probes *probes, crd_partial *partial, crd_scan *scan, const char *path)
{
    crd_status status = CRD_OK;
    const crd_request *request = probes->request;
    const int64_t each = request->samples * request->planes;
    float *values = NULL;
    probe *items = NULL;
    int64_t count = 0;
    CRD_TRY(crd_alloc(probes->count, sizeof *items, "the probes", &items));
    memcpy(items, probes->items, (size_t)probes->count * sizeof *items);
    qsort(items, (size_t)probes->count, sizeof *items, by_voxel);
    CRD_TRY(crd_alloc(probes->count * each, sizeof *values, "the probe values", &values));
    CRD_TRY(crd_partial_read_probes(partial, 0, probes->count, values));
    for (int64_t i = 0; i < probes->count; i++) {
        int64_t at[3];
        bool inside = true;
        coordinates(request, items[i].voxel, at);
        if (crd_scan_masked(scan)) CRD_TRY(is_inside(scan, at, &inside));
        if (!inside) continue;
        memmove(values + count * each, values + i * each, (size_t)each * sizeof *values);
        probes->local[count++] = items[i].voxel;
    }
    CRD_TRY(write_store(path, probes->local, values, count, request));
done:
    crd_free(&items);
    crd_free(&values);
    return status;
}
