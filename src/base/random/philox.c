#include "base/random/philox.h"

#include <string.h>

#include "base/random/normal_transform.h"
#include "base/random/philox_inline.h"
#include "base/random/random_paths.h"

void crd_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]};
    crd_philox_inline(key[0], key[1], x);
    memcpy(out, x, sizeof x);
}

/* Key and counter of the block that holds an element. */
static void address(const crd_stream *stream, uint64_t element, uint32_t key[2], uint32_t counter[4])
{
    key[0] = (uint32_t)stream->seed;
    key[1] = (uint32_t)(stream->seed >> 32);
    counter[0] = (uint32_t)(element / 4);
    counter[1] = stream->layer << 16 | stream->purpose;
    counter[2] = stream->step;
    counter[3] = stream->example;
}

uint32_t crd_random_u32(const crd_stream *stream, uint64_t element)
{
    uint32_t key[2], counter[4], words[4];
    address(stream, element, key, counter);
    crd_philox(key, counter, words);
    return words[element % 4];
}

/* Up to CRD_RANDOM_BLOCK words from `first` on: all that lie in one array of whole blocks. Returns how many of `count`
 * they are; they start at *words. */
static int64_t next_words(const crd_random_path *path, const crd_stream *stream, uint64_t first, int64_t count,
                          uint32_t block[CRD_RANDOM_BLOCK], const uint32_t **words)
{
    uint32_t key[2], counter[4];
    const int64_t skipped = (int64_t)(first % 4);
    const int64_t room = CRD_RANDOM_BLOCK - skipped, taken = count < room ? count : room;
    address(stream, first, key, counter);
    path->words(key, counter, (skipped + taken + 3) / 4, block);
    *words = block + skipped;
    return taken;
}

void crd_random_fill_u32(const crd_stream *stream, uint64_t first, int64_t count, uint32_t *out)
{
    const crd_random_path *path = crd_random_best_path();
    uint32_t block[CRD_RANDOM_BLOCK];
    for (int64_t done = 0; done < count;) {
        const uint32_t *words;
        const int64_t taken = next_words(path, stream, first + (uint64_t)done, count - done, block, &words);
        memcpy(out + done, words, (size_t)taken * sizeof *out);
        done += taken;
    }
}

double crd_random_uniform(const crd_stream *stream, uint64_t element)
{
    return ((double)crd_random_u32(stream, element) + 0.5) * 0x1p-32;
}

int64_t crd_random_below(const crd_stream *stream, uint64_t element, int64_t n)
{
    return (int64_t)(crd_random_uniform(stream, element) * (double)n);
}

float crd_normal_from_u32(uint32_t k)
{
    return crd_normal_transform(k);
}

float crd_random_normal(const crd_stream *stream, uint64_t element)
{
    return crd_normal_from_u32(crd_random_u32(stream, element));
}

void crd_random_fill_normal(const crd_stream *stream, uint64_t first, int64_t count, float *out)
{
    const crd_random_path *path = crd_random_best_path();
    uint32_t block[CRD_RANDOM_BLOCK];
    for (int64_t done = 0; done < count;) {
        const uint32_t *words;
        const int64_t taken = next_words(path, stream, first + (uint64_t)done, count - done, block, &words);
        path->normals(words, taken, out + done);
        done += taken;
    }
}

float crd_random_sign(const crd_stream *stream, uint64_t element)
{
    return crd_random_u32(stream, element) >> 31 ? 1.0f : -1.0f;
}
