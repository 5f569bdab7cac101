#include "base/hash/crc32c.h"

#include <pthread.h>

enum { AT_ONCE = 8 };

/* tables[k][b]: what byte b becomes when k zero bytes follow it. */
static uint32_t tables[AT_ONCE][256];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    static const uint32_t polynomial = 0x82f63b78; /* 0x1edc6f41, lowest bit first */
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        tables[0][b] = crc;
    }
    for (int k = 1; k < AT_ONCE; k++) {
        for (int b = 0; b < 256; b++) {
            const uint32_t before = tables[k - 1][b];
            tables[k][b] = before >> 8 ^ tables[0][before & 255];
        }
    }
}

/* Written out: compilers make one load of it. */
static inline uint32_t word_at(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t crd_crc32c(uint32_t crc, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    (void)pthread_once(&made, make_tables);
    crc = ~crc;
    for (; count >= AT_ONCE; count -= AT_ONCE, at += AT_ONCE) {
        const uint32_t low = word_at(at) ^ crc, high = word_at(at + 4);
        crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
              tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
    }
    for (; count > 0; count--, at++) crc = crc >> 8 ^ tables[0][(crc ^ *at) & 255];
    return ~crc;
}
