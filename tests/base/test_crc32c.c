/* CRC-32C against published values (RFC 3720, B.4) and against the definition, bit by bit. */
#include "base/hash/crc32c.h"
#include "harness.h"

/* The textbook: a division of polynomials, one bit after the other. */
static uint32_t by_definition(const unsigned char *bytes, size_t count)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    }
    return ~crc;
}

static void test_published_values(void)
{
    unsigned char bytes[32] = {0};
    CHECK(crd_crc32c(0, "123456789", 9) == 0xe3069283);
    CHECK(crd_crc32c(0, "", 0) == 0);
    CHECK(crd_crc32c(0, bytes, 32) == 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    CHECK(crd_crc32c(0, bytes, 32) == 0x62a8ab43);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
    CHECK(crd_crc32c(0, bytes, 32) == 0x46dd794e);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)(31 - i);
    CHECK(crd_crc32c(0, bytes, 32) == 0x113fdb5c);
}

/* All lengths and alignments, in one piece and in two. */
static void test_definition(void)
{
    unsigned char bytes[80];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 151 + 7);
    for (size_t start = 0; start < 9; start++) {
        for (size_t count = 0; start + count <= sizeof bytes; count++) {
            const uint32_t wanted = by_definition(bytes + start, count);
            CHECK(crd_crc32c(0, bytes + start, count) == wanted);
            const size_t half = count / 3;
            CHECK(crd_crc32c(crd_crc32c(0, bytes + start, half), bytes + start + half, count - half) == wanted);
        }
    }
}

TEST_MAIN(TEST(test_published_values), TEST(test_definition))
