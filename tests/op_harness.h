/* Data for the tests of operations: tensors whose surroundings are watched, and comparison with the textbook. */
#ifndef CRD_TESTS_OP_HARNESS_H
#define CRD_TESTS_OP_HARNESS_H

#include "harness.h"
#include "ops/cases.h"
#include "ops/ops.h"
#include "ops/reference.h"

static const char *const op_tables[] = {"portable", "avx2", "avx512"};
static const int op_threads[] = {1, 2, 5};
enum { OP_THREADS = 3 };

static uint64_t op_random_state;

/* Uniform in [-1, 1). */
static inline float op_random(void)
{
    op_random_state = op_random_state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(op_random_state >> 32) * 0x1p-31f;
}

static inline float *op_values(int64_t count)
{
    float *values = malloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) values[i] = op_random();
    return values;
}

/* A tensor whose interior comes from `plain` (NULL: a mark that must be overwritten), whose halo is zero and whose
 * slack is not a number: reading it is allowed, but it must not matter. */
static const float op_mark = -12345.5f;
typedef struct op_tensor {
    crd_tensor tensor;
    float *storage;
    int64_t floats;
} op_tensor;

static inline float *op_voxel(const crd_tensor *t, int64_t z, int64_t y, int64_t x)
{
    return t->data + z * t->plane + y * t->row + x * t->channels;
}

static inline op_tensor op_tensor_make(int64_t depth, int64_t height, int64_t width, int64_t channels,
                                       const float *plain)
{
    op_tensor made = {.floats = crd_tensor_floats(depth, height, width, channels)};
    void *storage = NULL;
    if (posix_memalign(&storage, 64, (size_t)made.floats * sizeof(float)) != 0) abort();
    made.storage = storage;
    memset(storage, 0, (size_t)made.floats * sizeof(float));
    for (int i = 0; i < CRD_TENSOR_SLACK; i++) made.storage[i] = made.storage[made.floats - 1 - i] = NAN;
    made.tensor = crd_tensor_in(made.storage, depth, height, width, channels);
    for (int64_t z = 0; z < depth; z++)
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++)
                for (int64_t c = 0; c < channels; c++)
                    op_voxel(&made.tensor, z, y, x)[c] = plain != NULL ? *plain++ : op_mark;
    return made;
}

static inline void op_tensor_free(op_tensor *t)
{
    free(t->storage);
    t->storage = NULL;
}

/* The interior, without halo. */
static inline float *op_plain(const crd_tensor *t)
{
    float *plain = malloc((size_t)(t->depth * t->height * t->width * t->channels) * sizeof *plain), *next = plain;
    for (int64_t z = 0; z < t->depth; z++)
        for (int64_t y = 0; y < t->height; y++)
            for (int64_t x = 0; x < t->width; x++, next += t->channels)
                memcpy(next, op_voxel(t, z, y, x), (size_t)t->channels * sizeof *plain);
    return plain;
}

/* Is the halo still zero and the slack still not a number? */
static inline bool op_surroundings_intact(const op_tensor *t)
{
    for (int i = 0; i < CRD_TENSOR_SLACK; i++)
        if (!isnan(t->storage[i]) || !isnan(t->storage[t->floats - 1 - i])) return false;
    const crd_tensor *v = &t->tensor;
    for (int64_t z = -1; z <= v->depth; z++)
        for (int64_t y = -1; y <= v->height; y++)
            for (int64_t x = -1; x <= v->width; x++) {
                if (z >= 0 && y >= 0 && x >= 0 && z < v->depth && y < v->height && x < v->width) continue;
                for (int64_t c = 0; c < v->channels; c++)
                    if (op_voxel(v, z, y, x)[c] != 0) return false;
            }
    return true;
}

static inline double *op_doubles(const float *values, int64_t count)
{
    double *wide = malloc((size_t)count * sizeof *wide);
    for (int64_t i = 0; i < count; i++) wide[i] = (double)values[i];
    return wide;
}

/* Largest difference, as a part of the largest expected value. */
static inline double op_error(const float *actual, const double *expected, int64_t count)
{
    comparison c = {0};
    for (int64_t i = 0; i < count; i++) compare(&c, (double)actual[i], expected[i]);
    return relative_error(&c);
}

/* Scratch of exactly that many bytes, so that AddressSanitizer sees a byte too many; filled with not-a-numbers. */
static inline void *op_scratch(size_t bytes)
{
    void *scratch = NULL;
    if (posix_memalign(&scratch, 64, bytes > 0 ? bytes : 1) != 0) abort();
    memset(scratch, 0xff, bytes);
    return scratch;
}

/* Tables that this CPU can't run are skipped. */
#define OP_FOR_EACH_TABLE(ops)                                                                                         \
    for (size_t op_t = 0; op_t < sizeof op_tables / sizeof op_tables[0]; op_t++)                                       \
        if (have_path(op_tables[op_t], crd_ops_select(op_tables[op_t], &(ops)) == CRD_OK))

#endif
