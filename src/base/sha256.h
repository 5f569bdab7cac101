/* SHA-256 (FIPS 180-4): the fingerprint of models and scans in a manifest. */
#ifndef CRD_BASE_SHA256_H
#define CRD_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64]; /* the first bytes % 64 of it wait for the rest */
} crd_sha256;

enum { CRD_SHA256_TEXT = 65 }; /* 64 hexadecimal digits and the final zero */

void crd_sha256_begin(crd_sha256 *hash);
void crd_sha256_add(crd_sha256 *hash, const void *data, size_t bytes);
void crd_sha256_end(crd_sha256 *hash, char text[CRD_SHA256_TEXT]);

/* Of a whole file. */
crd_status crd_sha256_file(const char *path, char text[CRD_SHA256_TEXT]);

#endif
