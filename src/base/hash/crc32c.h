/* CRC-32C (Castagnoli): the checksum of zarr's codec "crc32c" and of the index of its shards. */
#ifndef CRD_BASE_CRC32C_H
#define CRD_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* `crc` is that of the bytes before them, 0 of none. */
uint32_t crd_crc32c(uint32_t crc, const void *bytes, size_t count);

#endif
