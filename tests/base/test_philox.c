#include "base/random/philox.h"

#include "base/random/random_paths.h"
#include "harness.h"
#include "numbers.h"

/* The authors' known answers for philox4x32-10. */
static void test_known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        crd_philox(known[i].key, known[i].counter, out);
        CHECK(memcmp(out, known[i].out, sizeof out) == 0);
        for (int p = 0; p < CRD_CPU_PATH_COUNT; p++) {
            if (!have_cpu(p)) continue;
            crd_random_paths[p].words(known[i].key, known[i].counter, 1, out);
            CHECK(memcmp(out, known[i].out, sizeof out) == 0);
        }
    }
}

static const crd_stream stream = {0x0123456789abcdef, 7, CRD_PURPOSE_WEIGHT_NOISE, 41, 3};

static void test_the_counter_is_the_documented_one(void)
{
    const uint32_t key[2] = {0x89abcdef, 0x01234567};
    const uint64_t elements[] = {0, 1, 2, 3, 4, 1000003, UINT64_C(0x3fffffffe), UINT64_C(0x3ffffffff)};
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        const uint32_t counter[4] = {(uint32_t)(elements[i] >> 2), 7u << 16 | 1u, 41, 3};
        uint32_t out[4];
        crd_philox(key, counter, out);
        CHECK(crd_random_u32(&stream, elements[i]) == out[elements[i] & 3]);
        CHECK(crd_random_uniform(&stream, elements[i]) == ((double)out[elements[i] & 3] + 0.5) / 4294967296.0);
        CHECK(crd_random_sign(&stream, elements[i]) == (out[elements[i] & 3] & 0x80000000u ? 1.0f : -1.0f));
    }
}

static void test_fills_equal_single_draws(void)
{
    enum { MOST = 2100, GUARD = 8 };
    static uint32_t words[MOST + GUARD], wanted_words[MOST];
    static float normals[MOST + GUARD], wanted_normals[MOST];
    static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 7, 63, 1020, 1021, 1023, 1024, 1025, 1027, 2047, 2048, MOST};
    const uint64_t starts[] = {0, 1, 2, 3, 1021, UINT64_C(0x200000001), UINT64_C(0x3fffffff0)};
    for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++) {
        for (int64_t i = 0; i < MOST; i++) {
            wanted_words[i] = crd_random_u32(&stream, starts[s] + (uint64_t)i);
            wanted_normals[i] = crd_random_normal(&stream, starts[s] + (uint64_t)i);
        }
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            const size_t bytes = (size_t)counts[c] * 4;
            memset(words, 0x5a, sizeof words);
            memset(normals, 0x5a, sizeof normals);
            crd_random_fill_u32(&stream, starts[s], counts[c], words);
            crd_random_fill_normal(&stream, starts[s], counts[c], normals);
            CHECK(memcmp(words, wanted_words, bytes) == 0);
            CHECK(memcmp(normals, wanted_normals, bytes) == 0);
            for (int64_t i = counts[c]; i < counts[c] + GUARD; i++)
                CHECK(words[i] == 0x5a5a5a5a && float_bits(normals[i]) == 0x5a5a5a5a);
        }
    }
}

static void test_every_path_gives_the_same_words(void)
{
    static uint32_t wanted[CRD_RANDOM_BLOCK], words[CRD_RANDOM_BLOCK];
    const uint32_t key[2] = {12, 34}, counter[4] = {0xffffffc0, 5, 6, 7};
    for (int p = 0; p < CRD_CPU_PATH_COUNT; p++) {
        if (!have_cpu(p)) continue;
        for (int64_t blocks = 1; blocks <= CRD_RANDOM_BLOCK / 4; blocks += 15) {
            crd_random_paths[0].words(key, counter, blocks, wanted);
            crd_random_paths[p].words(key, counter, blocks, words);
            CHECK(memcmp(words, wanted, (size_t)blocks * 16) == 0);
        }
    }
}

/* Any one field of a stream changed gives unrelated words: as many equal bits as chance has it. */
static void test_streams_are_unrelated(void)
{
    enum { COUNT = 4096 };
    static uint32_t words[7][COUNT];
    crd_stream streams[7];
    for (int i = 0; i < 7; i++) streams[i] = stream;
    streams[1].seed ^= 1;
    streams[2].seed ^= UINT64_C(1) << 52;
    streams[3].layer++;
    streams[4].purpose++;
    streams[5].step++;
    streams[6].example++;
    for (int i = 0; i < 7; i++) crd_random_fill_u32(&streams[i], 0, COUNT, words[i]);
    for (int a = 0; a < 7; a++)
        for (int b = 0; b < a; b++) {
            int equal = 0;
            for (int i = 0; i < COUNT; i++) equal += 32 - __builtin_popcount(words[a][i] ^ words[b][i]);
            CHECK_NEAR(equal / (32.0 * COUNT), 0.5, 4 * 0.5 / sqrt(32.0 * COUNT));
        }
}

/* Changing these numbers changes every result ever made with a seed. */
static void test_bits_are_pinned(void)
{
    enum { COUNT = 100000 };
    static uint32_t words[COUNT];
    static float normals[COUNT];
    uint64_t word_hash = 0, normal_hash = 0;
    crd_random_fill_u32(&stream, 1, COUNT, words);
    crd_random_fill_normal(&stream, 1, COUNT, normals);
    for (uint64_t i = 0; i < COUNT; i++) {
        word_hash += scatter(i << 32 | words[i]);
        normal_hash += scatter(i << 32 | float_bits(normals[i]));
    }
    printf("hashes: words %016llx, normals %016llx\n", (unsigned long long)word_hash, (unsigned long long)normal_hash);
    CHECK(word_hash == UINT64_C(0x3c02133ddd681d1f));
    CHECK(normal_hash == UINT64_C(0x215122c0cdc8f3fd));
}

static void test_speed_is_printed(void)
{
    enum { COUNT = 500000 };
    static float normals[COUNT];
    crd_stream s = stream;
    double start = seconds_now();
    for (s.step = 0; s.step < 48; s.step++) crd_random_fill_normal(&s, 0, COUNT, normals);
    const double seconds = seconds_now() - start;
    printf("48 draws of %d normals: %.3f s, %.0f million/s by the %s path\n", COUNT, seconds, 48e-6 * COUNT / seconds,
           crd_cpu_name((crd_cpu)crd_cpu_path()));
    CHECK(seconds > 0);
}

TEST_MAIN(TEST(test_known_answers), TEST(test_the_counter_is_the_documented_one), TEST(test_fills_equal_single_draws),
          TEST(test_every_path_gives_the_same_words), TEST(test_streams_are_unrelated), TEST(test_bits_are_pinned),
          TEST(test_speed_is_printed))
