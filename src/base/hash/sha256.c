#include "base/hash/sha256.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/memory.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t rotated(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static inline uint32_t expanded(const uint32_t *w, int i)
{
    const uint32_t a = w[(i + 1) & 15], b = w[(i + 14) & 15];
    return w[i & 15] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[(i + 9) & 15] +
           (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
}

/* One round. Instead of moving eight words along, the caller renames them: eight rounds bring every name back. */
#define ROUND(A, B, C, D, E, F, G, H, I)                                                                               \
    do {                                                                                                               \
        const uint32_t t =                                                                                             \
            H + (rotated(E, 6) ^ rotated(E, 11) ^ rotated(E, 25)) + (G ^ (E & (F ^ G))) + constants[I] + w[(I)&15];    \
        D += t;                                                                                                        \
        H = t + (rotated(A, 2) ^ rotated(A, 13) ^ rotated(A, 22)) + ((A & B) | (C & (A | B)));                         \
    } while (0)

static void digest_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[16];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    }
    for (int i = 0; i < 64; i += 16) {
        if (i > 0) {
            for (int k = 0; k < 16; k++) w[k] = expanded(w, k);
        }
        for (int k = i; k < i + 16; k += 8) {
            ROUND(a, b, c, d, e, f, g, h, k);
            ROUND(h, a, b, c, d, e, f, g, k + 1);
            ROUND(g, h, a, b, c, d, e, f, k + 2);
            ROUND(f, g, h, a, b, c, d, e, k + 3);
            ROUND(e, f, g, h, a, b, c, d, k + 4);
            ROUND(d, e, f, g, h, a, b, c, k + 5);
            ROUND(c, d, e, f, g, h, a, b, k + 6);
            ROUND(b, c, d, e, f, g, h, a, k + 7);
        }
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++) state[i] += sums[i];
}

static void digest_portable(uint32_t state[8], const unsigned char *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) digest_block(state, blocks + 64 * i);
}

static bool always(void)
{
    return true;
}

#ifdef __x86_64__
/* Four rounds with four words of the message. */
#define FOUR_ROUNDS(W, I)                                                                                              \
    do {                                                                                                               \
        const __m128i sum = _mm_add_epi32(W, _mm_loadu_si128((const __m128i *)(const void *)(constants + (I))));       \
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);                                                                 \
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));                                        \
    } while (0)

/* The words sixteen after those in A, of which B, C and D hold the ones between. */
#define EXPAND(A, B, C, D)                                                                                             \
    A = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(A, B), _mm_alignr_epi8(D, C, 4)), D)

/* The instructions want the state as two vectors, a b e f and c d g h, each with its first word on top. */
__attribute__((target("sha,sse4.1"))) static void digest_sha(uint32_t state[8], const unsigned char *blocks,
                                                             size_t count)
{
    const __m128i to_words = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    __m128i *const halves = (__m128i *)(void *)state;
    const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(halves), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(halves + 1), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (; count > 0; count--, blocks += 64) {
        const __m128i *in = (const __m128i *)(const void *)blocks, abef_before = abef, cdgh_before = cdgh;
        __m128i w0 = _mm_shuffle_epi8(_mm_loadu_si128(in), to_words);
        __m128i w1 = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), to_words);
        __m128i w2 = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), to_words);
        __m128i w3 = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), to_words);
        for (int i = 0;; i += 16) {
            FOUR_ROUNDS(w0, i);
            FOUR_ROUNDS(w1, i + 4);
            FOUR_ROUNDS(w2, i + 8);
            FOUR_ROUNDS(w3, i + 12);
            if (i == 48) break;
            EXPAND(w0, w1, w2, w3);
            EXPAND(w1, w2, w3, w0);
            EXPAND(w2, w3, w0, w1);
            EXPAND(w3, w0, w1, w2);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i abfe = _mm_shuffle_epi32(abef, 0x1b), ghcd = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(halves, _mm_blend_epi16(abfe, ghcd, 0xf0));
    _mm_storeu_si128(halves + 1, _mm_alignr_epi8(ghcd, abfe, 8));
}
#endif

const crd_sha256_path crd_sha256_paths[] = {
    {"portable", always, digest_portable},
#ifdef __x86_64__
    {"sha", crd_cpu_has_sha, digest_sha},
#endif
};
const int crd_sha256_path_count = (int)(sizeof crd_sha256_paths / sizeof crd_sha256_paths[0]);

static const crd_sha256_path *best_path(void)
{
    int path = crd_sha256_path_count - 1;
    while (!crd_sha256_paths[path].has()) path--;
    return &crd_sha256_paths[path];
}

void crd_sha256_begin(crd_sha256 *hash)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, start, sizeof start);
    hash->path = best_path();
}

void crd_sha256_add(crd_sha256 *hash, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    const size_t waiting = hash->bytes % sizeof hash->block;
    hash->bytes += bytes;
    if (waiting > 0) {
        const size_t room = sizeof hash->block - waiting, taken = bytes < room ? bytes : room;
        memcpy(hash->block + waiting, from, taken);
        if (taken < room) return;
        hash->path->digest(hash->state, hash->block, 1);
        from += taken;
        bytes -= taken;
    }
    hash->path->digest(hash->state, from, bytes / sizeof hash->block);
    memcpy(hash->block, from + bytes / sizeof hash->block * sizeof hash->block, bytes % sizeof hash->block);
}

void crd_sha256_end(crd_sha256 *hash, char text[CRD_SHA256_TEXT])
{
    static const unsigned char padding[64] = {0x80};
    const uint64_t bits = hash->bytes * 8, waiting = hash->bytes % 64;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
    crd_sha256_add(hash, padding, (size_t)(waiting < 56 ? 56 - waiting : 120 - waiting));
    crd_sha256_add(hash, length, sizeof length);
    for (int i = 0; i < 8; i++) snprintf(text + 8 * i, 9, "%08x", hash->state[i]);
}

crd_status crd_sha256_file(const char *path, char text[CRD_SHA256_TEXT])
{
    enum { PIECE = 1 << 20 };
    crd_status status = CRD_OK;
    unsigned char *piece = NULL;
    crd_sha256 hash;
    struct stat about;
    const int fd = crd_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return crd_fail_errno("can't open %s", path);
    if (fstat(fd, &about) != 0) {
        status = crd_fail_errno("can't look at %s", path);
        goto done;
    }
    CRD_TRY(crd_alloc(PIECE, 1, "a part of a file", &piece));
    crd_sha256_begin(&hash);
    for (int64_t at = 0; at < about.st_size; at += PIECE) {
        const int64_t bytes = about.st_size - at < PIECE ? about.st_size - at : PIECE;
        CRD_TRY(crd_read_at(fd, path, at, piece, (size_t)bytes));
        crd_sha256_add(&hash, piece, (size_t)bytes);
    }
    crd_sha256_end(&hash, text);
done:
    crd_free(&piece);
    (void)close(fd);
    return status;
}
