/* Numbers in a file's bytes, a checksum of them, and sizes of memory as people write them. */
#ifndef CRD_BASE_BYTES_H
#define CRD_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* At most 8 bytes, the lowest first. */
uint64_t crd_little_endian(const unsigned char *bytes, size_t count);

/* FNV-1a: `hash` is that of the bytes before them, or of none. */
#define CRD_FNV1A_OF_NONE UINT64_C(0xcbf29ce484222325)
uint64_t crd_fnv1a(uint64_t hash, const void *bytes, size_t count);

/* "4G", "900M", "1.5GiB", "1000": powers of 1024, at least one byte. `name` is the option's, for the sentence. */
crd_status crd_parse_bytes(const char *text, const char *name, int64_t *out);
/* The same as the check of a setting that may be "auto", too. */
crd_status crd_check_bytes(const char *name, const char *text);

#endif
