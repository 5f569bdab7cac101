#include "base/random/random_paths.h"

#include "base/cpu.h"
#include "base/random/normal_transform.h"
#include "base/random/philox_inline.h"

CRD_PORTABLE void words_loop(const uint32_t key[2], const uint32_t counter[4], int64_t blocks, uint32_t *restrict out)
{
    const uint32_t key0 = key[0], key1 = key[1];
    const uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int64_t i = 0; i < blocks; i++) {
        uint32_t x[4] = {c0 + (uint32_t)i, c1, c2, c3};
        crd_philox_inline(key0, key1, x);
        out[4 * i] = x[0];
        out[4 * i + 1] = x[1];
        out[4 * i + 2] = x[2];
        out[4 * i + 3] = x[3];
    }
}

/* The centre's formula for all words, then the tail's for those that need it, gathered: no branch on random bits. */
CRD_PORTABLE void normals_loop(const uint32_t *restrict words, int64_t count, float *restrict out)
{
    uint32_t tail_word[CRD_RANDOM_BLOCK];
    uint16_t tail_place[CRD_RANDOM_BLOCK];
    float tail_value[CRD_RANDOM_BLOCK];
    int64_t tails = 0;
    for (int64_t i = 0; i < count; i++) out[i] = crd_normal_centre(words[i]);
    for (int64_t i = 0; i < count; i++) {
        tail_word[tails] = words[i];
        tail_place[tails] = (uint16_t)i;
        tails += crd_normal_is_tail(words[i]);
    }
    for (int64_t i = 0; i < tails; i++) tail_value[i] = crd_normal_tail(tail_word[i]);
    for (int64_t i = 0; i < tails; i++) out[tail_place[i]] = tail_value[i];
}

#define PATH(name, target)                                                                                             \
    target static void words_##name(const uint32_t key[2], const uint32_t counter[4], int64_t blocks, uint32_t *out)   \
    {                                                                                                                  \
        words_loop(key, counter, blocks, out);                                                                         \
    }                                                                                                                  \
    target static void normals_##name(const uint32_t *words, int64_t count, float *out)                                \
    {                                                                                                                  \
        normals_loop(words, count, out);                                                                               \
    }
CRD_CPU_PATHS(PATH)

#define ROW(name, target) {words_##name, normals_##name},
const crd_random_path crd_random_paths[] = {CRD_CPU_PATHS(ROW)};

const crd_random_path *crd_random_best_path(void)
{
    return &crd_random_paths[crd_cpu_path()];
}
