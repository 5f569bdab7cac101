#include "volume/grey.h"

/* In 65536ths, which sum up to one: equal values stay what they are, and 16 bits don't overflow. */
enum { RED = 19595, GREEN = 38470, BLUE = 7471, HALF = 1 << 15 };

#define GREY(p) (((uint32_t)(p)[0] * RED + (uint32_t)(p)[1] * GREEN + (uint32_t)(p)[2] * BLUE + HALF) >> 16)

void crd_grey(crd_type type, const void *pixels, int64_t samples, int64_t first, int64_t count, void *out)
{
    if (type == CRD_U16) {
        const uint16_t *from = (const uint16_t *)pixels + first * samples;
        uint16_t *to = out;
        for (int64_t i = 0; i < count; i++, from += samples) to[i] = (uint16_t)GREY(from);
    } else {
        const uint8_t *from = (const uint8_t *)pixels + first * samples;
        uint8_t *to = out;
        for (int64_t i = 0; i < count; i++, from += samples) to[i] = (uint8_t)GREY(from);
    }
}
