/* Numbers as the files of meshes hold them: the lowest byte first. */
#ifndef CRD_SURFACE_LITTLE_ENDIAN_H
#define CRD_SURFACE_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

static inline void crd_put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(value >> 8 * i);
}

static inline void crd_put_u64(uint8_t *out, uint64_t value)
{
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(value >> 8 * i);
}

static inline void crd_put_f32(uint8_t *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    crd_put_u32(out, bits);
}

#endif
